"""failgraph does not change what a user's program does."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import asyncio, sys
WITH = sys.argv[1] == "with"
from opentelemetry.sdk.trace import TracerProvider
provider = TracerProvider()
if WITH:
    import failgraph
    provider.add_span_processor(failgraph.FailureSpanProcessor())
    hop, record = failgraph.hop, failgraph.record
else:
    from contextlib import nullcontext as hop
    def record(*_, **__): pass
tracer = provider.get_tracer("program")

class Weird(Exception):
    def __str__(self):
        raise RuntimeError("no text for you")

async def work(number):
    with tracer.start_as_current_span("work"), hop():
        try:
            await asyncio.sleep(0)
            if number % 2:
                raise Weird
            return number
        except Weird as error:
            record(error, boundary="agent", kind="agent_run_error", own=True)
            return "weird"

async def main():
    print(await asyncio.gather(*(work(number) for number in range(4))))

asyncio.run(main())
for wrong in (None, 1, "text", object(), ValueError, [ValueError()]):
    record(wrong)
try:
    with hop():
        raise KeyError("handled")
except KeyError as error:
    print(repr(error), error.__cause__, error.__suppress_context__)
with tracer.start_as_current_span("last"), hop():
    print("before")
    try:
        1 / 0
    except ZeroDivisionError as error:
        raise LookupError("the program ends so") from error
"""


def run(mode: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, mode], capture_output=True, text=True, timeout=60
    )


def test_output_exceptions_and_exit_code_are_unchanged():
    """failgraph adds one log line per kind of fault to stderr, and no frame to the traceback."""
    without, with_it = run("without"), run("with")
    assert without.returncode == with_it.returncode == 1
    assert without.stdout == with_it.stdout
    assert "weird" in with_it.stdout
    added = [line for line in with_it.stderr.splitlines() if line.startswith("failgraph:")]
    assert len(added) == len(set(added)) > 0
    rest = "\n".join(
        line for line in with_it.stderr.splitlines() if not line.startswith("failgraph:")
    )
    assert rest == without.stderr.rstrip("\n")


API_ONLY = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.startswith("opentelemetry.sdk"):
            raise ImportError(name)
sys.meta_path.insert(0, Blocked())
import failgraph
from opentelemetry import trace

class Span(trace.NonRecordingSpan):
    def __init__(self, context):
        super().__init__(context)
        self.events, self.attributes = [], {}
    def is_recording(self):
        return True
    def add_event(self, name, attributes=None, timestamp=None):
        self.events.append((name, attributes))
    def set_attributes(self, attributes):
        self.attributes.update(attributes)

context = trace.SpanContext(1, 2, False, trace.TraceFlags(1))
span = Span(context)
with trace.use_span(span), failgraph.hop():
    error = failgraph.NgFailureEvent("transport_timeout", boundary="model")
    assert failgraph.record(error, own=True) == (error.event_id, "span", context)
assert [name for name, _ in span.events] == ["nemo.gym.failure"]
assert span.attributes["nemo.gym.failure.report.id"] == error.event_id
late = failgraph.NgFailureEvent("transport_timeout", boundary="model")
with trace.use_span(trace.NonRecordingSpan(context)):
    assert failgraph.record(late).placement == "nowhere"
assert failgraph.flush()
assert not any(name.startswith("opentelemetry.sdk") for name in sys.modules)
print(failgraph.stats())
"""


def test_it_works_without_the_sdk():
    """With a provider of another SDK, `record` and `hop` write through OpenTelemetry's API."""
    found = subprocess.run(
        [sys.executable, "-c", API_ONLY], capture_output=True, text=True, timeout=60
    )
    assert found.stderr == ""
    assert found.stdout.strip() == "{'nowhere': 1, 'recorded_span': 1}"
