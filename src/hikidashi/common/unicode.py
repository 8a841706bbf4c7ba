"""Text that UTF-8 can carry."""

from __future__ import annotations

__all__ = ["well_formed"]


def well_formed(text: str) -> str:
    """`text` without lone surrogates: each becomes U+FFFD, and a pair of them the character it encodes.

    JSON, terminals and file names may bring surrogates in; UTF-8 files, SQLite and the model APIs refuse them.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
