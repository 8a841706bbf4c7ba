"""What a catalogue finds as it is by default, by words and meaning: what holds by words alone holds there too."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hikidashi.search import ToolCatalog, ToolMatch


def tool(name: str, description: str, **arguments: str) -> dict[str, Any]:
    properties = {argument: {"type": "string", "description": text} for argument, text in arguments.items()}
    return {"name": name, "description": description, "input_schema": {"type": "object", "properties": properties}}


TOOLS = [
    tool("get_weather", "Get current weather for a location", location="City"),
    tool("get_forecast", "Temperature and rain of the coming days", city="City"),
    tool("get_weather_data", "Get raw weather data", station="Station"),
    tool("get_user_data", "Get data of a user", user="User"),
    tool("send_email", "Send an email message", to="Recipient"),
    tool("slack_post_message", "Post a message to a Slack channel", channel="Channel"),
    tool("search_events", "Search events in the database", query="Text"),
    tool("create_calendar_event", "Create an event in the calendar", when="Time"),
    tool("list_files", "List files in a folder", path="Folder"),
    tool("delete_file", "Delete a file", path="File"),
    tool("refund_payment", "Refund a payment", payment="Payment"),
    tool("database_query", "Run a SQL query", sql="Query"),
    tool("zendesk__ticketmaster_v2", "Other"),
    tool("open_ticket", "Report a defect in the software", title="Title"),
]


@pytest.fixture(scope="module")
def catalog() -> ToolCatalog:
    catalog = ToolCatalog(TOOLS)
    assert catalog.ranker == "hybrid"
    return catalog


@pytest.fixture(scope="module")
def by_words() -> ToolCatalog:
    return ToolCatalog(TOOLS, ranker="lexical")


def shown(matches: list[ToolMatch]) -> list[tuple[str, float, str, float]]:
    return [(match.name, match.score, match.doubt, match.by_meaning) for match in matches]


def names(matches: list[ToolMatch]) -> list[str]:
    return [match.name for match in matches]


@pytest.mark.parametrize(
    "word",
    [
        "weather",
        "get",
        "data",
        "event",
        "Files",
        "message!",
        "sql",
        "city",
        "calendar",
    ],
)
def test_a_lone_word_finds_the_best_tool_that_has_it(catalog: ToolCatalog, by_words: ToolCatalog, word: str) -> None:
    assert by_words.search(word)[0].name in names(catalog.search(word, limit=20))


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("天気", "get_weather"),
        ("メールを送る", "send_email"),
        ("删除文件", "delete_file"),
        ("파일 삭제", "delete_file"),
        ("supprimer un fichier", "delete_file"),
        ("Wettervorhersage", "get_forecast"),
        ("enviar un correo", "send_email"),
        ("отправить письмо", "send_email"),
    ],
)
def test_words_of_other_languages_are_found_by_meaning(catalog: ToolCatalog, word: str, name: str) -> None:
    found = catalog.search(word)
    assert name in names(found)[:3]
    assert found[0].confident


def test_tools_that_are_equal_by_words_stay_in_the_order_in_which_they_were_added() -> None:
    things = ("user", "file", "mail", "order", "invoice")
    for order in (things, things[::-1]):
        assert names(ToolCatalog(({"name": f"get_{thing}"} for thing in order), ranker="lexical").search("get")) == [
            f"get_{thing}" for thing in order
        ]


def test_a_word_that_no_tool_has_is_found_by_meaning(catalog: ToolCatalog) -> None:
    assert names(catalog.search("reimburse"))[0] == "refund_payment"
    assert catalog.search("give her the money back")[0].confident


@pytest.mark.parametrize(
    ("query", "name"),
    [
        *((spelled, "get_weather_data") for spelled in ("get_weather_data", "getWeatherData", "Get weather data")),
        *((spelled, "refund_payment") for spelled in ("use refund_payment to send mail", "REFUND-PAYMENT")),
        *((part, "zendesk__ticketmaster_v2") for part in ("ticketmas", "desk__ticket", "DeskTicketMaster", "zend")),
        *((part, "create_calendar_event") for part in ("calendar_event", "endar_eve", "reate_calen")),
    ],
)
def test_a_name_and_a_part_of_one_come_first_whatever_is_near_in_meaning(
    catalog: ToolCatalog, query: str, name: str
) -> None:
    best = catalog.search(query)[0]
    assert (best.name, best.confident) == (name, True)


@pytest.mark.parametrize(
    "talk",
    [
        *("how are you", "how are you?", "thanks!", "thank you so much", "good morning", "hi", "ok", "what's up"),
        *("do you love me?", "are you sure?", "what do you think", "who are you?", "lol", "tell me a joke"),
        *(
            "最近どう？",
            "お元気ですか",
            "ありがとう！",
            "おはよう",
            "調子はどう？",
            "你好",
            "谢谢",
            "안녕하세요",
        ),
        *("wie geht es dir?", "merci beaucoup", "¿qué tal?"),
    ],
)
def test_everyday_talk_finds_nothing_that_is_certain(catalog: ToolCatalog, talk: str) -> None:
    assert [match.name for match in catalog.search(talk) if match.confident] == []


def test_words_that_only_talk_has_are_no_evidence_of_meaning() -> None:
    tools = ToolCatalog([tool("channel_history", "The recent messages."), tool("love_quotes", "Quotes about love.")])
    for talk in ("最近どう？", "最近", "do you love me?"):
        assert not any(match.confident for match in tools.search(talk))


@pytest.mark.parametrize(
    "query",
    [
        *("zzz qqq", "zzz", "asdf ghjk", "xyzzy plugh", "qwrtp", "bsftq", "sggw mswkfql"),
        *("quantum chromodynamics", "ゔぁゎ", "lorem ipsum dolor sit amet"),
    ],
)
def test_of_what_is_no_question_nothing_is_certain(catalog: ToolCatalog, query: str) -> None:
    assert not any(match.confident for match in catalog.search(query))


@pytest.mark.parametrize("query", ["123", "1234567", "!!!", "？", "🙂", "-", "..."])
def test_numbers_and_signs_find_nothing(catalog: ToolCatalog, query: str) -> None:
    assert catalog.search(query) == []


@settings(max_examples=40)
@given(st.lists(st.text("bcdfghjklmnpqrstvwxz", min_size=5, max_size=8), min_size=1, max_size=3).map(" ".join))
def test_letters_that_are_no_words_find_at_most_what_is_uncertain(catalog: ToolCatalog, query: str) -> None:
    assert len([match for match in catalog.search(query) if not match.confident]) <= 3


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("What is the weather in Tokyo?", "get_weather"),
        ("天気を教えて", "get_weather"),
        ("データベースのイベントを検索して", "search_events"),
        ("メールを送って", "send_email"),
        ("ファイルを削除したい", "delete_file"),
        ("カレンダーに予定を追加", "create_calendar_event"),
        ("Slackに投稿", "slack_post_message"),
        ("返金してほしい", "refund_payment"),
    ],
)
@pytest.mark.parametrize("count", [3, 8, len(TOOLS)])
def test_questions_find_their_tool_in_a_catalogue_of_any_small_size(query: str, name: str, count: int) -> None:
    wanted = [one for one in TOOLS if one["name"] == name]
    others = [one for one in TOOLS if one["name"] not in (name, "get_forecast")]
    best = ToolCatalog([*others[: count - 1], *wanted]).search(query)[0]
    assert (best.name, best.confident) == (name, True)


def test_a_tool_that_is_far_below_the_best_by_words_and_by_meaning_is_left_out() -> None:
    tools = [
        tool("SlackPost", "Write into a channel.", channel="Where to write"),
        tool("create_invoice", "Make an invoice.", due="The day of payment"),
        tool("get_weather", "Get weather at a specific location"),
    ]
    assert names(ToolCatalog(tools).search("please write into our channel")) == ["SlackPost"]


WORDS = [
    "get",
    "weather",
    "rain",
    "send",
    "mail",
    "channel",
    "file",
    "user",
    "money",
    "back",
    "umbrella",
    "天気",
    "event",
]


@settings(max_examples=30)
@given(st.lists(st.sampled_from([*WORDS, "of", "the", "を送って"]), min_size=1, max_size=5).map(" ".join))
def test_scores_are_positive_and_fall_and_a_limit_only_cuts(catalog: ToolCatalog, query: str) -> None:
    every = catalog.search(query, limit=50)
    scores = [match.score for match in every]
    assert scores == sorted(scores, reverse=True)
    assert all(score > 0 for score in scores)
    assert all(0 <= match.by_meaning <= 1 for match in every)
    for limit in (1, 3):
        assert shown(catalog.search(query, limit=limit)) == shown(every)[:limit]
    assert names(catalog.explain(query, limit=2).matches) == names(every)[:2]


def test_select_and_patterns_are_untouched_by_meaning(catalog: ToolCatalog, by_words: ToolCatalog) -> None:
    for query in ("select:send_email", "select:open_ticket,get_weather,unknown"):
        assert shown(catalog.search(query)) == shown(by_words.search(query))
    for pattern in ("weather", "get_.*_data", "(?i)SLACK", "^send", "reimburse"):
        assert shown(catalog.search_regex(pattern)) == shown(by_words.search_regex(pattern))


QUESTIONS = [
    "give her the money back",
    "will I need an umbrella?",
    "天気を教えて",
    "post it in the channel",
    "get",
    "zzz",
]


def test_the_same_tools_answer_the_same_however_the_catalogue_came_to_be(catalog: ToolCatalog, tmp_path: Path) -> None:
    added = ToolCatalog(TOOLS[:1])
    for one in TOOLS[1:]:
        added.add(one)
        added.search("give her the money back")
    changed = ToolCatalog([tool("passing", "Refund money, give it back to a customer"), *TOOLS])
    assert "passing" in names(changed.search("give her the money back"))
    changed.remove("passing")
    catalog.save(tmp_path / "tools")
    others = [added, changed, ToolCatalog.load(tmp_path / "tools"), ToolCatalog.load(tmp_path / "tools", tools=TOOLS)]
    expected = [shown(catalog.search(question)) for question in QUESTIONS]
    for other in others:
        assert [shown(other.search(question)) for question in QUESTIONS] == expected


def test_a_tool_is_found_by_the_search_right_after_it_was_added_and_not_after_it_was_removed() -> None:
    catalog = ToolCatalog(TOOLS)
    assert "book_flight" not in names(catalog.search("flying with an airline"))
    catalog.add(tool("book_flight", "Reserve a seat on an airplane"))
    assert names(catalog.search("flying with an airline"))[0] == "book_flight"
    catalog.remove("book_flight")
    assert "book_flight" not in names(catalog.search("flying with an airline"))


def test_threads_that_search_a_new_catalogue_at_once_all_get_its_answers(catalog: ToolCatalog) -> None:
    expected = [shown(catalog.search(question)) for question in QUESTIONS]
    new = ToolCatalog(TOOLS)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(new.search, QUESTIONS * 4))
    assert list(map(shown, found)) == expected * 4


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("select:refund_payment", False),
        ("отправить посылку", True),
        ("ship", True),
        ("ship a parcel", True),
        ("xyzzy", True),
    ],
)
def test_only_what_is_ranked_by_meaning_needs_vectors(query: str, expected: bool) -> None:
    tools = [{"name": "refund_payment", "description": "Give money back."}, {"name": "ship_parcel", "description": ""}]
    catalog = ToolCatalog(tools)
    assert catalog.ranks_by_meaning(query) is expected
    if not expected:
        catalog.search(query)
        assert not catalog.is_ready
    assert not ToolCatalog(tools, ranker="lexical").ranks_by_meaning(query)
    assert not ToolCatalog().ranks_by_meaning("select:a")
