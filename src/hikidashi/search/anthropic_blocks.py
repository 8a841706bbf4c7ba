"""Content blocks of tool searches in the Messages API: read from a reply, written, and sent again.

Blocks are dicts or objects of the anthropic package; the package itself is not needed.

The result of a search has one of two forms: `tool_reference` blocks, which the API expands, or the names as text, for
models that cannot follow references. A conversation may have begun in the other form, or with tools that are gone.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from ..common.json import as_object, is_iterable, is_mapping, is_object
from ..convert.wire import strings
from ..errors import ToolSearchCode, ToolSearchError
from .answers import SEARCH_TOOLS
from .message import text_of
from .options import names_in

_CODES: tuple[ToolSearchCode, ...] = get_args(ToolSearchCode)

ServerVariant = Literal["regex", "bm25"]

Variant = Literal["regex", "bm25", "client"]

TYPE_OF: dict[ServerVariant, str] = {
    "regex": "tool_search_tool_regex_20251119",
    "bm25": "tool_search_tool_bm25_20251119",
}

NAME_OF: dict[ServerVariant, str] = {"regex": "tool_search_tool_regex", "bm25": "tool_search_tool_bm25"}

_VARIANT_OF: dict[str, ServerVariant] = {name: variant for variant, name in NAME_OF.items()}


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolSearchFailure:
    """Why a search failed: an error block of the API."""

    code: str
    """The API's code: a current one, or `invalid_pattern` and `pattern_too_long` of 2025."""
    message: str | None = None

    def to_error(self) -> ToolSearchError:
        """The failure as an exception; an unknown code becomes `unavailable`, and is named in the message."""
        for code in _CODES:
            if code == self.code:
                return ToolSearchError(code, self.message or f"The search failed: {self.code}.")
        return ToolSearchError("unavailable", f"The search failed: {self.code}. {self.message or ''}".rstrip())

    def to_block(self) -> dict[str, Any]:
        """The failure as a `tool_search_tool_result_error` block."""
        detail = {} if self.message is None else {"error_message": self.message}
        return {"type": "tool_search_tool_result_error", "error_code": self.code, **detail}


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolSearchCall:
    """One search by a model, and its outcome."""

    id: str
    variant: Variant
    query: str | None = None
    """The words of the search."""
    pattern: str | None = None
    """The pattern, with `variant="regex"`."""
    limit: int | None = None
    references: tuple[str, ...] | None = None
    """The names of the loaded tools, best first; None if the search failed or has no result yet."""
    failure: ToolSearchFailure | None = None

    @property
    def asked(self) -> str:
        """The pattern or the words; some regex calls of 2025 have the pattern in `query`."""
        return self.pattern or self.query or ""

    @property
    def input(self) -> dict[str, Any]:
        """The input of the call."""
        asked = {"query": self.query, "pattern": self.pattern, "limit": self.limit}
        return {name: value for name, value in asked.items() if value is not None}

    def to_blocks(self, *, client_tool: str = SEARCH_TOOLS) -> list[dict[str, Any]]:
        """The call and, if there is one, its result as blocks; the inverse of `tool_searches`.

        The two blocks of a server search belong in one assistant message. Those of a client search belong in two: the
        `tool_use` in the assistant's message, the `tool_result` in the user's.
        """
        if self.variant == "client":
            call = {"type": "tool_use", "id": self.id, "name": client_tool, "input": self.input}
            answer = self._client_answer()
        else:
            call = {"type": "server_tool_use", "id": self.id, "name": NAME_OF[self.variant], "input": self.input}
            answer = self._server_answer()
        return [call, *answer]

    def _server_answer(self) -> Iterator[dict[str, Any]]:
        if self.failure is not None:
            content = self.failure.to_block()
        elif self.references is not None:
            found = reference_blocks(self.references)
            content = {"type": "tool_search_tool_search_result", "tool_references": found}
        else:
            return
        yield {"type": "tool_search_tool_result", "tool_use_id": self.id, "content": content}

    def _client_answer(self) -> Iterator[dict[str, Any]]:
        result = {"type": "tool_result", "tool_use_id": self.id}
        if self.failure is not None:
            text = str(self.failure.to_error())
            yield {**result, "content": [{"type": "text", "text": text}], "is_error": True}
        elif self.references is not None:
            yield {**result, "content": reference_blocks(self.references)}


def reference_blocks(names: Iterable[str]) -> list[dict[str, Any]]:
    """A `tool_reference` block for each name: the content of a search result.

    Raises:
        ValueError: `names` is not a list of names.
    """
    return [{"type": "tool_reference", "tool_name": name} for name in names_in("names", names)]


def tool_searches(content: object, *, client_tool: str | None = None) -> list[ToolSearchCall]:
    """The searches in `content`, in order, each with its outcome if `content` has it.

    Args:
        content: A message, its content, or a whole conversation; dicts or objects of the anthropic package.
        client_tool: The name of a search tool of your own, whose calls count as well.
    """
    blocks = list(blocks_of(content))
    outcomes = {block.get("tool_use_id"): block for block in blocks if block.get("type") in _RESULTS}
    return [call for block in blocks if (call := _call(block, outcomes.get(block.get("id")), client_tool)) is not None]


