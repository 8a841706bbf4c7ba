"""Real counterparts on loopback for your own tests: a Messages API that follows a script, Tavily and Slack.

    with MessagesServer([say("Hello!")]) as server, Anthropic(base_url=server.url, api_key="sk-test") as client:
        question = {"role": "user", "content": "Anybody there?"}
        answer = client.messages.create(model="claude-opus-5-5", max_tokens=100, messages=[question])
    assert answer.content[0].text == "Hello!"
    assert server.requests[0].text == "Anybody there?"

A model that uses a tool is `[call("add", {"a": 1, "b": 2}), say("3")]`, and an outage is `[fault.overloaded(), ...]`.
Anything that takes a base URL can use it: the anthropic client, pydantic-ai, strands, and the Claude Code CLI
(`env=server.env(tmp_path)`). With pytest, the fixtures `messages_server` and `claude_code_env` need no import.

`TavilyServer([TavilyPage(title, url, content), ...])` is Tavily for any client that takes a base URL, with
`tavily_fault` for its failures and `tavily_server` as its fixture.

`SlackServer()` is a Slack workspace, Web API and Socket Mode: people `say` something, and a test reads the `thread`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..common.lazy import attach

if TYPE_CHECKING:
    from . import fault as fault
    from . import tavily_fault as tavily_fault
    from .fault import Fault as Fault
    from .messages import MessagesServer as MessagesServer
    from .script import Answer as Answer
    from .script import RecordedRequest as RecordedRequest
    from .script import Reply as Reply
    from .script import Script as Script
    from .script import Step as Step
    from .script import TokenUsage as TokenUsage
    from .script import call as call
    from .script import say as say
    from .script import think as think
    from .script import turn as turn
    from .slack import SlackCall as SlackCall
    from .slack import SlackServer as SlackServer
    from .slack_workspace import SlackMessage as SlackMessage
    from .tavily import TavilyPage as TavilyPage
    from .tavily import TavilyRequest as TavilyRequest
    from .tavily import TavilyServer as TavilyServer
    from .tavily_fault import TavilyFault as TavilyFault
    from .tool_search import search_regex as search_regex
    from .tool_search import search_words as search_words
else:  # pytest imports this package at every start, for the plugin beside it
    __getattr__, __dir__, __all__ = attach(__name__)
