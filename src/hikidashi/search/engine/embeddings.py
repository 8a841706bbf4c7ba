"""Semantic search: embeddings of tools, cached on disk, and their cosine similarity to that of a question.

Needs numpy. The default model, of the extra `semantic`, is wordllama, whose wheel includes the weights: nothing is
downloaded.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import MissingExtra, ToolSearchError
from .entry import Entry

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]

__all__ = ["Embedder", "default_embedder", "embedder_of", "text_of"]

_FLOOR = 0.45  # of the default model: less similar texts have only their style in common
_MOST_LETTERS = 220  # characters of a description: its beginning says what the tool does, and models read 64 tokens
_MOST_ARGUMENTS = 12
_BETWEEN_WORDS = re.compile(r"[_\-./:\s]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SENTENCE_END = re.compile(r"[.!?](?=\s)|[。！？]")
_BYTES = 4  # of a float32


@dataclass(frozen=True, kw_only=True, slots=True)
class Embedder:
    """A function from texts to vectors, and its properties."""

    embed: Callable[[list[str]], Any]
    """Texts to vectors of one length: lists of numbers or an array."""
    id: str = ""
    """Name and version of the model. Vectors are kept on disk under it; without one, in memory only."""
    multilingual: bool = False
    """Whether the model knows other scripts than Latin; if not, questions in those are searched by words alone."""
    floor: float = 0.3
    """The similarity from which a tool is about the question even if they share no word."""
    cache: Path | None = None
    """The file in which vectors are cached; None for one in the user's cache folder."""

    def reads(self, text: str) -> bool:
        """Whether the model can embed `text`: all letters are Latin, or the model is multilingual."""
        return self.multilingual or all(letter < "\u0250" for letter in text if letter.isalpha())


@cache
def default_embedder() -> Embedder:
    """The model of the extra `semantic`: wordllama, static vectors of 256 numbers, English.

    Raises:
        MissingExtra: wordllama is not installed.
        ToolSearchError: it cannot be loaded.
    """
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    try:
        wordllama: Any = import_module("wordllama")
    except ImportError as error:
        raise MissingExtra("wordllama", "semantic") from error
    except RuntimeError as error:  # it needs a home folder, which may be missing in a container
        raise ToolSearchError("unavailable", f"wordllama cannot be loaded: {error} Set HOME to any folder.") from error
    finally:  # importing it configures the root logger
        root.handlers[:] = handlers
        root.setLevel(level)
    # By default it looks for the weights beside the package and then downloads them; they are inside the package.
    model = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
    return Embedder(embed=model.embed, id=f"wordllama-{version('wordllama')}-256", floor=_FLOOR)


def text_of(entry: Entry) -> str:
    """The text that is embedded of a tool: name in words, aliases, first sentences, names of the arguments."""
    described = _beginning(" ".join(entry.description.split()))
    arguments = ", ".join(map(_in_words, entry.argument_names[:_MOST_ARGUMENTS]))
    return ". ".join(part for part in (_in_words(entry.name), *entry.aliases, described, arguments) if part)


def _in_words(name: str) -> str:
    """`issue_write` and `issueWrite` as `issue write`."""
    return " ".join(_BETWEEN_WORDS.sub(" ", name).split())


def _beginning(text: str) -> str:
    """The first sentences of a text, or its first words where no sentence ends soon enough."""
    if len(text) <= _MOST_LETTERS:
        return text.rstrip(".")
    start = text[: _MOST_LETTERS + 1]
    ends = [match.start() for match in _SENTENCE_END.finditer(start)]
    return start[: ends[-1]] if ends and ends[-1] >= _MOST_LETTERS // 3 else start.rpartition(" ")[0] or start


def embedder_of(embed: Callable[[list[str]], Any] | Embedder | None) -> Embedder:
    """`embed` as an `Embedder`; the default one for None.

    Raises:
        MissingExtra: nothing was given, and the default is not installed.
        ToolSearchError: `embed` is not a function.
    """
    if embed is None:
        return default_embedder()
    embedder = embed if isinstance(embed, Embedder) else Embedder(embed=embed)
    if not callable(embedder.embed):
        raise ToolSearchError(
            "invalid_tool_input", f"`embed` is {embedder.embed!r}: pass a function from a list of texts to vectors."
        )
    return embedder
