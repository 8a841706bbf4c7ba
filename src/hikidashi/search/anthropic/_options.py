"""Keyword arguments of `run_anthropic_search`: the options of the loop, and the arguments of `messages.create`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Required, TypedDict

from ..wire.models import Provider

if TYPE_CHECKING:
    from ..answers.budget import AnswerBudget
    from ..records.log import Recorder

__all__ = ["Expand", "LoopOptions", "RunOptions"]

Expand = Literal["auto", "references", "tools"]


class LoopOptions(TypedDict, total=False):
    """How tools are offered and how long the conversation may go on."""

    max_turns: int
    """How many replies of the model at most, 20 unless given; then `ToolTurnLimitError`."""
    provider: Provider
    """Whose rules and beta header hold; "anthropic" unless given."""
    always_loaded: Collection[str]
    """Names of tools that the model sees from the start."""
    usage: Mapping[str, int]
    """How often each tool was called: the most used are loaded from the start too, until there are five."""
    max_results: int
    """How many tools a search loads, where the model does not say; 5 unless given."""
    limit: int
    """Alias of `max_results`; not both."""
    betas: Literal["auto", "off"] | Sequence[str]
    """See `to_anthropic_search`."""
    expand: Expand
    """How found tools reach the model. "references" sends every tool deferred and answers a search with
    `tool_reference` blocks, which keeps the prompt cache; "tools" adds what is found to the tools of the next request,
    which every model understands. "auto" chooses by model, provider and number of tools."""
    force: bool
    """Search even where it does not pay; otherwise a few small tools are offered as they are."""
    record: Recorder
    """Recorder notified of each search and call: a `SearchLog`."""
    budget: AnswerBudget | int
    """The most tokens that the definitions cost which one search loads, 5,000 unless given: see `AnswerBudget`."""


class RunOptions(LoopOptions, total=False):
    """`LoopOptions`, and what goes into every request as it is.

    Not `compaction` and `thread`: the one would make every request a compaction, and with the other the server keeps
    the conversation that the loop sends.
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
