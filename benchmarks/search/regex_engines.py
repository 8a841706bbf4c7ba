"""Regex search over tools, engine by engine; as a program, answers the patterns it reads from standard input."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportMissingImports=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import islice
from time import perf_counter
from typing import Any

from .catalogue import catalogue
from .data import Definition, searchable_text
from .engines import OURS

_LIMIT = 5

Search = Callable[[str], int]
"""How many tools a pattern finds, at most five; raises when it refuses the pattern."""


@dataclass(frozen=True, slots=True)
class RegexEngine:
    """A way to search tools by pattern."""

    name: str
    module: str
    install: str
    build: Callable[[Sequence[Definition]], Search]

    @property
    def missing(self) -> str | None:
        """What to run to get it, or `None` when it is here."""
        return None if find_spec(self.module) else f"not installed: pip install {self.install}"


def _ours(tools: Sequence[Definition]) -> Search:
    from hikidashi.search import ToolCatalog

    catalog = ToolCatalog(tools, limit_tools=len(tools))
    return lambda pattern: len(catalog.search_regex(pattern, limit=_LIMIT))


def _standard_library(tools: Sequence[Definition]) -> Search:
    texts = [searchable_text(tool) for tool in tools]
    return lambda pattern: _count(re.compile(pattern, re.IGNORECASE).search, texts)


def _re2(tools: Sequence[Definition]) -> Search:
    import re2

    texts = [searchable_text(tool) for tool in tools]
    options = re2.Options()
    options.case_sensitive = False
    options.log_errors = False
    return lambda pattern: _count(re2.compile(pattern, options).search, texts)


def _fastmcp(tools: Sequence[Definition]) -> Search:
    from fastmcp.server.transforms.search.regex import RegexSearchTransform

    from .peers import at_once, fastmcp_tools

    theirs = fastmcp_tools(tools)
    transform = RegexSearchTransform(max_results=_LIMIT)
    return lambda pattern: len(at_once(transform._search(theirs, pattern)))


def _count(matches: Callable[[str], Any], texts: Sequence[str]) -> int:
    return len(list(islice((text for text in texts if matches(text)), _LIMIT)))


REGEX_ENGINES = {
    engine.name: engine
    for engine in (
        RegexEngine(OURS, "hikidashi.search", "hikidashi", _ours),
        RegexEngine("google-re2", "re2", "google-re2", _re2),
        RegexEngine("FastMCP", "uncalled_for", "fastmcp", _fastmcp),
        RegexEngine("re", "re", "python", _standard_library),
    )
}


def main(name: str, size: int) -> None:
    """Answer each pattern on standard input with what came of it, the seconds and the hits."""
    search = REGEX_ENGINES[name].build(catalogue(size))
    search("warm up")
    print("ready", flush=True)
    for line in sys.stdin:
        pattern = json.loads(line)
        start = perf_counter()
        try:
            outcome, hits = "found", search(pattern)
        except Exception:  # each library has an error of its own for what it refuses
            outcome, hits = "refused", 0
        print(json.dumps((outcome, perf_counter() - start, hits)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
