"""The local index as a search provider: no key, no network but for pages that are asked for and not indexed."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self, get_args

from ....errors import ErrorType, TavilyAPIError, WebIndexError
from ...answers.context import DEFAULT_MAX_TOKENS, pack_context
from ...filters import (
    EXTRACT_DEFAULTS,
    NO_FILTERS,
    ExtractOptions,
    SearchFilters,
    check_extract_options,
    check_filters,
    refuse_unsupported,
)
from ...pages.address import encoded_url
from ...provider import SearchDepth
from ...results import ExtractedPage, ExtractResults, FailedPage, SearchContext, SearchHit, SearchResults
from ...text.snippet import best_sentence, snippet
from ...validate import as_list, check_max_results, check_max_tokens, check_query, check_search_depth, sort_urls
from ...wording.said import Language, Said, said
from ._database import NoIndex
from .index import Found, LocalIndex

if TYPE_CHECKING:
    from ...crawl.options import CrawlOptions, CrawlResults, MapResults
    from ...pages.fetch import Fetcher
    from ._semantic import Embed, SemanticRanker

__all__ = ["LocalSearchProvider", "Ranker"]

Ranker = Literal["lexical", "hybrid"]
"""By words alone, or by words and meaning."""

_NAME = "local"
_FILE = "file:"
_TOKENS_OF_A_PASSAGE = 100  # most have more
_MOST_PASSAGES = 60
_HEADINGS = re.compile(r"\A(?:\s*#{1,6}[ \t].*(?:\n|\Z))+\s*")
_SAYINGS: dict[str, tuple[str, str]] = {
    "missing": (
        "ローカル検索のインデックスがありません（{path}）。`hikidashi web index フォルダー` で文書を登録してください。",
        "There is no local index at {path}. Run `hikidashi web index PATH` to index your documents.",
    ),
    "empty": (
        "ローカル検索のインデックスに文書がありません（{path}）。"
        "`hikidashi web index フォルダー` で文書を登録してください。",
        "The local index at {path} holds no documents. Run `hikidashi web index PATH` to index some.",
    ),
    "copies": ("{content}（同じ内容: {urls}）", "{content} (The same content is at {urls}.)"),
    "ranker": (
        'ranker が不正です（受け取った値: {value}）。"lexical" または "hybrid" を指定してください。embed は "hybrid" と'
        "ともに使います。",
        '`ranker` is {value}: use "lexical" or "hybrid"; `embed` is for "hybrid".',
    ),
    "not_indexed": (
        "インデックスに登録されていないファイルは読めません",
        "a file is read only if it is in the index",
    ),
}


class LocalSearchProvider:
    """Searches an index of the user's own documents; every failure is a `TavilyAPIError`.

        async with LocalSearchProvider() as provider:
            found = await provider.search("経費精算の期限")

    SQLite runs in threads, so an event loop is never blocked, and one provider serves any number of loops and threads.
    The index may grow, or be made anew, while it is open.

    Args:
        path: The file of the index; the one in the user's data folder if None.
        fetcher: How pages that are not in the index are fetched; the guarded fetch of public addresses if None.
        language: The language of error messages.
        ranker: "lexical" ranks by words alone; "hybrid" also by meaning, which needs the extra `semantic`.
        embed: For "hybrid", a function from texts to vectors in place of the model that comes with the extra.

    Raises:
        TavilyAPIError: `ranker` is another, or `embed` is given without "hybrid"; VALIDATION_ERROR.
        MissingExtra: the ranker is "hybrid", and the extra is not installed.
    """

    supported_filters = frozenset({"time_range", "start_date", "end_date", "include_domains", "exclude_domains"})

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        fetcher: Fetcher | None = None,
        language: Language = "ja",
        ranker: Ranker = "lexical",
        embed: Embed | None = None,
    ) -> None:
        self.index = LocalIndex(path)
        self._fetcher = fetcher
        self._language: Language = language
        if ranker not in get_args(Ranker) or (embed is not None and ranker != "hybrid"):
            raise TavilyAPIError(self._say("ranker", value=repr(ranker)), ErrorType.VALIDATION_ERROR)
        self._semantic = _semantic(embed) if ranker == "hybrid" else None

    def __repr__(self) -> str:
        return f"LocalSearchProvider({str(self.index.path)!r})"

    @property
    def name(self) -> str:
        """`"local"`."""
        return _NAME

    async def search(
        self,
        query: str,
        *,
        search_depth: SearchDepth = "basic",
        max_results: int = 5,
        include_answer: bool = False,
        filters: SearchFilters | None = None,
    ) -> SearchResults:
        """The best documents for `query`, each with what it says about it; with "advanced", the best passages.

        A document is of the day that it names, else of that on which its file changed, else of that on which it was
        added. A file has no domain. Topics and countries are refused, because an index knows neither.

        The answer, if asked for, is the sentence of the best passage with the most words of `query`, taken over as it
        stands; None unless that passage has all of them.

        Raises:
            TavilyAPIError: an argument is refused, or there is no index that could be searched.
        """
        check_query(query, language=self._language)
        check_max_results(max_results, language=self._language)
        passages = check_search_depth(search_depth, language=self._language, quick=True) == "advanced"
        wanted = self._checked_filters(filters)
        found = await self._found(query, limit=max_results, passages=passages, filters=wanted)
        hit_of = _passage if passages else _summary
        return SearchResults(
            query=query,
            results=tuple(self._with_copies(hit_of(one), one.copies) for one in found),
            answer=_answer(found) if include_answer else None,
            provider=_NAME,
        )

    async def extract(self, urls: Sequence[str], *, options: ExtractOptions | None = None) -> ExtractResults:
        """The text of each of `urls`: from the index if it is there, else fetched; a file only from the index.

        Both depths give whole documents.

        Raises:
            TavilyAPIError: `urls` is empty, or an option is refused.
        """
        from ...text.passages import extracted_as  # which cuts pages as this package does, and so imports it

        chosen = check_extract_options(options or EXTRACT_DEFAULTS, language=self._language)
        texts = [url.strip() for url in as_list(urls) or () if isinstance(url, str)]
        stored = await asyncio.to_thread(self._stored, texts)
        allowed = frozenset[str]() if self._fetcher is None else self._fetcher.allowed_hosts
        asked = sort_urls(urls, language=self._language, allowed_hosts=allowed, at_hand=stored)
        pages = stored | {page.url: page for page in await self._fetched([u for u in asked.valid if u not in stored])}
        answers = [pages[url] for url in asked.valid]
        failed = asked.all_failed(page for page in answers if isinstance(page, FailedPage))
        return ExtractResults(
            results=tuple(extracted_as(page, chosen) for page in answers if isinstance(page, ExtractedPage)),
            failed_results=tuple(page if page.url in stored else self._explained(page) for page in failed),
            provider=_NAME,
        )

    async def context(
        self, query: str, *, max_tokens: int | None = None, filters: SearchFilters | None = None
    ) -> SearchContext:
        """The best passages about `query`, at most `max_tokens` tokens of them.

        Raises:
            TavilyAPIError: an argument is refused, or there is no index that could be searched.
        """
        check_query(query, language=self._language)
        check_max_tokens(max_tokens, language=self._language)
        allowed = self._checked_filters(filters)
        wanted = (max_tokens or DEFAULT_MAX_TOKENS) // _TOKENS_OF_A_PASSAGE
        limit = min(max(wanted, 3), _MOST_PASSAGES)
        found = await self._found(query, limit=limit, passages=True, filters=allowed)
        return pack_context(query, [_passage(one) for one in found], max_tokens, provider=_NAME)

    async def crawl(self, url: str, *, options: CrawlOptions | None = None) -> CrawlResults:
        """The text of the pages of a site, read now and as its robots.txt allows; nothing is added to the index.

        Both extraction depths give whole pages. Other sites are read only with `allow_external`.

        Raises:
            TavilyAPIError: `url` or an option is refused; VALIDATION_ERROR.
        """
        from ...crawl.crawler import crawl_site

        chosen = self._checked_crawl(options)
        return await crawl_site(url, chosen, fetcher=self._fetcher, language=self._language, provider=_NAME)

    async def map(self, url: str, *, options: CrawlOptions | None = None) -> MapResults:
        """The addresses of the pages of a site, found by its links as its robots.txt allows.

        Raises:
            TavilyAPIError: `url` or an option is refused; VALIDATION_ERROR.
        """
        from ...crawl.crawler import map_site

        chosen = self._checked_crawl(options)
        return await map_site(url, chosen, fetcher=self._fetcher, language=self._language, provider=_NAME)

    def _checked_crawl(self, options: CrawlOptions | None) -> CrawlOptions:
        from ...crawl.options import CRAWL_DEFAULTS, refuse_crawl_options

        chosen = options or CRAWL_DEFAULTS
        names = ("instructions", "categories", "chunks_per_source")
        refuse_crawl_options(chosen, names, provider="The local provider", language=self._language)
        return chosen

    def _checked_filters(self, filters: SearchFilters | None) -> SearchFilters:
        wanted = filters or NO_FILTERS
        refuse_unsupported(
            wanted, self.supported_filters, provider="The local index", instead="tavily", language=self._language
        )
        return check_filters(**wanted.given(), language=self._language)

    def _with_copies(self, hit: SearchHit, copies: Sequence[str]) -> SearchHit:
        """`hit` with the other places of the same content."""
        if not copies:
            return hit
        return replace(hit, content=self._say("copies", content=hit.content, urls=", ".join(copies)))

    async def aclose(self) -> None:
        """Closes the files; may be called twice, and a later search opens them again."""
        await asyncio.to_thread(self.index.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def _found(self, query: str, *, limit: int, passages: bool, filters: SearchFilters) -> list[Found]:
        def search() -> tuple[list[Found], bool]:
            found = self.index.search(query, limit=limit, passages=passages, filters=filters, semantic=self._semantic)
            return found, bool(found) or self.index.totals().documents > 0

        try:
            found, holds_documents = await asyncio.to_thread(search)
        except NoIndex as error:
            raise self._failed(self._say("missing", path=error.path)) from error
        except WebIndexError as error:
            raise self._failed(str(error)) from error
        if not holds_documents:
            raise self._failed(self._say("empty", path=str(self.index.path)))
        return found

    async def _fetched(self, urls: Sequence[str]) -> list[ExtractedPage | FailedPage]:
        if not urls:
            return []
        from ..extract_urls import read_pages

        return await read_pages(urls, fetcher=self._fetcher, language=self._language)

    def _explained(self, failed: FailedPage) -> FailedPage:
        """`failed`, where it is a file with the reason that helps."""
        is_file = failed.url.lower().startswith(_FILE)
        return replace(failed, error=self._say("not_indexed")) if is_file else failed

    def _stored(self, urls: Sequence[str]) -> dict[str, ExtractedPage | FailedPage]:
        """The pages that the index has; none if there is no index."""
        try:
            documents = {url: self.index.document(url) or self.index.document(encoded_url(url)) for url in urls}
        except NoIndex:
            return {}
        except WebIndexError as error:
            raise self._failed(str(error)) from error
        return {
            url: ExtractedPage(url=url, raw_content=document.text, title=document.title or None)
            for url, document in documents.items()
            if document is not None
        }

    def _failed(self, message: str) -> TavilyAPIError:
        return TavilyAPIError(message, ErrorType.API_ERROR)

    def _say(self, key: str, **values: object) -> Said:
        return said(*_SAYINGS[key], self._language, **values)


def _summary(found: Found) -> SearchHit:
    text = _HEADINGS.sub("", found.body) or found.body  # headings tell little without their marks and lines
    content = snippet(text, found.terms)
    return SearchHit(title=found.title, url=found.url, content=content, score=found.score, published_date=found.day)


def _passage(found: Found) -> SearchHit:
    trail = found.heading if found.heading.startswith(found.title) else f"{found.title} › {found.heading}"
    title = trail.removesuffix(" › ") or found.title
    content = found.body.strip()
    return SearchHit(title=title, url=found.url, content=content, score=found.score, published_date=found.day)


def _answer(found: Sequence[Found]) -> str | None:
    return best_sentence(found[0].body, found[0].terms) if found and found[0].has_every_word else None


def _semantic(embed: Embed | None) -> SemanticRanker:
    from ._semantic import SemanticRanker  # only a hybrid provider pays for this import

    return SemanticRanker(embed)
