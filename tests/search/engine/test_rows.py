"""Names in questions, and what is said about names that no tool has."""

from __future__ import annotations

from typing import Literal

import pytest

from hikidashi.errors import ToolSearchError
from hikidashi.search import ToolCatalog
from hikidashi.search.engine.rows import is_identifier

CATALOG = ToolCatalog({"name": name} for name in ("getWeather", "send_mail", "send_mails", "list_files"))


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("select:get_weather", "No tool is named 'get_weather'. Did you mean 'getWeather'?"),
        ("select:send_male", "No tool is named 'send_male'. Did you mean 'send_mail' or 'send_mails'?"),
        ("select:unlike", "No tool is named 'unlike'. Search for it by words."),
        ("select:x,y,send_mial", "No tool is named 'x' or 'y' or 'send_mial'. Search for it by words."),
        ("select:x,y,LIST-FILES", "No tool is named 'x' or 'y' or 'LIST-FILES'. Did you mean 'list_files'?"),
    ],
)
def test_another_spelling_is_named_first_and_then_names_close_to_the_first_two(query: str, told: str) -> None:
    with pytest.raises(ToolSearchError) as caught:
        CATALOG.search(query)
    assert str(caught.value) == told


def test_a_list_of_other_spellings_is_kept_short() -> None:
    catalog = ToolCatalog({"name": f"tool_{number}"} for number in range(60))
    with pytest.raises(ToolSearchError) as caught:
        catalog.search("select:" + ",".join(f"TOOL{number}" for number in range(60)))
    assert str(caught.value).endswith("Did you mean 'tool_0' or 'tool_1' or 'tool_2' or 'tool_3' or 'tool_4'?")


NAMES = [
    *("google.calendar.events.list.all", "crm-find-contacts-by-email-domain", "fs/read", "/api/v1/users", "deadbeef01"),
    *("find user by email address and name", "https://api.example/v1/pay", "顧客情報を検索してメールで送信するツール"),
]


@pytest.mark.parametrize("ranker", ["lexical", "hybrid"])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("question", ['call "{}" please', "call the tool “{}” now"])
def test_a_quoted_name_finds_its_tool_whatever_it_looks_like(
    question: str, name: str, ranker: Literal["lexical", "hybrid"]
) -> None:
    catalog = ToolCatalog(({"name": one} for one in (*NAMES, "call_tool")), ranker=ranker)
    first = catalog.search(question.format(name))[0]
    assert (first.name, first.confident, first.by_words) == (name, True, 1.0)


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("run google.calendar.events.list.all.", NAMES[0]),
        ("run Google-Calendar-Events-List-All, please", NAMES[0]),
        ("now fs/read", "fs/read"),
    ],
)
def test_a_name_in_parts_needs_no_quotes(question: str, name: str) -> None:
    first = ToolCatalog(({"name": one} for one in NAMES), ranker="lexical").search(question)[0]
    assert (first.name, first.confident) == (name, True)


@pytest.mark.parametrize("question", ["send an e-mail to Bob", 'send the word "email" to Bob'])
def test_words_that_could_be_a_name_are_words(question: str) -> None:
    tools = [{"name": "email", "description": "Mail."}, {"name": "send_email", "description": "Send an email to Bob."}]
    assert ToolCatalog(tools, ranker="lexical").search(question)[0].name == "send_email"


@pytest.mark.parametrize("piece", ["a_", "a.", "aB", "_", "a-", "/a", '"a', "a_."])
def test_a_long_name_that_is_none_takes_no_longer_than_it_is_long(piece: str) -> None:
    question = piece * 2_000 + "!"
    assert not is_identifier(question)
    assert ToolCatalog([{"name": "send_mail"}], ranker="lexical", limit_query=10_000).search(question) == []
