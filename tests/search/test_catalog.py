"""What a user of `ToolCatalog` sees."""

from __future__ import annotations

import subprocess
import sys
from threading import Thread
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hikidashi.search
from hikidashi.errors import ToolSearchError
from hikidashi.search import ToolCatalog, ToolMatch

TOOLS = [
    {
        "name": "slack_post_message",
        "description": "Send a message to a Slack channel",
        "input_schema": {"type": "object", "properties": {"channel": {"description": "Channel to post in"}}},
    },
    {"name": "gmail_send", "description": "Send an email with attachments"},
    {"name": "calendar_create_event", "description": "Create an event in a calendar, with guests"},
    {"name": "calendar_list_events", "description": "List the events of a day"},
    {"name": "github_create_issue", "description": "Open an issue in a repository on GitHub"},
    {"name": "getWeather", "description": "Get the weather forecast of a city"},
    {"name": "請求書作成", "description": "取引先への請求書を作成して保存します"},
    {"name": "天气查询", "description": "查询城市的天气预报"},
    {"name": "고객검색", "description": "고객 정보를 검색합니다"},
    {"name": "ค้นหาสินค้า", "description": "ค้นหาสินค้าในร้าน"},
]


@pytest.fixture(scope="module")
def catalog() -> ToolCatalog:
    return ToolCatalog(TOOLS)


def names(matches: list[ToolMatch]) -> list[str]:
    return [match.name for match in matches]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("send a message to a channel", "slack_post_message"),
        ("creating events", "calendar_create_event"),
        ("weather forecasts for cities", "getWeather"),
        ("open issues on github", "github_create_issue"),
        ("I would like you to please help me send an e-mail", "gmail_send"),
        ("calender evnet creat", "calendar_create_event"),
        ("mesage chanel", "slack_post_message"),
        ("請求書を作って保存", "請求書作成"),
        ("城市天气", "天气查询"),
        ("고객 정보", "고객검색"),
        ("สินค้า", "ค้นหาสินค้า"),
        ("GITHUB ISSUE", "github_create_issue"),
        ("ＷＥＡＴＨＥＲ", "getWeather"),
        ("チャンネルにメッセージを送信", "slack_post_message"),
    ],
)
def test_the_tool_that_is_asked_for_comes_first(catalog: ToolCatalog, query: str, first: str) -> None:
    assert names(catalog.search(query))[:1] == [first]


@pytest.mark.parametrize("query", ["get weather", "getWeather", "get_weather", "GET-WEATHER"])
def test_an_exact_name_comes_first_in_any_spelling(query: str) -> None:
    rivals = [{"name": f"get_weather_{number}", "description": "get weather " * 9} for number in range(9)]
    matches = ToolCatalog([*rivals, {"name": "getWeather", "description": "?"}]).search(query)
    assert matches[0].name == "getWeather"
    assert all(matches[0].score > match.score for match in matches[1:])


def test_of_two_names_that_differ_in_spelling_only_the_one_spelled_so_comes_first() -> None:
    catalog = ToolCatalog([{"name": "get_user"}, {"name": "getUser"}])
    assert names(catalog.search("getUser")) == ["getUser", "get_user"]
    assert names(catalog.search("get_user")) == ["get_user", "getUser"]


def test_a_hit_tells_the_words_that_matched_per_field(catalog: ToolCatalog) -> None:
    assert catalog.search("post messages in a channel")[0].why == {
        "name": ("post", "messages"),
        "description": ("messages", "channel"),
        "argument_names": ("channel",),
        "argument_descriptions": ("post", "channel"),
    }


@pytest.mark.parametrize(
    ("query", "described"),
    [
        ("email", "Mail to a person"),
        ("mails", "Emails of a person"),
        ("colours", "The color of a wall"),
        ("favourite", "Favorites of a person"),
        ("repo", "Repositories of a team"),
        ("travelling", "Travels of a person"),
    ],
)
def test_spellings_and_short_forms_of_a_word_are_one_word(query: str, described: str) -> None:
    catalog = ToolCatalog([{"name": "x", "description": described}, {"name": "y", "description": "Something else"}])
    assert [(match.name, match.why) for match in catalog.search(query)] == [("x", {"description": (query,)})]


def test_words_that_mean_nearly_the_same_are_found_after_the_word_itself_and_shown() -> None:
    tools = [{"name": "removeTicket"}, {"name": "deleteTicket"}, {"name": "printLetter"}, {"name": "eraseDisk"}]
    matches = ToolCatalog(tools).search("delete an issue")
    assert names(matches)[:2] == ["deleteTicket", "removeTicket"]
    assert matches[0].why == {"name": ("delete", "issue→ticket")}
    assert matches[1].why == {"name": ("delete→remove", "issue→ticket")}


