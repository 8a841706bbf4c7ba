"""JSON with comments and TOML, changed as text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikidashi.common.json import JsoncError, parse
from hikidashi.gateway.clients.edits import (
    EditError,
    append,
    put,
    put_member_source,
    put_table,
    put_table_source,
    remove,
    remove_items,
    remove_table,
)

ENTRY: dict[str, Any] = {"command": "/bin/hikidashi", "args": ["serve", "--config", "引き出し.json"]}

blanks = st.sampled_from(["", " ", "\n", "\n  ", "\r\n\t", " // a note\n", "/* note */", "/* two\nlines */ ", "//\n"])
words = st.text(alphabet='aé引"\\/*{}[],:\n', max_size=4)
scalars = st.none() | st.booleans() | st.integers() | words
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(st.sampled_from(["mcpServers", "other", "ä"]), values, max_size=3)


def written(value: Any, draw: Any) -> str:
    """`value` as somebody might have written it, with comments and trailing commas."""
    blank = draw(blanks)
    if isinstance(value, dict | list):
        pairs = [
            (f"{json.dumps(key)}{draw(blanks)}:{draw(blanks)}" if isinstance(value, dict) else "")
            + written(value[key], draw)  # pyright: ignore[reportUnknownArgumentType]
            for key in (value if isinstance(value, dict) else range(len(value)))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        ]
        body = ",".join(draw(blanks) + pair + draw(blanks) for pair in pairs)
        comma = "," + draw(blanks) if pairs and draw(st.booleans()) else ""
        opening, closing = "{}" if isinstance(value, dict) else "[]"
        return opening + blank + body + comma + closing
    return json.dumps(value, ensure_ascii=draw(st.booleans()))


@st.composite
def documents(draw: Any) -> tuple[str, dict[str, Any]]:
    value = draw(objects)
    return draw(st.sampled_from(["", "\ufeff"])) + draw(blanks) + written(value, draw) + draw(blanks), value


def value_of(text: str) -> Any:
    node = parse(text)
    return None if node is None else node.value


def is_kept(text: str, changed: str) -> bool:
    """Whether `changed` is `text` with at most two insertions."""
    start = 0
    while start < len(text) and text[start] == changed[start : start + 1]:
        start += 1
    rest, end = text[start:], len(text)
    while end > start and text[end - 1] == changed[len(changed) - len(text) + end - 1]:
        end -= 1
    middle = text[start:end]
    return not rest or middle in changed[start:]


@given(documents())
def test_what_is_put_in_is_all_that_changes(document: tuple[str, dict[str, Any]]) -> None:
    text, value = document
    assert value_of(text) == value
    servers = value.get("mcpServers", {})
    if not isinstance(servers, dict):
        with pytest.raises(EditError, match="is not an object"):
            put(text, ("mcpServers", "hikidashi"), ENTRY)
        return
    changed = put(text, ("mcpServers", "hikidashi"), ENTRY)
    assert value_of(changed) == {**value, "mcpServers": {**servers, "hikidashi": ENTRY}}
    if "hikidashi" not in servers:
        assert is_kept(text, changed)
        taken = remove(changed, ("mcpServers", "hikidashi"))
        assert value_of(taken) == {**value, "mcpServers": servers}
        comments = re.findall(r"//[^\r\n]*|/\*.*?\*/", re.sub(r'"(?:[^"\\]|\\.)*"', '""', text), re.DOTALL)
        found = re.findall(r"//[^\r\n]*|/\*.*?\*/", re.sub(r'"(?:[^"\\]|\\.)*"', '""', taken), re.DOTALL)
        assert found == comments


@given(documents(), st.lists(scalars, max_size=4))
def test_items_come_and_go(document: tuple[str, dict[str, Any]], items: list[Any]) -> None:
    text, value = document
    before = value.get("other", [])
    if not isinstance(before, list):
        with pytest.raises(EditError, match="`other` is not an array"):
            append(text, ("other",), 1)
        return
    changed = text
    for item in items:
        changed = append(changed, ("other",), item)
    if items:
        assert value_of(changed) == {**value, "other": [*before, *items]}
    none = remove_items(changed, ("other",), lambda item: not isinstance(item, dict | list))
    left = [item for item in before if isinstance(item, dict | list)]  # pyright: ignore[reportUnknownVariableType]
    assert value_of(none).get("other", []) == left


@given(st.text(alphabet='{}[]:,"/*\n\\ a1-.tru\r\ufeff'))
def test_any_text_is_read_or_refused_with_its_place(text: str) -> None:
    try:
        json_value = json.loads(text.removeprefix("\ufeff"))
    except ValueError:
        json_value = ...
    for comments in (True, False):
        refused = None
        node = None
        try:
            node = parse(text, comments=comments)
        except JsoncError as error:
            refused = error
        if json_value is not ...:
            assert node is not None
            assert node.value == json_value
        elif refused is not None:
            lines = re.split(r"\r\n|\n|\r", text)
            assert 1 <= refused.line <= len(lines)
            assert 1 <= refused.column <= len(lines[refused.line - 1]) + 2


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{}", '{\n  "s": {\n    "h": 1\n  }\n}'),
        ("", '{\n  "s": {\n    "h": 1\n  }\n}\n'),
        ("// mine\n", '// mine\n{\n  "s": {\n    "h": 1\n  }\n}\n'),
        ('{"s":{"a":1}}', '{"s":{"a":1, "h": 1}}'),
        ('{"s":{"a":1,}}', '{"s":{"a":1, "h": 1,}}'),
        ('{\n\t"s": {\n\t\t"a": 1 // one\n\t}\n}\n', '{\n\t"s": {\n\t\t"a": 1, // one\n\t\t"h": 1\n\t}\n}\n'),
        ('{\n "s": {\n  "a": 1, // one\n }\n}', '{\n "s": {\n  "a": 1, // one\n  "h": 1,\n }\n}'),
        ('{\r\n    "s": {}\r\n}', '{\r\n    "s": {\r\n        "h": 1\r\n    }\r\n}'),
        ('{"s": {"h": 0, "h": 2}}', '{"s": {"h": 0, "h": 1}}'),
    ],
)
def test_the_manner_of_the_file_is_kept(before: str, after: str) -> None:
    assert put(before, ("s", "h"), 1) == after


@pytest.mark.parametrize(
    ("text", "line", "column", "reason"),
    [
        ('{\n  "a": 1\n  "b": 2}', 3, 3, "a comma or `}` is missing"),
        ('{"a": 1', 1, 8, "a comma or `}` is missing, and the file ends"),
        ("{a: 1}", 1, 2, "a name in double quotes is missing"),
        ('{"a" 1}', 1, 6, "a colon is missing"),
        ('{"a": }', 1, 7, "a value is missing"),
        ("{} {}", 1, 4, "there is more after the value"),
        ("{} /* x", 1, 4, "a comment does not end"),
        ("[NaN]", 1, 2, "a value is missing"),
        ("[-Infinity]", 1, 2, "-Infinity is not JSON"),
        ("[" * 300, 1, 202, "it is nested more than 200 deep"),
    ],
)
def test_a_broken_text_says_where(text: str, line: int, column: int, reason: str) -> None:
    with pytest.raises(JsoncError) as caught:
        parse(text)
    assert (caught.value.line, caught.value.column, caught.value.reason) == (line, column, reason)


@pytest.mark.parametrize(
    ("text", "reason"), [('{"a": 1, // x\n}', "comments are not allowed here"), ("[1,]", "a trailing comma is not")]
)
def test_strict_json_has_no_comments_and_no_trailing_commas(text: str, reason: str) -> None:
    with pytest.raises(JsoncError, match=reason):
        parse(text, comments=False)


_JSON = """{
  // mine
  "permissions": {"allow": []},
  "mcpServers": {
    "a": {"command": "x"}, // the first
    "b": {"command": "y"}
  }
}
"""
_TOML = """model = "x" # mine

