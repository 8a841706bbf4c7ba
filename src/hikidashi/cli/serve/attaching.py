"""The short way of `hikidashi serve` on stdio to a daemon that runs: without typer, which is most of its start.

Whatever is not certain to succeed is left to the command line of typer, which then says what is wrong: help, other
commands, options that are unknown or malformed, servers that were never approved, and a daemon that has to be started.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

__all__ = ["attach_quickly", "read_arguments"]

_INTERRUPTED = 130  # the exit code of typer
_FLAGS = ("--promote", "--yes")
_VALUES: dict[str, tuple[str, ...] | None] = {
    "--names": ("prefixed", "plain"),
    "--search": ("auto", "on", "off"),
    "--record": None,
    "--client-name": None,
}
_LISTS = ("--config", "--pin")
_PATHS = ("--config", "--record")


def attach_quickly(argv: Sequence[str]) -> int | None:
    """The exit code of `hikidashi ARGV` when the client has closed its input; None if typer has to run it."""
    given = read_arguments(argv)
    # A terminal shows the progress of the servers; Windows has no sockets of this kind.
    if given is None or sys.platform == "win32" or any(map(_is_terminal, (sys.stdin, sys.stderr))):
        return None
    if any(name.startswith("_") and name.endswith("_COMPLETE") for name in os.environ):  # of a shell
        return None

    from hikidashi.common.files import state_folder
    from hikidashi.gateway.approval import Approvals
    from hikidashi.gateway.config import read_setup

    from ...gateway.shim import Shim, connect
    from .files import config_files
    from .settings import ServeArguments, ServeSettings

    try:
        given["config"] = config_files(given["config"])
        args = ServeArguments(**given)
        settings = ServeSettings.of(args, read_setup(args.config))
        if Approvals(state_folder() / "gateway" / "approved.json").missing(settings.servers):
            return None
        connection = connect(settings.socket())
    except Exception:  # the full command line says what is wrong
        return None

    def again() -> Any:
        from .run import attached_again

        return attached_again(args)

    try:
        return Shim(connection, again).run()
    except KeyboardInterrupt:
        return _INTERRUPTED


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is None or stream.isatty()


def read_arguments(argv: Sequence[str]) -> dict[str, Any] | None:
    """The `ServeArguments` of a plain `serve` on stdio, by name; None if `argv` has anything else in it."""
    if not argv or argv[0] != "serve":
        return None
    given: dict[str, Any] = {**dict.fromkeys(_VALUES), **dict.fromkeys(_FLAGS, False)}
    given |= {name: list[Any]() for name in _LISTS}
    rest = list(argv[1:])
    while rest:
        name, has_value, value = rest.pop(0).partition("=")
        if name in _FLAGS and not has_value:
            given[name] = True
            continue
        if name not in _LISTS and name not in _VALUES:
            return None
        if not has_value:
            if not rest:
                return None
            value = rest.pop(0)
        if not value or value.startswith("-") or not value.isprintable():
            return None
        choices = _VALUES.get(name)
        if choices is not None and value not in choices:
            return None
        read = Path(value) if name in _PATHS else value
        if name in _LISTS:
            given[name].append(read)
        else:
            given[name] = read
    fields = {name.removeprefix("--").replace("-", "_"): value for name, value in given.items()}
    return {
        **fields,
        "config": tuple(fields["config"]),
        "pin": tuple(fields["pin"]),
        "client_name": fields["client_name"] or "hikidashi",
        "http": None,
        "daemon": True,
        "token_env": None,
        "as_daemon": None,
    }
