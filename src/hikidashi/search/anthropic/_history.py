"""Earlier conversations, prepared to be sent again: which tools their searches loaded, and in which form.

The result of a search has one of two forms: `tool_reference` blocks, which the API expands, or the names as text, for
models that cannot follow references. A conversation may have begun in the other form, or with tools that are gone.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from ..answers.texts import SEARCH_TOOLS
from ..engine.text.user_message import text_of
from ..wire.blocks import blocks_of, plain_block, reference_blocks, referenced_tools

__all__ = [
    "ReadMessage",
    "added_tools",
    "addition",
    "called_in_messages",
    "found_blocks",
    "loaded_by_messages",
    "preloaded_by",
    "replayed",
    "settled",
    "user_text",
    "without_additions",
]

_LOADED = "loaded_tools"
_ADDITION = "tool_addition"


class ReadMessage(dict[str, Any]):
    """A message of the user that remembers which tools it has loaded, so that it is not searched for again.

    An attribute, since the API refuses a message with further keys. A copy and a pickle have it, JSON has not.

    Args:
        message: The message.
        preloaded: The own names of the tools, which may be none.
    """

    def __init__(self, message: Mapping[str, Any], preloaded: Iterable[str]) -> None:
        super().__init__(message)
        self._text = user_text(self)
        self._preloaded = tuple(preloaded)

    @property
    def preloaded(self) -> tuple[str, ...] | None:
        """The own names of the tools; None if the text is another by now."""
        return self._preloaded if self._text == user_text(self) else None


def found_blocks(names: Sequence[str], *, by_reference: bool) -> list[dict[str, Any]]:
    """The content of a search result that loads `names`."""
    if by_reference:
        return reference_blocks(names)
    return [{"type": "text", "text": json.dumps({_LOADED: names}, ensure_ascii=False)}]


def loaded_by_messages(messages: Sequence[Any]) -> Iterator[list[str]]:
    """For each message, the tools that searches loaded in it, in either form."""
    searches = _search_ids(blocks_of(messages))
    for message in messages:
        yield [name for block in blocks_of([message]) for name in _names_in(block, searches)]


def called_in_messages(messages: Iterable[Any]) -> Iterator[list[str]]:
    """For each message, the tools whose results in it are no errors."""
    calls: dict[str, str] = {}
    for message in messages:
        names: list[str] = []
        for block in blocks_of([message]):
            if block.get("type") == "tool_use":
                calls[block["id"]] = block["name"]
            elif block.get("type") == "tool_result" and not block.get("is_error"):
                names += [calls[block["tool_use_id"]]] if block.get("tool_use_id") in calls else []
        yield names


def addition(names: Iterable[str]) -> dict[str, Any]:
    """A message that loads deferred tools from there on, for models that take it: see `takes_additions`."""
    blocks = [{"type": _ADDITION, "tool": {"type": "tool_reference", "name": name}} for name in names]
    return {"role": "system", "content": blocks}


def added_tools(message: Any) -> list[str]:
    """The names of the tools that a message of the system loads."""
    blocks = (block for block in blocks_of([message]) if block.get("type") == _ADDITION)
    named = (plain_block(block.get("tool") or {}).get("name") for block in blocks)
    return [name for name in named if isinstance(name, str)]


def without_additions(messages: Iterable[dict[str, Any]]) -> tuple[list[dict[str, Any]], dict[int, list[str]]]:
    """`messages` without what loads tools in them, and the names of these tools by the place of the message before."""
    kept: list[dict[str, Any]] = []
    added: dict[int, list[str]] = {}
    for message in messages:
        names = added_tools(message) if message.get("role") == "system" else []
        if not names:
            kept.append(message)
            continue
        added.setdefault(max(len(kept) - 1, 0), []).extend(names)
        if rest := [block for block in blocks_of(message["content"]) if block.get("type") != _ADDITION]:
            kept.append({**message, "content": rest})
    return kept, added


def preloaded_by(message: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The own names of the tools that a message of the user has loaded; None if that is not known."""
    return message.preloaded if isinstance(message, ReadMessage) else None


