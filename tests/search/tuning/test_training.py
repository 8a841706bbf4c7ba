"""Training of an adapter, on vectors made up for it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hikidashi.search.tuning._training import Examples, examples, train
from hikidashi.search.tuning.measuring import change_of, figure, scored

Matrix = NDArray[np.float32]
SIZE = 32


def unit(rows: NDArray[np.float64]) -> Matrix:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def world(seed: int = 0) -> tuple[Examples, Examples, Matrix, Matrix]:
    """Questions with a slang of their own for six of twenty tools: to train on, and others; tools; everyday vectors."""
    random = np.random.default_rng(seed)
    tools = unit(random.normal(size=(20, SIZE)))
    slang = unit(random.normal(size=(6, SIZE)))
    gold = [number % 6 for number in range(120)]
    asked = unit(slang[gold] + 0.6 * unit(random.normal(size=(120, SIZE))))
    made = examples(list(asked), [[number] for number in gold], 20)
    everyday = unit(random.normal(size=(400, SIZE)))
    return made.at(slice(80)), made.at(slice(80, None)), tools, everyday


def first_hits(vectors: Matrix, asked: Examples, tools: Matrix) -> float:
    best = (vectors @ tools.T).argmax(axis=1)
    return float(asked.gold[np.arange(len(best)), best].mean())


def test_questions_of_the_same_kind_are_found_afterwards() -> None:
    known, others, tools, everyday = world()
    adapter = train(known, tools, everyday)
    assert first_hits(others.vectors, others, tools) < 0.3
    assert first_hits(adapter(others.vectors), others, tools) > 0.7


def test_everyday_vectors_move_less_than_the_questions() -> None:
    known, others, tools, everyday = world()
    adapter = train(known, tools, everyday)

    def moved(vectors: Matrix) -> float:
        return float(np.linalg.norm(adapter(vectors) - vectors, axis=1).mean())

    assert moved(everyday) < moved(others.vectors) / 2


def test_the_same_examples_give_the_same_adapter() -> None:
    known, _, tools, everyday = world()
    first, second = train(known, tools, everyday, seed=3), train(known, tools, everyday, seed=3)
    assert first.down.tobytes() == second.down.tobytes()
    assert first.up.tobytes() == second.up.tobytes()


def test_random_labels_are_not_learnt() -> None:
    known, others, tools, everyday = world()
    shuffled = Examples(known.vectors, known.gold[np.random.default_rng(1).permutation(len(known.gold))])
    assert first_hits(train(shuffled, tools, everyday)(others.vectors), others, tools) < 0.4


def test_progress_ends_at_its_total_and_never_goes_back() -> None:
    known, _, tools, everyday = world()
    seen: list[tuple[int, int]] = []
    train(known, tools, everyday, progress=lambda done, total: seen.append((done, total)))
    assert seen == sorted(seen)
    assert seen[-1][0] == seen[-1][1]


def test_a_question_with_several_tools_may_go_to_any_of_them() -> None:
    made = examples([np.ones(SIZE, np.float32)] * 2, [[1, 3], [0]], 5)
    assert made.gold.tolist() == [[False, True, False, True, False], [True, False, False, False, False]]


def test_an_interval_has_the_mean_in_it_and_is_the_same_each_time() -> None:
    values = np.array([0.0, 1.0] * 20)
    found = figure(values)
    assert found == figure(values)
    assert found.low < found.mean == 0.5 < found.high
    assert figure(np.ones(9)) == figure(np.ones(9))
    assert figure(np.ones(9)).low == 1.0


def test_a_change_is_paired_by_question() -> None:
    wanted = [["a"], ["b"], ["a"], ["b"]]
    none: list[str] = []
    before = scored([["b", "a"], none, ["b", "a"], none], wanted)
    after = scored([["a", "b"], ["b"], ["a", "b"], ["b"]], wanted)
    assert (before.recall.tolist(), before.first.tolist()) == ([1, 0, 1, 0], [0, 0, 0, 0])
    change = change_of(before, after)
    assert (change.recall.mean, change.first.low) == (0.5, 1.0)


def test_several_tools_count_by_their_share_and_five_at_most() -> None:
    measured = scored([["a", "c", "d"], list("abcde")], [["a", "b"], list("abcdefg")])
    assert measured.recall.tolist() == [0.5, 1.0]


def test_finding_more_tools_is_not_better_than_chance() -> None:
    wanted = [[name] for name in "abcd"]
    none: list[str] = []
    nothing, everything = scored([none] * 4, wanted), scored([list("abcd")] * 4, wanted)
    assert (nothing.recall.mean(), everything.recall.mean()) == (0.0, 1.0)
    assert nothing.beyond_chance.mean() == everything.beyond_chance.mean() == 0.0
    assert scored([["a"], ["b"], ["c"], ["d"]], wanted).beyond_chance.mean() == 0.75
