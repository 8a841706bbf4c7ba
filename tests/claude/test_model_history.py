"""The whole conversation reaches Claude Code: turns, calls, returns, retries, images, instructions."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot
from pydantic_ai import Agent, BinaryContent, DocumentUrl, ImageUrl, UserError, VideoUrl
from pydantic_ai.messages import (
    CachePoint,
    FilePart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    NativeToolCallPart,
    NativeToolReturnPart,
    RetryFeedbackPart,
    RetryInfo,
    SystemPromptPart,
    TextContent,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from tests.support import PIXEL, ClaudeCode

from hikidashi.claude.history import conversation
from hikidashi.testing import MessagesServer, call, say


def wire(messages: list[ModelMessage]) -> list[Any]:
    return list(conversation(messages, ModelRequestParameters(), lambda name: f"mcp__t__{name}").messages)


def turns(server: MessagesServer, request: int = -1) -> list[tuple[str, list[str]]]:
    """Roles and block types of a request, without what Claude Code says in its own name."""
    return [
        (message["role"], [block["type"] for block in message["content"]])
        for message in server.requests[request].messages
        if message["role"] != "system"
    ]


HISTORY: list[ModelMessage] = [
    ModelRequest(parts=[SystemPromptPart("You know rivers."), UserPromptPart("Longest river of Japan?")]),
    ModelResponse(parts=[TextPart("Let me look."), ToolCallPart("look", {"q": "river"}, "pyd_ai_1")]),
    ModelRequest(parts=[ToolReturnPart("look", "No such page.", "pyd_ai_1", outcome="failed")]),
    ModelResponse(parts=[ToolCallPart("look", {"q": "rivers"}, "pyd_ai_2")]),
    ModelRequest(parts=[ToolReturnPart("look", {"name": "信濃川"}, "pyd_ai_2")]),
    ModelResponse(parts=[TextPart("The Shinano.")]),
]


@pytest.mark.cli
async def test_a_foreign_history_becomes_real_turns(claude_code: ClaudeCode) -> None:
    model, server = claude_code([say("367 km.")])
    result = await Agent(model).run("How long is it?", message_history=HISTORY)
    assert result.output == "367 km."
    assert turns(server) == [
        ("user", ["text"]),
        ("assistant", ["text", "tool_use"]),
        ("user", ["tool_result"]),
        ("assistant", ["tool_use"]),
        ("user", ["tool_result"]),
        ("assistant", ["text"]),
        ("user", ["text"]),
    ]
    assert "You know rivers." in server.requests[0].system_text
    sent = [message for message in server.requests[0].messages if message["role"] != "system"]
    assert sent[2]["content"][0]["is_error"]
    assert sent[4]["content"][0]["content"] == [{"type": "text", "text": '{"name":"信濃川"}'}]
    assert sent[1]["content"][1]["name"] == "mcp__pydantic_tools__look"


@pytest.mark.cli
async def test_instructions_and_system_prompts_are_the_system_prompt(claude_code: ClaudeCode) -> None:
    model, server = claude_code([say("ok")])
    await Agent(model, instructions="Answer in haiku.", system_prompt="You are a poet.").run("Hello.")
    assert server.requests[0].system_text.index("You are a poet.") < server.requests[0].system_text.index("haiku")


@pytest.mark.cli
async def test_a_system_prompt_too_long_for_a_command_line_arrives_whole(claude_code: ClaudeCode) -> None:
    model, server = claude_code([say("ok")])
    prompt = "川" * 100_000
    await Agent(model, instructions=prompt).run("Hello.")
    assert prompt in server.requests[0].system_text


@pytest.mark.cli
async def test_a_system_prompt_with_characters_that_no_argument_holds_arrives(claude_code: ClaudeCode) -> None:
    model, server = claude_code([say("ok")])
    await Agent(model, instructions="one\0two \ud800 three").run("Hello.")
    assert "one\0two \ufffd three" in server.requests[0].system_text


@pytest.mark.cli
async def test_commands_and_file_mentions_in_a_prompt_are_only_text(claude_code: ClaudeCode, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("tajemství")
    model, server = claude_code([say("ok")])
    prompt = f"/clear @{tmp_path / 'secret.txt'}"
    await Agent(model).run(prompt)
    assert prompt in str(server.requests[0].messages[0]["content"])
    assert "tajemství" not in str(server.requests[0].body)


@pytest.mark.cli
async def test_images_and_documents_in_a_prompt_and_in_history_arrive(claude_code: ClaudeCode) -> None:
    model, server = claude_code([say("A dot."), say("Still.")])
    agent = Agent(model)
    first = await agent.run(
        ["Look:", BinaryContent(PIXEL, media_type="image/png"), ImageUrl("https://x.example/a.png")]
    )
    await agent.run("And now?", message_history=first.all_messages())
    assert turns(server, 0) == [("user", ["text", "image", "image"])]
    assert turns(server, 1) == [("user", ["text", "image", "image"]), ("assistant", ["text"]), ("user", ["text"])]


@pytest.mark.cli
async def test_thinking_goes_back_to_the_model_it_came_from(claude_code: ClaudeCode) -> None:
    model, server = claude_code([say("ok"), say("yes")])
    agent = Agent(model)
    name = (await agent.run("Who are you?")).response.model_name
    history: list[ModelMessage] = [
        ModelRequest.user_text_prompt("Think."),
        ModelResponse(
            [ThinkingPart("Hm.", signature="c2ln", provider_name="anthropic"), TextPart("Done.")], model_name=name
        ),
    ]
    await agent.run("And?", message_history=history)
    assert turns(server)[1] == ("assistant", ["thinking", "text"])


@pytest.mark.cli
async def test_what_claude_code_ran_itself_is_part_of_the_history(claude_code: ClaudeCode) -> None:
    model, server = claude_code([call("add", {"a": 1, "b": 2}), say("3"), say("Still 3.")])
    agent = Agent(model)

    @agent.tool_plain
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    model.set_agent_toolsets(agent._function_toolset)
    first = await agent.run("1 + 2?")
    assert [type(part).__name__ for part in first.response.parts] == [
        "NativeToolCallPart",
        "NativeToolReturnPart",
        "TextPart",
    ]
    await agent.run("Sure?", message_history=first.all_messages())
    assert turns(server) == [
        ("user", ["text"]),
        ("assistant", ["tool_use"]),
        ("user", ["tool_result"]),
        ("assistant", ["text"]),
        ("user", ["text"]),
    ]


@pytest.mark.cli
async def test_a_session_can_be_resumed_by_its_id(claude_code: ClaudeCode) -> None:
    model, server = claude_code([say("I will."), say("42.")], persist_sessions=True)
    agent = Agent(model)
    first = await agent.run("Remember 42.")
    session_id = (first.response.provider_details or {})["session_id"]
    second = await agent.run("Which number?", model_settings={"resume": session_id})  # pyright: ignore[reportArgumentType]
    assert second.output == "42."
    assert turns(server) == [("user", ["text"]), ("assistant", ["text"]), ("user", ["text"])]


@pytest.mark.cli
async def test_sessions_are_not_kept_on_disk_unless_asked_for(claude_code: ClaudeCode, tmp_path: Path) -> None:
    model, _ = claude_code([say("ok"), say("ok")])
    first = await Agent(model).run("Hello.")
    await Agent(model).run("Again.", message_history=first.all_messages())
    assert list(tmp_path.rglob("*.jsonl")) == []


def test_every_kind_of_content_has_its_block() -> None:
    prompt = UserPromptPart(
        [
            "text",
            TextContent("typed text"),
            "",
            CachePoint(),
            BinaryContent(b"%PDF", media_type="application/pdf"),
            BinaryContent("平文".encode(), media_type="text/plain"),
            DocumentUrl("https://x.example/a.pdf"),
        ]
    )
    assert wire([ModelRequest(parts=[prompt])]) == snapshot(
        [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "text"},
                    {"type": "text", "text": "typed text"},
                    {
                        "type": "document",
                        "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERg=="},
                    },
                    {"type": "text", "text": "平文"},
                    {"type": "document", "source": {"type": "url", "url": "https://x.example/a.pdf"}},
                ],
            }
        ]
    )


def test_content_claude_cannot_read_is_refused_by_name() -> None:
    with pytest.raises(UserError, match="video/mp4"):
        wire([ModelRequest(parts=[UserPromptPart([VideoUrl("https://x.example/a.mp4")])])])


def test_results_stand_before_whatever_else_was_said() -> None:
    messages: list[ModelMessage] = [
        ModelRequest.user_text_prompt("Go."),
        ModelResponse([ToolCallPart("a", {}, "1")]),
        ModelRequest(parts=[UserPromptPart("Hurry."), ToolReturnPart("a", "done", "1")]),
    ]
    assert [block["type"] for block in wire(messages)[-1]["content"]] == ["tool_result", "text"]


def test_retries_answer_the_call_they_are_about_or_speak_as_the_user() -> None:
    messages: list[ModelMessage] = [
        ModelRequest.user_text_prompt("Go."),
        ModelResponse([ToolCallPart("a", {}, "1")]),
        ModelRequest(parts=[ToolReturnPart("a", "Try 2.", "1", outcome="retried")]),
        ModelResponse([TextPart("Hm.")]),
        ModelRequest(parts=[RetryFeedbackPart("Say please.", retry=RetryInfo(cause="model_retry"))]),
    ]
    sent = wire(messages)
    assert sent[2]["content"][0]["is_error"]
    assert "Say please." in sent[4]["content"][0]["text"]


def test_what_other_providers_did_for_themselves_is_left_out() -> None:
    messages: list[ModelMessage] = [
        ModelRequest.user_text_prompt("Go."),
        ModelResponse(
            [
                ThinkingPart("foreign", signature="x", provider_name="openai"),
                ThinkingPart("unsigned"),
                NativeToolCallPart("web_search", {"q": "x"}, "1", provider_name="openai"),
                NativeToolReturnPart("web_search", "found", "1", provider_name="openai"),
                FilePart(BinaryContent(PIXEL, media_type="image/png")),
                TextPart("Done."),
            ],
            model_name="m",
        ),
        ModelRequest.user_text_prompt("And?"),
    ]
    assert wire(messages)[1] == {"role": "assistant", "content": [{"type": "text", "text": "Done."}], "model": "m"}


def test_a_call_that_was_cut_off_is_told_so_that_it_is_not_made_again() -> None:
    messages: list[ModelMessage] = [
        ModelRequest.user_text_prompt("Pay."),
        ModelResponse([NativeToolCallPart("mcp__t__pay", {}, "1", provider_name="claude-code")], model_name="m"),
        ModelRequest.user_text_prompt("And?"),
    ]
    result, text = wire(messages)[2]["content"]
    assert (result["tool_use_id"], result["is_error"], text["text"]) == ("1", True, "And?")
    assert "outcome is unknown" in result["content"][0]["text"]


@st.composite
def turns_of_calls(draw: st.DrawFn) -> list[ModelMessage]:
    """A history as `ClaudeCodeModel` writes it: messages whose calls ran in either place, some cut off."""
    history: list[ModelMessage] = [ModelRequest.user_text_prompt("Go.")]
    ids = itertools.count()
    for _ in range(draw(st.integers(1, 4))):
        parts: list[Any] = []
        for _ in range(draw(st.integers(0, 2))):  # messages that Claude Code went on after by itself
            own = [str(next(ids)) for _ in range(draw(st.integers(1, 2)))]
            parts += [NativeToolCallPart("mcp__t__a", {}, call_id, provider_name="claude-code") for call_id in own]
            parts += [NativeToolReturnPart("mcp__t__a", "ok", call_id, provider_name="claude-code") for call_id in own]
        last = [
            (str(next(ids)), draw(st.sampled_from(["own", "cut off", "parked"])))
            for _ in range(draw(st.integers(0, 4)))
        ]
        parts += [TextPart("Hm.")] if draw(st.booleans()) else []
        for call_id, kind in last:
            native = NativeToolCallPart("mcp__t__a", {}, call_id, provider_name="claude-code")
            parts.append(ToolCallPart("b", {}, call_id) if kind == "parked" else native)
        done = draw(st.permutations([call_id for call_id, kind in last if kind == "own"]))
        parts += [NativeToolReturnPart("mcp__t__a", "ok", call_id, provider_name="claude-code") for call_id in done]
        history.append(ModelResponse(parts or [TextPart("Done.")], model_name="m"))
        answers: list[Any] = [ToolReturnPart("b", "ok", call_id) for call_id, kind in last if kind == "parked"]
        history.append(ModelRequest([*answers, *([] if answers and draw(st.booleans()) else [UserPromptPart("And?")])]))
    return history


@given(turns_of_calls())
def test_whatever_ran_where_the_api_gets_each_result_right_after_its_call(history: list[ModelMessage]) -> None:
    messages = wire(history)
    assert [message["role"] for message in messages] == ["user", *["assistant", "user"] * (len(messages) // 2)]
    for asked, answered in itertools.pairwise(messages):
        calls = [block["id"] for block in asked["content"] if block["type"] == "tool_use"]
        results = [block["tool_use_id"] for block in answered["content"] if block["type"] == "tool_result"]
        if asked["role"] == "assistant":
            assert sorted(results) == sorted(calls)


def test_there_must_be_something_to_answer() -> None:
    with pytest.raises(UserError, match="nothing to answer"):
        wire([ModelRequest.user_text_prompt("Go."), ModelResponse([TextPart("Done.")])])
