"""Keyword arguments of `run_anthropic_search`: the options of the loop, and the arguments of `messages.create`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Required, TypedDict

from ..wire.models import Provider

if TYPE_CHECKING:
    from ..answers.budget import AnswerBudget
    from ..answers.search_tools import Strategy
    from ..answers.texts import Language
    from ..records.log import Recorder

__all__ = ["Expand", "LoopOptions", "RunOptions"]

Expand = Literal["auto", "references", "tools"]


class LoopOptions(TypedDict, total=False):
    """How tools are offered, and how long the conversation may be."""

    max_turns: int
    """Maximum number of replies of the model, then `ToolTurnLimitError`; default 20."""
    provider: Provider
    """Whose limits and beta header to use; default "anthropic"."""
    always_loaded: Collection[str]
    """Names of tools that the model sees from the start."""
    usage: Mapping[str, int]
    """Number of calls of each tool: the most used ones are loaded from the start too, up to five tools in all."""
    max_results: int
    """Maximum number of tools that a search loads, unless the model asks for another; default 5."""
    strategy: Strategy
    """How a query is read: as "words", as a "regex", or "both" (an expression between slashes); default "both"."""
    about: str
    """What the tools are for, in a few words, added to the description of `search_tools`."""
    language: Language
    """Language of the text that the model reads; default "en"."""
    betas: Literal["auto", "off"] | Sequence[str]
    """See `to_anthropic_search`."""
    expand: Expand
    """How found tools reach the model. "references" sends all tools deferred and answers a search with
    `tool_reference` blocks, which keeps the prompt cache; "tools" adds found tools to the next request, which works
    with every model. "auto" chooses by model, provider and number of tools."""
    force: bool
    """Search even where it is not worth it (see `worth_it`); otherwise a few small tools are sent as they are."""
    record: Recorder
    """Recorder notified of each search and call: a `SearchLog`."""
    budget: AnswerBudget | int
    """Maximum number of tokens in the definitions that one search loads, or one message; default 5,000. See
    `AnswerBudget`."""
    preload: int | None
    """How many of the best tools for a message of the user to load before the model is asked, if the message asks for
    something that a tool does; they stay loaded. A message with results of tools loads none, whatever text it has
    beside them. None or 0, the default, loads none."""
    preload_most: int | None
    """How many tools all messages of a conversation may load; default four times `preload`."""


class RunOptions(LoopOptions, total=False):
    """`LoopOptions`, and the arguments of `messages.create` for every request.

    Without `compaction`, which would make every request a compaction, and `thread`, with which the server keeps the
    conversation that the loop sends.
    """

    model: Required[str]
    max_tokens: Required[int]
    messages: Required[Iterable[Any]]
    cache_control: Any
    container: Any
    context_management: Any
    diagnostics: Any
    extra_body: Any
    extra_headers: Any
    extra_query: Any
    fallback_credit_token: Any
    fallbacks: Any
    inference_geo: Any
    mcp_servers: Any
    metadata: Any
    output_config: Any
    service_tier: Any
    speed: Any
    stop_sequences: Any
    system: Any
    thinking: Any
    timeout: Any
    tool_choice: Any
    user_profile_id: Any
    workspace_id: Any
