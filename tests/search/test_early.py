"""Very many tools are searched by words before their index is built, and found as the index would find them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread, current_thread
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikidashi.search import ToolCatalog
from hikidashi.search.engine.entry import entry_of
from hikidashi.search.engine.gate import judged
from hikidashi.search.engine.index import lexical
from hikidashi.search.engine.index._early import EarlyIndex
from hikidashi.search.engine.index._tokens import Tokens
from hikidashi.search.engine.query import read_query
from hikidashi.search.engine.text.analyzer import Analyzer
from hikidashi.search.engine.text.stem import stem
from hikidashi.search.preload import MessageSearch

WORDS = [
    "send",
    "list",
    "delete",
    "archive",
    "translate",
    "schedule",
    "refund",
    "mail",
    "invoice",
    "invoices",
    "calendar",
    "event",
    "events",
    "customer",
    "customers",
    "repository",
    "forecast",
    "report",
    "reports",
    "paid",
    "payment",
    "children",
    "people",
    "analyse",
    "colour",
    "color",
    "config",
    "database",
    "GitHub",
    "sendMail",
    "listAll",
    "user_id",
    "read-only",
    "HTMLPage",
    "café",
    "élève",
    "天気予報",
    "請求書を送信",
    "メール",
    "ПРИВЕТ",
    "mp3",
    "iOS",
    "v2",
    "2024",
]
ENGLISH = [word for word in WORDS if word.isascii() and word.isalpha() and word.islower()]


class Held(str):
    """A description that the thread which builds the index cannot read before it is released."""

    __slots__ = ("released",)

    def __new__(cls, text: str) -> Held:
        this = super().__new__(cls, text)
        this.released = Event()
        return this

    def isascii(self) -> bool:
        if current_thread().name == "hikidashi-index":
            assert self.released.wait(60)
        return super().isascii()


@pytest.fixture(autouse=True, scope="module")
def sixty_tools_are_very_many() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lexical, "_LARGE", 60)
        patch.setattr(lexical, "_VERY_LARGE", 60)
        yield


@pytest.fixture
def held() -> Iterator[Held]:
    held = Held("Water the plants on the balcony")
    yield held
    held.released.set()


def many(held: Held | None = None) -> list[dict[str, Any]]:
    tools = [
        {"name": f"{verb}_{thing}_{n}", "description": f"{verb.title()} the {thing} of team {n}."}
        for verb in ("send", "archive", "refund", "translate")
        for thing in ("invoice", "repository", "forecast")
        for n in range(6)
    ]
    return [{"name": "water_plants", "description": held or "Water the plants on the balcony"}, *tools]


def names(catalog: ToolCatalog, question: str) -> list[str]:
    return [match.name for match in catalog.search(question)]


QUESTIONS = ["refund an invoice", "water the plants", "archive_forecast_3", "sned the invoyce", "翻訳 forecast"]


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_is_answered_while_the_index_is_being_built(
    question: str, held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HIKIDASHI_RANKER", "lexical")
    catalog = ToolCatalog(many(held))
    early = catalog.search(question)
    assert not held.released.is_set()
    held.released.set()
    assert catalog.ready()
    later = catalog.search(question)
    assert early == later
    assert [match.score for match in early] == pytest.approx([match.score for match in later])


def test_a_question_that_finds_nothing_sure_waits_for_the_index(held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIKIDASHI_RANKER", "lexical")
    tools = many(held)
    tools[-1]["input_schema"] = {"type": "object", "properties": {"p": {"description": "Saxophone or clarinet"}}}
    catalog = ToolCatalog(tools)
    found: list[str] = []
    search = Thread(target=lambda: found.extend(names(catalog, "saxophone")))
    search.start()  # only the descriptions of arguments have the word, and those are read last
    search.join(0.05)
    assert search.is_alive()
    assert found == []
    held.released.set()
    search.join()
    assert found == [tools[-1]["name"]]


def test_a_catalogue_is_not_ready_and_a_message_not_remembered_before_the_index_is_built(held: Held) -> None:
    catalog = ToolCatalog(many(held), ranker="lexical")
    messages = MessageSearch(catalog)
    early = messages.rankings("refund the invoice of team 3")
    assert (bool(early), catalog.is_ready, held.released.is_set()) == (True, False, False)
    held.released.set()
    assert catalog.ready()
    assert catalog.is_ready
    later = messages.rankings("refund the invoice of team 3")
    assert later is not early
    assert messages.rankings("refund the invoice of team 3") is later


def test_tools_new_to_the_encoder_are_found_by_words_at_first_and_embedded_meanwhile(
    held: Held, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    catalog = ToolCatalog(many(held))
    match = catalog.search("refund an invoice")[0]
    assert (match.by_words, match.by_meaning) == (1.0, 0.0)
    held.released.set()
    assert catalog.ready()
    assert catalog.search("refund an invoice")[0].by_meaning > 0


def test_tools_that_the_encoder_knows_are_found_by_meaning_at_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert ToolCatalog(many()).ready()
    assert ToolCatalog(many()).search("give the money back")[0].by_meaning > 0


@given(
    st.lists(st.lists(st.sampled_from(ENGLISH), min_size=1, max_size=6), min_size=1, max_size=40),
    st.lists(st.sampled_from(ENGLISH), min_size=1, max_size=4).map(" ".join),
)
def test_what_is_found_early_is_what_the_index_finds(descriptions: list[list[str]], question: str) -> None:
    tools = [{"name": f"{text[0]}{n}", "description": " ".join(text)} for n, text in enumerate(descriptions)]
    early = EarlyIndex([entry_of(tool) for tool in tools], Analyzer())
    asked = read_query(question, early.vocabulary)
    terms = Analyzer().terms
    found = judged(early.index_for(asked.weights), asked, 5, lambda number: terms(tools[number]["name"]))
    built = lexical.LexicalIndex([entry_of(tool) for tool in tools])
    asked = read_query(question, built.vocabulary)
    later = judged(built.index, asked, 5, lambda number: terms(tools[number]["name"]))
    assert [number for number, _ in found.hits] == [number for number, _ in later.hits]
    assert [score for _, score in found.hits] == pytest.approx([score for _, score in later.hits])
    assert found.doubt == later.doubt


@given(st.lists(st.sampled_from(WORDS).flatmap(lambda word: st.sampled_from([word, f"({word}),", word.title()]))))
def test_the_tokens_of_a_term_are_found_without_analyzing_all(words: list[str]) -> None:
    tokens = list(dict.fromkeys(words))
    analyzer = Analyzer()
    known = Tokens(tokens, analyzer)
    for term in {term for token in tokens for term in analyzer.terms(token)}:
        assert set(known.with_term(term)) == {n for n, token in enumerate(tokens) if term in analyzer.terms(token)}


@given(st.text(alphabet="abcdeginorstuyz", min_size=1, max_size=12))
def test_a_word_begins_with_the_letters_by_which_its_stem_is_looked_up(word: str) -> None:
    assert 0 in Tokens([word], Analyzer()).with_term(stem(word)) or stem(word) not in Analyzer().terms(word)


@given(st.lists(st.text(min_size=1, max_size=30), min_size=1, max_size=20), st.text(min_size=1, max_size=40))
def test_any_texts_can_be_searched_early(descriptions: list[str], question: str) -> None:
    tools = [{"name": f"tool_{n}", "description": text} for n, text in enumerate(descriptions)]
    early = EarlyIndex([entry_of(tool) for tool in tools], Analyzer())
    asked = read_query(question, early.vocabulary)
    found = judged(early.index_for(asked.weights), asked, 5, lambda number: [])
    assert all(0 <= number < len(tools) for number, _ in found.hits)
