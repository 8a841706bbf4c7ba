"""Images, sounds and files in a result: more than a client can take is left out, and a text says so."""

from __future__ import annotations

from typing import Any, cast

__all__ = ["without_large_files"]

_TIMES_THE_TEXT = 150
"""Characters of base64 for each character of text that a result may have: by default 15,000,000.

Claude Code takes an image of 15 MB and makes it smaller by itself; when a message on stdio has 16 MiB, it closes the
connection, and with it all servers behind the gateway (measured on CLI 2.1.325).
"""
_KINDS = {"image": "An image", "audio": "A sound"}


def without_large_files(result: dict[str, Any], characters: int) -> dict[str, Any]:
    """`result` with as many of its images, sounds and files as fit; each other is replaced by a text that names it.

    Args:
        result: The result of a call.
        characters: How many characters of text it may have.
    """
    most = left = characters * _TIMES_THE_TEXT
    given = cast("list[dict[str, Any]]", result.get("content") or [])
    if sum(map(_size_of, given)) <= most:
        return result
    content: list[dict[str, Any]] = []
    for block in given:
        size = _size_of(block)
        if size <= left:
            content.append(block)
            left -= size
        else:
            content.append({"type": "text", "text": _left_out(block, size, most)})
    return {**result, "content": content}


def _size_of(block: dict[str, Any]) -> int:
    """The length of the data of an image, a sound or a file in base64; 0 for anything else."""
    data = _object(block.get("resource")).get("blob", block.get("data"))
    return len(data) if isinstance(data, str) else 0


def _left_out(block: dict[str, Any], size: int, most: int) -> str:
    resource = _object(block.get("resource"))
    kind = resource.get("mimeType") or block.get("mimeType") or "of an unknown type"
    named = _KINDS.get(str(block.get("type")), f"The file {str(resource.get('uri'))[:200]!r}")
    return (
        f"[{named} ({str(kind)[:100]}, {size:,} characters of base64) was left out: a result has {most:,} of them at "
        "most, and read_result reads text only. Ask for a smaller one or for fewer at once, or have the person raise "
        "`result_characters` of this server.]"
    )


def _object(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
