"""`hikidashi web`: search the web or local documents, read pages, build context for prompts, and serve all of it."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from hikidashi.providers import DEFAULT_RANKER, SEARCH_PROVIDERS, Ranker, names_taking
from hikidashi.texts import Language, texts

from ..shared_options import with_shared_options

if TYPE_CHECKING:
    from hikidashi.web.request import CrawlOptions

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
    include_domains: Annotated[
        list[str] | None,
        typer.Option(
            "--include-domain", metavar="DOMAIN", help="Only pages of this domain; may be repeated.", show_default=False
        ),
    ] = None
    exclude_domains: Annotated[
        list[str] | None,
        typer.Option(
            "--exclude-domain", metavar="DOMAIN", help="No pages of this domain; may be repeated.", show_default=False
        ),
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
    chunks_per_source: Annotated[
        int | None,
        typer.Option("--chunks", help="How many passages of each page, 1 to 5; with --query.", show_default="3"),
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
    from hikidashi.web.request import CRAWL_DEFAULTS, MOST_BREADTH, CrawlOptions

    most = CRAWL_DEFAULTS.limit if limit is None else limit
    return CrawlOptions(max_depth=depth, max_breadth=MOST_BREADTH, limit=most)


_EXAMPLES = """\b
Examples:
  hikidashi web index docs/ notes/               once: your own documents
  hikidashi web search "how to install"          Tavily with a key, else these
  hikidashi web context 祝日 --max-tokens 1000   ready for a prompt
  hikidashi web serve                            for every Tavily client
"""

_SEARCH_EXAMPLES = """\b
Examples:
  hikidashi web search "python 3.14 release"
  hikidashi web search 日本の祝日 --lang ja --max-results 3
  hikidashi web search tools --provider local --depth advanced
  hikidashi web search rates --topic news --time-range week
  hikidashi web search rates --include-domain boj.or.jp
  hikidashi web search tools --json | jq -r '.results[].url'
"""

_EXTRACT_EXAMPLES = """\b
Examples:
  hikidashi web extract https://example.com/
  hikidashi web extract https://example.com/ --query "how to return"
  hikidashi web extract https://a.example https://b.example --json
"""

_CONTEXT_EXAMPLES = """\b
Examples:
  hikidashi web context "how does tool search work"
  hikidashi web context 検索の仕組み --max-tokens 1000 | pbcopy
"""

_INDEX_EXAMPLES = """\b
Examples:
  hikidashi web index docs/ README.md
  hikidashi web index https://example.com/sitemap.xml
  hikidashi web index https://example.com/docs/ --depth 2 --limit 100
  hikidashi web index manuals/ --index team.db --watch
"""

_LIST_EXAMPLES = """\b
Examples:
  hikidashi web list
  hikidashi web list docs/ --json | jq -r '.documents[].url'
"""

_REMOVE_EXAMPLES = """\b
Examples:
  hikidashi web remove docs/old.md
  hikidashi web remove https://example.com/
"""

_STATS_EXAMPLES = """\b
Examples:
  hikidashi web stats
  hikidashi web stats --index team.db --json
"""

_SERVE_EXAMPLES = """\b
Examples:
  hikidashi web serve                           your own documents
  hikidashi web serve --provider tavily         Tavily, with a cache in front
  hikidashi web serve --host 0.0.0.0 --api-key "$KEY"
"""

_MCP_EXAMPLES = """\b
Examples:
  hikidashi web mcp
  claude mcp add web -- hikidashi web mcp --provider local
