"""Which ranker and which model a catalogue has, and the text of a tool that is embedded."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from math import isnan
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from ...errors import HikidashiError, MissingExtra, ToolSearchError
from .adapter import load_adapter
from .analyzer import visible
from .entry import Entry

_FLOOR = 0.38  # of the default model: as many questions that a tool serves are below as others are above
_MOST_LETTERS = 220  # characters of a description: its beginning says what the tool does, and models read 64 tokens
_MOST_ARGUMENTS = 12
_BETWEEN_WORDS = re.compile(r"[_\-./:\s]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SENTENCE_END = re.compile(r"[.!?](?=\s)|[。！？]")


@dataclass(frozen=True, kw_only=True, slots=True)
class Embedder:
    """A function from texts to vectors, and its properties."""

    embed: Callable[[list[str]], Any]
    """Texts to vectors of one length: lists of numbers or an array."""
    question: Callable[[list[str]], Any] | None = None
    """The same for questions, if the model embeds these differently from tools; `embed` if None."""
    id: str = ""
    """Name and version of the model. Vectors are kept on disk under it; without one, in memory only."""
    multilingual: bool = False
    """Whether the model reads other scripts than those with spaces between words; if not, a question in Japanese,
    Chinese or Korean is searched by words alone."""
    floor: float = 0.3
    """The similarity from which a tool is about the question even if they share no word."""
    request: Callable[[Any], Any] | None = None
    """Vectors of questions to the probabilities that each asks for something rather than tells; None if unknown."""
    knows: Callable[[str], bool] | None = None
    """Whether the model has a word as a whole, so that it is no misspelling; None if unknown."""
    cache: Path | None = None
    """The file in which vectors are cached; None for one in the user's cache folder."""


Embed = Callable[[list[str]], Any] | Embedder
"""A function from texts to vectors, or an `Embedder`."""


def default_embedder() -> Embedder:
    """The model of the package hikidashi-encoder, loaded when this is first called.

    Questions also go through the adapter that `hikidashi tools tune` installed, if there is one.

    Raises:
        MissingExtra: it, or a package that it needs, is not installed.
        ToolSearchError: it cannot be loaded.
    """
    if not is_installed():
        raise MissingExtra(ENCODER)
    loaded = _loaded()
    if isinstance(loaded, HikidashiError):
        raise loaded.with_traceback(None)
    return loaded


@cache
def _loaded() -> Embedder | HikidashiError:
    """The default model, or the error with which it could not be loaded: trying again takes as long each time."""
    try:
        package = import_module(ENCODER)
        _encoder()
    except ImportError as error:
        missing = MissingExtra((error.name or ENCODER).partition(".")[0])
        missing.__cause__ = error
        return missing
    except Exception as error:  # a file of the model is missing or damaged
        broken = ToolSearchError(
            "unavailable",
            f"The encoder cannot be loaded ({type(error).__name__}: {error!s:.200}). "
            "Install it again: pip install --force-reinstall hikidashi-encoder",
        )
        broken.__cause__ = error
        return broken
    adapter = load_adapter(package.ID)
    return Embedder(
        embed=lambda texts: _encoder().tools(texts),
        question=lambda texts: _questions(texts) if adapter is None else adapter(_questions(texts)),
        request=lambda vectors: _encoder().is_request(vectors),
        knows=lambda word: _encoder().knows(word),
        id=package.ID,
        multilingual=True,
        floor=_FLOOR,
    )


def _questions(texts: list[str]) -> Any:
    return _encoder().questions(texts)


@cache
def _encoder() -> Any:
    return import_module(ENCODER).Encoder()


# A lock of the parent's model may have been held by a thread that the child process does not have.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_encoder.cache_clear)


