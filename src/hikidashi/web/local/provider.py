"""The local index as a search provider. Needs no key; fetches only pages to extract that are not indexed."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, get_args

from ...errors import ErrorType, TavilyAPIError, WebIndexError
from ...providers import DEFAULT_RANKER, Ranker
from ...texts import Language, check_language
from ..answers import DEFAULT_MAX_TOKENS, pack_context
from ..messages import api_error, message, reason, validation_error
from ..pages.address import encoded_url
from ..passages import best_sentence, snippet
from ..provider import SearchProvider, errors_in
from ..request import CrawlOptions, ExtractOptions, SearchRequest, check_urls, listed
from ..results import (
    CrawlResults,
    ExtractedPage,
    ExtractResults,
    FailedPage,
    MapResults,
    SearchContext,
    SearchHit,
    SearchResults,
)
from .database import NoIndex
from .index import FoundPassage, LocalIndex
from .ranking import LEADING_HEADINGS

if TYPE_CHECKING:
    from ..pages.fetch import Fetcher
    from .semantic import Embed, SemanticRanker

_FILE = "file:"
_TOKENS_OF_A_PASSAGE = 100  # most passages have more
_MOST_PASSAGES = 60


class LocalSearchProvider(SearchProvider):
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

    name = "local"
    title = "The local index"
    unsupported_crawl_options = ("instructions", "categories", "chunks_per_source")
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
        self._semantic: SemanticRanker | None = None
        if ranker == "hybrid":
            from .semantic import SemanticRanker  # only a hybrid provider pays for this import

            self._semantic = SemanticRanker(embed)

    def __repr__(self) -> str:
        return f"LocalSearchProvider({str(self.index.path)!r})"

    async def aclose(self) -> None:
        """Close the files; may be called twice, and a later search opens them again."""
        await asyncio.to_thread(self.index.close)

    async def _search(self, request: SearchRequest) -> SearchResults:
        """The best documents, each with a snippet; with "advanced", the best passages.

        The date of a document is that of publication, else of modification, else of addition. A file has no domain.

        The answer, if requested, is the sentence of the best passage with the most words of the query, verbatim; None
        unless that passage has all of them.
        """
        passages = request.search_depth == "advanced"
        found = await self._passages(request, limit=request.max_results, passages=passages)
        hit_of = _passage if passages else _summary
        return SearchResults(
            query=request.query,
            results=tuple(_with_copies(hit_of(one), one.copies) for one in found),
            answer=_answer(found) if request.include_answer else None,
            provider=self.name,
        )

    async def _extract(self, urls: Sequence[str], options: ExtractOptions) -> ExtractResults:
        """The pages from the index, else fetched; files only from the index. Both depths give the full text."""
        texts = [url.strip() for url in listed(urls) or () if isinstance(url, str)]
        stored = await asyncio.to_thread(self._stored, texts)
        allowed = frozenset[str]() if self._fetcher is None else self._fetcher.allowed_hosts
        asked = check_urls(urls, allowed_hosts=allowed, at_hand=stored)
        pages = stored
        if missing := [url for url in asked.valid if url not in stored]:
            from ..pages.extract import read_pages

            pages = stored | {page.url: page for page in await read_pages(missing, fetcher=self._fetcher)}
        answers = [pages[url] for url in asked.valid]
        failed = asked.all_failed(page for page in answers if isinstance(page, FailedPage))
        return ExtractResults(
            results=tuple(page for page in answers if isinstance(page, ExtractedPage)),
            failed_results=tuple(page if page.url in stored else _explained(page) for page in failed),
            provider=self.name,
        )

    async def _context(self, request: SearchRequest, max_tokens: int | None) -> SearchContext:
        """The best passages, as many as may fit."""
        wanted = (max_tokens or DEFAULT_MAX_TOKENS) // _TOKENS_OF_A_PASSAGE
        found = await self._passages(request, limit=min(max(wanted, 3), _MOST_PASSAGES), passages=True)
        return pack_context(request.query, [_passage(one) for one in found], max_tokens, provider=self.name)

    async def _crawl(self, url: str, options: CrawlOptions) -> CrawlResults:
        """The pages, fetched as robots.txt allows; nothing is added to the index. Both depths give the full text.

        Links to other sites are followed only with `allow_external`.
        """
        from ..crawler import crawl_site

        return await crawl_site(url, options, fetcher=self._fetcher, provider=self.name)

    async def _map(self, url: str, options: CrawlOptions) -> MapResults:
        """The addresses, found by links as robots.txt allows."""
        from ..crawler import map_site

        return await map_site(url, options, fetcher=self._fetcher, provider=self.name)

    async def _passages(self, request: SearchRequest, *, limit: int, passages: bool) -> list[FoundPassage]:
        def search() -> tuple[list[FoundPassage], bool]:
            found = self.index.search(
                request.query, limit=limit, passages=passages, filters=request.filters, semantic=self._semantic
            )
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
    text = LEADING_HEADINGS.sub("", found.body) or found.body  # headings are not readable without their markup
    content = snippet(text, found.terms)
    return SearchHit(title=found.title, url=found.url, content=content, score=found.score, published_date=found.day)


def _passage(found: FoundPassage) -> SearchHit:
    trail = found.heading if found.heading.startswith(found.title) else f"{found.title} › {found.heading}"
    title = trail.removesuffix(" › ") or found.title
    content = found.body.strip()
    return SearchHit(title=title, url=found.url, content=content, score=found.score, published_date=found.day)


def _answer(found: Sequence[FoundPassage]) -> str | None:
    return best_sentence(found[0].body, found[0].terms) if found and found[0].has_every_word else None
