"""What the READMEs say, done: every Python block runs, every command named exists."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.pages_support import ROOT, Block, bare, blocks, check_commands, check_python, inline_commands, programs

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
    assert english
    assert english == japanese


@pytest.mark.parametrize("page", READMES)
def test_a_readme_is_one_screen(page: str) -> None:
    assert len((ROOT / page).read_text(encoding="utf-8").splitlines()) <= 100


def test_both_readmes_have_a_place_for_the_benchmark() -> None:
    for page in READMES:
        assert (ROOT / page).read_text(encoding="utf-8").count("<!-- bench -->") == 1


@pytest.mark.parametrize("page", PAGES)
def test_every_command_a_page_names_exists(page: str) -> None:
    for block in blocks(page, "sh"):
        check_commands(block)
    for block in inline_commands(page):
        check_commands(block, complete=False)


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