def test_a_long_question_is_searched_for_related_words_only_where_no_tool_has_its_own() -> None:
    catalog = ToolCatalog([{"name": "reserveTicket"}, {"name": "bookFilm"}], ranker="lexical")
    short = catalog.search("book issue")
    assert {match.name: match.why["name"] for match in short} == {
        "bookFilm": ("book",),
        "reserveTicket": ("book→reserve", "issue→ticket"),
    }
    long = catalog.search("book issue alpha beta gamma delta epsilon zeta eta theta iota kappa")
    assert {match.name: match.why["name"] for match in long} == {
        "bookFilm": ("book",),
        "reserveTicket": ("issue→ticket",),
    }


def test_a_word_that_is_asked_for_counts_in_full_though_another_is_related_to_it() -> None:
    tools = [{"name": "eraseTicket"}, {"name": "deleteTicket"}, {"name": "printLetter"}]
    catalog = ToolCatalog(tools, ranker="lexical")
    assert catalog.search("delete and erase")[0].score == catalog.search("erase and delete")[0].score
    assert catalog.search("delete and erase")[0].why == {"name": ("erase",)}


def test_what_an_argument_may_be_is_searched() -> None:
    schema = {"type": "object", "properties": {"method": {"enum": ["merge", "squash", "rebase"]}}}
    catalog = ToolCatalog([{"name": "land", "input_schema": schema}, {"name": "weather"}])
    assert [(match.name, match.why) for match in catalog.search("squash it")] == [
        ("land", {"argument_values": ("squash",)})
    ]


def test_a_hit_tells_how_a_word_was_respelled(catalog: ToolCatalog) -> None:
    assert catalog.search("mesage")[0].why["name"] == ("mesage→message",)
    assert catalog.search("message mesage")[0].why["name"] == ("message",)


def test_words_of_ones_own_glossary_are_understood() -> None:
    catalog = ToolCatalog(TOOLS, glossary={"ragnagna": "calendar", "wetter": ["weather", "forecast"]})
    assert names(catalog.search("ragnagna")) == ["calendar_create_event", "calendar_list_events"]
    assert catalog.search("wetter")[0].why == {
        "name": ("wetter→weather",),
        "description": ("wetter→weather", "wetter→forecast"),
    }


@pytest.fixture(scope="module")
def large() -> ToolCatalog:
    """A catalogue in which nearly every word occurs somewhere."""
    words = "garden lamp river window engine paper salad bridge candle forest"
    tools = [
        {"name": f"{word}_n{number}", "description": f"About one {word} of many"}
        for word in words.split()
        for number in range(250)
    ]
    light = {"name": "dim_light", "description": "Set the brightness of a lantern"}
    return ToolCatalog([*tools, light], ranker="lexical")


@pytest.mark.parametrize(
    ("query", "finds"),
    [
        ("set the brightness", True),
        ("a lantern for Ada in Oslo on 12 May 2026 at 10:30 with Grace", True),
        ("brightnes of the lantren", True),
        ("she whispered to her cousin that brightness fades quickly after sunset", False),
        ("the lanters quarrelled over dinner", False),
    ],
)
def test_in_a_large_catalogue_one_word_of_many_is_chance(large: ToolCatalog, query: str, finds: bool) -> None:
    assert names([match for match in large.search(query) if match.confident]) == ["dim_light"] * finds


def test_a_hit_for_a_word_of_any_tool_does_not_hide_one_for_what_is_asked() -> None:
    catalog = ToolCatalog(
        [{"name": "run_run", "description": "run"}, {"name": "quota", "description": "Free space " * 9}]
    )
    assert names(catalog.search("running out of space"))[0] == "quota"


@pytest.mark.parametrize(
    "query",
    ["xyzzy plugh", "quantum chromodynamics", "get the frobnicator reticulated splines", "1234567", "！？", "ゔぁゎ"],
)
def test_what_no_tool_does_gives_nothing_that_is_certain(catalog: ToolCatalog, query: str) -> None:
    assert not any(match.confident for match in catalog.search(query))


def test_a_lone_common_word_still_gives_the_tools_that_have_it() -> None:
    catalog = ToolCatalog(({"name": f"get_{thing}"} for thing in ("user", "file", "mail")), ranker="lexical")
    assert names(catalog.search("get")) == ["get_user", "get_file", "get_mail"]


def test_a_hit_far_behind_the_best_is_left_out() -> None:
    filler = [{"name": f"op_{number}", "description": "list the items"} for number in range(50)]
    catalog = ToolCatalog([{"name": "tax_invoice_list", "description": "Tax invoices"}, *filler])
    assert names(catalog.search("list tax invoices")) == ["tax_invoice_list"]


