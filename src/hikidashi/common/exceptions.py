"""What exceptions of other libraries say: groups, errors of pydantic, and sessions that the `mcp` package lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard

if TYPE_CHECKING:
    from pydantic import ValidationError

_PREFIXES = ("Value error, ", "Assertion failed, ")  # what pydantic puts in front of the message of a validator

# The code alone does not tell: -32000 is also what many servers give to errors of their own.
_CLOSED_CODE = -32000
_CLOSED_MESSAGES = frozenset(
    {
        "Connection closed",
        "SSE stream ended without a response",
        "SSE stream ended and reconnection attempts were exhausted",
    }
)


def is_group(error: BaseException) -> TypeGuard[BaseExceptionGroup[BaseException]]:
    """Whether `error` is a group of exceptions, such as a task group raises."""
    return isinstance(error, BaseExceptionGroup)


def first_problem(error: ValidationError, *, below: int = 0) -> str:
    """The first problem in one line, such as `content.0.type: Field required`.

    It is without the value, which may be long or secret, and without the first `below` parts of its place.
    """
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"][below:])
    said = without_prefix(first["msg"])
    return f"{where}: {said}" if where else said


def without_prefix(message: str) -> str:
    """The message of a validator as it was written, without what pydantic puts in front of it."""
    for prefix in _PREFIXES:
        message = message.removeprefix(prefix)
    return message


def is_closed_session(code: object, message: object) -> bool:
    """Whether an `mcp.MCPError` with this code and message says that the session ended before it answered."""
    return code == _CLOSED_CODE and message in _CLOSED_MESSAGES
