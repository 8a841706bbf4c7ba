"""Front matter gives title, day, description and tags, and is no text of the document."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikidashi.web.local import IngestEvent, LocalIndex
from hikidashi.web.local.documents import FrontMatter, front_matter

Ingested = Callable[..., Awaitable[list[IngestEvent]]]

YAML = """\
---
title: "Oak: a primer"
date: 2026-11-02T10:00:00+09:00
description: >
  About a wood
  that lasts.
tags: [hardwood, 家具]
layout: post
---
# Introduction

Heavy.
"""
TOML = """\
+++
title = "Pine"
date = 2026-01-02
tags = ["softwood"]
+++
Light.
"""


@pytest.mark.parametrize(
    ("text", "title", "published", "about", "rest"),
    [
        (
            YAML,
            "Oak: a primer",
            "2026-11-02",
            "About a wood that lasts.\nhardwood\n家具",
            "# Introduction\n\nHeavy.\n",
        ),
        (TOML, "Pine", "2026-01-02", "softwood", "Light.\n"),
        ("\ufeff---\r\ntitle: 'It''s'\r\n...\r\nText", "It's", None, "", "Text"),
        ("---\ntitle: Broken: but clear\ndate: 2026/1/5\n---\n", "Broken: but clear", "2026-01-05", "", ""),
        ("+++\nnot toml\n+++\nText", "", None, "", "Text"),
        ("---\ndraft: true\n---\nText", "", None, "", "Text"),
    ],
)
def test_front_matter_is_read(text: str, title: str, published: str | None, about: str, rest: str) -> None:
    assert front_matter(text) == FrontMatter(title, published, about, len(text) - len(rest))


@pytest.mark.parametrize(
    "text",
    [
        "---\nA line across the page, and one more.\n---\nText",
        "---\n---\nText",
        "---\ntitle: never closed\n",
        "Text\n---\n",
    ],
)
def test_lines_across_the_page_are_no_front_matter(text: str) -> None:
    assert front_matter(text) is None


@given(st.text(), st.sampled_from(["---", "+++"]))
def test_no_front_matter_is_trouble(text: str, mark: str) -> None:
    whole = f"{mark}\n{text}\n{mark}\nBody"
    found = front_matter(whole)
    assert found is None or 0 < found.length <= len(whole)


def test_references_to_references_cost_nothing() -> None:
    levels = "".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]\n" for n in range(1, 60))
    found = front_matter(f"---\nl0: &l0 [x]\n{levels}title: T\ntags: *l59\n---\n")
    assert found is not None
    assert (found.title, found.about) == ("T", "")


async def test_a_document_is_found_by_its_front_matter_and_given_back_whole(
    tmp_path: Path, index: LocalIndex, ingested: Ingested
) -> None:
    (tmp_path / "oak.md").write_text(YAML)
    (tmp_path / "pine.txt").write_text(TOML)
    await ingested(tmp_path / "oak.md", tmp_path / "pine.txt")
    for question in ("hardwood", "家具", "wood that lasts", "oak primer"):
        (found,) = index.search(question)
        assert (found.title, found.day, found.body) == ("Oak: a primer", "2026-11-02", "# Introduction\n\nHeavy.\n")
    assert index.search("layout post") == []
    assert [found.title for found in index.search("softwood")] == ["Pine"]
    stored = index.document((tmp_path / "oak.md").as_uri())
    assert stored is not None
    assert stored.text == YAML
    (tmp_path / "oak.md").write_text("# Oak\n\nHeavy.\n")
    await ingested(tmp_path / "oak.md")
    assert index.search("hardwood") == []
    with index.writing() as writer:
        writer._connection.execute("INSERT INTO words(words) VALUES ('integrity-check')")