def referenced_tools(content: object) -> list[str]:
    """The names of the tools that searches or `tool_addition` blocks in `content` have loaded, each once, in order.

    Args:
        content: A message, its content, or a whole conversation; see `tool_searches`.
    """
    return list(dict.fromkeys(name for block in blocks_of(content) for name in _references(block)))


def search_requests(reply: object) -> int | None:
    """The number of searches in the usage of `reply`, a message or its `usage`; None if it has none."""
    body = plain_block(reply)
    usage = plain_block(body.get("usage", body) or {})
    counted = plain_block(usage.get("server_tool_use") or {}).get("tool_search_requests")
    return counted if isinstance(counted, int) else None


_RESULTS = frozenset({"tool_search_tool_result", "tool_result"})


def plain_block(value: object) -> dict[str, Any]:
    """`value` as a dict: a dict as it is, an object of the anthropic package as JSON."""
    if is_mapping(value):
        return value if is_object(value) else dict(value)
    to_dict: Any = getattr(value, "to_dict", None)
    if callable(to_dict):
        # No warnings: the package warns about error codes older or newer than itself.
        return as_object(to_dict(mode="json", warnings=False))
    raise _no_block(value)


def blocks_of(content: object) -> Iterator[dict[str, Any]]:
    """The content blocks of a block, a message, its content or a list of messages; none for a string."""
    if isinstance(content, str) or content is None:
        return
    if _is_one(content):
        body = plain_block(content)
        if "role" in body:
            yield from blocks_of(body.get("content"))
        else:
            yield body
    elif is_iterable(content):
        for item in content:
            yield from blocks_of(item)
    else:
        raise _no_block(content)


def _is_one(value: object) -> bool:
    return isinstance(value, Mapping) or hasattr(value, "to_dict")


def _no_block(value: object) -> TypeError:
    return TypeError(f"A block of the Messages API is a dict or an object of the anthropic package, got {value!r}.")


def _call(block: dict[str, Any], outcome: dict[str, Any] | None, client_tool: str | None) -> ToolSearchCall | None:
    kind, name = block.get("type"), block.get("name")
    if kind == "server_tool_use" and name in _VARIANT_OF:
        variant: Variant = _VARIANT_OF[name]
    elif kind == "tool_use" and name is not None and name == client_tool:
        variant = "client"
    else:
        return None
    asked = plain_block(block.get("input") or {})
    references, failure = _outcome(outcome)
    return ToolSearchCall(
        id=block["id"],
        variant=variant,
        query=asked.get("query"),
        pattern=asked.get("pattern"),
        limit=asked.get("limit"),
        references=references,
        failure=failure,
    )


def _outcome(block: dict[str, Any] | None) -> tuple[tuple[str, ...] | None, ToolSearchFailure | None]:
    if block is None:
        return None, None
    if block["type"] == "tool_result" and block.get("is_error"):
        text = "\n".join(part.get("text", "") for part in blocks_of(block.get("content")))
        return None, ToolSearchFailure(code="invalid_tool_input", message=text or None)
    content = block.get("content")
    answer = plain_block(content) if _is_one(content) else {}
    if answer.get("type") == "tool_search_tool_result_error":
        return None, ToolSearchFailure(code=answer["error_code"], message=answer.get("error_message"))
    return tuple(_references(block)), None


def _references(block: dict[str, Any]) -> Iterator[str]:
    match block.get("type"):
        case "tool_reference":
            yield block["tool_name"]
        case "tool_addition":
            tool = plain_block(block.get("tool") or {})
            if tool.get("type") == "tool_reference":
                yield tool["name"]
        case "tool_search_tool_result":
            found = plain_block(block["content"]).get("tool_references")
            yield from (reference["tool_name"] for reference in blocks_of(found))
        case "tool_result":
            for part in blocks_of(block.get("content")):
                if part.get("type") == "tool_reference":
                    yield part["tool_name"]
        case _:
            pass


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


def without_additions(messages: Iterable[dict[str, Any]]) -> tuple[list[dict[str, Any]], dict[int, list[str]]]:
    """`messages` without what loads tools in them, and the names of these tools by the place of the message before."""
    kept: list[dict[str, Any]] = []
    added: dict[int, list[str]] = {}
    for message in messages:
        blocks = blocks_of(message.get("content")) if message.get("role") == "system" else ()
        names = [name for block in blocks if block.get("type") == _ADDITION for name in _references(block)]
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
    if not is_iterable(content) or isinstance(content, str):
        return message
    blocks: list[dict[str, Any]] = []
    for given in content:
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
    if block.get("type") not in _RESULTS:
        return []
    names = list(_references(block))
    if block.get("tool_use_id") in searches:
        content = block.get("content")
        texts = [content] if isinstance(content, str) else [part.get("text", "") for part in blocks_of(content)]
        names += [name for text in texts for name in _names_in_text(text)]
    return names


def _names_in_text(text: str) -> list[str]:
    try:
        parsed = json.loads(text)
    except ValueError:  # an answer in prose
        return []
    return strings(as_object(parsed).get(_LOADED))
