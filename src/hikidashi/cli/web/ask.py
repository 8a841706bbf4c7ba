"""`hikidashi web search`, `extract`, `context` and `serve`: what a provider answers, printed or served."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Awaitable, Callable
from contextlib import closing
from dataclasses import asdict, dataclass
from types import FrameType
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.text import Text

from hikidashi.common.files import cache_folder
from hikidashi.common.urls import is_loopback
from hikidashi.errors import ErrorType, TavilyAPIError, WebIndexError
from hikidashi.providers import DEFAULT_RANKER, SEARCH_PROVIDERS, Option, names_taking
from hikidashi.texts import in_language, texts
from hikidashi.web.answers import format_results
from hikidashi.web.provider import SearchProvider, errors_in
from hikidashi.web.providers.choose import choose_provider, provider_name
from hikidashi.web.results import ExtractResults, SearchContext, SearchResults

from ..output import Language, clean_lines, language_of_environment, print_error, print_json, print_text, stderr, stdout
from . import ProviderOptions

if TYPE_CHECKING:
    from hikidashi.web.server import Served


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


Answer = SearchResults | ExtractResults | SearchContext


def print_answer(
    asked: ProviderOptions, question: Callable[[SearchProvider], Awaitable[Answer]], *, as_json: bool
) -> None:
    """Print what the provider answers; exit code 1 if that is nothing."""
    choice = choice_of(asked)

    async def ask() -> Answer:
        async with choice.open() as provider:
            return await question(provider)

    with errors_in(choice.language):
        answer = asyncio.run(ask())
    if as_json:
        print_json(asdict(answer))
    else:
        print_markdown(_markdown(answer, choice.language))
        _print_cost(answer, choice.language)
    if not (answer.text if isinstance(answer, SearchContext) else answer.results):
        raise typer.Exit(1)


def _markdown(answer: Answer, language: Language) -> str:
    """`answer` in the format of the tools, and a short answer to a search below it."""
    text = format_results(answer, language=language)
    return f"{text}\n\n> {answer.answer}" if isinstance(answer, SearchResults) and answer.answer else text


_STYLES = (("### ", "bold cyan"), ("## ", "bold"), ("URL: ", "blue"), ("> ", "italic"), ("---", "dim"))


def print_markdown(text: str) -> None:
    """Print `text`: with colours on a terminal, unchanged elsewhere."""
    console = stdout()
    if not console.is_terminal:
        print(text)  # noqa: T201 - this is the output
        return
    for line in clean_lines(text).split("\n"):
        style = next((style for start, style in _STYLES if line.startswith(start)), "")
        print_text(console, Text(line, style))


def _print_cost(answer: Answer, language: Language) -> None:
    """Print on a terminal which provider answered, and the cost."""
    console = stderr()
    if not (console.is_terminal and stdout().is_terminal):
        return
    words = texts("cli_web", language)
    parts = [words["answered_cached" if answer.cached else "answered"].format(provider=answer.provider)]
    if isinstance(answer, SearchContext):
        parts.append(words["tokens"].format(count=f"{answer.tokens:,}"))
    if answer.credits:
        parts.append(words["credits.one" if answer.credits == 1 else "credits"].format(count=f"{answer.credits:g}"))
    console.print(Text(f"\n{' · '.join(parts)}", "dim"))


def run_server(choice: ChosenProvider, *, host: str, port: int, api_key: str | None) -> None:
    """Serve until SIGINT or SIGTERM; exit code 1 if the port cannot be used."""
    from hikidashi.web.server import SearchServer  # brings uvicorn and starlette

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

    with closing(LocalIndex(choice.asked.index)) as index:
        try:
            documents = index.totals().documents
        except WebIndexError as error:
            log.print(Text(str(error), "yellow"))
        else:
            log.print(Text(texts("cli_web", choice.language)["holds"].format(count=f"{documents:,}"), "dim"))


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
