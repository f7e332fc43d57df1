"""Hook targets in the upcoming NeMo Gym, by the names in its documentation. Each is optional.

That Gym makes failure records itself. Its `NgFailureEvent` is recorded wherever failgraph's is:
where it leaves a span, a hop or a request. Its report header is read by the hooks on HTTP clients
and by the server layer. Only failures that are not seen to escape need hooks of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from failgraph.instrumentation.hook_target import HookTarget

# By the module whose import is waited for.
TARGETS: Final[Mapping[str, tuple[HookTarget, ...]]] = {
    "nemo_gym.core.failure_transport": (
        HookTarget("", "observe_failure", "gym.own_records:observe_failure"),
        HookTarget("", "observe_reply", "gym.own_records:observe_reply"),
    ),
    "nemo_gym.server_runtime.request_handling.exception_handling": (
        HookTarget("ExceptionHandlingMiddleware", "__init__", "starlette:observe_answering"),
    ),
}
