"""Ready agents and the responder on pydantic-ai."""

from __future__ import annotations

import asyncio
import importlib
import re
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from anthropic import AsyncAnthropic
from pydantic_ai import ModelRetry
from pydantic_ai.messages import ToolReturnPart
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.toolsets import FunctionToolset
from tests.support import SEARCH_SCHEMA

from hikidashi import ClaudeCodeModel, Unsupported
from hikidashi.agents import ClaudeCodeTavilySearchAgent, TavilySearchAgent
from hikidashi.apps.pydantic_ai import PydanticAIResponder
from hikidashi.apps.responder import (
    SEARCH_PROMPT,
    AnswerEvent,
    AnswerFailed,
    Message,
    TextDelta,
    ToolCalled,
    ToolReturned,
)
from hikidashi.errors import ConfigError, MissingExtra
from hikidashi.testing import MessagesServer, call, fault, say, turn
from hikidashi.testing.script import Script
from hikidashi.testing.tavily import TavilyPage, TavilyServer
from hikidashi.tokens import estimate_tokens
from hikidashi.web import (
    ExtractOptions,
    ExtractResults,
    SearchHit,
    SearchProvider,
    SearchRequest,
    SearchResults,
    TavilyAPIClient,
    TavilySearchDeps,
)
from hikidashi.web.answers import ANSWER_TOKENS

Serve = Callable[[Script], MessagesServer]
Environment = Callable[[MessagesServer], dict[str, str]]

PAGES = [TavilyPage(title="桜", url="https://example.com/sakura", content="桜は春の花です。", score=0.91)]
FOUND = "## 検索結果: 花\n\n### 1. 桜\nURL: https://example.com/sakura\nスコア: 0.91\n桜は春の花です。"
SEARCHES = [call("tavily_search", {"query": "花"}), say("桜です。")]
PREFIX = "mcp__pydantic_tools__"
NAMES = ["tavily_search", "tavily_extract", "tavily_context"]


@pytest.fixture
async def deps() -> AsyncIterator[TavilySearchDeps]:
    with TavilyServer(PAGES) as server:
        client = TavilyAPIClient("tvly-test", base_url=server.url)
        yield TavilySearchDeps(client=client)
        await client.aclose()


def anthropic(server: MessagesServer) -> Model:
    return AnthropicModel("claude-sonnet-5", provider=AnthropicProvider(api_key="sk-test", base_url=server.url))


def bare(fenced: str) -> str:
    """What is between the marks of a fence, which must be there."""
    _, opening, *body = fenced.split("\n")
    assert opening.startswith("<web-data-")
    return "\n".join(body[: body.index(f"</{opening[1:]}")])


async def test_the_agent_searches_and_answers(messages_server: Serve, deps: TavilySearchDeps) -> None:
    server = messages_server(SEARCHES)

    async with TavilySearchAgent(anthropic(server), deps=deps) as agent:
        answer = await agent.run("春の花は？")

    first, second = server.requests
    assert answer.output == "桜です。"
    assert first.tool_names == NAMES
    assert first.tools[0]["description"] == "Web検索を実行する"
    assert first.tools[0]["input_schema"] == SEARCH_SCHEMA
    assert first.system_text.endswith(SEARCH_PROMPT["ja"])
    assert bare(second.tool_result_texts[0]) == FOUND


async def test_the_formats_are_exact_where_fencing_is_off(messages_server: Serve, deps: TavilySearchDeps) -> None:
    server = messages_server(SEARCHES)

    async with TavilySearchAgent(anthropic(server), deps=deps, untrusted=None) as agent:
        await agent.run("春の花は？")

    assert server.requests[1].tool_result_texts == [FOUND]


