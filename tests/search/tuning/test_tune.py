"""`tune`: what is trained on, what is held out, and what is refused; with an embedding that takes no time."""

from __future__ import annotations

import random
from dataclasses import replace
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray
from tests.search.tuning.company import QUESTIONS, TOOLS, by_words

from hikidashi.search.engine.adapter import Adapter
from hikidashi.search.engine.embeddings import Embedder
from hikidashi.search.overlay import Overlay
from hikidashi.search.tuning._training import examples, train
from hikidashi.search.tuning.questions import Labelled, select
from hikidashi.search.tuning.tune import FEWEST, Outcome, Stage, tune

WORDS = Embedder(embed=by_words, floor=0.4)
ASKED = [Labelled(question["query"], tuple(question["tools"])) for question in QUESTIONS]


def tuned(asked: list[Labelled] = ASKED, installed: Adapter | None = None, seed: int = 0) -> Outcome:
    return tune(TOOLS, asked, embedder=WORDS, installed=installed, seed=seed)


def unit(rows: NDArray[np.float64]) -> NDArray[np.float32]:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def adapter_of(outcome: Outcome) -> Adapter:
    assert outcome.adapter is not None
    return outcome.adapter


def test_slang_is_learnt_and_the_held_out_questions_prove_it() -> None:
    outcome = tuned()
    assert outcome.refusal == ""
    assert outcome.before is not None
    assert outcome.after is not None
    assert outcome.change is not None
    assert outcome.held_out == len(outcome.before.recall) == len(outcome.after.recall) == 39
    assert outcome.change.beyond_chance.low > 0.1
    answer = outcome.as_json()
    assert (answer["questions"], answer["trained_on"], answer["held_out"], answer["better"]) == (126, 87, 39, True)
    assert answer["everyday_kept"] > 0.75
    assert answer["unanswered_found"] is None


def test_the_order_of_the_questions_does_not_matter_and_repeated_ones_count_once() -> None:
    first, second = adapter_of(tuned()), adapter_of(tuned(random.Random(1).sample(ASKED * 2, 2 * len(ASKED))))
    assert first.down.tobytes() == second.down.tobytes()
    assert first.up.tobytes() == second.up.tobytes()


def test_held_out_questions_are_not_trained_on() -> None:
    outcome = tuned()
    held_out = {question.text for question in outcome.selection.questions[: outcome.held_out]}
    wrong = [replace(question, tools=("play_music",)) if question.text in held_out else question for question in ASKED]
    assert adapter_of(tuned(wrong)).up.tobytes() == adapter_of(outcome).up.tobytes()


def test_random_labels_are_refused() -> None:
    for seed in range(3):
        names = random.Random(seed)
        asked = [replace(question, tools=(names.choice(TOOLS)["name"],)) for question in ASKED]
        assert tuned(asked).refusal.startswith("On the held-out questions")


def test_one_that_is_worse_than_the_installed_one_is_refused() -> None:
    places = {tool["name"]: place for place, tool in enumerate(TOOLS)}
    gold = [[places[name] for name in question.tools] for question in ASKED]
    vectors = unit(by_words([question.text for question in ASKED]))
    tools = unit(by_words([f"{tool['name'].replace('_', ' ')}. {tool['description']}" for tool in TOOLS]))
    best = train(examples(list(vectors), gold, len(TOOLS)), tools, tools)  # also on those that are held out

    worse = tuned(installed=best)
    assert worse.installed is not None
    assert worse.after is not None
    assert worse.installed.beyond_chance.mean() > worse.after.beyond_chance.mean()
    assert worse.refusal == "On the held-out questions it is worse than the one that is installed."
    assert tuned(installed=adapter_of(worse)).refusal == ""  # the same one, once more


def test_fewer_questions_than_are_needed_are_measured_only() -> None:
    outcome = tuned(ASKED[: FEWEST - 1])
    assert outcome.refusal.startswith("There are 49 questions about tools of the catalogue, and 50 are needed")
    assert (outcome.adapter, outcome.before, outcome.change) == (None, None, None)
    assert len(outcome.today.recall) == 49
    assert tuned(ASKED[:1]).refusal.startswith("There is 1 question about")
    assert tuned([]).as_json()["all_questions"] is None


def test_a_file_of_which_too_few_questions_are_held_out_is_measured_only() -> None:
    asked = select([Labelled(f"zap {number}", ("refund_payment",)) for number in range(200)], {"refund_payment"})
    outcome = tuned(asked.questions[asked.held_out - 9 : asked.held_out + 60])
    assert outcome.refusal == (
        "Which questions are held out depends on their texts: of these it is 9, and 10 are needed. Add some questions."
    )
    assert outcome.adapter is None


def test_questions_that_the_encoder_does_not_read_are_no_examples() -> None:
    asked = [Labelled(f"ぎゃふん{number}ぴよぴよ", ("refund_payment",)) for number in range(60)]
    outcome = tuned(asked)
    assert outcome.refusal.startswith("The encoder reads 0 of the questions to train on")
    assert outcome.adapter is None


