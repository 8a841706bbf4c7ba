"""Failures of an answer: a message for the person who asked, and the cause for the log.

Errors are classified by status and class name, so no framework is imported here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

from ..texts import Language, texts
from ..web.redact import redacted

Kind = Literal[
    "busy",
    "refused",
    "login",
    "no_model",
    "too_long",
    "cut",
    "unreachable",
    "late",
    "down",
    "setup",
    "turns",
    "empty",
    "other",
]

Audience = Literal["user", "operator"]
"""The reader of the message: a user, who can only ask for help, or the operator, who can fix the problem."""

_NAMES: dict[str, Kind] = {
    "ModelThrottledException": "busy",
    "ContextWindowOverflowException": "too_long",
    "MaxTokensReachedException": "cut",
    "APITimeoutError": "late",
    "TimeoutError": "late",
    "TimeoutException": "late",
    "ReadTimeoutError": "late",
    "APIConnectionError": "unreachable",
    "ConnectError": "unreachable",
    "ConnectionError": "unreachable",
    "EndpointConnectionError": "unreachable",
    "RemoteProtocolError": "unreachable",
    "NoCredentialsError": "refused",
    "UsageLimitExceeded": "turns",
    "ClaudeCodeLimitError": "turns",
    "MissingExtra": "setup",
    "ConfigError": "setup",
    "ClaudeCodeNotFoundError": "setup",
}

# Without a login the CLI gives no status, only "Not logged in · Please run /login".
_ASKS_FOR_LOGIN = re.compile(r"\bnot logged in\b|(?<![\w/])/login\b", re.IGNORECASE)
_LONGEST_CAUSE = 300


class UnansweredError(Exception):
    """A run that succeeded without an answer; not raised out of this package."""

    def __init__(self, kind: Kind, reason: str) -> None:
        super().__init__(kind, reason)
        self.kind: Kind = kind
        self.reason = reason

    def __str__(self) -> str:
        return self.reason


def sentence(kind: Kind, language: Language, audience: Audience = "user", *, cause: str = "") -> str:
    """The message for `audience`; for operators it has the `cause` if there is no better advice."""
    table = texts("agents", language)
    advice = table.get(f"operator.{kind}", "") if audience == "operator" else ""
    if not advice or ("{cause}" in advice and not cause):
        return table[f"failed.{kind}"]
    return advice.format(cause=cause)


def kind_of(error: BaseException) -> Kind:
    """The kind of failure, by the error itself or its causes."""
    for link in _chain(error):
        if isinstance(link, UnansweredError):
            return link.kind
        status = _status(link)
        if status is not None:
            return _by_status(status)
        names = [base.__name__ for base in type(link).__mro__]
        if "ClaudeCodeError" in names and _ASKS_FOR_LOGIN.search(str(link)):
            return "login"
        for name in names:
            if name in _NAMES:
                return _NAMES[name]
    return "other"


def cause_of(error: BaseException, secrets: Iterable[str | None]) -> str:
    """One line for the log: every error of the chain and the place of the first one, without keys.

    `secrets` are redacted, and the values of environment variables whose names end like those of keys.
    """
    errors = " <- ".join(dict.fromkeys(f"{type(link).__name__}: {link}" for link in _chain(error)))
    return " ".join(redacted(errors, secrets).split()) + _place(error)


def short_cause(error: BaseException, secrets: Iterable[str | None]) -> str:
    """The text of `error` in one short line for the operator, without keys."""
    line = " ".join(redacted(str(error), secrets).split()) or type(error).__name__
    return line if len(line) <= _LONGEST_CAUSE else f"{line[: _LONGEST_CAUSE - 1]}…"


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield link
        among: Sequence[BaseException] = getattr(link, "exceptions", ())  # the first of a group
        link = link.__cause__ or getattr(link, "original_exception", None) or (among[0] if among else None)


def _status(error: BaseException) -> int | None:
    status = getattr(error, "status_code", None)
    if status is None:  # botocore has it in the response
        answer: Any = getattr(error, "response", None)
        status = answer.get("ResponseMetadata", {}).get("HTTPStatusCode") if isinstance(answer, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return status if isinstance(status, int) else None


def _by_status(status: int) -> Kind:
    match status:
        case 401 | 403:
            return "refused"
        case 404:
            return "no_model"
        case 413:
            return "too_long"
        case 408 | 504:
            return "late"
        case 429 | 529:
            return "busy"
        case _ if status >= 500:
            return "down"
        case _:
            return "other"


def _place(error: BaseException) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "" if trace is None else f" (at {trace.tb_frame.f_globals.get('__name__')}:{trace.tb_lineno})"
