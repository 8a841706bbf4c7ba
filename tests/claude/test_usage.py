"""What an answer used, as `AnthropicModel` counts it."""

from __future__ import annotations

from typing import Any

import pytest
from anthropic import AsyncAnthropic
from pydantic_ai import Agent
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.usage import RequestUsage
from tests.support import ClaudeCode

from hikidashi.claude.limits import UsageCount
from hikidashi.testing import MessagesServer, say

REPORTED: Any = {
    "input_tokens": 100,
    "output_tokens": 40,
    "cache_creation_input_tokens": 50,
    "cache_read_input_tokens": 7,
    "cache_creation": {"ephemeral_5m_input_tokens": 20, "ephemeral_1h_input_tokens": 30},
    "output_tokens_details": {"thinking_tokens": 25},
}


@pytest.mark.cli
async def test_a_request_counts_what_it_does_with_anthropic_model(claude_code: ClaudeCode) -> None:
    def counted(usage: RequestUsage) -> tuple[Any, ...]:
        tokens = (usage.input_tokens, usage.cache_write_tokens, usage.cache_write_1h_tokens, usage.cache_read_tokens)
        return *tokens, usage.output_tokens, usage.output_reasoning_tokens, usage.details

    model, _ = claude_code([say("ok", usage=REPORTED)])
    ours = await Agent(model).run("Hello.")
    with MessagesServer([say("ok", usage=REPORTED)]) as server:
        async with AsyncAnthropic(base_url=server.url, api_key="sk-test") as client:
            other = AnthropicModel("claude-opus-5-5", provider=AnthropicProvider(anthropic_client=client))
            theirs = await Agent(other).run("Hello.")

    assert counted(ours.response.usage) == counted(theirs.response.usage)
    assert ours.response.usage.cache_write_1h_tokens == 30


def test_messages_add_up_and_a_later_report_replaces_an_earlier_one() -> None:
    count = UsageCount()
    count.begin_message()
    count.report({**REPORTED, "output_tokens": 1})
    count.report(REPORTED)
    count.begin_message()
    count.report({"input_tokens": 5, "output_tokens": 2, "cache_creation": None, "service_tier": "standard"})

    assert count.total() == RequestUsage(
        input_tokens=162,
        output_tokens=42,
        output_reasoning_tokens=25,
        cache_write_tokens=50,
        cache_write_1h_tokens=30,
        cache_read_tokens=7,
        details={
            "input_tokens": 105,
            "output_tokens": 42,
            "cache_creation_input_tokens": 50,
            "cache_read_input_tokens": 7,
            "ephemeral_1h_input_tokens": 30,
            "thinking_tokens": 25,
        },
    )


def test_an_hour_in_the_cache_is_never_more_than_was_written() -> None:
    count = UsageCount()
    count.report(REPORTED)
    count.report({"cache_creation_input_tokens": 10})
    assert count.total().cache_write_1h_tokens == 10
