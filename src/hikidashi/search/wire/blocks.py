"""Content blocks of tool searches in the Messages API: read from a reply, and written.

Blocks are dicts or objects of the anthropic package; the package itself is not needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

from ...errors import ToolSearchCode, ToolSearchError
from ..answers.search_tools import names_in
from ..answers.texts import SEARCH_TOOLS

__all__ = [
    "ServerVariant",
    "ToolSearchCall",
    "ToolSearchFailure",
    "Variant",
    "blocks_of",
    "plain_block",
    "reference_blocks",
    "referenced_tools",
    "search_requests",
    "tool_searches",
]

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
        if self.code in get_args(ToolSearchCode):
            return ToolSearchError(
                cast("ToolSearchCode", self.code), self.message or f"The search failed: {self.code}."
            )
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
    return [
        call
        for block in blocks
        if (call := _call(block, outcomes.get(cast("str", block.get("id"))), client_tool)) is not None
    ]


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
    if isinstance(value, Mapping):
        return cast("dict[str, Any]", value)
    to_dict = getattr(value, "to_dict", None)
    if callable(to_dict):
        # No warnings: the package warns about error codes older or newer than itself.
        return cast("dict[str, Any]", to_dict(mode="json", warnings=False))
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
    elif isinstance(content, Iterable):
        for item in cast("Iterable[object]", content):
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
