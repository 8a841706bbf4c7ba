"""Lists of a server in which single items are invalid: the valid ones are used, and those left out are noted.

The `mcp` package refuses a list as a whole, so that one tool without `type` in its schema would cost all others.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from typing import Any, cast

from ....common.validation import first_problem
from ....errors import MissingExtra
from .filtered import FilteredStream, WatchedSends

try:
    import mcp_types as types
    from mcp_types.methods import validate_server_result
    from pydantic import ValidationError
except ImportError as error:
    raise MissingExtra("mcp", "mcp") from error

__all__ = ["ListRepairs"]

_ITEMS = {
    "tools/list": ("tools", "tool", "name"),
    "prompts/list": ("prompts", "prompt", "name"),
    "resources/list": ("resources", "resource", "uri"),
    "resources/templates/list": ("resourceTemplates", "resource template", "uriTemplate"),
}
"""The key of the items, what one is called, and the key of its name."""


class ListRepairs:
    """Takes invalid items out of the lists that one connection asks for while `on` holds."""

    def __init__(self) -> None:
        self._version: str | None = None
        self._asked: dict[types.RequestId, str] = {}
        self._notes: list[str] = []

    @contextmanager
    def on(self, version: str, notes: list[str]) -> Generator[None]:
        """Repair the lists that are asked for in this block, by the revision `version`; `notes` gets what is lost."""
        self._version, self._notes = version, notes
        try:
            yield
        finally:
            self._version = None
            self._asked.clear()

    @asynccontextmanager
    async def wrap(self, transport: AbstractAsyncContextManager[Any]) -> AsyncGenerator[tuple[Any, Any]]:
        """`transport` with its lists repaired."""
        async with transport as (read, write):
            yield _Answers(read, self), _Requests(write, self)

    def asked(self, message: types.JSONRPCMessage) -> None:
        """Take note of a request for a list."""
        if self._version is not None and isinstance(message, types.JSONRPCRequest) and message.method in _ITEMS:
            self._asked[message.id] = message.method

    def answered(self, message: types.JSONRPCMessage) -> None:
        """Repair the list in an answer."""
        if self._asked and isinstance(message, types.JSONRPCResponse):
            method = self._asked.pop(message.id, None)
            if method is not None and self._version is not None:
                self._repair(method, self._version, message.result)

    def _repair(self, method: str, version: str, result: dict[str, Any]) -> None:
        key, kind, named = _ITEMS[method]
        items = result.get(key)
        if not isinstance(items, list):
            return
        kept: list[Any] = []
        for number, item in enumerate(cast("list[Any]", items), start=1):
            completed = _completed(item) if key == "tools" else item
            problem = _problem(method, version, {**result, key: [completed]})
            name = cast("dict[str, Any]", item).get(named) if isinstance(item, dict) else None
            if problem is None and isinstance(name, str) and not name.strip():
                problem = f"its `{named}` is empty"
            if problem is None:
                kept.append(completed)
                continue
            called = repr(name) if isinstance(name, str) and name.strip() else f"number {number}"
            self._notes.append(f"the {kind} {called} is left out, since it is invalid: {problem}")
        result[key] = kept


def _problem(method: str, version: str, result: dict[str, Any]) -> str | None:
    try:
        validate_server_result(method, version, result)
    except ValidationError as error:
        return first_problem(error, below=2)
    return None


def _completed(tool: Any) -> Any:
    """A tool whose schemas have the `type` that they must have: arguments are always an object."""
    if not isinstance(tool, dict):
        return tool
    given = dict(cast("dict[str, Any]", tool))
    if given.get("inputSchema", True) in (True, None):
        given["inputSchema"] = {}
    for key in ("inputSchema", "outputSchema"):
        schema = given.get(key)
        if isinstance(schema, dict) and "type" not in schema:
            given[key] = {"type": "object", **cast("dict[str, Any]", schema)}
    return given


class _Answers(FilteredStream):
    def __init__(self, inner: Any, repairs: ListRepairs) -> None:
        super().__init__(inner)
        self._repairs = repairs

    def _takes(self, message: types.JSONRPCMessage) -> bool:
        self._repairs.answered(message)
        return False

    async def _end(self) -> None:
        pass


class _Requests(WatchedSends):
    def __init__(self, inner: Any, repairs: ListRepairs) -> None:
        super().__init__(inner)
        self._repairs = repairs

    def _sends(self, message: types.JSONRPCMessage) -> None:
        self._repairs.asked(message)
