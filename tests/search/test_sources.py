"""Catalogues from files and modules, and the errors that name them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from hikidashi.errors import ToolSearchError, ToolSourceError
from hikidashi.search import ToolCatalog
from hikidashi.search.sources import catalog_from, tools_from

SCHEMA: dict[str, Any] = {"type": "object", "properties": {}}
ANTHROPIC: dict[str, Any] = {"name": "send_mail", "description": "Send a mail", "input_schema": SCHEMA}
MCP: dict[str, Any] = {"name": "list_mail", "description": "List mails", "inputSchema": SCHEMA}
OPENAI: dict[str, Any] = {"type": "function", "function": {"name": "get_mail", "parameters": SCHEMA}}
MIXED: list[dict[str, Any]] = [ANTHROPIC, MCP, OPENAI]
NAMES = ["send_mail", "list_mail", "get_mail"]
SEARCH = {"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"}


@pytest.mark.parametrize(
    "content",
    [
        json.dumps(MIXED),
        json.dumps(MIXED, indent=2),
        json.dumps([SEARCH, *MIXED]),
        json.dumps({"tools": MIXED}),
        json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"tools": MIXED, "nextCursor": None}}),
        "\n".join(map(json.dumps, MIXED)),
        "\r\n\r\n".join(map(json.dumps, MIXED)) + "\n",
        "\n".join(json.dumps({"tools": [tool]}) for tool in MIXED),
        "\ufeff" + json.dumps(MIXED),
    ],
)
def test_tools_are_read_from_json_in_any_usual_shape(tmp_path: Path, content: str) -> None:
    file = tmp_path / "tools.json"
    file.write_text(content, encoding="utf-8")
    assert catalog_from(file).names == NAMES


def test_a_file_of_one_tool_is_a_catalogue_of_one(tmp_path: Path) -> None:
    file = tmp_path / "tool.json"
    file.write_text(json.dumps(ANTHROPIC, indent=2))
    assert tools_from(file) == [ANTHROPIC]


def test_a_saved_catalogue_is_opened_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "tools.catalogue"
    ToolCatalog(MIXED).save(file)
    assert catalog_from(file).names == NAMES
    assert tools_from(file) == MIXED


def test_a_damaged_saved_catalogue_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "tools.catalogue"
    ToolCatalog(MIXED).save(file)
    file.write_bytes(file.read_bytes()[:-3])
    with pytest.raises(ToolSearchError, match="damaged"):
        catalog_from(file)


def test_a_file_may_hold_more_tools_than_a_request_takes(tmp_path: Path) -> None:
    file = tmp_path / "tools.jsonl"
    file.write_text("\n".join(json.dumps({"name": f"t{number}"}) for number in range(10_001)))
    assert len(catalog_from(file)) == 10_001


@pytest.mark.parametrize(
    ("content", "line", "said"),
    [
        ('[\n  {"name": "a"},\n  {"name": }\n]', 3, "is not JSON: Expecting value (column 12)"),
        ('{"name": "a"}\n\n{"name": "b"\n', 3, "is not JSON: Expecting ',' delimiter (column 13)"),
        ("", None, "is empty"),
        ("  \n ", None, "is empty"),
        ('"mail"', None, "holds text, not tools"),
        ("[null]", None, "number 1 is null, true or false, not a tool"),
        ("[[]]", None, "number 1 is a list, not a tool"),
        ("[1]", None, "number 1 is a number, not a tool"),
        ('{"tools": null}', None, "holds null, true or false, not tools"),
        ('{"a": 1}', None, "has an object that is not a tool"),
        ('{"name": "a"}\n{"b": 1}', 2, "has an object that is not a tool"),
        ('{"mcpServers": {}}', None, "Pass it with --mcp."),
        ('[{"name": "a"}, {"name": "b"}, {"name": "a"}]', None, "two tools are named 'a', number 1 and number 3"),
        ('[{"name": "a"}, {"name": ""}]', None, "The tool at position 2 (dict) has no name"),
        ('[{"name": "a", "input_schema": {"type": "string"}}]', None, "The input schema of tool 'a'"),
        ("[" * 100_000, None, "is nested too deeply"),
        ("[" * 100_000 + "\n1", None, "is nested too deeply"),
        ('{"name": "a"}\n{"name": ' + "9" * 5_000 + "}", 2, "is not JSON: Exceeds the limit"),
    ],
)
def test_what_is_wrong_in_a_file_is_told_with_its_name(
    tmp_path: Path, content: str, line: int | None, said: str
) -> None:
    file = tmp_path / "tools.json"
    file.write_text(content)
    with pytest.raises(ToolSourceError) as caught:
        catalog_from(file)
    assert (caught.value.source, caught.value.line) == (str(file), line)
    assert said in str(caught.value)


def test_a_file_that_is_no_text_is_told(tmp_path: Path) -> None:
    file = tmp_path / "tools.json"
    file.write_bytes(b'[{"name": "\xff"}]')
    with pytest.raises(ToolSourceError, match=r"is not text in UTF-8 \(byte 11\)"):
        catalog_from(file)


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(ToolSourceError, match="is a folder"):
        catalog_from(tmp_path)


def test_a_file_that_may_not_be_read_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path, *_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", str(self))

    file = tmp_path / "tools.json"
    file.write_text("[]")
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(ToolSourceError, match=r"cannot be read \(Permission denied\)\. Check the path"):
        catalog_from(file)


def test_a_path_that_cannot_be_is_told() -> None:
    with pytest.raises(ToolSourceError, match=r"cannot be read \(File name too long\)"):
        catalog_from("x" * 5_000)


@pytest.mark.parametrize("source", ["nowhere.json", "C:\\tools.json", "no_such_module.json:"])
def test_a_file_that_is_not_there_is_told(source: str) -> None:
    with pytest.raises(ToolSourceError, match="there is no such file"):
        catalog_from(source)


MODULE = '''
from collections.abc import Sequence
from pydantic_ai import Agent, FunctionToolset, Tool as PydanticTool
from hikidashi import from_function
from hikidashi.search import ToolCatalog

def send_mail(to: str) -> str:
    """Send a mail."""
    return to

def list_mail() -> list[str]:
    """List mails."""
    return []

def broken() -> None:
    raise RuntimeError

class Box:
    inside = [from_function(send_mail)]

toolset = FunctionToolset([list_mail])
agent = Agent("test", tools=[send_mail], toolsets=[toolset])
function = send_mail
one = from_function(send_mail)
several = [send_mail, PydanticTool(list_mail)]
mixed = (toolset, send_mail, {"name": "get_mail"})
catalogue = ToolCatalog([from_function(send_mail), PydanticTool(list_mail)])
listed = {"tools": [{"name": "get_mail"}]}
generated = (tool for tool in several)
word = "send_mail"
servers = {"mcpServers": {}}

def odd(*to: "Nowhere") -> str:
    return ""

class Moody(FunctionToolset):
    async def get_tools(self, ctx):
        raise RuntimeError("not today")

moody = Moody()
'''


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    name = f"tools_of_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return name


@pytest.mark.parametrize(
    ("attribute", "names"),
    [
        ("agent", ["send_mail", "list_mail"]),
        ("toolset", ["list_mail"]),
        ("function", ["send_mail"]),
        ("one", ["send_mail"]),
        ("Box.inside", ["send_mail"]),
        ("several", ["send_mail", "list_mail"]),
        ("mixed", ["list_mail", "send_mail", "get_mail"]),
        ("catalogue", ["send_mail", "list_mail"]),
        ("listed", ["get_mail"]),
        ("generated", ["send_mail", "list_mail"]),
    ],
)
def test_tools_are_read_from_python(module: str, attribute: str, names: list[str]) -> None:
    assert catalog_from(f"{module}:{attribute}").names == names


@pytest.mark.parametrize(
    ("attribute", "said"),
    [
        ("nothing", "has no 'nothing'"),
        ("Box.outside", "has no 'Box.outside'"),
        ("word", "has no name"),
        ("servers", "Pass it with --mcp."),
        ("odd", "its tools cannot be listed (ToolValidationError: The type hints of 'odd'"),
        ("moody", "its tools cannot be listed (RuntimeError: not today)"),
    ],
)
def test_what_is_wrong_in_a_module_is_told_with_its_name(module: str, attribute: str, said: str) -> None:
    with pytest.raises(ToolSourceError) as caught:
        catalog_from(f"{module}:{attribute}")
    assert caught.value.source == f"{module}:{attribute}"
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("1 / 0", "failed (ZeroDivisionError: division by zero)"),
        ("raise SystemExit(3)", "failed (SystemExit: 3)"),
        (None, "failed (ModuleNotFoundError: "),
    ],
)
def test_a_module_that_cannot_be_imported_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str | None, said: str
) -> None:
    name = f"broken_{tmp_path.name}"
    if code is not None:
        (tmp_path / f"{name}.py").write_text(code)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    with pytest.raises(ToolSourceError) as caught:
        catalog_from(f"{name}:tools")
    assert said in str(caught.value)
