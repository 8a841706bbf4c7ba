"""What the READMEs say, done: every Python block runs, every command named exists."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import hikidashi
from hikidashi.testing import MessagesServer, RecordedRequest, Reply, call, say

ROOT = Path(__file__).parents[1]
READMES = ("README.md", "README.ja.md")
PAGES = (*READMES, "docs/architecture.md", "CONTRIBUTING.md", "AGENTS.md")

_BLOCK = re.compile(r"^```(?P<language>\w+)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    page: str
    line: int
    language: str
    code: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks(page: str, *languages: str) -> list[Block]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return [
        Block(page, text.count("\n", 0, found.start()) + 1, found["language"], found["code"])
        for found in _BLOCK.finditer(text)
        if found["language"] in languages
    ]


PYTHON = [block for page in READMES for block in blocks(page, "python")]


def helpful(request: RecordedRequest) -> Reply:
    """A model that calls the first tool it is offered, once, and then tells what it heard."""
    if request.tool_results:
        return say(f"I heard: {' / '.join(request.tool_result_texts)}")
    if not request.tools:
        return say("Nothing to call.")
    tool = request.tools[0]
    return call(tool["name"], {name: example(of) for name, of in tool["input_schema"]["properties"].items()})


def example(schema: dict[str, Any]) -> object:
    if "anyOf" in schema:
        return example(schema["anyOf"][0])
    if "enum" in schema:
        return schema["enum"][0]
    if schema["type"] == "array":
        return [example(schema["items"])]
    return {"string": "Kyoto", "integer": 3, "number": 1.5, "boolean": True}[schema["type"]]


@pytest.mark.cli
@pytest.mark.parametrize("block", PYTHON, ids=str)
def test_every_python_block_runs_as_it_stands(
    block: Block, messages_server: Callable[..., MessagesServer], tmp_path: Path
) -> None:
    server = messages_server(helpful)
    is_test = "def test_" in block.code
    file = tmp_path / ("test_block.py" if is_test else "block.py")
    file.write_text(block.code, encoding="utf-8")
    how = ["-m", "pytest", "-q", "-p", "no:cacheprovider", str(file)] if is_test else [str(file)]
    done = subprocess.run(
        [sys.executable, *how],
        env={**os.environ, **server.env(tmp_path / "home")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, f"{block}\n{done.stdout}\n{done.stderr}"
    if is_test:
        assert "1 passed" in done.stdout
        return
    assert done.stdout.strip(), f"{block} shows nothing"
    if "@agent.tool" in block.code:
        results = [result for request in server.requests for result in request.tool_results]
        assert results, f"{block} never called its tool"
        assert not any(result.get("is_error") for result in results)
        assert "I heard: " in done.stdout


def test_both_readmes_have_the_same_blocks_of_code() -> None:
    english, japanese = ([_bare(block.code) for block in PYTHON if block.page == page] for page in READMES)
    assert len(english) >= 5
    assert english == japanese


def test_both_readmes_have_a_place_for_the_benchmark() -> None:
    for page in READMES:
        assert (ROOT / page).read_text(encoding="utf-8").count("<!-- bench -->") == 1


@pytest.mark.parametrize("page", PAGES)
def test_every_command_a_page_names_exists(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    code = "\n".join([*re.findall(r"`([^`\n]+)`", text), *(block.code for block in blocks(page, "sh"))])
    targets = set(re.findall(r"^([a-z]+):.*##", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = set(re.findall(r"^\s*(?:\$ )?make ([a-z]+)", code, re.MULTILINE))
    assert named <= targets
    commands = set(re.findall(r"^\s*(?:\$ )?hikidashi ([a-z]+)", code, re.MULTILINE))
    assert commands <= {name.partition(" ")[0] for name in cli_commands()}


def test_every_command_and_option_appears_in_both_readmes_and_has_help() -> None:
    for page in READMES:
        text = (ROOT / page).read_text(encoding="utf-8")
        for command, options in cli_commands().items():
            assert f"`hikidashi {command}`" in text
            for option, help_text in options.items():
                assert option in text, f"{page} does not mention {option} of {command}"
                assert help_text, f"{option} of {command} has no help"


@pytest.mark.parametrize("page", PAGES)
def test_every_link_inside_the_project_leads_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", text):
        assert ((ROOT / page).parent / target).exists(), target


def test_the_tree_in_the_architecture_is_the_tree() -> None:
    (tree,) = [block.code for block in blocks("docs/architecture.md", "text") if block.code.startswith("src/")]
    folders = ["src/hikidashi"]
    branches = re.findall(r"^([│ ]*)[├└]── ([\w.]+/?)", tree, re.MULTILINE)
    assert len(branches) == tree.count("── ")
    for branch, name in branches:
        depth = len(branch) // 4 + 1
        folders[depth:] = [name.rstrip("/")]
        assert ROOT.joinpath(*folders).exists(), "/".join(folders)


@pytest.mark.parametrize("page", READMES)
def test_every_public_name_a_readme_uses_exists(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:from|to)_[a-z_]+)`", text))
    assert named
    assert named <= set(hikidashi.__all__)


def cli_commands() -> dict[str, dict[str, str]]:
    """The options of each command with their help, as the command line itself knows them."""
    script = """
import json, typer
from hikidashi.cli.app import app

def leaves(name, command):
    if hasattr(command, "commands"):
        for inner, below in command.commands.items():
            yield from leaves(f"{name} {inner}".strip(), below)
    else:
        options = [param for param in command.params if param.param_type_name == "option"]
        yield name, {(option.secondary_opts or option.opts)[-1]: option.help for option in options}

print(json.dumps(dict(leaves("", typer.main.get_command(app)))))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def _bare(code: str) -> str:
    """Code without what a translator may change: comments, docstrings and other texts."""
    code = re.sub(r'""".*?"""', '""', code, flags=re.DOTALL)
    return re.sub(r"#.*", "", re.sub(r'"[^"\n]*"', '""', code))
