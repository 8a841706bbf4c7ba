"""Web search without a key: documents on this machine."""

from __future__ import annotations

import re
import time
from importlib.metadata import metadata
from pathlib import Path
from tempfile import TemporaryDirectory

from hikidashi.web.providers.local import LocalIndex, LocalSearchProvider, ingest

from .stage import Stage

__all__ = ["documents_are_searched"]

_HEADING = re.compile(r"\A#+ .*\n+")  # the title has it already
_ENGLISH, _JAPANESE = "run pydantic-ai tools in Claude Code", "ツールを検索するには"


async def documents_are_searched(stage: Stage) -> None:
    """The documents are indexed in a temporary folder, and searched in two languages."""
    text = stage.text
    await stage.begin_act(
        text("The web, without a key", "キーなしで、ウェブのツール"),
        text(
            "Documents of your own in an index on this machine; with TAVILY_API_KEY the same tools ask Tavily.",
            "手元の文書をこのマシンで索引にします。TAVILY_API_KEY があれば、同じツールが Tavily に尋ねます。",
        ),
        code="await choose_provider().search(question)",
    )
    queries = [text(_ENGLISH, _JAPANESE), text(_JAPANESE, _ENGLISH)]
    with TemporaryDirectory(prefix="hikidashi-tour-", ignore_cleanup_errors=True) as folder:
        sources = list(map(str, stage.documents))
        if not sources:
            sources, queries = [_own_readme(folder)], [_ENGLISH]
        path = Path(folder, "web.db")
        index = LocalIndex(path)
        async for _ in ingest(index, sources):
            pass
        passages = index.totals().passages
        index.close()
        async with LocalSearchProvider(path) as provider:
            for query in queries:
                started = time.perf_counter()
                found = await provider.search(query, search_depth="advanced", max_results=3)
                seconds = time.perf_counter() - started
                hits = [
                    {"name": hit.title, "text": _HEADING.sub("", hit.content), "score": hit.score}
                    for hit in found.results
                ]
                await stage.tell("found", query=query, among=passages, things="passages", hits=hits, seconds=seconds)


def _own_readme(folder: str) -> str:
    """The README, in English, that every installed copy of hikidashi carries."""
    readme = Path(folder, "README.md")
    readme.write_text(str(metadata("hikidashi").json["description"]), encoding="utf-8")
    return str(readme)
