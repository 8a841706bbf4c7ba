"""A catalogue in a file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from mcp.types import Tool as McpTool

from hikidashi.errors import ToolSearchError
from hikidashi.search import ToolCatalog, store

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
    deep: dict[str, Any] = {}
    for _ in range(10_000):
        deep = {"a": deep}
    for default in (object(), deep):
        with pytest.raises(ToolSearchError, match=r"Tool 'odd' cannot be saved: its schema is no JSON.*Use only"):
            ToolCatalog([{"name": "odd", "input_schema": {"default": default}}]).save(path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_a_write_that_fails_leaves_what_was_there(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ToolCatalog(TOOLS).save(path)
    before = path.read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(ToolSearchError, match=r"cannot be saved to '.*tools\.catalogue': No space.*has room") as caught:
        ToolCatalog(TOOLS[:1]).save(path)
    assert caught.value.code == "unavailable"
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    ("target", "reason"),
    [("no/such/folder", "No such file"), (".", "Is a directory"), ("a\0b", "embedded null")],
)
def test_a_place_that_takes_no_file_is_told(tmp_path: Path, target: str, reason: str) -> None:
    with pytest.raises(ToolSearchError, match=f"cannot be saved to .*: {reason}.*Choose a file"):
        ToolCatalog(TOOLS).save(tmp_path / target)
    assert list(tmp_path.iterdir()) == []


def test_a_link_stays_a_link_to_what_was_saved(path: Path) -> None:
    link = path.with_name("link")
    link.symlink_to(path.name)
    ToolCatalog(TOOLS).save(link)
    assert link.is_symlink()
    assert ToolCatalog.load(path).names == ToolCatalog(TOOLS).names


@pytest.mark.parametrize("place", [0.1, 0.5, 0.9])
def test_a_damaged_file_is_refused(path: Path, place: float) -> None:
    ToolCatalog(TOOLS).save(path)
    content = bytearray(path.read_bytes())
    head = content.index(b"\n") + 1
    content[head + int((len(content) - head) * place)] ^= 1
    path.write_bytes(content)
    with pytest.raises(ToolSearchError, match=r"is damaged\. Build it again") as caught:
        ToolCatalog.load(path)
    assert caught.value.code == "unavailable"


def test_a_file_cut_short_is_refused_wherever_it_ends(path: Path) -> None:
    ToolCatalog(TOOLS).save(path)
    content = path.read_bytes()
    head = content.index(b"\n") + 1
    zeros = content[:head] + bytes(8)  # what a crash may leave of a file; the checksum of nothing is 0
    for rest in (content[:head], zeros, content[: head + 8], content[: head + 40], content[:-20]):
        path.write_bytes(rest)
        with pytest.raises(ToolSearchError, match="is damaged"):
            ToolCatalog.load(path)


def test_a_file_whose_terms_were_made_by_other_rules_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hikidashi.search.store._RULES", ("stem",))
    store._magic.cache_clear()
    ToolCatalog(TOOLS).save(path)
    monkeypatch.undo()
    store._magic.cache_clear()
    with pytest.raises(ToolSearchError, match=r"another version of hikidashi\. Build the catalogue again"):
        ToolCatalog.load(path)


def test_a_program_without_its_sources_reads_what_it_wrote(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hikidashi.search.store._RULES", ("no_such_module",))
    store._magic.cache_clear()
    ToolCatalog(TOOLS).save(path)
    assert answers(ToolCatalog.load(path)) == answers(ToolCatalog(TOOLS))
    store._magic.cache_clear()


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"", "is no saved catalogue"), (b"{}", "is no saved"), (b"hikidashi catalogue 99\n...", "another version")],
)
def test_a_foreign_file_is_refused(path: Path, content: bytes, words: str) -> None:
    path.write_bytes(content)
    with pytest.raises(ToolSearchError, match=words):
        ToolCatalog.load(path)


@pytest.mark.parametrize(("name", "reason"), [("nowhere", "No such file"), ("a\0b", "embedded null")])
def test_a_missing_file_is_an_error_that_names_it(tmp_path: Path, name: str, reason: str) -> None:
    with pytest.raises(ToolSearchError, match=f"cannot be read: {reason}.*Check the path") as caught:
        ToolCatalog.load(tmp_path / name)
    assert repr(str(tmp_path / name)) in str(caught.value)


def test_a_file_with_more_tools_than_the_limit_is_refused(path: Path) -> None:
    ToolCatalog(TOOLS).save(path)
    with pytest.raises(ToolSearchError, match=r"takes 3 tools, and .* has 4"):
        ToolCatalog.load(path, limit_tools=3)
