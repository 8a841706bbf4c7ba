"""Pages of documentation, tested: which blocks of code a page has, and how each is run.

The rules for whoever writes a page:

- ```` ```python ```` runs as it stands, in an empty folder, and must print something; a block with `def test_`
  runs under pytest. The Claude Code CLI and every Anthropic client talk to a scripted model on this machine, which
  calls the first tool it is offered, with what it must be given, and then says `I heard: ...`; where it is offered
  `search_tools`, it searches with the question and calls the first tool found. There is no network.
- ```` ```sh ```` runs too: all such blocks of a page, in order, in one folder.
- ```` ```shell ```` is not run, for commands that wait for people or need the network, but checked: commands, options,
  extras and `make` targets exist.
- `title="notes/a.md"` on a block of any language makes it a file, there for every later block of the page. A Python
  block with a title may print nothing.
- ```` ```text title="Output" ```` (`出力` in Japanese) right after a block that runs is what it prints: `…` stands for
  any characters, a line `...` for any lines.
- Other blocks are `text`, `yaml`, `toml` or `json`.

Blocks that are the same program, as a page and its translation often have them, are run once.
"""

from __future__ import annotations

import ast
import os
import re
import shlex
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import typer
from tests.pages_model import searching
from tests.pages_runner import Done, run_file

from hikidashi.testing import MessagesServer, RecordedRequest, Reply, Script, call, say

ROOT = Path(__file__).parents[1]
LANGUAGES = ("python", "sh", "shell", "text", "yaml", "toml", "json")
OUTPUT = ("Output", "出力")
NOT_RUN = ("cat", "cd", "claude", "cp", "curl", "export", "git", "head", "jq", "npx", "pytest", "python", "tee")
"""Programs of others that a page may name without running them."""

_AS_INSTALLED = {"HIKIDASHI_RANKER": ""}  # pages show what a user gets: by words and by meaning

