"""What mkdocs calls while it builds: generated parts, links between the languages, and a check of what is loaded."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docs.generate.markdown import linked_once
from docs.generate.pages import ROOT, generated, links

from hikidashi.common.json import as_object, is_list

__all__ = ["on_page_context", "on_page_markdown", "on_post_build", "on_post_page"]

# The pages of the build that is running, as Markdown with their generated parts.
_pages: dict[str, str] = {}

log = logging.getLogger("mkdocs.hooks.generate")

_MARK = re.compile(r"^<!-- (generated|included): ([\w./]+) -->$", re.MULTILINE)
# Where all languages begin; mkdocs knows only the pages of one, and would turn a path to others into a wrong one.
_SITE = "https://site.invalid/"
# What a browser would fetch by itself from elsewhere; links that a person follows are no matter.
_REMOTE = re.compile(r"""<(?:script|img|iframe|link)\b[^>]*?\b(?:src|href)=["']?(?:https?:)?//[^>]*>""")


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """The page with what it asks for: `<!-- generated: cli -->`, `<!-- included: CHANGELOG.md -->`.

    In guides, names of hikidashi lead to the reference, unless a guide says `link_names: false`.
    """
    if "/" not in page.file.src_uri and page.meta.get("link_names", True):
        whole = linked_once(markdown, {name: f"reference/{address}" for name, address in links().items()})
    else:
        whole = _MARK.sub(
            lambda found: generated(found[2]) if found[1] == "generated" else _included(found[2]), markdown
        )
    _pages[page.file.src_uri] = whole
    return whole


def on_page_context(context: Any, *, page: Any, config: Any, **_: Any) -> Any:
    """The language switch leads to the same page, not to the start."""
    for other in config.extra["alternate"]:
        other["link"] = _SITE + config.extra["folders"][other["lang"]] + (page.url or "index.html")
    return context


def on_post_page(output: str, *, page: Any, config: Any) -> str:
    """The page with its links between the languages, relative to itself."""
    folder = config.extra["folders"][config.theme["language"]] + page.url
    return output.replace(_SITE, "../" * folder.count("/"))


def on_post_build(*, config: Any, **_: Any) -> None:
    """The site loads nothing from other hosts, and has its pages as Markdown, listed in `llms.txt`."""
    site = Path(config.site_dir)
    for name, text in _pages.items():
        (site / name).write_text(text, encoding="utf-8")
    listed = "\n".join(_listed(config.nav))
    (site / "llms.txt").write_text(f"# {config.site_name}\n\n> {config.site_description}\n\n{listed}", encoding="utf-8")
    _pages.clear()
    for file in Path(config.site_dir).rglob("*.html"):
        for found in _REMOTE.finditer(file.read_text(encoding="utf-8")):
            if 'rel="canonical"' not in found[0]:
                log.warning("%s loads something from another host: %s", file.name, found[0][:200])


def _listed(nav: list[Any]) -> Iterator[str]:
    """The menu as llmstxt.org wants it: a heading for each section, a line for each page with its first sentence."""
    for entry in nav:
        title, target = next(iter(as_object(entry).items()), ("", entry))
        if is_list(target):
            yield f"## {title}\n"
            yield from _listed(target)
            yield ""
        else:
            prose = re.sub(r"^(#|<|\||```).*$", "", _pages[target], flags=re.MULTILINE).strip().partition("\n")[0]
            yield f"- [{title or target}]({target}): {prose}"


def _included(path: str) -> str:
    """A page of the project without its title, which the including page has in its own language."""
    text = (ROOT / path).read_text(encoding="utf-8")
    return re.sub(r"\A# .*\n", "", text)
