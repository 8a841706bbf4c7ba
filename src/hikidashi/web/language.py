"""Errors and results in the language of a provider or command.

Other code creates messages and reasons in all languages at once.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps
from typing import Any, TypeVar, cast

from ..errors import TavilyAPIError
from ..texts import Language, LocalizedText, in_language
from .request import CrawlResults, MapResults
from .results import ExtractResults, SearchResults

__all__ = ["errors_in", "in_own_language"]

_Method = TypeVar("_Method", bound=Callable[..., Coroutine[Any, Any, Any]])


@contextmanager
def errors_in(language: Language) -> Generator[None]:
    """A `TavilyAPIError` raised inside has its message in `language`."""
    try:
        yield
    except TavilyAPIError as error:
        if isinstance(error.message, LocalizedText):
            before, error.message = error.message, in_language(error.message, language)
            error.args = tuple(error.message if value is before else value for value in error.args)
        raise


def in_own_language(method: _Method) -> _Method:
    """The same method of a provider, with its errors and results in `self.language`."""

    @wraps(method)
    async def call(self: Any, *args: Any, **options: Any) -> Any:
        with errors_in(self.language):
            return _results_in(await method(self, *args, **options), self.language)

    return cast("_Method", call)


def _results_in(results: object, language: Language) -> object:
    match results:
        case SearchResults() if any(isinstance(hit.content, LocalizedText) for hit in results.results):
            hits = tuple(replace(hit, content=in_language(hit.content, language)) for hit in results.results)
            return replace(results, results=hits)
        case ExtractResults() | CrawlResults() | MapResults() if results.failed_results:
            failed = tuple(replace(page, error=in_language(page.error, language)) for page in results.failed_results)
            return replace(results, failed_results=failed)
        case _:
            return results
