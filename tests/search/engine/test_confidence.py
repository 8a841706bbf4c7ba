"""A search says how sure it is: a topic with a value is found in any catalogue, talk is not taken for a question."""

from __future__ import annotations

from typing import Any

import pytest
from benchmarks.search.catalogue import catalogue
from benchmarks.search.data import SHIPPED, load

from hikidashi.search import ToolCatalog
from hikidashi.search.engine.statement import is_statement


def tool(name: str, description: str) -> dict[str, Any]:
    return {"name": name, "description": description, "input_schema": {"type": "object", "properties": {}}}


@pytest.fixture(scope="module", params=[200, 2_000, 10_000])
def sized(request: pytest.FixtureRequest) -> ToolCatalog:
    return ToolCatalog(catalogue(request.param), ranker="lexical")


@pytest.fixture(scope="module")
def large() -> ToolCatalog:
    return ToolCatalog(catalogue(10_000), ranker="lexical")


@pytest.mark.parametrize(
    ("question", "topic"),
    [
        ("contact tanaka", "contact"),
        ("customer tanaka", "customer"),
        ("refund tanaka", "refund"),
        ("deploy frontend", "deployment"),
        ("recipe natto", "recipe"),
        ("weather in reykjavik", "weather"),
        ("show me tanaka's invoice", "invoice"),
        ("invoice INV-2031-0098", "invoice"),
        ("event 12 march", "event"),
        ("template offer_letter.html", "template"),
        ("請求書 山田商店", "invoice"),
        ("納豆のレシピ", "recipe"),
        ("refund suzuki-san", "refund"),
        ("deployment invoice-frontend", "deployment"),
        ("肉じゃがのレシピ", "recipe"),
        ("「はじめまして」を翻訳", "translat"),
        ("配送 1234-5678-9012", "ship"),
        ("message 8pm kenji", "message"),
    ],
)
def test_a_topic_with_a_value_finds_the_topic_in_a_catalogue_of_any_size(
    sized: ToolCatalog, question: str, topic: str
) -> None:
    matches = sized.search(question)
    assert matches[0].confident
    assert any(topic in match.name for match in matches)


@pytest.mark.parametrize(
    "talk",
    [
        "she whispered that the invoice smelled of lavender",
        "the recipe was my grandmother's and nobody wrote it down",
        "he never liked the weather in november",
        "祖母のレシピはもう誰も覚えていない",
        "昨日の天気はひどかったね",
        "他昨天忘了带伞，天气真糟糕",
        "danke dir, du bist ein Schatz",
        "da hast du recht",
        "ma grand-mère chantait en cuisinant",
        "mi abuela cantaba mientras cocinaba",
        "the baby finally fell asleep",
    ],
)
def test_what_is_told_is_not_taken_for_a_question(sized: ToolCatalog, talk: str) -> None:
    assert not any(match.confident for match in sized.search(talk))


def test_the_likeliest_meaning_of_a_word_comes_before_a_rarer_word_for_another(large: ToolCatalog) -> None:
    for question, topic in (("連絡先 高橋", "contact"), ("契約 三島工業", "contract")):
        assert sum(topic in match.name for match in large.search(question)) >= 2


def test_where_nothing_is_certain_the_three_nearest_come_with_the_reason(large: ToolCatalog) -> None:
    matches = large.search("she whispered that the invoice smelled of lavender", limit=10)
    assert [match.confident for match in matches] == [False] * 3
    assert {match.doubt for match in matches} == {
        "Only 'invoice' of the question matches, which reads like a statement rather than a request."
    }
    assert all("invoice" in match.name for match in matches)
    assert len(large.search("she whispered that the invoice smelled of lavender", limit=1)) == 1


def test_the_reason_names_the_words_that_no_tool_has() -> None:
    many = [tool(f"convert_unit_{number}", f"Convert unit {number}.") for number in range(2_500)]
    catalog = ToolCatalog([*many, tool("paint", "Paint in any color.")], ranker="lexical")
    (match,) = catalog.search("violin socks cheese color")
    assert match.doubt == "Only 'color' of the question matches: no tool has 'violin', 'socks', 'cheese'."


def test_nothing_is_found_only_where_no_tool_has_a_word_that_tells_what_it_is_about(large: ToolCatalog) -> None:
    assert large.search("xyzzy plugh") == []
    assert large.search("it was one of those old days") == []


@pytest.mark.parametrize("spelled", ["{0}", "call {0} with what she said yesterday", "{0}?", " {0}\u200b "])
def test_an_exact_name_wins_whatever_stands_around_it(large: ToolCatalog, spelled: str) -> None:
    name = large.names[4321]
    first = large.search(spelled.format(name))[0]
    assert (first.name, first.confident) == (name, True)


def test_a_part_of_a_name_wins(large: ToolCatalog) -> None:
    name = large.names[4321]
    service, rest = name.split("_", 1)
    assert name in [match.name for match in large.search(rest, limit=50) if match.confident]
    assert all(service in match.name and match.confident for match in large.search(service))
    pieces = ToolCatalog([*catalogue(3_000), tool("zendesk__ticketmaster_v2", "Other.")], ranker="lexical")
    for part in ("ticketmas", "desk__ticket", "DeskTicketMaster"):
        match = pieces.search(part)[0]
        assert (match.name, match.confident) == ("zendesk__ticketmaster_v2", True)


