"""The answers and log lines of the strands tools, in the formats of spec 001."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from ...errors import ErrorType, HikidashiError, TavilyAPIError
from ...texts import Language, in_language, texts
from ..presentation import Presentation, WebResults
from ..results import ExtractResults, SearchContext, SearchResults
from ._text import cut_hits, format_answer

__all__ = ["StrandsPresentation"]

logger = logging.getLogger("hikidashi.web")

_LONGEST_IN_LOG = 200


@dataclass(frozen=True, kw_only=True)
class StrandsPresentation(Presentation):
    """Short sentences for the model, and one line in the log for each call."""

    max_content_length: int
    """Maximum number of characters of each result; 0 is unlimited."""

    search_tool = "web_search"
    extract_tool = "web_extract"
    context_tool = "web_context"
    include_answer = True

    def bounded(self, results: SearchResults, max_tokens: int) -> tuple[SearchResults, list[str]]:
        """`results` with the content length of the config, whatever `max_tokens` is: the format has no notes."""
        return cut_hits(results, self.max_content_length), []

    def text(self, results: WebResults, language: Language) -> str:
        """`results` as text for the model: for a search, in the format of spec 001."""
        if isinstance(results, SearchResults):
            return format_answer(results, language=language)
        return super().text(results, language)

    def empty_text(self, results: WebResults, language: Language) -> str | None:
        """The sentence that nothing was found."""
        if isinstance(results, SearchResults):
            is_empty = not results.results and not (results.answer or "").strip()
        else:  # an extraction without pages says which could not be read
            is_empty = isinstance(results, SearchContext) and not results.text.strip()
        return texts("strands", language)["nothing_found"] if is_empty else None

    def error_text(self, tool: str, error: TavilyAPIError, language: Language) -> str:
        """A sentence without the cause, which is in the log; a wrong argument is explained to the model."""
        if error.error_type is ErrorType.VALIDATION_ERROR and error.status_code is None:
            return in_language(error.message, language)
        words = texts("strands", language)
        return words["not_extracted"] if tool == self.extract_tool else words["failed"]

    def log_start(self, tool: str, arguments: Mapping[str, object]) -> None:
        """Log nothing: the line at the end has the arguments."""

    def log_success(
        self, tool: str, arguments: Mapping[str, object], results: WebResults, execution_time_ms: float
    ) -> None:
        """Log the arguments and the number of results."""
        logger.info("%s %s: success: %s", tool, _asked(arguments), _summary(results))

    def log_failure(
        self, tool: str, arguments: Mapping[str, object], error: Exception, execution_time_ms: float
    ) -> None:
        """Log the arguments and the reason of the failure."""
        reason = " ".join(str(error).split()) if isinstance(error, HikidashiError) else type(error).__name__
        logger.info("%s %s: failed: %s", tool, _asked(arguments), reason)

    def log_cancelled(self, tool: str, arguments: Mapping[str, object]) -> None:
        """Log the arguments."""
        logger.info("%s %s: cancelled", tool, _asked(arguments))


def _asked(arguments: Mapping[str, object]) -> str:
    shown = ", ".join(map(repr, arguments.values()))
    return shown if len(shown) <= _LONGEST_IN_LOG else shown[: _LONGEST_IN_LOG - 1] + "…"


def _summary(results: WebResults) -> str:
    if isinstance(results, SearchResults):
        return f"{len(results.results)} results"
    if isinstance(results, ExtractResults):
        return f"{len(results.results)} pages, {len(results.failed_results)} failed"
    return f"{len(results.sources)} sources, about {results.tokens} tokens"
