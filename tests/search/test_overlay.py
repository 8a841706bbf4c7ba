"""Aliases and better descriptions for tools of others: in a file, in a catalogue, from a report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strands.types.tools import AgentTool
from tests.support import saying_its_name

from hikidashi import to_strands
from hikidashi.errors import ToolSourceError
from hikidashi.search import Overlay, ToolCatalog
from hikidashi.search.overlay import Addition

YAML = """\
tools:
  create_issue:
    aliases: [bug report, 不具合の報告]
    description: Report a bug in a project.
  send:
    aliases:
      - telegram
"""
OVERLAY = Overlay(
    {
        "create_issue": Addition(aliases=("bug report", "不具合の報告"), description="Report a bug in a project."),
        "send": Addition(aliases=("telegram",)),
    }
)


def tool(name: str, description: str = "Does it.", **fields: Any) -> dict[str, Any]:
    return {"name": name, "description": description, "input_schema": {"type": "object"}, **fields}


def test_an_overlay_is_read_from_yaml_and_json_and_written_as_it_was_read(tmp_path: Path) -> None:
    (tmp_path / "o.yaml").write_text(YAML)
    assert Overlay.read(tmp_path / "o.yaml") == OVERLAY
    for name in ("new.yaml", "new.json"):
        OVERLAY.write(tmp_path / name)
        assert Overlay.read(tmp_path / name) == OVERLAY
    assert json.loads((tmp_path / "new.json").read_text()) == OVERLAY.as_json()
    (tmp_path / "tabs.json").write_text(json.dumps(OVERLAY.as_json(), indent="\t"))
    assert Overlay.read(tmp_path / "tabs.json") == OVERLAY


TEXTS = st.text(min_size=1).filter(str.strip)


@settings(max_examples=50)
@given(st.dictionaries(TEXTS, st.tuples(st.lists(TEXTS, unique=True), st.none() | TEXTS), max_size=5))
def test_whatever_an_overlay_says_comes_back_from_a_file(tmp_path_factory: Any, said: dict[str, Any]) -> None:
    overlay = Overlay({name: Addition(aliases=tuple(words), description=text) for name, (words, text) in said.items()})
    folder: Path = tmp_path_factory.mktemp("overlay")
    for name in ("o.yaml", "o.json"):
        overlay.write(folder / name)
        assert Overlay.read(folder / name) == overlay


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has no `tools`"),
        ("- a", "has no `tools`"),
        ("tools: 5", "has no `tools`"),
        ("tools: {}\nother: 1", ", line 2: `other` is not a key of an overlay"),
        ("tools:\n  a: text", ", line 2: `tools.a` is a text, not `aliases` and `description`"),
        ("tools:\n  a:\n", ", line 2: `tools.a` is empty"),
        ("tools:\n  a:\n    alias: [b]", ", line 3: `tools.a.alias` is none of 'aliases' and 'description'"),
        ("tools:\n  a:\n    aliases: b", ", line 3: `tools.a.aliases` is not a list of strings"),
        ("tools:\n  a:\n    aliases: [1]", ", line 3: `tools.a.aliases` is not a list of strings"),
        ("tools:\n  a:\n    description: 7", ", line 3: `tools.a.description` is 7, not a text"),
        ("tools:\n  a:\n    description: ' '", ", line 3: `tools.a.description` is an empty text"),
        (
            "tools:\n  a: {}\n  b: 1\n  c: 2",
            ", line 3: `tools.b` is 1, not `aliases` and `description` (line 3); `tools.c",
        ),
        ("tools:\n  a: {}\n  a: {}", ", line 3: `tools.a` is duplicated"),
        ("tools:\n  on: {}", ": `True` is not the name of a tool: put it in quotes"),
        ("tools:\n  a: [", ", line 2: is not YAML"),
        ("tools:\n  a: \x01", "cannot be parsed"),
    ],
)
def test_what_is_wrong_is_told_with_its_key_and_line(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "o.yaml").write_text(text)
    with pytest.raises(ToolSourceError) as caught:
        Overlay.read(tmp_path / "o.yaml")
    assert str(caught.value).startswith(str(tmp_path / "o.yaml"))
    assert said in str(caught.value)


def test_a_file_that_is_not_there_no_text_or_no_json_is_told(tmp_path: Path) -> None:
    with pytest.raises(ToolSourceError, match="there is no such file"):
        ToolCatalog(overlay=tmp_path / "o.yaml")
    (tmp_path / "o.yaml").write_bytes(b"\xff")
    with pytest.raises(ToolSourceError, match="is not text in UTF-8"):
        ToolCatalog(overlay=str(tmp_path / "o.yaml"))
    (tmp_path / "o.json").write_text('{"tools":\n}')
    with pytest.raises(ToolSourceError, match="line 2: is not JSON"):
        Overlay.read(tmp_path / "o.json")


def test_comments_are_never_lost(tmp_path: Path) -> None:
    path = tmp_path / "o.yaml"
    OVERLAY.write(path)
    OVERLAY.write(path)  # its own comment is no loss
    path.write_text("# mine\n" + YAML)
    with pytest.raises(ToolSourceError, match="has comments, which writing would lose"):
        OVERLAY.write(path)
    with pytest.raises(ToolSourceError, match="cannot be written"):
        OVERLAY.write(tmp_path / "none" / "o.yaml")
    assert path.read_text().startswith("# mine")


OPENAI = {"type": "function", "function": {"name": "send", "description": "Does it.", "parameters": {"type": "object"}}}


@pytest.mark.parametrize(
    "given_tool", [tool("send"), tool("send", aliases="wire"), OPENAI, saying_its_name("send"), "strands"]
)
def test_a_catalogue_finds_tools_of_any_kind_by_their_new_words(given_tool: Any) -> None:
    if given_tool == "strands":
        given_tool = to_strands([saying_its_name("send")])[0]
    overlay = {"tools": {"send": {"aliases": ["telegram"], "description": "Sends a message by wire."}}}
    catalog = ToolCatalog([given_tool, tool("other")], overlay=overlay)
    (match,) = catalog.search("telegram")
    assert (match.name, match.entry.description) == ("send", "Sends a message by wire.")
    added = ToolCatalog([tool("other")], overlay=Overlay.of(overlay))
    added.add(given_tool)
    assert [match.name for match in added.search("telegram")] == ["send"]
    kept: Any = catalog.get("send")
    if isinstance(kept, AgentTool):
        assert kept is given_tool
    elif not isinstance(kept, dict):
        assert kept.description == "Sends a message by wire."


def test_tools_that_it_does_not_name_are_as_they_were() -> None:
    other = tool("other")
    catalog = ToolCatalog([other], overlay=OVERLAY)
    assert catalog.get("other") is other
    assert OVERLAY.unknown(catalog.names) == ["create_issue", "send"]


def test_a_saved_catalogue_is_opened_with_an_overlay(tmp_path: Path) -> None:
    ToolCatalog([tool("send"), tool("other")]).save(tmp_path / "c")
    catalog = ToolCatalog.load(tmp_path / "c", overlay=OVERLAY)
    assert [match.name for match in catalog.search("telegram")] == ["send"]
    assert sorted(catalog.names) == ["other", "send"]


def test_aliases_are_added_to_those_that_are_there() -> None:
    more = OVERLAY.with_aliases({"send": ["wire", "telegram"], "new": ["x"]})
    assert more.tools["send"].aliases == ("telegram", "wire")
    assert more.tools["new"] == Addition(aliases=("x",))
    assert more.tools["create_issue"] == OVERLAY.tools["create_issue"]
