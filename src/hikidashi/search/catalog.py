"""`ToolCatalog`: tools to search by words, by pattern or by name."""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Any, Literal

from ..convert.wire import listed
from .engine import saved as store
from .engine.embeddings import Embed, Ranker, chosen
from .engine.entry import Entry
from .engine.glossary import Glossary
from .engine.index import Index, LexicalIndex
from .engine.match import HELD_BACK, Explanation, ToolMatch, explained, matches_of
from .engine.meaning import Meanings
from .engine.patterns import Pattern
from .engine.question import (
    MAX_LIMIT,
    MAX_QUERY,
    MAX_TOOLS,
    SELECT,
    Question,
    check_count,
    check_limit,
    checked_pattern,
    checked_query,
    checked_question,
    checked_seconds,
    full,
    read_question,
)
from .engine.ranking import Ranking, rank
from .engine.rows import Rows, Snapshot, name_in_pattern, preferring_named, selected, warn_of_missing
from .overlay import Overlay, entry_with, overlay_of

__all__ = ["MAX_LIMIT", "MAX_QUERY", "MAX_TOOLS", "Ranker", "ToolCatalog"]

_PATIENCE = 5.0  # seconds that a question waits for vectors of which no tool has a word: 3,000 tools take as long


class ToolCatalog:
    """Tools to search by words, by pattern or by name.

    Thread-safe: a search sees the catalogue before or after a change, never in between. A search takes about a
    millisecond, by meaning a few, so that async code can call it directly; only the first one by meaning takes longer,
    since it loads the model (`ready` does that in advance).

    Tools are checked at once. The index of many is built in a thread meanwhile, and a search by words waits for it: for
    10,000 tools about a quarter of a second of processor time.

    Args:
        tools: Anthropic, OpenAI or MCP dicts, tools of hikidashi, pydantic-ai, strands or MCP, in any mix.
        ranker: "lexical" ranks by words alone, "hybrid" also by meaning. "auto" is "hybrid" if the
            encoder can be loaded, and else "lexical"; the environment variable HIKIDASHI_RANKER decides for it.
        embed: A function from texts to vectors instead of the default model, or an `Embedder`, which also has the name
            under which vectors are cached on disk; the ranker is "hybrid" then.
        limit_tools: The maximum number of tools; by default that of the API.
        limit_query: The maximum length of a query in characters; by default that of the API.
        glossary: Your own words and the English words that tools use for them, or a file of them (tab-separated), in
            addition to the synonyms of everyday English that come with hikidashi. False leaves these out.
        overlay: Aliases and better descriptions for tools of others: an `Overlay`, a dict of its shape, or a file.

    Raises:
        ToolSourceError: the overlay cannot be read, or is not valid.
        ToolValidationError: `tools` is not a list, or a tool has no name, a schema that is not an object, or the name
            of another tool.
        ToolSearchError: there are more tools than `limit_tools`, or `ranker` is not a ranker.
        MissingExtra: the ranker is "hybrid", and the extra is not installed.
    """

    def __init__(
        self,
        tools: Iterable[Any] = (),
        *,
        ranker: Ranker = "auto",
        embed: Embed | None = None,
        limit_tools: int = MAX_TOOLS,
        limit_query: int = MAX_QUERY,
        glossary: Mapping[str, str | Iterable[str]] | str | Path | Literal[False] | None = None,
        overlay: Overlay | Mapping[str, Any] | str | Path | None = None,
    ) -> None:
        self._lock = RLock()
        kind, is_explicit = chosen(ranker, has_embed=embed is not None)
        self._meanings = Meanings(embed, self._lock, is_explicit=is_explicit) if kind == "hybrid" else None
        self.limit_tools = check_count("limit_tools", limit_tools)
        self.limit_query = check_count("limit_query", limit_query)
        self._glossary = None if glossary is None or glossary is False else Glossary.of(glossary)
        self._bundled = glossary is not False
        self._overlay = overlay_of(overlay)
        self._rows = Rows()
        self._snapshot: tuple[int, Snapshot] | None = None
        entries = (entry_with(self._overlay, tool, position) for position, tool in enumerate(listed(tools)))
        self._lexical = LexicalIndex([self._row(entry) for entry in entries])
        self._embed_eagerly()

    def __len__(self) -> int:
        return len(self._rows.numbers)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._rows.numbers

    def __iter__(self) -> Iterator[Any]:
        """The tools, in the order they were added."""
        with self._lock:
            return iter([self._rows.entry(number).tool for number in self._rows.numbers.values()])

    @property
    def names(self) -> list[str]:
        """The names of all tools, in the order they were added."""
        with self._lock:
            return list(self._rows.numbers)

    @property
    def version(self) -> int:
        """A number that changes when a tool is added or removed."""
        return self._lexical.version

    def get(self, name: str) -> Any | None:
        """The tool of exactly this name, as it was added; None if there is none."""
        with self._lock:
            return self._rows.entry(self._rows.numbers[name]).tool if name in self else None

    @property
    def ranker(self) -> Literal["lexical", "hybrid"]:
        """How this catalogue ranks; "lexical" also if the default model turned out not to work."""
        return "lexical" if self._meanings is None or self._meanings.is_off else "hybrid"

    def ready(self, timeout: float | None = None, progress: Callable[[int, int], None] | None = None) -> bool:
        """Wait until the index is built and every tool can be found by meaning.

        A search waits for the index too, but not for the vectors: before they are there, it is by words alone.

        Args:
            timeout: The maximum number of seconds to wait; None for no maximum.
            progress: Called with the number of tools that are done and the number of all.

        Returns:
            False if the time was not enough.

        Raises:
            ToolSearchError: `timeout` is not a number.
            Exception: whatever the function to embed with raises.
        """
        seconds = checked_seconds("timeout", timeout)
        deadline = None if seconds is None else time.monotonic() + seconds
        if self._meanings is not None and not self._meanings.ready(self._seen, seconds, progress):
            return False
        if not self._lexical.wait(None if deadline is None else max(0.0, deadline - time.monotonic())):
            return False
        with self._indexed():
            return True

    @property
    def is_ready(self) -> bool:
        """Whether `ready` has nothing to wait for, so that the answer to a question changes only if the tools do.

        That is so if the index is built, and no vector is missing or none is needed. It starts nothing.
        """
        with self._lock:
            if not self._lexical.wait(0):
                return False
            return self.ranker == "lexical" or (self._meanings is not None and self._meanings.has_all(self.version))

    def ranks_by_meaning(self, query: str) -> bool:
        """Whether the answer to `query` depends on vectors: not for a list of names.

        Raises:
            ToolSearchError: the query is empty or too long.
        """
        query = checked_query(query, self.limit_query)
        if self._meanings is None or self.ranker == "lexical" or query.startswith(SELECT):
            return False
        return self._meanings.reads(query)

    def raise_limit(self, tools: int) -> None:
        """Have room for `tools` tools in all; a higher `limit_tools` stays."""
        with self._lock:
            self.limit_tools = max(self.limit_tools, tools)

    def add(self, tool: Any) -> None:
        """Add a tool; the index is updated in place.

        Raises:
            ToolValidationError: it has no name, a schema that is not an object, or the name of another tool.
            ToolSearchError: the catalogue is full.
        """
        entry = entry_with(self._overlay, tool)
        with self._indexed() as index:
            index.add(self._lexical.terms(self._row(entry)))

    def remove(self, name: str) -> None:
        """Remove a tool.

        Raises:
            ToolSearchError: no tool has this name.
        """
        with self._indexed() as index:
            number, entry = self._rows.remove(name)
            index.remove(number, (term for _, terms in self._lexical.terms(entry) for term in terms))
            if len(self._rows.entries) > 2 * len(self) + 64:  # most numbers are unused
                self._renumber()

    def search(self, query: str, *, limit: int = 5, by_meaning: bool = True) -> list[ToolMatch]:
        """The tools that match `query`, best first.

        If the search is confident of none (`ToolMatch.confident`), at most the three nearest; an empty list only if no
        tool has a word of the question that says what it is about.

        A tool whose name is the query in any spelling (`getUser`, `get user`) comes first. `select:a,b` gives the tools
        of these names in this order, regardless of `limit`; unknown names are left out, unless all are unknown.

        Args:
            query: What is looked for.
            limit: The maximum number of tools.
            by_meaning: False ranks by words alone whatever the ranker is: it loads no model and embeds nothing.

        Raises:
            ToolSearchError: the query is empty or too long, `limit` is out of range, the catalogue is empty, or
                `select:` names no known tool.
        """
        query = checked_question(query, self.limit_query)
        check_limit(limit, len(self))
        if query.startswith(SELECT):
            with self._lock:
                return selected(self._rows, query.removeprefix(SELECT))
        with self._ranked(query, limit, by_meaning=by_meaning) as (ranking, question):
            return matches_of(ranking, question, limit, self._rows.entry)

    def explain(self, query: str, *, limit: int = 5) -> Explanation:
        """What `search` finds, what it leaves out and why, and how it read each word of `query`.

        Raises:
            ToolSearchError: as `search`.
        """
        query = checked_question(query, self.limit_query)
        check_limit(limit, len(self))
        if query.startswith(SELECT):
            with self._lock:
                return Explanation(selected(self._rows, query.removeprefix(SELECT)))
        with self._ranked(query, limit + HELD_BACK) as (ranking, question):
            return explained(ranking, question, limit, self._rows.entry, self._lexical.index)

    @contextmanager
    def _ranked(self, query: str, limit: int, *, by_meaning: bool = True) -> Generator[tuple[Ranking, Question]]:
        """The best tools for a question, and how it was read; with the lock held."""
        plain = unicodedata.normalize("NFKC", query)  # full-width letters are read as others; names are as they are
        meanings = self._meanings if by_meaning else None
        question = self._read(plain, meanings)
        vectors = None
        if meanings is not None and question.has_words and meanings.reads(plain):
            vectors = meanings.question(question.text, self._seen)
            if vectors is None and not question.weights and meanings.ready(self._seen, _PATIENCE, None):
                vectors = meanings.question(question.text, self._seen)
        with self._indexed() as index:
            if question.version != index.version:
                question = self._read(plain, meanings)
            meaning = None
            if meanings is not None and vectors is not None and meanings.has_all(index.version):
                meaning = meanings.of(vectors)
            ranking = rank(question, index, limit, meaning)
            yield preferring_named(self._rows, query, ranking, limit), question

    def _read(self, query: str, meanings: Meanings | None) -> Question:
        with self._indexed():
            return read_question(
                query,
                self._lexical.vocabulary,
                own=self._glossary,
                with_synonyms=self._bundled,
                is_word=_knows_nothing if meanings is None else meanings.knows,
            )

    @contextmanager
    def _indexed(self) -> Generator[Index]:
        """The index, with the lock held. It is awaited without the lock: names and patterns need no index."""
        self._lexical.wait()
        with self._lock:
            yield self._lexical.index

    def search_regex(self, pattern: str, *, limit: int = 5) -> list[ToolMatch]:
        r"""The tools whose name, description or arguments match `pattern`, in catalogue order, an exact name first.

        Python's syntax, always case-insensitive, matched in linear time: no look-around, no back-references. Each name,
        description and argument is a line of its own: `^get_` and `_data$` find names.

        Raises:
            ToolSearchError: the pattern is empty, too long, invalid, or not supported in linear time;
                `limit` is out of range, or the catalogue is empty.
        """
        pattern = checked_pattern(pattern)
        check_limit(limit, len(self))
        compiled = Pattern(pattern)
        with self._lock:
            _, seen = self._seen()
            name = name_in_pattern(pattern)
            alike = [(number, seen.entry(number)) for number in self._rows.spelled_like(name)]
        first = [number for number, entry in alike if entry.name.casefold() == name]
        positions = compiled.first_matches(seen.batches(), len(seen.numbers), limit)
        found = [number for position in positions if (number := seen.numbers[position]) not in first]
        entries = [seen.entry(number) for number in (first + found)[:limit]]
        return [ToolMatch(entry.name, 1.0, entry, compiled.places) for entry in entries]

    def save(self, path: str | Path) -> None:
        """Write the catalogue to a file, atomically; `ToolCatalog.load` opens it.

        Tools other than dicts are saved as Anthropic tool dicts: name, description, schema, aliases and tags. The file
        has the vectors that there are by now, and nothing is embedded for it: call `ready` before for all of them.

        Raises:
            ToolSearchError: a tool's schema is not JSON, or the file cannot be written.
        """
        with self._indexed():
            if not self._rows.is_in_order:
                self._renumber()
            vectors = self._meanings and self._meanings.stored(self._seen()[1])
            store.write(Path(path), self._rows, self._lexical.index, vectors)

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        ranker: Ranker = "auto",
        embed: Embed | None = None,
        limit_tools: int = MAX_TOOLS,
        limit_query: int = MAX_QUERY,
        glossary: Mapping[str, str | Iterable[str]] | str | Path | Literal[False] | None = None,
        tools: Iterable[Any] | None = None,
        overlay: Overlay | Mapping[str, Any] | str | Path | None = None,
    ) -> ToolCatalog:
        """The catalogue that `save` wrote; its tools are dicts. The other arguments are those of a new catalogue.

        With `tools`, the result is the same as a new catalogue of these tools, but faster: only tools that are new or
        changed since the file was saved are indexed. Tools of the file that are not among them are left out, and
        named in a warning.

        Raises:
            ToolSearchError: the file is missing, damaged or not a catalogue, or has more tools than `limit_tools`.
            ToolValidationError: one of `tools` has no name, a schema that is not an object, or the name of another.
        """
        catalog = cls(
            ranker=ranker,
            embed=embed,
            limit_tools=limit_tools,
            limit_query=limit_query,
            glossary=glossary,
            overlay=overlay,
        )
        saved = store.read(Path(path))
        catalog._rows, catalog._lexical = saved.rows, LexicalIndex.of(saved.index)
        if catalog._meanings is not None:
            catalog._meanings.restore(saved.vectors)
        if tools is not None:
            catalog._bind(tools, saved.digests, path)
        elif len(catalog) > limit_tools:
            raise full(limit_tools, f"{str(path)!r} has {len(catalog)}")
        elif catalog._overlay is not None:
            for name in [name for name in catalog._overlay.tools if name in catalog]:
                tool = catalog.get(name)
                catalog.remove(name)
                catalog.add(tool)
        catalog._embed_eagerly()
        return catalog

    def _bind(self, tools: Iterable[Any], digests: Mapping[str, bytes], path: str | Path) -> None:
        """Replace the tools that were read from a file by `tools`."""
        live = Rows()
        for position, tool in enumerate(listed(tools)):
            live.add(entry_with(self._overlay, tool, position))
        if len(live.numbers) > self.limit_tools:
            raise full(self.limit_tools, f"{len(live.numbers)} were given")
        gone = [name for name in self._rows.numbers if name not in live.numbers]
        warn_of_missing(gone, path)
        for name in gone:
            self.remove(name)
        for name, number in live.numbers.items():
            entry = live.entry(number)
            if name in self._rows.numbers and digests[name] == store.digest_of(entry):
                self._rows.bind(entry)
                continue
            if name in self._rows.numbers:
                self.remove(name)
            self._lexical.index.add(self._lexical.terms(self._row(entry)))
        self._rows.reorder(live.numbers)

    def _embed_eagerly(self) -> None:
        """Embed the tools now if the model was asked for, so that its errors are raised here."""
        if self._meanings is not None and self._meanings.is_explicit and self._rows.numbers:
            self._meanings.update(self._seen)

    def _row(self, entry: Entry) -> Entry:
        if len(self) >= self.limit_tools:
            raise full(self.limit_tools, f"{entry.name!r} would be one more")
        self._rows.add(entry)
        return entry

    def _renumber(self) -> None:
        order = list(self._rows.numbers.values())
        entries = [self._rows.entry(number) for number in order]
        self._rows = Rows()
        self._lexical = self._lexical.renumbered([self._row(entry) for entry in entries])
        if self._meanings is not None:
            self._meanings.renumbered(order)

    def _seen(self) -> tuple[int, Snapshot]:
        """The version of the catalogue and its tools as they are now: for work that does not hold the lock."""
        if self._snapshot is None or self._snapshot[0] != self._lexical.version:
            self._snapshot = self._lexical.version, self._rows.snapshot()
        return self._snapshot


def _knows_nothing(_: str) -> bool:
    return False
