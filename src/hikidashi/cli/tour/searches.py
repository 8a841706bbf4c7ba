"""Two searches in Python, without a model: for tools in seven languages, and for your own documents."""

from __future__ import annotations

import re
import time
from importlib.metadata import metadata
from pathlib import Path
from tempfile import TemporaryDirectory

from hikidashi.search import ToolCatalog
from hikidashi.web.local import LocalIndex, LocalSearchProvider, ingest
from hikidashi.web.passages import plain_text

from .stage import Stage

__all__ = ["tool_search_act", "web_act"]

_FOR_TOOLS = (
    "cancel my meeting room booking",
    "有給休暇の申請を出したい",
    "Termin verschieben",
    "exporter tous les contrats",
    "crear un ticket de soporte",
    "创建新的发票",
    "회의실 예약 취소",
    "why is the sky blue",
)
_FOR_DOCUMENTS = ("run pydantic-ai tools in Claude Code", "ツールを検索するには")

_LEFT_OUT = re.compile(r"\A#+ .*\n+|<!--[^>]*-->")  # a heading is in the title already, a comment is for programs


async def tool_search_act(stage: Stage) -> None:
    """The tools of the first act in a catalogue, which finds nothing where no tool fits."""
    text = stage.text
    await stage.begin_act(
        text("The same search, in your program", "同じ検索を、自分のプログラムで"),
        text("Described in English, found in seven languages.", "英語のツールが 7 つの言語で見つかります。"),
        code="ToolCatalog(tools).search(question)",
    )
    catalog = ToolCatalog(stage.tools)
    first = {question: [match.name for match in catalog.search(question, limit=1)] for question in _FOR_TOOLS}
    rows = [(question, *(names or [text("(nothing)", "(なし)")])) for question, names in first.items()]
    await stage.tell("table", label="found", columns=(), rows=rows)


async def web_act(stage: Stage) -> None:
    """The documents are indexed in a temporary folder, and searched in two languages."""
    text = stage.text
    await stage.begin_act(
        text("The web, without a key", "キーなしで、ウェブのツール"),
        text("Your own documents, indexed here; or Tavily.", "手元の文書を索引にします。または Tavily で。"),
        code="await choose_provider().search(question)",
    )
    with TemporaryDirectory(prefix="hikidashi-tour-", ignore_cleanup_errors=True) as folder:
        readme, path = Path(folder, "README.md"), Path(folder, "web.db")
        readme.write_text(str(metadata("hikidashi").json["description"]), encoding="utf-8")  # noqa: ASYNC240 - nothing else runs
        index = LocalIndex(path)
        async for _ in ingest(index, list(map(str, stage.documents or [readme]))):
            pass
        passages = index.totals().passages
        index.close()
        async with LocalSearchProvider(path) as provider:
            for question in _FOR_DOCUMENTS if stage.documents else _FOR_DOCUMENTS[:1]:
                await stage.tell("asked", text=question)
                started = time.perf_counter()
                found = await provider.search(question, search_depth="advanced", max_results=3)
                seconds = time.perf_counter() - started
                hits = [
                    {"name": hit.title, "text": plain_text(_LEFT_OUT.sub("", hit.content))} for hit in found.results
                ]
                await stage.tell("found", hits=hits, among=passages, seconds=seconds)
