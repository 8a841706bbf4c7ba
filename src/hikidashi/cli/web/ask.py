"""`hikidashi web search`, `extract` and `context`: ask a provider and print the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from hikidashi.web.answers.format import format_context, format_extract, format_search
from hikidashi.web.call_provider import ask_context, ask_extract, ask_search
from hikidashi.web.filters import ExtractOptions, SearchFilters, check_filters
from hikidashi.web.language import errors_in
from hikidashi.web.provider import SearchDepth, SearchProvider

from .choice import Choice
from .options import FilterOptions, ReadingOptions
from .view import print_footer, print_json, print_markdown

__all__ = ["context", "extract", "search"]

T = TypeVar("T")


def search(
    choice: Choice,
    query: str,
    wanted: FilterOptions,
    *,
    max_results: int,
    depth: SearchDepth,
    answer: bool,
    as_json: bool,
) -> bool:
    """Print the hits for `query`; whether there are any."""
    found = _asked(
        choice,
        lambda provider: ask_search(
            provider,
            query,
            search_depth=depth,
            max_results=max_results,
            include_answer=answer,
            filters=_filters(wanted),
        ),
    )
    if as_json:
        print_json(found)
    else:
        text = format_search(found, language=choice.language)
        print_markdown(f"{text}\n\n> {found.answer}" if found.answer else text)
        print_footer(found.provider, choice.language, cached=found.cached, credits_used=found.credits)
    return bool(found.results)


def extract(choice: Choice, urls: Sequence[str], reading: ReadingOptions, *, as_json: bool) -> bool:
    """Print the text of `urls`; whether any could be read."""
    options = ExtractOptions(
        depth=reading.depth, format=reading.format, query=reading.query, chunks_per_source=reading.chunks
    )
    pages = _asked(choice, lambda provider: ask_extract(provider, urls, options=options))
    if as_json:
        print_json(pages)
    else:
        print_markdown(format_extract(pages, language=choice.language))
        print_footer(pages.provider, choice.language, cached=pages.cached, credits_used=pages.credits)
    return bool(pages.results)


def context(choice: Choice, query: str, wanted: FilterOptions, *, max_tokens: int | None, as_json: bool) -> bool:
    """Print passages about `query`; whether there are any."""
    packed = _asked(
        choice,
        lambda provider: ask_context(provider, query, max_tokens=max_tokens, filters=_filters(wanted)),
    )
    if as_json:
        print_json(packed)
    else:
        print_markdown(format_context(packed, language=choice.language))
        print_footer(
            packed.provider, choice.language, cached=packed.cached, credits_used=packed.credits, tokens=packed.tokens
        )
    return bool(packed.text)


def _filters(wanted: FilterOptions) -> SearchFilters:
    return check_filters(
        topic=wanted.topic,
        time_range=wanted.time_range,
        start_date=wanted.start_date,
        end_date=wanted.end_date,
        include_domains=wanted.include_domain,
        exclude_domains=wanted.exclude_domain,
        country=wanted.country,
    )


def _asked(choice: Choice, question: Callable[[SearchProvider], Awaitable[T]]) -> T:
    async def ask() -> T:
        provider = choice.open()
        try:
            return await question(provider)
        finally:
            await provider.aclose()

    with errors_in(choice.language):
        return asyncio.run(ask())
