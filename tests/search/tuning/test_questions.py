"""Labelled questions: which shapes are read, and which line is wrong."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikidashi.errors import SearchLogError, ToolSourceError
from hikidashi.search import SearchLog
from hikidashi.search.tuning.questions import Labelled, read_questions, select

Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(text: str) -> Path:
        path = tmp_path / "questions.jsonl"
        path.write_text(text, encoding="utf-8")
        return path

    return written


@pytest.mark.parametrize(
    "item",
    [
        {"query": "zap it", "gold": ["refund"]},
        {"question": "zap it", "tools": ["refund"]},
        {"query": "zap it", "tools": "refund"},
        {"text": "zap it", "tool": "refund"},
        {"prompt": "zap it", "expected": [{"name": "refund"}]},
        {"input": "zap it", "answer": " refund "},
        {"query": "zap it", "gold": ["refund", "refund"], "id": 7, "split": "people", "name": "case 7"},
        {"query": "zap it", "question": "zap it", "gold": ["refund"], "tools": ["refund"]},
    ],
)
def test_a_question_and_its_tools_have_one_of_several_usual_names(write: Write, item: dict[str, Any]) -> None:
    assert read_questions(write(json.dumps(item))) == [Labelled("zap it", ("refund",))]


def test_lines_a_list_blank_lines_and_a_byte_order_mark_are_all_read(write: Write) -> None:
    rows = ['{"query": "a b", "gold": ["x"]}', '{"query": "c\\u2028d", "gold": ["x", "y"]}']
    expected = [Labelled("a b", ("x",)), Labelled("c\u2028d", ("x", "y"))]
    assert read_questions(write("\ufeff" + "\n\n".join(rows) + "\r\n")) == expected
    assert read_questions(write(f"[{','.join(rows)}]")) == expected


def test_a_question_that_no_tool_answers_has_an_empty_label(write: Write) -> None:
    assert read_questions(write('{"query": "good morning", "gold": []}')) == [Labelled("good morning", ())]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("zap", "is not JSON"),
        ("7", "7 is not an object"),
        ("{}", "has no question under `query` or `question` (its keys: none)"),
        ('{"q": "zap", "gold": ["x"]}', "has no question under `query` or `question` (its keys: 'q', 'gold')"),
        ('{"query": "zap"}', "has no tools under `gold` or `tools` (its keys: 'query')"),
        ('{"query": 5, "gold": ["x"]}', "`query` is 5, not text"),
        ('{"query": null, "gold": ["x"]}', "`query` is None, not text"),
        ('{"question": " \\u200b", "gold": ["x"]}', "the question is empty"),
        ('{"query": "zap", "gold": null}', "`gold` has None, not the name of a tool"),
        ('{"query": "zap", "gold": ["x", 3]}', "`gold` has 3, not the name of a tool"),
        ('{"query": "zap", "tools": [{"id": "x"}]}', "`tools` has {'id': 'x'}, not the name of a tool"),
        ('{"query": "zap", "tools": [""]}', "`tools` has '', not the name of a tool"),
        ('{"query": "zap", "tools": {}}', "`tools` has {}, not the name of a tool"),
        ('{"query": "zap", "gold": ["x"], "tools": ["x", "y"]}', "has `gold` and `tools`, which differ"),
        ('{"query": "zap", "question": "zip", "gold": ["x"]}', "has `query` and `question`, which differ"),
        ('{"query": "select:x", "gold": ["x"]}', "a list of names, which needs no ranking"),
        (json.dumps({"query": "z" * 2001, "gold": ["x"]}), "`query` has 2,001 characters, and a question has at most"),
    ],
)
def test_a_wrong_line_is_named_with_its_value(write: Write, line: str, why: str) -> None:
    path = write('{"query": "fine", "gold": ["x"]}\n\n' + line + "\n")
    with pytest.raises(ToolSourceError) as caught:
        read_questions(path)
    assert caught.value.line == 3
    assert why in str(caught.value)
    assert str(caught.value).startswith(f"{path}, line 3: ")


def test_an_item_of_a_list_is_named_by_its_number(write: Write) -> None:
    with pytest.raises(ToolSourceError, match=r"number 2: `query` is 5, not text"):
        read_questions(write('[{"query": "fine", "gold": ["x"]}, {"query": 5, "gold": ["x"]}]'))


@pytest.mark.parametrize("text", ["", " \n\n", "\ufeff"])
def test_an_empty_file_is_refused(write: Write, text: str) -> None:
    with pytest.raises(ToolSourceError, match="is empty"):
        read_questions(write(text))


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ToolSourceError, match="there is no such file"):
        read_questions(tmp_path / "none.jsonl")
    with pytest.raises(ToolSourceError, match="is a folder"):
        read_questions(tmp_path)
    (tmp_path / "latin").write_bytes(b'{"query": "caf\xe9"}')
    with pytest.raises(ToolSourceError, match=r"is not text in UTF-8 \(byte 14\)\. Save it as UTF-8\."):
        read_questions(tmp_path / "latin")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(
    item=json_values
    | st.dictionaries(st.sampled_from(["query", "question", "gold", "tools", "tool", "text"]), json_values)
)
def test_whatever_a_line_is_it_is_read_or_refused_by_line(tmp_path_factory: pytest.TempPathFactory, item: Any) -> None:
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    path.write_text('{"query": "fine", "gold": ["x"]}\n' + json.dumps(item) + "\n", encoding="utf-8")
    wrong: int | None = None
    try:
        read_questions(path)
    except ToolSourceError as error:
        wrong = error.line
    assert wrong in (None, 2)


def test_spellings_of_one_question_are_one_question_with_the_tools_of_all() -> None:
    asked = [
        Labelled("Zap the order!", ("refund",)),
        Labelled("zap  the ｏｒｄｅｒ", ("cancel",)),
        Labelled("zip the order", ("refund",)),
    ]
    found = select(asked, {"refund", "cancel"})
    assert sorted(found.questions, key=lambda question: question.text) == [
        Labelled("Zap the order!", ("cancel", "refund")),
        Labelled("zip the order", ("refund",)),
    ]
    assert found.repeated == 1


@given(st.permutations([Labelled(f"question {number}", ("refund",)) for number in range(12)]))
def test_the_order_of_a_file_does_not_matter(asked: list[Labelled]) -> None:
    found = [question.text for question in select(asked, {"refund"}).questions]
    assert found == [question.text for question in select(sorted(asked, key=str), {"refund"}).questions]


def test_questions_about_other_tools_are_counted_and_their_tools_named() -> None:
    asked = [
        Labelled("zap it", ("refund", "gone")),
        Labelled("feed the beast", ("build", "away")),
        Labelled("good morning", ()),
    ]
    found = select(asked, {"refund"})
    assert found.questions == [Labelled("zap it", ("refund",))]
    assert (found.unknown, found.without_tool, found.unanswered) == (["away", "build", "gone"], 1, ["good morning"])


def test_thousands_of_questions_are_more_than_are_used() -> None:
    found = select([Labelled(f"question {number}", ("refund",)) for number in range(3_010)], {"refund"})
    assert len(found.questions) + found.beyond == 3_010
    assert found.beyond > 0
    many = select([Labelled(f"question {number}", ("refund",)) for number in range(12_000)], {"refund"})
    assert (len(many.questions), many.held_out, many.beyond) == (3_000, 900, 9_000)


def test_a_question_that_is_held_out_is_never_trained_on_when_the_file_grows() -> None:
    asked = [Labelled(f"question {number}", ("refund",) if number % 2 else ()) for number in range(10_000)]
    held_out: set[str] = set()
    trained_on: set[str] = set()
    for number in (100, 400, 10_000):
        found = select(asked[:number], {"refund"})
        held_out |= {question.text for question in found.questions[: found.held_out]}
        held_out |= set(found.unanswered[: found.unanswered_held_out])
        trained_on |= {question.text for question in found.questions[found.held_out :]}
        trained_on |= set(found.unanswered[found.unanswered_held_out :])
    assert not held_out & trained_on
    assert 0.25 < len(held_out) / len(held_out | trained_on) < 0.35


def test_recorded_searches_count_with_the_tools_that_were_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.time()
    clock = iter(range(1_000))
    monkeypatch.setattr(time, "time", lambda: now + next(clock))
    path = tmp_path / "searches.db"
    with SearchLog(path) as log:
        with log.session("one"):
            log.searched("zap the order", "words", ["cancel"])  # missed
            log.searched("give the money back", "words", ["cancel", "refund"])
            log.called("refund")
        with log.session("two"):
            log.searched("only looking", "words", ["refund"])
            log.searched("ref.*", "regex", ["refund"])
            log.called("refund")
        with log.session("three"):
            log.searched("nearly", "nearest", ["refund"])
            log.called("refund")
            log.called("refund")
            log.called("unrelated")
        with log.session("four"):  # a message of the user may begin like a list of names
            log.searched("\u200bselect: gone", "preload", ["refund"])
            log.called("refund")
            log.searched("select:refund", "words", ["refund"])
            log.called("refund")
    assert sorted(read_questions(path), key=lambda question: question.text) == [
        Labelled("give the money back", ("refund",)),
        Labelled("nearly", ("refund",)),
        Labelled("zap the order", ("refund",)),
    ]


def test_a_log_without_questions_or_calls_is_refused(tmp_path: Path) -> None:
    with SearchLog(tmp_path / "silent.db", keep_queries=False) as log:
        log.searched("zap", "words", ["refund"])
        log.called("refund")
    with pytest.raises(ToolSourceError, match="`keep_queries=False`"):
        read_questions(tmp_path / "silent.db")
    with SearchLog(tmp_path / "idle.db") as log:
        log.searched("zap", "words", ["refund"])
    with pytest.raises(ToolSourceError, match="no search after which a tool was called"):
        read_questions(tmp_path / "idle.db")


def test_a_damaged_log_is_refused(tmp_path: Path) -> None:
    (tmp_path / "damaged.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 500)
    with pytest.raises(SearchLogError):
        read_questions(tmp_path / "damaged.db")
