"""Results as text for a model, in the formats of spec 000.

Pure functions. Titles, addresses, reasons and queries are kept on one line; the text of a page is unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...common.unicode import well_formed
from ...errors import ErrorType, TavilyAPIError
from ...texts import Language, in_language, texts
from ..results import ExtractedPage, ExtractResults, FailedPage, SearchContext, SearchHit, SearchResults

__all__ = ["format_context", "format_error", "format_extract", "format_search"]


def format_search(results: SearchResults, *, language: Language = "ja") -> str:
    """The hits as a numbered list (section 2.4), or a sentence that there are none."""
    words = texts("web", language)
    hits = [_hit(number, hit, words) for number, hit in enumerate(results.results, start=1)]
    return _sections(
        [f"## {words['format.search']}: {_line(results.query)}", *(hits or [words["format.nothing_found"]])]
    )


def format_extract(results: ExtractResults, *, language: Language = "ja") -> str:
    """The text of each page, then the URLs that failed with their reasons (section 3.4)."""
    words = texts("web", language)
    parts = [_page(page) for page in results.results]
    failed = [_failures(results.failed_results, language)] if results.failed_results else []
    if not parts:
        return _sections([f"## {words['format.extract']}", words["format.nothing_extracted"], *failed])
    # A `---` follows each page except the last part of the answer.
    return _sections([f"## {words['format.extract']}", "\n\n---\n\n".join([*parts, *failed])])


def format_context(context: SearchContext, *, language: Language = "ja") -> str:
    """The passages under a heading (section 4.4), or a sentence that there are none."""
    words = texts("web", language)
    passages = well_formed(context.text) or words["format.nothing_found"]
    return _sections([f"## {words['format.context']}: {_line(context.query)}", passages])


def format_error(error: TavilyAPIError, *, language: Language = "ja") -> str:
    """The error message and its type (section 5.3)."""
    words = texts("web", language)
    message = _line(in_language(error.message, language))
    return f"{words['format.error']}: {message}\n{words['format.error_type']}: {ErrorType(error.error_type).value}"


def _hit(number: int, hit: SearchHit, words: Mapping[str, str]) -> str:
    head = f"### {number}. {_line(hit.title)}\nURL: {_line(hit.url)}\n{words['format.score']}: {hit.score:.2f}"
    return f"{head}\n{well_formed(hit.content)}"


def _page(page: ExtractedPage) -> str:
    return f"### URL: {_line(page.url)}\n{well_formed(page.raw_content)}"


def _failures(failed: tuple[FailedPage, ...], language: Language) -> str:
    reasons = (f"- {_line(page.url)}: {_line(in_language(page.error, language))}" for page in failed)
    return "\n".join([f"## {texts('web', language)['format.failed']}", *reasons])


def _sections(sections: list[str]) -> str:
    return "\n\n".join(sections)


def _line(text: str) -> str:
    """`text` on one line, so that a title cannot imitate the next result."""
    lines = text.splitlines()
    if len(lines) <= 1 and text == "".join(lines):
        return well_formed(text)
    return well_formed(" ".join(filter(None, (line.strip() for line in lines))))
