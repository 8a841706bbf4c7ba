"""The one public door: what it names, what it loads, and which way imports point."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import hikidashi
import hikidashi.agents
import hikidashi.testing
import hikidashi.web

SOURCE = Path(hikidashi.__file__).parent
FRAMEWORKS = ("anthropic", "claude_agent_sdk", "mcp", "pydantic_ai", "slack_bolt", "strands", "tavily")

PUBLIC = [
    "ClaudeCodeAPIError",
    "ClaudeCodeError",
    "ClaudeCodeLimitError",
    "ClaudeCodeModel",
    "ClaudeCodeModelSettings",
    "ClaudeCodeNotFoundError",
    "ClaudeCodeProcessError",
    "ClaudeCodeTimeoutError",
    "ConfigError",
    "DepsContext",
    "DepsJSONError",
    "ErrorType",
    "FetchRefused",
    "HikidashiError",
    "InvalidSettingError",
    "MissingDepsError",
    "MissingExtra",
    "SearchLogError",
    "SlackError",
    "TavilyAPIError",
    "Tool",
    "ToolAnnotations",
    "ToolCatalog",
    "ToolConnectionError",
    "ToolNotFoundError",
    "ToolResult",
    "ToolSearchError",
    "ToolSourceError",
    "ToolTurnLimitError",
    "ToolValidationError",
    "ToolsetNotRegisteredError",
    "TypeHintResolutionError",
    "Unsupported",
    "UnsupportedDepsTypeError",
    "WebIndexError",
    "__version__",
    "allowed_tools",
    "call_anthropic",
    "convert_tool",
    "convert_tool_with_deps",
    "convert_tools_to_mcp_server",
    "create_mcp_server_from_tools",
    "deserialize_deps",
    "from_function",
    "from_mcp",
    "from_pydantic_ai",
    "from_strands",
    "serialize_deps",
    "to_anthropic",
    "to_claude",
    "to_claude_tool",
    "to_mcp",
    "to_pydantic_ai",
    "to_strands",
]


def in_a_new_process(script: str) -> str:
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_public_names_are_pinned_and_sorted() -> None:
    assert hikidashi.__all__ == PUBLIC
    assert hikidashi.__all__ == sorted(hikidashi.__all__)
    assert dir(hikidashi) == sorted(PUBLIC)


def test_every_public_name_has_a_home_and_nothing_else_has() -> None:
    assert {*hikidashi._HOME_OF, "__version__"} == set(PUBLIC)


@pytest.mark.parametrize("door", [hikidashi, hikidashi.agents, hikidashi.testing, hikidashi.web])
def test_type_checkers_see_the_same_names_from_the_same_homes(door: ModuleType) -> None:
    tree = ast.parse(Path(str(door.__file__)).read_text(encoding="utf-8"))
    (guarded,) = [node for node in tree.body if isinstance(node, ast.If)]
    seen = {
        alias.name: "." * node.level + (node.module or "")
        for node in guarded.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen == door._HOME_OF


def test_a_name_is_loaded_once_and_then_stays() -> None:
    script = "import hikidashi; print('Tool' in vars(hikidashi), hikidashi.Tool is vars(hikidashi)['Tool'])"
    assert in_a_new_process(script) == "False True"


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_resolves_to_something_with_a_docstring(name: str) -> None:
    value = getattr(hikidashi, name)
    assert isinstance(value, str) or value.__doc__


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'to_nowhere'"):
        _ = hikidashi.to_nowhere  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]


@pytest.mark.parametrize(
    "module",
    [
        "hikidashi",
        "hikidashi.agents",
        "hikidashi.cli",
        "hikidashi.testing",
        "hikidashi.testing.pytest_plugin",
        "hikidashi.web",
    ],
)
def test_importing_loads_no_framework_and_not_even_pydantic(module: str) -> None:
    loaded = in_a_new_process(f"import sys, {module}; print(*{{name.partition('.')[0] for name in sys.modules}})")
    assert set(loaded.split()).isdisjoint({*FRAMEWORKS, "pydantic", "rich", "typer"})


@pytest.mark.parametrize(
    ("name", "blocked", "extra"),
    [
        ("ClaudeCodeModel", "pydantic_ai", "pydantic-ai,claude"),
        ("ClaudeCodeModel", "claude_agent_sdk", "claude"),
        ("convert_tool", "claude_agent_sdk", "claude,pydantic-ai"),
        ("create_mcp_server_from_tools", "claude_agent_sdk", "claude,pydantic-ai"),
        ("from_mcp", "mcp", "mcp"),
        ("from_pydantic_ai", "pydantic_ai", "pydantic-ai"),
        ("from_strands", "strands", "strands"),
        ("to_claude", "claude_agent_sdk", "claude"),
        ("to_mcp", "mcp", "mcp"),
        ("to_pydantic_ai", "pydantic_ai", "pydantic-ai"),
        ("to_strands", "strands", "strands"),
    ],
)
def test_a_missing_extra_names_the_command_to_run(name: str, blocked: str, extra: str) -> None:
    script = f"""
