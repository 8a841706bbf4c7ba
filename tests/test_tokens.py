"""The estimate of tokens, beside counts of the tokenizer that Anthropic published for Claude 2."""

from __future__ import annotations

from typing import Any

import pytest

from hikidashi.tokens import definition_tokens, estimate_tokens

MAIL_EN: dict[str, Any] = {
    "name": "send_mail",
    "description": "Send an e-mail to one or more recipients. Attachments may have up to 10 MB each.",
    "input_schema": {
        "type": "object",
        "properties": {
            "to": {"type": "array", "items": {"type": "string"}, "description": "Addresses of the recipients"},
            "subject": {"type": "string", "description": "Subject line"},
            "body": {"type": "string", "description": "Plain text of the message"},
        },
        "required": ["to", "subject", "body"],
    },
}
MAIL_JA: dict[str, Any] = {
    "name": "send_mail",
    "description": "指定した宛先にメールを送信します。件名と本文は必須です。添付ファイルは10MBまで指定できます。",
    "input_schema": {
        "type": "object",
        "properties": {
            "to": {"type": "string", "description": "宛先のメールアドレス"},
            "subject": {"type": "string", "description": "件名"},
            "body": {"type": "string", "description": "本文（プレーンテキスト）"},
        },
        "required": ["to", "subject", "body"],
    },
}


@pytest.mark.parametrize(("tool", "counted"), [(MAIL_EN, 122), (MAIL_JA, 146)])
def test_a_definition_is_estimated_within_a_tenth(tool: dict[str, Any], counted: int) -> None:
    assert estimate_tokens(tool) == pytest.approx(counted, rel=0.1)


def test_definitions_add_up() -> None:
    assert definition_tokens([MAIL_EN, MAIL_JA]) == estimate_tokens(MAIL_EN) + estimate_tokens(MAIL_JA)


def test_text_is_counted_as_it_stands_and_nothing_is_nothing() -> None:
    assert estimate_tokens("send mail") == 2
    assert estimate_tokens("送信") == 2
    assert estimate_tokens("привет") == 3
    assert estimate_tokens("") == 0
