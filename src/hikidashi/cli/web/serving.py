"""`hikidashi web serve`: serve a provider under Tavily's API until Ctrl-C."""

from __future__ import annotations

import signal
import threading
from types import FrameType

import typer
from rich.console import Console
from rich.text import Text

from hikidashi.common.urls import is_loopback
from hikidashi.errors import WebIndexError
from hikidashi.web.tavily_api.server import SearchServer, Served

from ..output import Language, print_error, stderr, stdout
from .choice import Choice

__all__ = ["run_server"]

_HOW: dict[Language, str] = {
    "en": """
Point any Tavily client at it:

  TavilyClient({key!r}, api_base_url={url!r})

  curl {url}/search -H 'content-type: application/json'{header} \\
       -d '{{"query": "…"}}'

Ctrl-C ends it.
""",
    "ja": """
Tavily のクライアントから次のように使えます:

  TavilyClient({key!r}, api_base_url={url!r})

  curl {url}/search -H 'content-type: application/json'{header} \\
       -d '{{"query": "…"}}'

Ctrl-C で終了します。
""",
}


def run_server(choice: Choice, *, host: str, port: int, api_key: str | None) -> None:
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
        log.print(Text("終了しました。" if choice.language == "ja" else "Ended.", "dim"))
    except OSError as error:
        print_error(OSError(error.strerror or str(error)))
        raise typer.Exit(1) from error


def _print_totals(log: Console, choice: Choice) -> None:
    """Print how many documents there are; a missing index may be created later."""
    from hikidashi.web.local import LocalIndex

    index = LocalIndex(choice.index)
    try:
        totals = index.totals()
    except WebIndexError as error:
        log.print(Text(str(error), "yellow"))
    else:
        count = f"{totals.documents:,}"
        log.print(Text(f"文書 {count} 件" if choice.language == "ja" else f"{count} documents", "dim"))
    finally:
        index.close()


def _how(url: str, api_key: str | None, language: Language) -> str:
    """The instructions for clients, without the key."""
    header = " \\\n       -H 'authorization: Bearer YOUR-KEY'" if api_key else ""
    return _HOW[language].format(url=url, key="YOUR-KEY" if api_key else "any-key", header=header)


def _log_request(log: Console, served: Served) -> None:
    style = "dim" if served.status < 400 else "yellow" if served.status < 500 else "red"
    log.print(Text(f"{served.method} {served.path} {served.status} {served.seconds * 1000:.0f} ms", style))


def _end_like_ctrl_c(number: signal.Signals) -> None:
    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    signal.signal(number, interrupt)
