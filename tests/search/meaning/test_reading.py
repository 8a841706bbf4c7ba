"""What a model reads of a question."""

from __future__ import annotations

import pytest
from benchmarks.search.data import EVERYDAY, load
from hypothesis import given
from hypothesis import strategies as st

from hikidashi.search import Embedder, ToolCatalog
from hikidashi.search.engine.query import without_literals

TOOLS = [
    {"name": "send_mail", "description": "Send an email"},
    {"name": "get_weather", "description": "Weather forecast"},
    {"name": "slack_post", "description": "Post to Slack"},
]


def read(question: str, *, multilingual: bool = False) -> list[str]:
    """What the model is given for a question."""
    asked: list[str] = []

    def remember(texts: list[str]) -> list[list[float]]:
        asked.extend(texts)
        return [[1.0] for _ in texts]

    embedder = Embedder(embed=lambda texts: [[1.0] for _ in texts], question=remember, multilingual=multilingual)
    ToolCatalog(TOOLS, embed=embedder).search(question)
    return asked


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("post a letter", "post a letter"),
        ("send an email to bob@example.com", "send an email to address"),
        ("send an email to 田中", "send an email to"),
        ("天気を教えて", "weather"),
        ("Slackにメールを送信", "email send Slack"),
        ("查询天气", "weather"),
        ("날씨 알려줘", "weather"),
    ],
)
def test_an_english_model_reads_english(question: str, text: str) -> None:
    (given,) = read(question)
    assert set(text.lower().split()) <= set(given.lower().split())
    assert given.isascii()


@pytest.mark.parametrize("question", ["Schick bitte eine E-Mail mit dem Wetter", "envía un correo electrónico"])
def test_german_and_spanish_are_read_as_english_too(question: str) -> None:
    (given,) = read(question)
    assert "email" in given.split()
    assert not {"bitte", "schick", "envía", "correo"} & set(given.lower().split())


@pytest.mark.parametrize("question", ["umbrella", "weather umbrella", "fly", "get_umbrella", "getWeather"])
def test_a_word_that_no_tool_has_is_read(question: str) -> None:
    assert read(question) == [question]


def test_a_language_without_a_glossary_is_searched_by_words() -> None:
    assert read("отправить письмо") == []
    assert read("отправить письмо", multilingual=True) == ["отправить письмо"]


def test_words_of_another_script_that_tools_have_decide() -> None:
    japanese = {"name": "天気予報", "description": "明日の天気"}
    catalog = ToolCatalog([*TOOLS, japanese], embed=lambda texts: [[float("weather" in text)] for text in texts])
    (best, *_) = catalog.search("明日の天気")
    assert (best.name, best.by_meaning) == ("天気予報", 0.0)


def test_tools_in_another_script_do_not_keep_a_question_from_being_read() -> None:
    tools = [
        {"name": "refund_payment", "description": "Refund a payment."},
        {"name": "send_email", "description": "Send an email message."},
        {"name": "kakeibo", "description": "お金の出入りを家計簿に書く"},
    ]
    found = ToolCatalog(tools, ranker="hybrid").search("客にお金を返して")
    assert [match.name for match in found if match.confident] == ["kakeibo", "refund_payment"]


@pytest.mark.parametrize(
    ("question", "rest"),
    [
        ("open https://example.com/a?b=c now", "open link now"),
        ("delete /var/log/app/error.log", "delete path"),
        ("get order 550e8400-e29b-41d4-a716-446655440000", "get order id"),
        ("revert commit a1b2c3d4e5", "revert commit id"),
        ("call +1 (555) 123-4567 back", "call number back"),
        ('post "we are late by an hour today" to slack', "post text to slack"),
        ("「明日の会議は三時から始まりますので」と送って", "textと送って"),
        ('what does "send mail" do', 'what does "send mail" do'),
        ("issue 42 of 2024-05-12", "issue 42 of 2024-05-12"),
        ("a decade of tools/list", "a decade of tools/list"),
        ('call "crm-find-contacts-by-mail-domain" now', 'call "crm-find-contacts-by-mail-domain" now'),
        ('get "550e8400-e29b-41d4-a716-446655440000"', "get text"),
        ("bob@example.com", "bob@example.com"),
        ('"we are late by an hour today"', '"we are late by an hour today"'),
    ],
)
def test_literal_values_are_read_as_their_kind(question: str, rest: str) -> None:
    assert without_literals(question) == rest


@given(st.text() | st.from_regex(r"(?:\w{1,8} ?|[\"'「」/.@:\-]{1,3}|\d{1,9}|https://|~/){1,30}", fullmatch=True))
def test_a_question_never_becomes_empty_and_is_read_the_same_twice(text: str) -> None:
    once = without_literals(text)
    assert bool(once.strip()) == bool(text.strip())
    assert without_literals(text, kinds=False) == text or len(without_literals(text, kinds=False)) < len(text) + 1


def test_a_long_line_of_anything_takes_no_longer_than_it_is_long() -> None:
    for piece in ("/a", "a@", "1,", "'", '"', "a.", "-", "f0", "https://"):
        without_literals(piece * 2_000)


def test_a_value_in_a_question_does_not_outweigh_what_is_wanted() -> None:
    tools = [
        {"name": "send_mail", "description": "Send a message to a person"},
        {"name": "list_invoices", "description": "List invoices, for example invoice-reports@example.com"},
    ]
    catalog = ToolCatalog(tools, ranker="lexical")
    assert catalog.search("send a message to invoice-reports@example.com")[0].name == "send_mail"
    quoted = 'send the message "please list the invoices and reports of may"'
    assert catalog.search(quoted)[0].name == "send_mail"


LITERALS = [
    *("anna.k@example.com", "/var/log/weather/mail.txt", "550e8400-e29b-41d4-a716-446655440000", "+49 30 901820"),
    *("https://shop.example/invoice/flight?id=9", "7f3a9c2e41", '"the hotel was dirty and the flight was late again"'),
]


def test_a_value_hardly_changes_what_is_found() -> None:
    errands = load(EVERYDAY)
    catalog = ToolCatalog(errands.tools, ranker="hybrid")
    assert catalog.ready()
    asked = [one for one in errands.questions if one.gold and one.split == "people"][::2]
    kept = lost = 0
    for number, one in enumerate(asked):
        plain = [match.name for match in catalog.search(one.query)]
        valued = [match.name for match in catalog.search(f"{one.query}, {LITERALS[number % len(LITERALS)]}")]
        kept += not plain or plain[0] in valued
        lost += bool(one.gold.intersection(plain)) - bool(one.gold.intersection(valued))
    assert kept / len(asked) > 0.95
    assert lost / len(asked) < 0.05


def test_a_quoted_name_finds_its_tool() -> None:
    catalog = ToolCatalog(TOOLS, embed=lambda texts: [[1.0] for _ in texts])
    for question in ('use "send_mail" now', 'please post "a text that names send_mail among others"'):
        best = catalog.search(question)[0]
        assert (best.name, best.by_words, best.confident) == ("send_mail", 1.0, True)


def test_a_question_of_misspelled_words_is_searched_by_words_alone() -> None:
    assert read("wheather emial") == []
    assert read("wheather in Kyoto") == ["wheather in Kyoto"]
