"""`Meanings`: the vectors of a catalogue's tools, embedded when they are needed, kept, and compared with a question.

Nothing is embedded, and no model is loaded, before a search by words needs it, unless the model was asked for. Few
tools are embedded at once, many in a thread. Until every tool has its vector, a search is by words alone: an answer is
never ranked by vectors that some tools have and others lack.
"""

from __future__ import annotations

import atexit
import json
import logging
import os
import time
import weakref
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from importlib import import_module
from inspect import iscoroutine
from itertools import islice
from threading import Condition, Event, RLock, Thread
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast
from weakref import WeakSet

from ...common.unicode import well_formed
from ...errors import MissingExtra, ToolSearchError
from .analyzer import is_unspaced
from .embeddings import RANKER_VARIABLE, Embed, Embedder, embedder_of, text_of
from .question import clauses_of
from .ranking import Meaning
from .rows import Snapshot
from .vector_cache import VectorCache

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]

logger = logging.getLogger("hikidashi")

Seen = Callable[[], tuple[int, Snapshot]]
"""The version of a catalogue and its tools; called with its lock held."""

# Texts that a search embeds itself: about .2 seconds of the default model.
_AT_ONCE = 128
_ROUNDS = 3  # if the catalogue is changed during as many, the search is by words

_Result = TypeVar("_Result")

_warned: set[str] = set()  # reasons, once in a process each: programs build a catalogue per request


class _Batch(NamedTuple):
    """Tools that are being embedded: the keys of their texts by number, and how often numbers had changed by then."""

    generation: int
    keys: dict[int, bytes]


class _Failure(NamedTuple):
    """What a thread has failed with, and whether `ready` has raised it."""

    error: BaseException
    is_told: bool = False


