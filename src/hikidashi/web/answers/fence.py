"""Text from the web between tags that mark it as data, against prompt injection.

The tags carry a random number for each call, so no page can know them, and anything in the text that looks like such
a tag is escaped: the text cannot close its own fence.
"""

from __future__ import annotations

import re
import secrets
from typing import Literal

from ...texts import Language, texts

__all__ = ["Untrusted", "fence", "unfenced"]

Untrusted = Literal["fence"] | None
"""What to do with text from the web: `"fence"` marks it as data, `None` leaves it as it is."""

_TAG = "web-data"
_FENCED = re.compile(rf"^<({_TAG}-[0-9a-f]{{16}})>\n(.*)\n</\1>$", re.DOTALL | re.MULTILINE)
# Any such tag, with any number, in any spelling that a model might take for one.
_LOOKALIKE = re.compile(r"[<＜](?=[\s/／\\]{0,8}web[-_‐‑–—－\s]?data)", re.IGNORECASE)


def fence(text: str, *, source: str | None = None, language: Language = "ja") -> str:
    """`text` between two tags it cannot contain, after one line that marks it as data for the model.

    `source`, where the text comes from, may come from the web itself and is placed inside the fence.
    """
    tag = f"{_TAG}-{secrets.token_hex(8)}"
    words = texts("web", language)
    origin = "" if source is None else f"{words['fence.source']}{' '.join(source.split())}\n"
    return f"{words['fence.notice'].format(tag=tag)}\n<{tag}>\n{_escaped(origin + text)}\n</{tag}>"


def unfenced(text: str) -> str:
    """The text between the tags, for display to a person; `text` unchanged if it has none."""
    found = _FENCED.search(text)
    return found[2] if found else text


def _escaped(text: str) -> str:
    return _LOOKALIKE.sub("&lt;", text)
