"""The one public door: what it names, what it loads, and which way imports point."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from zipfile import ZipFile

import pytest

import hikidashi
import hikidashi.agents
import hikidashi.errors
import hikidashi.gateway
import hikidashi.search
import hikidashi.testing
import hikidashi.web

SOURCE = Path(hikidashi.__file__).parent
FRAMEWORKS = ("anthropic", "claude_agent_sdk", "mcp", "pydantic_ai", "slack_bolt", "strands", "tavily")

PUBLIC = [
    "ClaudeCodeError",
    "ClaudeCodeModel",
    "ClaudeCodeModelSettings",
    "DepsContext",
    "HikidashiError",
    "MissingExtra",
    "Tool",
    "ToolAnnotations",
    "ToolCatalog",
    "ToolNotFoundError",
    "ToolResult",
    "ToolValidationError",
    "ToolsetNotRegisteredError",
    "TypeHintResolutionError",
    "Unsupported",
    "UnsupportedDepsTypeError",
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
    assert import_module("hikidashi").__all__ == PUBLIC == sorted(PUBLIC)
    assert dir(hikidashi) == sorted(PUBLIC)


DOORS = [hikidashi, hikidashi.agents, hikidashi.gateway, hikidashi.search, hikidashi.testing, hikidashi.web]


def homes(door: ModuleType) -> Iterator[tuple[str, str]]:
    """Each name that a door imports for type checkers, and its module."""
    tree = ast.parse(Path(str(door.__file__)).read_text(encoding="utf-8"))
    (guarded,) = [node for node in tree.body if isinstance(node, ast.If)]
    for node in guarded.body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield alias.name, "." * node.level + (node.module or "")


@pytest.mark.parametrize("door", DOORS)
def test_every_name_of_a_door_is_the_one_that_type_checkers_see(door: ModuleType) -> None:
    own = {"__version__"} if door is hikidashi else set[str]()
    assert dir(door) == door.__all__ == sorted({*own, *(name for name, _ in homes(door))})
    for name, home in homes(door):
        there = import_module(home, door.__package__) if home != "." else door
        assert getattr(door, name) is getattr(there, name)
        assert home == "." or not isinstance(getattr(door, name), ModuleType), f"{name} is also the name of a module"


@pytest.mark.parametrize("door", DOORS[1:])
def test_errors_are_imported_from_one_place(door: ModuleType) -> None:
    assert set(dir(door)).isdisjoint(hikidashi.errors.__all__)


def test_the_names_of_a_package_are_read_from_a_zip_too(tmp_path: Path) -> None:
    package = {
        "shelf/__init__.py": "from typing import TYPE_CHECKING\n\nfrom hikidashi.common.lazy import attach\n\n"
        "if TYPE_CHECKING:\n    from .books import Book as Book\nelse:\n"
        "    __getattr__, __dir__, __all__ = attach(__name__)\n",
        "shelf/books.py": "class Book: ...\n",
    }
    with ZipFile(tmp_path / "shelf.zip", "w") as archive:
        for name, source in package.items():
            archive.writestr(name, source)
    script = (
        f"import sys; sys.path.insert(0, {str(tmp_path / 'shelf.zip')!r}); import shelf; print(dir(shelf), shelf.Book)"
    )
    assert in_a_new_process(script) == "['Book'] <class 'shelf.books.Book'>"


def test_a_name_is_loaded_once_and_then_stays() -> None:
    script = "import hikidashi; print('Tool' in vars(hikidashi), hikidashi.Tool is vars(hikidashi)['Tool'])"
    assert in_a_new_process(script) == "False True"


def test_every_public_name_resolves_to_something_with_a_docstring() -> None:
    assert [name for name in PUBLIC if name != "__version__" and not getattr(hikidashi, name).__doc__] == []


@pytest.mark.parametrize("door", DOORS)
def test_an_unknown_name_is_an_attribute_error(door: ModuleType) -> None:
    with pytest.raises(AttributeError, match=f"module '{door.__name__}' has no attribute 'to_nowhere'"):
        _ = door.to_nowhere


def test_importing_loads_no_framework_and_not_even_pydantic() -> None:
    doors = ", ".join([*(door.__name__ for door in DOORS), "hikidashi.cli", "hikidashi.testing.pytest_plugin"])
    loaded = in_a_new_process(f"import sys, {doors}; print(*{{name.partition('.')[0] for name in sys.modules}})")
    assert set(loaded.split()).isdisjoint({*FRAMEWORKS, "httpx", "pydantic", "rich", "typer"})


@pytest.mark.parametrize(
    ("name", "blocked", "extra"),
    [
        ("ClaudeCodeModel", "pydantic_ai", "pydantic-ai,claude"),
        ("ClaudeCodeModel", "claude_agent_sdk", "claude"),
        ("convert_tool", "claude_agent_sdk", "claude,pydantic-ai"),
        ("create_mcp_server_from_tools", "claude_agent_sdk", "claude,pydantic-ai"),
        ("from_pydantic_ai", "pydantic_ai", "pydantic-ai"),
        ("from_strands", "strands", "strands"),
        ("to_claude", "claude_agent_sdk", "claude"),
        ("to_pydantic_ai", "pydantic_ai", "pydantic-ai"),
        ("to_strands", "strands", "strands"),
        ("search.run_anthropic_search", "anyio", "anthropic"),
        ("search.to_claude_search", "claude_agent_sdk", "claude"),
        ("search.to_pydantic_ai_search", "pydantic_ai", "pydantic-ai"),
        ("search.to_strands_search", "strands", "strands"),
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


def test_what_needs_no_framework_works_without_any() -> None:
    names = ["Tool", "from_function", "to_anthropic", "serialize_deps", "deserialize_deps", "DepsContext"]
    blocked = f"import sys; sys.modules.update(dict.fromkeys({FRAMEWORKS!r})); "
    loaded = in_a_new_process(f"{blocked}import hikidashi; print(*(getattr(hikidashi, n).__name__ for n in {names!r}))")
    assert loaded.split() == names


# Each room imports only rooms above it.
ROOMS = [
    "errors",
    "common",
    "texts",
    "tokens",
    "tool",
    "providers",
    "config",
    "convert",
    "servers",
    "search",
    "claude",
    "web",
    "apps",
    "agents",
    "gateway",
    "testing",
    "cli",
    "__main__",
]
# Rooms that do not know each other, although one stands above the other.
APART = ({"search", "claude"}, {"web", "gateway"}, {"apps", "gateway"}, {"claude", "gateway"})


def modules() -> Iterator[tuple[Path, str, list[str]]]:
    """Each file, the room it is in, and the absolute names of what it imports."""
    for path in sorted(SOURCE.rglob("*.py")):
        inside = path.relative_to(SOURCE)
        if inside == Path("__init__.py"):
            continue
        package = ["hikidashi", *inside.parent.parts]
        room = inside.parts[0].removesuffix(".py")
        yield path, room, list(imported(path, package))


def imported(path: Path, package: list[str]) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{module}.{alias.name}" for alias in node.names)


HOME_OF = dict(homes(hikidashi))


def home_of(name: str) -> Path | None:
    """The file that an imported name of ours comes from: a module, or the module it is defined in."""
    parts = name.split(".")
    if parts[0] != "hikidashi" or len(parts) == 1:
        return None
    if parts[1] in HOME_OF:
        parts = ["hikidashi", *HOME_OF[parts[1]].lstrip(".").split(".")]
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
                yield path, room, target, inside.parts[0].removesuffix(".py")


def test_imports_point_one_way() -> None:
    assert {room for _, room, _ in modules()} == set(ROOMS)
    wrong = {
        f"{path.relative_to(SOURCE)} ({room}) imports {place.relative_to(SOURCE)} ({target})"
        for path, room, place, target in edges()
        if ROOMS.index(target) > ROOMS.index(room) or {room, target} in APART
    }
    assert sorted(wrong) == []


def test_a_module_with_an_underscore_is_used_in_its_folder_only() -> None:
    leaked = {
        f"{path.relative_to(SOURCE)} imports {target.relative_to(SOURCE)}"
        for path, _, target, _ in edges()
        if target.name.startswith("_") and target.name != "__init__.py" and not path.is_relative_to(target.parent)
    }
    assert sorted(leaked) == []


def test_every_room_says_what_it_is() -> None:
    missing = [
        str(door.relative_to(SOURCE))
        for door in SOURCE.rglob("__init__.py")
        if not ast.get_docstring(ast.parse(door.read_text(encoding="utf-8")))
    ]
    assert missing == []


# What is imported outside of files with its name: by the rooms that are built on it, and by single files.
BUILT_ON = {
    "claude": {"claude_agent_sdk", "mcp", "pydantic_ai"},
    "gateway": {"mcp"},
    "servers": {"mcp"},
    "convert/claude.py": {"mcp"},  # the in-process servers of the SDK are mcp's
    "search/live.py": {"mcp"},  # what it follows are connections of mcp
    "cli/tour_acts.py": {"mcp", "pydantic_ai"},  # the tour shows them
}


def test_a_framework_is_imported_only_in_files_with_its_name_and_rooms_built_on_it() -> None:
    found = [
        f"{inside} imports {name}"
        for path, room, names in modules()
        for name in names
        if (framework := name.partition(".")[0]) in FRAMEWORKS
        and (inside := path.relative_to(SOURCE).as_posix())
        and framework.removesuffix("_agent_sdk").removesuffix("_bolt") not in inside
        and framework not in BUILT_ON.get(room, set()) | BUILT_ON.get(inside, set())
    ]
    assert found == []


def test_private_modules_of_other_libraries_are_those_that_the_architecture_names() -> None:
    private = {
        name
        for _, _, names in modules()
        for name in names
        if not name.startswith(("hikidashi.", "__future__")) and re.search(r"\._[a-z]", name)
    }
    assert private == {
        "mcp.client._input_required.InputRequiredRoundsExceededError",
        "mcp.client._input_required.run_input_required_driver",
        "pydantic_ai._run_context.get_current_run_context",
    }