class Meanings:
    """The vectors of a catalogue's tools.

    Args:
        embed: A function from texts to vectors, or an `Embedder`; the default model if None.
        lock: The lock of the catalogue. It is not held while texts are embedded.
        is_explicit: Whether the model was asked for. If so, its errors are raised; if not, the first is logged, and
            the search is by words from then on.
    """

    def __init__(self, embed: Embed | None, lock: RLock, *, is_explicit: bool) -> None:
        self.is_explicit = is_explicit
        """Whether the model was asked for."""
        self.is_off = False
        """Whether the model cannot be used, and the search is by words."""
        self._embedder = None if embed is None else embedder_of(embed)
        self._lock = lock
        self._vectorizer: Vectorizer | None = None
        self._index: VectorIndex | None = None
        self._stored: StoredVectors | None = None
        self._version = -1
        self._generation = 0
        self._found: dict[bytes, Matrix] = {}
        self._job: Job | None = None
        self._job_batch = _Batch(0, {})
        self._failure: _Failure | None = None

    def reads(self, text: str) -> bool:
        """Whether the model reads the language of `text`."""
        return self._embedder is None or self._embedder.multilingual or not is_unspaced(text)

    def knows(self, word: str) -> bool:
        """Whether the model has a word as a whole, so that it is no misspelling."""
        knows = None if self.is_off else self._guarded(lambda: self._loaded().embedder.knows)
        return knows is not None and knows(word)

    def has_all(self, version: int) -> bool:
        """Whether every tool of this version of the catalogue has its vector."""
        return version == self._version and not self.is_off

    def update(self, seen: Seen) -> None:
        """Embed the tools that have no vector, or begin to.

        Raises:
            Exception: whatever the function to embed with raises, if it was asked for.
        """
        if not self.is_off:
            self._guarded(lambda: self._complete(seen))

    def question(self, text: str, seen: Seen) -> Matrix | None:
        """The vectors of a question and of its clauses; None if it has to be searched by words alone.

        Raises:
            Exception: whatever the function to embed with raises, if it was asked for; also what it raised in the
                thread since the last search.
        """
        with self._lock:
            self._collect()
            failure, self._failure = self._failure, None
        if failure is not None:
            raise failure.error
        if self.is_off:
            return None
        return self._guarded(lambda: self._loaded().question(text) if self._complete(seen) else None)

    def ready(self, seen: Seen, timeout: float | None, progress: Callable[[int, int], None] | None) -> bool:
        """Wait until all tools have vectors; False if they have not after `timeout` seconds.

        Raises:
            Exception: whatever the function to embed with raises, if it was asked for; called again, it tries again.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        with self._lock:
            if self._failure is not None and self._failure.is_told:
                self._failure = None
        while True:
            self._raise_failure()
            if self.is_off:
                return True
            is_complete = self._guarded(lambda: self._complete(seen, wait=True))
            with self._lock:
                job, total = self._job, len(seen()[1].numbers)
            done = 0 if job is None else len(job.found)
            if progress is not None and not self.is_off:
                progress(total if is_complete else max(0, total - job.total + done) if job else 0, total)
            if is_complete:
                return True
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                return False
            if job is not None:
                job.wait(done, left)

    def of(self, vectors: Matrix) -> Meaning:
        """What the model has made of a question; `has_all` must be true."""
        index, embedder = self._index, self._loaded().embedder
        assert index is not None
        request = None if embedder.request is None else float(embedder.request(vectors[:1])[0])
        return Meaning(lambda limit, others: index.similar(vectors, limit, others), embedder.floor, request)

    def renumbered(self, order: Sequence[int]) -> None:
        """Follow the catalogue: the tool at each place of `order`, its number so far, gets that place as number."""
        self._generation += 1
        self._version = -1
        if self._index is not None:
            self._index.renumbered(order)
        if self._stored is not None:
            self._stored = self._stored.renumbered(order)

    def restore(self, stored: StoredVectors | None) -> None:
        """Take the vectors of a saved catalogue; those of another model are forgotten when the model is loaded."""
        self._stored = stored

    def stored(self, tools: Snapshot) -> StoredVectors | None:
        """The vectors to save with these tools, also those that a thread has made so far; call it with the lock held.

        None if there are none, or the model has no name.
        """
        if self._stored is not None:
            return self._stored.only(tools.numbers)
        if self._index is None or self._vectorizer is None or not self._vectorizer.embedder.id:
            return None
        self._collect()
        if self._job is not None:
            self._found |= self._job.so_far()
        if self._found:
            missing = (number for number in tools.numbers if number not in self._index.numbers)
            keys = {number: key_of(text_of(tools.entry(number))) for number in missing}
            self._index.insert({number: self._found[key] for number, key in keys.items() if key in self._found})
        there = [number for number in tools.numbers if number in self._index.numbers]
        if not there:
            return None
        packed, size = self._vectorizer.packed(self._index.rows(there)), self._vectorizer.size
        rows = {number: packed[place * size : (place + 1) * size] for place, number in enumerate(there)}
        return StoredVectors(self._vectorizer.embedder.id, rows)

    def _loaded(self) -> Vectorizer:
        if self._vectorizer is None:
            self._vectorizer = Vectorizer(embedder_of(self._embedder))
        return self._vectorizer

    def _complete(self, seen: Seen, *, wait: bool = False) -> bool:
        """Whether every tool has its vector; embeds those that have none, or begins to.

        Args:
            seen: The catalogue.
            wait: Embed in the thread, however few tools there are: the caller waits for it.
        """
        for _ in range(_ROUNDS):
            with self._lock:
                version, tools = seen()
                if version == self._version or not tools.numbers:
                    return True
            vectorizer = self._loaded()
            _ = vectorizer.size  # may embed a text, which is not done with the lock held
            with self._lock:
                self._collect()
                version, tools = seen()
                missing = self._missing(tools, vectorizer)
                if not missing:
                    self._version, self._found = version, {}
                    return True
                if self._job is not None or self._failure is not None or self.is_off:
                    return False
                generation = self._generation
            texts = {number: text_of(tools.entry(number)) for number in missing}
            batch = _Batch(generation, {number: key_of(text) for number, text in texts.items()})
            found = {key: self._found[key] for key in batch.keys.values() if key in self._found}
            found |= vectorizer.cached({key for key in batch.keys.values() if key not in found})
            unknown = {key: texts[number] for number, key in batch.keys.items() if key not in found}
            if len(unknown) > _AT_ONCE or (wait and unknown):
                self._begin(unknown, vectorizer, found, batch)
                return False
            found |= vectorizer.embed(unknown)
            with self._lock:
                self._insert(found, batch)
        return False

    def _missing(self, tools: Snapshot, vectorizer: Vectorizer) -> list[int]:
        """The tools without a vector, after taking those of a saved catalogue."""
        if self._index is None:
            self._index = VectorIndex(vectorizer.numpy)
        if self._stored is not None:
            stored, self._stored = self._stored.only(tools.numbers), None
            if stored.model and stored.model == vectorizer.embedder.id:
                self._index.insert(vectorizer.unpacked(stored.rows))
        self._index.keep(tools.numbers)
        return [number for number in tools.numbers if number not in self._index.numbers]

    def _begin(
        self, unknown: Mapping[bytes, str], vectorizer: Vectorizer, found: dict[bytes, Matrix], batch: _Batch
    ) -> None:
        """Start the thread, unless another search has."""
        with self._lock:
            self._found |= found
            if self._job is None:
                this = weakref.ref(self)
                self._job, self._job_batch = Job(unknown, vectorizer, lambda: this() is not None), batch

    def _collect(self) -> None:
        """Take what a thread has embedded that has ended, or that is not in this process, since it was forked."""
        job = self._job
        if job is None or not (job.is_done or job.is_lost):
            return
        self._job = None
        self._insert(dict(job.found), self._job_batch)
        if job.error is None:
            return
        if self.is_explicit:
            self._failure = _Failure(job.error)
        else:
            self._give_up(job.error)

    def _insert(self, found: dict[bytes, Matrix], batch: _Batch) -> None:
        """Take new vectors; those of tools that were renumbered meanwhile, when they are looked for next."""
        self._found |= found
        if batch.generation == self._generation and self._index is not None:
            known = self._found
            self._index.insert({number: known[key] for number, key in batch.keys.items() if key in known})

    def _raise_failure(self) -> None:
        """Raise what a thread has failed with. It stays for the next search, which may be in another place."""
        with self._lock:
            self._collect()
            failure = self._failure
            if failure is not None:
                self._failure = _Failure(failure.error, is_told=True)
        if failure is not None:
            raise failure.error

    def _guarded(self, work: Callable[[], _Result]) -> _Result | None:
        """The result of `work`; if it fails and the model was not asked for, None, and the search is by words."""
        if self.is_explicit:
            return work()
        try:
            return work()
        except Exception as error:
            self._give_up(error)
            return None

    def _give_up(self, error: BaseException) -> None:
        self.is_off = True
        reason = f"{error}"
        if reason not in _warned:
            _warned.add(reason)
            logger.warning(
                "Tools are searched by words alone, since the encoder cannot be used: %s "
                'To do without it on purpose: ranker="lexical", or %s=lexical.',
                reason,
                RANKER_VARIABLE,
            )


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


# On disk, little-endian half precision: half the size of float32, and no similarity changes by more than .0005. In
# memory float32, since products of half precision numbers take many times as long.
_STORED = "<f2"
BYTES = 2
_ROUNDING = 0.01  # half precision changes the length of a vector by less


class Vectorizer:
    """The vectors of an `Embedder`.

    A vector is the same whether it is new or was read from disk, so that answers do not depend on the cache.
    """

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self.numpy = _numpy()
        self._disk = VectorCache(embedder.id, embedder.cache) if embedder.id else None
        self._columns: int | None = None

    @property
    def size(self) -> int:
        """The number of bytes of a stored vector."""
        if self._columns is None:
            self._embedded(self.embedder.embed, ["tool"])  # to know which stored vectors are whole
        return BYTES * cast("int", self._columns)

    def question(self, text: str) -> Matrix:
        """The normalised vectors of a question and of its clauses, one row each."""
        return self._embedded(self.embedder.question or self.embedder.embed, [text, *clauses_of(text)])

    def cached(self, keys: Iterable[bytes]) -> dict[bytes, Matrix]:
        """The vectors on disk, by key."""
        return {} if self._disk is None else self.unpacked(self._disk.read(keys, self.size))

    def embed(self, texts: Mapping[bytes, str]) -> dict[bytes, Matrix]:
        """New vectors by key, which are also written to disk."""
        if not texts:
            return {}
        rounded: Any = self._embedded(self.embedder.embed, list(texts.values())).astype(_STORED)
        if self._disk is not None:
            self._disk.write({key: row.tobytes() for key, row in zip(texts, rounded, strict=True)})
        return dict(zip(texts, rounded.astype(self.numpy.float32), strict=True))

    def vectors(self, texts: Sequence[str]) -> Matrix:
        """The vectors of `texts`, one row each; only texts that are not cached are embedded."""
        keys = list(map(key_of, texts))
        known = self.cached(set(keys))
        known |= self.embed({key: text for key, text in zip(keys, texts, strict=True) if key not in known})
        return self.numpy.stack([known[key] for key in keys])

    def packed(self, vectors: Matrix) -> bytes:
        """Vectors in the form that is stored."""
        return vectors.astype(_STORED).tobytes()

    def unpacked(self, stored: Mapping[Any, bytes]) -> dict[Any, Matrix]:
        """Stored vectors by key, without those that are damaged: of another size, not finite, or not normalised."""
        if not stored:
            return {}
        numpy, size = self.numpy, self.size
        whole = {key: vector for key, vector in stored.items() if len(vector) == size}
        rows = numpy.frombuffer(b"".join(whole.values()), _STORED).astype(numpy.float32).reshape(-1, size // BYTES)
        sound = (numpy.abs(numpy.linalg.norm(rows, axis=1) - 1) < _ROUNDING).tolist()  # false for NaN and infinity
        return {key: row for key, row, is_sound in zip(whole, rows, sound, strict=True) if is_sound}

    def _embedded(self, embed: Callable[[list[str]], Any], texts: list[str]) -> Matrix:
        numpy = self.numpy
        given: Any = embed([well_formed(text) for text in texts])
        try:
            vectors = cast("Matrix", numpy.asarray(given, dtype=numpy.float32))
        except (TypeError, ValueError) as error:  # a coroutine, a generator, vectors of several lengths
            if iscoroutine(given):
                given.close()
            raise _unusable(f"a {type(given).__name__} that is not an array of numbers", texts) from error
        if vectors.ndim != 2 or len(vectors) != len(texts) or not vectors.size:
            raise _unusable(f"an array of shape {vectors.shape}", texts)
        if self._columns not in (None, vectors.shape[1]):
            raise _unusable(f"vectors of {vectors.shape[1]} numbers, after some of {self._columns},", texts)
        lengths = numpy.linalg.norm(vectors, axis=1, keepdims=True)
        if not numpy.isfinite(lengths).all():
            raise _unusable("a vector with NaN or infinity in it,", texts)
        self._columns = vectors.shape[1]
        return vectors / numpy.where(lengths > 0, lengths, 1)


def key_of(text: str) -> bytes:
    """The key of a text's vector."""
    return blake2b(well_formed(text).encode(), digest_size=16).digest()