def user_text(message: Mapping[str, Any]) -> str:
    """The text of a message of the user; empty for one with tool results, whose text may be a note of ours."""
    kinds = {block.get("type") for block in blocks_of([message])}
    return "" if message.get("role") != "user" or "tool_result" in kinds else text_of(message)


def replayed(
    messages: Iterable[Any], known: Collection[str], *, by_reference: bool, removed: str
) -> list[dict[str, Any]]:
    """The conversation in one form, without references to tools not in `known`, which the API would refuse.

    `removed` is the content of a search result of which no tool is left.
    """
    turns = [plain_block(message) for message in messages]
    searches = _search_ids(blocks_of(turns))
    return [_rewritten(turn, searches, known, by_reference=by_reference, removed=removed) for turn in turns]


def settled(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The conversation without a last reply that is empty or has unanswered calls: the API accepts neither."""
    last = messages[-1] if messages else {}
    content = last.get("content")
    if last.get("role") != "assistant" or isinstance(content, str):
        return list(messages)
    kinds = [block.get("type") for block in blocks_of(content)]
    return list(messages[:-1]) if not kinds or "tool_use" in kinds else list(messages)


def _search_ids(blocks: Iterable[dict[str, Any]]) -> set[str]:
    return {block["id"] for block in blocks if block.get("type") == "tool_use" and block["name"] == SEARCH_TOOLS}


def _rewritten(
    message: dict[str, Any], searches: set[str], known: Collection[str], *, by_reference: bool, removed: str
) -> dict[str, Any]:
    content = message.get("content")
    if not isinstance(content, Iterable) or isinstance(content, str):
        return message
    blocks: list[dict[str, Any]] = []
    for given in cast("Iterable[Any]", content):
        block = plain_block(given)
        if found := _names_in(block, searches):
            still = [name for name in found if name in known]
            block = {**block, "content": _found_again(block, still, by_reference=by_reference, removed=removed)}
        blocks.append(block)
    rewritten = {**message, "content": blocks}
    preloaded = preloaded_by(message)
    return rewritten if preloaded is None else ReadMessage(rewritten, preloaded)


def _found_again(block: dict[str, Any], names: list[str], *, by_reference: bool, removed: str) -> Any:
    if block["type"] == "tool_search_tool_result":
        return {"type": "tool_search_tool_search_result", "tool_references": reference_blocks(names)}
    if not names:
        return [{"type": "text", "text": removed}]
    content = block.get("content")
    notes = [] if by_reference or isinstance(content, str) else [part for part in blocks_of(content) if _is_note(part)]
    return [*found_blocks(names, by_reference=by_reference), *notes]


def _is_note(part: dict[str, Any]) -> bool:
    """Whether a part of a search result is a note, not the names."""
    return part.get("type") == "text" and not _names_in_text(part.get("text", ""))


def _names_in(block: dict[str, Any], searches: set[str]) -> list[str]:
    """The names in the result of a search, ours or the API's own."""
    if block.get("type") == "tool_search_tool_result":
        return referenced_tools(block)
    if block.get("type") != "tool_result":
        return []
    content = block.get("content")
    parts = list(blocks_of(content))
    named = [part["tool_name"] for part in parts if part.get("type") == "tool_reference"]
    if block.get("tool_use_id") in searches:
        texts = [content] if isinstance(content, str) else [part.get("text", "") for part in parts]
        named += [name for text in texts for name in _names_in_text(text)]
    return named


def _names_in_text(text: str) -> list[str]:
    try:
        parsed = json.loads(text)
    except ValueError:  # an answer in prose
        return []
    names: object = cast("dict[str, object]", parsed).get(_LOADED) if isinstance(parsed, dict) else None
    listed = cast("list[object]", names) if isinstance(names, list) else []
    return [name for name in listed if isinstance(name, str)]
