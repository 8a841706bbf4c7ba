"""The index ranks as a plain, slow BM25F does, and a changed index as a fresh one."""

from __future__ import annotations

from collections import Counter
from math import log
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikidashi.search.engine import index as module
from hikidashi.search.engine.index import Index

WORDS = ["get", "user", "mail", "send", "weather", "file", "list", "rare", "odd", "unique"]
Fields = list[tuple[int, list[str]]]


def plain_bm25f(tools: list[Fields], query: dict[str, float], limit: int) -> list[tuple[int, float]]:
    """BM25F as a textbook writes it: every tool scored for every term."""
    counts: list[Counter[str]] = []
    for fields in tools:
        count: Counter[str] = Counter()
        for weight, terms in fields:
            for term in terms:
                count[term] += weight
        counts.append(count)
    lengths = [sum(weight * len(terms) for weight, terms in fields) for fields in tools]
    average = sum(lengths) / len(tools) or 1
    scores: dict[int, float] = {}
    for number, count in enumerate(counts):
        for term, gain in query.items():
            having = sum(term in other for other in counts)
            if term in count:
                idf = log(1 + (len(tools) - having + 0.5) / (having + 0.5))
                frequency = count[term] / 20
                saturated = frequency / (frequency + 1.2 * (1 - 0.6 + 0.6 * lengths[number] / average))
                scores[number] = scores.get(number, 0) + gain * idf * saturated
    return sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:limit]


def index_of(tools: list[Fields]) -> Index:
    index = Index()
    for fields in tools:
        index.add(fields)
    return index


texts = st.lists(st.sampled_from(WORDS), max_size=12)
tools_strategy = st.lists(
    st.tuples(texts, texts).map(lambda pair: [(50, pair[0][:3]), (20, pair[1])]), min_size=1, max_size=80
)
queries = st.dictionaries(st.sampled_from([*WORDS, "unknown"]), st.sampled_from([1.0, 0.7]), min_size=1, max_size=8)


def same_ranking(ours: list[tuple[int, float]], theirs: list[tuple[int, float]]) -> None:
    assert [score for _, score in ours] == pytest.approx([score for _, score in theirs])
    for (number, score), (other, _) in zip(ours, theirs, strict=True):
        # Only tools whose scores differ by rounding alone may change places.
        assert number == other or sum(abs(score - value) < 1e-9 for _, value in theirs) > 1 or score == ours[-1][1]


@given(tools_strategy, queries, st.integers(1, 10))
def test_the_best_tools_are_those_of_a_plain_bm25f(tools: list[Fields], query: dict[str, float], limit: int) -> None:
    same_ranking(index_of(tools).top(query, limit), plain_bm25f(tools, query, limit))


def test_frequent_words_only_add_to_tools_that_rare_words_proposed() -> None:
    tools: list[Fields] = [[(20, ["get", "user"] + ["list"] * (number % 7))] for number in range(2_000)]
    for number in range(0, 2_000, 150):
        tools[number] = [(50, ["rare", "get"]), (20, ["user"])]
    query = {"get": 1.0, "list": 1.0, "rare": 1.0, "user": 1.0}
    index = index_of(tools)
    same_ranking(index.top(query, 5), plain_bm25f(tools, query, 5))
    rare_only = {number for number, _ in index.top(query, 5)}
    assert rare_only <= set(range(0, 2_000, 150))


@pytest.mark.parametrize("seed", range(8))
def test_among_many_tools_the_best_are_those_of_a_plain_bm25f(seed: int) -> None:
    chance = Random(seed)
    often = [1 / (place + 1) for place in range(len(WORDS))]
    tools: list[Fields] = [
        [(50, chance.choices(WORDS, often, k=2)), (20, chance.choices(WORDS, often, k=chance.randint(1, 9)))]
        for _ in range(300)
    ]
    query = {word: chance.choice([1.0, 0.7]) for word in chance.sample(WORDS, chance.randint(5, 10))}
    index = index_of(tools)
    for limit in (1, 5, 50):
        same_ranking(index.top(query, limit), plain_bm25f(tools, query, limit))


@given(tools_strategy, st.data(), queries)
def test_an_index_after_removals_scores_exactly_as_a_fresh_one(
    tools: list[Fields], data: st.DataObject, query: dict[str, float]
) -> None:
    index = index_of(tools)
    index.top(query, 3)  # what is computed here must not survive the change
    gone = data.draw(st.sets(st.integers(0, len(tools) - 1)))
    for number in gone:
        index.remove(number, [term for _, terms in tools[number] for term in terms])
    kept = [number for number in range(len(tools)) if number not in gone]
    fresh = index_of([tools[number] for number in kept])
    assert index.terms.keys() == fresh.terms.keys()
    assert index.top(query, 5) == [(kept[number], score) for number, score in fresh.top(query, 5)]


def test_equal_tools_stand_in_the_order_they_were_added() -> None:
    same: Fields = [(20, ["mail"])]
    assert [number for number, _ in index_of([same] * 4).top({"mail": 1.0}, 3)] == [0, 1, 2]


def test_a_term_counts_more_in_a_name_and_where_it_is_rare() -> None:
    index = index_of([[(50, ["mail"]), (20, ["x", "y"])], [(50, ["x"]), (20, ["mail", "y"])], [(50, ["y"])]])
    assert [number for number, _ in index.top({"mail": 1.0}, 5)] == [0, 1]
    assert index.idf("mail") > index.idf("y")
    assert index.idf("nowhere") > index.idf("mail")


def test_an_index_knows_which_terms_are_in_which_tools() -> None:
    index = index_of([[(50, ["mail"]), (20, ["mail", "user", "mail"])], [(50, ["user"])]])
    assert [index.has(doc, term) for term in ("mail", "user", "nowhere") for doc in (0, 1)] == [
        True,
        False,
        True,
        True,
        False,
        False,
    ]


@given(tools_strategy, queries)
def test_many_tools_at_once_are_ranked_as_one_by_one(tools: list[Fields], query: dict[str, float]) -> None:
    at_once, one_by_one = Index(), index_of(tools)
    at_once.extend(tools)
    assert at_once.top(query, 5) == one_by_one.top(query, 5)


@given(tools_strategy, queries)
def test_an_index_filled_at_once_grows_and_shrinks_as_any(tools: list[Fields], query: dict[str, float]) -> None:
    at_once = Index()
    at_once.extend(tools)
    at_once.remove(0, [term for _, terms in tools[0] for term in terms])
    at_once.add(tools[0])
    moved = [(number - 1 if number else len(tools) - 1, score) for number, score in index_of(tools).top(query, 80)]
    found = [(number - 1, score) for number, score in at_once.top(query, 80)]
    assert sorted(found) == sorted(moved)


def test_an_index_that_grows_and_shrinks_back_ranks_as_a_fresh_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_LONG", 25)
    chance = Random(7)
    tools: list[Fields] = [
        [(50, chance.choices(WORDS, k=2)), (20, chance.choices(WORDS, k=chance.randint(1, 9)))] for _ in range(120)
    ]
    query = dict.fromkeys(WORDS[:6], 1.0)
    index = Index()
    index.extend(tools[:50])
    for number in range(50, 120):
        index.top(query, 5)
        index.add(tools[number])
        assert index.top(query, 5) == index_of(tools[: number + 1]).top(query, 5)
    for number in range(100):
        index.remove(number, [term for _, terms in tools[number] for term in terms])
        index.top(query, 5)
    same_ranking(index.top(query, 5), [(number + 100, score) for number, score in index_of(tools[100:]).top(query, 5)])
