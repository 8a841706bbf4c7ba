"""What the READMEs say, done: every Python block runs, every command named exists."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.pages_support import ROOT, Block, bare, blocks, check_commands, check_python, inline_commands, programs

import hikidashi
from hikidashi.testing import MessagesServer

READMES = ("README.md", "README.ja.md")
PAGES = (*READMES, "docs/architecture.md", "CONTRIBUTING.md", "AGENTS.md")


@pytest.mark.cli
@pytest.mark.parametrize("block", programs(READMES), ids=str)
def test_every_python_block_runs_as_it_stands(
    block: Block, messages_server: Callable[..., MessagesServer], tmp_path: Path
) -> None:
    check_python(block, messages_server, tmp_path)


def test_both_readmes_have_the_same_blocks_of_code() -> None:
    english, japanese = ([bare(block.code) for block in blocks(page, "python")] for page in READMES)
    assert len(english) >= 5
    assert english == japanese


def test_both_readmes_have_a_place_for_the_benchmark() -> None:
    for page in READMES:
        assert (ROOT / page).read_text(encoding="utf-8").count("<!-- bench -->") == 1


@pytest.mark.parametrize("page", PAGES)
def test_every_command_a_page_names_exists(page: str) -> None:
    for block in blocks(page, "sh"):
        check_commands(block)
    for block in inline_commands(page):
        check_commands(block, complete=False)


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
