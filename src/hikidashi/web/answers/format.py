"""Results as the text a model reads: the formats of spec 000 in Japanese, and their English twins.

Pure functions. Titles, addresses, reasons and queries stay on the one line the format gives them; the text of a page
is carried over as it is.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...common.unicode import well_formed
from ...errors import ErrorType, TavilyAPIError
from ..pages.reasons import in_language
from ..results import ExtractedPage, ExtractResults, FailedPage, SearchContext, SearchHit, SearchResults
from ..wording.said import Language

__all__ = ["Language", "format_context", "format_error", "format_extract", "format_search"]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Words:
    """What the formats say in one language."""

    search: str
    score: str
    nothing_found: str
    extract: str
    nothing_extracted: str
    failed: str
    context: str
    error: str
    error_type: str


_WORDS: dict[Language, _Words] = {
    "ja": _Words(
        search="検索結果",
        score="スコア",
        nothing_found="検索結果が見つかりませんでした。",
        extract="コンテンツ抽出結果",
        nothing_extracted="すべてのURLからコンテンツを抽出できませんでした。",
        failed="失敗したURL",
        context="RAG用検索コンテキスト",
        error="Tavily API エラー",
        error_type="エラータイプ",
    ),
    "en": _Words(
        search="Search results",
        score="Score",
        nothing_found="No results were found.",
        extract="Extracted content",
        nothing_extracted="No content could be extracted from any of the URLs.",
        failed="Failed URLs",
        context="Search context for RAG",
        error="Tavily API error",
        error_type="Error type",
    ),
}


def format_search(results: SearchResults, *, language: Language = "ja") -> str:
    """The hits as a numbered list (2.4), or a sentence that there are none."""
    words = _WORDS[language]
    hits = [_hit(number, hit, words) for number, hit in enumerate(results.results, start=1)]
    return _sections([f"## {words.search}: {_line(results.query)}", *(hits or [words.nothing_found])])


def format_extract(results: ExtractResults, *, language: Language = "ja") -> str:
    """The text of each page, then the addresses that failed and why (3.4)."""
    words = _WORDS[language]
    parts = [_page(page) for page in results.results]
    failed = [_failures(results.failed_results, language)] if results.failed_results else []
    if not parts:
        return _sections([f"## {words.extract}", words.nothing_extracted, *failed])
    # A `---` closes each page that something follows: another page, or the list of failures.
    return _sections([f"## {words.extract}", "\n\n---\n\n".join([*parts, *failed])])


def format_context(context: SearchContext, *, language: Language = "ja") -> str:
    """The passages under a heading (4.4), or the sentence of an empty search where there are none."""
    words = _WORDS[language]
    passages = well_formed(context.text) or words.nothing_found
    return _sections([f"## {words.context}: {_line(context.query)}", passages])


def format_error(error: TavilyAPIError, *, language: Language = "ja") -> str:
    """What went wrong and its type (5.3), for the model."""
    words = _WORDS[language]
    message = _line(in_language(error.message, language))
    return f"{words.error}: {message}\n{words.error_type}: {ErrorType(error.error_type).value}"


def _hit(number: int, hit: SearchHit, words: _Words) -> str:
    head = f"### {number}. {_line(hit.title)}\nURL: {_line(hit.url)}\n{words.score}: {hit.score:.2f}"
    return f"{head}\n{well_formed(hit.content)}"


def _page(page: ExtractedPage) -> str:
    return f"### URL: {_line(page.url)}\n{well_formed(page.raw_content)}"


def _failures(failed: tuple[FailedPage, ...], language: Language) -> str:
    reasons = (f"- {_line(page.url)}: {_line(in_language(page.error, language))}" for page in failed)
    return "\n".join([f"## {_WORDS[language].failed}", *reasons])


def _sections(sections: list[str]) -> str:
    return "\n\n".join(sections)


def _line(text: str) -> str:
    """`text` on one line, so that a title cannot pose as the next result."""
    lines = text.splitlines()
    if len(lines) <= 1 and text == "".join(lines):
        return well_formed(text)
    return well_formed(" ".join(filter(None, (line.strip() for line in lines))))
