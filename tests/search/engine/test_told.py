"""What is told, exclaimed or wished is no request, in each language; what is asked for, also as a wish, is one."""

from __future__ import annotations

from typing import Any

import pytest

from hikidashi.search import ToolCatalog
from hikidashi.search.engine.query import understand
from hikidashi.search.engine.statement import is_statement


def tool(name: str, description: str) -> dict[str, Any]:
    return {"name": name, "description": description, "input_schema": {"type": "object", "properties": {}}}


@pytest.mark.parametrize(
    "told",
    [
        "the dog barked at an invoice all night",
        "a stranger waved at our delivery van",
        "the report smells of coffee",
        "my cousin plays chess on trains",
        "your calendar makes me laugh",
        "the parrot stole the ticket and flew away",
        "when we were small the post came twice a day",
        "she opened the drawer and put the map away",
    ],
)
def test_an_english_sentence_is_told_if_its_verb_is_also_without_a_subject_that_only_statements_have(told: str) -> None:
    assert is_statement(told)


@pytest.mark.parametrize(
    "said",
    [
        "what a lovely recipe",
        "congratulations on the promotion",
        "thanks for the report",
        "happy birthday to my favourite customer",
        "good morning everyone",
        "do you ever dream of calendars",
        "are you a robot",
        "who's your favourite customer",
    ],
)
def test_exclamations_good_wishes_and_personal_questions_are_no_requests(said: str) -> None:
    assert is_statement(said)


@pytest.mark.parametrize(
    "asked",
    [
        "the orders shipped to bonn",
        "my saved playlists",
        "the tickets created by anna",
        "movies that came out in 1999",
        "64 bit builds",
        "my cat vaccination records",
        "thanks, now delete it",
        "good morning, show the forecast",
        "sorry, can you send it again",
        "when the build fails, notify the team",
        "what a flight to oslo costs",
        "bin that page, nobody reads it",
        "it would be nice to have a list of our customers",
        "someone should lock this account",
        "are you able to read pdf files",
    ],
)
def test_what_is_done_to_a_thing_is_no_story_and_an_order_or_a_wish_is_a_request(asked: str) -> None:
    assert not is_statement(asked)


@pytest.mark.parametrize(
    "told",
    [
        "bonjour tout le monde",
        "la cliente a pleuré de joie",
        "ma tante joue du piano",
        "quelle belle surprise",
        "merci pour la facture",
        "joyeux anniversaire",
        "mi tía baila muy bien",
        "el vecino vendió su coche",
        "qué sorpresa tan bonita",
        "no pasa nada",
        "gracias por el informe",
        "todo el mundo lo sabe",
        "meine Tante kocht wunderbar",
        "danke für die Rechnung",
        "macht nichts",
        "was für eine Überraschung",
        "alles Gute zum Geburtstag",
        "결혼 축하해",
        "동생이 또 늦게 왔더라",
        "휴가 잘 보내세요",
    ],
)
def test_what_is_told_exclaimed_or_wished_in_another_language_is_a_statement(told: str) -> None:
    assert understand(told, lambda word: False).is_statement


@pytest.mark.parametrize(
    "asked",
    [
        "il me faut la liste des clients",
        "nous cherchons un hôtel",
        "quel taux de change",
        "me gustaría ver mis pedidos",
        "nos hace falta un informe",
        "tengo que pagar una factura",
        "qué reuniones tengo",
        "ich wüsste gern den Kurs",
        "wir bräuchten die Liste",
        "ich suche ein Hotel",
        "주문 목록이 필요해요",
        "새 메시지",
        "메일을 보내세요",
        "파일을 공유할 수 있어",
    ],
)
def test_a_wish_in_another_language_is_a_request(asked: str) -> None:
    assert not understand(asked, lambda word: False).is_statement


@pytest.mark.parametrize(
    "told", ["冗談だってば", "お誕生日おめでとう", "犬がかわいい", "比小说还长", "祝你生日快乐", "包子最好吃"]
)
def test_exclamations_in_japanese_and_chinese_are_statements(told: str) -> None:
    assert is_statement(told)


@pytest.mark.parametrize("asked", ["提醒我开会", "总结这篇文章", "翻译这句话", "能不能给我看看日历", "最便宜的酒店"])
def test_an_order_in_chinese_begins_with_the_verb_and_is_no_statement(asked: str) -> None:
    assert not is_statement(asked)


SERVICES = [tool(f"unit_{number}", f"Convert unit {number}.") for number in range(2_500)]


def test_everyday_words_of_other_languages_are_no_values() -> None:
    catalog = ToolCatalog(
        [*SERVICES, tool("find_recipe", "Find a recipe."), tool("list_bills", "Bills.")], ranker="lexical"
    )
    for talk in ("alegría y maravilla en la cocina", "Freude und Kummer in der Küche, Schatz"):
        assert not any(match.confident for match in catalog.search(talk))
    for asked in ("receta salmorejo", "Rezept Labskaus", "factura iberdrola"):
        assert catalog.search(asked)[0].confident


def test_the_words_of_a_translated_phrase_are_one_word_with_it_and_none_of_them_is_grammar() -> None:
    french = [tool("codes_de_la_poste", "Codes postaux de la Suisse, il y en a un par commune.")]
    catalog = ToolCatalog([*SERVICES, *french, tool("play_music", "Play a song.")], ranker="lexical")
    for asked in ("mets de la musique", "pon música"):
        [match, *_] = catalog.search(asked)
        assert (match.name, match.confident) == ("play_music", True)


def test_a_foreign_word_that_is_stemmed_like_an_english_one_comes_after_its_translation() -> None:
    tools = [tool("draw_attention", "Attention of the audience."), tool("hold_payment", "Payments that are on hold.")]
    catalog = ToolCatalog([*SERVICES, *tools], ranker="lexical")
    assert catalog.search("paiement en attente")[0].name == "hold_payment"


def test_a_word_that_is_grammar_in_english_is_grammar() -> None:
    catalog = ToolCatalog([*SERVICES, tool("carriers", "Tous les transporteurs.")], ranker="lexical")
    assert not any(match.confident for match in catalog.search("bonsoir à tous"))


def test_a_translated_name_of_a_place_is_a_value() -> None:
    tools = [tool("get_weather", "The weather."), tool("subway", "The subway of Seoul.")]
    catalog = ToolCatalog([*SERVICES, *tools], ranker="lexical")
    [match, *_] = catalog.search("서울 날씨")
    assert (match.name, match.confident) == ("get_weather", True)


def test_a_topic_is_found_where_a_tool_close_to_the_best_has_it_in_its_name() -> None:
    tools = [
        tool("industries", "Industries of each client: which customer belongs to which, and which client to which."),
        tool("list_customers", "List all."),
    ]
    catalog = ToolCatalog([*SERVICES, *tools], ranker="lexical")
    matches = catalog.search("고객 이영희")
    assert matches[0].confident
    assert "list_customers" in [match.name for match in matches]


def test_a_greeting_in_japanese_has_no_other_words_in_it() -> None:
    catalog = ToolCatalog([tool("glossary", "Look up a term in the glossary."), *SERVICES[:20]], ranker="lexical")
    assert not any(match.confident for match in catalog.search("おはようございます"))
