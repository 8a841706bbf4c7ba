"""Regular expressions in linear time, by the Rust engine in pydantic-core.

Python's `re` backtracks: a short pattern can take hours, and holds the GIL meanwhile.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from time import perf_counter, thread_time

from ....common.unicode import well_formed
from ....errors import ToolSearchError
from ..entry import Entry
from ..text.analyzer import visible
from ._regex_syntax import invalid, translate

__all__ = ["MAX_PATTERN", "Pattern", "searchable_text"]

MAX_PATTERN = 200
_MAX_TEXT = 10_000  # characters per tool: far above what tools have, so that no tool takes all the time
# A search should take at most 50 ms: it is aborted after 35, and the last text takes at most 10 more, at 100 million
# steps of the engine per second.
_SECONDS_PER_10_000 = 0.035
_MAX_STEPS = 1_000_000


def searchable_text(entry: Entry) -> str:
    """The text that patterns match: each name, description and argument on a line of its own.

    Descriptions come last, so that a long one cuts off nothing else.
    """
    short = (entry.name, *entry.aliases, *entry.tags, *entry.argument_names)
    every = (*short, entry.description, *entry.argument_descriptions)
    lines = "\n".join(every)
    if "\r" in lines or len(f"{lines}.".splitlines()) != len(every):  # few tools: some text is several lines
        lines = "\n".join(map(_one_line, every))
    return _readable(lines)[:_MAX_TEXT]


def _one_line(text: str) -> str:
    return " ".join(filter(None, text.splitlines()))


def _readable(text: str) -> str:
    """`text` without invisible characters, and without lone surrogates, which the engine cannot read."""
    return text if text.isascii() else well_formed(visible(text))


class Pattern:
    """A compiled pattern."""

    def __init__(self, pattern: str) -> None:
        from pydantic_core import (  # takes 20 ms, which a search by words need not wait for
            SchemaError,
            SchemaValidator,
            core_schema,
        )

        began = thread_time()
        self.source = pattern
        translated = translate(pattern)
        try:
            re.compile(translated.text)  # for the position of a fault, which the other engine does not report
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
            name: tuple(text for text in texts if self.matches(_readable(_one_line(text[: self._letters]))))
            for name, texts in entry.texts()
            if name != "argument_values"  # these are searched by words only
        }
        return {name: texts for name, texts in fields.items() if texts}

    def first_matches(self, batches: Iterable[Sequence[str]], tools: int, limit: int) -> list[int]:
        """The positions of the first `limit` texts that match, of `tools` in all.

        The time to make a batch of texts does not count.

        Raises:
            ToolSearchError: it takes too long, with the code `execution_time_exceeded`.
        """
        budget = _SECONDS_PER_10_000 * max(1.0, tools / 10_000)
        clock, began = perf_counter() + budget - self._compiling, thread_time() - self._compiling
        letters = self._letters
        found: list[int] = []
        first = 0
        paused = perf_counter(), thread_time()
        for texts in batches:
            clock += perf_counter() - paused[0]
            began += thread_time() - paused[1]
            for position, text in enumerate(texts, first):
                if self.matches(text if len(text) <= letters else text[:letters]):
                    found.append(position)
                    if len(found) == limit:
                        return found
                elif perf_counter() > clock and thread_time() - began > budget:  # without the time of other threads
                    raise ToolSearchError(
                        "execution_time_exceeded",
                        f"Pattern {self.source!r} took more than {budget * 1000:.0f} ms over {tools} tools. "
                        "Use a simpler one: fewer repetitions, plain words.",
                    )
            first += len(texts)
            paused = perf_counter(), thread_time()
        return found
