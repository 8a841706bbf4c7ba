"""Failures of an answer: a message for the person who asked, and the cause for the log.

Errors are classified by status and class name, so no framework is imported here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

from ..texts import Language
from ..web.redact import redacted

__all__ = ["Audience", "Kind", "UnansweredError", "cause_of", "kind_of", "sentence", "short_cause"]

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

_SENTENCES: dict[Kind, tuple[str, str]] = {
    "busy": (
        "モデルが混み合っています。しばらく待ってから、もう一度お試しください。",
        "The model is busy. Please wait a little and try again.",
    ),
    "refused": (
        "モデルに認証を拒否されました。管理者にAPIキーの確認を依頼してください。",
        "The model's service refused the key. Please ask the operator to check it.",
    ),
    "login": (
        "モデルの利用に必要なログインがされていません。管理者に設定の確認を依頼してください。",
        "There is no login for the model's service. Please ask the operator to log in.",
    ),
    "no_model": (
        "設定されたモデルが見つかりませんでした。管理者にモデル名の確認を依頼してください。",
        "The model was not found. Please ask the operator to check its name.",
    ),
    "too_long": (
        "会話が長すぎて処理できません。新しい会話を始めてください。",
        "The conversation is too long. Please start a new one.",
    ),
    "cut": (
        "回答が長すぎたため、途中で終わりました。範囲を絞って、もう一度お試しください。",
        "The answer was too long and was cut off. Please ask for less at once.",
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
        "The setup is incomplete. Please ask the operator to check the log.",
    ),
    "turns": (
        "ツールの呼び出しが多すぎたため中止しました。質問を分けて、もう一度お試しください。",
        "The answer needed too many tool calls and was stopped. Please split the question.",
    ),
    "empty": (
        "モデルから回答が得られませんでした。言い方を変えて、もう一度お試しください。",
        "The model gave no answer. Please rephrase the question.",
    ),
    "other": (
        "エラーが発生したため回答できませんでした。もう一度お試しください。",
        "Something went wrong, so there is no answer. Please try again.",
    ),
}

_FOR_OPERATORS: dict[Kind, tuple[str, str]] = {
    "refused": (
        "モデルに認証を拒否されました。`agent.api_key` または環境変数（ANTHROPIC_API_KEY など）を確認してください。",
        "The model's service refused the key. Check `agent.api_key` in the config file, or the key in the environment "
        "(such as ANTHROPIC_API_KEY).",
    ),
    "login": (
        "Claude Code にログインしておらず、APIキーもありません。次のいずれかを行ってください: "
        "(1) `claude` を実行してログインする。(2) 環境変数 ANTHROPIC_API_KEY を設定する。"
        "(3) 設定ファイル config.yaml で別のモデルを選ぶ（例は `hikidashi config example` で表示）。"
        "`hikidashi doctor` で現在の状態を確認できます。",
        "Claude Code is not logged in, and there is no API key. Do one of these: "
        "(1) run `claude` and log in; (2) set ANTHROPIC_API_KEY; "
        "(3) choose another model in config.yaml (`hikidashi config example` prints one). "
        "`hikidashi doctor` shows what is set up here.",
    ),
    "no_model": (
        "設定されたモデルが見つかりませんでした。設定ファイルの `agent.model` を確認してください。",
        "The model was not found. Check `agent.model` in the config file.",
    ),
    "setup": (
        "設定に問題があるため回答できません: {cause}",
        "The setup is incomplete: {cause}",
    ),
    "other": (
        "エラーが発生したため回答できませんでした: {cause}",
        "Something went wrong, so there is no answer: {cause}",
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
    sentences = _FOR_OPERATORS if audience == "operator" and kind in _FOR_OPERATORS else _SENTENCES
    if "{cause}" in sentences[kind][0] and not cause:
        sentences = _SENTENCES
    japanese, english = sentences[kind]
    return (japanese if language == "ja" else english).format(cause=cause)


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
