"""A question with several wishes: each finds its tool, however many others are near to one of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from hikidashi.search import Embedder, ToolCatalog
from hikidashi.search.engine.fusion import Fused, wish_by_wish

TOOLS = [
    {"name": name, "description": text, "input_schema": {"type": "object"}}
    for name, text in {
        "stay_finder": "Rooms for the night.",
        "stay_prices": "Rooms for the night by price.",
        "stay_deals": "Rooms for the night at a discount.",
        "message_sender": "Texts for a person.",
        "forecast": "Sun or rain.",
    }.items()
]


def embed(texts: list[str]) -> list[list[float]]:
    """Rooms, of which all are nearly alike; messages, which are asked for less clearly; and something else."""
    found: list[list[float]] = []
    for text in texts:
        rooms = any(word in text for word in ("hotel", "Rooms"))
        message = any(word in text for word in ("Ann", "Texts"))
        blur = 0.15 * text.count("by price") + 0.3 * text.count("discount") + 0.5 * ("Ann" in text) + ("Sun" in text)
        found.append([1.0 * rooms, 1.0 * message, blur])
    return found


def names(catalog: ToolCatalog, question: str, limit: int) -> list[str]:
    return [match.name for match in catalog.search(question, limit=limit)]


def test_each_wish_of_a_question_finds_its_tool_before_one_finds_a_second() -> None:
    catalog = ToolCatalog(TOOLS, ranker="hybrid", embed=Embedder(embed=embed))
    assert names(catalog, "look for a hotel", 2) == snapshot(["stay_finder", "stay_prices"])
    assert names(catalog, "look for a hotel and let Ann know it", 2) == snapshot(["stay_finder", "message_sender"])


def test_a_clause_counts_for_less_once_its_tool_is_found() -> None:
    scores = {1: Fused(0.9, 0.5), 2: Fused(0.88, 0.5), 3: Fused(0.86, 0.4)}
    near = {1: [0.1, 0.7, 0.2], 2: [0.1, 0.7, 0.2], 3: [0.1, 0.2, 0.7]}
    ranked = wish_by_wish(scores, near, 0.2)
    assert list(ranked) == [1, 3, 2]
    assert ranked[1] == scores[1]
    assert ranked[3] == scores[3]
    assert ranked[2] == pytest.approx(Fused(0.83, 0.45))


def test_a_question_without_clauses_or_with_one_is_ranked_as_a_whole() -> None:
    scores = {1: Fused(0.9, 0.5), 2: Fused(0.89, 0.5), 3: Fused(0.88, 0.5)}
    for near in ({1: [0.7], 2: [0.7], 3: [0.6]}, {1: [0.1, 0.7], 2: [0.1, 0.7], 3: [0.6, 0.1]}):
        assert wish_by_wish(scores, near, 0.1) == scores


@st.composite
def rankings(draw: st.DrawFn) -> tuple[dict[int, Fused], dict[int, list[float]]]:
    share = st.floats(0, 1)
    clauses = draw(st.integers(1, 6))
    numbers = draw(st.sets(st.integers(0, 30), max_size=12))
    parts = {number: (draw(share), draw(share)) for number in numbers}
    scores = {number: Fused(0.45 * words + 0.55 * near, 0.55 * near) for number, (words, near) in parts.items()}
    return scores, {number: draw(st.lists(share, min_size=clauses, max_size=clauses)) for number in numbers}


@given(rankings())
def test_no_tool_is_lost_scores_fall_and_only_meaning_is_taken_away(
    given: tuple[dict[int, Fused], dict[int, list[float]]],
) -> None:
    scores, near = given
    ranked = wish_by_wish(scores, near, min((max(one) for one in near.values()), default=0.0))
    assert ranked.keys() == scores.keys()
    values = [one.score for one in ranked.values()]
    assert values == sorted(values, reverse=True)
    for number, one in ranked.items():
        before = scores[number]
        assert -1e-9 <= one.by_meaning <= before.by_meaning
        assert abs((before.score - before.by_meaning) - (one.score - one.by_meaning)) < 1e-9
