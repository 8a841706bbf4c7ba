"""Tool search: the few of a thousand tools that a sentence is about."""

from __future__ import annotations

import time
from itertools import product
from typing import Any

from hikidashi.search import ToolCatalog

from .stage import Stage

__all__ = ["a_tool_is_found_among_a_thousand"]

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
_ENGLISH, _JAPANESE = "download all invoices from Garnet", "Harborの会議室の予約を取り消したい"


async def a_tool_is_found_among_a_thousand(stage: Stage) -> None:
    """Questions in two languages search a catalogue that is described in English."""
    text = stage.text
    await stage.begin_act(
        text("One tool among a thousand", "千のツールから、ひとつを"),
        text(
            "The model sees one search tool. Words in seven languages find the tools, described in English.",
            "モデルに見えるのは検索ツールだけ。英語で書かれたツールが、日本語など7言語の言葉で見つかります。",
        ),
        code="catalog = ToolCatalog(tools); catalog.search(question)",
    )
    tools = {tool["name"]: tool for tool in _tools()}
    catalog = ToolCatalog(tools.values())
    unknown = text("what colour are my socks", "靴下は何色ですか")
    for query in (text(_ENGLISH, _JAPANESE), text(_JAPANESE, _ENGLISH), unknown):
        catalog.search(query)  # the first Japanese word loads the glossary
        started = time.perf_counter()
        matches = catalog.search(query, limit=3)
        seconds = time.perf_counter() - started
        hits = [
            {"name": match.name, "text": tools[match.name]["description"], "score": match.score} for match in matches
        ]
        await stage.tell("found", query=query, among=len(catalog), things="tools", hits=hits, seconds=seconds)


def _tools() -> list[dict[str, Any]]:
    """Every verb with every thing of every service, as definitions of the Messages API."""
    return [
        {
            "name": f"{service}_{verb}_{thing.replace(' ', '_')}",
            "description": sentence.format(thing=thing, service=service.capitalize()),
            "input_schema": {"type": "object", "properties": {f"{thing.replace(' ', '_')}_id": {"type": "string"}}},
        }
        for service, thing, (verb, sentence) in product(_SERVICES, _THINGS, _VERBS.items())
    ]
