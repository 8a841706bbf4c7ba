"""What words say is checked against the meaning, and a clear request needs less of it."""

from __future__ import annotations

from math import sqrt
from typing import Any

import pytest

from hikidashi.search import Embedder, ToolCatalog
from hikidashi.search.engine.fusion import MEANING

FLOOR = 0.5


def tool(name: str, description: str) -> dict[str, Any]:
    return {"name": name, "description": description, "input_schema": {"type": "object", "properties": {}}}


TOOLS = [
    tool("open_ticket", "Open a ticket for a printer."),
    tool("set_lights", "Set the lights."),
    tool("list_rooms", "List rooms."),
]


def catalog_at(nearness: float) -> ToolCatalog:
    """A catalogue in which every question is as near to every tool: this share of what makes a tool be about it."""
    similarity = FLOOR * nearness

    def tools(texts: list[str]) -> list[list[float]]:
        return [[1.0, 0.0] for _ in texts]

    def questions(texts: list[str]) -> list[list[float]]:
        return [[similarity, sqrt(1 - similarity**2)] for _ in texts]

    return ToolCatalog(TOOLS, embed=Embedder(embed=tools, question=questions, floor=FLOOR))


@pytest.mark.parametrize(("nearness", "confident"), [(0.9, False), (1.1, True)])
def test_the_words_of_a_statement_are_evidence_only_if_a_tool_is_near_in_meaning(
    nearness: float, confident: bool
) -> None:
    told = "nobody ever had a ticket for that printer"
    assert ToolCatalog(TOOLS, ranker="lexical").search(told)[0].confident
    first = catalog_at(nearness).search(told)[0]
    assert (first.name, first.confident) == ("open_ticket", confident)
    assert first.doubt == ("" if confident else "Words of the question match, but no tool is near in meaning.")


@pytest.mark.parametrize(
    ("asked", "nearness", "confident"),
    [
        ("ticket okonkwo", 0.5, True),
        ("ticket okonkwo", 0.3, False),
        ("open a ticket for okonkwo", 0.0, True),
        ("ticket okonkow prniter", 0.3, True),  # misspelled, so that the model has not read it all
        ("Drucker okonkwo", 0.3, True),  # of which the model has read the translation alone
    ],
)
def test_what_is_not_clearly_a_request_is_not_certain_if_every_tool_is_far_in_meaning(
    asked: str, nearness: float, confident: bool
) -> None:
    first = catalog_at(nearness).search(asked)[0]
    assert (first.name, first.confident) == ("open_ticket", confident)


@pytest.mark.parametrize(
    ("asked", "nearness", "confident"),
    [("dim the bedroom", 0.95, True), ("dim the bedroom", 0.85, False), ("nobody dims the bedroom", 0.95, False)],
)
def test_a_clear_request_with_a_synonym_of_a_tool_needs_to_be_a_little_less_near(
    asked: str, nearness: float, confident: bool
) -> None:
    matches = catalog_at(nearness).search(asked)
    assert any(match.confident for match in matches) is confident


def test_where_words_decide_no_score_has_more_from_words_or_meaning_than_there_is() -> None:
    similarity = {"open": 0.0, "set": 0.4, "list": 0.1}

    def tools(texts: list[str]) -> list[list[float]]:
        near = [next((one for word, one in similarity.items() if text.startswith(word)), 0.0) for text in texts]
        return [[one, sqrt(1 - one**2)] for one in near]

    embedder = Embedder(embed=tools, question=lambda texts: [[1.0, 0.0] for _ in texts], floor=FLOOR)
    matches = ToolCatalog(TOOLS, embed=embedder).search("open a ticket for okonkwo, list lights")
    assert [match.name for match in matches] == ["open_ticket", "set_lights", "list_rooms"]
    assert [match.score for match in matches] == sorted((match.score for match in matches), reverse=True)
    for match in matches:
        assert match.score * match.by_words <= 1 - MEANING + 1e-9
        assert match.score * match.by_meaning <= MEANING + 1e-9


PAYMENTS = [
    tool("refund_payment", "Refund a payment."),
    tool("list_payments", "List the payments of a month."),
    tool("start_build", "Start a build on the build server."),
    tool("send_email", "Send an email message."),
]
COMPILER = [
    tool("launch", "Kick off a compilation of sources."),
    tool("weather", "Forecast for a city."),
    tool("send_email", "Send an email message."),
]


@pytest.mark.parametrize(
    ("asked", "tools", "found"),
    [
        ("お金を返して", PAYMENTS, "refund_payment"),  # no tool has money or return
        ("rends-lui l'argent", PAYMENTS, "refund_payment"),
        ("ビルドを実行して", PAYMENTS, "start_build"),
        ("start the build", COMPILER, "launch"),  # generic words alone
    ],
)
def test_generic_words_and_translations_that_no_tool_has_are_read(
    asked: str, tools: list[dict[str, Any]], found: str
) -> None:
    [match, *_] = ToolCatalog(tools, ranker="hybrid").search(asked)
    assert (match.name, match.confident) == (found, True)


@pytest.mark.parametrize("said", ["now and then", "one day", "大丈夫", "また今度", "buenos días", "c'est la vie"])
def test_everyday_words_that_are_no_request_are_not(said: str) -> None:
    near = Embedder(embed=lambda texts: [[1.0] for _ in texts], floor=FLOOR)
    assert not ToolCatalog(PAYMENTS, embed=near).search(said)
