"""What reaches a model is bounded, and says how to get the rest."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hikidashi.tokens import estimate_tokens
from hikidashi.web.answers.bounded import bounded_hits, bounded_pages, part_of
from hikidashi.web.results import ExtractedPage, ExtractResults, SearchHit, SearchResults


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
    results, notes = bounded_pages(ExtractResults(results=pages), max_tokens=1_000, tool="extract", language="en")
    short, long = results.results
    assert short.raw_content == pages[0].raw_content
    assert 800 < estimate_tokens(long.raw_content) <= 1_000
    assert notes == [
        f"https://b.example: {120_000 - len(long.raw_content):,} more characters. For the next part call extract with "
        f"this URL and offset={len(long.raw_content)}; for the passages that matter, with a query."
    ]


def test_long_hits_are_cut_and_the_answer_says_so() -> None:
    hits = tuple(
        SearchHit(title=f"t{number}", url=f"https://{number}.example", content="Word. " * 20_000, score=0.5)
        for number in range(20)
    )
    results, notes = bounded_hits(
        SearchResults(query="q", results=hits), max_tokens=2_000, tool="tavily_extract", language="ja"
    )
    assert sum(estimate_tokens(hit.content) for hit in results.results) <= 2_100
    assert all(hit.content.endswith(" …") for hit in results.results)
    assert notes == ["結果のうち 20 件を途中で切りました。全文は tavily_extract に URL を指定してください。"]
    few = SearchResults(query="q", results=hits[:0])
    assert bounded_hits(few, max_tokens=10, tool="x", language="en") == (few, [])
