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

from ..common.lazy import lazy

if TYPE_CHECKING:
    from . import fault, tavily_fault
    from .fault import Fault
    from .messages import MessagesServer
    from .recorded import RecordedRequest
    from .script import Answer, Reply, Script, Step, Usage, call, say, think, turn
    from .slack import SlackCall, SlackServer
    from .slack.state import SlackMessage
    from .tavily import TavilyPage, TavilyRequest, TavilyServer
    from .tavily_fault import TavilyFault
    from .tool_search import search_regex, search_words

# Loaded when first used: pytest imports this package at every start, for the plugin beside it.
_HOME_OF = {
    "Answer": ".script",
    "Fault": ".fault",
    "MessagesServer": ".messages",
    "RecordedRequest": ".recorded",
    "Reply": ".script",
    "Script": ".script",
    "SlackCall": ".slack",
    "SlackMessage": ".slack.state",
    "SlackServer": ".slack",
    "Step": ".script",
    "TavilyFault": ".tavily_fault",
    "TavilyPage": ".tavily",
    "TavilyRequest": ".tavily",
    "TavilyServer": ".tavily",
    "Usage": ".script",
    "call": ".script",
    "fault": ".",
    "say": ".script",
    "search_regex": ".tool_search",
    "search_words": ".tool_search",
    "tavily_fault": ".",
    "think": ".script",
    "turn": ".script",
}

__all__ = [
    "Answer",
    "Fault",
    "MessagesServer",
    "RecordedRequest",
    "Reply",
    "Script",
    "SlackCall",
    "SlackMessage",
    "SlackServer",
    "Step",
    "TavilyFault",
    "TavilyPage",
    "TavilyRequest",
    "TavilyServer",
    "Usage",
    "call",
    "fault",
    "say",
    "search_regex",
    "search_words",
    "tavily_fault",
    "think",
    "turn",
]

__getattr__, __dir__ = lazy(__name__, _HOME_OF, __all__)
