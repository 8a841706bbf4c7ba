"""What the build adds to pages: links between languages and to the reference, and a guard against other hosts."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from docs.generate.markdown import linked_once, table
from mkdocs.commands.build import build
from mkdocs.config import load_config  # pyright: ignore[reportUnknownVariableType]
from mkdocs.exceptions import Abort
from tests.pages_support import ROOT


def built(config_file: str, pages: dict[str, str], folder: Path) -> Path:
    """A site of `pages` with everything else as in the project."""
    for name, text in pages.items():
        (folder / "docs" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "docs" / name).write_text(text, encoding="utf-8")
    nav: Any = list(pages)
    config = load_config(
        str(ROOT / config_file), docs_dir=str(folder / "docs"), site_dir=str(folder / "site"), nav=nav, strict=True
    )
    build(config)
    return folder / "site"


@pytest.mark.parametrize(("config_file", "up"), [("mkdocs.yml", ""), ("mkdocs.ja.yml", "../")])
def test_the_language_switch_leads_to_the_same_page(config_file: str, up: str, tmp_path: Path) -> None:
    pages = {"index.md": "# A\n\nA [link](https://example.com) to another host is fine.", "deep/down.md": "# B"}
    site = built(config_file, pages, tmp_path)
    for page, root in (("index.html", up), ("deep/down.html", f"../{up}")):
        html = (site / page).read_text(encoding="utf-8")
        assert f'<a href="{root}{page}" hreflang="en"' in html
        assert f'<a href="{root}ja/{page}" hreflang="ja"' in html


@pytest.mark.parametrize("config_file", ["mkdocs.yml", "mkdocs.ja.yml"])
def test_pages_that_are_opened_as_files_can_be_searched(config_file: str, tmp_path: Path) -> None:
    site = built(config_file, {"index.md": "# A", "deep/down.md": "# 引き出し\n\nUnder the desk."}, tmp_path)
    index = (site / "search/search_index.js").read_text(encoding="utf-8")
    assert index.startswith("var __index = ")
    assert json.loads(index.removeprefix("var __index = ")) == json.loads(
        (site / "search/search_index.json").read_text(encoding="utf-8")
    )
    scripts = re.findall(r'<script src="([^"]+)"', (site / "deep/down.html").read_text(encoding="utf-8"))
    assert scripts[0] == "../assets/iframe-worker.js"  # before the theme's, which starts the search in a Worker
    assert all((site / "deep" / script).exists() for script in scripts)


def test_a_model_finds_every_page_as_markdown_in_llms_txt(tmp_path: Path) -> None:
    site = built("mkdocs.yml", {"index.md": "# A\n\nOne drawer.\n\nMore.", "deep/down.md": "# B\n\n`Tool`."}, tmp_path)
    assert (site / "llms.txt").read_text(encoding="utf-8").splitlines() == [
        "# hikidashi",
        "",
        "> One drawer for every tool an agent has.",
        "",
        "- [index.md](index.md): One drawer.",
        "- [deep/down.md](deep/down.md): `Tool`.",
    ]
    assert (site / "deep/down.md").read_text(encoding="utf-8") == "# B\n\n`Tool`."


def test_what_comes_from_another_host_and_links_that_lead_nowhere_fail_the_build(tmp_path: Path) -> None:
    page = """# A

![a badge](https://badges.example/build.svg)
<script src="https://cdn.example/x.js"></script>
<link rel="stylesheet" href="//fonts.example/roboto.css">

[there](#nowhere)
"""
    with pytest.raises(Abort, match="4 warnings"):
        built("mkdocs.yml", {"index.md": page}, tmp_path)


def test_the_first_mention_of_a_name_leads_to_the_reference() -> None:
    page = "# `Tool`\n\n`Tool` and `Tool`, `call`, `to_mcp(tools)`.\n\n```python\nTool()  # `Tool`\n```\n[`Tool`](x.md)"
    links = {"Tool": "api.md#Tool", "call": "api.md#call", "to_mcp": "api.md#to_mcp"}
    said = "[`Tool`](api.md#Tool) and `Tool`, `call`, [`to_mcp(tools)`](api.md#to_mcp)."
    assert linked_once(page, links) == page.replace("`Tool` and `Tool`, `call`, `to_mcp(tools)`.", said)


def test_bars_in_a_table_do_not_end_a_cell() -> None:
    assert table(["a"], [["x | y `<en|ja>`"]]).splitlines()[-1] == "| x \\| y `<en|ja>` |"
