"""Act five: documents on this machine, searched as the web would be."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from importlib.metadata import metadata
from pathlib import Path
from tempfile import TemporaryDirectory

from hikidashi.web.providers.local import LocalIndex, LocalSearchProvider, ingest

from .events import ActStarted, Found, Hit
from .stage import Stage

__all__ = ["documents_are_searched_like_the_web"]

_SHOWN = 3
_HEADING = re.compile(r"\A#+ .*\n+")  # the title has it already


async def documents_are_searched_like_the_web(stage: Stage, number: int) -> None:
    """The documents are indexed for real, in a temporary folder, and asked in two languages."""
    words = stage.words
    await stage.tell(
        ActStarted(
            number=number,
            title=words.web_title,
            about=words.web_about,
            code="await choose_provider().search(question)",
        )
    )
    with TemporaryDirectory(prefix="hikidashi-tour-", ignore_cleanup_errors=True) as folder:
        path = Path(folder, "web.db")
        index = LocalIndex(path)
        async for _ in ingest(index, _sources(stage.documents, Path(folder))):
            pass
        passages = index.totals().passages
        index.close()
        async with LocalSearchProvider(path) as provider:
            for question in words.web_questions:
                if not (stage.documents or question.isascii()):
                    continue  # the README that is always there is in English
                started = time.perf_counter()
                found = await provider.search(question, search_depth="advanced", max_results=_SHOWN)
                seconds = time.perf_counter() - started
                hits = tuple(
                    Hit(name=hit.title, text=_HEADING.sub("", hit.content), score=hit.score) for hit in found.results
                )
                await stage.tell(Found(query=question, among=passages, things="passages", hits=hits, seconds=seconds))


def _sources(documents: Sequence[Path], folder: Path) -> list[str]:
    """What to index: the documents given, or the README that every installed copy carries."""
    if documents:
        return [str(document) for document in documents]
    readme = folder / "README.md"
    readme.write_text(str(metadata("hikidashi").json["description"]), encoding="utf-8")
    return [str(readme)]
