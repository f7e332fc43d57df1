"""Stand-in: the middleware that answers exceptions and puts a failure report on every reply."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from starlette.responses import JSONResponse

from nemo_gym.core.failure_records import FailureReport
from nemo_gym.core.failure_transport import HEADER, FailureHeader, RequestFailureLog, log
from nemo_gym.core.typed_exceptions import failure_report_for


class ExceptionHandlingMiddleware:
    def __init__(self, app: Any, failure_reply: Callable[[BaseException], JSONResponse]) -> None:
        self.app, self.failure_reply = app, failure_reply

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        seen = RequestFailureLog()
        log.set(seen)
        own = FailureReport()

        async def send_with_report(message: Any) -> None:
            if message["type"] == "http.response.start":
                report = FailureReport(
                    events={**seen.report.events, **own.events}, failure_id=own.failure_id
                )
                if report.events:
                    field = (HEADER.lower().encode(), FailureHeader.encode(report).encode())
                    message = {**message, "headers": [*message.get("headers", ()), field]}
            await send(message)

        try:
            await self.app(scope, receive, send_with_report)
        except Exception as error:
            own = failure_report_for(error)
            await self.failure_reply(error)(scope, receive, send_with_report)
