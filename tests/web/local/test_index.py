"""Searching the index: what is found, in which order, with which score, while others write."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hikidashi.web.local import FoundPassage, IndexTotals, LocalIndex, default_index_path
from hikidashi.web.local.database import IndexWriter, NewDocument
from hikidashi.web.passages import split

Filled = Callable[..., LocalIndex]


def document(url: str, text: str, *, title: str = "", kind: str = "markdown") -> NewDocument:
    return NewDocument(
        url=url, title=title, kind=kind, size=len(text), mtime_ns=1, hash=url.encode(), passages=split(text, "markdown")
    )


def put(index: LocalIndex, *documents: NewDocument) -> None:
    with index.writing() as writer:
        for one in documents:
            writer.put(one)
        writer.commit()


def urls(found: Sequence[FoundPassage]) -> list[str]:
    return [one.url for one in found]


SHELF = [
    document("u:oak", "Oak drawers are heavy. Wax them.", title="Oak"),
    document("u:pine", "Pine is light. A drawer of pine warps.", title="Pine"),
    document("u:glue", "# Glue\n\nHide glue.\n\n# Dovetails\n\nA drawer has dovetails.", title="Joints"),
    document("u:ja", "# 修理\n\n引き出しの溝に蝋を塗る。経費の精算は月末まで。", title="引き出し"),
]


@pytest.fixture
def shelf(index: LocalIndex) -> LocalIndex:
    put(index, *SHELF)
    return index


def test_a_search_gives_each_document_once_with_its_best_passage(shelf: LocalIndex) -> None:
    found = shelf.search("dovetails drawer")
    assert urls(found)[0] == "u:glue"
    assert found[0].heading == "Dovetails"
    assert found[0].title == "Joints"
    assert len(urls(found)) == len(set(urls(found)))


def test_passages_of_one_document_come_separately_when_passages_are_asked_for(index: LocalIndex) -> None:
    put(index, document("u:1", "# A\n\nWax the oak.\n\n# B\n\nWax the pine.\n\n# C\n\nNothing."))
    assert [one.heading for one in index.search("wax", passages=True)] == ["A", "B"]


def test_a_title_counts_more_than_a_mention(index: LocalIndex) -> None:
    put(
        index,
        document("u:mention", "Among other things, beeswax is used by some people.", title="Furniture"),
        document("u:about", "It comes from hives and smells of honey, as everyone knows.", title="Beeswax"),
        *(document(f"u:{n}", f"Filler number {n}.") for n in range(20)),
    )
    assert urls(index.search("beeswax")) == ["u:about", "u:mention"]


def test_scores_lie_between_0_and_1_and_fall(shelf: LocalIndex) -> None:
    scores = [one.score for one in shelf.search("a drawer of oak wood", limit=10)]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score <= 1 for score in scores)


def test_a_passage_with_every_word_scores_at_least_a_half_and_stands_before_the_others(shelf: LocalIndex) -> None:
    found = shelf.search("drawer warps")
    assert [one.has_every_word for one in found] == [True, *[False] * (len(found) - 1)]
    assert found[0].url == "u:pine"


@pytest.mark.parametrize(
    "question", ["zebra", "quantum chromodynamics lecture", "量子力学の講義", "the of and", "!!", "です"]
)
def test_nothing_relevant_gives_nothing(shelf: LocalIndex, question: str) -> None:
    assert shelf.search(question) == []


@pytest.mark.parametrize(
    ("question", "url"),
    [("引き出しの溝", "u:ja"), ("経費精算の期限", "u:ja"), ("蝋", "u:ja"), ("how do I use hide glue?", "u:glue")],
)
def test_questions_find_what_they_are_about(shelf: LocalIndex, question: str, url: str) -> None:
    assert urls(shelf.search(question))[0] == url


def test_a_limit_is_kept(shelf: LocalIndex) -> None:
    assert len(shelf.search("drawer", limit=2)) == 2


def test_many_matches_are_ranked_by_the_engine_first(index: LocalIndex) -> None:
    many = [
        document(f"u:{n}", f"The drawer number {n} is here among many other things of the house.") for n in range(400)
    ]
    put(index, *many, document("u:best", "Drawer, drawer, drawer."))
    assert urls(index.search("drawer", limit=1)) == ["u:best"]


def test_passages_that_lack_one_word_are_found_among_many(index: LocalIndex) -> None:
    parts = [("oak", "runner"), ("pine", "handle"), ("teak", "runner")]
    kinds = [f"A drawer of {wood} with a {part}" for wood, part in parts]
    put(index, *(document(f"u:{n}", f"{kinds[n % 3]}, number {n}, in the house.") for n in range(900)))
    found = index.search("oak drawer handle", limit=5)
    assert len(found) == 5
    assert not any(one.has_every_word for one in found)


def test_rare_words_alone_are_results_and_common_ones_are_not(index: LocalIndex) -> None:
    put(
        index,
        *(document(f"u:{n}", f"A drawer in the house, number {n}.") for n in range(600)),
        document("u:x", "Ebony."),
    )
    assert urls(index.search("ebony violin")) == ["u:x"]
    assert index.search("drawer violin") == []


def test_a_changed_document_takes_the_place_of_the_old_one(shelf: LocalIndex) -> None:
    put(shelf, document("u:oak", "Walnut is dark.", title="Walnut"))
    assert urls(shelf.search("walnut")) == ["u:oak"]
    assert "u:oak" not in urls(shelf.search("heavy wax"))
    assert shelf.totals() == IndexTotals(documents=4, passages=5)


def test_a_removed_document_leaves_nothing_behind(shelf: LocalIndex) -> None:
    with shelf.writing() as writer:
        assert [writer.remove(one.url) for one in SHELF] == [True] * 4
        assert not writer.remove("u:oak")
        writer.commit()
    assert shelf.totals() == IndexTotals(documents=0, passages=0)
    assert shelf.search("drawer") == []
    assert shelf.urls() == []


def test_what_was_not_committed_never_was(shelf: LocalIndex) -> None:
    with shelf.writing() as writer:
        writer.put(document("u:new", "Ebony is black."))
        assert shelf.search("ebony") == []
    assert shelf.search("ebony") == []
    assert shelf.totals().documents == 4


def test_readers_see_a_document_as_soon_as_it_is_committed_while_the_writer_goes_on(shelf: LocalIndex) -> None:
    with shelf.writing() as writer:
        writer.put(document("u:new", "Ebony is black."))
        writer.commit()
        writer.put(document("u:newer", "Ivory is white."))
        assert urls(shelf.search("ebony")) == ["u:new"]
        assert shelf.search("ivory") == []


def test_a_document_is_given_back_word_for_word(shelf: LocalIndex) -> None:
    text = "# Long\r\n\r\n" + "引き出し and drawers.\n\n" * 300
    put(shelf, document("u:long", text, title="Long"))
    stored = shelf.document("u:long")
    assert stored is not None
    assert (stored.text, stored.title, stored.kind, stored.size) == (text, "Long", "markdown", len(text))
    assert stored.added.endswith("+00:00")
    assert shelf.document("u:none") is None


def test_addresses_are_listed_by_their_beginning(shelf: LocalIndex) -> None:
    assert shelf.urls() == ["u:glue", "u:ja", "u:oak", "u:pine"]
    assert shelf.urls("u:o") == ["u:oak"]
    with shelf.writing() as writer:
        assert writer.urls_below("u:p") == ["u:pine"]


def test_an_index_that_was_made_anew_is_noticed(shelf: LocalIndex) -> None:
    assert shelf.search("oak")
    other = LocalIndex(shelf.path.with_name("other.db"))
    put(other, document("u:other", "Teak."))
    other.path.replace(shelf.path)
    assert shelf.search("oak") == []
    assert urls(shelf.search("teak")) == ["u:other"]


def test_an_index_is_usable_after_close(shelf: LocalIndex) -> None:
    shelf.close()
    assert shelf.search("oak")
    shelf.close()
    shelf.close()


def test_many_threads_search_at_once(shelf: LocalIndex) -> None:
    found: list[list[str]] = []

    def search() -> None:
        found.extend(urls(shelf.search("pine drawer warps")) for _ in range(20))

    threads = [threading.Thread(target=search) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 160
    assert {one[0] for one in found} == {"u:pine"}


def test_a_large_intake_is_tidied_up_and_still_found(index: LocalIndex) -> None:
    put(index, *(document(f"u:{n}", f"Number {n} is called name{n}.") for n in range(2_100)))
    assert urls(index.search("name1234")) == ["u:1234"]


def test_half_characters_do_not_stop_a_document(index: LocalIndex) -> None:
    put(index, document("u:half", "A drawer \ud83d of oak.", title="T\udc00"))
    assert urls(index.search("oak drawer \ud83d")) == ["u:half"]


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    steps=st.lists(
        st.tuples(
            st.sampled_from("abc"), st.sampled_from(["", "oak wax", "引き出し 蝋", "# H\n\npine\n\n# I\n\nglue"])
        ),
        max_size=12,
    )
)
def test_whatever_is_put_and_removed_the_index_equals_a_fresh_one(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str]]
) -> None:
    """Deleting tells the engine the words of a passage again: one wrong word would stay in the index for ever."""
    index = LocalIndex(tmp_path_factory.mktemp("steps") / "web.db")
    held: dict[str, str] = {}
    with index.writing() as writer:
        for url, text in steps:
            if text:
                held[url] = text
                writer.put(document(url, text))
            else:
                assert writer.remove(url) == (held.pop(url, None) is not None)
        writer.commit()
        _check_words(writer)
    assert index.urls() == sorted(held)
    for word in ("oak", "引き出し", "pine"):
        assert sorted(urls(index.search(word))) == sorted(url for url, text in held.items() if word in text)
    index.close()


def _check_words(writer: IndexWriter) -> None:
    """The engine's own check, and that it holds as many rows as there are passages."""
    writer._connection.execute("INSERT INTO words(words) VALUES ('integrity-check')")
    writer._connection.execute("CREATE VIRTUAL TABLE temp.seen USING fts5vocab('main', 'words', 'instance')")
    rows = {row for (row,) in writer._connection.execute("SELECT DISTINCT doc FROM temp.seen")}
    passages = {row for (row,) in writer._connection.execute("SELECT id FROM passage")}
    assert rows == passages


def test_the_default_place_is_the_users_data_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert default_index_path() == tmp_path / "hikidashi" / "web.db"
    assert LocalIndex().path == default_index_path()
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_index_path() == tmp_path / ".local" / "share" / "hikidashi" / "web.db"
