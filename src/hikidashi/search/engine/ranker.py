"""Which ranker a catalogue has: by words alone, or by words and meaning."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import Literal, NamedTuple, get_args

from ...errors import MissingExtra, ToolSearchError

__all__ = ["ENCODER", "RANKER_VARIABLE", "Choice", "Ranker", "chosen", "is_installed"]

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
