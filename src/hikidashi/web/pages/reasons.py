"""Why a page could not be read, in English and Japanese: one table for every sentence of the failed section."""

from __future__ import annotations

import re
from functools import cache
from typing import Literal

from ..wording.said import Language, Said, said

__all__ = ["Language", "ReasonCode", "in_language", "reason"]

ReasonCode = Literal[
    "scheme",
    "host",
    "characters",
    "credentials",
    "port",
    "private",
    "too_long",
    "redirects",
    "unresolved",
    "unreachable",
    "tls",
    "protocol",
    "timeout",
    "status",
    "too_large",
    "undecodable",
    "media",
    "pdf_encrypted",
    "pdf_broken",
    "pdf_no_text",
    "pdf_too_long",
    "empty",
    "unreadable",
    "location",
    "unexpected",
]

_TEXTS: dict[ReasonCode, tuple[str, str]] = {
    "scheme": ("it does not begin with http:// or https://", "http:// または https:// で始まっていません"),
    "host": ("it names no valid host", "有効なホスト名がありません"),
    "characters": (
        "it contains spaces, control characters or backslashes",
        "空白・制御文字・バックスラッシュが含まれています",
    ),
    "credentials": ("it carries a user name or password", "ユーザー名またはパスワードが含まれています"),
    "port": ("only the ports 80 and 443 are allowed", "使えるポートは 80 と 443 だけです"),
    "private": (
        "it leads to a private, local or reserved address",
        "プライベート・ローカル・予約済みのアドレスです",
    ),
    "too_long": ("it is longer than {limit} characters", "{limit} 文字を超えています"),
    "redirects": ("it redirects more than {limit} times", "リダイレクトが {limit} 回を超えました"),
    "unresolved": ("its host name was not found", "ホスト名が見つかりませんでした"),
    "unreachable": ("the server could not be reached", "サーバーに接続できませんでした"),
    "tls": ("the server's certificate was not accepted", "サーバーの証明書を確認できませんでした"),
    "protocol": ("the server's answer broke off or is not HTTP", "サーバーの応答が途切れたか HTTP ではありません"),
    "timeout": ("no complete answer within {seconds} s", "{seconds} 秒以内に応答が完了しませんでした"),
    "status": ("the server answered {status}", "サーバーの応答は {status} でした"),
    "too_large": ("it is larger than {limit}", "{limit} を超えています"),
    "undecodable": ("its compression could not be undone", "圧縮を展開できませんでした"),
    "media": ("it is {kind}, which has no text to extract", "{kind} からはテキストを抽出できません"),
    "pdf_encrypted": ("the PDF is protected by a password", "PDF がパスワードで保護されています"),
    "pdf_broken": ("the PDF is damaged", "PDF が壊れています"),
    "pdf_no_text": ("the PDF holds no text, only images perhaps", "PDF にテキストがありません（画像だけの可能性）"),
    "pdf_too_long": ("the PDF took more time or memory than allowed", "PDF の処理が時間またはメモリの上限を超えました"),
    "empty": ("the page holds no text", "ページにテキストがありません"),
    "unreadable": ("the page could not be parsed", "ページを解析できませんでした"),
    "location": ("it redirects to {location}, which is no address", "転送先 {location} はアドレスではありません"),
    "unexpected": (
        "reading it failed with an unexpected {kind}",
        "読み取り中に予期しないエラー（{kind}）が発生しました",
    ),
}


def reason(code: ReasonCode, language: Language = "en", /, **values: object) -> Said:
    """The sentence for `code`, with `values` filled in; it fits after a colon and ends without a full stop."""
    english, japanese = _TEXTS[code]
    return said(japanese, english, language, **values)


def in_language(text: str, language: Language) -> str:
    """A sentence of ours in `language`, also an English one of `reason` that was sent as bare text.

    Any other text, such as a server's own, is unchanged.
    """
    if isinstance(text, Said):
        return text.within(language)
    if language == "en":
        return text
    for pattern, japanese in _patterns():
        if match := pattern.fullmatch(text):
            return japanese.format(**match.groupdict())
    return text


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], str], ...]:
    def pattern(english: str) -> re.Pattern[str]:
        return re.compile(re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>.{1,80})", re.escape(english)))

    return tuple((pattern(english), japanese) for english, japanese in _TEXTS.values())
