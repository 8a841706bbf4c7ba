"""Ready agents: pydantic-ai, Claude Code and strands, each with the web tools.

Importing this package imports no framework: each name is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .conversation import AnswerEvent, AnswerFailed, Message, Responder, TextDelta, ToolCalled, ToolReturned
    from .prompts import SEARCH_PROMPT
    from .pydantic_ai import ClaudeCodeTavilySearchAgent, TavilySearchAgent
    from .pydantic_ai_responder import PydanticAIResponder
    from .responder import make_responder
    from .slack import SlackBot
    from .strands import StrandsResponder

_HOME_OF = {
    "SEARCH_PROMPT": "prompts",
    "AnswerEvent": "conversation",
    "AnswerFailed": "conversation",
    "ClaudeCodeTavilySearchAgent": "pydantic_ai",
    "Message": "conversation",
    "PydanticAIResponder": "pydantic_ai_responder",
    "Responder": "conversation",
    "SlackBot": "slack",
    "StrandsResponder": "strands",
    "TavilySearchAgent": "pydantic_ai",
    "TextDelta": "conversation",
    "ToolCalled": "conversation",
    "ToolReturned": "conversation",
    "make_responder": "responder",
}

__all__ = [
    "SEARCH_PROMPT",
    "AnswerEvent",
    "AnswerFailed",
    "ClaudeCodeTavilySearchAgent",
    "Message",
    "PydanticAIResponder",
    "Responder",
    "SlackBot",
    "StrandsResponder",
    "TavilySearchAgent",
    "TextDelta",
    "ToolCalled",
    "ToolReturned",
    "make_responder",
]


def __getattr__(name: str) -> object:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{home}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
