"""Which models can search tools, read from their names as each provider writes them."""

from __future__ import annotations

import pytest

from hikidashi.search.anthropic_request import Provider, Support, support


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("claude-sonnet-4-5-20250929", "yes"),
        ("claude-sonnet-4-20250514", "yes"),
        ("claude-opus-4-0", "yes"),
        ("claude-opus-4@20250514", "yes"),
        ("claude-opus-5-5", "yes"),
        ("claude-sonnet-5", "yes"),
        ("claude-haiku-4-5", "yes"),
        ("claude-haiku-5-5", "yes"),
        ("anthropic/claude-fable-5-2", "yes"),
        ("claude-haiku-4-0", "no"),
        ("claude-3-5-haiku-latest", "no"),
        ("claude-3-7-sonnet-20250219", "no"),
        ("claude-3-opus-20240229", "no"),
        ("claude-sonnet-latest", "unknown"),
        ("claude-test", "unknown"),
        ("gpt-5", "unknown"),
    ],
)
def test_a_name_tells_whether_its_model_can_search(model: str, expected: Support) -> None:
    assert support(model) == expected


@pytest.mark.parametrize(
    ("model", "provider", "expected"),
    [
        ("us.anthropic.claude-opus-4-5-20251101-v1:0", "bedrock", "yes"),
        ("anthropic.claude-opus-5-5", "bedrock", "yes"),
        ("anthropic.claude-opus-4-20250514-v1:0", "bedrock", "no"),
        ("anthropic.claude-sonnet-4-5-20250929-v1:0", "bedrock", "no"),
        ("arn:aws:bedrock:us-east-1:1:application-inference-profile/x", "bedrock", "unknown"),
        ("claude-opus-4-5@20251101", "vertex", "yes"),
        ("claude-sonnet-4-5", "foundry", "yes"),
    ],
)
def test_a_provider_may_serve_fewer_models(model: str, provider: Provider, expected: Support) -> None:
    assert support(model, provider) == expected
