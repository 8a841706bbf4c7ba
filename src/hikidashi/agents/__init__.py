"""Ready agents: pydantic-ai, Claude Code and strands, each with the web tools.

Importing this package imports no framework: each name is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..common.lazy import attach

if TYPE_CHECKING:
    from .conversation import AnswerEvent as AnswerEvent
    from .conversation import AnswerFailed as AnswerFailed
    from .conversation import Message as Message
    from .conversation import Responder as Responder
    from .conversation import TextDelta as TextDelta
    from .conversation import ToolCalled as ToolCalled
    from .conversation import ToolReturned as ToolReturned
    from .failures import Audience as Audience
    from .prompts import SEARCH_PROMPT as SEARCH_PROMPT
    from .pydantic_ai import ClaudeCodeTavilySearchAgent as ClaudeCodeTavilySearchAgent
    from .pydantic_ai import TavilySearchAgent as TavilySearchAgent
    from .pydantic_ai_responder import PydanticAIResponder as PydanticAIResponder
    from .responder import make_responder as make_responder
    from .slack import Identity as Identity
    from .slack import SlackBot as SlackBot
    from .strands import StrandsResponder as StrandsResponder
    from .strands import ToolsFactory as ToolsFactory
else:
    __getattr__, __dir__, __all__ = attach(__name__)
