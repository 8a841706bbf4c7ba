"""Media types: which content is text, and which images a model can read."""

from __future__ import annotations

import codecs
from email.message import Message

__all__ = ["IMAGES", "decoded", "is_text", "utf16_length"]

IMAGES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
"""The image types that the Anthropic API takes."""

_TEXT = frozenset(
    {
        "application/ecmascript",
        "application/graphql",
        "application/javascript",
        "application/json",
        "application/sql",
        "application/toml",
        "application/x-ndjson",
        "application/x-sh",
        "application/x-yaml",
        "application/xml",
        "application/yaml",
        "image/svg+xml",
    }
)
_TEXT_SUFFIXES = ("+json", "+xml", "+yaml")
_BOMS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


def is_text(media_type: str) -> bool:
    """Whether content of this type is text that a model can read as it is."""
    kind = media_type.partition(";")[0].strip().lower()
    return kind.startswith("text/") or kind in _TEXT or kind.endswith(_TEXT_SUFFIXES)


def decoded(data: bytes, media_type: str) -> str | None:
    """`data` as text in the charset that it or its type names, else UTF-8; `None` if it is not that."""
    marked = next((name for bom, name in _BOMS.items() if data.startswith(bom)), None)
    try:
        return data.decode(marked or _charset(media_type) or "utf-8")
    except (LookupError, UnicodeDecodeError):
        return None


def utf16_length(text: str) -> int:
    """The length of `text` as Claude Code counts it, in UTF-16 code units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def _charset(media_type: str) -> str | None:
    header = Message()
    header["content-type"] = media_type
    return header.get_content_charset()
