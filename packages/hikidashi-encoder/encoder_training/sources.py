"""The public sets that the encoder is measured on, and one that it is trained with: their sources and licences."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

__all__ = ["SOURCES", "Source", "missing_sets", "needed"]


@dataclass(frozen=True)
class Source:
    """A public data set."""

    title: str
    repository: str
    """On GitHub."""
    licence: str
    files: tuple[str, ...] = ("tools.jsonl", "queries.jsonl")


SOURCES = {
    "bfcl": Source("Berkeley Function Calling Leaderboard v4, single-turn", "ShishirPatil/gorilla", "Apache-2.0"),
    "sealtools": Source("Seal-Tools", "fairyshine/Seal-Tools", "Apache-2.0"),
    "stabletoolbench": Source("StableToolBench, solvable queries", "THUNLP-MT/StableToolBench", "Apache-2.0"),
    "metatool": Source("MetaTool (ToolE)", "HowieHwong/MetaTool", "MIT"),
    "restbench": Source("RestBench, TMDB and Spotify", "Yifan-Song793/RestGPT", "MIT"),
    "acebench_zh": Source("ACEBench, Chinese", "chenchen0103/ACEBench", "MIT"),
    "openapi_ops": Source("OpenAPI operations", "APIs-guru/openapi-directory", "CC0-1.0", ("ops.jsonl",)),
}


def missing_sets(folder: Path, names: Iterable[str] | None = None) -> list[str]:
    """Those of these sets (of all, if None) that are not in `folder`, or not whole."""
    wanted = SOURCES if names is None else names
    return [name for name in wanted if not all((folder / name / file).is_file() for file in SOURCES[name].files)]


def needed(folder: Path, missing: list[str]) -> str:
    """What to say where sets are missing: which, where from and in which form."""
    rows = [
        f"  {name}/ ({', '.join(SOURCES[name].files)}): {SOURCES[name].title},"
        f" GitHub {SOURCES[name].repository}, {SOURCES[name].licence}"
        for name in missing
    ]
    return "\n".join(
        [
            f"These sets are not in {folder}:",
            *rows,
            "A line of tools.jsonl is {name, description, input_schema}; of queries.jsonl {query, gold: [tool names]};",
            "of ops.jsonl {api, op, m, path, s, d, args}: title, operationId, method, path, summary, description and",
            "parameter names of an operation. Give their folder: make encoder DATA=DIR (or --data DIR).",
        ]
    )
