"""Patterns in time that grows only with the text: the Rust engine that pydantic carries.

Python's own `re` can need hours for a short pattern, and holds the interpreter meanwhile.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from time import perf_counter, thread_time

from ...common.unicode import well_formed
from ...errors import ToolSearchError
from ._regex_syntax import invalid, translate
from .analyzer import visible
from .entry import Entry

__all__ = ["MAX_PATTERN", "Pattern", "searchable_text"]

MAX_PATTERN = 200
_MAX_TEXT = 10_000  # letters per tool: far above what tools have, so that no tool takes all the time
# Nobody should wait longer than 50 ms: a search is ended after 35, and the last text takes 10 more at the most, since
# an engine that steps through a pattern letter by letter does 100 million steps a second.
_SECONDS_PER_10_000 = 0.035
_MAX_STEPS = 1_000_000


def searchable_text(entry: Entry) -> str:
    """What a pattern is matched against: each name, description and argument on a line of its own.

    A long description stands behind what is short, so that it hides none of that.
    """
    short = (entry.name, *entry.aliases, *entry.tags, *entry.argument_names)
    every = (*short, entry.description, *entry.argument_descriptions)
    lines = "\n".join(every)
    if lines.isascii() and len(f"{lines}.".splitlines()) == len(every):  # nearly all tools: no text has several lines
        return lines[:_MAX_TEXT]
    return "\n".join(map(_seen, every))[:_MAX_TEXT]


def _seen(text: str) -> str:
    """`text` on one line, and without lone surrogates, which the engine cannot read."""
    text = " ".join(filter(None, text.splitlines()))
    return text if text.isascii() else well_formed(visible(text))


class Pattern:
    """A compiled pattern."""

    def __init__(self, pattern: str) -> None:
        from pydantic_core import SchemaError, SchemaValidator, core_schema  # 20 ms that a search by words need not pay

        began = thread_time()
        self.source = pattern
        translated = translate(pattern)
        try:
            re.compile(translated.text)  # only to find faults: it names their place, the other engine does not
        except re.error as error:
            place = None if error.pos is None else ([*translated.positions, len(pattern)])[error.pos]
            raise invalid(pattern, f"{error.msg}", place) from error
        flags = "(?ims)" if translated.dot_all else "(?im)"
        try:
            validator = SchemaValidator(
                core_schema.str_schema(pattern=flags + translated.text, regex_engine="rust-regex")
            )
        except SchemaError as error:
            raise invalid(pattern, f"the engine refuses it ({str(error).splitlines()[-1].strip()})") from error
        self.matches = validator.isinstance_python
        self._letters = min(_MAX_TEXT, _MAX_STEPS // max(1, translated.cost))
        self._compiling = thread_time() - began

    def places(self, entry: Entry) -> dict[str, tuple[str, ...]]:
        """The texts of a tool that match, per field."""
        fields = {
            name: tuple(text for text in texts if self.matches(_seen(text[: self._letters])))
            for name, texts in entry.texts()
            if name != "argument_values"  # which only a search by words looks at
        }
        return {name: texts for name, texts in fields.items() if texts}

    def first_matches(self, batches: Iterable[Sequence[tuple[int, str]]], tools: int, limit: int) -> list[int]:
        """The numbers of the first `limit` of so many tools whose text matches.

        The texts come in batches; what it takes to get a batch is not counted as time of the pattern.

        Raises:
            ToolSearchError: it takes too long, with the code `execution_time_exceeded`.
        """
        budget = _SECONDS_PER_10_000 * max(1.0, tools / 10_000)
        clock, began = perf_counter() + budget - self._compiling, thread_time() - self._compiling
        letters = self._letters
        found: list[int] = []
        paused = perf_counter(), thread_time()
        for texts in batches:
            clock += perf_counter() - paused[0]
            began += thread_time() - paused[1]
            for number, text in texts:
                if self.matches(text if len(text) <= letters else text[:letters]):
                    found.append(number)
                    if len(found) == limit:
                        return found
                elif perf_counter() > clock and thread_time() - began > budget:  # other threads' time is not ours
                    raise ToolSearchError(
                        "execution_time_exceeded",
                        f"Pattern {self.source!r} took more than {budget * 1000:.0f} ms over {tools} tools. "
                        "Use a simpler one: fewer repetitions, plain words.",
                    )
            paused = perf_counter(), thread_time()
        return found
