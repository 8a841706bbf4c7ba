"""Why a tool was found, in words that a person can read."""

from __future__ import annotations

from hikidashi import ToolCatalog

INVOICE = {"name": "seikyu", "description": "取引先に請求書をメールで送付します。", "input_schema": {"type": "object"}}


def test_pairs_of_letters_are_shown_as_the_words_they_come_from() -> None:
    (match,) = ToolCatalog([INVOICE]).search("請求書をメールで")
    assert match.why == {"description": ("請求書", "メール")}


def test_threes_of_letters_are_shown_as_the_words_they_come_from() -> None:
    (match,) = ToolCatalog([{"name": "mail", "description": "ส่งอีเมลถึงผู้รับ"}]).search("อีเมล")
    assert match.why == {"description": ("อีเมล",)}


def test_short_words_of_languages_with_spaces_stay_apart() -> None:
    (match,) = ToolCatalog([{"name": "mail", "description": "пар арт"}]).search("пар арт")
    assert match.why == {"description": ("пар", "арт")}
