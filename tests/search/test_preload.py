"""Which tools a user's message loads before the model's first turn."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from benchmarks.search.confidence import questions
from benchmarks.search.data import EVERYDAY, SHIPPED, load
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.search.preload_support import Failing

from hikidashi.search import ToolCatalog, to_claude_search, to_pydantic_ai_search, to_strands_search
from hikidashi.search.anthropic import ToolLoop
from hikidashi.search.catalog import Ranker
from hikidashi.search.preload import Preloader

ERRANDS = load(EVERYDAY)
TOOLS = [
    {"name": "book_room", "description": "Book a meeting room for a time"},
    {"name": "send_message", "description": "Send a message to a person, tell somebody something"},
    {"name": "get_weather", "description": "Get the weather forecast of a city"},
    {"name": "refund_order", "description": "Refund an order of a customer"},
    {"name": "translate_text", "description": "Translate a text to another language"},
    {"name": "play_music", "description": "Play a song or an album"},
]
TALK = [
    *("keep up the good work", "ok that makes sense now", "have a lovely weekend"),
    *("thanks, that was great", "how are you?", "Thank you so much!", "ok", "good morning", "yes please", "go ahead"),
    *("no, the other one", "please continue", "try again", "what do you think?", "are you sure?", "see you tomorrow"),
    *("I don't understand", "she never liked that colour", "my tooth still hurts", "what's your name?", "👍", "..."),
    *("ありがとうございます", "お元気ですか？", "おはようございます", "谢谢你", "你好", "감사합니다", "안녕하세요"),
    *("danke, sehr gut", "merci beaucoup", "gracias, perfecto", "guten Morgen", "comment ça va ?", "buenos días"),
]


@pytest.fixture(scope="module")
def catalog() -> ToolCatalog:
    return ToolCatalog(TOOLS)


def ready(tools: Sequence[dict[str, Any]], ranker: Ranker = "auto") -> ToolCatalog:
    catalog = ToolCatalog(tools, ranker=ranker)
    assert catalog.ready()
    return catalog


BY_MEANING = ready(ERRANDS.tools, "hybrid")


@pytest.fixture(scope="module")
def errands() -> ToolCatalog:
    return BY_MEANING


def test_a_message_loads_the_best_tools_for_it(catalog: ToolCatalog) -> None:
    preloader = Preloader(catalog, 2)
    assert preloader.load("what will the weather in Kyoto be like?") == ["get_weather"]
    assert preloader.loaded == ("get_weather",)
    assert "get_weather" in preloader
    assert "book_room" not in preloader


def test_a_later_message_adds_at_the_end_and_removes_nothing(catalog: ToolCatalog) -> None:
    preloader = Preloader(catalog, 1)
    assert preloader.load("book a room for 3 pm") == ["book_room"]
    assert preloader.load("thanks, that was great") == []
    assert preloader.load("book another room") == []
    assert preloader.load("what is the weather in Kyoto?") == ["get_weather"]
    assert preloader.loaded == ("book_room", "get_weather")


def test_a_conversation_loads_no_more_than_its_bound(catalog: ToolCatalog) -> None:
    preloader = Preloader(catalog, 1, most=2)
    messages = ["book a room", "refund order 12", "what is the weather in Kyoto?", "play a song"]
    assert [preloader.load(message) for message in messages] == [["book_room"], ["refund_order"], [], []]
    assert Preloader(catalog, 3).most == 12


@pytest.mark.parametrize("message", TALK)
def test_everyday_talk_loads_nothing(message: str, errands: ToolCatalog) -> None:
    assert Preloader(errands, 5).load(message) == []


def test_hardly_any_of_the_talk_in_the_data_sets_loads_something(errands: ToolCatalog) -> None:
    talk = [one.query for one in questions() if "talk" in one.split] + [one.query for one in ERRANDS.talk]
    asked = talk[::3]
    loaded = [message for message in asked if Preloader(errands, 5).load(message)]
    assert len(loaded) / len(asked) < 0.06, loaded


def test_most_requests_in_seven_languages_load_the_tool_they_need(errands: ToolCatalog) -> None:
    asked = [one for one in ERRANDS.questions if one.gold][::3]
    found = [one for one in asked if one.gold.intersection(Preloader(errands, 5).load(one.query))]
    assert len(found) / len(asked) > 0.8


ORDERS = [
    ("bin that page, nobody reads it", "pages-delete"),
    ("stick one more slide at the back with our prices", "add_slide"),
    ("I lost my wallet, shut my credit card off", "bank_freeze_card"),
    ("will I need an umbrella in Paris on friday", "weather_forecast"),
    ("wake me at half past five", "alarm_set"),
    ("把这些PDF文件合并成一个", "pdf_merge"),
]


@pytest.mark.parametrize(("message", "tool"), ORDERS)
def test_a_clear_request_loads_the_nearest_tools_though_the_search_is_not_confident(message: str, tool: str) -> None:
    assert tool in Preloader(BY_MEANING, 5).load(message)


@pytest.mark.parametrize(
    "message", ["my grandmother kept old pages", "he was a slow reader", "the bus driver waved at me"]
)
def test_a_statement_about_the_same_things_loads_nothing(message: str) -> None:
    assert Preloader(BY_MEANING, 5).load(message) == []


@pytest.mark.parametrize("message", ["what is dark matter", "give me an example of alliteration", "is a whale clever"])
def test_a_question_without_a_tool_loads_nothing(message: str, errands: ToolCatalog) -> None:
    assert Preloader(errands, 5).load(message) == []


def test_what_the_search_is_confident_of_is_not_crowded_out_by_what_is_merely_near(catalog: ToolCatalog) -> None:
    assert Preloader(catalog, 3).load("Refund order 12. And will I need an umbrella?")[0] == "refund_order"


@pytest.mark.parametrize(
    "message",
    [
        "book a room and tell Ann",
        "Book a room for tomorrow, then please send a message to Ann.",
        "My back hurts. Book a room! And send Ann a message that she should come?",
        "- book a room\n- send a message to Ann",
    ],
)
def test_several_requests_in_one_message_load_tools_for_each(message: str, catalog: ToolCatalog) -> None:
    assert set(Preloader(catalog, 2).load(message)) == {"book_room", "send_message"}


def test_several_requests_in_other_languages_load_tools_for_each() -> None:
    catalog = ready(load(SHIPPED).tools)
    for message in ("カレンダーに予定を追加して、それから請求書を送って", "添加日程，然后查询发票"):
        names = Preloader(catalog, 6).load(message)
        assert any("invoice" in name.lower() for name in names), (message, names)
        assert any("calendar" in name.lower() for name in names), (message, names)


def test_a_long_message_is_searched_at_its_beginning_and_its_end(catalog: ToolCatalog) -> None:
    pasted = "The committee met in the old hall, and it was cold. Nobody spoke for a while.\n" * 2_000
    assert Preloader(catalog, 3).load(f"Translate this text to French:\n{pasted}") == ["translate_text"]
    assert Preloader(catalog, 3).load(f"{pasted}\nRefund the order of this customer.") == ["refund_order"]
    assert Preloader(catalog, 3).load("refund the order " + "x" * 5_000) == ["refund_order"]
    assert Preloader(catalog, 3).load("w" * 100_000) == []


@pytest.mark.parametrize(
    "content",
    [
        ["what is the weather in Kyoto?", SimpleNamespace(url="https://example.org/cat.png", kind="image-url")],
        [{"type": "image", "source": {"data": "weather"}}, {"type": "text", "text": "what is the weather in Kyoto?"}],
        {"role": "user", "content": [{"text": "what is the weather in Kyoto?"}, {"image": {"format": "png"}}]},
        [SimpleNamespace(type="text", text="what is the weather in Kyoto?"), b"refund order"],
        [SimpleNamespace(content="what is the weather in Kyoto?")],
    ],
)
def test_of_a_message_with_several_parts_the_text_is_read(content: object, catalog: ToolCatalog) -> None:
    assert Preloader(catalog, 3).load(content) == ["get_weather"]


@pytest.mark.parametrize(
    "content",
    [
        *("", "   ", "\u200b", None, [], {}, 7, b"weather in Kyoto"),
        {"role": "assistant", "content": "what is the weather in Kyoto?"},
        [{"type": "tool_result", "tool_use_id": "1", "content": "what is the weather in Kyoto?"}],
        [{"toolResult": {"content": [{"text": "what is the weather in Kyoto?"}]}}],
        "select:nobody",
    ],
)
def test_a_message_without_text_of_the_user_loads_nothing(content: object, catalog: ToolCatalog) -> None:
    assert Preloader(catalog, 3).load(content) == []


def test_what_a_seam_had_no_room_for_is_loaded_for_a_later_message_and_uses_up_no_bound(catalog: ToolCatalog) -> None:
    preloader = Preloader(catalog, 2, most=2)
    best = preloader.best("book a room and tell Ann")
    assert set(best) == {"book_room", "send_message"}
    preloader.remember(best[:1])
    assert preloader.loaded == (best[0],)
    assert preloader.load("book a room and tell Ann") == best[1:]
    assert preloader.best("what is the weather in Kyoto?") == []


def test_a_tool_that_a_search_found_is_not_loaded_and_uses_up_no_bound(catalog: ToolCatalog) -> None:
    preloader = Preloader(catalog, 2, most=2)
    assert preloader.load("what is the weather in Kyoto?") == ["get_weather"]
    assert preloader.best("book a room and tell Ann", has={"book_room"}) == ["send_message"]


def test_only_eligible_tools_are_loaded(catalog: ToolCatalog) -> None:
    assert Preloader(catalog, 1).load("book a room and tell Ann", among={"send_message"}) == ["send_message"]


def test_a_tool_that_the_model_has_anyway_is_not_loaded_and_takes_a_place(catalog: ToolCatalog) -> None:
    preloader = Preloader(catalog, 1, listed=["book_room"])
    assert preloader.load("book a room") == []
    assert preloader.loaded == ()


def test_a_search_that_fails_is_logged_and_loads_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "hikidashi"):
        assert Preloader(Failing(TOOLS), 3).load("book a room") == []
    assert "the index is gone" in caplog.text
    assert Preloader(ToolCatalog([]), 3).load("book a room") == []


def test_the_same_messages_load_the_same_tools_in_the_same_order(errands: ToolCatalog) -> None:
    messages = [one.query for one in ERRANDS.questions[::40]]
    first, second = Preloader(errands, 3), Preloader(ready(ERRANDS.tools, errands.ranker), 3)
    assert [first.load(message) for message in messages] == [second.load(message) for message in messages]
    assert first.loaded == second.loaded
    assert len(first.loaded) == 12


def loop(tools: list[Any], **options: Any) -> ToolLoop:
    return ToolLoop(tools, model="claude-opus-5-5", messages=[{"role": "user", "content": "?"}], **options)


@pytest.mark.parametrize("seam", [to_pydantic_ai_search, to_strands_search, to_claude_search, loop])
@pytest.mark.parametrize("value", [-1, 21, 10**30, True, False, 2.5, float("nan"), "3", b"3", [3], {}])
def test_every_seam_refuses_a_wrong_count_and_a_wrong_bound_at_once(seam: Callable[..., Any], value: object) -> None:
    with pytest.raises(ValueError, match=r"`preload` is .*: use a whole number from 1 to 20") as caught:
        seam([], preload=value)
    assert repr(value) in str(caught.value)
    if value not in (21, 10**30):
        with pytest.raises(ValueError, match=r"`preload_most` is .*: use a whole number from 3 on"):
            seam([], preload=3, preload_most=value)
    with pytest.raises(ValueError, match="`preload_most` is 3 and `preload` is off"):
        seam([], preload_most=3)


@settings(max_examples=60, deadline=None)
@given(
    st.recursive(
        st.none() | st.text() | st.binary() | st.integers() | st.text(alphabet="book a room.,;!\n。 and", min_size=400),
        lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["text", "type", "role", "content"]), inner),
        max_leaves=8,
    )
)
def test_no_message_raises_or_loads_more_than_it_may(catalog: ToolCatalog, message: object) -> None:
    preloader = Preloader(catalog, 2)
    names = preloader.load(message)
    assert len(names) <= 2
    assert set(names) <= set(catalog.names)
    assert tuple(names) == preloader.loaded
