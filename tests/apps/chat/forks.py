"""Starts `hikidashi` in forks of one process that has its imports behind it: those take a second or two each time.

It is told by lines of JSON on stdin. `["start", arguments, environment, [stdin, stdout, stderr], anew]` is answered
with the id of a new process that reads and writes the three paths, and that is a Python of its own with all imports
before it where `anew` says so; `["wait", id]` with its exit code, once it has ended.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from typing import Any, NoReturn

_IMPORTED_ONCE = (
    "hikidashi.cli.app",
    "hikidashi.cli.chat",
    "hikidashi.apps.chat.loop",
    "hikidashi.apps.pydantic_ai",
    "hikidashi.apps.strands",
    "hikidashi.claude.model",
    "hikidashi.web.pydantic_ai",
    "hikidashi.web.strands",
    "hikidashi.web.providers.tavily",
    "strands.models.anthropic",
)


def serve() -> None:
    """Obeys orders until stdin ends."""
    for module in _IMPORTED_ONCE:
        importlib.import_module(module)
    for line in sys.stdin:
        match json.loads(line):
            case ["start", arguments, environment, streams, anew]:
                answer = os.fork() or _become(arguments, environment, streams, anew=anew)
            case ["wait", process]:
                answer = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
            case order:
                raise ValueError(order)
        print(json.dumps(answer), flush=True)  # noqa: T201 - this is the protocol


def _become(arguments: list[str], environment: dict[str, str], streams: list[str], *, anew: bool) -> NoReturn:
    """A process of its own session; the terminal among its streams controls it, so that Ctrl-C is a signal."""
    os.setsid()
    for number, path in enumerate(streams):
        opened = os.open(path, os.O_RDWR)
        os.dup2(opened, number)
        os.close(opened)
    if anew:
        os.execve(sys.executable, [sys.executable, "-m", "hikidashi", *arguments], environment)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["hikidashi", *arguments]
    sys.stdin, sys.stdout, sys.stderr = (
        open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115 - open as long as the process lives
        for number, mode in ((0, "r"), (1, "w"), (2, "w"))
    )
    code: Any = 1
    try:
        from hikidashi.cli import main

        main()
        code = 0
    except SystemExit as end:
        code = end.code
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code or 0)


if __name__ == "__main__":
    serve()
