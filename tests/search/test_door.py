"""`hikidashi.search`, the one door: what it names, one pattern, and one set of options."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, get_origin

import pytest
from anthropic import Anthropic

import hikidashi
import hikidashi.search
from hikidashi import Tool, ToolResult
from hikidashi.errors import ToolValidationError
from hikidashi.search import LoopOptions, SearchOptions, ToolCatalog, deferred, run_anthropic_search, to_mcp_search
from hikidashi.search.options import search_options
from hikidashi.search.pydantic_ai import toolset_of

FRAMEWORKS = ("pydantic_ai", "strands", "claude", "mcp")


async def send_mail(_: dict[str, Any]) -> ToolResult:
    return ToolResult.of("sent")


SEND_MAIL = Tool(name="send_mail", description="Send a mail.", input_schema={"type": "object"}, call=send_mail)

PUBLIC = [
    "CallLog",
    "Embedder",
    "LiveServers",
    "LoopOptions",
    "McpServer",
    "Overlay",
    "Recorder",
    "SearchLog",
    "SearchOptions",
    "ToolCatalog",
    "ToolMatch",
    "ToolRun",
    "arun_anthropic_search",
    "deferred",
    "read_mcp_config",
    "report",
    "run_anthropic_search",
    "search_hooks",
    "search_tool_names",
    "to_anthropic_search",
    "to_claude_search",
    "to_mcp_search",
    "to_pydantic_ai_search",
    "to_strands_search",
    "tool_searches",
]


def seam(framework: str) -> Callable[..., Any]:
    return getattr(hikidashi.search, f"to_{framework}_search")


def test_the_names_are_pinned_and_sorted() -> None:
    assert import_module("hikidashi.search").__all__ == dir(hikidashi.search) == PUBLIC == sorted(PUBLIC)


@pytest.mark.parametrize("name", PUBLIC)
def test_every_name_resolves_to_something_with_a_docstring(name: str) -> None:
    value = getattr(hikidashi.search, name)
    assert get_origin(value) is Literal or value.__doc__


@pytest.mark.parametrize("framework", [*FRAMEWORKS, "anthropic"])
def test_each_framework_has_a_search_beside_its_conversion(framework: str) -> None:
    assert callable(getattr(hikidashi, f"to_{framework}"))
    assert next(iter(inspect.signature(seam(framework)).parameters)) == "tools"


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_every_framework_takes_the_same_options(framework: str) -> None:
    (options,) = (one for one in inspect.signature(seam(framework)).parameters.values() if one.kind is one.VAR_KEYWORD)
    assert options.annotation == "Unpack[SearchOptions]"
    assert SearchOptions.__annotations__.keys() < LoopOptions.__annotations__.keys()


def test_an_option_is_declared_once_and_checked_in_the_same_file() -> None:
    options = SearchOptions.__annotations__.keys()
    assert inspect.signature(search_options).parameters.keys() == options
    folder = Path(str(hikidashi.search.__file__)).parent
    named = {
        (file.name, node.name)
        for file in folder.glob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and {"strategy", "preload"} & {one.arg for one in node.args.kwonlyargs}
    }
    assert named == {("options.py", "search_options"), ("search_tools.py", "search_catalog")}


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_an_option_that_does_not_exist_is_refused(framework: str) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'max_result'"):
        seam(framework)([], max_result=3)


def test_a_server_refuses_to_preload_since_it_sees_no_messages() -> None:
    with pytest.raises(TypeError, match="`to_mcp_search` cannot preload"):
        to_mcp_search([], preload=3)


def run_in_a_loop(tools: list[Tool], **options: Any) -> Any:
    """A run with a client that has no server: options are checked before the first request."""
    with Anthropic(api_key="sk-test", base_url="http://127.0.0.1:9") as client:
        question: Any = {"role": "user", "content": "hello"}
        run: Callable[..., Any] = run_anthropic_search
        return run(client, tools, model="claude-opus-5-5", max_tokens=10, messages=[question], **options)


def kept_in_a_deferred_toolset(tools: list[Tool], **options: Any) -> object:
    return deferred(toolset_of(ToolCatalog(tools)), **options)


SEAMS: list[Callable[..., Any]] = [
    *map(seam, (*FRAMEWORKS, "anthropic")),
    run_in_a_loop,
    kept_in_a_deferred_toolset,
]


@pytest.mark.parametrize("offer", SEAMS)
@pytest.mark.parametrize(
    ("names", "error"),
    [
        ("send_mail", r"`always_loaded` is 'send_mail': use a list of names, such as \['send_mail'\]\."),
        ("", "`always_loaded` is '': use a list of names"),
        (None, "`always_loaded` is None: use a list of names"),
        (1, "`always_loaded` is 1: use a list of names"),
        ([1], r"`always_loaded` has a int \(1\): use the names of tools"),
        (b"send_mail", "`always_loaded` has a int"),
        ([SEND_MAIL], r"`always_loaded` has a Tool \(Tool\(name='send_mail'.*: use the names of tools"),
    ],
)
def test_every_seam_refuses_always_loaded_that_is_not_a_list_of_names(
    offer: Callable[..., Any], names: object, error: str
) -> None:
    with pytest.raises(ValueError, match=error):
        offer([SEND_MAIL], always_loaded=names)


@pytest.mark.parametrize("offer", SEAMS[:-1])
def test_every_seam_names_the_tool_in_always_loaded_that_does_not_exist(offer: Callable[..., Any]) -> None:
    with pytest.raises(ToolValidationError, match=r"`always_loaded` names 'sned_mail', .* Check the spelling"):
        offer([SEND_MAIL], always_loaded=["sned_mail"])


# What the frameworks themselves ask for: a hook of strands answers by it, and so does a cancel scope of anyio.
ASSIGNED_BY_DESIGN = {
    ("strands.py", "cancel_tool"),
    ("live.py", "deadline"),
}


def assigned_to_others(tree: ast.AST) -> Iterator[str]:
    """The attributes that code sets on anything but `self`."""
    for node in ast.walk(tree):
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        for target in targets:
            if not isinstance(target, ast.Attribute) or target.attr.startswith("__"):
                continue
            if not (isinstance(target.value, ast.Name) and target.value.id == "self"):
                yield target.attr


def test_no_seam_assigns_to_the_state_of_another_object() -> None:
    folder = Path(str(hikidashi.search.__file__)).parent
    found = {
        (file.relative_to(folder).as_posix(), attribute)
        for file in folder.rglob("*.py")
        if "engine" not in file.parts and file.name not in {"catalog.py", "overlay.py", "sources.py"}
        for attribute in assigned_to_others(ast.parse(file.read_text(encoding="utf-8")))
    }
    assert found == ASSIGNED_BY_DESIGN


def test_a_catalogue_is_searched_without_any_framework() -> None:
    script = """
import sys
sys.modules.update(dict.fromkeys(("anthropic", "claude_agent_sdk", "mcp", "pydantic_ai", "strands")))
from hikidashi.search import SearchLog, ToolCatalog, read_mcp_config, report, to_anthropic_search
print(ToolCatalog([{"name": "send_mail", "input_schema": {}}]).search("send mail")[0].name)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "send_mail"