import sys
sys.modules[{blocked!r}] = None
import hikidashi
try:
    hikidashi.{name}
except hikidashi.MissingExtra as error:
    print(error)
"""
    assert in_a_new_process(script).endswith(f"Run: pip install 'hikidashi[{extra}]'")


@pytest.mark.parametrize(
    "name", ["Tool", "from_function", "to_anthropic", "serialize_deps", "deserialize_deps", "DepsContext"]
)
def test_what_needs_no_framework_works_without_any(name: str) -> None:
    blocked = f"import sys; sys.modules.update(dict.fromkeys({FRAMEWORKS!r})); "
    assert in_a_new_process(f"{blocked}import hikidashi; print(hikidashi.{name}.__name__)") == name


# Which room may read which; a room not named here may read none but itself.
ROOMS_BELOW = {
    "_lazy": set[str](),
    "errors": set[str](),
    "tool": {"errors"},
    "convert": {"tool", "errors"},
    "claude": {"convert", "tool", "errors"},
    "tokens": set[str](),
    "loopback": set[str](),
    "private": set[str](),
    "search": {"_lazy", "convert", "private", "tool", "tokens", "errors"},
    "web": {"_lazy", "convert", "config", "loopback", "private", "search", "tool", "tokens", "errors"},
    "config": {"errors"},
    "agents": {"_lazy", "web", "config", "claude", "convert", "search", "tool", "errors"},
    "testing": {"_lazy", "search", "web", "loopback", "errors"},  # the servers perform the APIs' searches
    "cli": {
        "agents",
        "claude",
        "config",
        "convert",
        "loopback",
        "search",
        "testing",
        "tokens",
        "tool",
        "web",
        "errors",
    },
    "__main__": {"cli"},
}


def modules() -> Iterator[tuple[Path, str, list[str]]]:
    """Each file, the room it is in, and the absolute names of what it imports."""
    for path in sorted(SOURCE.rglob("*.py")):
        inside = path.relative_to(SOURCE)
        if inside == Path("__init__.py"):
            continue
        package = ["hikidashi", *inside.parent.parts]
        yield path, inside.parts[0].removesuffix(".py"), list(imported(path, package))


def imported(path: Path, package: list[str]) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{module}.{alias.name}" for alias in node.names)


def test_imports_point_one_way() -> None:
    wrong: list[str] = []
    for path, room, names in modules():
        for name in names:
            parts = name.split(".")
            if parts[0] != "hikidashi" or len(parts) == 1:
                continue
            target = hikidashi._HOME_OF.get(parts[1], parts[1]).lstrip(".").partition(".")[0]
            if target != room and target != "__version__" and target not in ROOMS_BELOW.get(room, set()):
                wrong.append(f"{path.relative_to(SOURCE)} imports {name}")
    assert wrong == []


def test_errors_come_through_their_own_door() -> None:
    found = [
        f"{path.relative_to(SOURCE)} imports {name}"
        for path, room, names in modules()
        for name in names
        if room != "errors" and name.startswith("hikidashi.errors.") and name.count(".") > 2
    ]
    assert found == []


def may_import(path: Path, framework: str) -> bool:
    """A framework belongs to the files that carry its name; Claude Code needs three, the tour shows two."""
    inside = path.relative_to(SOURCE)
    if inside.parts[0] == "claude":
        return framework in {"claude_agent_sdk", "mcp", "pydantic_ai"}
    if inside.parts[:2] == ("cli", "tour"):
        return framework in {"mcp", "pydantic_ai"}
    stem = path.stem.lstrip("_")
    if inside.parts[0] in {"convert", "search"} and stem == "claude":
        return framework in {"claude_agent_sdk", "mcp"}
    name = "slack" if framework == "slack_bolt" else framework
    return inside.parts[0] in {"agents", "convert", "search", "web"} and stem.startswith(name)


def test_a_framework_is_imported_only_where_its_name_stands() -> None:
    found = [
        f"{path.relative_to(SOURCE)} imports {name}"
        for path, _, names in modules()
        for name in names
        if (top := name.partition(".")[0]) in FRAMEWORKS and not may_import(path, top)
    ]
    assert found == []
