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
import hikidashi.gateway
import hikidashi.search
import hikidashi.testing
import hikidashi.web

SOURCE = Path(hikidashi.__file__).parent
FRAMEWORKS = ("anthropic", "claude_agent_sdk", "mcp", "pydantic_ai", "slack_bolt", "strands", "tavily")

MOST_FILES = 16

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


@pytest.mark.parametrize(
    "door", [hikidashi, hikidashi.agents, hikidashi.gateway, hikidashi.search, hikidashi.testing, hikidashi.web]
)
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
        "hikidashi.gateway",
        "hikidashi.search",
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
        ("search.LiveServers", "mcp", "mcp"),
        ("search.run_anthropic_search", "anyio", "anthropic"),
        ("search.to_claude_search", "claude_agent_sdk", "claude"),
        ("search.to_mcp_search", "mcp", "mcp"),
        ("search.to_pydantic_ai_search", "pydantic_ai", "pydantic-ai"),
        ("search.to_strands_search", "strands", "strands"),
        ("search.tools_of_servers", "mcp", "mcp"),
    ],
)
def test_a_missing_extra_names_the_command_to_run(name: str, blocked: str, extra: str) -> None:
    script = f"""
import sys
sys.modules[{blocked!r}] = None
import hikidashi, hikidashi.search
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


# Which room may import which, folder by folder: the folders of a room are rooms of their own. An edge that nobody uses
# fails too, so that this table is the architecture and not a wish.
ROOMS_BELOW = {
    "__main__": {"cli"},
    "agents": {
        "agents.slack",
        "claude",
        "common",
        "config",
        "errors",
        "providers",
        "web",
        "web.answers",
        "web.providers",
        "web.strands",
    },
    "agents.slack": {"agents", "common", "errors", "web"},
    "claude": {
        "claude.deps",
        "claude.session",
        "claude.tools",
        "common",
        "convert",
        "convert.shared",
        "errors",
        "tool",
    },
    "claude.deps": {"common", "errors"},
    "claude.session": {"claude", "claude.tools", "common", "convert", "convert.shared", "errors", "tool"},
    "claude.tools": {"claude", "convert", "convert.shared", "errors", "tool"},
    "cli": {
        "cli.chat",
        "cli.config",
        "cli.doctor",
        "cli.serve",
        "cli.slack",
        "cli.tools",
        "cli.tour",
        "cli.web",
        "common",
        "config",
        "errors",
        "providers",
        "web",
    },
    "cli.chat": {
        "agents",
        "cli",
        "cli.doctor",
        "cli.tools",
        "common",
        "config",
        "errors",
        "providers",
        "web.answers",
        "web.providers",
    },
    "cli.config": {"cli", "cli.chat", "config", "errors"},
    "cli.doctor": {"cli", "common", "errors", "providers"},
    "cli.serve": {
        "cli",
        "cli.tools",
        "common",
        "config",
        "errors",
        "gateway",
        "gateway.auth",
        "gateway.clients",
        "gateway.daemon",
        "gateway.offer",
        "gateway.settings",
        "gateway.telemetry",
        "search.records",
    },
    "cli.slack": {"agents", "agents.slack", "cli", "cli.chat", "common", "config", "errors"},
    "cli.tools": {
        "cli",
        "errors",
        "search",
        "search.engine",
        "search.engine.meaning",
        "search.mcp_servers",
        "search.mcp_servers.entries",
        "search.records",
        "search.tuning",
        "search.wire",
        "tokens",
        "tool",
    },
    "cli.tour": {
        "claude",
        "cli",
        "cli.doctor",
        "cli.tools",
        "convert",
        "search",
        "testing",
        "tokens",
        "web.providers.local",
        "web.text",
    },
    "cli.web": {
        "cli",
        "cli.tools",
        "common",
        "errors",
        "providers",
        "web",
        "web.answers",
        "web.crawl",
        "web.providers",
        "web.providers.local",
        "web.providers.local.documents",
        "web.tavily_api",
        "web.wording",
    },
    "config": {"common", "errors", "providers"},
    "convert": {"common", "convert.shared", "errors", "tool"},
    "convert.shared": {"errors", "tool"},
    "gateway": {
        "common",
        "errors",
        "gateway.auth",
        "gateway.bridge",
        "gateway.direct",
        "gateway.handlers",
        "gateway.offer",
        "gateway.settings",
        "gateway.telemetry",
        "gateway.upstream",
        "gateway.upstream.process",
        "gateway.upstream.requests",
        "search.mcp_servers",
        "search.records",
        "tokens",
    },
    "gateway.auth": {"common", "errors", "search.mcp_servers"},
    "gateway.bridge": {"common", "errors", "gateway.telemetry", "gateway.upstream", "gateway.upstream.requests"},
    "gateway.clients": {"common", "errors", "gateway.offer", "gateway.settings", "search.mcp_servers.entries"},
    "gateway.daemon": {
        "common",
        "errors",
        "gateway",
        "gateway.direct",
        "gateway.upstream.process",
        "search.mcp_servers",
    },
    "gateway.direct": {
        "errors",
        "gateway",
        "gateway.offer",
        "gateway.upstream.requests",
        "search.mcp_servers.messages",
    },
    "gateway.handlers": {"errors", "gateway", "gateway.bridge", "gateway.offer", "gateway.telemetry", "search.records"},
    "gateway.offer": {
        "common",
        "errors",
        "gateway.settings",
        "gateway.upstream",
        "gateway.upstream.process",
        "search",
        "search.answers",
        "search.engine",
        "search.mcp_servers",
    },
    "gateway.settings": {
        "common",
        "config",
        "errors",
        "gateway.offer",
        "search.mcp_servers",
        "search.mcp_servers.entries",
    },
    "gateway.telemetry": {"errors"},
    "gateway.upstream": {
        "errors",
        "gateway.auth",
        "gateway.settings",
        "gateway.telemetry",
        "gateway.upstream.process",
        "gateway.upstream.requests",
        "search.mcp_servers",
        "search.mcp_servers.entries",
        "search.mcp_servers.messages",
    },
    "gateway.upstream.process": {"errors", "gateway.auth", "gateway.upstream"},
    "gateway.upstream.requests": {
        "errors",
        "gateway",
        "gateway.auth",
        "gateway.upstream",
        "search.mcp_servers",
        "search.mcp_servers.entries",
        "search.mcp_servers.messages",
    },
    "providers": {"common", "errors"},
    "search": {
        "common",
        "convert",
        "convert.shared",
        "errors",
        "search.answers",
        "search.anthropic",
        "search.engine",
        "search.engine.glossary",
        "search.engine.index",
        "search.engine.meaning",
        "search.engine.patterns",
        "search.engine.text",
        "search.mcp_servers",
        "search.pydantic_ai",
        "search.records",
        "search.wire",
        "tool",
    },
    "search.answers": {
        "common",
        "convert.shared",
        "errors",
        "search",
        "search.engine",
        "search.mcp_servers",
        "search.records",
        "tokens",
        "tool",
    },
    "search.anthropic": {
        "convert",
        "convert.shared",
        "errors",
        "search",
        "search.answers",
        "search.engine",
        "search.engine.text",
        "search.mcp_servers",
        "search.records",
        "search.wire",
        "tool",
    },
    "search.engine": {
        "common",
        "errors",
        "search.engine.glossary",
        "search.engine.index",
        "search.engine.meaning",
        "search.engine.patterns",
        "search.engine.text",
    },
    "search.engine.glossary": {"errors", "search.engine.text"},
    "search.engine.index": {"search.engine", "search.engine.text"},
    "search.engine.meaning": {"common", "errors", "search.engine", "search.engine.index", "search.engine.text"},
    "search.engine.patterns": {"common", "errors", "search.engine", "search.engine.text"},
    "search.mcp_servers": {
        "common",
        "convert",
        "errors",
        "search",
        "search.answers",
        "search.mcp_servers.entries",
        "search.mcp_servers.messages",
        "tool",
    },
    "search.mcp_servers.entries": {"common", "errors", "search"},
    "search.mcp_servers.messages": {"common", "errors"},
    "search.pydantic_ai": {
        "convert",
        "convert.shared",
        "errors",
        "search",
        "search.answers",
        "search.engine",
        "search.engine.text",
        "search.mcp_servers",
        "search.records",
        "tool",
    },
    "search.records": {"common", "errors", "search", "search.engine", "search.engine.index", "search.engine.text"},
    "search.tuning": {
        "common",
        "errors",
        "search",
        "search.engine",
        "search.engine.meaning",
        "search.engine.text",
        "search.records",
    },
    "search.wire": {
        "convert",
        "convert.shared",
        "errors",
        "search",
        "search.answers",
        "search.engine",
        "tokens",
        "tool",
    },
    "testing": {
        "common",
        "errors",
        "search",
        "search.wire",
        "testing.slack",
        "web",
        "web.crawl",
        "web.pages",
        "web.tavily_api",
    },
    "testing.slack": {"common"},
    "tool": {"common", "errors"},
    "web": {
        "common",
        "convert",
        "errors",
        "providers",
        "tool",
        "web.answers",
        "web.crawl",
        "web.pages",
        "web.providers",
        "web.providers.local",
        "web.providers.tavily",
        "web.text",
        "web.wording",
    },
    "web.answers": {"common", "errors", "tokens", "web", "web.pages", "web.text", "web.wording"},
    "web.crawl": {"errors", "providers", "web", "web.pages", "web.text", "web.wording"},
    "web.pages": {"common", "errors", "web", "web.wording"},
    "web.providers": {
        "common",
        "config",
        "errors",
        "providers",
        "web",
        "web.answers",
        "web.pages",
        "web.text",
        "web.wording",
    },
    "web.providers.local": {
        "common",
        "errors",
        "providers",
        "search.engine",
        "search.engine.meaning",
        "web",
        "web.answers",
        "web.crawl",
        "web.pages",
        "web.providers",
        "web.providers.local.documents",
        "web.text",
        "web.wording",
    },
    "web.providers.local.documents": {
        "common",
        "errors",
        "web",
        "web.crawl",
        "web.pages",
        "web.providers.local",
        "web.text",
        "web.wording",
    },
    "web.providers.tavily": {
        "common",
        "errors",
        "providers",
        "web",
        "web.answers",
        "web.crawl",
        "web.pages",
        "web.providers",
        "web.wording",
    },
    "web.strands": {"common", "config", "errors", "tool", "web", "web.answers", "web.providers"},
    "web.tavily_api": {"common", "errors", "web", "web.crawl", "web.pages"},
    "web.text": {"common", "tokens", "web"},
    "web.wording": {"common", "errors"},
}


def modules() -> Iterator[tuple[Path, str, list[str]]]:
    """Each file, the room it is in, and the absolute names of what it imports."""
    for path in sorted(SOURCE.rglob("*.py")):
        inside = path.relative_to(SOURCE)
        if inside == Path("__init__.py"):
            continue
        package = ["hikidashi", *inside.parent.parts]
        room = ".".join(inside.parent.parts) or inside.stem
        yield path, room, list(imported(path, package))


def imported(path: Path, package: list[str]) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{module}.{alias.name}" for alias in node.names)


def home_of(name: str) -> Path | None:
    """The file that an imported name of ours comes from: a module, or the module it is defined in."""
    parts = name.split(".")
    if parts[0] != "hikidashi" or len(parts) == 1:
        return None
    if parts[1] in hikidashi._HOME_OF:
        parts = ["hikidashi", *hikidashi._HOME_OF[parts[1]].lstrip(".").split(".")]
    for length in range(len(parts), 1, -1):
        place = SOURCE.joinpath(*parts[1:length])
        if place.with_suffix(".py").is_file():
            return place.with_suffix(".py")
        if (place / "__init__.py").is_file():
            return place / "__init__.py"
    return None


def edges() -> Iterator[tuple[Path, str, Path, str]]:
    """Each import of ours by ours: the file, its room, the imported file, and its room."""
    for path, room, names in modules():
        for name in names:
            if (target := home_of(name)) is not None:
                inside = target.relative_to(SOURCE)
                yield path, room, target, ".".join(inside.parent.parts) or inside.stem


def test_imports_point_one_way_and_every_allowed_edge_is_used() -> None:
    used: dict[str, set[str]] = {}
    for _, room, _, target in edges():
        if target != room:
            used.setdefault(room, set()).add(target)
    assert used == ROOMS_BELOW


def test_no_two_rooms_import_each_other() -> None:
    tops = {(room.partition(".")[0], target.partition(".")[0]) for _, room, _, target in edges()}
    assert [(one, other) for one, other in sorted(tops) if one < other and (other, one) in tops] == []


# What is imported by its path: in README and specs, by entry points, by the tables of `hikidashi.providers`.
ENTRANCES = {
    "agents/claude_code_model.py",
    "agents/strands_models.py",
    "search/mcp_live.py",
    "search/record.py",
    "testing/pytest_plugin.py",
    "web/local.py",
}


def test_an_underscore_means_used_in_this_room_only() -> None:
    """A module without one is imported by another room, offered by the room's `__init__`, or an entrance."""
    users: dict[Path, set[Path]] = {}
    for path, _, target, _ in edges():
        users.setdefault(target, set()).add(path)
    for door in SOURCE.rglob("__init__.py"):
        for home in lazy_homes(door):
            users.setdefault(home, set()).add(door)
    wrong: list[str] = []
    for path, _, _ in modules():
        inside = path.relative_to(SOURCE)
        if inside.parts[0] in {"cli", "errors"} or path.parent == SOURCE or path.name == "__init__.py":
            continue
        door = path.parent / "__init__.py"
        offered = any(user.parent != path.parent or user == door for user in users.get(path, set()))
        leaked = any(not user.is_relative_to(path.parent) for user in users.get(path, set()))
        if path.name.startswith("_") and leaked:
            wrong.append(f"{inside} is imported from outside its folder: take the underscore off")
        if not path.name.startswith("_") and not offered and inside.as_posix() not in ENTRANCES:
            wrong.append(f"{inside} is imported in its folder only: give it an underscore")
    assert wrong == []


