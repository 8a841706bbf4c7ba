"""A search says how sure it is: a topic with a value is found in any catalogue, talk is not taken for a question."""

from __future__ import annotations

from typing import Any

import pytest
from benchmarks.search.catalogue import catalogue
from benchmarks.search.data import EVERYDAY, SHIPPED, load

from hikidashi.search import ToolCatalog


def tool(name: str, description: str) -> dict[str, Any]:
    return {"name": name, "description": description, "input_schema": {"type": "object", "properties": {}}}


def ready(tools: list[dict[str, Any]]) -> ToolCatalog:
    catalog = ToolCatalog(tools)
    assert catalog.ready()
    return catalog


@pytest.fixture(scope="module")
def small() -> ToolCatalog:
    return ready(catalogue(200))


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
        ("請求書 山田商店", "invoice"),
        ("納豆のレシピ", "recipe"),
        ("refund suzuki-san", "refund"),
    ],
)
def test_a_topic_with_a_value_finds_the_topic(small: ToolCatalog, question: str, topic: str) -> None:
    matches = small.search(question)
    assert matches[0].confident
    assert any(topic in match.name for match in matches)


@pytest.mark.parametrize(
    ("question", "topic"), [("contact tanaka", "contact"), ("recipe natto", "recipe"), ("event 12 march", "event")]
)
def test_by_words_alone_a_topic_with_a_value_finds_the_topic_among_ten_thousand_tools(
    large: ToolCatalog, question: str, topic: str
) -> None:
    assert all(topic in match.name for match in large.search(question))


@pytest.mark.parametrize(
    "talk",
    [
        "the recipe was my grandmother's and nobody wrote it down",
        "祖母のレシピはもう誰も覚えていない",
        "danke dir, du bist ein Schatz",
        "da hast du recht",
        "ma grand-mère chantait en cuisinant",
        "mi abuela cantaba mientras cocinaba",
        "the baby finally fell asleep",
    ],
)
def test_what_is_told_is_not_taken_for_a_question(small: ToolCatalog, talk: str) -> None:
    assert not any(match.confident for match in small.search(talk))


def test_of_the_talk_in_the_data_sets_little_is_answered_with_confidence() -> None:
    for folder in (SHIPPED, EVERYDAY):
        asked = load(folder)
        catalog = ready(list(asked.tools))
        sure = [one.query for one in asked.talk if any(match.confident for match in catalog.search(one.query))]
        assert len(sure) / len(asked.talk) < 0.08, sure


def test_a_probability_says_how_often_the_first_tool_is_right() -> None:
    asked = load(SHIPPED)
    catalog = ready(list(asked.tools))
    first = [(one, found[0]) for one in asked.questions if one.gold and (found := catalog.search(one.query))]
    for low, high in ((0.0, 0.5), (0.7, 1.01)):
        some = [(one, match) for one, match in first if low <= match.probability < high]
        right = sum(match.name in one.gold | one.alternatives for one, match in some) / len(some)
        expected = sum(match.probability for _, match in some) / len(some)
        assert abs(right - expected) < 0.2, (low, right, expected)


def test_where_nothing_is_certain_the_three_nearest_come_with_the_reason(large: ToolCatalog) -> None:
    matches = large.search("she whispered that the invoice smelled of lavender", limit=10)
    assert [match.confident for match in matches] == [False] * 3
    assert len(large.search("she whispered that the invoice smelled of lavender", limit=1)) == 1


def test_the_reason_names_the_words_that_no_tool_has(large: ToolCatalog) -> None:
    (match,) = large.search("she whispered that the invoice smelled of lavender", limit=1)
    assert match.doubt == "Only 'invoice' of the question matches: no tool has 'whispered', 'smelled', 'lavender'."


def test_talk_is_told_as_talk(small: ToolCatalog) -> None:
    doubts = {match.doubt for match in small.search("the recipe was my grandmother's and nobody wrote it down")}
    assert doubts == {"The question reads like talk rather than a request."}


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
    for small_word in ("und", "ist", "les", "the"):
        assert not any(match.confident for match in tools.search(small_word))
    assert [(match.name, match.doubt) for match in tools.search("ysq")] == [
        ("mysql_query", "Only a piece of a word in its name is 'ysq'.")
    ]
    assert [(match.name, match.confident) for match in tools.search("lab")] == [("getLabels", True)]


def test_verbs_of_tools_still_rank_those_that_have_the_thing() -> None:
    assert ready(list(load(SHIPPED).tools)).search("删除文件")[0].name == "drive_delete_file"


@pytest.mark.parametrize("question", ["搜索文件", "ファイルを検索", "buscar archivos"])
def test_a_tool_with_a_part_of_the_question_comes_behind_one_that_has_all_of_it(question: str) -> None:
    subjects = ["calendar", "branch", "flight", "music", "invoice"]
    catalog = ready(
        [
            tool("search_files", "Find files by name or content."),
            tool("merge_pdf", "Merge several PDF files into one file."),
            *(tool(f"other_{word}", f"Something about {word}.") for word in subjects),
        ]
    )
    assert [match.name for match in catalog.search(question)] == ["search_files"]
    held_back = {match.name: match.doubt for match in catalog.explain(question).held_back}
    assert held_back["merge_pdf"] == "Its score is less than half of the best."


def test_select_and_patterns_are_always_confident(large: ToolCatalog) -> None:
    assert all(match.confident for match in large.search(f"select:{large.names[0]}"))
    assert all(match.confident for match in large.search_regex("invoice"))


def test_an_explanation_has_what_a_search_finds_and_what_it_holds_back(large: ToolCatalog) -> None:
    explained = large.explain("sennd invoce tanaka", limit=2)
    assert explained.matches == large.search("sennd invoce tanaka", limit=2)
    assert list(explained.words) == ["sennd→send", "invoce→invoice", "tanaka"]
    assert explained.words["tanaka"] == "in no tool"
    assert explained.held_back
    talk = large.explain("she whispered that the invoice smelled of lavender")
    assert len(talk.matches) == 3
    assert all(match.doubt.startswith("The search is not confident of any tool") for match in talk.held_back)
    assert large.explain(f"select:{large.names[0]}").matches == large.search(f"select:{large.names[0]}")