def _unusable(what: str, texts: list[str]) -> ToolSearchError:
    return ToolSearchError(
        "unavailable",
        f"The embedding function gave {what} when called with a list of {len(texts)}. "
        "Return one vector per text, all of one length: lists of numbers or an array, not a coroutine.",
    )


def _numpy() -> Any:
    try:
        return import_module("numpy")
    except ImportError as error:
        raise MissingExtra("numpy") from error


# Of the gap between the best similarity of a clause and the best of all: what a clause is raised by, so that of two
# wishes the one that is put less clearly finds its tool too. 0 and 1 find .7 points less on the sets with such tasks.
_RAISED = 0.5


class VectorIndex:
    """A matrix with one row per tool.

    Args:
        numpy: The module.
    """

    def __init__(self, numpy: Any) -> None:
        self._numpy = numpy
        self._matrix: Matrix | None = None
        self.numbers: set[int] = set()
        """The tools that have a vector."""
        self._used = 0

    def insert(self, vectors: Mapping[int, Matrix]) -> None:
        """Add the vectors of tools, by number."""
        if not vectors:
            return
        rows = max(vectors) + 1
        known = self._matrix
        if known is None or len(known) < rows:
            # At least doubled when it grows, so that adding tools one by one is fast.
            room = max(rows, 2 * len(known) if known is not None else 0)
            grown = self._numpy.zeros((room, len(next(iter(vectors.values())))), self._numpy.float32)
            if known is not None:
                grown[: len(known)] = known
            self._matrix = known = cast("Matrix", grown)
        known[list(vectors)] = self._numpy.stack(list(vectors.values()))
        self.numbers |= vectors.keys()
        self._used = max(self._used, rows)

    def keep(self, numbers: Collection[int]) -> None:
        """Forget the tools that are not among `numbers`."""
        gone = self.numbers.difference(numbers)
        if gone and self._matrix is not None:
            self._matrix[list(gone)] = 0  # near to nothing
        self.numbers -= gone

    def rows(self, numbers: Sequence[int]) -> Matrix:
        """The vectors of tools, one row each."""
        assert self._matrix is not None
        return self._matrix[numbers]

    def renumbered(self, order: Sequence[int]) -> None:
        """Renumber the tools: the tool at each place of `order`, its number so far, gets that place as number."""
        there = {place: number for place, number in enumerate(order) if number in self.numbers}
        rows = {place: self._matrix[number] for place, number in there.items()} if self._matrix is not None else {}
        self._matrix, self.numbers, self._used = None, set(), 0
        self.insert(rows)

    def similar(self, vectors: Matrix, limit: int, others: Iterable[int]) -> dict[int, float]:
        """The `limit` tools nearest to any of the vectors, nearest first, and then `others`, with their similarity.

        There must be at least one tool, and `others` must be among the tools.
        """
        assert self._matrix is not None
        numpy, used = self._numpy, self._used
        # Not `@`: BLAS would start threads for it, which on a busy machine takes 8 ms instead of .5.
        rows = self._matrix[:used]
        of_each = [numpy.einsum("ij,j->i", rows, vector) for vector in vectors]
        best = max(float(one.max()) for one in of_each)
        similarities: Matrix = numpy.max([one + _RAISED * (best - float(one.max())) for one in of_each], axis=0)
        # Rows of removed tools may be among the nearest: take as many more as there are.
        few = min(limit + used - len(self.numbers), used)
        places = numpy.argpartition(-similarities, few - 1)[:few]
        nearest = places[numpy.lexsort((places, -similarities[places]))]
        found = [place for place in nearest.tolist() if place in self.numbers][:limit]
        found += sorted(set(others).difference(found))
        return dict(zip(found, similarities[found].tolist(), strict=True))


