"""Presentation of a call of a web tool: the text for the model, and the log lines.

`Presentation` has the texts of spec 000; a subclass has those of another spec.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..errors import TavilyAPIError
from ..texts import Language
from .answers.bounded import bounded_hits
from .answers.format import format_context, format_error, format_extract, format_search
from .log import log_verbose_tool_done, log_verbose_tool_start
from .results import ExtractResults, SearchContext, SearchResults

__all__ = ["Presentation", "WebResults"]

WebResults = SearchResults | ExtractResults | SearchContext
"""The results of a call."""


class Presentation:
    """The names, texts and log lines of spec 000."""

    search_tool: str = "tavily_search"
    extract_tool: str = "tavily_extract"
    context_tool: str = "tavily_context"
    include_answer: bool = False
    """Whether a search asks the provider for a generated answer."""

    def bounded(self, results: SearchResults, max_tokens: int) -> tuple[SearchResults, list[str]]:
        """`results` in about `max_tokens` tokens, and notes on what was cut."""
        return bounded_hits(results, max_tokens=max_tokens, tool=self.extract_tool)

    def text(self, results: WebResults, language: Language) -> str:
        """`results` as text for the model."""
        if isinstance(results, SearchResults):
            return format_search(results, language=language)
        if isinstance(results, ExtractResults):
            return format_extract(results, language=language)
        return format_context(results, language=language)

    def empty_text(self, results: WebResults, language: Language) -> str | None:
        """The text for empty results; None formats them like others."""

    def error_text(self, tool: str, error: TavilyAPIError, language: Language) -> str:
        """A failed call as text for the model."""
        return format_error(error, language=language)

    def log_start(self, tool: str, arguments: Mapping[str, object]) -> None:
        """Log that `tool` was called."""
        log_verbose_tool_start(tool, arguments)

    def log_success(
        self, tool: str, arguments: Mapping[str, object], results: WebResults, execution_time_ms: float
    ) -> None:
        """Log that a call gave `results`."""
        log_verbose_tool_done(tool, "success", execution_time_ms, provider=results.provider, cached=results.cached)

    def log_failure(
        self, tool: str, arguments: Mapping[str, object], error: Exception, execution_time_ms: float
    ) -> None:
        """Log that a call raised `error`; its text only if it is an error of hikidashi."""
        log_verbose_tool_done(tool, "failed", execution_time_ms)

    def log_cancelled(self, tool: str, arguments: Mapping[str, object]) -> None:
        """Log that a call was cancelled."""
