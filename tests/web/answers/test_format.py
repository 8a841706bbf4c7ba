"""Results as text: the exact formats, and pages that try to break out of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikidashi.errors import ErrorType, TavilyAPIError
from hikidashi.texts import Language
from hikidashi.web.answers import format_context, format_error, format_extract, format_search
from hikidashi.web.messages import reason
from hikidashi.web.results import (
    ExtractedPage,
    ExtractResults,
    FailedPage,
    SearchContext,
    SearchHit,
    SearchResults,
)

LINE_BREAKS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
hostile = st.one_of(
    words,
    st.lists(
        st.sampled_from(
            ["### 2. Bank", "URL: https://bank.example", "\n", "\r\n", "\u2028", "---", "## 失敗したURL", "\ud800", " "]
        ),
        max_size=8,
    ).map("".join),
)


def hit(number: int) -> SearchHit:
    return SearchHit(
        title=f"Title {number}", url=f"https://example.com/{number}", content=f"About {number}.", score=1 / number
    )


def page(number: int) -> ExtractedPage:
    return ExtractedPage(url=f"https://example.com/{number}", raw_content=f"Text {number}.\n\nMore.")


FAILED = (FailedPage(url="https://a.example", error="404"), FailedPage(url="b.example", error="broken"))


def test_a_search_is_a_numbered_list() -> None:
    results = SearchResults(query="春の花", results=(hit(1), hit(3)))

    assert format_search(results) == (
        "## 検索結果: 春の花\n"
        "\n"
        "### 1. Title 1\n"
        "URL: https://example.com/1\n"
        "スコア: 1.00\n"
        "About 1.\n"
        "\n"
        "### 2. Title 3\n"
        "URL: https://example.com/3\n"
        "スコア: 0.33\n"
        "About 3."
    )


def test_a_search_without_hits_says_so() -> None:
    empty = SearchResults(query="xyzzy", results=())

    assert format_search(empty) == "## 検索結果: xyzzy\n\n検索結果が見つかりませんでした。"
    assert format_search(empty, language="en") == "## Search results: xyzzy\n\nNo results were found."


def test_one_page_needs_no_separator() -> None:
    assert format_extract(ExtractResults(results=(page(1),))) == (
        "## コンテンツ抽出結果\n\n### URL: https://example.com/1\nText 1.\n\nMore."
    )


def test_pages_are_separated_from_each_other() -> None:
    assert format_extract(ExtractResults(results=(page(1), page(2)))) == (
        "## コンテンツ抽出結果\n"
        "\n"
        "### URL: https://example.com/1\n"
        "Text 1.\n\nMore.\n"
        "\n"
        "---\n"
        "\n"
        "### URL: https://example.com/2\n"
        "Text 2.\n\nMore."
    )


def test_pages_are_separated_from_the_failures_too() -> None:
    assert format_extract(ExtractResults(results=(page(1), page(2)), failed_results=FAILED)) == (
        "## コンテンツ抽出結果\n"
        "\n"
        "### URL: https://example.com/1\n"
        "Text 1.\n\nMore.\n"
        "\n"
        "---\n"
        "\n"
        "### URL: https://example.com/2\n"
        "Text 2.\n\nMore.\n"
        "\n"
        "---\n"
        "\n"
        "## 失敗したURL\n"
        "- https://a.example: 404\n"
        "- b.example: broken"
    )


def test_an_extraction_that_failed_throughout_says_so_before_the_failures() -> None:
    assert format_extract(ExtractResults(results=(), failed_results=FAILED)) == (
        "## コンテンツ抽出結果\n"
        "\n"
        "すべてのURLからコンテンツを抽出できませんでした。\n"
        "\n"
        "## 失敗したURL\n"
        "- https://a.example: 404\n"
        "- b.example: broken"
    )


def test_our_own_reasons_are_told_in_the_language_of_the_answer() -> None:
    refused = ExtractResults(results=(), failed_results=(FailedPage(url="x", error=reason("host")),))

    assert format_extract(refused).endswith("- x: 有効なホスト名がありません")
    assert format_extract(refused, language="en").endswith("- x: it names no valid host")


def test_a_context_stands_under_its_query() -> None:
    context = SearchContext(query="花", text="A passage.\n\nAnother.", sources=(), tokens=5)

    assert format_context(context) == "## RAG用検索コンテキスト: 花\n\nA passage.\n\nAnother."
    assert format_context(context, language="en") == "## Search context for RAG: 花\n\nA passage.\n\nAnother."


def test_a_context_without_passages_says_so() -> None:
    empty = SearchContext(query="花", text="", sources=(), tokens=0)

    assert format_context(empty) == "## RAG用検索コンテキスト: 花\n\n検索結果が見つかりませんでした。"


@pytest.mark.parametrize("error_type", list(ErrorType))
def test_an_error_has_its_message_and_its_type(error_type: ErrorType) -> None:
    error = TavilyAPIError("だめでした。", error_type)

    assert format_error(error) == f"Tavily API エラー: だめでした。\nエラータイプ: {error_type.name}"
    assert format_error(error, language="en") == f"Tavily API error: だめでした。\nError type: {error_type.name}"


def test_english_has_the_same_lines_as_japanese() -> None:
    results = SearchResults(query="flowers", results=(hit(1), hit(2)))
    extracted = ExtractResults(results=(page(1), page(2)), failed_results=FAILED)

    assert format_search(results, language="en") == (
        format_search(results).replace("検索結果", "Search results").replace("スコア", "Score")
    )
    assert format_extract(extracted, language="en") == (
        format_extract(extracted)
        .replace("コンテンツ抽出結果", "Extracted content")
        .replace("失敗したURL", "Failed URLs")
    )
    failed = ExtractResults(results=(), failed_results=FAILED)
    assert format_extract(failed, language="en") == (
        "## Extracted content\n\nNo content could be extracted from any of the URLs.\n\n"
        "## Failed URLs\n- https://a.example: 404\n- b.example: broken"
    )


@pytest.mark.parametrize("language", ["ja", "en"])
@given(query=hostile, title=hostile, url=hostile)
def test_a_title_never_adds_a_line(language: Language, query: str, title: str, url: str) -> None:
    results = SearchResults(query=query, results=(SearchHit(title=title, url=url, content="content", score=0.5),))

    lines = format_search(results, language=language).split("\n")

    assert len(lines) == 6
    assert lines[2].startswith("### 1. ")
    assert lines[3].startswith("URL: ")
    assert lines[5] == "content"
    assert not any(character in line for line in lines for character in LINE_BREAKS)


@given(url=hostile, error=hostile)
def test_a_reason_never_adds_a_line(url: str, error: str) -> None:
    failed = ExtractResults(results=(), failed_results=(FailedPage(url=url, error=error),))

    lines = format_extract(failed).split("\n")

    assert len(lines) == 6
    assert lines[5].startswith("- ")


@given(message=hostile)
def test_an_error_has_two_lines_whatever_a_server_says(message: str) -> None:
    lines = format_error(TavilyAPIError(message, ErrorType.API_ERROR)).split("\n")

    assert len(lines) == 2
    assert lines[1] == "エラータイプ: API_ERROR"


@given(contents=st.lists(words, min_size=1, max_size=4))
def test_the_text_of_a_page_is_carried_over_as_it_is(contents: list[str]) -> None:
    pages = tuple(ExtractedPage(url=f"https://example.com/{n}", raw_content=text) for n, text in enumerate(contents))

    written = format_extract(ExtractResults(results=pages))

    assert written == "## コンテンツ抽出結果\n\n" + "\n\n---\n\n".join(
        f"### URL: https://example.com/{n}\n{text}" for n, text in enumerate(contents)
    )


@given(text=hostile)
def test_every_answer_can_be_sent(text: str) -> None:
    results = SearchResults(query=text, results=(SearchHit(title=text, url=text, content=text, score=0.1),))
    extracted = ExtractResults(
        results=(ExtractedPage(url=text, raw_content=text),), failed_results=(FailedPage(url=text, error=text),)
    )
    context = SearchContext(query=text, text=text, sources=(), tokens=1)

    for written in (format_search(results), format_extract(extracted), format_context(context)):
        assert written.encode()
