"""Read the catalogue of tools and questions strictly, and count it.

A file ``servers/<server>.txt`` is one server::

    # github: Issues, pull requests and code on GitHub
    create_issue(owner, repo, title) | Open a new issue in a repository.
    m create github issue
    s look for a report and if there is none write one up -> search_issues

``negatives.txt`` holds one utterance per line that no tool serves. Run as a script, this prints the counts and every
fault, and leaves with 1 where a fault was found.
"""

from __future__ import annotations

import re
import sys
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

_SERVER = re.compile(r"# (?P<name>[a-z0-9_]+): (?P<purpose>\S.*)")
_TOOL = re.compile(r"(?P<name>[A-Za-z][\w.:/-]*)\((?P<arguments>[^()]*)\) \| (?P<description>\S.*)")
_QUESTION = re.compile(rf"(?P<kind>[{''.join(KINDS)}]) (?P<text>\S.*)")


@dataclass(frozen=True)
class Question:
    kind: str
    text: str
    also: tuple[str, ...] = ()
    """Other tools of the same server that the question needs."""


@dataclass
class Tool:
    name: str
    arguments: tuple[str, ...]
    description: str
    questions: list[Question] = field(default_factory=list)


@dataclass
class Server:
    name: str
    purpose: str
    tools: list[Tool] = field(default_factory=list)


class FormatError(ValueError):
    """A line that is not of the format."""


def read_question(line: str) -> Question | None:
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
    return [read_server(path) for path in sorted(folder.glob("*.txt"))]


def read_negatives(path: Path) -> list[str]:
    return [line for line in path.read_text(encoding="utf-8").splitlines() if line]


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


def main() -> int:
    folder = Path(__file__).parent
    try:
        servers = read_servers(folder / "servers")
    except FormatError as error:
        print(error)
        return 1
    path = folder / "negatives.txt"
    negatives = read_negatives(path) if path.exists() else []

    total: Counter[str] = Counter()
    for server in servers:
        kinds = Counter(question.kind for tool in server.tools for question in tool.questions)
        total += kinds
        shares = " ".join(f"{kind}{kinds[kind]:4}" for kind in KINDS)
        print(f"{server.name:20} {len(server.tools):4} tools {kinds.total():5} questions  {shares}")
    shares = " ".join(f"{kind}{total[kind]:5}" for kind in KINDS)
    print(f"{len(servers)} servers, {sum(len(server.tools) for server in servers)} tools, {total.total()} questions")
    print(f"{shares}; {len(negatives)} negatives")

    found = [fault for server in servers for fault in faults(server)] + duplicates(servers, negatives)
    print("\n".join(found) or "no faults")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
