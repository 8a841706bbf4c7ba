"""Days and domains narrow a search inside the full-text query: nothing is lost behind what is left out."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikidashi.errors import ErrorType, TavilyAPIError
from hikidashi.web.local import IngestEvent, LocalIndex, LocalSearchProvider
from hikidashi.web.local.database import NewDocument
from hikidashi.web.local.documents import day_of, published_day
from hikidashi.web.passages import Passage
from hikidashi.web.request import SearchFilters, SearchRequest

Ingested = Callable[..., Awaitable[list[IngestEvent]]]


def document(url: str, text: str = "A drawer of oak.", *, published: str | None = None) -> NewDocument:
    return NewDocument(
        url=url,
        title=url,
        kind="html",
        size=len(text),
        mtime_ns=None,
        hash=url.encode(),
        passages=[Passage("", text)],
        published=published,
    )


def put(index: LocalIndex, *documents: NewDocument) -> None:
    with index.writing() as writer:
        for one in documents:
            writer.put(one)
        writer.commit()


def urls(index: LocalIndex, question: str = "drawer", *, limit: int = 20, **filters: Any) -> list[str]:
    return sorted(
        found.url for found in index.search(question, limit=limit, filters=SearchRequest.of("q", **filters).filters)
    )


@pytest.fixture
def sites(index: LocalIndex) -> LocalIndex:
    put(
        index,
        document("https://example.com/a"),
        document("https://docs.example.com/b"),
        document("https://notexample.com/c"),
        document("https://under_score.example/d"),
        document("file:///home/me/e.md"),
    )
    return index


def test_domains_are_included_with_their_subdomains_and_files_have_none(sites: LocalIndex) -> None:
    assert urls(sites, include_domains=["example.com"]) == ["https://docs.example.com/b", "https://example.com/a"]
    assert urls(sites, include_domains=["docs.example.com", "notexample.com"]) == [
        "https://docs.example.com/b",
        "https://notexample.com/c",
    ]
    assert urls(sites, include_domains=["underxscore.example"]) == []


def test_domains_are_excluded_with_their_subdomains_and_files_stay(sites: LocalIndex) -> None:
    assert urls(sites, exclude_domains=["example.com"]) == [
        "file:///home/me/e.md",
        "https://notexample.com/c",
        "https://under_score.example/d",
    ]
    assert urls(sites, include_domains=["example.com"], exclude_domains=["docs.example.com"]) == [
        "https://example.com/a"
    ]


def test_as_many_domains_as_a_request_may_have_are_one_question(sites: LocalIndex) -> None:
    many = [f"site{number}.example" for number in range(299)]
    assert urls(sites, include_domains=[*many, "example.com"])[0] == "https://docs.example.com/b"
    assert len(urls(sites, exclude_domains=many)) == 5


def test_the_only_page_that_is_let_through_is_found_behind_a_thousand_better_ones(index: LocalIndex) -> None:
    better = [document(f"https://loud.example/{n}", "Drawer, drawer, drawer.") for n in range(1000)]
    put(index, *better, document("https://quiet.example/", "Somewhere in this long text is a drawer. " + "Word. " * 3))
    assert urls(index, include_domains=["quiet.example"]) == ["https://quiet.example/"]
    assert urls(index, "drawer in a long text of a zebra", include_domains=["quiet.example"]) == [
        "https://quiet.example/"
    ]


def test_days_are_the_first_and_the_last_that_count(index: LocalIndex) -> None:
    put(index, *(document(f"u:{day}", published=f"2026-03-{day:02}") for day in range(1, 6)))
    assert urls(index, start_date="2026-03-02", end_date="2026-03-04") == ["u:2", "u:3", "u:4"]
    assert urls(index, start_date="2026-03-05") == ["u:5"]
    assert urls(index, end_date="2026-03-01") == ["u:1"]


def test_a_time_range_ends_today(index: LocalIndex) -> None:
    today = datetime.now(UTC).date()
    ages = {"u:now": 0, "u:week": 5, "u:month": 20, "u:year": 200, "u:old": 900}
    put(index, *(document(url, published=(today - timedelta(days=age)).isoformat()) for url, age in ages.items()))
    assert urls(index, time_range="day") == ["u:now"]
    assert urls(index, time_range="week") == ["u:now", "u:week"]
    assert urls(index, time_range="y") == ["u:month", "u:now", "u:week", "u:year"]


async def test_a_document_is_of_the_day_it_names_else_of_its_file_else_of_today(
    tmp_path: Path, index: LocalIndex, ingested: Ingested
) -> None:
    (tmp_path / "said.md").write_text("---\ndate: 2020-05-06\n---\nA drawer.")
    (tmp_path / "page.html").write_text(
        '<html><head><meta property="article:published_time" content="2021-01-02T23:00:00+09:00"></head>'
        "<body><article><p>A drawer of oak, which is heavy and lasts.</p></article></body></html>"
    )
    (tmp_path / "file.md").write_text("A drawer.")
    for name in ("said.md", "page.html", "file.md"):
        os.utime(tmp_path / name, (1_500_000_000, 1_500_000_000))
    await ingested(tmp_path / "said.md", tmp_path / "page.html", tmp_path / "file.md")
    put(index, document("https://example.com/now"))
    async with LocalSearchProvider(index.path) as provider:
        found = await provider.search("drawer")
        days = {hit.url.rpartition("/")[2]: hit.published_date for hit in found.results}
        assert days == {
            "said.md": "2020-05-06",
            "page.html": "2021-01-02",
            "file.md": "2017-07-14",
            "now": datetime.now(UTC).date().isoformat(),
        }
        before = await provider.search("drawer", end_date="2020-12-31")
        assert {hit.url.rpartition("/")[2] for hit in before.results} == {"said.md", "file.md"}
        context = await provider.context("drawer", start_date="2021-01-01", end_date="2021-12-31")
        assert [url.rpartition("/")[2] for url in context.sources] == ["page.html"]


async def test_a_file_that_was_touched_is_of_the_new_day_unless_it_names_one(
    tmp_path: Path, index: LocalIndex, ingested: Ingested
) -> None:
    (tmp_path / "said.md").write_text("---\ndate: 2020-05-06\n---\nA drawer.")
    (tmp_path / "file.md").write_text("A drawer.")
    await ingested(tmp_path / "said.md", tmp_path / "file.md")
    for name in ("said.md", "file.md"):
        os.utime(tmp_path / name, (1_500_000_000, 1_500_000_000))
    await ingested(tmp_path / "said.md", tmp_path / "file.md")
    assert {one.url.rpartition("/")[2]: one.day for one in index.documents()} == {
        "said.md": "2020-05-06",
        "file.md": "2017-07-14",
    }


@pytest.mark.parametrize(("name", "value"), [("topic", "news"), ("topic", "finance"), ("country", "japan")])
async def test_what_an_index_does_not_know_is_refused_by_name(sites: LocalIndex, name: str, value: str) -> None:
    async with LocalSearchProvider(sites.path, language="en") as provider:
        wanted = SearchFilters(**{name: value})  # pyright: ignore[reportArgumentType]
        for asked in (provider.search("drawer", filters=wanted), provider.context("drawer", filters=wanted)):
            with pytest.raises(TavilyAPIError, match=f"The local index cannot do `{name}`") as caught:
                await asked
            assert caught.value.error_type is ErrorType.VALIDATION_ERROR


async def test_the_general_topic_is_any(sites: LocalIndex) -> None:
    async with LocalSearchProvider(sites.path) as provider:
        assert len((await provider.search("drawer", topic="general")).results) == 5


async def test_filters_that_nobody_checked_are_checked(sites: LocalIndex) -> None:
    async with LocalSearchProvider(sites.path, language="en") as provider:
        spelled = SearchFilters(include_domains=("https://WWW.Example.com/",))
        assert len((await provider.search("drawer", filters=spelled)).results) == 2
        with pytest.raises(TavilyAPIError, match="`start_date` is 'soon'"):
            await provider.search("drawer", filters=SearchFilters(start_date="soon"))


@pytest.mark.parametrize(
    ("html", "day"),
    [
        (b'<meta name="date" content="2024-02-29">', "2024-02-29"),
        (b"<META CONTENT='2024/3/1' NAME='DC.date.issued'>", "2024-03-01"),
        (b'<script type="application/ld+json">{"datePublished": "2023-12-31T10:00:00Z"}</script>', "2023-12-31"),
        (b'<time datetime="2022-07-08" itemprop="datePublished">8 July</time>', "2022-07-08"),
        (b'<meta name="pubdate" content="Mon, 16 Nov 2026 10:00:00 GMT">', "2026-11-16"),
        (b'<time datetime="2022-07-08">an event</time>', None),
        (b'<meta name="date" content="2024-02-30">', None),
        (b'<meta name="viewport" content="2024-01-01">', None),
    ],
)
def test_a_page_says_its_day_in_one_of_the_usual_ways(html: bytes, day: str | None) -> None:
    assert published_day(html) == day


def test_a_japanese_date_is_one() -> None:
    assert day_of("2026年11月3日（火）") == "2026-11-03"


@given(st.binary(max_size=300), st.text(max_size=60))
def test_no_page_and_no_text_is_trouble_for_a_date(html: bytes, text: str) -> None:
    for day in (published_day(html), day_of(text)):
        assert day is None or datetime.fromisoformat(day)
