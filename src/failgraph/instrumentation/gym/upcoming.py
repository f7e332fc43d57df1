"""The hooks for the NeMo Gym that is coming, by the names that its documentation gives; each is optional.

It makes the records itself. Its `NgFailureEvent` is recorded wherever ours is: where it leaves a span, a hop or a
request; its report header is read by our HTTP clients and by the server layer. What is left are the failures that
nobody sees escape.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from failgraph.instrumentation.hook_target import HookTarget

TARGETS: Final[Mapping[str, tuple[HookTarget, ...]]] = {
    "nemo_gym.core.failure_transport": (
        HookTarget("", "observe_failure", "gym.own_records:observe_failure"),
        HookTarget("", "observe_reply", "gym.own_records:observe_reply"),
    ),
    "nemo_gym.server_runtime.request_handling.exception_handling": (
        HookTarget("ExceptionHandlingMiddleware", "__init__", "starlette:observe_answering"),
    ),
}
"""What is wrapped, by the module that has to be there."""
