"""What happens on a tour, step by step; each event is made from something that did happen."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

__all__ = [
    "ActStarted",
    "Answered",
    "Asked",
    "Called",
    "DiaryRead",
    "Event",
    "Found",
    "Hit",
    "Offered",
    "OfferedTool",
    "Outcome",
    "Returned",
    "Said",
    "TourEnded",
    "TourStarted",
    "Used",
]

Outcome = Literal["success", "retry", "failed"]
"""How a call ended; `retry` asks the model to try again."""


@dataclass(frozen=True, kw_only=True)
class Event:
    """One step of the tour."""

    def as_json(self) -> dict[str, Any]:
        """The step as a JSON object, its kind under `event`: `Called` is `called`."""
        kind = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(self).__name__).lower()
        return {"event": kind, **asdict(self)}


@dataclass(frozen=True, kw_only=True)
class TourStarted(Event):
    """The tour begins; the model behind it is scripted."""

    version: str
    language: str
    model: Literal["scripted"] = "scripted"


@dataclass(frozen=True, kw_only=True)
class ActStarted(Event):
    """An act begins; `code` is the line that makes it what it is."""

    number: int
    title: str
    about: str
    code: str


@dataclass(frozen=True, kw_only=True)
class OfferedTool:
    """A tool as it stood in a list of tools."""

    name: str
    description: str
    arguments: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Offered(Event):
    """Tools were offered, to the model or to an MCP client."""

    tools: tuple[OfferedTool, ...]


@dataclass(frozen=True, kw_only=True)
class Asked(Event):
    """The user asked."""

    text: str


@dataclass(frozen=True, kw_only=True)
class Said(Event):
    """The model spoke before it called a tool."""

    text: str


@dataclass(frozen=True, kw_only=True)
class Called(Event):
    """A tool was called."""

    id: str
    tool: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Returned(Event):
    """A tool answered, asked for another try, or failed."""

    id: str
    tool: str
    content: str
    outcome: Outcome


@dataclass(frozen=True, kw_only=True)
class Answered(Event):
    """The agent's run ended with this output."""

    text: str


@dataclass(frozen=True, kw_only=True)
class DiaryRead(Event):
    """What the tools left in the agent's dependencies."""

    entries: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Used(Event):
    """What a run took."""

    api_requests: int
    input_tokens: int
    output_tokens: int
    cost_usd: float
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Hit:
    """One thing that a search found."""

    name: str
    text: str
    score: float


@dataclass(frozen=True, kw_only=True)
class Found(Event):
    """A search among so many `things` found these, best first."""

    query: str
    among: int
    things: Literal["tools", "passages"]
    hits: tuple[Hit, ...]
    seconds: float


@dataclass(frozen=True, kw_only=True)
class TourEnded(Event):
    """The tour is over; `next_commands` are commands worth trying, each with what it does."""

    seconds: float
    next_commands: tuple[tuple[str, str], ...]
