"""The files of `data/` but for the tasks: read strictly, and checked.

A file ``servers/<server>.txt`` is one server::

    # github: Issues, pull requests and code on GitHub
    create_issue(owner, repo, title) | Open a new issue in a repository.
    m create github issue
    s look for a report and if there is none write one up -> search_issues

``negatives.txt`` and ``talk/<language>.txt`` hold one utterance per line that no tool serves.
``asked/<language>.txt`` has questions in that language: ``<server>/<tool>``, a tab and a question on each line.
``asked_in_other_languages.txt`` is a test set, not for training: ``<server>/<tool>``, a language code and a question on
each line, with tabs between, and comments that begin with ``#``.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

KINDS = {
    "m": "a model's search",
    "p": "a person's words",
    "i": "an indirect wish",
    "v": "with values",
    "s": "several wishes",
    "g": "slang",
    "t": "typos",
}
HUMAN = frozenset("piv")
FEWEST, MOST = 6, 10
ARROW = " -> "
LANGUAGES = ("ja", "zh", "ko", "de", "fr", "es")

_SERVER = re.compile(r"# (?P<name>[a-z0-9_]+): (?P<purpose>\S.*)")
_TOOL = re.compile(r"(?P<name>[A-Za-z][\w.:/-]*)\((?P<arguments>[^()]*)\) \| (?P<description>\S.*)")
_QUESTION = re.compile(rf"(?P<kind>[{''.join(KINDS)}]) (?P<text>\S.*)")


@dataclass(frozen=True)
class Question:
    """A question for a tool, with its kind."""

    kind: str
    text: str
    also: tuple[str, ...] = ()
    """Other tools of the same server that the question needs."""


@dataclass
class Tool:
    """A tool and its questions."""

    name: str
    arguments: tuple[str, ...]
    description: str
    questions: list[Question] = field(default_factory=list)


@dataclass
class Server:
    """A server and its tools."""

    name: str
    purpose: str
    tools: list[Tool] = field(default_factory=list)


@dataclass(frozen=True)
class Foreign:
    """A question in another language than English."""

    server: str
    tool: str
    language: str
    text: str


class FormatError(ValueError):
    """A line that is not of the format."""


def read_question(line: str) -> Question | None:
    """The question of a line; None if it is not one."""
    match = _QUESTION.fullmatch(line)
    if match is None:
        return None
    kind, text = match["kind"], match["text"]
    if kind != "s":
        return None if ARROW in text else Question(kind, text)
    text, arrow, names = text.rpartition(ARROW)
    also = tuple(name.strip() for name in names.split(","))
    return Question(kind, text, also) if arrow and text and all(also) else None


def read_server(path: Path) -> Server:
    """The server of one file; FormatError names the first line that is not of the format."""
    server: Server | None = None
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        where = f"{path.name}:{number}"
        if not line:
            continue
        if line != line.strip():
            raise FormatError(f"{where}: space at an end of the line")
        if server is None:
            match = _SERVER.fullmatch(line)
            if match is None or match["name"] != path.stem:
                raise FormatError(f"{where}: the first line must be '# {path.stem}: what it is for'")
            server = Server(match["name"], match["purpose"])
        elif match := _TOOL.fullmatch(line):
            arguments = tuple(part.strip() for part in match["arguments"].split(",") if part.strip())
            server.tools.append(Tool(match["name"], arguments, match["description"]))
        elif question := read_question(line):
            if not server.tools:
                raise FormatError(f"{where}: a question before the first tool")
            server.tools[-1].questions.append(question)
        else:
            raise FormatError(f"{where}: neither a tool nor a question: {line!r}")
    if server is None:
        raise FormatError(f"{path.name}: empty")
    return server


def read_servers(folder: Path) -> list[Server]:
    """All servers of a folder, by name."""
    return [read_server(path) for path in sorted(folder.glob("*.txt"))]


def read_negatives(path: Path) -> list[str]:
    """The utterances that no tool serves."""
    return [line for line in path.read_text(encoding="utf-8").splitlines() if line]


def read_foreign(path: Path) -> list[Foreign]:
    """The questions in other languages; FormatError names the first line that is not of the format."""
    found: list[Foreign] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line or line.startswith("#"):
            continue
        where, parts = f"{path.name}:{number}", line.split("\t")
        if len(parts) != 3 or any(not part or part != part.strip() for part in parts):
            raise FormatError(f"{where}: not three parts with tabs between: {line!r}")
        server, slash, tool = parts[0].partition("/")
        if not slash or parts[1] not in LANGUAGES:
            raise FormatError(f"{where}: not <server>/<tool> and one of {', '.join(LANGUAGES)}: {line!r}")
        found.append(Foreign(server, tool, parts[1], parts[2]))
    return found


def read_asked(folder: Path) -> list[Foreign]:
    """The questions in other languages that are for training; FormatError names the first line that is wrong."""
    found: list[Foreign] = []
    for path in sorted(folder.glob("*.txt")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            place, _, text = line.partition("\t")
            server, _, tool = place.partition("/")
            if not tool or not text or line != line.strip():
                raise FormatError(f"asked/{path.name}:{number}: not <server>/<tool>, a tab and a question: {line!r}")
            found.append(Foreign(server, tool, path.stem, text))
    return found


def read_talk(folder: Path) -> dict[str, list[str]]:
    """The utterances that no tool serves, by language."""
    return {path.stem: read_negatives(path) for path in sorted(folder.glob("*.txt"))}


def folded(text: str) -> str:
    """Text as compared for duplicates: small letters and digits alone."""
    return " ".join(re.findall(r"\w+", text.lower()))


def faults(server: Server) -> list[str]:
    """What is wrong within one server, a line each."""
    found: list[str] = []
    counts = Counter(tool.name for tool in server.tools)
    found += [f"{server.name}: tool {name} is there {count} times" for name, count in counts.items() if count > 1]
    for tool in server.tools:
        where = f"{server.name}.{tool.name}"
        if not FEWEST <= len(tool.questions) <= MOST:
            found.append(f"{where}: {len(tool.questions)} questions, not {FEWEST} to {MOST}")
        if not any(question.kind in HUMAN for question in tool.questions):
            found.append(f"{where}: no question of p, i or v")
        for question in tool.questions:
            found += [f"{where}: unknown tool {name} after the arrow" for name in question.also if name not in counts]
            if tool.name in question.also:
                found.append(f"{where}: names itself after the arrow")
    return found


def duplicates(servers: list[Server], negatives: list[str]) -> list[str]:
    """Questions that occur twice: within a server, or among the negatives and anywhere."""
    found: list[str] = []
    everywhere: set[str] = set()
    for server in servers:
        seen: dict[str, str] = {}
        for tool in server.tools:
            for question in tool.questions:
                key = folded(question.text)
                if key in seen:
                    found.append(f"{server.name}: {question.text!r} in {seen[key]} and {tool.name}")
                seen[key] = tool.name
        everywhere |= seen.keys()
    for text in negatives:
        key = folded(text)
        if key in everywhere:
            found.append(f"negatives: {text!r} is there already")
        everywhere.add(key)
    return found


def foreign_faults(questions: list[Foreign], servers: list[Server]) -> list[str]:
    """Questions in other languages that name no tool of the catalogue, or that are there twice."""
    tools = {(server.name, tool.name) for server in servers for tool in server.tools}
    counts = Counter(folded(question.text) for question in questions)
    found = [
        f"{question.language}: no tool {question.server}/{question.tool}"
        for question in questions
        if (question.server, question.tool) not in tools
    ]
    return found + [f"other languages: {text!r} is there {count} times" for text, count in counts.items() if count > 1]
