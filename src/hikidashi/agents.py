"""Ready agents: pydantic-ai, Claude Code and strands, each with the web tools.

Importing this module imports no framework: each name is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .common.lazy import attach

if TYPE_CHECKING:
    from .apps.factory import make_responder as make_responder
    from .apps.failures import Audience as Audience
    from .apps.pydantic_ai import ClaudeCodeTavilySearchAgent as ClaudeCodeTavilySearchAgent
    from .apps.pydantic_ai import PydanticAIResponder as PydanticAIResponder
    from .apps.pydantic_ai import TavilySearchAgent as TavilySearchAgent
    from .apps.responder import SEARCH_PROMPT as SEARCH_PROMPT
    from .apps.responder import AnswerEvent as AnswerEvent
    from .apps.responder import AnswerFailed as AnswerFailed
    from .apps.responder import Message as Message
    from .apps.responder import Responder as Responder
    from .apps.responder import TextDelta as TextDelta
    from .apps.responder import ToolCalled as ToolCalled
    from .apps.responder import ToolReturned as ToolReturned
    from .apps.slack.api import Identity as Identity
    from .apps.slack.bot import SlackBot as SlackBot
    from .apps.strands import StrandsResponder as StrandsResponder
    from .apps.strands import ToolsFactory as ToolsFactory
else:
    __getattr__, __dir__, __all__ = attach(__name__)
