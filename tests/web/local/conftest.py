"""A folder of documents and an index of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from os import PathLike
from pathlib import Path
from typing import Any

import pytest

from hikidashi.web.local import IngestEvent, LocalIndex, ingest

Ingested = Callable[..., Awaitable[list[IngestEvent]]]

REPAIR = """\
# Repairing a drawer

A drawer that sticks is usually swollen. Wax the runners first.

## Planing

Chalk the sides, push the drawer in, and plane where the chalk is gone.

## Glue

Hide glue lets go in heated rooms. Clean the dovetails with warm water.
"""
JAPANESE = """\
# 引き出しの修理

引き出しが重いときは、溝に蝋を塗ります。湿気で木が膨らむのが原因です。

## 経費の精算

材料の経費は、月末までに精算してください。領収書をデータベースサーバーに登録します。
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Documents of every kind that needs no extra."""
    docs = tmp_path / "docs"
    (docs / "ja").mkdir(parents=True)
    (docs / "repair.md").write_text(REPAIR)
    (docs / "ja" / "修理.md").write_text(JAPANESE)
    (docs / "notes.txt").write_text("Notes about chests\n\nA chest has four drawers of oak.\n")
    (docs / "manual.rst").write_text("Manual\n======\n\nOil the hinges of the cabinet every year.\n")
    return docs


@pytest.fixture
def index(tmp_path: Path) -> Iterator[LocalIndex]:
    index = LocalIndex(tmp_path / "data" / "web.db")
    yield index
    index.close()


@pytest.fixture
def ingested(index: LocalIndex) -> Ingested:
    """`await ingested(source, …)` brings the index up to date and gives the reports."""

    async def run(*sources: str | PathLike[str], into: LocalIndex | None = None, **options: Any) -> list[IngestEvent]:
        return [event async for event in ingest(into or index, list[str | PathLike[str]](sources), **options)]

    return run
