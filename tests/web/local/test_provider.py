"""The local index answers searches, extractions and contexts, from any loop and thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from hikidashi.errors import ErrorType, TavilyAPIError
from hikidashi.testing.server import Exchange, LoopbackServer
from hikidashi.web.local import IngestEvent, LocalIndex, LocalSearchProvider
from hikidashi.web.pages.address import readable_url
from hikidashi.web.pages.fetch import Fetcher
from hikidashi.web.provider import SearchProvider
from hikidashi.web.results import ExtractedPage, FailedPage

Ingested = Callable[..., Awaitable[list[IngestEvent]]]


class Site(LoopbackServer):
    def handle(self, exchange: Exchange) -> None:
        exchange.answer(200, b"fetched just now", {"content-type": "text/plain"})


@pytest.fixture
async def provider(folder: Path, index: LocalIndex, ingested: Ingested) -> AsyncIterator[LocalSearchProvider]:
    await ingested(folder)
    async with LocalSearchProvider(index.path, language="en") as provider:
        yield provider


async def test_it_is_a_provider_called_local(provider: LocalSearchProvider) -> None:
    assert isinstance(provider, SearchProvider)
    assert provider.name == "local"
    assert "web.db" in repr(provider)


async def test_a_basic_search_gives_documents_with_a_summary(provider: LocalSearchProvider, folder: Path) -> None:
    found = await provider.search("How do I plane a drawer?")
    assert (found.query, found.provider, found.answer) == ("How do I plane a drawer?", "local", None)
    best = found.results[0]
    assert (best.title, best.url) == ("Repairing a drawer", (folder / "repair.md").as_uri())
    assert "plane where the chalk is gone" in best.content
    assert 0.5 <= best.score <= 1
    assert len({hit.url for hit in found.results}) == len(found.results)


async def test_a_summary_leaves_the_headings_out_unless_there_is_nothing_else(
    index: LocalIndex, ingested: Ingested, tmp_path: Path
) -> None:
    (tmp_path / "leave.md").write_text("# 休暇\n\n## 申請\n\n有給休暇は人事部に申請します。\n", encoding="utf-8")
    (tmp_path / "bare.md").write_text("# 有給休暇\n", encoding="utf-8")
    await ingested(tmp_path / "leave.md", tmp_path / "bare.md")
    async with LocalSearchProvider(index.path) as provider:
        found = await provider.search("有給休暇")
    assert {hit.title: hit.content for hit in found.results} == {
        "休暇": "有給休暇は人事部に申請します。",
        "有給休暇": "# 有給休暇",
    }


async def test_an_advanced_search_gives_passages_under_their_headings(provider: LocalSearchProvider) -> None:
    found = await provider.search("drawer", search_depth="advanced", max_results=10)
    titles = [hit.title for hit in found.results]
    assert "Repairing a drawer › Planing" in titles
    assert sum(title.startswith("Repairing a drawer") for title in titles) > 1


async def test_japanese_is_found_by_a_question(provider: LocalSearchProvider) -> None:
    found = await provider.search("経費精算の期限を教えてください")
    assert found.results[0].title == "引き出しの修理"


async def test_nothing_relevant_is_an_empty_result(provider: LocalSearchProvider) -> None:
    assert (await provider.search("quantum chromodynamics")).results == ()
    assert (await provider.context("quantum chromodynamics")).text == ""


async def test_an_answer_is_a_sentence_of_the_best_passage_or_none(provider: LocalSearchProvider) -> None:
    sure = await provider.search("hide glue heated rooms", include_answer=True)
    assert sure.answer == "Hide glue lets go in heated rooms."
    unsure = await provider.search("hide glue for violins", include_answer=True)
    assert unsure.results
    assert unsure.answer is None


async def test_a_context_holds_passages_within_its_limit(provider: LocalSearchProvider, folder: Path) -> None:
    context = await provider.context("drawer wax runners", max_tokens=60)
    assert 0 < context.tokens <= 60
    assert context.sources[0] == (folder / "repair.md").as_uri()
    assert context.provider == "local"
    assert (await provider.context("drawer")).tokens > 60


async def test_an_indexed_file_is_extracted_and_others_are_refused(
    provider: LocalSearchProvider, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "secret.txt").write_text("not indexed")
    inside, outside = (folder / "notes.txt").as_uri(), (tmp_path / "secret.txt").as_uri()
    found = await provider.extract([outside, inside, inside, "FILE:///etc/passwd"])
    assert found.results == (
        ExtractedPage(url=inside, raw_content=(folder / "notes.txt").read_text(), title="Notes about chests"),
    )
    assert found.failed_results == (
        FailedPage(url=outside, error="a file is read only if it is in the index"),
        FailedPage(url="FILE:///etc/passwd", error="a file is read only if it is in the index"),
    )
    assert found.provider == "local"


async def test_pages_come_from_the_index_or_are_fetched_in_the_order_asked_for(
    folder: Path, index: LocalIndex, ingested: Ingested
) -> None:
    with Site() as site:
        fetcher = Fetcher(allowed_hosts={site.url.removeprefix("http://")})
        new, kept, notes = f"{site.url}/new", f"{site.url}/kept", (folder / "notes.txt").as_uri()
        await ingested(kept, folder / "notes.txt", fetcher=fetcher)
        async with LocalSearchProvider(index.path, fetcher=fetcher, language="en") as provider:
            found = await provider.extract([new, notes, "gopher://x", kept])
    assert [page.url for page in found.results] == [new, notes, kept]
    assert [page.url for page in found.failed_results] == ["gopher://x"]


async def test_a_file_may_be_asked_for_by_its_readable_address(provider: LocalSearchProvider, folder: Path) -> None:
    file = folder / "ja" / "修理.md"
    readable = readable_url(file.as_uri())
    found = await provider.extract([readable])
    assert readable.endswith("/ja/修理.md")
    assert [(page.url, page.raw_content) for page in found.results] == [(readable, file.read_text())]


async def test_of_more_than_twenty_files_the_first_twenty_are_given(
    provider: LocalSearchProvider, ingested: Ingested, folder: Path
) -> None:
    for number in range(22):
        (folder / f"{number:02}.md").write_text(f"# Drawer {number}\n")
    await ingested(folder)
    urls = [(folder / f"{number:02}.md").as_uri() for number in range(22)]
    found = await provider.extract([*urls, urls[0]])
    assert [page.url for page in found.results] == urls[:20]
    surplus = "one call takes at most 20 URLs"
    assert found.failed_results == tuple(FailedPage(url=url, error=surplus) for url in urls[20:])


async def test_what_is_no_address_at_all_is_listed_as_failed(provider: LocalSearchProvider) -> None:
    nonsense: list[Any] = [{"a": 1}, None, "x"]
    assert [page.url for page in (await provider.extract(nonsense)).failed_results] == ["{'a': 1}", "None", "x"]


async def test_extraction_needs_no_index(tmp_path: Path) -> None:
    with Site() as site:
        fetcher = Fetcher(allowed_hosts={site.url.removeprefix("http://")})
        async with LocalSearchProvider(tmp_path / "none.db", fetcher=fetcher) as provider:
            found = await provider.extract([f"{site.url}/page"])
    assert [page.raw_content for page in found.results] == ["fetched just now"]


async def test_no_addresses_are_refused(provider: LocalSearchProvider) -> None:
    with pytest.raises(TavilyAPIError) as caught:
        await provider.extract([])
    assert caught.value.error_type is ErrorType.VALIDATION_ERROR


@pytest.mark.parametrize(
    "arguments", [{"query": " "}, {"query": "x", "max_results": 0}, {"query": "x", "search_depth": "deep"}]
)
async def test_arguments_are_checked(provider: LocalSearchProvider, arguments: dict[str, object]) -> None:
    with pytest.raises(TavilyAPIError) as caught:
        await provider.search(**arguments)  # pyright: ignore[reportArgumentType]
    assert caught.value.error_type is ErrorType.VALIDATION_ERROR
    with pytest.raises(TavilyAPIError):
        await provider.context("x", max_tokens=0)


async def test_without_an_index_the_error_says_how_to_make_one(tmp_path: Path) -> None:
    provider = LocalSearchProvider(tmp_path / "none.db", language="en")
    with pytest.raises(TavilyAPIError, match="Run `hikidashi web index PATH`") as caught:
        await provider.search("drawer")
    assert caught.value.error_type is ErrorType.API_ERROR
    assert not caught.value.is_retryable
    with pytest.raises(TavilyAPIError, match="`hikidashi web index フォルダー`"):
        await LocalSearchProvider(tmp_path / "none.db").context("drawer")


async def test_an_empty_index_says_so(index: LocalIndex, ingested: Ingested) -> None:
    await ingested()
    async with LocalSearchProvider(index.path, language="en") as provider:
        with pytest.raises(TavilyAPIError, match="holds no documents"):
            await provider.search("drawer")


async def test_a_damaged_index_is_an_api_error(tmp_path: Path) -> None:
    (tmp_path / "web.db").write_bytes(b"garbage " * 1000)
    provider = LocalSearchProvider(tmp_path / "web.db", language="en")
    for work in (provider.search("drawer"), provider.extract(["file:///x"])):
        with pytest.raises(TavilyAPIError, match="is damaged"):
            await work


async def test_documents_added_later_are_found_by_the_same_provider(
    provider: LocalSearchProvider, folder: Path, ingested: Ingested
) -> None:
    assert (await provider.search("ebony")).results == ()
    (folder / "new.md").write_text("Ebony is black.")
    await ingested(folder)
    assert len((await provider.search("ebony")).results) == 1


def test_one_provider_serves_several_loops_in_several_threads(
    folder: Path, index: LocalIndex, ingested: Ingested
) -> None:
    asyncio.run(_as_coroutine(ingested(folder)))
    provider = LocalSearchProvider(index.path)
    titles: list[str] = []

    async def search() -> None:
        found = await asyncio.gather(*(provider.search("plane drawer chalk") for _ in range(10)))
        titles.extend(one.results[0].title for one in found)

    threads = [threading.Thread(target=lambda: asyncio.run(search())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert titles == ["Repairing a drawer"] * 40
    asyncio.run(provider.aclose())
    asyncio.run(provider.aclose())


async def _as_coroutine(awaitable: Awaitable[object]) -> object:
    return await awaitable


async def test_a_cancelled_search_leaves_the_provider_usable(provider: LocalSearchProvider) -> None:
    task = asyncio.create_task(provider.search("drawer"))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await provider.search("drawer")).results
