"""What the pages of the site say, done; and both languages say the same. `make docs` checks their links."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest
from tests.pages_support import (
    LANGUAGES,
    ROOT,
    Block,
    bare,
    blocks,
    check_commands,
    check_python,
    check_scripts,
    fences,
    inline_commands,
    programs,
)

from hikidashi.testing import MessagesServer

NAMES = sorted(str(file.relative_to(ROOT / "docs/en")) for file in (ROOT / "docs/en").rglob("*.md"))
PAGES = [f"docs/{language}/{name}" for name in NAMES for language in ("en", "ja")]


def text_of(page: str) -> str:
    """A page without its blocks of code."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.sub(r"^ *```.*?^ *```$", "", text, flags=re.MULTILINE | re.DOTALL)


def shape_of(page: str) -> dict[str, object]:
    """What a page and its translation have in common."""
    text = text_of(page)
    return {
        "headings": re.findall(r"^(#+) ", text, re.MULTILINE),
        "anchors": re.findall(r"\{ ?(#[\w-]+) ?\}", text),
        "rows of tables": len(re.findall(r"^ *\|", text, re.MULTILINE)),
        "links": sorted(re.findall(r"\]\(([^)\s]+)\)", text)),
        "notes": re.findall(r"^ *(!!!|\?\?\?) (\w+)", text, re.MULTILINE),
        "generated": re.findall(r"^<!-- .* -->$", text, re.MULTILINE),
        "code": [(block.language, bare(block.code)) for block in blocks(page) if block.language != "text"],
        "files": [block.title for block in blocks(page) if block.language != "text"],
    }


@pytest.mark.cli
@pytest.mark.parametrize("block", programs(PAGES), ids=str)
def test_every_python_block_runs_as_it_stands(
    block: Block, messages_server: Callable[..., MessagesServer], tmp_path: Path
) -> None:
    check_python(block, messages_server, tmp_path)


@pytest.mark.cli
@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "sh")])
def test_every_shell_block_runs_after_those_above_it(
    page: str, messages_server: Callable[..., MessagesServer], tmp_path: Path
) -> None:
    check_scripts(page, messages_server, tmp_path)


@pytest.mark.parametrize("page", PAGES)
def test_every_command_a_page_names_exists(page: str) -> None:
    for block in blocks(page, "shell"):
        check_commands(block)
    for block in inline_commands(page):
        check_commands(block, complete=False)


@pytest.mark.parametrize("page", PAGES)
def test_every_block_is_of_a_kind_that_is_tested(page: str) -> None:
    assert len(blocks(page)) == fences(page)
    assert {block.language for block in blocks(page)} <= set(LANGUAGES)


@pytest.mark.parametrize("name", NAMES)
def test_a_page_and_its_translation_have_the_same_shape(name: str) -> None:
    assert shape_of(f"docs/ja/{name}") == shape_of(f"docs/en/{name}")


def test_every_page_is_there_in_both_languages() -> None:
    assert sorted(str(file.relative_to(ROOT / "docs/ja")) for file in (ROOT / "docs/ja").rglob("*.md")) == NAMES


@pytest.mark.parametrize("page", PAGES)
def test_every_name_of_hikidashi_that_a_page_tells_exists(page: str) -> None:
    for dotted in set(re.findall(r"`(hikidashi(?:\.\w+)+)[`(]", text_of(page))):
        assert exists(dotted), f"{page}: {dotted}"


def exists(dotted: str) -> bool:
    """Whether a dotted name leads to a module, or to something in one."""
    try:
        import_module(dotted)
    except ModuleNotFoundError:
        module, _, name = dotted.rpartition(".")
        return exists(module) and hasattr(import_module(module), name) if module else False
    return True