async def test_an_english_agent_is_english_throughout(messages_server: Serve, deps: TavilySearchDeps) -> None:
    server = messages_server(SEARCHES)

    async with TavilySearchAgent(anthropic(server), deps=deps, language="en") as agent:
        await agent.run("Flowers of spring?")

    first, second = server.requests
    assert first.system_text.endswith(SEARCH_PROMPT["en"])
    assert first.tools[0]["description"] == "Search the web"
    assert bare(second.tool_result_texts[0]).startswith("## Search results: 花\n")


async def test_the_prompt_and_the_settings_can_be_ones_own(messages_server: Serve, deps: TavilySearchDeps) -> None:
    server = messages_server(["やあ"])

    async with TavilySearchAgent(
        anthropic(server), deps=deps, system_prompt="短く答える。", model_settings={"max_tokens": 77}
    ) as agent:
        await agent.run("やあ")

    assert server.requests[0].system_text.endswith("\n短く答える。")
    assert server.requests[0].body["max_tokens"] == 77


async def test_a_conversation_goes_on(messages_server: Serve, deps: TavilySearchDeps) -> None:
    server = messages_server(["一つ目", "二つ目"])

    async with TavilySearchAgent(anthropic(server), deps=deps) as agent:
        first = await agent.run("一")
        await agent.run("二", message_history=first.all_messages())

    assert [message["role"] for message in server.requests[1].messages] == ["user", "assistant", "user"]


async def test_the_answer_can_be_read_as_it_is_written(messages_server: Serve, deps: TavilySearchDeps) -> None:
    async with (
        TavilySearchAgent(anthropic(messages_server(SEARCHES)), deps=deps) as agent,
        agent.run_stream("春の花は？") as answer,
    ):
        pieces = [piece async for piece in answer.stream_text(delta=True)]

    assert "".join(pieces) == "桜です。"


async def test_a_run_can_be_followed_step_by_step(messages_server: Serve, deps: TavilySearchDeps) -> None:
    async with (
        TavilySearchAgent(anthropic(messages_server(SEARCHES)), deps=deps) as agent,
        agent.iter("春の花は？") as run,
    ):
        steps = [type(node).__name__ async for node in run]

    assert steps.count("CallToolsNode") == 2


class Shelf(SearchProvider):
    """A provider that always finds the same page, and knows whether it was closed."""

    name = "shelf"

    def __init__(self) -> None:
        self.closed = False

    async def _search(self, request: SearchRequest) -> SearchResults:
        return SearchResults(
            query=request.query,
            results=tuple(SearchHit(title=p.title, url=p.url, content=p.content, score=0.91) for p in PAGES),
        )

    async def _extract(self, urls: Sequence[str], options: ExtractOptions) -> ExtractResults:
        return ExtractResults(results=())

    async def aclose(self) -> None:
        self.closed = True