def lazy_homes(door: Path) -> Iterator[Path]:
    """The modules that the lazy names of a package come from."""
    package = ["hikidashi", *door.relative_to(SOURCE).parent.parts]
    for node in ast.walk(ast.parse(door.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("."):
            level = len(node.value) - len(node.value.lstrip("."))
            home = home_of(".".join([*package[: len(package) - level + 1], node.value.lstrip("."), "name"]))
            if home is not None:
                yield home


def test_every_room_says_what_it_is() -> None:
    missing = [
        str(door.relative_to(SOURCE))
        for door in SOURCE.rglob("__init__.py")
        if not ast.get_docstring(ast.parse(door.read_text(encoding="utf-8")))
    ]
    assert missing == []


def test_no_folder_has_more_files_than_one_can_take_in() -> None:
    crowded = [
        f"{folder.relative_to(SOURCE)}: {count}"
        for folder in [SOURCE, *(path for path in SOURCE.rglob("*") if path.is_dir())]
        if (count := len(list(folder.glob("*.py")))) > MOST_FILES
    ]
    assert crowded == []


def test_errors_come_through_their_own_door() -> None:
    found = [
        f"{path.relative_to(SOURCE)} imports {name}"
        for path, room, names in modules()
        for name in names
        if room.partition(".")[0] != "errors" and name.startswith("hikidashi.errors.") and name.count(".") > 2
    ]
    assert found == []


def may_import(path: Path, framework: str) -> bool:
    """A framework belongs to files and folders of its name; Claude Code needs three, the tour two, the gateway one."""
    inside = path.relative_to(SOURCE)
    if inside.parts[0] == "gateway":
        return framework == "mcp"
    if inside.parts[0] == "claude":
        return framework in {"claude_agent_sdk", "mcp", "pydantic_ai"}
    if inside.parts[:2] == ("cli", "tour"):
        return framework in {"mcp", "pydantic_ai"}
    names = [part.removesuffix(".py").lstrip("_") for part in inside.parts[1:]]
    if inside.parts[0] in {"convert", "search"} and names[-1] == "claude":
        return framework in {"claude_agent_sdk", "mcp"}
    name = "slack" if framework == "slack_bolt" else framework
    return inside.parts[0] in {"agents", "convert", "search", "web"} and any(part.startswith(name) for part in names)


def test_a_framework_is_imported_only_where_its_name_stands() -> None:
    found = [
        f"{path.relative_to(SOURCE)} imports {name}"
        for path, _, names in modules()
        for name in names
        if (top := name.partition(".")[0]) in FRAMEWORKS and not may_import(path, top)
    ]
    assert found == []
