"""The local index as a search provider. Needs no key; fetches only pages to extract that are not indexed."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Self, get_args

from ...errors import ErrorType, TavilyAPIError, WebIndexError
from ...providers import DEFAULT_RANKER, Ranker
from ...texts import Language, check_language
from ..answers import DEFAULT_MAX_TOKENS, pack_context
from ..language import errors_in, in_own_language
from ..messages import api_error, message, reason, validation_error
from ..pages.address import encoded_url
from ..passages import best_sentence, snippet
from ..provider import SearchDepth
from ..request import (
    EXTRACT_DEFAULTS,
    NO_FILTERS,
    ExtractOptions,
    SearchFilters,
    check_extract_options,
    check_filters,
    check_max_results,
    check_max_tokens,
    check_query,
    check_search_depth,
    check_urls,
    listed,
    refuse_unsupported,
)
from ..results import ExtractedPage, ExtractResults, FailedPage, SearchContext, SearchHit, SearchResults
from .database import NoIndex
from .index import FoundPassage, LocalIndex

if TYPE_CHECKING:
    from ..pages.fetch import Fetcher
    from ..request import CrawlOptions, CrawlResults, MapResults
    from .semantic import Embed, SemanticRanker

__all__ = ["LocalSearchProvider", "Ranker"]

_NAME = "local"
_FILE = "file:"
_TOKENS_OF_A_PASSAGE = 100  # most passages have more
_MOST_PASSAGES = 60
_HEADINGS = re.compile(r"\A(?:\s*#{1,6}[ \t].*(?:\n|\Z))+\s*")


class LocalSearchProvider:
    """Searches an index of the user's documents; every failure is a `TavilyAPIError`.

        async with LocalSearchProvider() as provider:
            found = await provider.search("経費精算の期限")

    SQLite runs in threads, so the event loop is never blocked, and one provider serves any number of loops and threads.
    The index may be updated or replaced while it is open.

    Args:
        path: The file of the index; by default in the user's data folder.
        fetcher: Fetches pages that are not in the index; by default a `Fetcher`.
        language: The language of error messages.
        ranker: "lexical" ranks by words; "hybrid" also by embedding similarity.
        embed: For "hybrid", a function from texts to vectors instead of the model of the extra.

    Raises:
        TavilyAPIError: `ranker` is unknown, or `embed` is given without "hybrid"; VALIDATION_ERROR.
        MissingExtra: the ranker is "hybrid", and the extra is not installed.
    """

    supported_filters = frozenset({"time_range", "start_date", "end_date", "include_domains", "exclude_domains"})

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        fetcher: Fetcher | None = None,
        language: Language = "ja",
        ranker: Ranker = DEFAULT_RANKER,
        embed: Embed | None = None,
    ) -> None:
        self.index = LocalIndex(path)
        self._fetcher = fetcher
        self.language: Language = check_language(language)
        if ranker not in get_args(Ranker) or (embed is not None and ranker != "hybrid"):
            with errors_in(language):
                raise validation_error("ranker", value=repr(ranker))
        self._semantic = _semantic(embed) if ranker == "hybrid" else None

    def __repr__(self) -> str:
        return f"LocalSearchProvider({str(self.index.path)!r})"

    @property
    def name(self) -> str:
        """`"local"`."""
        return _NAME

    @in_own_language
    async def search(
        self,
        query: str,
        *,
        search_depth: SearchDepth = "basic",
        max_results: int = 5,
        include_answer: bool = False,
        filters: SearchFilters | None = None,
    ) -> SearchResults:
        """The best documents for `query`, each with a snippet; with "advanced", the best passages.

        The date of a document is that of publication, else of modification, else of addition. A file has no domain.
        Topics and countries are refused, because documents have neither.

        The answer, if requested, is the sentence of the best passage with the most words of `query`, verbatim; None
        unless that passage has all of them.

        Raises:
            TavilyAPIError: an argument is refused, or there is no index to search.
        """
        check_query(query)
        check_max_results(max_results)
        passages = check_search_depth(search_depth, quick=True) == "advanced"
        wanted = self._checked_filters(filters)
        found = await self._found(query, limit=max_results, passages=passages, filters=wanted)
        hit_of = _passage if passages else _summary
        return SearchResults(
            query=query,
            results=tuple(_with_copies(hit_of(one), one.copies) for one in found),
            answer=_answer(found) if include_answer else None,
            provider=_NAME,
        )

    @in_own_language
    async def extract(self, urls: Sequence[str], *, options: ExtractOptions | None = None) -> ExtractResults:
        """The text of each of `urls`: from the index, else fetched; files only from the index.

        Both depths give the full text.

        Raises:
            TavilyAPIError: `urls` is empty, or an option is refused.
        """
        from ..passages import extracted_as  # imports this package, too

        chosen = check_extract_options(options or EXTRACT_DEFAULTS)
        texts = [url.strip() for url in listed(urls) or () if isinstance(url, str)]
        stored = await asyncio.to_thread(self._stored, texts)
        allowed = frozenset[str]() if self._fetcher is None else self._fetcher.allowed_hosts
        asked = check_urls(urls, allowed_hosts=allowed, at_hand=stored)
        pages = stored | {page.url: page for page in await self._fetched([u for u in asked.valid if u not in stored])}
        answers = [pages[url] for url in asked.valid]
        failed = asked.all_failed(page for page in answers if isinstance(page, FailedPage))
        return ExtractResults(
            results=tuple(extracted_as(page, chosen) for page in answers if isinstance(page, ExtractedPage)),
            failed_results=tuple(page if page.url in stored else _explained(page) for page in failed),
            provider=_NAME,
        )

    @in_own_language
    async def context(
        self, query: str, *, max_tokens: int | None = None, filters: SearchFilters | None = None
    ) -> SearchContext:
        """The best passages about `query`, at most `max_tokens` tokens of them.

        Raises:
            TavilyAPIError: an argument is refused, or there is no index to search.
        """
        check_query(query)
        check_max_tokens(max_tokens)
        allowed = self._checked_filters(filters)
        wanted = (max_tokens or DEFAULT_MAX_TOKENS) // _TOKENS_OF_A_PASSAGE
        limit = min(max(wanted, 3), _MOST_PASSAGES)
        found = await self._found(query, limit=limit, passages=True, filters=allowed)
        return pack_context(query, [_passage(one) for one in found], max_tokens, provider=_NAME)

    @in_own_language
    async def crawl(self, url: str, *, options: CrawlOptions | None = None) -> CrawlResults:
        """The text of the pages of a site, fetched as its robots.txt allows; nothing is added to the index.

        Both extraction depths give the full text. Links to other sites are followed only with `allow_external`.

        Raises:
            TavilyAPIError: `url` or an option is refused; VALIDATION_ERROR.
        """
        from ..crawler import crawl_site

        chosen = self._checked_crawl(options)
        return await crawl_site(url, chosen, fetcher=self._fetcher, provider=_NAME)

    @in_own_language
    async def map(self, url: str, *, options: CrawlOptions | None = None) -> MapResults:
        """The addresses of the pages of a site, found by its links as its robots.txt allows.

        Raises:
            TavilyAPIError: `url` or an option is refused; VALIDATION_ERROR.
        """
        from ..crawler import map_site

        chosen = self._checked_crawl(options)
        return await map_site(url, chosen, fetcher=self._fetcher, provider=_NAME)

    def _checked_crawl(self, options: CrawlOptions | None) -> CrawlOptions:
        from ..request import CRAWL_DEFAULTS, refuse_crawl_options

        chosen = options or CRAWL_DEFAULTS
        names = ("instructions", "categories", "chunks_per_source")
        refuse_crawl_options(chosen, names, provider="The local provider")
        return chosen

    def _checked_filters(self, filters: SearchFilters | None) -> SearchFilters:
        wanted = filters or NO_FILTERS
        refuse_unsupported(wanted, self.supported_filters, provider="The local index")
        return check_filters(**wanted.given())

    async def aclose(self) -> None:
        """Close the files; may be called twice, and a later search opens them again."""
        await asyncio.to_thread(self.index.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def _found(self, query: str, *, limit: int, passages: bool, filters: SearchFilters) -> list[FoundPassage]:
        def search() -> tuple[list[FoundPassage], bool]:
            found = self.index.search(query, limit=limit, passages=passages, filters=filters, semantic=self._semantic)
            return found, bool(found) or self.index.totals().documents > 0

        try:
            found, holds_documents = await asyncio.to_thread(search)
        except NoIndex as error:
            raise api_error("index_missing", ErrorType.API_ERROR, path=error.path) from error
        except WebIndexError as error:
            raise TavilyAPIError(str(error), ErrorType.API_ERROR) from error
        if not holds_documents:
            raise api_error("index_empty", ErrorType.API_ERROR, path=str(self.index.path))
        return found

    async def _fetched(self, urls: Sequence[str]) -> list[ExtractedPage | FailedPage]:
        if not urls:
            return []
        from ..pages.extract import read_pages

        return await read_pages(urls, fetcher=self._fetcher)

    def _stored(self, urls: Sequence[str]) -> dict[str, ExtractedPage | FailedPage]:
        """The pages in the index; none if there is no index."""
        try:
            documents = {url: self.index.document(url) or self.index.document(encoded_url(url)) for url in urls}
        except NoIndex:
            return {}
        except WebIndexError as error:
            raise TavilyAPIError(str(error), ErrorType.API_ERROR) from error
        return {
            url: ExtractedPage(url=url, raw_content=document.text, title=document.title or None)
            for url, document in documents.items()
            if document is not None
        }


def _with_copies(hit: SearchHit, copies: Sequence[str]) -> SearchHit:
    """`hit` with the other addresses of the same content."""
    if not copies:
        return hit
    return replace(hit, content=message("same_content", content=hit.content, urls=", ".join(copies)))


def _explained(failed: FailedPage) -> FailedPage:
    """`failed`; for a file with the reason that it is not in the index."""
    is_file = failed.url.lower().startswith(_FILE)
    return replace(failed, error=reason("not_indexed")) if is_file else failed


def _summary(found: FoundPassage) -> SearchHit:
    text = _HEADINGS.sub("", found.body) or found.body  # headings are not readable without their markup
    content = snippet(text, found.terms)
    return SearchHit(title=found.title, url=found.url, content=content, score=found.score, published_date=found.day)


def _passage(found: FoundPassage) -> SearchHit:
    trail = found.heading if found.heading.startswith(found.title) else f"{found.title} › {found.heading}"
    title = trail.removesuffix(" › ") or found.title
    content = found.body.strip()
    return SearchHit(title=title, url=found.url, content=content, score=found.score, published_date=found.day)


def _answer(found: Sequence[FoundPassage]) -> str | None:
    return best_sentence(found[0].body, found[0].terms) if found and found[0].has_every_word else None


def _semantic(embed: Embed | None) -> SemanticRanker:
    from .semantic import SemanticRanker  # only a hybrid provider pays for this import

    return SemanticRanker(embed)
