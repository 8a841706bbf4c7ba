"""Text that UTF-8 can carry, and text whose every character can be seen."""

from __future__ import annotations

import re

# Printable by their category, and yet nothing is drawn: fillers, blanks and variation selectors.
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_LONG_BLANK = re.compile(" {9,}")


def well_formed(text: str) -> str:
    """`text` without lone surrogates: each becomes U+FFFD, and a pair of them the character it encodes.

    JSON, terminals and file names may bring surrogates in; UTF-8 files, SQLite and the model APIs refuse them.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def visible(text: str) -> str:
    """`text` in one line in which nothing can hide: what is not seen on a screen is written as an escape.

    Control characters, characters that turn the direction of a line or have no width, and long runs of spaces, which
    could push the rest out of sight.
    """
    text = "".join(one if one.isprintable() and not _UNSEEN.match(one) else _escape(one) for one in text)
    return _LONG_BLANK.sub(lambda found: f" [{len(found[0]):,} spaces] ", text)


def _escape(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")
