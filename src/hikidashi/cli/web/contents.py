"""`hikidashi web list`, `remove` and `stats`: the contents of the local index."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich.text import Text

from hikidashi.web.local import ListedDocument, LocalIndex

from ..output import Language, clean, print_text, stderr, stdout
from .indexing import name_of
from .view import print_json

__all__ = ["list_documents", "remove_documents", "show_stats"]

_WORDS: dict[Language, dict[str, str]] = {
    "en": {
        "none": "There are no documents{where} in {path}.",
        "below": " at {address}",
        "unknown": "{address}: not in the index",
        "removed": "{count} removed",
        "documents": "documents",
        "passages": "passages",
        "size": "size",
        "kinds": "kinds",
        "days": "days",
        "path": "index",
        "untitled": "(no title)",
    },
    "ja": {
        "none": "{path} には{where}文書がありません。",
        "below": "、{address} の",
        "unknown": "{address}: インデックスにありません",
        "removed": "削除 {count} 件",
        "documents": "文書",
        "passages": "パッセージ",
        "size": "サイズ",
        "kinds": "種類",
        "days": "日付",
        "path": "インデックス",
        "untitled": "（無題）",
    },
}


def list_documents(address: str | None, path: Path | None, *, language: Language, as_json: bool) -> bool:
    """Print the documents at and below `address`, or all; whether there were any."""
    index = LocalIndex(path)
    try:
        found = _below(index, address)
    finally:
        index.close()
    if as_json:
        print_json({"index": str(index.path), "documents": [asdict(one) for one in found]})
        return bool(found)
    words = _WORDS[language]
    out = stdout()
    for one in found:
        title = clean(one.title) or words["untitled"]
        line = f"{one.day}  {one.passages:>4}  {title}"
        out.print(Text.assemble(line, ("  " + clean(name_of(one.url)), "dim")), soft_wrap=True)
    if not found:
        where = "" if address is None else words["below"].format(address=address)
        print_text(stderr(), Text(clean(words["none"].format(where=where, path=index.path))))
    return bool(found)


def remove_documents(addresses: Sequence[str], path: Path | None, *, language: Language, as_json: bool) -> bool:
    """Remove the documents at and below `addresses`; whether each of them was in the index."""
    index = LocalIndex(path)
    words = _WORDS[language]
    removed: list[str] = []
    unknown: list[str] = []
    try:
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
    finally:
        index.close()
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
    index = LocalIndex(path)
    try:
        totals, found = index.totals(), index.documents()
    finally:
        index.close()
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
    words = _WORDS[language]
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
        out.print(Text.assemble((f"{words[key]}: ", "bold"), clean(value)), soft_wrap=True)


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