"""

web = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@web.callback(epilog=_EXAMPLES)
def _web() -> None:  # pyright: ignore[reportUnusedFunction]
    """Search the web or your own documents, read pages, and collect context for a prompt.

    Tavily is used if TAVILY_API_KEY is set, otherwise the index of your own documents. Without a key,
    nothing is sent to Tavily unless you pass --keyless.
    """


@web.command(epilog=_SEARCH_EXAMPLES, short_help="Show the best hits for a query.")
@with_shared_options
def search(
    query: Annotated[str, typer.Argument(help="What to look for, up to 1,000 characters.")],
    *,
    max_results: Annotated[int, typer.Option("--max-results", "-n", help="How many hits, 1 to 20.")] = 5,
    depth: Annotated[Literal["basic", "advanced"], typer.Option(help="Summaries of pages, or passages.")] = "basic",
    answer: Annotated[bool, typer.Option("--answer", help="Ask for a short answer too.")] = False,
    wanted: FilterOptions,
    asked: ProviderOptions,
    as_json: Json = False,
) -> None:
    """Show the best hits for a query, as Markdown or JSON.

    Exit code 1 means that nothing was found, or that the search failed: the last line says why.
    """
    from .ask import print_answer

    options: dict[str, Any] = {"search_depth": depth, "max_results": max_results, "include_answer": answer}
    print_answer(asked, lambda provider: provider.search(query, **options, **asdict(wanted)), as_json=as_json)


@web.command(epilog=_EXTRACT_EXAMPLES, short_help="Show the text of pages.")
@with_shared_options
def extract(
    urls: Annotated[list[str], typer.Argument(metavar="URL", help="Up to 20 addresses.")],
    *,
    reading: ReadingOptions,
    asked: ProviderOptions,
    as_json: Json = False,
) -> None:
    """Show the text of pages, and which could not be read.

    Private addresses are refused. Exit code 1 means that no page could be read.
    """
    from hikidashi.web.request import ExtractOptions

    from .ask import print_answer

    options = ExtractOptions(**asdict(reading))
    print_answer(asked, lambda provider: provider.extract(urls, options=options), as_json=as_json)


@web.command(epilog=_CONTEXT_EXAMPLES, short_help="Collect passages about a query for a prompt.")
@with_shared_options
def context(
    query: Annotated[str, typer.Argument(help="What to look for, up to 1,000 characters.")],
    *,
    max_tokens: Annotated[
        int | None, typer.Option("--max-tokens", help="About how many tokens at most.", show_default="4000")
    ] = None,
    wanted: FilterOptions,
    asked: ProviderOptions,
    as_json: Json = False,
) -> None:
    """Show passages about a query, best first and with their sources, within --max-tokens.

    Exit code 1 means that nothing was found, or that the search failed.
    """
    from .ask import print_answer

    options: dict[str, Any] = asdict(wanted)
    print_answer(asked, lambda provider: provider.context(query, max_tokens=max_tokens, **options), as_json=as_json)


@web.command(epilog=_INDEX_EXAMPLES, short_help="Add documents to the local index.")
def index(
    sources: Annotated[list[str], typer.Argument(metavar="PATH_OR_URL", help="Folders, files, pages or sitemaps.")],
    *,
    depth: Annotated[
        int, typer.Option(help="How deep to follow links, up to 5.", min=0, max=5, show_default="none")
    ] = 0,
    limit: Annotated[
        int | None, typer.Option(help="The most pages of a site.", min=1, max=10_000, show_default="50")
    ] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Update the index with each change of the files.")] = False,
    index: Index = None,
    lang: Lang = None,
    as_json: Json = False,
) -> None:
    """Add documents to the local index: Markdown, HTML, text and PDF, or pages and sitemaps.

    Only changed documents are read again, and files deleted from a folder are removed. It can be stopped at any
    time. With --depth, links within the site are followed, as its robots.txt allows. With --watch, files are checked
    every second, pages only once; Ctrl-C ends it. Exit code 1 means that something could not be read: each such
    line says why.
    """
    from .local_index import run_index

    crawl = crawl_of(depth, limit)
    if not run_index(sources, index, language=_language(lang), as_json=as_json, crawl=crawl, watch=watch):
        raise typer.Exit(1)


@web.command("list", epilog=_LIST_EXAMPLES, short_help="List the documents of the local index.")
def list_(
    address: Annotated[
        str | None, typer.Argument(metavar="PATH_OR_URL", help="Only this document, and those below it.")
    ] = None,
    *,
    index: Index = None,
    lang: Lang = None,
    as_json: Json = False,
) -> None:
    """List the documents of the local index: day, passages, title and address.

    The day is that of publication, of the file, or of indexing, whichever is known first. Exit code 1 means that
    there are none.
    """
    from .local_index import list_documents

    if not list_documents(address, index, language=_language(lang), as_json=as_json):
        raise typer.Exit(1)


@web.command(epilog=_REMOVE_EXAMPLES, short_help="Remove documents from the local index.")
def remove(
    addresses: Annotated[list[str], typer.Argument(metavar="PATH_OR_URL", help="Documents, folders or sites.")],
    *,
    index: Index = None,
    lang: Lang = None,
    as_json: Json = False,
) -> None:
    """Remove documents from the local index; the files themselves stay.

    A folder or site removes everything below it. Exit code 1 means that something was not in the index.
    """
    from .local_index import remove_documents

    if not remove_documents(addresses, index, language=_language(lang), as_json=as_json):
        raise typer.Exit(1)


@web.command(epilog=_STATS_EXAMPLES, short_help="Show statistics of the local index.")
def stats(*, index: Index = None, lang: Lang = None, as_json: Json = False) -> None:
    """Show the size of the local index, and how many documents and passages it has, by kind and day.

    Exit code 1 means that there is no index, or that it cannot be read.
    """
    from .local_index import show_stats

    show_stats(index, language=_language(lang), as_json=as_json)


@web.command(epilog=_SERVE_EXAMPLES, short_help="Serve a provider to every Tavily client.")
@with_shared_options
def serve(
    *,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port; 0 takes a free one.", min=0, max=65535)] = 8765,
    api_key: Annotated[
        str | None,
        typer.Option(
            metavar="KEY", envvar="HIKIDASHI_WEB_API_KEY", help="The key clients must send.", show_default="any will do"
        ),
    ] = None,
    asked: ServerOptions,
) -> None:
    """Serve a provider under Tavily's HTTP API, for clients that take a base URL.

    tavily-python, langchain-tavily and the tavily tool of pydantic-ai work unchanged. Ctrl-C ends it.
    """
    from .ask import choice_of, run_server

    run_server(choice_of(asked), host=host, port=port, api_key=api_key)


@web.command(epilog=_MCP_EXAMPLES, short_help="Serve the web tools to an MCP client on stdio.")
@with_shared_options
def mcp(*, asked: ProviderOptions) -> None:
    """Serve tavily_search, tavily_extract and tavily_context to an MCP client on stdin and stdout.

    Text from the web is fenced, so that the model can tell it from instructions.
    """
    import asyncio
    import signal

    from hikidashi.web.mcp import serve_stdio

    from .ask import choice_of

    if sys.stdin is None or sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison]
        raise typer.BadParameter("stdin or stdout is closed. An MCP client starts this command with both open.")
    choice = choice_of(asked)
    if sys.stdin.isatty():
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # the thread that waits for a line cannot be interrupted
        typer.echo(texts("cli_web", choice.language)["speaking_mcp"], err=True)
    asyncio.run(serve_stdio(choice.open(), language=choice.language))


def _language(lang: Language | None) -> Language:
    from ..output import language_of_environment  # brings rich, which `--help` does without

    return lang or language_of_environment()
