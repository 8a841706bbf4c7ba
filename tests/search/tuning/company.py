"""A company with words of its own: tools in plain English, and questions in its slang."""

from __future__ import annotations

from functools import cache
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

__all__ = ["EVERYDAY", "JAPANESE", "QUESTIONS", "TOOLS", "Question", "by_words"]


class Question(TypedDict):
    """A line of a file of labelled questions."""

    query: str
    tools: list[str]


def _tool(name: str, description: str, *arguments: str) -> dict[str, Any]:
    properties = {argument: {"type": "string"} for argument in arguments}
    return {"name": name, "description": description, "input_schema": {"type": "object", "properties": properties}}


TOOLS = [
    _tool("refund_payment", "Refund a payment to a customer.", "payment_id", "amount"),
    _tool("charge_card", "Charge a credit card.", "card", "amount"),
    _tool("start_build", "Start a build on the build server.", "branch"),
    _tool("get_build_log", "Get the log of a build.", "build"),
    _tool("deploy_service", "Deploy a version of a service to production.", "service", "version"),
    _tool("roll_back_deployment", "Roll back a deployment to the previous version.", "service"),
    _tool("declare_incident", "Declare an incident and notify the engineers on call.", "title", "severity"),
    _tool("request_vacation", "Submit a vacation request for approval.", "from_date", "to_date"),
    _tool("submit_expenses", "Submit expenses with receipts for reimbursement.", "receipts"),
    _tool("rotate_api_key", "Rotate an API key.", "key"),
    _tool("send_email", "Send an email message.", "to", "subject", "body"),
    _tool("create_event", "Create an event in the calendar.", "title", "start"),
    _tool("search_files", "Search files by name or content.", "query"),
    _tool("translate_text", "Translate text between languages.", "text", "language"),
    _tool("get_weather", "Get the weather forecast for a place.", "place"),
    _tool("book_room", "Reserve a meeting room.", "room", "start"),
    _tool("list_invoices", "List the invoices of a customer.", "customer"),
    _tool("create_ticket", "Create a support ticket.", "title"),
    _tool("play_music", "Play a song on a speaker.", "song"),
    _tool("order_lunch", "Order lunch for the team.", "dish"),
]

_SLANG = {
    "refund_payment": ("zap", "do a boomerang"),
    "start_build": ("feed the beast", "wake the beast"),
    "get_build_log": ("read what the beast burped", "see the burps"),
    "deploy_service": ("yeet", "launch to mars"),
    "roll_back_deployment": ("unyeet", "come home from mars"),
    "declare_incident": ("ring the gong", "bang the gong"),
    "request_vacation": ("get some hammock", "go hammocking"),
    "submit_expenses": ("hand in my beans", "claim beans"),
    "rotate_api_key": ("bake new cookies", "swap the cookies"),
}
_SIZE = 192
_FRAMES = ("{}", "{} please", "can you {} for 4411", "we must {} today", "{} asap", "time to {} again", "let me {}")

QUESTIONS: list[Question] = [
    {"query": frame.format(slang), "tools": [tool]}
    for tool, phrases in _SLANG.items()
    for slang in phrases
    for frame in _FRAMES
]

EVERYDAY = {
    "give the customer her money back": "refund_payment",
    "will it rain in Oslo tomorrow": "get_weather",
    "put lunch with Ana on my calendar": "create_event",
    "how do you say good morning in Finnish": "translate_text",
    "mail the minutes to everyone": "send_email",
    "reserve the big meeting room": "book_room",
    "what does Acme still owe us": "list_invoices",
    "put on some jazz": "play_music",
}
JAPANESE = {
    "明日の天気": "get_weather",
    "メールを送って": "send_email",
    "会議室を予約したい": "book_room",
    "この文章を翻訳して": "translate_text",
    "請求書の一覧": "list_invoices",
}


def by_words(texts: list[str]) -> NDArray[np.float64]:
    """An embedding in no time: the sum of a random vector for each word."""
    return np.stack([sum((_word(word) for word in text.lower().split()), np.zeros(_SIZE)) for text in texts])


@cache
def _word(word: str) -> NDArray[np.float64]:
    return np.random.default_rng([*word.encode()]).normal(size=_SIZE)
