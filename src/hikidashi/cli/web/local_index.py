"""`hikidashi web index`, `list`, `remove` and `stats`: the local index, filled and looked through."""

from __future__ import annotations

import asyncio
import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import aclosing, closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import typer
from rich.cells import cell_len
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn
from rich.text import Text

from hikidashi.texts import in_language, texts
from hikidashi.web.local import IndexTotals, IngestEvent, ListedDocument, LocalIndex, ingest
from hikidashi.web.local.sources import Snapshot, changed, is_web_address, snapshot
from hikidashi.web.request import CrawlOptions

from ..output import Language, clean, print_json, print_text, stderr, stdout

_MOST_COMPLAINTS = 20
_KINDS = ("added", "updated", "unchanged", "removed", "skipped", "failed")


@dataclass
class _IngestCounts:
    """Counts of indexed documents, and why others were not indexed."""

    language: Language
    counts: Counter[str] = field(default_factory=Counter[str])
    reasons: dict[str, list[dict[str, str]]] = field(default_factory=lambda: {"skipped": [], "failed": []})

    def add(self, event: IngestEvent) -> Text | None:
        """Count `event`; a line about it if it was not indexed, up to a limit of lines."""
        self.counts[event.kind] += 1
        if event.kind not in self.reasons:
            return None
        reason = in_language(event.reason, self.language)
        self.reasons[event.kind].append({"url": event.url, "reason": reason})
        if self.counts[event.kind] > _MOST_COMPLAINTS:
            return None
        mark = ("✗ ", "bold red") if event.kind == "failed" else ("- ", "dim")
        return Text.assemble(mark, clean(f"{_name_of(event.url)}: {reason}"))

    @property
    def unprinted(self) -> int:
        """How many lines were beyond the limit."""
        return sum(max(0, len(reasons) - _MOST_COMPLAINTS) for reasons in self.reasons.values())

    def words(self) -> str:
        words = texts("cli_web", self.language)
        parts = [words[kind].format(count=f"{self.counts[kind]:,}") for kind in _KINDS if self.counts[kind]]
        return words["between"].join(parts) or words["nothing"]

    def as_json(self) -> dict[str, Any]:
        return {kind: self.reasons.get(kind, self.counts[kind]) for kind in _KINDS}


def run_index(
    sources: Sequence[str],
    path: Path | None,
    *,
    language: Language,
    as_json: bool,
    crawl: CrawlOptions | None = None,
    watch: bool = False,
) -> bool:
    """Update the index with `sources` and print a summary; whether everything could be read.

    With `watch`, repeat this with each change of the files until Ctrl-C; each JSON summary is then one line.
    """
    files = [source for source in sources if not is_web_address(source)]
    if watch and not files:
        raise typer.BadParameter("--watch needs a folder or file: pages are read only once.")
    before = snapshot(files) if watch else None
    with closing(LocalIndex(path)) as index:
        tally, totals = _indexed(index, sources, language, crawl)
        _report(index, tally, totals, as_json=as_json, one_line=watch)
        if before is not None:
            _watched(index, files, before, language, as_json=as_json)
    return not tally.counts["failed"]


def _watched(index: LocalIndex, sources: Sequence[str], before: Snapshot, language: Language, *, as_json: bool) -> None:
    """Update the index with each change of the files, until Ctrl-C."""
    console = stderr()
    console.print(Text(texts("cli_web", language)["watching"], "dim"))
    while True:
        try:
            before = changed(sources, before)
        except KeyboardInterrupt:
            return
        tally, totals = _indexed(index, sources, language, None)
        _report(index, tally, totals, as_json=as_json, one_line=True)


def _indexed(
    index: LocalIndex, sources: Sequence[str], language: Language, crawl: CrawlOptions | None
) -> tuple[_IngestCounts, IndexTotals]:
    words = texts("cli_web", language)
    console = stderr()
    tally = _IngestCounts(language)
    try:
        with _bar(console) as progress:
            task = progress.add_task(words["looking"], total=None, count="")
            asyncio.run(_ingested(index, sources, tally, (progress, task), crawl))
        totals = index.totals()
    except KeyboardInterrupt:
        console.print(Text(words["stopped"], "yellow"))
        raise typer.Exit(130) from None
    if tally.unprinted:
        console.print(Text(f"  {words['more'].format(count=f'{tally.unprinted:,}')}", "dim"))
    return tally, totals


def _report(index: LocalIndex, tally: _IngestCounts, totals: IndexTotals, *, as_json: bool, one_line: bool) -> None:
    words = texts("cli_web", tally.language)
    if as_json:
        summary = {
            "index": str(index.path),
            "documents": totals.documents,
            "passages": totals.passages,
            **tally.as_json(),
        }
        if one_line:
            print(json.dumps(summary, ensure_ascii=False), flush=True)  # noqa: T201 - this is the output
        else:
            print_json(summary)
        return
    held = words["summary"].format(
        documents=_counted(totals.documents, "documents", words),
        passages=_counted(totals.passages, "passages", words),
        path=str(index.path),
    )
    out = stdout()
    out.print(Text(tally.words(), "bold"), soft_wrap=True)
    out.print(Text(clean(held)), soft_wrap=True)


