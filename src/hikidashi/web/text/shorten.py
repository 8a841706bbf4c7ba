"""Limits on the length of texts from others."""

from __future__ import annotations

__all__ = ["short_line"]


def short_line(text: str, longest: int) -> str:
    """`text` unchanged if it has at most `longest` characters; else its beginning on one line, with an ellipsis."""
    if len(text) <= longest:
        return text
    # Only as much as needed: a text of megabytes is not split into words.
    return " ".join(text[: longest * 4].split())[: longest - 1].rstrip() + "…"
