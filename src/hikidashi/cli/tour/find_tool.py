"""Act four: a thousand tools, and the few that a sentence is about."""

from __future__ import annotations

import time
from itertools import product
from typing import Any

from hikidashi.search import ToolCatalog

from .events import ActStarted, Found, Hit
from .stage import Stage

__all__ = ["one_of_a_thousand_is_found"]

_SERVICES = ("acme", "bluebird", "cargo", "delta", "ember", "fjord", "garnet", "harbor", "indigo", "juniper")
_THINGS = (
    "calendar event", "campaign", "contract", "customer", "delivery", "document", "employee record", "expense report",
    "invoice", "meeting room booking", "message", "payment", "product", "project task", "purchase order",
    "sales lead", "subscription", "support ticket", "survey", "user account",
)  # fmt: skip
_VERBS = {
    "create": "Create a new {thing} in {service}.",
    "list": "Find each {thing} of {service} by text, date or owner.",
    "update": "Change the details of one {thing} in {service}.",
    "cancel": "Cancel or take back one {thing} in {service}.",
    "export": "Download every {thing} of {service} as a CSV file.",
}
_SHOWN = 3


async def one_of_a_thousand_is_found(stage: Stage, number: int) -> None:
    """Sentences in two languages search a catalogue that is described in English."""
    words = stage.words
    await stage.tell(
        ActStarted(
            number=number,
            title=words.search_title,
            about=words.search_about,
            code="catalog = ToolCatalog(tools); catalog.search(question)",
        )
    )
    tools = _tools()
    descriptions = {tool["name"]: tool["description"] for tool in tools}
    catalog = ToolCatalog(tools)
    for question in words.tool_questions:
        catalog.search(question)  # the first Japanese word loads the glossary
        started = time.perf_counter()
        matches = catalog.search(question, limit=_SHOWN)
        seconds = time.perf_counter() - started
        hits = tuple(Hit(name=match.name, text=descriptions[match.name], score=match.score) for match in matches)
        await stage.tell(Found(query=question, among=len(catalog), things="tools", hits=hits, seconds=seconds))


def _tools() -> list[dict[str, Any]]:
    """Every verb with every thing of every service: a thousand definitions, as the Messages API takes them."""
    return [
        {
            "name": f"{service}_{verb}_{thing.replace(' ', '_')}",
            "description": sentence.format(thing=thing, service=service.capitalize()),
            "input_schema": {"type": "object", "properties": {f"{thing.replace(' ', '_')}_id": {"type": "string"}}},
        }
        for service, thing, (verb, sentence) in product(_SERVICES, _THINGS, _VERBS.items())
    ]
