"""Why a page could not be read: the reasons that results list and page errors carry."""

from __future__ import annotations

import re
from functools import cache
from typing import Literal, get_args

from ...common.language import Language, LocalizedText, in_language
from . import _en
from .messages import message

__all__ = ["ReasonCode", "reason", "translate_reason"]

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
    "outside",
    "crawl_size",
    "crawl_time",
    "robots",
    "robots_unreadable",
    "not_indexed",
    "not_text",
    "empty_file",
    "no_file",
    "other_host",
    "too_many_pages",
    "url_type",
    "url_surplus",
    "page_unanswered",
    "page_failed",
]

_PLACEHOLDER = re.compile(r"\\\{(\w+)\\\}")


def reason(code: ReasonCode, /, **values: object) -> LocalizedText:
    """The reason `code` with `values` filled in; in English unless another language is chosen.

    It fits after a colon and ends without a full stop.
    """
    return message(f"reason.{code}", "en", **values)


def translate_reason(text: str, language: Language) -> str:
    """A message or reason in `language`, also an English reason that arrived as plain text, such as through an API.

    Any other text is unchanged.
    """
    if isinstance(text, LocalizedText) or language == "en":
        return in_language(text, language)
    for code, pattern in _patterns().items():
        if match := pattern.fullmatch(text):
            values = {name: translate_reason(value, language) for name, value in match.groupdict().items()}
            return in_language(reason(code, **values), language)
    return text


@cache
def _patterns() -> dict[ReasonCode, re.Pattern[str]]:
    """A pattern for the English text of each reason, with a group for each placeholder."""
    return {
        code: re.compile(_PLACEHOLDER.sub(r"(?P<\1>.{1,80})", re.escape(_en.TEXTS[f"reason.{code}"])))
        for code in get_args(ReasonCode)
    }
