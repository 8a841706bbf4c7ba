"""What embedding a catalogue costs, once: time, processor time and size, with nothing kept from before.

`python -m benchmarks.search.vectors SIZE` is one process that measures it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

from .catalogue import catalogue
from .ours import VECTORS, Hybrid, Lexical

SIZES = (1_000, 10_000)
QUICK_SIZES = (20,)
AIMED_AT = 10_000
AIMS = {"seconds": 60.0, "bytes": 20e6}
"""What 10,000 tools should stay below."""


@dataclass(frozen=True, slots=True)
class Vectors:
    """What embedding so many tools took."""

    size: int
    seconds: float
    cpu: float
    """Seconds of processor time, of all cores."""
    build: float
    """Seconds until the catalogue can be searched by words; the vectors follow in the background."""
    kept: float
    """Seconds until a catalogue of the same tools has its vectors, when they were kept on disk."""
    bytes: int
    """Of the file that keeps the vectors."""
    saved: int
    """Bytes by which a saved catalogue is larger than one that is searched by words alone."""


def measure(sizes: Sequence[int], progress: Callable[[str], None]) -> Iterable[Vectors]:
    """Each size in a process of its own; nothing where the encoder is not installed."""
    if not find_spec("hikidashi_encoder"):
        return
    for size in sizes:
        progress(f"{size:,} tools")
        command = [sys.executable, "-m", "benchmarks.search.vectors", str(size)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"Embedding {size:,} tools failed: {done.stderr.strip()[-300:]}")
        yield Vectors(**json.loads(done.stdout))


def measured(size: int) -> Vectors:
    """What embedding `size` made-up tools takes."""
    tools = catalogue(size)
    with TemporaryDirectory() as folder:
        os.environ[VECTORS] = str(Path(folder) / "warm-up")
        Hybrid(tools[:2]).ready()  # loading the model is not what is measured
        file = Path(folder) / "vectors"
        os.environ[VECTORS] = str(file)
        before, start, cpu = _saved(Lexical(tools), folder), perf_counter(), process_time()
        searcher = Hybrid(tools)
        build = perf_counter() - start
        searcher.ready()
        seconds, cpu = perf_counter() - start, process_time() - cpu
        saved = _saved(searcher, folder) - before
        start = perf_counter()
        Hybrid(tools).ready()
        kept = perf_counter() - start
        size_of_file = sum(path.stat().st_size for path in Path(folder).glob("vectors*"))
    return Vectors(size, seconds, cpu, build, kept, size_of_file, saved)


def _saved(searcher: Lexical, folder: str) -> int:
    """Bytes of the catalogue when it is saved."""
    path = Path(folder) / "saved"
    searcher.save(path)
    return sum(one.stat().st_size for one in (path.rglob("*") if path.is_dir() else [path]) if one.is_file())


if __name__ == "__main__":
    figures = measured(int(sys.argv[1]))
    sys.stdout.write(json.dumps({name: getattr(figures, name) for name in Vectors.__slots__}))