@pytest.fixture
def loop() -> Iterator[None]:
    """The loop that `run_sync` takes, closed at the end: one that pydantic-ai makes for itself stays open."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    asyncio.set_event_loop(None)
    loop.close()


@pytest.mark.usefixtures("loop")
def test_an_agent_runs_for_callers_that_are_not_async() -> None:
    agent = TavilySearchAgent(
        TestModel(call_tools=["tavily_search"]), deps=TavilySearchDeps(client=Shelf()), untrusted=None
    )

    answers = [agent.run_sync("春の花は？").output for _ in range(2)]

    assert all("桜は春の花です。" in answer for answer in answers)


async def test_a_failed_search_is_told_to_the_model_and_the_run_goes_on(messages_server: Serve) -> None:
    server = messages_server(SEARCHES)
    with TavilyServer(PAGES, api_keys={"tvly-other"}) as tavily:
        client = TavilyAPIClient("tvly-test", base_url=tavily.url)
        async with TavilySearchAgent(anthropic(server), deps=TavilySearchDeps(client=client)) as agent:
            answer = await agent.run("春の花は？")
        await client.aclose()

    [text] = server.requests[1].tool_result_texts
    assert answer.output == "桜です。"
    assert text.startswith("Tavily API エラー: ")
    assert text.endswith("\nエラータイプ: AUTH_ERROR")
    assert "tvly-test" not in text


@pytest.mark.parametrize("own", [True, False])
async def test_the_end_closes_the_client_unless_it_is_the_callers(own: bool) -> None:
    shelf = Shelf()

    async with TavilySearchAgent("test", deps=TavilySearchDeps(client=shelf)) as agent:
        agent.closes_client = agent.closes_client or own
        assert not shelf.closed

    assert shelf.closed is own


@pytest.mark.parametrize("ending", ["yaml", "toml"])
async def test_a_config_file_makes_the_agent(messages_server: Serve, tmp_path: Path, ending: str) -> None:
    server = messages_server(SEARCHES)
    with TavilyServer(PAGES) as tavily:
        path = tmp_path / f"config.{ending}"
        path.write_text(_config(ending, server.url, tavily.url), encoding="utf-8")
        async with TavilySearchAgent.from_config(path) as agent:
            answer = await agent.run("Flowers of spring?")

    first, second = server.requests
    assert answer.output == "桜です。"
    assert agent.closes_client
    assert first.model == "claude-haiku-5-5"
    assert first.body["max_tokens"] == 321
    assert any("sk-test" in value for value in first.headers.values())
    assert first.system_text.endswith(SEARCH_PROMPT["en"])
    assert second.tool_result_texts[0].startswith("## Search results: 花\n")


def _config(ending: str, model_url: str, tavily_url: str) -> str:
    if ending == "toml":
        return (
            f'[agent]\nmodel = "claude-haiku-5-5"\napi_key = "sk-test"\nbase_url = "{model_url}"\n'
            f'max_tokens = 321\nlanguage = "en"\nuntrusted = "off"\n'
            f'[tools.web_search]\nenabled = true\napi_key = "tvly-test"\nbase_url = "{tavily_url}"\n'
        )
    return (
        f"agent:\n  model: claude-haiku-5-5\n  api_key: sk-test\n  base_url: {model_url}\n"
        f"  max_tokens: 321\n  language: en\n  untrusted: 'off'\n"
        f"tools:\n  web_search:\n    enabled: true\n    api_key: tvly-test\n    base_url: {tavily_url}\n"
    )


async def test_the_config_says_how_to_search_where_the_model_does_not(messages_server: Serve, tmp_path: Path) -> None:
    chosen = call("tavily_search", {"query": "木", "search_depth": "basic", "max_results": 1})
    server = messages_server([turn(call("tavily_search", {"query": "花"}), chosen), say("桜です。")])
    with TavilyServer(PAGES) as tavily:
        path = tmp_path / "config.yaml"
        written = _config("yaml", server.url, tavily.url)
        path.write_text(f"{written}    search_depth: advanced\n    max_results: 7\n", encoding="utf-8")
        async with TavilySearchAgent.from_config(path) as agent:
            await agent.run("Flowers of spring?")

    sent = {request.query: (request.body["search_depth"], request.body["max_results"]) for request in tavily.requests}
    assert sent == {"花": ("advanced", 7), "木": ("basic", 1)}
    told = server.requests[0].body["tools"][0]["input_schema"]["properties"]
    assert (told["search_depth"]["default"], told["max_results"]["default"]) == ("advanced", 7)


@pytest.mark.parametrize("written", ["agent: {}", "tools:\n  web_search:\n    enabled: false"])
def test_a_config_without_web_search_makes_no_search_agent(tmp_path: Path, written: str) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(written, encoding="utf-8")

    with pytest.raises(ConfigError, match=r"`tools\.web_search\.enabled`: is off\. .* set it to true"):
        TavilySearchAgent.from_config(path)


async def test_a_model_whose_tools_a_server_runs_is_refused(deps: TavilySearchDeps) -> None:
    with pytest.raises(Unsupported, match='tool_execution="agent"'):
        ClaudeCodeTavilySearchAgent(ClaudeCodeModel("sonnet", tool_execution="mcp"), deps=deps)


@pytest.mark.cli
async def test_claude_code_sees_the_tools_under_the_names_and_schemas_of_the_contract(
    messages_server: Serve, claude_code_env: Environment, deps: TavilySearchDeps, tmp_path: Path
) -> None:
    server = messages_server(
        [
            turn(
                call("tavily_search", {"query": "花"}),
                call("tavily_extract", {"urls": ["https://example.com/sakura", "nowhere"]}),
                call("tavily_context", {"query": "花"}),
            ),
            say("桜です。"),
        ]
    )
    model = ClaudeCodeModel(
        "sonnet", tool_execution="agent", env=claude_code_env(server), working_directory=tmp_path, timeout=60.0
    )
    agent = ClaudeCodeTavilySearchAgent(model, deps=deps)

    answer = await agent.run("春の花は？")

    offered = {tool["name"]: tool for tool in server.requests[0].tools}
    search, extract, context = server.requests[1].tool_result_texts
    assert answer.output == "桜です。"
    assert set(offered) == {PREFIX + name for name in NAMES}
    assert offered[f"{PREFIX}tavily_search"]["description"] == "Web検索を実行する"
    assert offered[f"{PREFIX}tavily_search"]["input_schema"] == SEARCH_SCHEMA
    assert SEARCH_PROMPT["ja"] in server.requests[0].system_text
    assert bare(search) == FOUND
    assert bare(extract).startswith(
        "## コンテンツ抽出結果\n\n### URL: https://example.com/sakura\n桜は春の花です。\n\n---\n"
    )
    assert bare(context).startswith("## RAG用検索コンテキスト: 花\n\n")


@pytest.mark.cli
async def test_a_config_file_makes_the_agent_on_claude_code(
    messages_server: Serve,
    claude_code_env: Environment,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = messages_server(SEARCHES)
    for name, value in claude_code_env(server).items():
        monkeypatch.setenv(name, value)
    with TavilyServer(PAGES) as tavily:
        path = tmp_path / "config.yaml"
        path.write_text(_config("yaml", server.url, tavily.url), encoding="utf-8")
        async with ClaudeCodeTavilySearchAgent.from_config(path) as agent:
            answer = await agent.run("Flowers of spring?")

    assert answer.output == "桜です。"
    assert server.requests[0].model == "claude-haiku-5-5"
    assert server.requests[1].tool_result_texts[0].startswith("## Search results: 花\n")


LONG = TavilyPage(
    title="Long",
    url="https://example.com/long",
    content="A long page.",
    raw_content="A sentence of autumn. " * 730_000,
)


def more_in(text: str) -> tuple[int, int]:
    """How many characters the note at the end of an answer says are left, and the offset that it gives."""
    (found,) = re.findall(r"残り ([\d,]+) 文字。続きは tavily_extract にこの URL と offset=(\d+)", text)
    return int(found[0].replace(",", "")), int(found[1])


@pytest.fixture
def tavily() -> Iterator[TavilyServer]:
    with TavilyServer([LONG]) as server:
        yield server


@pytest.fixture
async def long_page(tavily: TavilyServer) -> AsyncIterator[TavilySearchDeps]:
    async with TavilyAPIClient("tvly-test", base_url=tavily.url) as client:
        yield TavilySearchDeps(client=client)


async def test_of_a_text_of_16_mb_a_part_reaches_the_model_with_a_note_of_how_to_read_on(
    messages_server: Serve, long_page: TavilySearchDeps, tavily: TavilyServer
) -> None:
    server = messages_server(
        [
            call("tavily_extract", {"urls": [LONG.url]}),
            call("tavily_extract", {"urls": [LONG.url], "offset": 1_000_000}),
            call("tavily_extract", {"urls": [LONG.url], "query": "autumn"}),
            say("ok"),
        ]
    )

    async with TavilySearchAgent(anthropic(server), deps=long_page) as agent:
        await agent.run("?")

    first, second, asked = [text for request in server.requests[1:] for text in request.tool_result_texts]
    assert all(estimate_tokens(text) <= 1.1 * ANSWER_TOKENS for text in (first, second, asked))
    left, offset = more_in(first)
    assert left + offset == len(LONG.raw_content or "")
    assert more_in(second)[1] > 1_000_000 + offset // 2
    assert tavily.requests[-1].body["query"] == "autumn"
    assert list(server.requests[0].tools[1]["input_schema"]["properties"]) == ["urls", "query", "offset"]


@pytest.mark.parametrize(("deps_say", "agent_says", "most"), [(100, 8_000, 100), (None, 200, 200), (None, None, None)])
async def test_the_bound_is_that_of_the_deps_else_that_of_the_agent(
    messages_server: Serve,
    long_page: TavilySearchDeps,
    deps_say: int | None,
    agent_says: int | None,
    most: int | None,
) -> None:
    server = messages_server([call("tavily_extract", {"urls": [LONG.url]}), say("ok")])
    deps = replace(long_page, max_tokens=deps_say)

    async with TavilySearchAgent(anthropic(server), deps=deps, untrusted=None, max_tool_tokens=agent_says) as agent:
        await agent.run("?")

    (text,) = server.requests[-1].tool_result_texts
    assert estimate_tokens(text[:100_000]) <= most + 100 if most else len(text) > 15_000_000


@pytest.mark.cli
async def test_of_a_text_of_16_mb_a_part_reaches_claude_code(
    messages_server: Serve, claude_code_env: Environment, long_page: TavilySearchDeps, tmp_path: Path
) -> None:
    server = messages_server([call("tavily_extract", {"urls": [LONG.url]}), say("ok")])
    env = claude_code_env(server)
    model = ClaudeCodeModel("sonnet", tool_execution="agent", env=env, working_directory=tmp_path, timeout=60.0)

    await ClaudeCodeTavilySearchAgent(model, deps=long_page).run("?")

    (text,) = server.requests[-1].tool_result_texts
    left, offset = more_in(text)
    assert left + offset == len(LONG.raw_content or "")
    assert estimate_tokens(text) <= 1.1 * ANSWER_TOKENS


async def test_whoever_watches_a_run_sees_that_a_search_failed() -> None:
    with TavilyServer(PAGES, api_keys={"tvly-other"}) as tavily:
        async with TavilyAPIClient("tvly-test", base_url=tavily.url) as client:
            model = TestModel(call_tools=["tavily_search"])
            run = await TavilySearchAgent(model, deps=TavilySearchDeps(client=client)).run("春の花は？")

    (part,) = [p for m in run.all_messages() for p in m.parts if isinstance(p, ToolReturnPart)]
    assert part.outcome == "failed"
    assert str(part.content).endswith("エラータイプ: AUTH_ERROR")


Messages = Callable[..., MessagesServer]
On = Callable[[MessagesServer], AnthropicModel]
QUESTION = [Message(role="user", text="How much?")]


@pytest.fixture
async def model_on() -> AsyncGenerator[On]:
    async with AsyncExitStack() as clients:

        def model_on(server: MessagesServer) -> AnthropicModel:
            client = AsyncAnthropic(api_key="sk-test", base_url=server.url)
            clients.push_async_callback(client.close)
            return AnthropicModel("claude-sonnet-5", provider=AnthropicProvider(anthropic_client=client))

        yield model_on


async def events_of(responder: PydanticAIResponder) -> list[AnswerEvent]:
    return [event async for event in responder.stream(QUESTION)]


def double(number: int) -> int:
    """Twice a number."""
    if number < 0:
        raise ModelRetry("only numbers of 0 or more")
    if number > 9000:
        raise OSError("over 9000")
    return 2 * number


async def test_calls_results_and_text_come_as_they_happen(messages_server: Messages, model_on: On) -> None:
    both = turn("Let me see.", call("double", {"number": -1}, id="a"), call("double", {"number": 4}, id="b"))
    server = messages_server([both, say("Eight.")])
    responder = PydanticAIResponder(model_on(server), toolsets=[FunctionToolset([double])], system_prompt="Count!")
    assert responder.tool_names == ["double"]
    events = await events_of(responder)
    await responder.aclose()
    said = "".join(event.text for event in events if isinstance(event, TextDelta))
    assert said == "Let me see.\n\nEight."
    assert ToolCalled(call_id="b", name="double", arguments={"number": 4}) in events
    returned = {event.call_id: event for event in events if isinstance(event, ToolReturned)}
    assert returned["b"] == ToolReturned(call_id="b", name="double", ok=True, text="8")
    assert (returned["a"].name, returned["a"].ok) == ("double", False)
    assert "only numbers of 0 or more" in returned["a"].text
    assert "Count!" in str(server.requests[0].body["system"])


async def test_each_answer_knows_the_day_it_is_given_on(
    messages_server: Messages, model_on: On, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = messages_server([say("Good night."), say("Good morning.")])
    days = iter((datetime(2026, 12, 31, 12, tzinfo=UTC), datetime(2027, 1, 1, 12, tzinfo=UTC)))
    monkeypatch.setattr("hikidashi.apps.responder.now", lambda: next(days))
    responder = PydanticAIResponder(model_on(server))
    await responder.respond(QUESTION)
    await responder.respond(QUESTION)
    assert ["2026-12-31" in str(one.body["system"]) for one in server.requests] == [True, False]
    assert "2027-01-01" in str(server.requests[1].body["system"])


def test_without_pydantic_ai_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pydantic_ai", None)
    monkeypatch.delitem(sys.modules, "hikidashi.apps.pydantic_ai")
    with pytest.raises(MissingExtra, match=r"pip install 'hikidashi\[pydantic-ai\]'"):
        importlib.import_module("hikidashi.apps.pydantic_ai")


async def test_a_history_goes_in(messages_server: Messages, model_on: On) -> None:
    server = messages_server([say("ok")])
    responder = PydanticAIResponder(model_on(server))
    conversation = [Message(role="user", text="a"), Message(role="assistant", text="b"), *QUESTION]
    assert await responder.respond(conversation) == "ok"
    assert [message["role"] for message in server.requests[0].body["messages"]] == ["user", "assistant", "user"]


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        (
            [fault.status(401, "authentication_error", "no")],
            "The model's service refused the key. Please ask the operator to check it.",
        ),
        (
            [call("double", {"number": 1})] * 3,
            "The answer needed too many tool calls and was stopped. Please split the question.",
        ),
        (
            [call("double", {"number": 9001})],
            "Something went wrong, so there is no answer. Please try again.",
        ),
    ],
)
async def test_a_failure_is_a_sentence_and_the_log_has_the_cause(
    messages_server: Messages, model_on: On, caplog: pytest.LogCaptureFixture, script: Any, sentence: str
) -> None:
    responder = PydanticAIResponder(
        model_on(messages_server(script)), toolsets=[FunctionToolset([double])], language="en", max_turns=2
    )
    assert (await events_of(responder))[-1] == AnswerFailed(sentence)
    assert "No answer: " in caplog.text


async def test_closing_the_generator_ends_the_run(messages_server: Messages, model_on: On) -> None:
    ended = asyncio.Event()

    async def wait_long() -> str:
        """Waits."""
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return "never"

    server = messages_server([call("wait_long")])
    responder = PydanticAIResponder(model_on(server), toolsets=[FunctionToolset([wait_long])])
    events = responder.stream(QUESTION)
    assert isinstance(await anext(events), ToolCalled)
    await events.aclose()
    assert ended.is_set()


async def test_what_the_responder_was_made_with_is_given_back(messages_server: Messages, model_on: On) -> None:
    closed: list[bool] = []

    async def close() -> None:
        closed.append(True)

    await PydanticAIResponder(model_on(messages_server([])), on_close=close).aclose()
    assert closed == [True]
