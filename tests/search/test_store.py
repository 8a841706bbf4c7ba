"""A catalogue in a file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from mcp.types import Tool as McpTool

from hikidashi.errors import ToolSearchError
from hikidashi.search import ToolCatalog

TOOLS: list[dict[str, Any]] = [
    {"name": "send_mail", "description": "Send an email", "input_schema": {"type": "object"}, "defer_loading": True},
    {"name": "天気予報", "description": "明日の天気", "aliases": ["forecast"], "tags": ["climate"]},
    {"name": "read_file", "description": "Reads a file\nfrom disk", "input_schema": {"properties": {"path": {}}}},
    {"name": "write_file", "description": "Writes a \ud83d file"},
]
QUERIES = [
    "send email",
    "明日の天気を教えて",
    "climate",
    "forecast",
    "read files from disk",
    "write_file",
    "emial sned",
]


def answers(catalog: ToolCatalog) -> list[list[tuple[str, float, Any]]]:
    return [[(match.name, match.score, match.why) for match in catalog.search(query)] for query in QUERIES]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tools.catalogue"


def test_a_loaded_catalogue_answers_as_the_saved_one_did(path: Path) -> None:
    catalog = ToolCatalog(TOOLS)
    catalog.save(path)
    loaded = ToolCatalog.load(path)
    assert answers(loaded) == answers(catalog)
    assert loaded.names == catalog.names
    assert list(loaded) == TOOLS
    for pattern in ("file$", "^path$", "天気", "CLIMATE"):
        assert loaded.search_regex(pattern) == catalog.search_regex(pattern)


def test_a_loaded_catalogue_changes_as_a_built_one_does(path: Path) -> None:
    more = {"name": "delete_file", "description": "Deletes a file from disk"}
    catalog = ToolCatalog(TOOLS)
    catalog.save(path)
    loaded = ToolCatalog.load(path)
    for each in (catalog, loaded):
        each.add(more)
        each.remove("read_file")
    assert answers(loaded) == answers(catalog)
    loaded.save(path)
    assert answers(ToolCatalog.load(path)) == answers(catalog)


def test_a_file_is_the_same_whatever_the_byte_order_of_the_machine(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = ToolCatalog(TOOLS)
    monkeypatch.setattr("sys.byteorder", "big" if sys.byteorder == "little" else "little")
    catalog.save(path)
    assert answers(ToolCatalog.load(path)) == answers(catalog)


def test_an_empty_catalogue_is_saved_too(path: Path) -> None:
    ToolCatalog().save(path)
    assert len(ToolCatalog.load(path)) == 0


def test_tools_that_are_no_dicts_come_back_as_anthropic_dicts(path: Path) -> None:
    schema = {"type": "object", "properties": {"q": {"type": "string"}}}
    ToolCatalog([McpTool(name="find", title="Finder", description="Finds", input_schema=schema)]).save(path)
    expected = {"name": "find", "description": "Finds", "input_schema": schema, "aliases": ["Finder"]}
    assert ToolCatalog.load(path).search("finder")[0].tool == expected


def test_a_dict_with_more_than_json_in_it_is_saved_without_the_rest(path: Path) -> None:
    ToolCatalog([{"name": "find", "description": "Finds", "handler": print}]).save(path)
    assert list(ToolCatalog.load(path)) == [
        {"name": "find", "description": "Finds", "input_schema": {"type": "object", "properties": {}}}
    ]


def test_a_schema_that_is_no_json_cannot_be_saved_and_what_was_there_stays(path: Path) -> None:
    ToolCatalog(TOOLS).save(path)
    before = path.read_bytes()
    with pytest.raises(ToolSearchError, match="Tool 'odd' cannot be saved"):
        ToolCatalog([{"name": "odd", "input_schema": {"default": object()}}]).save(path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_a_write_that_fails_leaves_what_was_there(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ToolCatalog(TOOLS).save(path)
    before = path.read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        ToolCatalog(TOOLS[:1]).save(path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("place", [0.1, 0.5, 0.9])
def test_a_damaged_file_is_refused(path: Path, place: float) -> None:
    ToolCatalog(TOOLS).save(path)
    content = bytearray(path.read_bytes())
    content[30 + int((len(content) - 30) * place)] ^= 1
    path.write_bytes(content)
    with pytest.raises(ToolSearchError, match=r"is damaged\. Build it again") as caught:
        ToolCatalog.load(path)
    assert caught.value.code == "unavailable"


def test_a_file_cut_short_is_refused(path: Path) -> None:
    ToolCatalog(TOOLS).save(path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ToolSearchError, match="is damaged"):
        ToolCatalog.load(path)


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"", "is no saved catalogue"), (b"{}", "is no saved"), (b"hikidashi catalogue 99\n...", "another version")],
)
def test_a_foreign_file_is_refused(path: Path, content: bytes, words: str) -> None:
    path.write_bytes(content)
    with pytest.raises(ToolSearchError, match=words):
        ToolCatalog.load(path)


def test_a_missing_file_is_an_error_that_names_it(path: Path) -> None:
    with pytest.raises(ToolSearchError, match=r"tools\.catalogue' cannot be read: No such file"):
        ToolCatalog.load(path)


def test_a_file_with_more_tools_than_the_limit_is_refused(path: Path) -> None:
    ToolCatalog(TOOLS).save(path)
    with pytest.raises(ToolSearchError, match=r"takes 3 tools, and .* has 4"):
        ToolCatalog.load(path, limit_tools=3)
