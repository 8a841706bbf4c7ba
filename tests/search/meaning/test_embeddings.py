"""Tools found by meaning as well as by words."""

from __future__ import annotations

import logging
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from hikidashi.errors import MissingExtra, ToolSearchError
from hikidashi.search import Embedder, ToolCatalog
from hikidashi.search.engine.vector_cache import VectorCache

CONCEPTS = {
    "mail": 0, "email": 0, "letter": 0, "correspondence": 0,
    "weather": 1, "forecast": 1, "rain": 1, "umbrella": 1,
    "money": 2, "invoice": 2, "bill": 2, "owe": 2,
}  # fmt: skip
TOOLS = [
    {"name": "send_mail", "description": "Send an email"},
    {"name": "get_weather", "description": "Weather forecast"},
    {"name": "make_invoice", "description": "Write a bill"},
]


class Model:
    """Three concepts and the words for them; remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, texts: list[str]) -> list[list[float]]:
        self.asked += texts
        vectors: list[list[float]] = []
        for text in texts:
            vector = [0.0, 0.0, 0.0, 0.2]
            for word in text.lower().replace(".", " ").replace("_", " ").split():
                if word in CONCEPTS:
                    vector[CONCEPTS[word]] += 1
            vectors.append(vector)
        return vectors


@pytest.fixture
def model() -> Model:
    return Model()


def names(catalog: ToolCatalog, query: str) -> list[str]:
    return [match.name for match in catalog.search(query)]


def test_a_tool_is_found_that_shares_no_word_with_the_question(model: Model) -> None:
    assert ToolCatalog(TOOLS, ranker="lexical", glossary=False).search("will I need an umbrella") == []
    assert names(ToolCatalog(TOOLS, ranker="hybrid", embed=model), "will I need an umbrella") == ["get_weather"]


def test_a_search_by_words_alone_embeds_nothing(model: Model) -> None:
    embedded: list[str] = []

    def embed(texts: list[str]) -> Any:
        embedded.extend(texts)
        return model(texts)

    catalog = ToolCatalog(TOOLS, embed=embed, glossary=False)
    embedded.clear()
    assert catalog.search("will I need an umbrella", by_meaning=False) == []
    assert catalog.search("send correspondence", by_meaning=False)[0].by_meaning == 0.0
    assert embedded == []


def test_words_and_meaning_count_together(model: Model) -> None:
    catalog = ToolCatalog(TOOLS, ranker="hybrid", embed=model)
    matches = catalog.search("send correspondence")
    assert matches[0].name == "send_mail"
    assert matches[0].score == pytest.approx(1.3, abs=0.01)  # a similarity of 1, and .3 for all of the words
    assert matches[0].why == {"name": ("send",), "description": ("send",)}


def test_neither_words_nor_meaning_gives_nothing(model: Model) -> None:
    assert ToolCatalog(TOOLS, ranker="hybrid", embed=Embedder(embed=model, floor=0.9)).search("zebra") == []


def test_meaning_makes_a_match_certain_and_words_alone_may_not(model: Model) -> None:
    asked = "is there any late correspondence"
    sure = ToolCatalog(TOOLS, ranker="hybrid", embed=Embedder(embed=model, floor=0.1))
    unsure = ToolCatalog(TOOLS, ranker="hybrid", embed=Embedder(embed=model, floor=2.0))
    assert sure.search(asked)[0].confident
    assert not any(match.confident for match in unsure.search(asked))


def test_what_an_embedder_takes_for_talk_is_not_certain(model: Model) -> None:
    told = "he whispered so sadly that the mail was late"
    for probability, confident in ((0.99, True), (0.01, False)):
        says = Embedder(embed=model, floor=0.95, request=lambda vectors, value=probability: [value] * len(vectors))
        assert ToolCatalog(TOOLS, embed=says).search(told)[0].confident is confident


def test_an_exact_name_comes_first_whatever_its_meaning(model: Model) -> None:
    assert names(ToolCatalog(TOOLS, ranker="hybrid", embed=model), "make invoice")[0] == "make_invoice"


def test_only_new_tools_are_embedded(model: Model) -> None:
    catalog = ToolCatalog(TOOLS, ranker="hybrid", embed=model)
    assert model.asked[1:] == [f"{tool['name'].replace('_', ' ')}. {tool['description']}" for tool in TOOLS]
    model.asked.clear()
    catalog.search("umbrella")
    assert model.asked == ["umbrella"]
    model.asked.clear()
    catalog.add({"name": "rain_radar", "description": "rain"})
    catalog.remove("get_weather")
    assert names(catalog, "umbrella")[0] == "rain_radar"
    assert "get_weather" not in names(catalog, "umbrella")
    assert model.asked == ["rain radar. rain", "umbrella", "umbrella"]


def test_vectors_outlive_the_numbers_of_their_tools(model: Model) -> None:
    catalog = ToolCatalog(TOOLS, ranker="hybrid", embed=model)
    pass_through(catalog, 80)
    catalog.search("umbrella")
    model.asked.clear()
    pass_through(catalog, 80)
    assert names(catalog, "umbrella")[0] == "get_weather"
    assert model.asked == ["umbrella"]
    catalog.remove("get_weather")
    assert "get_weather" not in names(catalog, "umbrella mail")


def pass_through(catalog: ToolCatalog, times: int) -> None:
    for number in range(times):
        catalog.add({"name": f"passing_{number}"})
        catalog.remove(f"passing_{number}")


def test_tools_that_come_one_by_one_are_found(model: Model) -> None:
    catalog = ToolCatalog(TOOLS[:1], ranker="hybrid", embed=model)
    for tool in [*TOOLS[1:], {"name": "four"}]:
        catalog.search("umbrella")
        catalog.add(tool)
    assert [names(catalog, query)[0] for query in ("correspondence", "umbrella", "owe")] == [
        tool["name"] for tool in TOOLS
    ]


def test_vectors_are_kept_on_disk_under_the_name_of_the_model(model: Model, tmp_path: Path) -> None:
    def search(name: str) -> list[str]:
        model.asked.clear()
        embedder = Embedder(embed=model, id=name, cache=tmp_path / "deep" / "vectors.sqlite")
        assert names(ToolCatalog(TOOLS, ranker="hybrid", embed=embedder), "umbrella")[0] == "get_weather"
        return [text for text in model.asked if text not in ("tool", "umbrella")]

    assert len(search("toy-1")) == 3
    assert search("toy-1") == []
    assert len(search("toy-2")) == 3


def test_a_saved_catalogue_is_searched_by_meaning_too(model: Model, tmp_path: Path) -> None:
    ToolCatalog(TOOLS).save(tmp_path / "tools")
    loaded = ToolCatalog.load(tmp_path / "tools", ranker="hybrid", embed=model)
    assert names(loaded, "umbrella")[0] == "get_weather"


def test_a_cache_that_cannot_be_used_is_no_obstacle(
    model: Model, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "vectors.sqlite"
    file.write_bytes(b"this is no database" * 100)
    catalog = ToolCatalog(TOOLS, ranker="hybrid", embed=Embedder(embed=model, id="toy", cache=file))
    with caplog.at_level(logging.WARNING, "hikidashi"):
        assert names(catalog, "umbrella")[0] == "get_weather"
    assert [record.getMessage().split(str(file))[0] for record in caplog.records] == [
        "The embeddings in ",
        "The embeddings cannot be kept in ",
    ]
    many = [{"name": f"tool_{number}", "description": "An umbrella"} for number in range(200)]
    assert ToolCatalog(many, embed=Embedder(embed=model, id="toy", cache=file)).ready()
    assert len(caplog.records) == 2  # not once for every batch of tools
    assert caplog.text.count("Delete the file, and a new one is made.") == 2


def test_a_cache_that_another_process_holds_is_no_obstacle_and_nobody_is_told_to_delete_it(
    model: Model, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hikidashi.search.engine.vector_cache._PATIENCE", 0.01)
    file = tmp_path / "vectors.sqlite"
    embedder = Embedder(embed=model, id="toy", cache=file)
    assert ToolCatalog(TOOLS, embed=embedder).ready()
    more = [*TOOLS, {"name": "find_umbrella", "description": "Find an umbrella"}]
    with closing(sqlite3.connect(file, isolation_level=None)) as other, caplog.at_level(logging.WARNING, "hikidashi"):
        other.execute("BEGIN EXCLUSIVE")
        assert ToolCatalog(more, embed=embedder).ready()
    assert caplog.text.count("Another process holds the file: end it if it hangs.") == 2
    assert "elete" not in caplog.text
    model.asked.clear()
    assert ToolCatalog(more, embed=embedder).ready()
    assert len([text for text in model.asked if text != "tool"]) == 1  # what was there before is there again


def test_a_cache_that_cannot_be_written_says_what_to_check(
    model: Model, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "vectors.sqlite").mkdir()
    embedder = Embedder(embed=model, id="toy", cache=tmp_path / "vectors.sqlite")
    with caplog.at_level(logging.WARNING, "hikidashi"):
        assert ToolCatalog(TOOLS, embed=embedder).ready()
    assert "check the free space and the permissions there" in caplog.text


def test_the_file_of_a_model_lies_in_the_users_cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert VectorCache("some/model 1").path == tmp_path / "hikidashi" / "embeddings" / "some_model_1.sqlite"
    assert len(VectorCache("m" * 500).path.name) < 200


def test_a_user_without_a_home_searches_all_the_same(
    model: Model, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def nowhere() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", nowhere)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    catalog = ToolCatalog(TOOLS, ranker="hybrid", embed=Embedder(embed=model, id="toy"))
    assert names(catalog, "umbrella")[0] == "get_weather"
    assert [record.getMessage().split(" in ")[0] for record in caplog.records] == ["The embeddings cannot be kept"]


def test_a_file_that_may_not_be_looked_at_is_no_obstacle(
    model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(_: Path, **__: object) -> bool:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "exists", refuse)
    catalog = ToolCatalog(TOOLS, ranker="hybrid", embed=Embedder(embed=model, id="toy", cache=tmp_path / "vectors"))
    assert names(catalog, "umbrella")[0] == "get_weather"
    assert "Permission denied" in caplog.text


def test_more_vectors_than_one_statement_holds_are_read(tmp_path: Path) -> None:
    cache = VectorCache("toy", tmp_path / "vectors.sqlite")
    vectors = {number.to_bytes(4, "big"): bytes([number % 256]) for number in range(1_200)}
    cache.write(vectors)
    assert cache.read(vectors, 1) == vectors
    assert cache.read(vectors, 2) == {}
    with closing(sqlite3.connect(cache.path)) as database:
        assert database.execute("SELECT count(*) FROM vectors").fetchone() == (1_200,)


@pytest.mark.parametrize(
    ("vectors", "told"),
    [
        ([[1.0]], "an array of shape (1, 1) when called with a list of 3"),
        ([1.0, 2.0], "an array of shape (2,)"),
        (np.zeros((4, 2, 2)), "an array of shape (4, 2, 2)"),
        (np.zeros((3, 0)), "an array of shape (3, 0)"),
        ([[1.0], [1.0, 2.0], [1.0]], "a list that is not an array of numbers"),
        (["a", "b", "c"], "a list that is not an array of numbers"),
        ((vector for vector in [[1.0]]), "a generator that is not an array of numbers"),
        ([[1.0, 2.0]] * 3, "vectors of 2 numbers, after some of 1,"),
        ([[float("nan")]] * 3, "a vector with NaN or infinity in it,"),
        ([[float("inf")]] * 3, "a vector with NaN or infinity in it,"),
    ],
)
def test_a_function_that_gives_no_vector_per_text_is_an_error(vectors: Any, told: str) -> None:
    with pytest.raises(ToolSearchError, match="one vector per text") as caught:
        ToolCatalog(TOOLS, ranker="hybrid", embed=lambda texts: vectors if len(texts) > 1 else [[1.0]])
    assert (caught.value.code, told in str(caught.value)) == ("unavailable", True)


def test_an_async_function_is_refused() -> None:
    async def embed(texts: list[str]) -> list[list[float]]:
        return [[1.0] for _ in texts]

    with pytest.raises(ToolSearchError, match=r"gave a coroutine .* not a coroutine"):
        ToolCatalog(TOOLS, ranker="hybrid", embed=embed)


def test_what_is_no_function_is_refused_at_once() -> None:
    with pytest.raises(ToolSearchError, match="`embed` is 'my-model': pass a function"):
        ToolCatalog(TOOLS, ranker="hybrid", embed=cast("Any", "my-model"))


@pytest.mark.parametrize(
    ("properties", "told"),
    [
        ({"id": 7}, "`id` of the embedder is 7: use a name"),
        ({"id": None}, "`id` of the embedder is None: use a name"),
        ({"floor": "high"}, "`floor` of the embedder is 'high': use a similarity"),
        ({"floor": float("nan")}, "`floor` of the embedder is nan: use a similarity"),
        ({"question": 3}, "`question` is 3: pass a function"),
    ],
)
def test_properties_that_could_not_work_are_refused_at_once(model: Model, properties: Any, told: str) -> None:
    with pytest.raises(ToolSearchError, match=told):
        ToolCatalog(embed=Embedder(embed=model, **properties))


def test_a_search_after_a_failed_one_embeds_what_is_missing(model: Model) -> None:
    def moody(texts: list[str]) -> list[list[float]]:
        if failures:
            raise failures.pop()
        return model(texts)

    failures: list[Exception] = []
    catalog = ToolCatalog(TOOLS, ranker="hybrid", embed=moody)
    pass_through(catalog, 60)
    catalog.search("umbrella")
    pass_through(catalog, 70)  # numbers are given out anew, vectors are kept
    catalog.add({"name": "rain_radar", "description": "rain"})
    failures.append(TimeoutError("try later"))
    with pytest.raises(TimeoutError):
        catalog.search("umbrella")
    model.asked.clear()
    assert "rain_radar" in names(catalog, "umbrella")
    assert model.asked == ["rain radar. rain", "umbrella"]


def test_texts_reach_the_model_as_valid_unicode(model: Model) -> None:
    catalog = ToolCatalog([{"name": "x", "description": "half \ud83d a pair"}], ranker="hybrid", embed=model)
    catalog.search("mail \ud83d")
    assert model.asked[1:] == ["x. half \ufffd a pair", "mail \ufffd"]


def test_kept_vectors_that_do_not_fit_are_made_again(model: Model, tmp_path: Path) -> None:
    file = tmp_path / "vectors.sqlite"
    embedder = Embedder(embed=model, id="toy", cache=file)
    names(ToolCatalog(TOOLS, ranker="hybrid", embed=embedder), "umbrella")
    for damage in ("x'0102'", "'text'", "NULL", "x'00000000'"):
        with closing(sqlite3.connect(file)) as database, database:
            database.execute(f"UPDATE vectors SET vector = {damage}")
        model.asked.clear()
        assert names(ToolCatalog(TOOLS, ranker="hybrid", embed=embedder), "umbrella")[0] == "get_weather"
        assert len(model.asked) == 5
    model.asked.clear()
    names(ToolCatalog(TOOLS, ranker="hybrid", embed=embedder), "umbrella")
    assert model.asked == ["tool", "umbrella"]


@pytest.mark.parametrize("number", [0.0, 1.5, 60_000.0, float("inf"), float("nan")])
def test_kept_vectors_that_are_not_normalised_are_made_again(model: Model, tmp_path: Path, number: float) -> None:
    file = tmp_path / "vectors.sqlite"
    embedder = Embedder(embed=model, id="toy", cache=file)
    names(ToolCatalog(TOOLS, ranker="hybrid", embed=embedder), "umbrella")
    with closing(sqlite3.connect(file)) as database, database:
        (size,) = database.execute("SELECT length(vector) FROM vectors").fetchone()
        damaged = np.full(size // 2, number, "<f2").tobytes()
        database.execute("UPDATE vectors SET vector = ? WHERE key IN (SELECT min(key) FROM vectors)", [damaged])
    model.asked.clear()
    assert names(ToolCatalog(TOOLS, ranker="hybrid", embed=embedder), "umbrella")[0] == "get_weather"
    assert len(model.asked) == 3  # `tool`, the one that was damaged, and the question


def test_two_processes_keep_vectors_in_one_file(tmp_path: Path) -> None:
    script = """
