"""Patterns in time that grows only with the text: the Rust engine that pydantic carries.

Python's own `re` can need hours for a short pattern, and holds the interpreter meanwhile.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from time import perf_counter, thread_time

from ..errors import ToolSearchError
from .entry import Entry
from .syntax import invalid, translate

__all__ = ["MAX_PATTERN", "Pattern", "searchable_text"]

MAX_PATTERN = 200
_MAX_TEXT = 10_000  # letters per tool: far above what tools have, so that no tool takes all the time
_SECONDS_PER_10_000 = 0.04
_BREAKS = re.compile(r"[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+")


def searchable_text(entry: Entry) -> str:
    """What a pattern is matched against: name, description, argument names and descriptions, a line each."""
    lines = (entry.name, entry.description, *entry.argument_names, *entry.argument_descriptions, *entry.aliases)
    return "\n".join(_BREAKS.sub(" ", line) for line in (*lines, *entry.tags))[:_MAX_TEXT]


class Pattern:
    """A compiled pattern."""

    def __init__(self, pattern: str) -> None:
        from pydantic_core import SchemaError, SchemaValidator, core_schema  # 20 ms that a search by words need not pay

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

    def places(self, entry: Entry) -> dict[str, tuple[str, ...]]:
        """The texts of a tool that match, per field."""
        fields = {
            name: tuple(text for text in texts if self.matches(_BREAKS.sub(" ", text))) for name, texts in entry.texts()
        }
        return {name: texts for name, texts in fields.items() if texts}

    def first_matches(self, texts: Sequence[tuple[int, str]], limit: int) -> list[int]:
        """The numbers of the first `limit` tools whose text matches.

        Raises:
            ToolSearchError: it takes too long, with the code `execution_time_exceeded`.
        """
        budget = _SECONDS_PER_10_000 * max(1.0, len(texts) / 10_000)
        clock, began = perf_counter() + budget, thread_time()
        found: list[int] = []
        for number, text in texts:
            if self.matches(text):
                found.append(number)
                if len(found) == limit:
                    break
            elif perf_counter() > clock and thread_time() - began > budget:  # other threads' time is not ours
                raise ToolSearchError(
                    "execution_time_exceeded",
                    f"Pattern {self.source!r} took more than {budget * 1000:.0f} ms over {len(texts)} tools. "
                    "Use a simpler one: fewer repetitions, plain words.",
                )
        return found
