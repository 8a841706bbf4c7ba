"""`hikidashi web search`, `extract`, `context` and `serve`: what a provider answers, printed or served."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import threading
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from types import FrameType
from typing import TypeVar

import typer
from rich.console import Console
from rich.text import Text

from hikidashi.common.files import cache_folder
from hikidashi.common.urls import is_loopback
from hikidashi.errors import ErrorType, TavilyAPIError, WebIndexError
from hikidashi.providers import DEFAULT_RANKER, SEARCH_PROVIDERS, Option, names_taking
from hikidashi.texts import in_language, texts
from hikidashi.web.answers import format_context, format_extract, format_search
from hikidashi.web.provider import SearchProvider, errors_in
from hikidashi.web.providers.choose import choose_provider, provider_name
from hikidashi.web.request import ExtractOptions, FilterArguments, SearchDepth
from hikidashi.web.results import ExtractResults, SearchContext, SearchResults
from hikidashi.web.server import SearchServer, Served

from ..output import Language, language_of_environment, print_error, print_json, print_text, stderr, stdout
from . import FilterOptions, ProviderOptions, ReadingOptions

__all__ = ["ChosenProvider", "choice_of", "context", "extract", "run_server", "search", "shown"]


@dataclass(frozen=True, kw_only=True)
class ChosenProvider:
    """The provider of a command, its options, and the language of the output."""

    name: str
    asked: ProviderOptions
    language: Language

    def open(self) -> SearchProvider:
        """A new provider; the caller closes it."""
        from hikidashi.web.providers.cache import ResultCache

        kept = self.asked.cache and "cache" in SEARCH_PROVIDERS[self.name].options
        return choose_provider(
            self.name,
            base_url=self.asked.base_url,
            index=self.asked.index,
            ranker=self.asked.ranker,
            keyless=self.asked.keyless,
            cache=ResultCache(cache_folder() / "web-cache.db") if kept else None,
            timeout=self.asked.timeout,
            language=self.language,
        )


def choice_of(asked: ProviderOptions) -> ChosenProvider:
    """The choice that the options describe.

    Raises:
        typer.BadParameter: options contradict each other, or the address of the provider is missing.
        TavilyAPIError: the provider needs a key, and there is none.
    """
    named = asked.provider or (names_taking("index")[0] if asked.index is not None else None)
    row = SEARCH_PROVIDERS[provider_name(named)]
    if asked.index is not None and "index" not in row.options:
        raise typer.BadParameter(f"--index belongs to {_providers('index')}, not {row.name}.")
    if asked.ranker != DEFAULT_RANKER and "ranker" not in row.options:
        raise typer.BadParameter(f"--ranker belongs to {_providers('ranker')}, not {row.name}.")
    if asked.keyless and (named is None or "keyless" not in row.options):
        raise typer.BadParameter(f"--keyless belongs to {_providers('keyless')}.")
    if asked.base_url and "base_url" not in row.options:
        raise typer.BadParameter(f"--base-url needs {_providers('base_url')}.")
    if row.address_variable and not (asked.base_url or row.address_in(os.environ)):
        raise typer.BadParameter(f"--provider {row.name} needs --base-url URL, or {row.address_variable}.")
    if row.key_variable and not (asked.keyless or row.key_in(os.environ)):
        raise TavilyAPIError(in_language(row.missing_key("command"), "en"), ErrorType.AUTH_ERROR)
    return ChosenProvider(name=row.name, asked=asked, language=asked.lang or language_of_environment())


def _providers(option: Option) -> str:
    """The values of --provider that go with `option`."""
    return " or ".join(f"--provider {name}" for name in names_taking(option))


T = TypeVar("T")


def search(
    choice: ChosenProvider,
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
        lambda provider: provider.search(
            query, search_depth=depth, max_results=max_results, include_answer=answer, **_filters(wanted)
        ),
    )
    if as_json:
        print_json(asdict(found))
    else:
        text = format_search(found, language=choice.language)
        _print_answer(found, f"{text}\n\n> {found.answer}" if found.answer else text, choice)
    return bool(found.results)


def extract(choice: ChosenProvider, urls: Sequence[str], reading: ReadingOptions, *, as_json: bool) -> bool:
    """Print the text of `urls`; whether any could be read."""
    options = ExtractOptions(
        depth=reading.depth, format=reading.format, query=reading.query, chunks_per_source=reading.chunks
    )
    pages = _asked(choice, lambda provider: provider.extract(urls, options=options))
    if as_json:
        print_json(asdict(pages))
    else:
        _print_answer(pages, format_extract(pages, language=choice.language), choice)
    return bool(pages.results)


def context(
    choice: ChosenProvider, query: str, wanted: FilterOptions, *, max_tokens: int | None, as_json: bool
) -> bool:
    """Print passages about `query`; whether there are any."""
    packed = _asked(choice, lambda provider: provider.context(query, max_tokens=max_tokens, **_filters(wanted)))
    if as_json:
        print_json(asdict(packed))
    else:
        _print_answer(packed, format_context(packed, language=choice.language), choice)
    return bool(packed.text)


def _filters(wanted: FilterOptions) -> FilterArguments:
    return {
        "topic": wanted.topic,
        "time_range": wanted.time_range,
        "start_date": wanted.start_date,
        "end_date": wanted.end_date,
        "include_domains": wanted.include_domain,
        "exclude_domains": wanted.exclude_domain,
        "country": wanted.country,
    }


def _asked(choice: ChosenProvider, question: Callable[[SearchProvider], Awaitable[T]]) -> T:
    async def ask() -> T:
        provider = choice.open()
        try:
            return await question(provider)
        finally:
            await provider.aclose()

    with errors_in(choice.language):
        return asyncio.run(ask())


# Text from the web is untrusted: control characters could move the cursor, or reverse the line.
_UNFIT = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_STYLES = (("### ", "bold cyan"), ("## ", "bold"), ("URL: ", "blue"), ("> ", "italic"), ("---", "dim"))


def print_markdown(text: str) -> None:
    """Print `text`: with colours on a terminal, unchanged elsewhere."""
    console = stdout()
    if not console.is_terminal:
        print(text)  # noqa: T201 - this is the output
        return
    for line in shown(text).split("\n"):
        style = next((style for start, style in _STYLES if line.startswith(start)), "")
        print_text(console, Text(line, style))


def _print_answer(answer: SearchResults | ExtractResults | SearchContext, text: str, choice: ChosenProvider) -> None:
    """Print `text`, and on a terminal the provider and the cost."""
    print_markdown(text)
    console = stderr()
    if not (console.is_terminal and stdout().is_terminal):
        return
    words = texts("cli_web", choice.language)
    parts = [words["answered_cached" if answer.cached else "answered"].format(provider=answer.provider)]
    if isinstance(answer, SearchContext):
        parts.append(words["tokens"].format(count=f"{answer.tokens:,}"))
    if answer.credits:
        parts.append(words["credits.one" if answer.credits == 1 else "credits"].format(count=f"{answer.credits:g}"))
    console.print(Text(f"\n{' · '.join(parts)}", "dim"))


def shown(text: str) -> str:
    """`text` without control characters other than newlines."""
    return _UNFIT.sub("", text)


def run_server(choice: ChosenProvider, *, host: str, port: int, api_key: str | None) -> None:
    """Serve until SIGINT or SIGTERM; exit code 1 if the port cannot be used."""
    if not is_loopback(host) and not api_key:
        raise typer.BadParameter(f"--host {host} lets other machines in: give --api-key KEY, which they must send.")
    log = stderr()
    server = SearchServer(
        choice.open(), host=host, port=port, api_key=api_key, on_served=lambda served: _log_request(log, served)
    )
    _end_like_ctrl_c(signal.SIGTERM)
    try:
        with server:
            stdout().print(Text.assemble(f"Serving {choice.name} on ", (server.url, "bold green")), soft_wrap=True)
            if choice.name == "local":
                _print_totals(log, choice)
            log.print(Text(_how(server.url, api_key, choice.language), "dim"))
            threading.Event().wait()
    except KeyboardInterrupt:
        log.print(Text(texts("cli_web", choice.language)["ended"], "dim"))
    except OSError as error:
        print_error(OSError(error.strerror or str(error)))
        raise typer.Exit(1) from error


def _print_totals(log: Console, choice: ChosenProvider) -> None:
    """Print how many documents there are; a missing index may be created later."""
    from hikidashi.web.local import LocalIndex

    index = LocalIndex(choice.asked.index)
    try:
        totals = index.totals()
    except WebIndexError as error:
        log.print(Text(str(error), "yellow"))
    else:
        held = texts("cli_web", choice.language)["holds"].format(count=f"{totals.documents:,}")
        log.print(Text(held, "dim"))
    finally:
        index.close()


def _how(url: str, api_key: str | None, language: Language) -> str:
    """The instructions for clients, without the key."""
    header = " \\\n       -H 'authorization: Bearer YOUR-KEY'" if api_key else ""
    return texts("cli_web", language)["how"].format(url=url, key="YOUR-KEY" if api_key else "any-key", header=header)


def _log_request(log: Console, served: Served) -> None:
    style = "dim" if served.status < 400 else "yellow" if served.status < 500 else "red"
    log.print(Text(f"{served.method} {served.path} {served.status} {served.seconds * 1000:.0f} ms", style))


def _end_like_ctrl_c(number: signal.Signals) -> None:
    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    signal.signal(number, interrupt)