def test_a_catalogue_without_tools_has_no_questions() -> None:
    outcome = tune([], ASKED, embedder=WORDS)
    assert (outcome.tools, outcome.selection.questions) == (0, [])
    assert outcome.refusal


def test_aliases_of_an_overlay_are_part_of_what_is_measured() -> None:
    overlay = Overlay.of({"tools": {"refund_payment": {"aliases": ["zap"]}}})
    asked = [Labelled("zap", ("refund_payment",))]
    without, having = tune(TOOLS, asked, embedder=WORDS), tune(TOOLS, asked, embedder=WORDS, overlay=overlay)
    assert (without.today.first.tolist(), having.today.first.tolist()) == ([0.0], [1.0])


FOUR = [tool for tool in TOOLS if tool["name"] in ("refund_payment", "start_build", "send_email", "book_room")]


def nonsense() -> list[Labelled]:
    """Everyday sentences, each with a tool that its words have nothing to do with."""
    wrong = {"the": "refund_payment", "my": "start_build", "what": "send_email", "to": "book_room"}
    sentences = files("hikidashi.search.tuning").joinpath("everyday.txt").read_text(encoding="utf-8").splitlines()
    return [
        Labelled(text, (tool,))
        for text in sentences[300:]
        if (tool := next((wrong[word] for word in text.split() if word in wrong), None))
    ]


def test_a_map_after_which_talk_finds_a_tool_is_refused_even_with_few_tools() -> None:
    outcome = tune(FOUR, nonsense(), embedder=WORDS)
    assert outcome.change is not None
    assert outcome.change.beyond_chance.low > 0  # the wrong tools are learnt
    assert outcome.everyday is not None
    found = outcome.as_json()["everyday_found"]
    assert (found["sentences"], found["after"] > found["before"] + 10) == (300, True)
    assert outcome.refusal == (
        f"Sentences that ask for something else find your tools: before {found['before']}, after {found['after']} of "
        "300 everyday sentences find one with confidence. A rise of more than one in a hundred beyond chance is "
        "refused."
    )
    assert outcome.kept is not None
    assert outcome.kept < 0.75  # among four tools alone, the nearest five are always the same


def test_a_map_that_changes_the_nearest_tools_is_refused_even_if_no_talk_finds_one() -> None:
    crowded = Embedder(embed=lambda texts: by_words(texts)[:, :64], floor=0.6)
    outcome = tune(TOOLS, ASKED, embedder=crowded)
    assert outcome.refusal.startswith("It changes what other questions find: only ")


def test_questions_that_no_tool_answers_are_held_out_and_searched_before_and_after() -> None:
    unanswered = [Labelled(f"{word} the weather {number}", ()) for word in ("oh", "ah", "eh") for number in range(20)]
    outcome = tuned([*ASKED, *unanswered])
    found = outcome.as_json()["unanswered_found"]
    assert found["sentences"] == outcome.selection.unanswered_held_out
    assert 10 <= found["sentences"] < 30
    assert outcome.refusal == ""


def test_a_map_after_which_questions_that_no_tool_answers_find_one_is_refused() -> None:
    similar = select([Labelled(f"zap {number}", ()) for number in range(60)], ())
    held_out = [Labelled(text, ()) for text in similar.unanswered[: similar.unanswered_held_out]]
    outcome = tuned([*ASKED, *held_out])
    found = outcome.as_json()["unanswered_found"]
    assert outcome.refusal == (
        f"Questions that no tool answers find one: before {found['before']}, after {found['after']} of "
        f"{found['sentences']} that were held out find one with confidence, and that is more than chance."
    )


def test_questions_that_no_tool_answers_are_measured_also_where_nothing_is_trained() -> None:
    asked = [Labelled("send an email message", ()), Labelled("ぎゃふん", ())]
    assert tuned(asked).as_json()["unanswered_found"] == {"sentences": 2, "before": 1, "after": None, "rise": None}


def test_progress_is_reported_for_each_stage() -> None:
    seen: dict[Stage, int] = {}

    def report(stage: Stage, done: int, total: int) -> None:
        assert 0 <= done <= total
        seen[stage] = total

    tune(TOOLS, ASKED, embedder=WORDS, progress=report)
    assert seen.keys() == {"tools", "measuring", "everyday", "training", "held out", "other sentences"}
    assert (seen["measuring"], seen["held out"], seen["everyday"]) == (126, 39, 1200)


def test_an_adapter_of_the_embedder_itself_is_not_the_beginning() -> None:
    def turned(texts: list[str]) -> NDArray[np.float64]:
        return -by_words(texts)

    first, second = tuned(), tune(TOOLS, ASKED, embedder=replace(WORDS, question=turned))
    assert np.array_equal(first.today.recall, second.today.recall)