[mcp_servers.a]
command = "x"
args = [
  "-y", # yes
]

# the second
[mcp_servers.b]
command = "y"
"""
_EDITS: dict[str, tuple[str, Callable[[str], str]]] = {
    "JSON: a new member": (_JSON, lambda text: put(text, ("mcpServers", "h"), ENTRY)),
    "JSON: another value": (_JSON, lambda text: put(text, ("mcpServers", "a"), ENTRY)),
    "JSON: a new object": (_JSON, lambda text: put(text, ("servers", "h"), ENTRY)),
    "JSON: a member put back": (
        _JSON,
        lambda text: put_member_source(text, ("mcpServers", "c"), '"c": {\n  "command": "z"\n}'),
    ),
    "JSON: an item": (_JSON, lambda text: append(text, ("hooks", "PreToolUse"), {"matcher": "x"})),
    "JSON: a removal": (_JSON, lambda text: remove(text, ("mcpServers", "a"))),
    "JSON: items removed": (_JSON, lambda text: remove_items(text, ("permissions", "allow"), bool)),
    "TOML: a new table": (_TOML, lambda text: put_table(text, ("mcp_servers", "h"), ENTRY)),
    "TOML: another table": (_TOML, lambda text: put_table(text, ("mcp_servers", "a"), ENTRY)),
    "TOML: a table put back": (
        _TOML,
        lambda text: put_table_source(text, ("mcp_servers", "c"), '[mcp_servers.c]\ncommand = "z"\n'),
    ),
    "TOML: a removal": (_TOML, lambda text: remove_table(text, ("mcp_servers", "a"))),
}


@pytest.mark.parametrize("case", _EDITS)
def test_a_file_of_windows_keeps_its_line_ends_and_gets_the_same_as_another(case: str) -> None:
    text, edit = _EDITS[case]
    assert edit(text.replace("\n", "\r\n")) == edit(text).replace("\n", "\r\n")


def test_the_comment_above_the_next_table_stays_when_a_table_is_removed() -> None:
    # tomlkit counts it to the table before, and takes it away; and it adds tables with mixed line ends.
    assert remove_table(_TOML, ("mcp_servers", "a")) == (
        'model = "x" # mine\n\n# the second\n[mcp_servers.b]\ncommand = "y"\n'
    )
