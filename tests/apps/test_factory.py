"""The responder that a config describes."""

from __future__ import annotations

import json
import logging
import struct
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support import cli_processes

from hikidashi.apps.factory import make_responder
from hikidashi.apps.pydantic_ai import PydanticAIResponder
from hikidashi.apps.responder import AnswerEvent, AnswerFailed, Message, TextDelta, ToolCalled, ToolReturned
from hikidashi.apps.strands import StrandsResponder, strands_model
from hikidashi.config import AgentConfig, Config, ToolsConfig, WebSearchConfig, load_config
from hikidashi.errors import ConfigError, MissingExtra
from hikidashi.testing import MessagesServer, TavilyPage, TavilyServer, call, fault, say, tavily_fault, turn
from hikidashi.testing.server import Exchange, LoopbackServer

Messages = Callable[..., MessagesServer]
Tavily = Callable[..., TavilyServer]

PAGES = [TavilyPage("asyncio", "https://docs.python.org/3/library/asyncio.html", "asyncio の説明")]
QUESTION = [Message(role="user", text="asyncio とは？")]
KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "OPENAI_API_KEY", "TAVILY_API_KEY")


@pytest.fixture(autouse=True)
def _no_keys_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)


async def events_of(responder: Any, conversation: list[Message] = QUESTION) -> list[AnswerEvent]:
    try:
        return [event async for event in responder.stream(conversation)]
    finally:
        await responder.aclose()
        await responder.aclose()


def searching(server: TavilyServer, **options: Any) -> ToolsConfig:
    return ToolsConfig(web_search=WebSearchConfig(enabled=True, api_key="tvly-test", base_url=server.url, **options))


async def test_a_config_file_becomes_an_answer(
    messages_server: Messages, tavily_server: Tavily, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="hikidashi")
    server = messages_server([call("web_search", {"query": "asyncio"}), say("それは…")])
    file = tmp_path / "config.yaml"
    text = f"""
tools:
  web_search: {{enabled: true, api_key: "${{TAVILY_API_KEY}}", base_url: "{tavily_server(PAGES).url}"}}
agent: {{api_key: sk-test, base_url: "{server.url}", model: claude-opus-5-5, max_tokens: 77, untrusted: "off"}}
"""
    file.write_text(text, encoding="utf-8")
    responder = make_responder(load_config(file, environment={"TAVILY_API_KEY": "tvly-test"}))
    assert responder.tool_names == ["web_search", "web_extract", "web_context"]
    events = await events_of(responder)
    (returned,) = [event for event in events if isinstance(event, ToolReturned)]
    assert returned.text.startswith('## 検索結果: "asyncio"')
    assert (server.requests[0].model, server.requests[0].body["max_tokens"]) == ("claude-opus-5-5", 77)
    assert "web_search 'asyncio': success: 1 results" in caplog.messages


async def test_without_its_key_the_search_is_left_out_with_a_warning(
    messages_server: Messages, caplog: pytest.LogCaptureFixture
) -> None:
    server = messages_server([say("I cannot search.")])
    config = Config(
        tools=ToolsConfig(web_search=WebSearchConfig(enabled=True)),
        agent=AgentConfig(api_key="sk-test", base_url=server.url, language="en"),
    )
    responder = make_responder(config)
    assert responder.tool_names == []
    assert [record.levelname for record in caplog.records if record.name == "hikidashi.config"] == ["WARNING"]
    assert await responder.respond(QUESTION) == "I cannot search."
    await responder.aclose()
    assert server.requests[0].tool_names == []
    assert "web" not in str(server.requests[0].body["system"])