@dataclass(frozen=True, slots=True)
class StoredVectors:
    """Vectors of tools by number, in the form in which `Vectorizer` stores them."""

    model: str
    """The `Embedder.id` of the model."""
    rows: dict[int, bytes]

    def to_bytes(self) -> bytes:
        """A line of JSON with the model and the numbers, then the vectors, all of one length."""
        head = json.dumps({"model": self.model, "numbers": list(self.rows)}, separators=(",", ":"))
        return b"".join((head.encode(), b"\n", *self.rows.values()))

    @classmethod
    def from_bytes(cls, content: bytes) -> StoredVectors:
        """What `to_bytes` made."""
        head, _, body = content.partition(b"\n")
        described = json.loads(head)
        numbers: list[int] = described["numbers"]
        size = len(body) // len(numbers) if numbers else 0
        rows = {number: body[place * size : (place + 1) * size] for place, number in enumerate(numbers)}
        return cls(described["model"], rows)

    def only(self, numbers: Collection[int]) -> StoredVectors:
        """The vectors of the tools among `numbers`."""
        return StoredVectors(self.model, {number: self.rows[number] for number in numbers if number in self.rows})

    def renumbered(self, order: Sequence[int]) -> StoredVectors:
        """The tool at each place of `order`, its number so far, gets that place as its number."""
        rows = {place: self.rows[number] for place, number in enumerate(order) if number in self.rows}
        return StoredVectors(self.model, rows)
