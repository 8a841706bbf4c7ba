"""What a question and a tool must share for the search to be confident of it."""

from __future__ import annotations

from typing import Any

import pytest

from hikidashi.search import ToolCatalog


def tool(name: str, description: str) -> dict[str, Any]:
    return {"name": name, "description": description, "input_schema": {"type": "object", "properties": {}}}


MIX = tool("mix_colors", "Mix two colors into a new one.")
COSTS = tool("costs_breakdown", "Break costs down by team.")
MANY = [tool(f"convert_unit_{number}", f"Convert unit {number}.") for number in range(2_500)]


def found(catalog: ToolCatalog, question: str) -> list[str]:
    """The tools that a search is confident of."""
    return [match.name for match in catalog.search(question) if match.confident]


@pytest.fixture(scope="module")
def large() -> ToolCatalog:
    return ToolCatalog([*MANY, MIX, COSTS], ranker="lexical")


@pytest.mark.parametrize("question", ["what color are my grandmother's socks", "the violin had the color of cheese"])
def test_in_a_large_catalogue_one_chance_word_finds_nothing(large: ToolCatalog, question: str) -> None:
    assert found(large, question) == []


@pytest.mark.parametrize("question", ["colors", "mix colors", "mix the colors of my socks"])
def test_in_a_large_catalogue_enough_of_the_question_finds_the_tool(large: ToolCatalog, question: str) -> None:
    assert found(large, question)[:1] == ["mix_colors"]


def test_in_a_small_catalogue_one_word_is_enough() -> None:
    assert found(ToolCatalog([MIX, COSTS]), "which color suits my grandmother's violin") == ["mix_colors"]


def test_a_guessed_spelling_must_be_half_of_the_question_in_any_catalogue() -> None:
    small = ToolCatalog([MIX, COSTS])
    assert found(small, "my grandmother bakes bread on sundays") == []
    assert found(small, "braek costs") == ["costs_breakdown"]
    assert found(small, "colros") == ["mix_colors"]


DRAWER = [
    tool("log_work", "Record the hours of a day that were spent on a ticket."),
    tool("book_room", "Book a meeting room."),
    tool("rotate_secret", "Replace a stored credential with a new one."),
    tool("convert_currency", "外貨の為替レートを調べ、金額を換算します。"),
    tool("find_free_time", "複数の人の空き時間を調べ、候補を返します。"),
]


@pytest.mark.parametrize(
    "talk",
    [
        "it rained all day and the old dog slept",
        "a new broom sweeps clean",
        "whatever happens, one of them never spoke again",
        "緑のコートを着た男が橋に立っていた",  # shares half of `コート` with `レート`
        "夕焼けがとてもきれいだったと言います",
        "あの人はいつも黙って海を眺めている",
    ],
)
def test_everyday_talk_finds_nothing_even_in_a_small_catalogue(talk: str) -> None:
    assert found(ToolCatalog(DRAWER), talk) == []


def test_everyday_words_find_a_tool_where_they_are_most_of_the_question() -> None:
    assert found(ToolCatalog(DRAWER), "the hours of a day")[0] == "log_work"
    assert found(ToolCatalog(DRAWER), "人の空き時間")[0] == "find_free_time"


def test_a_tool_behind_one_that_has_only_everyday_words_is_found() -> None:
    days = [tool(f"day_{name}", "Day, day, day.") for name in ("off", "book")]
    assert found(ToolCatalog([*days, *DRAWER]), "some old day I must swap that leaked credential")[0] == "rotate_secret"


def test_japanese_words_that_no_tool_has_in_any_language_count_against_a_hit() -> None:
    tools = [*MANY, tool("list_dogs", "List dogs."), tool("send_mail", "Send a mail.")]
    catalog = ToolCatalog(tools, ranker="lexical")
    assert found(catalog, "犬の一覧") == ["list_dogs"]
    assert found(catalog, "桜の木の下で犬が夕焼けと噴水を見ていた") == []


def test_words_of_other_meaning_are_not_taken_for_everyday_ones() -> None:
    catalog = ToolCatalog([tool("headlines", "The latest news."), tool("cellar", "Find a wine."), tool("x", "Other.")])
    assert found(catalog, "what is in the news about bees and honey") == ["headlines"]
    assert found(catalog, "we need a wine with the trout") == ["cellar"]


def test_everyday_words_are_no_misspellings_of_tool_words() -> None:
    catalog = ToolCatalog([tool("list_newer", "List what is newer."), tool("clear_cache", "Clear the cache.")])
    assert found(catalog, "never clean") == []
    assert found(catalog, "cleer the cahce") == ["clear_cache"]


def test_japanese_in_hiragana_alone_is_understood_through_the_glossary() -> None:
    catalog = ToolCatalog([tool("send_letter", "Send a letter."), tool("list_dogs", "List dogs.")])
    assert found(catalog, "これをおくりたい") == ["send_letter"]
