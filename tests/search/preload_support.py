"""What tests of preloading share: tools, the messages that ask for them, and a catalogue that fails."""

from __future__ import annotations

from dataclasses import replace
from threading import Event
from typing import Any

from benchmarks.search.data import SHIPPED, load

from hikidashi import Tool, from_function
from hikidashi.search import Embedder, ToolCatalog, ToolMatch
from hikidashi.testing import call

__all__ = [
    "ASK_AGAIN",
    "ASK_EVENTS",
    "ASK_FLIGHT",
    "ASK_MAIL",
    "ASK_WEATHER",
    "CLOSE",
    "MAIL",
    "TOOLS",
    "WEATHER",
    "Failing",
    "book_room",
    "by_words",
    "by_words_at_first",
    "drawer",
    "get_weather",
    "long_mails",
    "refund_order",
    "send_mail",
]


def send_mail(to: str) -> str:
    """Send a mail to somebody."""
    return f"sent to {to}"


def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"rain in {city}"


def list_events(day: str) -> str:
    """The events in the calendar on a day."""
    return f"nothing on {day}"


def book_flight(city: str) -> str:
    """Book a flight to a city."""
    return f"booked {city}"


def book_room(time: str) -> str:
    """Book a meeting room."""
    return f"booked for {time}"


def refund_order(number: int) -> str:
    """Refund an order of a customer."""
    return f"refunded {number}"


TOOLS = [from_function(function) for function in (send_mail, get_weather, list_events, book_flight)]
WEATHER = call("get_weather", {"city": "Tokyo"})
MAIL = call("send_mail", {"to": "Ada"})
ASK_WEATHER, ASK_MAIL = "What is the weather in Tokyo?", "Send a mail to Ada."
ASK_EVENTS, ASK_FLIGHT = "Which events are in the calendar on Monday?", "Book a flight to Oslo."

ASK_AGAIN = "Call send_mail_again."


def long_mails(*names: str) -> list[Tool]:
    """Tools to send mails with, of which a budget of 200 tokens has room for one or two."""
    long = replace(TOOLS[0], description="Send a mail to somebody. " + "Mails are kept. " * 25)
    return [long.renamed(name) for name in names]


def by_words(catalog: type[ToolCatalog] = ToolCatalog) -> ToolCatalog:
    """The tools, found by words alone whatever is installed."""
    return catalog(TOOLS, ranker="lexical")


DRAWER = load(SHIPPED).tools
CLOSE = "please close the channel #summer-party, close it for good"


def drawer() -> list[Tool]:
    """More tools than a search embeds itself; for `CLOSE`, it finds others by meaning than by words."""
    return [
        replace(TOOLS[0], name=tool["name"], description=tool["description"], input_schema=tool["input_schema"])
        for tool in DRAWER
    ]


def by_words_at_first() -> tuple[ToolCatalog, Event]:
    """A catalogue without vectors, and what lets it have them: `CLOSE` then means `channels_archive` alone."""
    let = Event()

    def embed(texts: list[str]) -> list[list[float]]:
        if len(texts) > 1:
            assert let.wait(60)
        return [[1.0, 1.0] if "archive" in text.lower() or "close it" in text else [1.0, -1.0] for text in texts]

    def asks(vectors: Any) -> list[float]:
        return [0.98 if vector[1] > 0 else 0.02 for vector in vectors]

    return ToolCatalog(drawer(), embed=Embedder(embed=embed, request=asks, floor=0.95)), let


class Failing(ToolCatalog):
    """A catalogue whose search fails."""

    def search(self, query: str, *, limit: int = 5, by_meaning: bool = True) -> list[ToolMatch]:
        raise RuntimeError("the index is gone")