class ChatCompletions(LoopbackServer):
    """As much of OpenAI's chat completions as a stream with one tool call and one answer needs."""

    def __init__(self) -> None:
        super().__init__()
        self.bodies: list[dict[str, Any]] = []
        self.keys: list[str] = []

    def handle(self, exchange: Exchange) -> None:
        body = json.loads(exchange.body)
        self.bodies.append(body)
        self.keys.append(exchange.headers["authorization"])
        function = {"name": "web_search", "arguments": '{"query": "asyncio"}'}
        first: dict[str, Any] = {"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": function}]}
        second: dict[str, Any] = {"content": "It is a library."}
        delta, reason = (second, "stop") if len(self.bodies) > 1 else (first, "tool_calls")
        exchange.begin_stream(200, {"content-type": "text/event-stream"})
        choices: list[dict[str, Any]] = [{"delta": delta}, {"delta": {}, "finish_reason": reason}]
        for choice in choices:
            exchange.send(
                b"data: "
                + json.dumps({"id": "c", "object": "x", "choices": [{"index": 0, **choice}]}).encode()
                + b"\n\n"
            )
        exchange.send(b"data: [DONE]\n\n")
        exchange.end_stream()


async def test_a_compatible_server_answers_through_openais_client(tavily_server: Tavily) -> None:
    with ChatCompletions() as server:
        agent = AgentConfig(provider="openai", base_url=f"{server.url}/v1", model="qwen", language="en")
        responder = make_responder(Config(agent=agent, tools=searching(tavily_server(PAGES))))
        events = await events_of(responder)
    assert [type(event) for event in events] == [ToolCalled, ToolReturned, TextDelta]
    assert "## Search results" in str(events[1])
    assert (server.bodies[0]["model"], server.bodies[0]["max_tokens"]) == ("qwen", 4096)
    assert server.keys == ["Bearer none"] * 2


class Ollama(LoopbackServer):
    """As much of Ollama's `/api/chat` as one tool call and one answer need."""

    def __init__(self) -> None:
        super().__init__()
        self.bodies: list[dict[str, Any]] = []

    def handle(self, exchange: Exchange) -> None:
        self.bodies.append(json.loads(exchange.body))
        function = {"name": "web_search", "arguments": {"query": "asyncio"}}
        first: dict[str, Any] = {"role": "assistant", "content": "", "tool_calls": [{"function": function}]}
        second: dict[str, Any] = {"role": "assistant", "content": "It is a library."}
        counts = {"prompt_eval_count": 1, "eval_count": 1, "total_duration": 1}
        said = {"model": "llama", "message": second if len(self.bodies) > 1 else first, "done": False}
        end = {"model": "llama", "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"}
        lines = [said, {**end, **counts}]
        body = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        # strands makes a client per call and never closes it, so the server ends the connection.
        exchange.answer(200, body, {"content-type": "application/x-ndjson", "connection": "close"})


async def test_ollama_answers_through_its_own_client(tavily_server: Tavily) -> None:
    with Ollama() as server:
        agent = AgentConfig(provider="ollama", base_url=server.url, model="llama", language="en")
        responder = make_responder(Config(agent=agent, tools=searching(tavily_server(PAGES))))
        events = await events_of(responder)
    assert [type(event) for event in events] == [ToolCalled, ToolReturned, TextDelta]
    assert "## Search results" in str(events[1])
    assert server.bodies[0]["model"] == "llama"


