"""Requests that the Messages API refuses, with the same error messages.

Only mistakes a client can make with well-typed code are here; this is not a schema of the API.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby, pairwise
from typing import Any, cast

from ._validate_tools import problem_in_tools
from .fault import ErrorStatus
from .recorded import blocks_of

__all__ = ["refusal"]

_IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")


def refusal(
    headers: Mapping[str, str],
    body: dict[str, Any] | None,
    *,
    required: tuple[str, ...] = ("model", "max_tokens", "messages"),
) -> ErrorStatus | None:
    """The error the API would answer this request with, or `None` for a request it would take."""
    if not (headers.get("x-api-key") or headers.get("authorization")):
        return ErrorStatus(401, "authentication_error", "x-api-key header is required")
    if body is None:
        return _invalid("The request body is not a JSON object")
    missing = next((name for name in required if name not in body), None)
    problem = f"{missing}: Field required" if missing else _in_messages(body["messages"]) or problem_in_tools(body)
    return _invalid(problem) if problem else None


def _invalid(message: str) -> ErrorStatus:
    return ErrorStatus(400, "invalid_request_error", message)


def _in_messages(messages: object) -> str | None:
    if not isinstance(messages, list):
        return "messages: Input should be a valid list"
    turns = _turns(cast("list[dict[str, Any]]", messages))
    if not turns:
        return "messages: at least one message is required"
    if turns[0][1] != "user":
        return 'messages: first message must use the "user" role'
    nothing = (0, "", list[dict[str, Any]]())
    for (_, _, before), (at, _, content) in pairwise([nothing, *turns]):
        called = set(_ids(before, "tool_use", "id"))
        for answered in _ids(content, "tool_result", "tool_use_id"):
            if answered not in called:
                return (
                    f"messages.{at}: unexpected `tool_use_id` found in `tool_result` blocks: {answered}. Each "
                    "`tool_result` block must have a corresponding `tool_use` block in the previous message."
                )
    for (at, _, content), (_, _, after) in pairwise([*turns, nothing]):
        answered = set(_ids(after, "tool_result", "tool_use_id"))
        unanswered = [call for call in _ids(content, "tool_use", "id") if call not in answered]
        if unanswered:
            return (
                f"messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately after: "
                f"{', '.join(unanswered)}. Each `tool_use` block must have a corresponding `tool_result` block "
                "in the next message."
            )
    return next(_in_content(cast("list[dict[str, Any]]", messages)), None)


def _in_content(messages: list[dict[str, Any]]) -> Iterator[str]:
    for at, message in enumerate(messages):
        for number, block in enumerate(blocks_of(message.get("content"))):
            place = f"messages.{at}.content.{number}"
            inner = blocks_of(block.get("content")) if block.get("type") == "tool_result" else []
            if block.get("is_error") and any(part.get("type") != "text" for part in inner):
                yield f"{place}: all content must be type `text` if `is_error` is true"
            yield from _in_image(place, block)
            for under, part in enumerate(inner):
                yield from _in_image(f"{place}.tool_result.content.{under}", part)


def _in_image(place: str, block: Mapping[str, Any]) -> Iterator[str]:
    source = cast("dict[str, Any]", block.get("source") or {})
    if block.get("type") == "image" and source.get("type") == "base64" and source.get("media_type") not in _IMAGES:
        allowed = ", ".join(map(repr, _IMAGES[:-1]))
        yield f"{place}.image.source.base64.media_type: Input should be {allowed} or {_IMAGES[-1]!r}"


def _turns(messages: list[dict[str, Any]]) -> list[tuple[int, str, list[dict[str, Any]]]]:
    """Index, role and blocks of each turn; the API joins messages of one role that follow each other."""
    grouped = groupby(enumerate(messages), key=lambda item: item[1].get("role", ""))
    turns = [(role, list(group)) for role, group in grouped]
    return [
        (group[0][0], role, [block for _, message in group for block in blocks_of(message.get("content"))])
        for role, group in turns
    ]


def _ids(content: list[dict[str, Any]], kind: str, field: str) -> list[str]:
    return [block.get(field, "") for block in content if block.get("type") == kind]