def test_a_tool_with_endless_text_is_found_and_disturbs_no_other() -> None:
    endless = {"name": "mail_" * 30_000, "description": "mail calendar " * 30_000}
    catalog = ToolCatalog([endless, {"name": "send_mail"}, {"name": "read_mail"}], ranker="lexical")
    assert {match.name for match in catalog.search("mail")} == {endless["name"], "send_mail", "read_mail"}
    assert names(catalog.search("calendar")) == [endless["name"]]
    catalog.remove(endless["name"])
    assert names(catalog.search("mail")) == ["send_mail", "read_mail"]


def test_a_query_of_nothing_but_politeness_is_searched_as_it_is() -> None:
    catalog = ToolCatalog([{"name": "help", "description": "Shows help"}, {"name": "send"}])
    assert names(catalog.search("help")) == ["help"]


def test_select_loads_by_name_in_the_order_asked_and_leaves_out_names_no_tool_has(catalog: ToolCatalog) -> None:
    matches = catalog.search("select: gmail_send, nonsense ,getWeather,gmail_send", limit=1)
    assert names(matches) == ["gmail_send", "getWeather"]
    assert matches[0].why == {"name": ("gmail_send",)}


def test_a_name_with_a_comma_can_be_selected_and_got() -> None:
    tool = {"name": "rows, all"}
    catalog = ToolCatalog([tool, {"name": "rows"}])
    assert names(catalog.search("select:rows, all")) == ["rows, all"]
    assert names(catalog.search("select:rows,all")) == ["rows"]
    assert catalog.get("rows, all") is tool


def test_get_gives_the_tool_as_it_came_and_none_for_a_name_no_tool_has(catalog: ToolCatalog) -> None:
    assert catalog.get("gmail_send") is TOOLS[1]
    assert catalog.get("gmailSend") is None
    assert catalog.get("") is None


@pytest.mark.parametrize("query", ["select:gmail_sent", "select:", "select: ,"])
def test_select_that_names_no_tool_is_an_error(catalog: ToolCatalog, query: str) -> None:
    with pytest.raises(ToolSearchError) as caught:
        catalog.search(query)
    assert caught.value.code == "invalid_tool_input"
    assert ("Did you mean 'gmail_send'" in str(caught.value)) == ("sent" in query)


@pytest.mark.parametrize(
    ("query", "limit", "words"),
    [
        ("", 5, "empty"),
        (" \n", 5, "empty"),
        ("x" * 501, 5, "501 characters, and the limit is 500"),
        ("mail", 0, "`limit` is 0"),
        ("mail", 51, "from 1 to 50"),
    ],
)
def test_a_query_out_of_bounds_is_refused(catalog: ToolCatalog, query: str, limit: int, words: str) -> None:
    with pytest.raises(ToolSearchError) as caught:
        catalog.search(query, limit=limit)
    assert caught.value.code == "invalid_tool_input"
    assert words in str(caught.value)


def test_500_characters_and_50_results_are_within_bounds() -> None:
    catalog = ToolCatalog({"name": f"mail_{number}"} for number in range(60))
    assert len(catalog.search("mail" + " " * 496, limit=50)) == 50
    assert len(catalog.search("mail")) == 5


def test_an_empty_catalogue_says_so() -> None:
    for search in (ToolCatalog().search, ToolCatalog().search_regex):
        with pytest.raises(ToolSearchError, match="The catalogue is empty") as caught:
            search("mail")
        assert caught.value.code == "unavailable"


def test_a_catalogue_takes_no_more_tools_than_its_limit() -> None:
    catalog = ToolCatalog(TOOLS[:2], limit_tools=2)
    with pytest.raises(ToolSearchError, match=r"takes 2 tools, and 'getWeather' would be one more.*`limit_tools`"):
        catalog.add(TOOLS[5])
    assert names(catalog.search("weather")) == []
    with pytest.raises(ToolSearchError, match="takes 1 tools"):
        ToolCatalog(TOOLS, limit_tools=1)


def test_tools_come_and_go() -> None:
    catalog = ToolCatalog(TOOLS[:3])
    catalog.add(TOOLS[5])
    assert (len(catalog), "getWeather" in catalog, names(catalog.search("weather"))) == (4, True, ["getWeather"])
    assert names(catalog.search_regex("weather")) == ["getWeather"]
    catalog.remove("getWeather")
    assert (len(catalog), "getWeather" in catalog, catalog.search("weather")) == (3, False, [])
    assert catalog.search_regex("weather") == []
    assert catalog.names == [tool["name"] for tool in TOOLS[:3]]
    assert list(catalog) == TOOLS[:3]
    catalog.add(TOOLS[5])
    assert names(catalog.search("get weather")) == ["getWeather"]


def test_removing_what_is_not_there_is_an_error_that_names_close_tools(catalog: ToolCatalog) -> None:
    with pytest.raises(ToolSearchError, match="No tool is named 'get_weather'"):
        catalog.remove("get_weather")


