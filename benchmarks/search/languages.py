"""Questions in six languages about tools described in English: by words, and by default.

The tools are those of the servers that were written for the encoder's training; the questions are not trained on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path

from .accuracy import Accuracy, scored
from .data import Dataset, Definition, Question
from .engines import OURS, WORDS, engines

FOLDER = Path(__file__).parent.parent.parent / "packages" / "hikidashi-encoder" / "data"
NAME = "asked in other languages"
_TOOL = re.compile(r"(?P<name>[A-Za-z][\w.:/-]*)\((?P<arguments>[^()]*)\) \| (?P<description>\S.*)")


def measure(progress: Callable[[str], None], at_most: int | None = None) -> Iterable[Accuracy]:
    """Ours, words only and by default; a split is a language."""
    dataset = asked()
    dataset = dataset if at_most is None else dataset.thinned(at_most)
    for name in (OURS, WORDS):
        engine = engines()[name]
        if engine.missing is None:
            progress(name)
            yield scored(dataset, name, engine.searching(dataset.tools))


def asked(folder: Path = FOLDER) -> Dataset:
    """The questions, and all tools of the servers that they are about, each named after its server."""
    questions: list[Question] = []
    servers: set[str] = set()
    for line in (folder / "asked_in_other_languages.txt").read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        place, language, text = line.split("\t")
        server, _, tool = place.partition("/")
        servers.add(server)
        questions.append(Question(text, frozenset({f"{server}__{tool}"}), split=language))
    tools = [tool for server in sorted(servers) for tool in _tools(folder / "servers" / f"{server}.txt")]
    return Dataset(NAME, tools, questions, folder)


def _tools(path: Path) -> Iterable[Definition]:
    for line in path.read_text(encoding="utf-8").splitlines():
        if match := _TOOL.fullmatch(line):
            arguments = filter(None, map(str.strip, match["arguments"].split(",")))
            properties = {name: {"type": "string"} for name in arguments}
            yield {
                "name": f"{path.stem}__{match['name']}",
                "description": match["description"],
                "input_schema": {"type": "object", "properties": properties},
            }
