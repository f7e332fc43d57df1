"""The environment server: runs the model's program in a sandbox, which is a separate process."""

from __future__ import annotations

from fastapi import FastAPI

from failgraph import NgFailureEvent
from failgraph.demo.faults import run_in_sandbox
from failgraph.demo.server import Body, answer_500, flush_on_exit, serve

app = FastAPI(lifespan=flush_on_exit)
app.middleware("http")(answer_500)


@app.post("/step")
async def step(body: Body) -> Body:
    """Run one program. If its sandbox dies, the session is lost."""
    try:
        await execute(body["program"])
    except NgFailureEvent as failure:
        raise NgFailureEvent(
            "session_lost", "the sandbox is gone", boundary="environment"
        ) from failure
    return {}


async def execute(program: str) -> None:
    """Run a program in a sandbox, and raise if the sandbox is killed."""
    exit_code = await run_in_sandbox(program)
    if exit_code < 0:
        raise NgFailureEvent(
            "sandbox:killed",
            f"the process was killed by signal {-exit_code}",
            boundary="sandbox",
            details={"provider": "subprocess", "exit_code": exit_code},
        )


if __name__ == "__main__":
    serve(app, "environment")