WORDS = ["get", "user", "mail", "send", "weather", "file", "list", "calendar", "event", "天気", "予報"]
tools = st.lists(
    st.tuples(st.lists(st.sampled_from(WORDS), min_size=1, max_size=3), st.lists(st.sampled_from(WORDS), max_size=8)),
    min_size=1,
    max_size=30,
).map(
    lambda pairs: [
        {"name": "_".join([*name, str(number)]), "description": " ".join(words)}
        for number, (name, words) in enumerate(pairs)
    ]
)


@settings(max_examples=60)
@given(
    tools, st.data(), st.lists(st.sampled_from([*WORDS, "calender", "unknown"]), min_size=1, max_size=4).map(" ".join)
)
def test_a_changed_catalogue_answers_exactly_as_a_fresh_one(
    tools: list[dict[str, str]], data: st.DataObject, query: str
) -> None:
    catalog = ToolCatalog(tools)
    kept = {tool["name"]: tool for tool in tools}
    for name in data.draw(st.lists(st.sampled_from(list(kept)), unique=True)):
        catalog.search(query)
        catalog.remove(name)
        tool = kept.pop(name)
        if data.draw(st.booleans()):
            catalog.add(tool)
            kept[name] = tool
    if kept:
        fresh = ToolCatalog(kept.values())
        found = [[(match.name, match.score, match.why) for match in each.search(query)] for each in (catalog, fresh)]
        assert found[0] == found[1]
        assert names(catalog.search_regex("e")) == names(fresh.search_regex("e"))


def test_a_catalogue_that_lives_long_does_not_grow() -> None:
    catalog = ToolCatalog(TOOLS)
    for number in range(1_000):
        catalog.add({"name": f"passing_{number}", "description": "stays a moment"})
        catalog.remove(f"passing_{number}")
    assert len(catalog._rows.entries) < 200
    assert names(catalog.search("creating events")) == names(ToolCatalog(TOOLS).search("creating events"))


def test_searches_in_other_threads_see_the_catalogue_before_or_after_a_change() -> None:
    catalog = ToolCatalog({"name": f"mail_{number}", "description": "mail of a user"} for number in range(300))
    strange: list[object] = []

    def read() -> None:
        try:
            for _ in range(150):
                found = catalog.search("mail user", limit=50) + catalog.search_regex("mail", limit=50)
                if len(found) != 100:
                    strange.append(found)
        except BaseException as error:  # whatever it is, the test must see it
            strange.append(error)

    readers = [Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for number in range(200):
        catalog.add({"name": f"other_{number}", "description": "calendar"})
        catalog.remove(f"mail_{number}")
    for reader in readers:
        reader.join()
    assert strange == []


def test_a_name_the_package_does_not_have_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = getattr(hikidashi.search, "nonsense")  # noqa: B009 - a static access would not type-check


def test_importing_the_search_imports_no_framework() -> None:
    code = (
        "import sys, hikidashi.search; "
        "heavy = {'numpy', 'sqlite3', 'mcp', 'pydantic_ai', 'strands', 'anthropic', 'claude_agent_sdk'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("query", [None, 5, b"mail", ["mail"]])
def test_what_is_no_text_is_refused_by_name(query: Any) -> None:
    catalog = ToolCatalog([{"name": "send_mail"}])
    with pytest.raises(ToolSearchError, match=r"`query` is .*text"):
        catalog.search(query)
    with pytest.raises(ToolSearchError, match=r"`pattern` is .*text"):
        catalog.search_regex(query)


@pytest.mark.parametrize("limit", [None, "5", 2.5, True, 0, -1, 51])
def test_a_limit_that_is_no_number_of_tools_is_refused(limit: Any) -> None:
    catalog = ToolCatalog([{"name": "send_mail"}])
    for search in (catalog.search, catalog.search_regex):
        with pytest.raises(ToolSearchError, match=r"`limit` is .*whole number from 1 to 50"):
            search("mail", limit=limit)


def test_a_ranker_that_nobody_knows_is_refused_with_those_there_are() -> None:
    with pytest.raises(ToolSearchError, match=r"'semantic'.*lexical.*hybrid"):
        ToolCatalog(ranker=cast("Any", "semantic"))


@pytest.mark.parametrize("pattern", ["slack", "^slack$", "(?i)Slack", "(?im)^SLACK$"])
def test_a_pattern_that_is_a_name_finds_that_tool_first(pattern: str) -> None:
    catalog = ToolCatalog([{"name": "slack_post", "description": "slack"}, {"name": "slack"}])
    assert names(catalog.search_regex(pattern))[0] == "slack"


def test_a_pattern_with_escaped_letters_finds_the_tool_of_that_name_first() -> None:
    catalog = ToolCatalog([{"name": "fs.read.all"}, {"name": "fs.read"}])
    assert names(catalog.search_regex(r"fs\.read")) == ["fs.read", "fs.read.all"]