async def _ingested(
    index: LocalIndex,
    sources: Sequence[str],
    tally: _IngestCounts,
    shown: tuple[Progress, TaskID],
    crawl: CrawlOptions | None,
) -> None:
    progress, task = shown
    options: dict[str, Any] = {} if crawl is None else {"crawl": crawl}
    async with aclosing(ingest(index, sources, **options)) as events:
        async for event in events:
            complaint = tally.add(event)
            progress.update(
                task,
                description=_ending(_name_of(event.url), max(10, progress.console.width // 2)),
                completed=event.done,
                total=event.total,
                count=f"{event.done:,}/{event.total:,}",
            )
            if complaint is not None:
                progress.console.print(complaint, soft_wrap=True)


def _bar(console: Console) -> Progress:
    return Progress(
        BarColumn(bar_width=20),
        TextColumn("{task.fields[count]}", markup=False),
        TextColumn("{task.description}", markup=False),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )


def _name_of(url: str) -> str:
    """The path of a file, or the address of a page."""
    try:
        parts = urlsplit(url)
    except ValueError:  # such as `http://[`
        return url
    return unquote(parts.path) if parts.scheme == "file" else url


def _ending(name: str, width: int) -> str:
    """`name` in at most `width` cells; a long one is cut at its start."""
    line = clean(name)
    if cell_len(line) <= width:
        return line
    while cell_len(line) >= width:
        line = line[1:]
    return "…" + line


def _counted(count: int, key: str, words: Mapping[str, str]) -> str:
    return words[f"{key}.one" if count == 1 else key].format(count=f"{count:,}")


def list_documents(address: str | None, path: Path | None, *, language: Language, as_json: bool) -> bool:
    """Print the documents at and below `address`, or all; whether there were any."""
    with closing(LocalIndex(path)) as index:
        found = _below(index, address)
    if as_json:
        print_json({"index": str(index.path), "documents": [asdict(one) for one in found]})
        return bool(found)
    words = texts("cli_web", language)
    out = stdout()
    for one in found:
        title = clean(one.title) or words["untitled"]
        line = f"{one.day}  {one.passages:>4}  {title}"
        out.print(Text.assemble(line, ("  " + clean(_name_of(one.url)), "dim")), soft_wrap=True)
    if not found:
        none = words["none" if address is None else "none_at"].format(address=address, path=index.path)
        print_text(stderr(), Text(clean(none)))
    return bool(found)


def remove_documents(addresses: Sequence[str], path: Path | None, *, language: Language, as_json: bool) -> bool:
    """Remove the documents at and below `addresses`; whether each of them was in the index."""
    words = texts("cli_web", language)
    removed: list[str] = []
    unknown: list[str] = []
    with closing(LocalIndex(path)) as index:
        index.totals()  # raises if there is no index: writing would create one
        with index.writing() as writer:
            for address in addresses:
                found = [
                    one for prefix in _prefixes(address) for one in writer.urls_below(prefix) if _is_at(one, prefix)
                ]
                for url in dict.fromkeys(found):
                    writer.remove(url)
                    removed.append(url)
                if not found and not any(_is_at(url, prefix) for url in removed for prefix in _prefixes(address)):
                    unknown.append(address)
            writer.commit()
    for address in unknown:
        stderr().print(
            Text.assemble(("✗ ", "bold red"), clean(words["unknown"].format(address=address))), soft_wrap=True
        )
    if as_json:
        print_json({"index": str(index.path), "removed": removed, "unknown": unknown})
    else:
        stdout().print(Text(words["removed"].format(count=f"{len(removed):,}"), "bold"))
    return not unknown


def show_stats(path: Path | None, *, language: Language, as_json: bool) -> None:
    """Print statistics of the index."""
    with closing(LocalIndex(path)) as index:
        totals, found = index.totals(), index.documents()
    kinds = Counter(one.kind for one in found)
    days = sorted(one.day for one in found)
    size = sum(file.stat().st_size for file in _files(index.path))
    if as_json:
        print_json(
            {
                "index": str(index.path),
                "documents": totals.documents,
                "passages": totals.passages,
                "bytes": size,
                "kinds": dict(kinds.most_common()),
                "first_day": days[0] if days else None,
                "last_day": days[-1] if days else None,
            }
        )
        return
    words = texts("cli_web", language)
    rows = {
        "path": str(index.path),
        "documents": f"{totals.documents:,}",
        "passages": f"{totals.passages:,}",
        "size": f"{size / 1024 / 1024:,.1f} MB",
        "kinds": ", ".join(f"{kind} {count:,}" for kind, count in kinds.most_common()) or "-",
        "days": f"{days[0]} – {days[-1]}" if days else "-",
    }
    out = stdout()
    for key, value in rows.items():
        out.print(Text.assemble((f"{words[f'label.{key}']}: ", "bold"), clean(value)), soft_wrap=True)


def _below(index: LocalIndex, address: str | None) -> list[ListedDocument]:
    if address is None:
        return index.documents()
    found = {
        one.url: one for prefix in _prefixes(address) for one in index.documents(prefix) if _is_at(one.url, prefix)
    }
    return [found[url] for url in sorted(found)]


def _prefixes(address: str) -> list[str]:
    """The addresses that `address` may mean: itself if it is one, and that of a path."""
    if "://" in address or address.startswith("file:"):
        return [address.rstrip("/")]
    return [Path(os.path.abspath(Path(address).expanduser())).as_uri().rstrip("/")]  # noqa: PTH100 - links stay


def _is_at(url: str, prefix: str) -> bool:
    """Whether `url` is `prefix`, or below it."""
    return url == prefix or url.startswith((f"{prefix}/", f"{prefix}?"))


def _files(path: Path) -> list[Path]:
    return [file for ending in ("", "-wal", "-shm") if (file := path.with_name(path.name + ending)).is_file()]