_BLOCK = re.compile(
    r'^(?P<indent> *)```(?P<language>\w+)(?: title="(?P<title>[^"\n]+)")?\n(?P<code>.*?)^(?P=indent)```$',
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    page: str
    line: int
    language: str
    code: str
    title: str = ""
    output: str | None = None
    """What it prints, where the page says so."""
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    """The files that stand above it on the page."""

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def program(self) -> tuple[str, ...]:
        """What makes it another program than others: not its comments, nor the page it is on."""
        return ast.dump(ast.parse(self.code)), self.output or "", *map(str, self.files.items())


def blocks(page: str, *languages: str) -> list[Block]:
    """The blocks of a page in one of `languages`, or all."""
    text = (ROOT / page).read_text(encoding="utf-8")
    found: list[Block] = []
    files: dict[str, str] = {}
    for match in _BLOCK.finditer(text):
        code, title = textwrap.dedent(match["code"]), match["title"] or ""
        if title in OUTPUT and found:
            found[-1] = _with_output(found[-1], code)
            title = ""
        line = text.count("\n", 0, match.start()) + 1
        found.append(Block(page, line, match["language"], code, title, files=dict(files)))
        if title:
            files[title] = code
    return [block for block in found if not languages or block.language in languages]


def fences(page: str) -> int:
    """How many fenced blocks a page has, whether the tests understand them or not."""
    return len(re.findall(r"^ *```", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE)) // 2


def programs(pages: Iterable[str]) -> list[Block]:
    """The Python blocks of all pages, those that are the same program once."""
    found: dict[tuple[str, ...], Block] = {}
    for page in pages:
        for block in blocks(page, "python"):
            found.setdefault(block.program, block)
    return list(found.values())


def inline_commands(page: str) -> list[Block]:
    """The commands that stand in the text of a page, between backticks."""
    text = _BLOCK.sub("", (ROOT / page).read_text(encoding="utf-8"))
    return [Block(page, 0, "shell", code) for code in re.findall(r"`((?:hikidashi|make) [a-z][^`\n]*)`", text)]


def bare(code: str) -> str:
    """Code without what a translator may change: comments, docstrings and other texts, and the language itself."""
    code = re.sub(r"--lang \w+", "--lang", code)
    code = re.sub(r'""".*?"""', '""', code, flags=re.DOTALL)
    return re.sub(r"#.*", "", re.sub(r'"[^"\n]*"', '""', code))


def helpful(request: RecordedRequest) -> Reply:
    """A model that calls the first tool it is offered, or finds, once, and then tells what it heard."""
    if (reply := searching(request, _arguments)) is not None:
        return reply
    if request.tool_results:
        return say(f"I heard: {' / '.join(request.tool_result_texts)}")
    if not request.tools:
        return say("Nothing to call.")
    tool = request.tools[0]
    return call(tool["name"], _arguments(tool["input_schema"]))


def check_python(block: Block, start: Callable[[Script], MessagesServer], folder: Path) -> None:
    """Fail unless a block runs, shows something, and calls the tools it has; `start` starts the model behind it."""
    server = start(helpful)
    _write(block.files, folder)
    is_test = "def test_" in block.code
    name = block.title or ("test_block.py" if is_test else "block.py")
    _write({name: block.code}, folder)
    environment = {**os.environ, **_AS_INSTALLED, **server.env(folder / "home")}
    printed = _printed(block, run_file(name, environment=environment, folder=folder, as_test=is_test))
    if is_test:
        assert f"{block.code.count('def test_')} passed" in printed
        return
    assert printed.strip() or block.title, f"{block} shows nothing"
    if "@agent.tool" in block.code and "MessagesServer(" not in block.code:
        results = [result for request in server.requests for result in request.tool_results]
        assert results, f"{block} never called its tool"
        assert not any(result.get("is_error") for result in results)
        assert "I heard: " in printed


def check_scripts(page: str, start: Callable[[Script], MessagesServer], folder: Path) -> None:
    """Fail unless the `sh` blocks of a page run, in their order and in one folder."""
    environment = start(helpful).env(folder / "home")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    for block in blocks(page, "sh"):
        _write({name: text for name, text in block.files.items() if not (folder / name).exists()}, folder)
        done = subprocess.run(
            ["sh", "-eu", "-c", block.code],
            env={**os.environ, **_AS_INSTALLED, **environment, "PATH": path},
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        _printed(block, done)


def check_commands(block: Block, *, complete: bool = True) -> None:
    """Fail where a block names a command, option, extra or target that is not there; nothing is run.

    Unless `complete`, a command may lack the arguments it needs: in a text it is only a name.
    """
    for line in block.code.replace("\\\n", " ").splitlines():
        for words in _commands(line):
            match words:
                case ["hikidashi", *arguments]:
                    _check_arguments(arguments, f"{block}: {line}", complete=complete)
                case ["make", target, *_]:
                    assert target in _make_targets(), f"{block}: {line}"
                case ["pip", "install", *what]:
                    named = re.findall(r"hikidashi\[([\w,-]+)\]", " ".join(what))
                    assert {extra for some in named for extra in some.split(",")} <= _extras(), f"{block}: {line}"
                case _:
                    unknown = set(words[:1]) - set(NOT_RUN)
                    assert not unknown, f"{block}: {unknown} is no command that a page may name unrun"


def _check_arguments(arguments: list[str], where: str, *, complete: bool) -> None:
    """Fail unless the command line of hikidashi takes `arguments`."""
    command, name = _root(), "hikidashi"
    while hasattr(command, "commands") and arguments and not arguments[0].startswith("-"):
        name, *arguments = arguments
        command = command.get_command(typer.Context(command), name)
        assert command is not None, f"{where}: there is no command {name!r}"
    if hasattr(command, "commands"):
        return
    try:
        command.make_context(name, arguments)
    except typer.Exit:
        pass
    except Exception as error:
        if complete or type(error).__name__ != "MissingParameter":
            raise AssertionError(f"{where}: {getattr(error, 'message', error)}") from error


@cache
def _make_targets() -> set[str]:
    return set(re.findall(r"^([a-z]+):.*##", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


@cache
def _extras() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return set(project["optional-dependencies"])


@cache
def _root() -> Any:
    from hikidashi.cli.app import app

    return typer.main.get_command(app)


def _commands(line: str) -> Iterator[list[str]]:
    """The commands of a line, without their comments, variables and redirections."""
    words = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
    words.whitespace_split = True
    command: list[str] = []
    for word in words:
        if set(word) <= set("<>"):
            next(words, None)
        elif set(word) <= set("|&;"):
            yield command
            command = []
        elif command or not re.fullmatch(r"\w+=.*", word):
            command.append(word)
    yield command


def _printed(block: Block, done: Done | subprocess.CompletedProcess[str]) -> str:
    """What a block printed; fails where it failed, or printed something else than the page says."""
    assert done.returncode == 0, f"{block}\n{done.stdout}\n{done.stderr}"
    if block.output is not None:
        assert re.fullmatch(_pattern(block.output), done.stdout.rstrip()), f"{block} prints:\n{done.stdout}"
    return done.stdout


def _pattern(output: str) -> str:
    lines = [".*" if line == "..." else re.escape(line).replace("…", "[^\n]*") for line in output.rstrip().splitlines()]
    return "(?s:" + "\n".join(lines) + ")"


def _with_output(block: Block, output: str) -> Block:
    return Block(block.page, block.line, block.language, block.code, block.title, output, block.files)


def _write(files: Mapping[str, str], folder: Path) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def _arguments(schema: dict[str, Any]) -> dict[str, Any]:
    """Examples for what a tool must be given."""
    required = schema.get("required", ())
    return {name: _example(of) for name, of in schema.get("properties", {}).items() if name in required}


def _example(schema: dict[str, Any]) -> object:
    if "anyOf" in schema:
        return _example(schema["anyOf"][0])
    if "enum" in schema:
        return schema["enum"][0]
    if schema["type"] == "array":
        return [_example(schema["items"])]
    return {"string": "Kyoto", "integer": 3, "number": 1.5, "boolean": True}[schema["type"]]
