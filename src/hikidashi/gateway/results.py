"""Results that are too long or too large for a client, and arguments that explain an error."""

from __future__ import annotations

import json
import secrets
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

from ..common.json import as_list, as_object, is_list, is_object

_MOST_KEPT = 64
_MOST_CHARACTERS = 200_000_000  # of all kept texts together
_BREAKS = ("\n\n", "\n", " ")


class LongResults:
    """The rest of results that were cut; the least recently used are dropped when there are too many."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, str], tuple[str, int]] = OrderedDict()

    def cut(self, result: dict[str, Any], limit: int, owner: str = "") -> dict[str, Any]:
        """`result` with at most `limit` characters of text; a last text names the handle of the rest.

        Only `owner` can read the rest.
        """
        content = as_list(result.get("content"))
        given = result.get("structuredContent")
        structured = "" if given is None else json.dumps(given, ensure_ascii=False)
        if sum(len(_text_of(block) or "") for block in content) <= limit and len(structured) <= limit:
            return result
        if structured and not any(_is_json_of(_text_of(block), given) for block in content):
            content = [*content, {"type": "text", "text": structured}]
        kept: list[dict[str, Any]] = []
        rest: list[str] = []
        left = limit
        for block in content:
            text = _text_of(block)
            if text is None:
                kept.append(block)
            elif left <= 0:
                rest.append(text)
            elif len(text) <= left:
                kept.append(block)
                left -= len(text)
            else:
                end = _break(text, left)
                part, resource = {"text": text[:end]}, block.get("resource")
                kept.append({**block, **({"resource": {**resource, **part}} if is_object(resource) else part)})
                rest.append(text[end:])
                left = 0
        whole = {key: value for key, value in result.items() if key != "structuredContent"}  # it is part of the texts
        if not rest:
            return {**whole, "content": kept}
        handle = self._keep("\n".join(rest), limit, owner)
        note = (
            f"[{len(self._kept[owner, handle][0]):,} more characters: "
            f'read them with read_result(handle="{handle}", offset=0).]'
        )
        return {**whole, "content": [*kept, {"type": "text", "text": note}]}

    def read(self, handle: str, offset: int, owner: str = "") -> str | None:
        """The kept text from `offset` on, as much as a result may have, and how much is left; None if there is none."""
        if (owner, handle) not in self._kept:
            return None
        self._kept.move_to_end((owner, handle))
        text, limit = self._kept[owner, handle]
        if offset >= len(text):
            return f"[The result ends at {len(text):,} characters.]"
        end = offset + _break(text[offset : offset + limit + 1], limit) if len(text) - offset > limit else len(text)
        left = len(text) - end
        note = f'\n[{left:,} more characters: read_result(handle="{handle}", offset={end}).]' if left else ""
        return text[offset:end] + note

    def _keep(self, text: str, limit: int, owner: str) -> str:
        handle = secrets.token_hex(8)
        self._kept[owner, handle] = text, limit
        while len(self._kept) > _MOST_KEPT or (
            len(self._kept) > 1 and sum(len(kept) for kept, _ in self._kept.values()) > _MOST_CHARACTERS
        ):
            self._kept.popitem(last=False)
        return handle


def _text_of(block: dict[str, Any]) -> str | None:
    """The text of a content block or of the resource in it."""
    resource = block.get("resource")
    text: object = resource.get("text") if is_object(resource) else block.get("text")
    return text if isinstance(text, str) else None


def _is_json_of(text: str | None, value: object) -> bool:
    """Whether `text` is `value` as JSON, as servers repeat it for older clients."""
    try:
        return text is not None and json.loads(text) == value
    except (ValueError, RecursionError):
        return False


def _break(text: str, limit: int) -> int:
    """Where to cut `text` so that at most `limit` characters stay: after a paragraph, a line, or a word."""
    for end in _BREAKS:
        place = text.rfind(end, limit // 2, limit)
        if place >= 0:
            return min(place + len(end), limit)
    return limit


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
    given = as_list(result.get("content"))
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
    data = as_object(block.get("resource")).get("blob", block.get("data"))
    return len(data) if isinstance(data, str) else 0


def _left_out(block: dict[str, Any], size: int, most: int) -> str:
    resource = as_object(block.get("resource"))
    kind = resource.get("mimeType") or block.get("mimeType") or "of an unknown type"
    named = _KINDS.get(str(block.get("type")), f"The file {str(resource.get('uri'))[:200]!r}")
    return (
        f"[{named} ({str(kind)[:100]}, {size:,} characters of base64) was left out: a result has {most:,} of them at "
        "most, and read_result reads text only. Ask for a smaller one or for fewer at once, or have the person raise "
        "`result_characters` of this server.]"
    )


_MAX_PROBLEMS = 5

_IS_OF_TYPE: dict[str, Callable[[Any], bool]] = {
    "array": lambda value: isinstance(value, list),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int | float) and not isinstance(value, bool) and value == value // 1,
    "null": lambda value: value is None,
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "object": lambda value: isinstance(value, dict),
    "string": lambda value: isinstance(value, str),
}


def argument_problems(schema: object, arguments: Mapping[str, Any]) -> list[str]:
    """What is wrong with `arguments`, as far as plain keywords of `schema` decide it; at most five problems.

    Whatever a JSON Schema validator accepts has no problems. Values are not quoted: they may be secrets.
    """
    given = _plain(schema)
    if given is None:
        return []
    properties = as_object(given.get("properties"))
    required: object = given.get("required")
    problems = [
        f"{name!r} is missing" for name in (as_list(required)) if isinstance(name, str) and name not in arguments
    ]
    for name, value in arguments.items():
        if name in properties:
            problems += [f"{name!r} {problem}" for problem in _value_problems(properties[name], value)]
        elif given.get("additionalProperties") is False and "patternProperties" not in given:
            problems.append(f"there is no {name!r}")
    return problems[:_MAX_PROBLEMS]


def _value_problems(schema: object, value: object) -> list[str]:
    given = _plain(schema)
    if given is None:
        return []
    allowed: object = given.get("type")
    types = allowed if is_list(allowed) else [allowed]
    checks = [_IS_OF_TYPE[name] for name in types if isinstance(name, str) and name in _IS_OF_TYPE]
    if len(checks) == len(types) > 0 and not any(check(value) for check in checks):
        return [f"must be of type {' or '.join(map(str, types))}"]
    choices: object = given.get("enum")
    if is_list(choices) and choices and value not in choices:
        return [f"must be one of {choices[:20]!r}"]
    return []


def _plain(schema: object) -> dict[str, Any] | None:
    """`schema`, if its keywords mean the same in every draft since 4: a `$ref` hides its siblings up to draft 7."""
    given = as_object(schema)
    if not given or "$ref" in given or "draft-03" in str(given.get("$schema", "")):
        return None
    return given
