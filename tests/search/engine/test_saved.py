"""A catalogue in a file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.types import Tool as McpTool

from hikidashi.errors import ToolSearchError, ToolValidationError
from hikidashi.search import ToolCatalog
from hikidashi.search.engine import saved as store

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
        with pytest.raises(ToolSearchError, match=r"Tool 'odd' cannot be saved: its schema is not JSON.*Use only"):
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


OLDER = r"older version of hikidashi, .* Build the catalogue from its tools again and save it: `ToolCatalog\(tools\)"
NEWER = r"newer version of hikidashi\. Upgrade hikidashi, or build the catalogue from its tools again"


@pytest.mark.parametrize(
    ("header", "words"),
    [
        (f"{store.FORMAT_VERSION} {store.RULES_VERSION - 1}\n", OLDER),
        (f"{store.FORMAT_VERSION - 1} {store.RULES_VERSION + 1}\n", OLDER),
        ("4 0123456789abcdef\n", OLDER),
        ("4 1234567890123456\n", OLDER),
        ("cut", OLDER),
        (f"{store.FORMAT_VERSION} {store.RULES_VERSION + 1}\n", NEWER),
        (f"{store.FORMAT_VERSION + 1} {store.RULES_VERSION}\n", NEWER),
        ("99\n...", NEWER),
    ],
)
def test_a_file_of_another_version_is_refused_with_what_to_do(path: Path, header: str, words: str) -> None:
    ToolCatalog(TOOLS).save(path)
    content = path.read_bytes()
    path.write_bytes(store.NAME + header.encode() + content[content.index(b"\n") + 1 :])
    with pytest.raises(ToolSearchError, match=words) as caught:
        ToolCatalog.load(path)
    assert (caught.value.code, repr(str(path)) in str(caught.value)) == ("unavailable", True)


@pytest.mark.parametrize("content", [b"", b"{}", b"hikidashi"])
def test_a_foreign_file_is_refused(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(ToolSearchError, match=r"is not a saved catalogue\. Check the path, or build"):
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


def live(tool: dict[str, Any]) -> McpTool:
    return McpTool(name=tool["name"], description=tool.get("description"), input_schema={"type": "object"})


LIVE = [{**tool, "call": object()} for tool in TOOLS]


def test_a_saved_index_takes_the_tools_themselves(path: Path) -> None:
    ToolCatalog(TOOLS).save(path)
    loaded = ToolCatalog.load(path, tools=LIVE)
    assert list(loaded) == LIVE
    assert answers(loaded) == answers(ToolCatalog(TOOLS))
    assert all(match.tool["call"] for query in QUERIES for match in loaded.search(query))
    assert loaded.search_regex("file$")[0].tool in LIVE


def test_tools_that_are_described_as_saved_are_not_indexed_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ToolCatalog([live(tool) for tool in TOOLS]).save(path)

    def no_index(*_: object) -> int:
        raise AssertionError("indexed again")

    monkeypatch.setattr("hikidashi.search.engine.index.Index.add", no_index)
    objects = [live(tool) for tool in TOOLS]
    loaded = ToolCatalog.load(path, tools=objects)
    assert all(tool is given for tool, given in zip(loaded, objects, strict=True))


def test_changed_and_new_tools_are_indexed_and_those_gone_left_out_with_a_warning(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ToolCatalog(TOOLS).save(path)
    now = [{"name": "move_file", "description": "Moves"}, {**LIVE[3], "description": "Scribbles on paper"}, *LIVE[:2]]
    loaded = ToolCatalog.load(path, tools=now)
    assert loaded.names == ["move_file", "write_file", "send_mail", "天気予報"]
    assert answers(loaded) == answers(ToolCatalog(now))
    assert [match.name for match in loaded.search("scribble")] == ["write_file"]
    assert "read_file" not in loaded
    assert [record.getMessage() for record in caplog.records] == [
        f"The catalogue {path} has tools that were not given, which are left out (1): 'read_file'."
    ]
    loaded.save(path)
    again = ToolCatalog.load(path)
    assert again.names == loaded.names
    assert answers(again) == answers(loaded)


def test_tools_in_another_order_are_saved_in_that_order(path: Path) -> None:
    ToolCatalog(TOOLS).save(path)
    turned = ToolCatalog.load(path, tools=LIVE[::-1])
    assert turned.names == ToolCatalog(TOOLS[::-1]).names
    turned.save(path)
    assert answers(ToolCatalog.load(path)) == answers(ToolCatalog(TOOLS[::-1]))


def test_tools_given_to_a_saved_index_are_checked_as_those_of_a_new_catalogue(path: Path) -> None:
    ToolCatalog(TOOLS).save(path)
    with pytest.raises(ToolValidationError, match="Two tools are named 'send_mail'"):
        ToolCatalog.load(path, tools=[TOOLS[0], TOOLS[0]])
    with pytest.raises(ToolValidationError, match=r"at position 1 .* has no name"):
        ToolCatalog.load(path, tools=[TOOLS[0], {}])
    with pytest.raises(ToolSearchError, match="takes 1 tools, and 2 were given"):
        ToolCatalog.load(path, tools=TOOLS[:2], limit_tools=1)


@given(st.lists(st.sampled_from(range(6)), unique=True), st.lists(st.sampled_from(range(6)), unique=True), st.data())
def test_a_bound_catalogue_answers_as_one_built_of_the_same_tools(
    saved: list[int], given_now: list[int], data: st.DataObject
) -> None:
    def made(numbers: list[int], words: str) -> list[dict[str, Any]]:
        return [{"name": f"tool_{number}", "description": f"{words} of item {number}"} for number in numbers]

    with TemporaryDirectory() as folder:
        file = Path(folder) / "saved"
        ToolCatalog(made(saved, "colour")).save(file)
        now = made(given_now, data.draw(st.sampled_from(["colour", "shape"])))
        bound = ToolCatalog.load(file, tools=now)
    fresh = ToolCatalog(now)
    assert (bound.names, list(bound)) == (fresh.names, now)
    for query in ("colour of item", "shape", "tool_3") if now else ():
        found = {match.name: match.score for match in bound.search(query, limit=6)}
        # Of tools that are equal, a limit may cut off others: their order is that of their numbers.
        assert sorted(found.values()) == sorted(match.score for match in fresh.search(query, limit=6))


_KILLED = """
import os, sys
from hikidashi.search import ToolCatalog
os.fsync = lambda descriptor: (print("writing", flush=True), sys.stdin.read())
ToolCatalog([{"name": "a"}]).save(sys.argv[1])
"""


def test_what_a_killed_writer_left_is_removed_and_what_another_is_writing_is_not(path: Path) -> None:
    def writer() -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", _KILLED, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    with writer() as killed, writer() as alive:
        for process in (killed, alive):
            assert process.stdout is not None
            assert process.stdout.readline() == "writing\n"
        killed.kill()
        killed.wait()
        assert len(list(path.parent.iterdir())) == 2
        ToolCatalog(TOOLS).save(path)
        assert len(list(path.parent.iterdir())) == 2  # the catalogue, and the file of the writer that lives
        assert ToolCatalog.load(path).names == ToolCatalog(TOOLS).names
        alive.communicate()
    assert alive.returncode == 0
    assert list(path.parent.iterdir()) == [path]
    assert ToolCatalog.load(path).names == ["a"]
