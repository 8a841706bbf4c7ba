"""Embedding many texts in a thread, so that a catalogue of any size can be searched by words at once."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Mapping
from itertools import islice
from threading import Condition, Event, Thread
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

if TYPE_CHECKING:
    from .vectorizer import Vectorizer

__all__ = ["Job"]

_BATCH = 32  # texts, written to disk together: what an ended process has embedded is not lost
_LAST_BATCH = 5.0  # seconds that the interpreter waits at its end


class Job:
    """Embeds texts, in batches, in a daemon thread that touches nothing of a catalogue.

    Args:
        texts: The texts by key.
        vectorizer: Their vectorizer.
        is_wanted: Asked before each batch: whether anybody still needs the vectors.
    """

    def __init__(self, texts: Mapping[bytes, str], vectorizer: Vectorizer, is_wanted: Callable[[], bool]) -> None:
        self.total = len(texts)
        self.found: dict[bytes, Any] = {}
        """The vectors so far, by key."""
        self.error: BaseException | None = None
        self.is_done = False
        self._texts = texts
        self._vectorizer = vectorizer
        self._is_wanted = is_wanted
        self._halted = Event()
        self._changed = Condition()
        self._process = os.getpid()
        self._thread = Thread(target=self._run, name="hikidashi-embeddings", daemon=True)
        _running.add(self)
        self._thread.start()

    @property
    def is_lost(self) -> bool:
        """Whether its thread is in another process: this one was forked from that."""
        return self._process != os.getpid()

    def wait(self, done: int, timeout: float | None) -> None:
        """Wait until more than `done` texts are embedded, or the thread has ended."""
        with self._changed:
            self._changed.wait_for(lambda: self.is_done or len(self.found) > done, timeout)

    def so_far(self) -> dict[bytes, Any]:
        """The vectors so far, by key, while the thread makes others."""
        with self._changed:
            return dict(self.found)

    def halt(self) -> None:
        """End the thread after its current batch."""
        self._halted.set()

    def join(self) -> None:
        """Wait for the end of the thread."""
        self._thread.join(_LAST_BATCH)

    def _run(self) -> None:
        try:
            # Texts of like length together: every text of a batch takes as long as the longest.
            keys = iter(sorted(self._texts, key=lambda key: len(self._texts[key])))
            while batch := {key: self._texts[key] for key in islice(keys, _BATCH)}:
                if self._halted.is_set() or not self._is_wanted():
                    break
                found = self._vectorizer.cached(batch)  # another catalogue or process may have embedded them meanwhile
                found |= self._vectorizer.embed({key: text for key, text in batch.items() if key not in found})
                with self._changed:
                    self.found |= found
                    self._changed.notify_all()
        except BaseException as error:  # what the function raises is for the caller that waits
            self.error = error
        finally:
            with self._changed:
                self.is_done = True
                self._changed.notify_all()


_running: WeakSet[Job] = WeakSet()


@atexit.register
def _halt_all() -> None:  # pyright: ignore[reportUnusedFunction]
    """A thread that runs into the end of the interpreter may crash in native code."""
    jobs = [job for job in _running if not job.is_lost]
    for job in jobs:
        job.halt()
    for job in jobs:
        job.join()