def embedder_of(embed: Embed | None) -> Embedder:
    """`embed` as an `Embedder`; the default one for None.

    Raises:
        MissingExtra: nothing was given, and the default is not installed.
        ToolSearchError: `embed` is not a function or has wrong properties, or the default cannot be loaded.
    """
    if embed is None:
        return default_embedder()
    embedder = embed if isinstance(embed, Embedder) else Embedder(embed=embed)
    for name, function in (("embed", embedder.embed), ("question", embedder.question or embedder.embed)):
        if not callable(function):
            raise ToolSearchError(
                "invalid_tool_input", f"`{name}` is {function!r}: pass a function from a list of texts to vectors."
            )
    given: Any = embedder
    if not isinstance(given.id, str):
        raise ToolSearchError("invalid_tool_input", f"`id` of the embedder is {given.id!r:.100}: use a name, as text.")
    if type(given.floor) not in (int, float) or isnan(given.floor):
        raise ToolSearchError(
            "invalid_tool_input", f"`floor` of the embedder is {given.floor!r:.100}: use a similarity from 0 to 1."
        )
    return embedder


def text_of(entry: Entry) -> str:
    """The text that is embedded of a tool: name in words, aliases, first sentences, names of the arguments."""
    described = _beginning(" ".join(visible(entry.description).split()))
    arguments = ", ".join(map(_in_words, entry.argument_names[:_MOST_ARGUMENTS]))
    aliases = map(visible, entry.aliases)
    return ". ".join(part for part in (_in_words(entry.name), *aliases, described, arguments) if part)


def _in_words(name: str) -> str:
    """`issue_write` and `issueWrite` as `issue write`."""
    return " ".join(_BETWEEN_WORDS.sub(" ", visible(name)).split())


def _beginning(text: str) -> str:
    """The first sentences of a text, or its first words where no sentence ends soon enough."""
    if len(text) <= _MOST_LETTERS:
        return text.rstrip(".")
    start = text[: _MOST_LETTERS + 1]
    ends = [match.start() for match in _SENTENCE_END.finditer(start)]
    return start[: ends[-1]] if ends and ends[-1] >= _MOST_LETTERS // 3 else start.rpartition(" ")[0] or start


Ranker = Literal["auto", "lexical", "hybrid"]
ENCODER = "hikidashi_encoder"
"""The package of the default model."""
RANKER_VARIABLE = "HIKIDASHI_RANKER"
"""The environment variable that decides for "auto"."""

_Resolved = Literal["lexical", "hybrid"]


class Choice(NamedTuple):
    """A ranker, and whether it was asked for: then errors of its model are raised, not logged."""

    ranker: _Resolved
    is_explicit: bool


def chosen(ranker: object, *, has_embed: bool) -> Choice:
    """The ranker that `ranker` means here.

    Raises:
        ToolSearchError: it is not one, or a function to embed with was given for a search by words.
        MissingExtra: it is "hybrid" with the default model, which is not installed.
    """
    if ranker not in get_args(Ranker):
        raise ToolSearchError("invalid_tool_input", f'`ranker` is {ranker!r}: use "auto", "lexical" or "hybrid".')
    if has_embed:
        if ranker == "lexical":
            raise ToolSearchError(
                "invalid_tool_input", '`embed` is for `ranker="hybrid"`: leave out `ranker`, or `embed`.'
            )
        return Choice("hybrid", is_explicit=True)
    if ranker == "auto":
        wanted = os.environ.get(RANKER_VARIABLE, "")
        if not wanted:
            return Choice("hybrid" if is_installed() else "lexical", is_explicit=False)
        if wanted not in get_args(_Resolved):
            raise ToolSearchError(
                "invalid_tool_input",
                f"The environment variable {RANKER_VARIABLE} is {wanted!r}: unset it, or set it to lexical or hybrid.",
            )
        ranker = wanted
    if ranker == "lexical":
        return Choice("lexical", is_explicit=True)
    if not is_installed():
        raise MissingExtra(ENCODER)
    return Choice("hybrid", is_explicit=True)


def is_installed() -> bool:
    """Whether the package of the default model can be found; it is not imported."""
    return find_spec(ENCODER) is not None
