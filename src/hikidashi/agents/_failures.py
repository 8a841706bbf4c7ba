"""Why there is no answer: a sentence for the person who asked, and the cause for the log.

Errors are told apart by status and by the names of their classes, so no framework is imported here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

from ..web.format import Language

__all__ = ["Kind", "NoAnswerError", "cause_of", "kind_of", "sentence"]

Kind = Literal[
    "busy", "refused", "no_model", "too_long", "cut", "unreachable", "late", "down", "setup", "turns", "empty", "other"
]

_SENTENCES: dict[Kind, tuple[str, str]] = {
    "busy": (
        "モデルが混み合っています。しばらく待ってから、もう一度お試しください。",
        "The model is busy. Please wait a little and try again.",
    ),
    "refused": (
        "モデルに認証を拒否されました。管理者にAPIキーの確認を依頼してください。",
        "The model's service refused the key. Please ask whoever runs this to check it.",
    ),
    "no_model": (
        "設定されたモデルが見つかりませんでした。管理者にモデル名の確認を依頼してください。",
        "The model was not found. Please ask whoever runs this to check its name.",
    ),
    "too_long": (
        "会話が長すぎて処理できません。新しい会話を始めてください。",
        "The conversation is too long. Please start a new one.",
    ),
    "cut": (
        "回答が長すぎたため、途中で終わりました。範囲を絞って、もう一度お試しください。",
        "The answer was too long and broke off. Please ask for less at once.",
    ),
    "unreachable": (
        "モデルに接続できませんでした。しばらく待ってから、もう一度お試しください。",
        "The model could not be reached. Please try again in a while.",
    ),
    "late": (
        "モデルの応答が時間内に得られませんでした。もう一度お試しください。",
        "The model did not answer in time. Please try again.",
    ),
    "down": (
        "モデルのサービスで障害が起きています。しばらく待ってから、もう一度お試しください。",
        "The model's service has a problem. Please try again in a while.",
    ),
    "setup": (
        "設定に問題があるため回答できません。管理者にログの確認を依頼してください。",
        "Something is not set up. Please ask whoever runs this to look into the log.",
    ),
    "turns": (
        "ツールの呼び出しが多すぎたため中止しました。質問を分けて、もう一度お試しください。",
        "It took too many tool calls, so it was stopped. Please split the question.",
    ),
    "empty": (
        "モデルから回答が得られませんでした。言い方を変えて、もう一度お試しください。",
        "The model gave no answer. Please put the question another way.",
    ),
    "other": (
        "エラーが発生したため回答できませんでした。もう一度お試しください。",
        "Something went wrong, so there is no answer. Please try again.",
    ),
}

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

_NAMES_OF_KEYS = ("_KEY", "_TOKEN", "_SECRET")


class NoAnswerError(Exception):
    """A run that ended well and still has no answer; it does not leave this package."""

    def __init__(self, kind: Kind, reason: str) -> None:
        super().__init__(kind, reason)
        self.kind: Kind = kind
        self.reason = reason

    def __str__(self) -> str:
        return self.reason


def sentence(kind: Kind, language: Language) -> str:
    """What the person who asked reads."""
    japanese, english = _SENTENCES[kind]
    return japanese if language == "ja" else english


def kind_of(error: BaseException) -> Kind:
    """What kind of failure `error` is, judged by itself or what caused it."""
    for link in _chain(error):
        if isinstance(link, NoAnswerError):
            return link.kind
        status = _status(link)
        if status is not None:
            return _by_status(status)
        for base in type(link).__mro__:
            if base.__name__ in _NAMES:
                return _NAMES[base.__name__]
    return "other"


def cause_of(error: BaseException, secrets: Iterable[str | None]) -> str:
    """One line for the log: every error of the chain, the place of the first one, and no key.

    Hidden are `secrets`, and what the environment has under a name that ends like that of a key.
    """
    told = " <- ".join(dict.fromkeys(f"{type(link).__name__}: {link}" for link in _chain(error)))
    keys = (value for name, value in os.environ.items() if name.endswith(_NAMES_OF_KEYS) and len(value) >= 6)
    for secret in filter(None, (*secrets, *keys)):
        told = told.replace(secret, "***")
    return re.sub(r"\s+", " ", told) + _place(error)


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield link
        among: Sequence[BaseException] = getattr(link, "exceptions", ())  # of a group, the first
        link = link.__cause__ or getattr(link, "original_exception", None) or (among[0] if among else None)


def _status(error: BaseException) -> int | None:
    status = getattr(error, "status_code", None)
    if status is None:  # botocore keeps it in the answer
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