import sys
from pathlib import Path
from hikidashi.search import Embedder, ToolCatalog
first = int(sys.argv[2])
tools = [{"name": f"tool_{number}", "description": "mail"} for number in range(first, first + 300)]
embedder = Embedder(embed=lambda texts: [[1.0, len(text)] for text in texts], id="toy", cache=Path(sys.argv[1]))
catalog = ToolCatalog(tools, ranker="hybrid", embed=embedder)
print(catalog.ready(), len(catalog.search("mail")))
"""
    file = tmp_path / "vectors.sqlite"
    running = [
        subprocess.Popen([sys.executable, "-c", script, str(file), str(first)], stdout=-1, stderr=-1, text=True)
        for first in (0, 300, 150)
    ]
    assert [process.communicate(timeout=60) for process in running] == [("True 5\n", "")] * 3
    with closing(sqlite3.connect(file)) as database:
        assert database.execute("SELECT count(*) FROM vectors").fetchone() == (600,)


def test_arrays_are_taken_as_lists_are() -> None:
    embed = Model()
    catalog = ToolCatalog(TOOLS, ranker="hybrid", embed=lambda texts: np.array(embed(texts), dtype=np.float64))
    assert names(catalog, "umbrella")[0] == "get_weather"


def test_an_embedding_function_with_the_lexical_ranker_is_refused(model: Model) -> None:
    with pytest.raises(ToolSearchError, match="`embed` is for"):
        ToolCatalog(TOOLS, ranker="lexical", embed=model)


@pytest.mark.parametrize(("package", "embed"), [("hikidashi_encoder", None), ("numpy", Model())])
def test_what_is_not_installed_is_named_with_its_extra(
    monkeypatch: pytest.MonkeyPatch, package: str, embed: Model | None
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=rf"`{package}` is not installed.*pip install hikidashi"):
        ToolCatalog(TOOLS, ranker="hybrid", embed=embed)


def test_what_words_are_certain_of_is_shown_where_meaning_is_not(model: Model) -> None:
    tools = [*TOOLS, {"name": "zebra_count", "description": "zebra"}]
    catalog = ToolCatalog(tools, embed=Embedder(embed=model, floor=2.0))
    (match,) = catalog.search("count the zebra", limit=1)
    assert (match.name, match.confident) == ("zebra_count", True)


def test_a_misspelled_word_is_left_to_the_words() -> None:
    tools = [{"name": "clear_cache", "description": "Other."}, {"name": "list_newer", "description": "Other."}]
    embed = Embedder(embed=lambda texts: [[1.0, float("clear" not in text)] for text in texts])
    assert ToolCatalog(tools, embed=embed).search("cleer the cahce")[0].name == "clear_cache"


def test_words_of_ones_own_are_embedded_in_english(model: Model) -> None:
    catalog = ToolCatalog(TOOLS, embed=model, glossary={"ragnagna": "forecast"})
    model.asked.clear()
    assert catalog.search("show the ragnagna")[0].name == "get_weather"
    assert model.asked == ["show the forecast"]
