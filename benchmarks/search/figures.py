"""The tables of search and preloading in the documentation, from the last whole runs.

`python -m benchmarks.search.figures` writes them into `docs/en/figures.md` and `docs/ja/figures.md`, and prints the
rows for both READMEs. A page is left as it is while a run does not have everything that its table shows.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

from .. import figure_pages
from ..figure_pages import PAGES, Language
from ..report import amount
from .engines import OURS, WORDS

NEEDED = ("accuracy", "confidence", "languages", "preload", "first", "speed", "vectors", "regex")
"""The parts of a search run that the tables show."""

_Run = dict[str, Any]
_BIG = 10_000

_WORDS: dict[str, dict[Language, str]] = {
    "head": {
        "en": "| measured | hikidashi | words only | beside it |\n|---|---|---|---|",
        "ja": "| 計測したもの | hikidashi | 語のみ | 比べた相手 |\n|---|---|---|---|",
    },
    "recall": {
        "en": "the right tool among the first five, {} ({} tools)",
        "ja": "上位 5 件に正しいツール、{}(ツール {} 個)",
    },
    "talk": {
        "en": "everyday talk in English, all sets: nothing, or marked as uncertain",
        "ja": "英語の雑談、全データセット:結果なし、または不確かと表示",
    },
    "value": {
        "en": "a topic with a value (`contact tanaka`) among 10,000 tools: found, English / Japanese",
        "ja": "話題と値(`contact tanaka`)、ツール 10,000 個:発見率、英語 / 日本語",
    },
    "language": {
        "en": "asked in {}, tools described in English",
        "ja": "{}での質問、英語で説明されたツール",
    },
    "p50": {"en": "search among {} tools, p50", "ja": "ツール {} 個からの検索、p50"},
    "embed": {
        "en": "embedding 10,000 tools, once, in the background",
        "ja": "ツール 10,000 個の埋め込み、1 回だけ、バックグラウンド",
    },
    "embedded": {"en": "{}, CPU {}, {} of vectors", "ja": "{}、CPU {}、ベクトル {}"},
    "build": {"en": "building 10,000 tools", "ja": "ツール 10,000 個の構築"},
    "regex": {
        "en": "worst regular expression of 16, 10,000 tools",
        "ja": "正規表現 16 個のうち最も遅いもの、ツール 10,000 個",
    },
    "best": {"en": "best peer, {}", "ja": "最良の相手、{}"},
    "loaded": {
        "en": "a right tool among {} preloaded, all sets",
        "ja": "先読みした {} 個に正しいツール、全データセット",
    },
    "loads": {"en": "talk that preloads anything, all sets", "ja": "先読みが起きる雑談、全データセット"},
    "cli_head": {
        "en": "| a task on Claude Code, 1,000 tools | `preload=5` | search by the model | all tools in the prompt |"
        "\n|---|---|---|---|",
        "ja": "| Claude Code でのタスク 1 つ、ツール 1,000 個 | `preload=5` | モデルが検索 | 全ツールを渡す |"
        "\n|---|---|---|---|",
    },
    "turns": {"en": "turns of the model", "ja": "モデルのターン数"},
    "requests": {"en": "requests to the API", "ja": "API へのリクエスト数"},
    "sent": {"en": "bytes sent", "ja": "送信量"},
    "time": {"en": "time, with a model that answers at once", "ja": "時間(即座に答えるモデルの場合)"},
}
_LANGUAGES: dict[str, dict[Language, str]] = {
    "ja": {"en": "Japanese", "ja": "日本語"},
    "zh": {"en": "Chinese", "ja": "中国語"},
    "ko": {"en": "Korean", "ja": "韓国語"},
    "de": {"en": "German", "ja": "ドイツ語"},
    "fr": {"en": "French", "ja": "フランス語"},
    "es": {"en": "Spanish", "ja": "スペイン語"},
}


def last_run(name: str) -> _Run | None:
    """The last whole run of a suite, if it has what the tables show."""
    run: _Run = figure_pages.last_run(name)
    return run if run and all(run.get(part) for part in (NEEDED if name == "search" else ("measurements",))) else None


def search_table(run: _Run, language: Language) -> str:
    """The Markdown table of a search run."""
    lines = [_text("head", language)]
    lines += [_row(_text("recall", language, *place), *cells) for place, cells in _recalls(run)]
    lines.append(_row(_text("talk", language), *_talk(run["accuracy"], language)))
    values = [_values(run, engine) for engine in (OURS, WORDS)]
    lines.append(_row(_text("value", language), *values, _text("best", language, _values(run, None))))
    for split, share in _of(run["languages"], OURS)["splits"].items():
        words = _of(run["languages"], WORDS)["splits"][split]
        lines.append(
            _row(_text("language", language, _LANGUAGES[split][language]), _percent(share), _percent(words), "")
        )
    lines += [_row(_text("p50", language, f"{size:,}"), *_speeds(run, "p50", size)) for size in (1_000, _BIG)]
    lines.append(_row(_text("build", language), *_speeds(run, "build", _BIG)))
    vectors = next(row for row in run["vectors"] if row["size"] == _BIG)
    costs = (amount(vectors["seconds"], "s"), amount(vectors["cpu"], "s"), amount(vectors["bytes"], "bytes"))
    lines.append(_row(_text("embed", language), _text("embedded", language, *costs), "–", ""))
    lines.append(_row(_text("regex", language), *_regex(run)))
    for count in sorted({row["count"] for row in run["preload"]}):
        rows = [
            [row["any"] for row in run["preload"] if (row["engine"], row["count"]) == (e, count)] for e in (OURS, WORDS)
        ]
        lines.append(_row(_text("loaded", language, count), *map(_range, rows), ""))
    loads = [[row["talk_loads"] for row in run["preload"] if row["engine"] == engine] for engine in (OURS, WORDS)]
    lines.append(_row(_text("loads", language), *map(_range, loads), ""))
    return "\n".join(lines) + "\n"


def preload_table(run: _Run, language: Language) -> str:
    """The Markdown table of a run of preloading on the CLI."""
    lines = [_text("cli_head", language)]
    for group in ("turns", "requests", "sent", "time"):
        rows = [row for row in run["measurements"] if row["group"] == group]
        figures = [rows[0]["ours"], *(row["peer"] for row in rows)]
        lines.append(_row(_text(group, language), *(amount(one["median"], rows[0]["unit"]) for one in figures)))
    return "\n".join(lines) + "\n"


def readme_rows(run: _Run, language: Language) -> str:
    """The rows about search in the table of a README."""
    recalls = [
        [row["recall"]["5"] for row in run["accuracy"] if row["engine"] == e and row["questions"]]
        for e in (OURS, WORDS)
    ]
    five = [[r["any"] for r in run["preload"] if (r["engine"], r["count"]) == (e, 5)] for e in (OURS, WORDS)]
    joined = {"en": "{}; words only {}", "ja": "{}、語のみ {}"}[language]
    ours, words, peers = _speeds(run, "p50", _BIG)
    sets = {
        "en": f"the right tool among the first five, {len(recalls[0])} data sets",
        "ja": f"上位 5 件に正しいツール、データセット {len(recalls[0])} 個",
    }
    best = _text("best", language, _range(_best_peers(run)))
    lines = [
        f"| {sets[language]} | {joined.format(*map(_range, recalls))} | {best} |",
        f"| {_text('loaded', language, 5)} | {joined.format(*map(_range, five))} | |",
        f"| {_text('p50', language, '10,000')} | {joined.format(ours, words)} | {peers} |",
    ]
    return "\n".join(lines)


def _recalls(run: _Run) -> Iterable[tuple[tuple[str, str], tuple[str, ...]]]:
    for name in dict.fromkeys(row["dataset"] for row in run["accuracy"] if row["questions"]):
        here = {row["engine"]: row for row in run["accuracy"] if row["dataset"] == name}
        ours, words, *peers = [here.pop(OURS), here.pop(WORDS), *here.values()]
        best = max(peers, key=lambda row: row["recall"]["5"])
        shares = (_percent(row["recall"]["5"]) for row in (ours, words))
        yield (name, f"{ours['tools']:,}"), (*shares, f"{best['engine']}, {_percent(best['recall']['5'])}")


def _best_peers(run: _Run) -> list[float]:
    names = dict.fromkeys(row["dataset"] for row in run["accuracy"] if row["questions"])
    peers = [row for row in run["accuracy"] if row["engine"] not in (OURS, WORDS)]
    return [max(row["recall"]["5"] for row in peers if row["dataset"] == name) for name in names]


def _talk(rows: Sequence[_Run], language: Language) -> list[str]:
    shares = [[row["empty_splits"]["talk-en"] for row in rows if row["engine"] == engine] for engine in (OURS, WORDS)]
    sets = dict.fromkeys(row["dataset"] for row in rows)
    peers = [row for row in rows if row["engine"] not in (OURS, WORDS)]
    best = [max(row["empty_splits"].get("talk-en", 0) for row in peers if row["dataset"] == name) for name in sets]
    return [*map(_range, shares), _text("best", language, _range(best))]


def _values(run: _Run, engine: str | None) -> str:
    """English and Japanese; of the best peer where no engine is named."""
    rows = [row for row in run["confidence"] if (row["catalogue"], row["size"]) == ("made up", _BIG)]
    chosen = [row for row in rows if (row["engine"] == engine if engine else row["engine"] not in (OURS, WORDS))]
    best = [max(row["found"] for row in chosen if row["split"] == f"value-{code}") for code in ("en", "ja")]
    return f"{100 * best[0]:.0f} / {100 * best[1]:.0f} %"


def _speeds(run: _Run, what: str, size: int) -> list[str]:
    here = {row["engine"]: row["figures"][what] for row in run["speed"] if row["size"] == size}
    ours, words = here.pop(OURS), here.pop(WORDS)
    peers = ", ".join(f"{name} {amount(figure, 's')}" for name, figure in sorted(here.items(), key=lambda one: one[1]))
    return [amount(ours, "s"), amount(words, "s"), peers]


def _regex(run: _Run) -> list[str]:
    slowest: dict[str, _Run] = {}
    for row in run["regex"]:
        if row["engine"] not in slowest or row["slowest"] > slowest[row["engine"]]["slowest"]:
            slowest[row["engine"]] = row
    shown = {
        name: ("> " if row["outcome"] == "killed" else "") + amount(row["slowest"], "s")
        for name, row in slowest.items()
    }
    ours = shown.pop(OURS)
    return [ours, ours, ", ".join(f"{name} {figure}" for name, figure in shown.items())]


def _of(rows: Sequence[_Run], engine: str) -> _Run:
    return next(row for row in rows if row["engine"] == engine)


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _text(key: str, language: Language, *given: object) -> str:
    return _WORDS[key][language].format(*given)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _range(shares: Sequence[float]) -> str:
    low, high = round(100 * min(shares)), round(100 * max(shares))
    return f"{low} – {high} %" if low != high else f"{low} %"


def with_figures(page: str, search: _Run | None, preload: _Run | None, language: Language) -> str:
    """`page` with the tables of these runs between its marks; one without a run stays as it is."""
    if search is not None:
        page = figure_pages.with_table(page, "search", search_table(search, language))
    if preload is not None:
        page = figure_pages.with_table(page, "preload", preload_table(preload, language))
    return page


def main() -> None:
    """Write the figures of the last whole runs into the pages, and print the rows for the READMEs."""
    search, preload = last_run("search"), last_run("preload")
    for language, path in PAGES.items():
        path.write_text(with_figures(path.read_text("utf-8"), search, preload, language), "utf-8")
        if search is not None:
            sys.stdout.write(f"{readme_rows(search, language)}\n\n")


if __name__ == "__main__":
    main()
