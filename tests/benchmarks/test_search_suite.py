"""The search suite: the data set it ships is sound, its figures mean what they say, and no engine can hang it."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from benchmarks.machine import Machine
from benchmarks.search import ablation, catalogue, first, pictures, probe, tables, tokens
from benchmarks.search.__main__ import main
from benchmarks.search.accuracy import Accuracy, ndcg, recall, scored
from benchmarks.search.confidence import FOLDER, Asked, judged, questions
from benchmarks.search.data import EVERYDAY, SHIPPED, Dataset, Definition, Question, found_in, load, searchable_text
from benchmarks.search.engines import OURS, STATIC, WORDS, all_engines
from benchmarks.search.first import First
from benchmarks.search.patterns import Searched, Worker, worst
from benchmarks.search.run import Run, as_json
from benchmarks.search.speed import Speed
from rich.console import Console

MACHINE = Machine(system="Linux x86_64", cores=2, load=0.5, python="3.11.7", versions={"hikidashi": "0.1.0"})
INSTALLED = [name for name, engine in all_engines().items() if engine.missing is None]


def rows(file: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (SHIPPED / file).read_text(encoding="utf-8").splitlines()]


def served() -> list[dict[str, Any]]:
    """The shipped questions that some tool serves."""
    return [row for row in rows("queries.jsonl") if row["gold"]]


def is_japanese(text: str) -> bool:
    return re.search(r"[ぁ-んァ-ヶ一-龠]", text) is not None


def tool(name: str, description: str) -> Definition:
    return {"name": name, "description": description, "input_schema": {"type": "object", "properties": {}}}


def test_every_shipped_tool_has_a_name_of_its_own_a_description_and_described_arguments() -> None:
    tools = rows("tools.jsonl")
    assert len({tool["name"] for tool in tools}) == len(tools) == 175
    for one in tools:
        assert one.keys() == {"name", "description", "input_schema"}
        assert re.fullmatch(r"[A-Za-z][\w.-]{0,63}", one["name"], re.ASCII)
        properties = one["input_schema"]["properties"]
        assert set(one["input_schema"].get("required", ())) <= properties.keys()
        assert all(properties.values())
        assert [key for key, schema in properties.items() if not schema["description"]] == []
    assert sum(is_japanese(tool["description"]) for tool in tools) == 52


def test_the_shipped_questions_are_half_english_half_japanese_and_a_third_of_the_latter_cross_over() -> None:
    described = {tool["name"]: "ja" if is_japanese(tool["description"]) else "en" for tool in rows("tools.jsonl")}
    queries = served()
    assert len({query["query"] for query in queries}) == len({query["id"] for query in queries}) == 300
    assert Counter(is_japanese(query["query"]) for query in queries) == {True: 150, False: 150}
    assert Counter(query["split"] for query in queries) == {"en": 140, "en-ja": 10, "ja": 100, "ja-en": 50}
    for query in queries:
        asked, _, target = query["split"].partition("-")
        assert asked == ("ja" if is_japanese(query["query"]) else "en")
        assert {described[name] for name in query["gold"]} == {target or asked}


def test_every_shipped_tool_is_asked_for_and_a_question_has_one_or_two_answers() -> None:
    queries = served()
    assert {name for query in queries for name in query["gold"]} == {tool["name"] for tool in rows("tools.jsonl")}
    assert {len(set(query["gold"])) for query in queries} == {1, 2}


@pytest.mark.parametrize("folder", [SHIPPED, EVERYDAY])
def test_a_shipped_set_says_its_licence_and_its_size(folder: Path) -> None:
    meta = json.loads((folder / "META.json").read_text(encoding="utf-8"))
    dataset = load(folder)
    assert (meta["licence"], meta["n_tools"], meta["n_queries"]) == ("MIT", len(dataset.tools), len(dataset.questions))
    assert meta["splits"].keys() == {question.split for question in dataset.questions}


def test_the_everyday_set_has_people_s_questions_and_six_other_languages() -> None:
    dataset = load(EVERYDAY)
    splits = Counter(question.split for question in dataset.questions)
    assert splits["people"] >= 150
    assert min(splits[f"{language}-en"] for language in ("de", "es", "fr", "ja", "ko", "zh")) >= 40
    assert len({question.query for question in dataset.questions}) == len(dataset.questions)
    assert not any(is_japanese(tool["description"]) for tool in dataset.tools)


def test_what_a_part_of_the_search_brings_shows_where_it_is_left_out(tmp_path: Path) -> None:
    target = tmp_path / "search.json"
    assert main(["ablation", "--quick", "--no-plot", "--json", str(target)]) == 0
    rows = json.loads(target.read_text(encoding="utf-8"))["ablation"]
    shares = {(row["dataset"], row["without"]): row["shares"] for row in rows}
    assert {without for _, without in shares} == {*ablation.PARTS}
    assert shares["errands", ""]["de-en"] > shares["errands", "meaning"]["de-en"]
    assert shares["drawer, misspelled", ""]["all"] >= shares["drawer, misspelled", "corrections"]["all"]
    assert shares["drawer", ""]["talk"] > shares["drawer", "requests"]["talk"]


def test_recall_is_the_share_of_the_gold_and_an_alternative_stands_in_for_one() -> None:
    question = Question("?", frozenset({"a", "b"}), frozenset({"c"}))
    found = ["x", "a", "y", "c", "b"]
    assert [recall(found, question, depth) for depth in (1, 2, 4, 5)] == [0, 0.5, 1, 1]


def test_ndcg_is_one_when_the_gold_comes_first_and_falls_with_its_place() -> None:
    question = Question("?", frozenset({"a", "b"}))
    assert ndcg(["b", "a", "x"], question, 10) == 1
    assert ndcg(["x", "a"], question, 10) == pytest.approx(0.6309 / 1.6309, abs=1e-4)
    assert ndcg([], question, 10) == 0


def test_an_engine_is_scored_as_a_whole_and_by_split() -> None:
    class Stubborn:
        def search(self, query: str, limit: int) -> list[str]:
            return ["a", "b"][:limit]

    questions = [Question("1", frozenset("a"), split="x"), Question("2", frozenset("b"), split="y")]
    figures = scored(Dataset("tiny", [tool("a", ""), tool("b", "")], questions), "stubborn", Stubborn())
    assert (figures.recall, figures.splits) == ({1: 0.5, 5: 1, 10: 1}, {"x": 1, "y": 1})
    assert figures.ndcg == pytest.approx((1 + 0.6309) / 2, abs=1e-4)


def test_a_question_that_no_tool_serves_counts_apart_and_is_right_when_nothing_is_found() -> None:
    class Cautious:
        def search(self, query: str, limit: int) -> list[str]:
            return {"1": ["a"], "3": ["a"]}.get(query, [])

    served = [Question("1", frozenset("a")), Question("2", frozenset("a"))]
    unserved = [Question(query, frozenset()) for query in "3456"]
    figures = scored(Dataset("tiny", [tool("a", "")], [*served, *unserved]), "cautious", Cautious())
    assert (figures.questions, figures.recall[5], figures.wrongly_empty) == (2, 0.5, 0.5)
    assert (figures.unserved, figures.rightly_empty, figures.empty_splits) == (4, 0.75, {"": 0.75})
    apart = scored(Dataset("tiny", [tool("a", "")], unserved), "cautious", Cautious())
    assert (apart.questions, apart.recall[5], apart.rightly_empty) == (0, 0.0, 0.75)


class Unsure:
    """An engine that says what it is not sure of."""

    def search(self, query: str, limit: int) -> list[str]:
        return [] if query == "zzz" else ["contact_add"]

    def is_confident(self, query: str) -> bool:
        return query == "contact tanaka"


def test_what_an_engine_is_not_sure_of_counts_as_held_back_but_as_found() -> None:
    questions = [Question("contact tanaka", frozenset({"contact_add"})), Question("my contact", frozenset())]
    figures = scored(Dataset("tiny", [tool("contact_add", "")], questions), "unsure", Unsure())
    assert (figures.recall[5], figures.rightly_empty, figures.wrongly_unsure) == (1.0, 1.0, 0.0)
    asked = [
        Asked("contact tanaka", "value-en", "contact"),
        Asked("contact nakata", "value-en", "contact"),
        Asked("recipe natto", "value-en", "recipe"),  # no tool has it in its name: not counted
        Asked("my contact lens", "talk-en"),
        Asked("zzz", "talk-en"),
    ]
    values, talk = judged("tiny", [tool("contact_add", "")], "unsure", Unsure(), asked)
    assert (values.questions, values.found, values.confident, values.nothing) == (2, 1.0, 0.5, 0.0)
    assert (talk.questions, talk.found, talk.confident, talk.held_back, talk.nothing) == (2, None, None, 1.0, 0.5)
    lines = printed(Run(MACHINE, {}, confidence=[values, talk]))
    assert "tiny 1 2 value-en 100.0, 50.0" in lines
    assert "tiny 1 2 talk-en 100.0, 50.0" in lines


def test_the_questions_with_values_are_many_of_every_kind_in_both_languages() -> None:
    rows = [json.loads(line) for line in (FOLDER / "queries.jsonl").read_text(encoding="utf-8").splitlines()]
    meta = json.loads((FOLDER / "META.json").read_text(encoding="utf-8"))
    assert len({row["query"] for row in rows}) == len(rows) == meta["n_values"]
    assert min(Counter(row["split"] for row in rows).values()) >= 60
    assert {row["value"] for row in rows} == meta["values"].keys()
    made_up = {word for tool in catalogue.catalogue(10_000) for word in tool["name"].split("_")}
    assert {row["topic"] for row in rows} <= made_up
    assert len([one for one in questions() if one.split.startswith("short-talk")]) == meta["n_talk"]


def test_first_costs_are_measured_for_ours_and_the_peer_and_shown_as_a_ratio() -> None:
    tools = catalogue.catalogue(30)
    ours = first.measured(WORDS, tools)
    assert {kind for kind, figure in ours.items() if figure is None} == set()
    shown = [
        First("made up", 30, WORDS, ours | {"returns": 0.2}),
        First("made up", 30, first.PEER, ours | {"returns": 0.1}),
    ]
    assert "made up the constructor returns; peer: built 200 ms 100 ms 2.00×" in printed(Run(MACHINE, {}, first=shown))


@pytest.mark.parametrize("name", INSTALLED)
def test_every_engine_gets_names_whose_words_it_can_match(name: str) -> None:
    tools = [tool("invoice_send", ""), tool("weather_get", ""), tool("order_cancel", "")]
    assert all_engines()[name].searching(tools).search("weather: sunny", 5)[:1] == ["weather_get"]


@pytest.mark.parametrize("name", INSTALLED)
def test_every_engine_finds_the_obvious_tool_first_and_nothing_for_foreign_words(name: str) -> None:
    tools = [
        tool("send_mail", "Send an email"),
        tool("get_weather", "Forecast for a city"),
        tool("cancel_order", "Stop a purchase"),
    ]
    searcher = all_engines()[name].searching(tools)
    assert searcher.search("forecast weather city", 5)[:1] == ["get_weather"]
    if name != STATIC:  # some vector is the nearest to any question
        assert searcher.search("zzyzx", 5) == []


@pytest.mark.parametrize("name", INSTALLED)
def test_the_probe_measures_what_an_engine_can_do(name: str) -> None:
    figures = probe.measured(name, 60, 0.01)
    assert figures.keys() == {"words", "build", "add", "save", "load", "p50", "p99", "bytes", "asked"}
    assert all((figures[what] or 0) > 0 for what in ("words", "build", "p50", "p99", "asked"))
    assert (figures["save"] is None) == (figures["load"] is None)
    assert (figures["add"] is None) == (name in {"bm25s", "rank-bm25", STATIC})  # these can only start over


def test_a_catalogue_is_the_same_every_time_and_its_names_differ() -> None:
    tools = catalogue.catalogue(400)
    assert tools == catalogue.catalogue(400)
    assert len({tool["name"] for tool in tools}) == 400
    assert catalogue.questions(400, 5) == catalogue.questions(400, 5)
    assert all(tool["name"] in searchable_text(tool) for tool in tools)


def test_a_pattern_that_hangs_is_killed_and_the_next_one_is_answered() -> None:
    with Worker("re", 40, deadline=1.0) as worker:
        assert worker.search(r"(.*)*(.*)*=$")[::2] == ("killed", 0)
        assert worker.search("(")[::2] == ("refused", 0)
        assert worker.search("^[a-z]+_")[::2] == ("found", 5)


def test_a_search_costs_the_same_tokens_however_large_the_catalogue() -> None:
    small, large = tokens.measure((50, 500))
    assert small.deferred == large.deferred < small.one_search < small.three_searches < small.all_loaded
    assert large.all_loaded > 8 * small.all_loaded
    assert large.saved > 0.9


FOUND = Accuracy("drawer", 175, 300, OURS, {1: 0.5, 5: 0.75, 10: 1.0}, 0.6, {"en": 0.5, "ja": 1.0})
PEER = Accuracy("drawer", 175, 300, "bm25s", {1: 0.25, 5: 0.5, 10: 0.5}, 0.3, {"en": 0.5, "ja": 0.0})
FIGURES = {
    "words": 0.2,
    "build": 0.4,
    "add": 0.001,
    "save": None,
    "load": None,
    "p50": 0.0003,
    "p99": 0.001,
    "bytes": 9e6,
    "asked": 7,
}
FAST = [Speed(WORDS, size, FIGURES) for size in (1_000, 10_000)]
SLOW = Searched("re", "hostile", "nested", "(a+)+$", "killed", 5.0, 5.0)
QUICK = Searched(OURS, "hostile", "nested", "(a+)+$", "found", 0.002, 0.004, 3)
UNEVEN = Searched(OURS, "ordinary", "word", "mail", "found", 0.001, 0.06, 3)


def printed(run: Run) -> list[str]:
    console = Console(file=StringIO(), width=140)
    for table in tables.tables(run):
        console.print(table)
    assert isinstance(console.file, StringIO)
    return [" ".join(line.split()) for line in console.file.getvalue().splitlines()]


def test_the_tables_show_the_engines_side_by_side_and_name_what_is_not_installed() -> None:
    missing = {"rank-bm25": "not installed: pip install rank-bm25"}
    lines = printed(Run(MACHINE, missing, accuracy=[FOUND, PEER], speed=FAST, regex=[QUICK, SLOW]))
    assert "drawer 175 300 75.0 50.0" in lines
    assert "ja 100.0 0.0" in lines
    assert "drawer hikidashi 50.0 75.0 100.0 60.0 0.0 0.0" in lines
    assert "10,000 hikidashi, words only 400 ms 1.00 ms – – 300 µs 1.00 ms 9.00 MB 7" in lines
    assert "hostile (a+)+$ 2.00 ms (3) > 5.00 s" in lines
    assert "rank-bm25: not installed: pip install rank-bm25" in lines


def test_an_aim_counts_for_ours_at_ten_thousand_tools_only() -> None:
    small, large = FAST
    assert (small.meets("p50"), large.meets("p50"), large.meets("build"), large.meets("load")) == (
        None,
        False,
        True,
        None,
    )
    assert worst([QUICK, SLOW], "re") == SLOW


def test_the_worst_pattern_is_the_one_with_the_slowest_round() -> None:
    assert worst([QUICK, UNEVEN], OURS) == UNEVEN
    assert "worst ours: aim < 50.0 ms 60.0 ms" in printed(Run(MACHINE, {}, regex=[QUICK, UNEVEN]))


def test_what_grows_with_the_catalogue_stands_below_the_speeds() -> None:
    lines = printed(Run(MACHINE, {}, speed=FAST))
    text = " ".join(lines)
    assert (
        "hikidashi, words only, 10.00× the tools (10,000): build 1.00×, p50 1.00×, p99 1.00×, memory 1.00×, merely"
        in text
    )
    assert "p99 of fewer than 100 questions is the slowest of them." in lines


def test_questions_that_no_tool_serves_have_a_table_where_there_are_any() -> None:
    honest = replace(FOUND, unserved=40, rightly_empty=0.9, empty_splits={"talk-en": 0.9, "": 0.8})
    loud = replace(PEER, unserved=40, rightly_empty=0.0, empty_splits={"talk-en": 0.0, "": 0.1})
    assert {"drawer talk-en 90.0 0.0", "drawer all 80.0 10.0"} <= set(
        printed(Run(MACHINE, {}, accuracy=[honest, loud]))
    )
    assert not any("no tool serves:" in line for line in printed(Run(MACHINE, {}, accuracy=[FOUND, PEER])))


def test_a_part_is_printed_alone() -> None:
    run = Run(MACHINE, {}, accuracy=[FOUND, PEER], speed=FAST)
    assert [str(table.title).partition(":")[0] for table in tables.tables(run, ["speed"])] == ["speed"]


def test_the_same_figures_draw_the_same_pictures(tmp_path: Path) -> None:
    run = Run(MACHINE, {}, accuracy=[FOUND, PEER], speed=FAST)
    first, second = (pictures.draw(run, tmp_path / folder) for folder in ("a", "b"))
    assert [path.name for path in first] == ["search-accuracy.png", "search-speed.png"]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in first)
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_the_json_has_every_part_with_four_digits() -> None:
    document = json.loads(as_json(Run(MACHINE, {}, accuracy=[FOUND], regex=[SLOW])))
    assert document["accuracy"][0]["recall"] == {"1": 0.5, "5": 0.75, "10": 1.0}
    assert (document["suite"], document["regex"][0]["outcome"], document["speed"]) == ("search", "killed", [])


def test_a_folder_of_data_sets_is_measured_besides_the_shipped_one(tmp_path: Path) -> None:
    other = tmp_path / "sets" / "tiny"
    other.mkdir(parents=True)
    (other / "tools.jsonl").write_text(json.dumps(tool("send_mail", "Send an email")) + "\n", encoding="utf-8")
    asked = {"id": "1", "query": "send an email", "gold": ["send_mail"]}
    (other / "queries.jsonl").write_text(json.dumps(asked) + "\n", encoding="utf-8")
    assert found_in(tmp_path / "sets") == [other]
    target = tmp_path / "out" / "search.json"
    assert main(["accuracy", "--quick", "--no-plot", "--data", str(tmp_path / "sets"), "--json", str(target)]) == 0
    figures = json.loads(target.read_text(encoding="utf-8"))["accuracy"]
    ours = {row["dataset"]: row for row in figures if row["engine"] == OURS}
    assert (ours.keys(), ours["tiny"]["recall"]["1"]) == ({"drawer", "tiny"}, 1.0)


TOOL = json.dumps(tool("send_mail", "Send an email"))


@pytest.mark.parametrize(
    ("tools", "queries", "said"),
    [
        (TOOL, '{"query": "mail", "gold": ["send_mial"]}', "queries.jsonl, line 1: no tool is called 'send_mial'."),
        (TOOL, '\n{"query": "mail"}', "queries.jsonl, line 2: lacks 'gold'."),
        (TOOL, '["mail"]', "queries.jsonl, line 1: lacks 'query'."),
        (TOOL, "{mail}", "queries.jsonl, line 1: is not JSON"),
        (TOOL, "\n", "queries.jsonl: there is no question."),
        ('{"name": "send_mail"}', '{"query": "mail", "gold": []}', "tools.jsonl, line 1: lacks 'input_schema'."),
    ],
)
def test_a_faulty_data_set_is_refused_before_anything_is_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], tools: str, queries: str, said: str
) -> None:
    (tmp_path / "tools.jsonl").write_text(tools, encoding="utf-8")
    (tmp_path / "queries.jsonl").write_text(queries, encoding="utf-8")
    assert main(["accuracy", "--data", str(tmp_path)]) == 2
    assert said in capsys.readouterr().out


def test_the_command_refuses_a_folder_without_data_and_unknown_parts_and_lists_its_parts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "half").mkdir()
    (tmp_path / "half" / "queries.jsonl").touch()
    assert main(["--data", str(tmp_path)]) == 2
    assert "No data set in" in capsys.readouterr().out
    assert main(["sped"]) == 2
    assert (
        "No part is called 'sped'. There are: accuracy, confidence, languages, preload, first, "
        "ablation, speed, vectors, regex, tokens." in capsys.readouterr().out
    )
    assert main(["--list"]) == 0
    listed = capsys.readouterr().out
    assert re.findall(r"^(\w+)", listed, re.MULTILINE) == [
        "accuracy",
        "confidence",
        "languages",
        "preload",
        "first",
        "ablation",
        "speed",
        "vectors",
        "regex",
        "tokens",
    ]
    assert re.findall(r"^ +([^:]+):", listed, re.MULTILINE) == list(all_engines())
