"""The text of a tool that is embedded."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["text_of_tool"]

_MOST_LETTERS = 220  # of a description: its beginning says what the tool does, and 64 pieces are read
_MOST_ARGUMENTS = 12
_BETWEEN_WORDS = re.compile(r"[_\-./:\s]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SENTENCE_END = re.compile(r"[.!?](?=\s)|[。！？]")


def text_of_tool(name: str, description: str, arguments: Iterable[str] = ()) -> str:
    """What `Encoder.tools` is given of a tool, and was trained with.

    The name in words, the first sentences of the description, and the names of the first arguments in words, each
    followed by those within it (without these, a Chinese catalogue of nested arguments loses 6 points):
    ``delete event. Remove an event from the calendar. event id, calendar id``
    """
    described = _beginning(" ".join(description.split()))
    named = ", ".join(_in_words(argument) for argument in list(arguments)[:_MOST_ARGUMENTS])
    return ". ".join(part for part in (_in_words(name), described, named) if part)


def _in_words(name: str) -> str:
    """`issue_write` and `issueWrite` as `issue write`."""
    return " ".join(_BETWEEN_WORDS.sub(" ", name).split())


def _beginning(text: str) -> str:
    """The first sentences of a text, or its first words where no sentence ends soon enough."""
    if len(text) <= _MOST_LETTERS:
        return text.rstrip(".")
    start = text[: _MOST_LETTERS + 1]
    ends = [match.start() for match in _SENTENCE_END.finditer(start)]
    return start[: ends[-1]] if ends and ends[-1] >= _MOST_LETTERS // 3 else start.rpartition(" ")[0] or start
