"""Nothing relevant gives nothing: what a question and a tool must share."""

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
    return [match.name for match in catalog.search(question)]


@pytest.fixture(scope="module")
def large() -> ToolCatalog:
    return ToolCatalog([*MANY, MIX, COSTS])


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
