"""What reaches a model is bounded, and says how to get the rest."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from hikidashi.texts import in_language
from hikidashi.tokens import estimate_tokens
from hikidashi.web.answers import bounded_context, bounded_hits, bounded_pages, format_extract, format_search, part_of
from hikidashi.web.messages import reason
from hikidashi.web.results import (
    ExtractedPage,
    ExtractResults,
    FailedPage,
    SearchContext,
    SearchHit,
    SearchResults,
)


@given(st.text(max_size=2_000), st.integers(1, 60))
def test_the_parts_of_a_text_are_the_text_and_each_is_within_its_limit(text: str, max_tokens: int) -> None:
    parts: list[str] = []
    offset: int | None = 0
    while offset is not None:
        part = part_of(text, offset=offset, max_tokens=max_tokens)
        assert part.next is None or part.next > offset
        assert estimate_tokens(part.text) <= max(max_tokens, 2)
        parts.append(part.text)
        offset = part.next
    assert "".join(parts) == text


def test_a_part_ends_with_a_sentence_in_either_language() -> None:
    assert (
        part_of("One is here. Two is there. Three is nowhere at all.", max_tokens=9).text
        == "One is here. Two is there."
    )
    assert part_of("一つ目です。二つ目です。三つ目は長い文です。", max_tokens=14).text == "一つ目です。二つ目です。"


def test_what_short_pages_leave_goes_to_the_long_ones() -> None:
    pages = (
        ExtractedPage(url="https://a.example", raw_content="Short. " * 10),
        ExtractedPage(url="https://b.example", raw_content="Long words. " * 10_000),
    )
    results, notes = bounded_pages(ExtractResults(results=pages), max_tokens=1_000, tool="extract")
    short, long = results.results
    assert short.raw_content == pages[0].raw_content
    assert 800 < estimate_tokens(long.raw_content) <= 1_000
    assert [in_language(note, "en") for note in notes] == [
        f"https://b.example: {120_000 - len(long.raw_content):,} more characters. For the next part call extract with "
        f"this URL and offset={len(long.raw_content)}; for the relevant passages, with a query."
    ]


def test_long_hits_are_cut_and_the_answer_says_so() -> None:
    hits = tuple(
        SearchHit(title=f"t{number}", url=f"https://{number}.example", content="Word. " * 20_000, score=0.5)
        for number in range(20)
    )
    results, notes = bounded_hits(SearchResults(query="q", results=hits), max_tokens=2_000, tool="tavily_extract")
    assert sum(estimate_tokens(hit.content) for hit in results.results) <= 2_100
    assert all(hit.content.endswith(" …") for hit in results.results)
    assert notes == ["結果のうち 20 件を途中で切りました。全文は tavily_extract に URL を指定してください。"]
    few = SearchResults(query="q", results=hits[:0])
    assert bounded_hits(few, max_tokens=10, tool="x") == (few, [])


ENDLESS = "x" * 1_000_000
LONG = "Word. " * 200_000


@given(st.sampled_from(["title", "url", "content"]), st.sampled_from([ENDLESS, LONG, " " * 999_999, "字" * 300_000]))
def test_whatever_a_hit_makes_long_the_answer_is_bounded(field: str, value: str) -> None:
    hit = SearchHit(title="t", url="https://a.example", content="c", score=0.5)
    many = SearchResults(query="q", results=(replace(hit, **{field: value}),) * 20, answer=value)
    results, _ = bounded_hits(many, max_tokens=1_000, tool="x")
    said = format_search(results, language="en")
    assert len(said) < 20 * 2_400
    assert len(results.answer or "") < 8 * 1_000


def test_reasons_and_addresses_of_failed_pages_are_bounded_and_the_rest_is_counted() -> None:
    failed = tuple(FailedPage(url=f"https://{number}.example/{ENDLESS}", error=LONG) for number in range(60))
    results, notes = bounded_pages(ExtractResults(results=(), failed_results=failed), max_tokens=1_000, tool="x")
    assert len(results.failed_results) == 50
    assert max(len(page.url) for page in results.failed_results) == 2_000
    assert max(len(page.error) for page in results.failed_results) == 1_000
    assert [in_language(note, "en") for note in notes] == ["10 more URLs failed. Give at most 20 in one call."]


def test_a_reason_of_our_own_is_told_in_the_language_of_the_reader() -> None:
    failed = (FailedPage(url="https://a.example", error=reason("empty")),)
    results, _ = bounded_pages(ExtractResults(results=(), failed_results=failed), max_tokens=100, tool="x")
    assert "ページにテキストがありません" in format_extract(results, language="ja")


def test_a_context_that_is_longer_than_asked_for_is_cut() -> None:
    context = SearchContext(query="q", text=LONG, sources=(), tokens=9, provider="own")
    assert estimate_tokens(bounded_context(context, max_tokens=300).text) <= 301  # and the mark of the cut
    short = replace(context, text="Short.")
    assert bounded_context(short, max_tokens=300) == short
