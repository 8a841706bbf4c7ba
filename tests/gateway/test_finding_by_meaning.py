"""The gateway loads the model of the search by meaning, and embeds tools, without keeping other requests waiting."""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import mcp_types as types
import pytest
from anyio.abc import TaskGroup
from tests.gateway.servers import LEGACY, program
from tests.gateway.test_gateway import connected

from hikidashi.errors import ToolSearchError
from hikidashi.gateway import finder as _finder
from hikidashi.gateway.finder import Finder
from hikidashi.gateway.merged import merged
from hikidashi.gateway.upstream.listing import Listing
from hikidashi.search import ToolCatalog
from hikidashi.search.engine import embeddings
from hikidashi.search.engine.embeddings import Embedder

pytestmark = pytest.mark.anyio

QUESTION = "will I need an umbrella"


class Encoder:
    """A model that is loaded, and embeds tools, once it is let; it remembers the threads that it worked in."""

    def __init__(self) -> None:
        self.let = threading.Event()
        self.threads: set[threading.Thread] = set()
        self.loads = 0

    def load(self) -> Embedder:
        self.loads += 1
        self._work()
        return Embedder(embed=self._embed, question=self._vectors)

    def _embed(self, texts: list[str]) -> list[list[float]]:
        self._work()
        return self._vectors(texts)

    def _vectors(self, texts: list[str]) -> list[list[float]]:
        return [[1.0, 3.0] if "rain" in text or "umbrella" in text else [1.0, 0.0] for text in texts]

    def _work(self) -> None:
        self.threads.add(threading.current_thread())
        assert self.let.wait(60)


@pytest.fixture
def encoder(monkeypatch: pytest.MonkeyPatch) -> Encoder:
    encoder = Encoder()
    monkeypatch.delenv("HIKIDASHI_RANKER", raising=False)
    monkeypatch.setattr(embeddings, "_loaded", encoder.load)
    monkeypatch.setattr(_finder, "_A_MOMENT", 60.0)
    return encoder


def finder_of(*names: str) -> Finder:
    finder = Finder()
    offer(finder, *names)
    return finder


def offer(finder: Finder, *names: str) -> None:
    tools = tuple(types.Tool(name=name, input_schema={"type": "object"}) for name in names)
    finder.update(merged({"home": Listing(tools=tools)}, "prefixed"), frozenset())


@asynccontextmanager
async def running(finder: Finder) -> AsyncGenerator[TaskGroup]:
    """Have `finder` embed tools meanwhile."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(finder.run)
        yield tasks
        tasks.cancel_scope.cancel()


async def until(holds: Callable[[], bool]) -> None:
    """Wait; that this is reached shows that the event loop is free meanwhile."""
    with anyio.fail_after(30):
        while not holds():
            await anyio.lowlevel.checkpoint()


async def let(encoder: Encoder) -> None:
    """Let the model work on once somebody waits for it."""
    await until(lambda: bool(encoder.threads))
    encoder.let.set()


async def test_a_search_waits_for_the_model_in_a_thread(encoder: Encoder) -> None:
    finder = finder_of("rain_radar", "play_music")
    async with running(finder) as tasks:
        tasks.start_soon(let, encoder)
        await finder.prepare(QUESTION)
        found = finder.search(QUESTION, down={}).names
    assert found == ("home__rain_radar",)
    assert threading.main_thread() not in encoder.threads


async def test_searches_at_the_same_time_wait_for_the_same_model(encoder: Encoder) -> None:
    finder = finder_of("rain_radar", "play_music")
    found: list[tuple[str, ...]] = []

    async def search() -> None:
        await finder.prepare(QUESTION)
        found.append(finder.search(QUESTION, down={}).names)

    async with running(finder), anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(search)
        tasks.start_soon(let, encoder)
    assert found == [("home__rain_radar",)] * 3
    assert (encoder.loads, threading.main_thread() in encoder.threads) == (1, False)


async def test_a_search_that_is_cancelled_leaves_the_waiting_to_the_next(encoder: Encoder) -> None:
    finder = finder_of("rain_radar", "play_music")
    async with running(finder):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(finder.prepare, QUESTION)
            await until(lambda: bool(encoder.threads))
            tasks.cancel_scope.cancel()
        encoder.let.set()
        await finder.prepare(QUESTION)
        found = finder.search(QUESTION, down={}).names
    assert found == ("home__rain_radar",)
    assert threading.main_thread() not in encoder.threads


async def test_many_new_tools_are_found_by_words_at_once_until_they_are_embedded(encoder: Encoder) -> None:
    finder = finder_of(*(f"rain_radar_{number}" for number in range(101)))
    async with running(finder):
        with pytest.raises(StopIteration):  # it ends without giving up control once
            finder.prepare("rain_radar_7").send(None)
        before = [finder.search(query, down={}).names for query in (QUESTION, "rain radar")]
        await until(lambda: bool(encoder.threads))  # by the search before, although it did not wait
        encoder.let.set()
        await until(lambda: finder.catalog.is_ready)
        after = finder.search(QUESTION, down={}).names
    assert [len(names) for names in (*before, after)] == [0, 5, 5]
    assert threading.main_thread() not in encoder.threads


async def test_tools_are_embedded_before_the_first_search_once_they_are_wanted(encoder: Encoder) -> None:
    encoder.let.set()
    finder = finder_of("rain_radar")
    async with running(finder):
        assert encoder.loads == 0
        finder.embed()
        await until(lambda: finder.catalog.is_ready)
        offer(finder, "rain_radar", "play_music")
        is_ready = finder.catalog.is_ready
        await until(lambda: finder.catalog.is_ready)
    assert not is_ready


async def test_a_client_that_gets_the_search_tools_has_all_others_embedded(encoder: Encoder, tmp_path: Path) -> None:
    async with connected([program(tmp_path, "legacy", LEGACY)], search="on") as (client, gateway):
        await client.list_tools()
        await until(lambda: bool(encoder.threads))
        encoder.let.set()
        await until(lambda: gateway.finder.catalog.is_ready)
    assert threading.main_thread() not in encoder.threads


async def test_a_question_that_needs_no_vectors_waits_for_none(encoder: Encoder) -> None:
    finder, query = finder_of("rain_radar", "play_music"), "select:home__rain_radar"
    with pytest.raises(StopIteration):
        finder.prepare(query).send(None)
    assert finder.search(query, down={}).names == ("home__rain_radar",)
    assert encoder.loads == 0


async def test_nothing_is_waited_for_without_new_tools_or_by_words(
    encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    await Finder().prepare(QUESTION)
    monkeypatch.setenv("HIKIDASHI_RANKER", "lexical")
    await finder_of("rain_radar").prepare(QUESTION)
    assert encoder.loads == 0


async def test_a_model_that_was_asked_for_and_fails_is_told_each_time() -> None:
    def fail(texts: list[str]) -> list[list[float]]:
        raise ToolSearchError("unavailable", "The model is gone.")

    finder = Finder()
    finder.catalog = ToolCatalog(embed=fail)
    async with running(finder):
        offer(finder, "rain_radar")
        for _ in range(2):
            with pytest.raises(ToolSearchError, match="The model is gone"):
                await finder.prepare(QUESTION)
