"""The table of the gateway in the documentation, from the last whole run: `python -m benchmarks.gateway.figures`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import figure_pages
from ..figure_pages import PAGES, Language
from ..registry import Unit
from ..report import amount

_Row = dict[str, Any]

_WORDS: dict[str, dict[Language, str]] = {
    "head": {
        "en": "| measured | hikidashi | beside it | ratio |",
        "ja": "| 計測したもの | hikidashi | 比べた相手 | 比 |",
    },
    "tokens": {"en": " tokens", "ja": " トークン"},
    "fastmcp": {"en": "FastMCP's proxy, ", "ja": "FastMCP のプロキシ、"},
    "bm25": {"en": "FastMCP's proxy with BM25, ", "ja": "FastMCP のプロキシ(BM25)、"},
    "all": {"en": "all tools listed, ", "ja": "全ツールの一覧、"},
    "own": {"en": "every client its own servers, ", "ja": "クライアントごとにサーバーを起動、"},
    "adds": {"en": "time added to a call, {}", "ja": "呼び出し 1 回に加わる時間、{}"},
    "found": {"en": "the same, a tool found by search, {}", "ja": "同じく、検索で見つけたツール、{}"},
    "search": {"en": "one search of the client, {} tools", "ja": "クライアントからの検索 1 回、ツール {} 個"},
    "list": {"en": "`tools/list`, {} tools", "ja": "`tools/list`、ツール {} 個"},
    "warm": {"en": "start to first list, daemon running", "ja": "起動から最初の一覧まで、デーモンあり"},
    "cold": {"en": "the same, no daemon yet", "ja": "同じく、デーモンなし"},
    "memory": {"en": "memory, 10 servers and 10 clients", "ja": "メモリ、サーバー 10 個とクライアント 10 個"},
    "many": {
        "en": "time per call over HTTP, {} at once",
        "ja": "HTTP での呼び出し 1 回の時間、クライアント {} 個が同時",
    },
}


def last_run() -> list[_Row]:
    """The measurements of the last whole run; empty before the first."""
    return figure_pages.last_run("gateway").get("measurements", [])


PEERS = {
    "fastmcp": "FastMCP's proxy",
    "bm25": "FastMCP's proxy with BM25",
    "all": "all tools listed",
    "own": "every client its own servers",
}

SHOWN: tuple[tuple[str, str, str, str, str], ...] = (
    ("adds", "stdio", "calls", "stdio, listed tool, added at p50", "fastmcp"),
    ("found", "stdio", "calls", "stdio, tool found by search, added at p50", "bm25"),
    ("adds", "HTTP", "calls", "HTTP, listed tool, added at p50", "fastmcp"),
    *(("search", of, "search", f"{of} tools", "bm25") for of in ("1,000", "10,000")),
    *(("list", of, "listing", f"{of} tools", "all") for of in ("10", "40", "1,000", "10,000")),
    ("warm", "", "start", "daemon running", "bm25"),
    ("cold", "", "start", "no daemon yet, tools known from before", "bm25"),
    *(("memory", "", "memory", "10 servers, 10 clients", peer) for peer in ("fastmcp", "own")),
    *(("many", of, "throughput", f"{of} client{'s' * (of != '1')}", "fastmcp") for of in ("1", "16", "200")),
)
"""The lines of the table: its words and what is put into them, then group, name and peer of the measurement."""


def table(rows: Sequence[_Row], language: Language) -> str:
    """The Markdown table of a run."""
    found = {(row["group"], row["name"], row["peer_name"]): row for row in rows}
    lines = [_WORDS["head"][language], "|---|---|---|---|"]
    for words, of, group, name, peer in SHOWN:
        row = found[group, name, PEERS[peer]]
        ours, theirs = (_amount(row[side]["median"], row["unit"], language) for side in ("ours", "peer"))
        ratio = f"{row['ratio']:.3f}" if row["ratio"] < 0.01 else f"{row['ratio']:.2f}"
        lines.append(f"| {_WORDS[words][language].format(of)} | {ours} | {_WORDS[peer][language]}{theirs} | {ratio} |")
    return "\n".join(lines) + "\n"


def _amount(value: float, unit: Unit, language: Language) -> str:
    return f"{value:,.0f}{_WORDS['tokens'][language]}" if unit == "tokens" else amount(value, unit)


def with_figures(page: str, rows: Sequence[_Row], language: Language) -> str:
    """`page` with the table of a run between its two marks."""
    return figure_pages.with_table(page, "gateway", table(rows, language) if rows else "")


def main() -> None:
    """Write the figures of the last whole run into the pages."""
    rows = last_run()
    for language, path in PAGES.items():
        path.write_text(with_figures(path.read_text("utf-8"), rows, language), "utf-8")


if __name__ == "__main__":
    main()
