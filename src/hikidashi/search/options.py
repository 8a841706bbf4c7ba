"""The options of a tool search, the same in every framework: declared and checked here alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypedDict, get_args

from ..common.json import is_iterable
from .answers import DEFAULT_BUDGET, AnswerBudget, Language, Wording, budget_of, wording
from .catalog import MAX_LIMIT
from .log import Recorder

Strategy = Literal["words", "regex", "both"]

MAX_PRELOAD = 20
"""The most tools that one message may load: with more, the prompt is longer than a search costs."""


class SearchOptions(TypedDict, total=False):
    """The options of `to_pydantic_ai_search`, `to_strands_search`, `to_claude_search`, `to_mcp_search` and
    `run_anthropic_search`, as keyword arguments.

    An option that is invalid raises a `ValueError`, and a name that no tool has a `ToolValidationError`.
    """

    strategy: Strategy
    """How a query is read: as "words", as a "regex", or "both" (an expression between slashes); default "both"."""
    max_results: int
    """Maximum number of tools that a search shows or loads, from 1 to 50; default 5. Of several queries of one search,
    as pydantic-ai has them, each has at least two. With the Anthropic API the model may ask for another number."""
    always_loaded: Iterable[str]
    """Names of tools that the model sees from the start."""
    about: str | None
    """What the tools are for, in a few words, added to the description of `search_tools`."""
    language: Language
    """Language of the text that the model reads; default "en"."""
    record: Recorder | None
    """Recorder notified of each search and call: a `SearchLog`, in which each conversation is a session of its own, or
    one of yours."""
    budget: AnswerBudget | int
    """Maximum number of tokens in the definitions that one search shows or loads, or one message; default 5,000. See
    `AnswerBudget`."""
    preload: int | None
    """How many of the best tools for a message of the user to load before the model is asked, from 1 to 20, if the
    message asks for something that a tool does; they stay loaded. The same messages load the same tools in the same
    order, also where a conversation is continued. A message with results of tools loads none, whatever text it has
    beside them. None or 0, the default, loads none. `to_mcp_search` does not take it: an MCP server does not see what
    the user writes."""
    preload_most: int | None
    """How many tools all messages of a conversation may load; default four times `preload`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckedOptions:
    """`SearchOptions`, checked."""

    strategy: Strategy
    max_results: int
    always_loaded: list[str]
    about: str | None
    words: Wording
    record: Recorder | None
    budget: AnswerBudget
    preload: int
    preload_most: int | None

    @property
    def preloads(self) -> bool:
        """Whether messages of the user load tools."""
        return self.preload > 0

    def search_description(self, *, loads: bool = False) -> str:
        """What the model reads of the search tool, or of one that `loads` what it finds."""
        return self.words.search_description(self.about, loads=loads)

    @property
    def query_description(self) -> str:
        """What the model reads of the `query` of a search."""
        return self.words[f"query {self.strategy}"]


def search_options(
    *,
    strategy: Strategy = "both",
    max_results: int = 5,
    always_loaded: Iterable[str] = (),
    about: str | None = None,
    language: Language = "en",
    record: Recorder | None = None,
    budget: AnswerBudget | int = DEFAULT_BUDGET,
    preload: int | None = None,
    preload_most: int | None = None,
) -> CheckedOptions:
    """The options with their defaults, checked before a conversation begins.

    Raises:
        ValueError: one of them is invalid.
    """
    if strategy not in get_args(Strategy):
        raise ValueError(f"`strategy` is {strategy!r}: use 'words', 'regex' or 'both'.")
    if not _is_count(max_results, MAX_LIMIT):
        raise ValueError(f"`max_results` is {max_results!r}: use a whole number from 1 to {MAX_LIMIT}; 5 is usual.")
    loaded = 0 if preload is None else preload
    if not _is_count(loaded, MAX_PRELOAD, least=0):
        raise ValueError(
            f"`preload` is {preload!r:.100}: use a whole number from 1 to {MAX_PRELOAD}; 5 is usual. "
            "0 loads nothing in advance."
        )
    if not loaded and preload_most is not None:
        raise ValueError(
            f"`preload_most` is {preload_most!r:.100} and `preload` is off: pass `preload` too, or neither."
        )
    if preload_most is not None and not _is_count(preload_most, None, least=loaded):
        raise ValueError(
            f"`preload_most` is {preload_most!r:.100}: use a whole number from {loaded} on, the tools that one message "
            "may load."
        )
    return CheckedOptions(
        strategy=strategy,
        max_results=max_results,
        always_loaded=names_in("always_loaded", always_loaded),
        about=about,
        words=wording(language),
        record=record,
        budget=budget_of(budget),
        preload=loaded,
        preload_most=preload_most,
    )


def _is_count(value: object, most: int | None, *, least: int = 1) -> bool:
    return type(value) is int and least <= value and (most is None or value <= most)


def check_choice(option: str, value: object, choices: Iterable[str], *, or_else: str = "") -> None:
    """Raise unless `value` is one of `choices`.

    Raises:
        ValueError: the message lists the choices, and what else the option accepts.
    """
    known = list(choices)
    if value not in known:
        listed = ", ".join(map(repr, known)) + (f" or {or_else}" if or_else else "")
        raise ValueError(f"`{option}` is {value!r}: use one of {listed}.")


def names_in(option: str, names: object) -> list[str]:
    """The names given for `option`, such as `always_loaded`.

    Raises:
        ValueError: it is a single string, not a list, or has something other than strings.
    """
    if isinstance(names, str):
        raise ValueError(f"`{option}` is {names!r}: use a list of names, such as [{names!r}].")
    if not is_iterable(names):
        raise ValueError(f"`{option}` is {names!r:.100}: use a list of names, such as ['send_mail'].")
    given: list[str] = []
    for name in names:
        if not isinstance(name, str):
            raise ValueError(f"`{option}` has a {type(name).__name__} ({name!r:.100}): use the names of tools.")
        given.append(name)
    return given
