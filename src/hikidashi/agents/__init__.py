"""Ready agents: pydantic-ai, Claude Code and strands, each with the web tools.

Importing this package imports no framework: each name is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..common.lazy import lazy

if TYPE_CHECKING:
    from .conversation import AnswerEvent, AnswerFailed, Message, Responder, TextDelta, ToolCalled, ToolReturned
    from .failures import Audience
    from .prompts import SEARCH_PROMPT
    from .pydantic_ai import ClaudeCodeTavilySearchAgent, TavilySearchAgent
    from .pydantic_ai_responder import PydanticAIResponder
    from .responder import make_responder
    from .slack import Identity, SlackBot
    from .strands import StrandsResponder, ToolsFactory

_HOME_OF = {
    "SEARCH_PROMPT": ".prompts",
    "AnswerEvent": ".conversation",
    "AnswerFailed": ".conversation",
    "Audience": ".failures",
    "ClaudeCodeTavilySearchAgent": ".pydantic_ai",
    "Identity": ".slack",
    "Message": ".conversation",
    "PydanticAIResponder": ".pydantic_ai_responder",
    "Responder": ".conversation",
    "SlackBot": ".slack",
    "StrandsResponder": ".strands",
    "TavilySearchAgent": ".pydantic_ai",
    "TextDelta": ".conversation",
    "ToolCalled": ".conversation",
    "ToolReturned": ".conversation",
    "ToolsFactory": ".strands",
    "make_responder": ".responder",
}

__all__ = [
    "SEARCH_PROMPT",
    "AnswerEvent",
    "AnswerFailed",
    "Audience",
    "ClaudeCodeTavilySearchAgent",
    "Identity",
    "Message",
    "PydanticAIResponder",
    "Responder",
    "SlackBot",
    "StrandsResponder",
    "TavilySearchAgent",
    "TextDelta",
    "ToolCalled",
    "ToolReturned",
    "ToolsFactory",
    "make_responder",
]

__getattr__, __dir__ = lazy(__name__, _HOME_OF, __all__)
