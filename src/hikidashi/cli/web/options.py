"""Options that the `web` commands share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hikidashi.providers import DEFAULT_RANKER, SEARCH_PROVIDERS, Ranker, names_taking
from hikidashi.texts import Language

if TYPE_CHECKING:
    from hikidashi.web.crawl_options import CrawlOptions

__all__ = ["FilterOptions", "Index", "Json", "Lang", "ProviderOptions", "ReadingOptions", "ServerOptions", "crawl_of"]

Index = Annotated[
    Path | None,
    typer.Option("--index", metavar="FILE", help="The local index.", show_default="in your data folder"),
]
Lang = Annotated[Language | None, typer.Option(help="Language of the output.", show_default="from LANG")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

if TYPE_CHECKING:
    _Provider = str
else:
    _Provider = Literal[tuple(SEARCH_PROVIDERS)]  # typer lists the names in the help, and refuses others

_KEYED = next(row for row in SEARCH_PROVIDERS.values() if row.key_variable)
_FREE = next(row for row in SEARCH_PROVIDERS.values() if not row.needs_setup)
_ADDRESSED = " or ".join(SEARCH_PROVIDERS[name].title for name in names_taking("base_url"))


@dataclass(frozen=True, kw_only=True)
class ProviderOptions:
    """The search provider and its options."""

    provider: Annotated[
        _Provider | None,
        typer.Option(
            help="The search provider.",
            show_default=f"{_KEYED.name} if {_KEYED.key_variable} is set, else {_FREE.name}",
        ),
    ] = None
    base_url: Annotated[
        str | None, typer.Option(metavar="URL", help=f"The address of {_ADDRESSED}.", show_default=False)
    ] = None
    index: Index = None
    ranker: Annotated[Ranker, typer.Option(help="How the local index ranks: by words, or by meaning too.")] = (
        DEFAULT_RANKER
    )
    keyless: Annotated[bool, typer.Option("--keyless", help="Use Tavily without a key (with --provider tavily).")] = (
        False
    )
    cache: Annotated[bool, typer.Option("--cache/--no-cache", help="Cache answers of Tavily for an hour.")] = True
    timeout: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Timeout of each attempt.", show_default="the provider's", min=0.1),
    ] = None
    lang: Lang = None


@dataclass(frozen=True, kw_only=True)
class ServerOptions(ProviderOptions):
    """The same for `web serve`, which serves the local index by default."""

    provider: Annotated[_Provider, typer.Option(help="The search provider.")] = _FREE.name


@dataclass(frozen=True, kw_only=True)
class FilterOptions:
    """Which pages may be found; a provider refuses those it does not support."""

    topic: Annotated[
        Literal["general", "news", "finance"] | None, typer.Option(help="The kind of pages.", show_default=False)
    ] = None
    time_range: Annotated[
        Literal["day", "week", "month", "year"] | None,
        typer.Option(help="Only pages of the last day, week, month or year.", show_default=False),
    ] = None
    start_date: Annotated[
        str | None, typer.Option(metavar="YYYY-MM-DD", help="Only pages of this day or later.", show_default=False)
    ] = None
    end_date: Annotated[
        str | None, typer.Option(metavar="YYYY-MM-DD", help="Only pages of this day or earlier.", show_default=False)
    ] = None
    include_domain: Annotated[
        list[str] | None,
        typer.Option(metavar="DOMAIN", help="Only pages of this domain; may be repeated.", show_default=False),
    ] = None
    exclude_domain: Annotated[
        list[str] | None,
        typer.Option(metavar="DOMAIN", help="No pages of this domain; may be repeated.", show_default=False),
    ] = None
    country: Annotated[
        str | None, typer.Option(metavar="NAME", help="Prefer pages of this country.", show_default=False)
    ] = None


@dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    """How much of a page is shown, and in which format."""

    depth: Annotated[Literal["basic", "advanced"], typer.Option(help="How thoroughly pages are extracted.")] = "basic"
    format: Annotated[Literal["markdown", "text"], typer.Option(help="The format of the text.")] = "markdown"
    query: Annotated[
        str | None,
        typer.Option(metavar="QUESTION", help="Only the passages relevant to it.", show_default="whole pages"),
    ] = None
    chunks: Annotated[
        int | None,
        typer.Option(help="How many passages of each page, 1 to 5; with --query.", show_default="3"),
    ] = None


def crawl_of(depth: int, limit: int | None) -> CrawlOptions | None:
    """How far links are followed; None if they are not.

    Raises:
        typer.BadParameter: a limit without a depth.
    """
    if depth == 0:
        if limit is not None:
            raise typer.BadParameter("--limit needs --depth: without it no links are followed.")
        return None
    from hikidashi.web.crawl_options import CRAWL_DEFAULTS, MOST_BREADTH, CrawlOptions

    most = CRAWL_DEFAULTS.limit if limit is None else limit
    return CrawlOptions(max_depth=depth, max_breadth=MOST_BREADTH, limit=most)
