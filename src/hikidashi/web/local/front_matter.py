"""Front matter: what stands between `---` (YAML) or `+++` (TOML) before the text of a document.

Of YAML only what front matter is made of is read: `key: value`, quotes, lists in brackets or by dashes, and text
over several lines. What is not understood gives no fields; it is still no part of the text.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, cast

from .dates import day_of

__all__ = ["FrontMatter", "front_matter"]

_LONGEST = 64 * 1024
_YAML = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_TOML = re.compile(r"\A\ufeff?\+\+\+[ \t]*\r?\n(.*?)^\+\+\+[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_KEY = re.compile(r"([A-Za-z_][\w.-]*|\"[^\"\n]+\"|'[^'\n]+')[ \t]*:(?:[ \t]+(.*)|)")
_COMMENT = re.compile(r"(?:^|[ \t])#.*$")
_BLOCK = re.compile(r"[|>][+-]?\d?")
_ITEM = re.compile(r"[^,\[\]\"']+|\"(?:[^\"\\]|\\.)*\"|'[^']*'")

_TITLES = ("title", "name")
_DATES = ("date", "published", "published_at", "publishdate", "pubdate", "created", "created_at", "updated", "lastmod")
_TEXTS = ("description", "summary", "abstract", "subtitle")
_TAGS = ("tags", "keywords", "categories", "category", "topics", "aliases")


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """What a document says about itself before it begins."""

    title: str
    published: str | None
    """YYYY-MM-DD."""
    about: str
    """Description and tags."""
    length: int
    """How many characters of the document it takes."""


def front_matter(text: str) -> FrontMatter | None:
    """The front matter that `text` begins with; None if it begins with none."""
    head = text[:_LONGEST]
    if block := _YAML.match(head):
        fields = _yaml(block[1])
        if fields is None:  # a line across the page, and one more
            return None
    elif block := _TOML.match(head):
        try:
            fields = dict[str, Any](tomllib.loads(block[1].replace("\r\n", "\n")))
        except (tomllib.TOMLDecodeError, RecursionError):
            fields = {}
    else:
        return None
    lowered = {str(name).lower(): value for name, value in fields.items()}
    about = [*_texts(lowered, _TEXTS), *_texts(lowered, _TAGS)]
    return FrontMatter(
        title=" ".join(next(iter(_texts(lowered, _TITLES)), "").split()),
        published=next(filter(None, (day_of(value) for value in _texts(lowered, _DATES))), None),
        about="\n".join(about),
        length=block.end(),
    )


def _texts(fields: dict[str, Any], names: Iterable[str]) -> list[str]:
    """The values of the fields of these names, in the order of the names."""
    values = (fields.get(name) for name in names)
    each = (one for value in values for one in cast("list[object]", value if isinstance(value, list) else [value]))
    known = (str(one) for one in each if isinstance(one, str | int | float | date | datetime))
    return [text.strip() for text in known if text.strip()]


def _yaml(block: str) -> dict[str, Any] | None:
    """The fields at the outermost level; None if there is no such field, so that this is no front matter."""
    fields: dict[str, Any] = {}
    name = ""
    for line in block.splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        key = _KEY.fullmatch(line.rstrip())
        if key:
            name = key[1].strip("\"'")
            fields[name] = _value(key[2] or "")
        elif name and (line[0] in " \t" or line.startswith("-")):
            _continue(fields, name, line.strip())
        elif not name:
            return None  # text between two lines across the page
    return fields or None


def _continue(fields: dict[str, Any], name: str, line: str) -> None:
    """Adds a line that belongs to the field before it: an item of its list, or more of its text."""
    before = fields[name]
    if line.startswith("- ") and (before == "" or isinstance(before, list)):
        fields[name] = [*(before or []), _scalar(line[2:])]
    elif isinstance(before, str):
        fields[name] = f"{'' if _BLOCK.fullmatch(before) else before} {line}".strip()


def _value(text: str) -> str | list[str]:
    text = text.strip()
    if text.startswith("["):
        return [_scalar(item) for item in _ITEM.findall(_COMMENT.sub("", text)) if item.strip()]
    return _scalar(text)


def _scalar(text: str) -> str:
    text = text.strip()
    for quote in "\"'":
        if text.startswith(quote) and (end := text.rfind(quote)) > 0:
            inner = text[1:end]
            return inner.replace("''", "'") if quote == "'" else inner.replace('\\"', '"').replace("\\\\", "\\")
    return _COMMENT.sub("", text).strip()