class Bedrock(LoopbackServer):
    """As much of Bedrock's `converse-stream` as one tool call and one answer need."""

    def __init__(self) -> None:
        super().__init__()
        self.paths: list[str] = []

    def handle(self, exchange: Exchange) -> None:
        self.paths.append(exchange.path)
        use = {"toolUseId": "t1", "name": "web_search"}
        calling: list[tuple[str, dict[str, Any]]] = [
            ("contentBlockStart", {"contentBlockIndex": 0, "start": {"toolUse": use}}),
            ("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"toolUse": {"input": '{"query": "asyncio"}'}}}),
        ]
        saying = [("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "It is a library."}})]
        content, reason = (saying, "end_turn") if len(self.paths) > 1 else (calling, "tool_use")
        usage = {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}
        events: list[tuple[str, dict[str, Any]]] = [
            ("messageStart", {"role": "assistant"}),
            *content,
            ("contentBlockStop", {"contentBlockIndex": 0}),
            ("messageStop", {"stopReason": reason}),
            ("metadata", {"usage": usage, "metrics": {"latencyMs": 1}}),
        ]
        body = b"".join(event_stream_message(kind, payload) for kind, payload in events)
        exchange.answer(200, body, {"content-type": "application/vnd.amazon.eventstream"})


def event_stream_message(kind: str, payload: dict[str, Any]) -> bytes:
    """One message of AWS's binary event stream: lengths, headers and payload, with two checksums."""
    given = {":event-type": kind, ":content-type": "application/json", ":message-type": "event"}
    headers = b"".join(
        bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
        for name, value in given.items()
    )
    body = json.dumps(payload).encode()
    prelude = struct.pack(">II", 16 + len(headers) + len(body), len(headers))
    message = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + body
    return message + struct.pack(">I", zlib.crc32(message))


async def test_bedrock_answers_through_boto3(tavily_server: Tavily) -> None:
    with Bedrock() as server:
        agent = AgentConfig(
            provider="bedrock", base_url=server.url, region="eu-west-1", api_key="sk-test", model="m", language="en"
        )
        responder = make_responder(Config(agent=agent, tools=searching(tavily_server(PAGES))))
        events = await events_of(responder)
    assert [type(event) for event in events] == [ToolCalled, ToolReturned, TextDelta]
    assert "## Search results" in str(events[1])
    assert server.paths == ["/model/m/converse-stream"] * 2


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
def test_a_provider_without_its_key_is_refused_at_the_start(provider: Any) -> None:
    with pytest.raises(ConfigError, match="is missing") as raised:
        make_responder(Config(agent=AgentConfig(provider=provider), path="bot.yaml"))
    assert (raised.value.path, raised.value.key) == ("bot.yaml", "agent.api_key")


@pytest.mark.parametrize(
    ("provider", "variable"),
    [("anthropic", "ANTHROPIC_API_KEY"), ("anthropic", "ANTHROPIC_AUTH_TOKEN"), ("openai", "OPENAI_API_KEY")],
)
def test_a_key_may_come_from_the_providers_own_variable(
    monkeypatch: pytest.MonkeyPatch, provider: Any, variable: str
) -> None:
    monkeypatch.setenv(variable, "sk-test")
    assert isinstance(make_responder(Config(agent=AgentConfig(provider=provider))), StrandsResponder)


def test_bedrock_takes_region_and_key_without_a_word_to_anybody() -> None:
    config = AgentConfig(provider="bedrock", region="eu-west-1", api_key="sk-test", model="some.model", max_tokens=9)
    model: Any = strands_model(config)
    assert model.client.meta.region_name == "eu-west-1"
    assert model.get_config()["model_id"] == "some.model"
    assert model.get_config()["max_tokens"] == 9


@pytest.mark.parametrize(("provider", "package"), [("openai", "openai"), ("ollama", "ollama"), ("bedrock", "boto3")])
def test_a_missing_package_is_named_with_the_command(
    monkeypatch: pytest.MonkeyPatch, provider: Any, package: str
) -> None:
    monkeypatch.delitem(sys.modules, f"strands.models.{provider}", raising=False)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ConfigError, match=f"needs the package `{package}`. Run: pip install {package}"):
        strands_model(AgentConfig(provider=provider, api_key="sk-test"))


def test_a_missing_anthropic_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "strands.models.anthropic", raising=False)
    monkeypatch.setitem(sys.modules, "anthropic", None)
    with pytest.raises(MissingExtra, match=r"hikidashi\[anthropic\]"):
        strands_model(AgentConfig(api_key="sk-test"))


@pytest.mark.cli
async def test_claude_code_answers_behind_the_same_interface(
    messages_server: Messages,
    claude_code_env: Callable[[MessagesServer], dict[str, str]],
    tavily_server: Tavily,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = messages_server([turn("調べます。", call("tavily_search", {"query": "asyncio"})), say("ライブラリです。")])
    for name, value in claude_code_env(server).items():
        monkeypatch.setenv(name, value)
    agent = AgentConfig(engine="claude-code", api_key="sk-test", base_url=server.url, max_tokens=500)
    tavily = tavily_server(PAGES)
    tools = searching(tavily, search_depth="advanced", max_results=3)
    responder = make_responder(Config(agent=agent, tools=tools))
    assert isinstance(responder, PydanticAIResponder)
    assert responder.tool_names == ["tavily_search", "tavily_extract", "tavily_context"]
    events = await events_of(
        responder,
        [Message(role="user", text="Hi"), Message(role="assistant", text="はい。"), *QUESTION],
    )
    (called,) = [event for event in events if isinstance(event, ToolCalled)]
    assert (called.name, called.arguments) == ("tavily_search", {"query": "asyncio"})
    (returned,) = [event for event in events if isinstance(event, ToolReturned)]
    assert (returned.call_id, returned.ok) == (called.call_id, True)
    assert "asyncio の説明" in returned.text
    assert (tavily.requests[0].body["search_depth"], tavily.requests[0].body["max_results"]) == ("advanced", 3)
    said = "".join(event.text for event in events if isinstance(event, TextDelta))
    assert said == "調べます。\n\nライブラリです。"
    roles = [(message["role"], str(message["content"])) for message in server.requests[0].body["messages"]]
    assert ("assistant", True) in [(role, "はい。" in content) for role, content in roles]


@pytest.mark.cli
async def test_closing_the_generator_ends_claude_code(
    messages_server: Messages,
    claude_code_env: Callable[[MessagesServer], dict[str, str]],
    tavily_server: Tavily,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = messages_server([call("tavily_search", {"query": "asyncio"})])
    for name, value in claude_code_env(server).items():
        monkeypatch.setenv(name, value)
    before = cli_processes()
    tools = searching(tavily_server(PAGES, faults=[tavily_fault.hang()]))
    responder = make_responder(Config(agent=AgentConfig(engine="claude-code"), tools=tools))
    events = responder.stream(QUESTION)
    assert isinstance(await anext(events), ToolCalled)
    await events.aclose()
    await responder.aclose()
    assert cli_processes() == before


@pytest.mark.cli
async def test_claude_code_that_fails_gives_the_same_sentences(
    messages_server: Messages,
    claude_code_env: Callable[[MessagesServer], dict[str, str]],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    refusal = fault.status(401, "authentication_error", "invalid x-api-key", headers={"x-should-retry": "false"})
    server = messages_server([refusal] * 5)
    for name, value in claude_code_env(server).items():
        monkeypatch.setenv(name, value)
    responder = make_responder(Config(agent=AgentConfig(engine="claude-code", language="en")))
    events = await events_of(responder)
    assert events == [AnswerFailed("The model's service refused the key. Please ask the operator to check it.")]
    assert "No answer: " in caplog.text
    assert "sk-test" not in caplog.text


@pytest.mark.cli
async def test_claude_code_without_a_login_says_so_and_what_to_do(
    messages_server: Messages,
    claude_code_env: Callable[[MessagesServer], dict[str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = messages_server([])
    for name, value in claude_code_env(server).items():
        monkeypatch.setenv(name, value)
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    config = Config(agent=AgentConfig(engine="claude-code", language="en"))
    (operator,) = await events_of(make_responder(config, audience="operator"))
    assert isinstance(operator, AnswerFailed)
    assert operator.message.startswith("Claude Code is not logged in, and there is no API key.")
    assert "ANTHROPIC_API_KEY" in operator.message
    assert server.requests == []
