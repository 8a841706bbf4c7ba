"""Questions that no passage has all words of: what is found, and in which order."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hikidashi.web.local import LocalIndex
from hikidashi.web.local.database import NewDocument
from hikidashi.web.passages import Passage


def put(index: LocalIndex, *texts: str) -> None:
    """Documents without titles, each of one passage; their addresses are their numbers."""
    with index.writing() as writer:
        for number, text in enumerate(texts):
            writer.put(
                NewDocument(
                    url=str(number),
                    title="",
                    kind="text",
                    size=len(text),
                    mtime_ns=1,
                    hash=str(number).encode(),
                    passages=[Passage("", text)],
                )
            )
        writer.commit()


def numbers(index: LocalIndex, question: str, limit: int = 10) -> list[int]:
    return [int(found.url) for found in index.search(question, limit=limit)]


def test_no_word_is_required_not_even_the_rarest(index: LocalIndex) -> None:
    others = [f"Number {n} has exact figures." for n in range(8)] + [f"Number {n} is decimal." for n in range(8)]
    put(index, "Decimal arithmetic, correctly rounded.", "Money that is exact is rare.", *others)
    found = index.search("exact decimal arithmetic for money")
    assert {one.url for one in found[:2]} == {"0", "1"}
    assert not any(one.has_every_word for one in found)
    assert all(one.score < 0.5 for one in found)


def test_frequent_words_do_not_crowd_out_a_rare_one(index: LocalIndex) -> None:
    put(index, "FallbackModel works.", *(f"Number {n} is what you need." for n in range(100)))
    assert numbers(index, "what does FallbackModel need") == [0]


def test_a_weak_result_is_better_than_none_and_its_score_says_so(index: LocalIndex) -> None:
    put(index, "Strong numbers to generate tokens.", *(f"Note {n} on trees." for n in range(20)))
    (found,) = index.search("generate secure tokens for passwords of customers")
    assert (found.url, found.has_every_word) == ("0", False)
    assert 0 < found.score < 0.2


def test_beside_a_passage_with_every_word_those_with_few_are_left_out(index: LocalIndex) -> None:
    put(index, "Oak drawer with dovetails and wax.", "A drawer.", "Pine drawer with dovetails and wax.")
    assert numbers(index, "oak drawer dovetails wax") == [0, 2]


def test_a_word_of_many_passages_is_a_result_only_if_there_is_nothing_else(index: LocalIndex) -> None:
    put(index, *(f"Drawer number {n}." for n in range(600)), *(f"Shelf number {n}." for n in range(700)), "Ebony.")
    assert len(numbers(index, "drawer violin", limit=5)) == 5
    assert numbers(index, "drawer ebony violin", limit=5) == [1300]


def test_of_many_passages_with_two_of_five_words_some_are_found(index: LocalIndex) -> None:
    put(index, *(f"The drawer number {n} is of oak." for n in range(300)), *(f"Filler {n}." for n in range(300)))
    assert len(numbers(index, "oak drawer violin trumpet cello", limit=5)) == 5


@pytest.mark.parametrize(
    ("question", "together", "apart"),
    [
        (
            "why search by words first",
            "Of the two ways it is better to search by words first, and to think later.",
            "Of the two first ways it is better to think words over, and later to search.",
        ),
        ("検索の記録を削除", "手順として、検索の記録を削除します。", "手順として、削除するのは記録や古い検索です。"),
    ],
)
@pytest.mark.parametrize("last", ["", " zebra"])
def test_words_that_follow_each_other_as_in_the_question_come_first(
    index: LocalIndex, question: str, together: str, apart: str, last: str
) -> None:
    put(index, apart, together, "Something else.", "別の話。")
    found = index.search(question + last)
    assert [one.url for one in found] == ["1", "0"]
    assert found[0].score > found[1].score


WORDS = ("oak", "pine", "teak", "wax", "glue", "saw")


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    texts=st.lists(st.lists(st.sampled_from(WORDS), max_size=5), min_size=1, max_size=14),
    asked=st.lists(st.sampled_from([*WORDS, "violin"]), min_size=1, max_size=6, unique=True),
)
def test_all_that_have_half_of_what_the_best_has_are_found_and_more_results_only_follow(
    tmp_path_factory: pytest.TempPathFactory, texts: list[list[str]], asked: Sequence[str]
) -> None:
    index = LocalIndex(tmp_path_factory.mktemp("weak") / "web.db")
    put(index, *(f"{' '.join(words)} {number}." for number, words in enumerate(texts)))

    def idf(word: str) -> float:
        having = sum(word in words for words in texts)
        return math.log(1 + (len(texts) - having + 0.5) / (having + 0.5))

    weights = [sum(idf(word) for word in asked if word in words) for words in texts]
    has_all = [set(asked) <= set(words) for words in texts]
    found = index.search(" ".join(asked), limit=100)
    urls = {int(one.url) for one in found}
    best = max(weights)
    if len(asked) == 1:
        assert urls == {number for number, every in enumerate(has_all) if every}
    else:
        clear = {n for n, weight in enumerate(weights) if weight and (has_all[n] or weight > 0.5001 * best)}
        assert clear <= urls <= {n for n, weight in enumerate(weights) if weight and weight > 0.4999 * best}
    assert {int(one.url) for one in found if one.has_every_word} == {n for n, every in enumerate(has_all) if every}
    scores = [one.score for one in found]
    assert scores == sorted(scores, reverse=True)
    for limit in (1, 3):
        assert index.search(" ".join(asked), limit=limit) == found[:limit]
    index.close()


def test_nonsense_finds_nothing_and_talk_nothing_that_looks_certain(index: LocalIndex) -> None:
    put(index, *(f"Number {n}: the drawer of the train is late, as you like it." for n in range(5)), "Wax the oak.")
    assert numbers(index, "asdf qwer zxcv") == []
    for talk in ("the train to Kyoto was late again", "do you like jazz music", "my grandmother's apple pie recipe"):
        assert all(one.score < 0.5 and not one.has_every_word for one in index.search(talk))