def test_a_short_piece_of_a_word_is_no_certain_part_of_a_name() -> None:
    tools = ToolCatalog([tool("list_refunds", "Other."), tool("mysql_query", "Other."), tool("getLabels", "Other.")])
    for small_word in ("und", "ist", "les", "the", "que"):
        assert tools.search(small_word) == []
    assert [(match.name, match.doubt) for match in tools.search("ysq")] == [
        ("mysql_query", "Only a piece of a word in its name is 'ysq'.")
    ]
    assert [(match.name, match.confident) for match in tools.search("lab")] == [("getLabels", True)]


def test_words_that_only_talk_has_are_never_certain() -> None:
    tools = ToolCatalog([tool("love_quotes", "Quotes about love."), tool("channel_history", "The recent messages.")])
    for talk in ("do you love me?", "最近どう？"):
        assert [match.confident for match in tools.search(talk)] in ([], [False])


def test_verbs_of_tools_still_rank_those_that_have_the_thing() -> None:
    catalog = ToolCatalog(load(SHIPPED).tools)
    assert catalog.ready()
    assert catalog.search("删除文件")[0].name == "drive_delete_file"


@pytest.mark.parametrize("question", ["搜索文件", "ファイルを検索", "buscar archivos"])
def test_a_tool_with_a_part_of_the_question_is_uncertain_behind_one_that_has_all_of_it(question: str) -> None:
    tools = [
        tool("search_files", "Find files by name or content."),
        tool("merge_pdf", "Merge several PDF files into one file."),
        *(
            tool(f"other_{word}", f"Something about {word}.")
            for word in ["calendar", "branch", "flight", "music", "invoice"]
        ),
    ]
    by_words = ToolCatalog(tools, ranker="lexical").search(question)
    assert [(match.name, match.confident) for match in by_words] == [("search_files", True), ("merge_pdf", False)]
    assert by_words[1].doubt == "Only a part of the question matches, and another tool matches far better."
    catalog = ToolCatalog(tools)
    assert catalog.ready()
    assert [match.name for match in catalog.search(question)] == ["search_files"]
    held_back = {match.name: match.doubt for match in catalog.explain(question).held_back}
    assert held_back["merge_pdf"] == "Only a part of the question matches, and the tool is far in meaning."


def test_what_only_a_hint_found_is_told_as_one() -> None:
    tools = [tool("book_flight", "Reserve a seat."), tool("play_song", "Play.")]
    [match] = ToolCatalog(tools, ranker="lexical").search("flying airline")
    assert match.doubt == "Only what 'flying' may mean matches: no tool has 'flying', 'airline'."
    [match] = ToolCatalog(tools).search("flying airline")
    assert (match.name, match.confident) == ("book_flight", True)


def test_select_and_patterns_are_always_confident(large: ToolCatalog) -> None:
    assert all(match.confident for match in large.search(f"select:{large.names[0]}"))
    assert all(match.confident for match in large.search_regex("invoice"))


def test_an_explanation_has_what_a_search_finds_and_what_it_holds_back(large: ToolCatalog) -> None:
    explained = large.explain("sennd invoce tanaka", limit=2)
    assert explained.matches == large.search("sennd invoce tanaka", limit=2)
    assert list(explained.words) == ["sennd→send", "invoce→invoice", "tanaka"]
    assert explained.words["tanaka"] == "in no tool"
    assert explained.held_back
    assert {match.doubt for match in explained.held_back} <= {
        "More tools match than the 2 that were asked for.",
        "Its score is less than a quarter of the best.",
    }
    talk = large.explain("she whispered that the invoice smelled of lavender")
    assert len(talk.matches) == 3
    assert all(match.doubt.startswith("The search is not confident of any tool") for match in talk.held_back)
    assert large.explain(f"select:{large.names[0]}").matches == large.search(f"select:{large.names[0]}")


@pytest.mark.parametrize(
    "asked",
    [
        "contact tanaka",
        "can you tell me who she is",
        "I need the invoice he sent",
        "it is broken, restart it",
        "what is the weather",
        "田中さんの連絡先を教えて",
        "明日は晴れますか",
        "旅程 京都",
        "帮我查一下他的订单",
        "",
    ],
)
def test_questions_orders_and_bare_words_are_asked(asked: str) -> None:
    assert not is_statement(asked)


@pytest.mark.parametrize(
    "told", ["the soup was too salty", "I miss the sea", "It’s raining again", "月がきれいですね", "他走了"]
)
def test_statements_are_told(told: str) -> None:
    assert is_statement(told)


@pytest.mark.parametrize("question", ["メールを送る", "予定を追加する", "天気を調べる"])
def test_a_japanese_verb_with_its_object_names_what_to_do_and_is_no_statement(question: str) -> None:
    assert not is_statement(question)


@pytest.mark.parametrize("told", ["音楽を聴いている", "昨日メールを送った", "彼がメールを送る", "雨が降る"])
def test_what_is_told_in_japanese_is_a_statement(told: str) -> None:
    assert is_statement(told)
