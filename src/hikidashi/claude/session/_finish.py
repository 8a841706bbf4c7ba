"""Why the model ended a message, in pydantic-ai's terms, as `AnthropicModel` reports it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic_ai.messages import FinishReason

_FINISH_REASONS: dict[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_call",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}

_OUT_OF_TOKENS = {"max_tokens", "model_context_window_exceeded"}
_REFUSED = {"refusal"}


def finish_reason(stop_reason: str) -> FinishReason | None:
    """The API's `stop_reason` as pydantic-ai spells it."""
    return _FINISH_REASONS.get(stop_reason)


def finish_details(delta: Mapping[str, Any]) -> dict[str, Any]:
    """The end of a message in its `message_delta`, for `provider_details`."""
    details: dict[str, Any] = {"finish_reason": delta["stop_reason"]}
    stopped: Mapping[str, Any] = delta.get("stop_details") or {}
    if stopped.get("explanation") is not None:
        details["refusal"] = stopped["explanation"]
    if stopped.get("category") is not None:
        details["refusal_category"] = stopped["category"]
    return details


def cut_short(provider_details: Mapping[str, Any] | None, runs_a_call: bool) -> bool:
    """Whether an answer that was cut short is final.

    Claude Code would ask it to go on, up to three times, with no setting to stop it. A call that it runs itself
    before the tokens were used up is different: then there are results to go on with.
    """
    reason = (provider_details or {}).get("finish_reason")
    return reason in _REFUSED or (reason in _OUT_OF_TOKENS and not runs_a_call)
