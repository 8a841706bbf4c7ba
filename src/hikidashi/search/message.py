"""What a user's message asks for: its text, and the parts of it to search for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, cast

from .engine.question import clauses_of

_PARTS = 8  # sentences of a message that are searched: the first and the last, if there are more
_LONGEST = 300  # characters of one of them
_SHORTEST = 2  # words of a clause: `tell Ann`
_READ = 4_000  # characters at the beginning and at the end of a long message that are read
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|[\n\r;；•]+")
# Polite phrases to a search (`tell me about …`), but not where a message is for another person.
_TELL = re.compile(r"^(?:tell|ask) (?!me\b|us\b|you\b|about\b|an?\b|if\b|whether\b|for\b|what\b)", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+")


def text_of(message: object) -> str:
    """The text of a user's message, without images and other parts.

    Args:
        message: Text, or content of any framework: strings, dicts or objects with a `text` or `content`, in lists, or
            a whole message with the role "user".
    """
    return "\n".join(filter(None, _texts(message)))


def _texts(content: object) -> Iterable[str]:
    if isinstance(content, str):
        yield content
    elif isinstance(content, Mapping):
        yield from _texts_of_block(cast("Mapping[str, Any]", content))
    elif isinstance(content, list | tuple):
        for part in cast("Iterable[object]", content):
            yield from _texts(part)
    elif content is not None and not isinstance(content, bytes | int | float):
        kind = getattr(content, "type", "text")
        texts = (getattr(content, name, None) for name in ("text", "content"))
        if kind == "text":
            yield from (text for text in texts if isinstance(text, str))


def _texts_of_block(block: Mapping[str, Any]) -> Iterable[str]:
    if block.get("role", "user") != "user" or block.get("type", "text") not in ("text", "message"):
        return
    if isinstance(block.get("text"), str):
        yield block["text"]
    elif "role" in block:
        yield from _texts(block.get("content"))


def requests_in(text: str, most: int) -> list[str]:
    """The parts of `text` to search for: all of it if it is short, then each sentence, and each clause of one.

    Of a long text, the first and the last sentences: people write what they want before or after what they paste.

    Args:
        text: What the user wrote.
        most: The maximum length of a query.
    """
    whole = " ".join(text.split())
    if len(text) > 2 * _READ:
        text = f"{text[:_READ]}\n{text[-_READ:]}"
    sentences = [part.strip() for part in _SENTENCE.split(text) if _WORD.search(part)]
    if len(sentences) > _PARTS:
        sentences = [*sentences[: _PARTS // 2], *sentences[-_PARTS // 2 :]]
    parts = [whole] if len(whole) <= most else []
    for sentence in sentences:
        parts += [_cut(part, min(most, _LONGEST)) for part in (sentence, *clauses_of(sentence, _SHORTEST))]
    return [_TELL.sub("send a message to ", part) for part in dict.fromkeys(parts) if part]


def _cut(text: str, most: int) -> str:
    """`text` cut to `most` characters, between words where there are some."""
    if len(text) <= most:
        return text
    cut = text[:most]
    return cut.rsplit(maxsplit=1)[0] if " " in cut[most // 2 :] else cut
