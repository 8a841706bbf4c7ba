"""Markdown out of docstrings, tables and headings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator, Sequence

from griffe import Docstring, DocstringSectionKind

__all__ = ["Links", "docstring", "heading", "linked", "linked_once", "paragraphs", "source", "table"]

Links = dict[str, str]
"""The address of each name that the reference describes."""


def paragraphs(parts: Iterable[str]) -> str:
    """The parts that are not empty, with a blank line between them."""
    return "\n\n".join(part.strip("\n") for part in parts if part.strip())


def heading(level: int, title: str, anchor: str) -> str:
    """A heading with an anchor of its own, which stays when the title changes."""
    return f"{'#' * level} {title} {{ #{anchor} }}"


def source(code: str, language: str = "python") -> str:
    """A fenced block."""
    return f"```{language}\n{code}\n```"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table, or nothing where there are no rows."""
    lines = ["| " + " | ".join(_cell(text) for text in row) + " |" for row in rows]
    if not lines:
        return ""
    return "\n".join(["| " + " | ".join(head) + " |", "|" + "---|" * len(head), *lines])


def docstring(text: str | None, links: Links) -> Iterator[str]:
    """The paragraphs of a docstring in Google's style: prose as it is, sections such as `Args:` as tables."""
    for section in Docstring(inspect.cleandoc(text or ""), parser="google").parse(warnings=False):
        match section.kind:
            case DocstringSectionKind.text:
                yield linked(str(section.value), links)
            case DocstringSectionKind.parameters:
                rows = [[f"`{item.name}`", linked(item.description, links)] for item in section.value]
                yield table(["argument", "meaning"], rows)
            case DocstringSectionKind.raises:
                rows = [
                    [linked(f"`{item.annotation}`", links), linked(item.description, links)] for item in section.value
                ]
                yield table(["raises", "when"], rows)
            case DocstringSectionKind.returns | DocstringSectionKind.yields:
                word = "Yields" if section.kind is DocstringSectionKind.yields else "Returns"
                said = " ".join(
                    f"{item.name}: {item.description}" if item.name else item.description for item in section.value
                )
                yield linked(f"{word}: {said}", links)
            case _:
                raise ValueError(
                    f"A docstring has a section of kind {section.kind.value!r}, which the site cannot show."
                )


def linked(text: str, links: Links) -> str:
    """`text` with each class and each `function(…)` in backticks leading to its description.

    A word in lower case may as well be an argument: it leads nowhere. Indented code stays as it is.
    """
    return "\n".join(line if line.startswith("    ") else _linked_line(line, links) for line in text.splitlines())


def linked_once(markdown: str, links: Links) -> str:
    """A page in which the first mention of each class and each `function(…)` leads to its description.

    Headings and blocks of code stay as they are.
    """
    left = dict(links)
    lines: list[str] = []
    fenced = False
    for line in markdown.splitlines():
        if line.lstrip().startswith("```"):
            fenced = not fenced
        lines.append(line if fenced or line.startswith(("#", "    ", "```")) else _linked_line(line, left, once=True))
    return "\n".join(lines)


def _linked_line(line: str, links: Links, *, once: bool = False) -> str:
    def link(found: re.Match[str]) -> str:
        name, called = found[1], found[2]
        address = links.get(name) if called or not name.islower() else None
        if address and once:
            del links[name]
        return f"[{found[0]}]({address})" if address else found[0]

    return re.sub(r"(?<![`\[])`([\w.]+)(\([^`]*\))?`(?![`\]])", link, line)


def _cell(text: str) -> str:
    """`text` on one line, with bars that do not end the cell; between backticks they do not anyway."""
    parts = re.split(r"(`[^`]*`)", " ".join(text.split()))
    return "".join(part if part.startswith("`") else part.replace("|", "\\|") for part in parts)
