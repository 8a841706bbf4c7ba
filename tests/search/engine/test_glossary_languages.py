"""Questions in other languages: which language it is, what its words mean, and what is not searched."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikidashi.search import ToolCatalog
from hikidashi.search.engine.analyzer import fold
from hikidashi.search.engine.glossary import LATIN, bases, homographs, lexicon, plain_letters, stop_words
from hikidashi.search.engine.query import languages_of, understand

HERE = files("hikidashi.search.engine").joinpath("glossaries")
HOMOGRAPHS = "die in on chat plan gift see art son pour but main pain location coin sale four date hat rest tag"
BUNDLED = [file.name.removesuffix(".tsv") for file in HERE.iterdir() if file.name.endswith(".tsv")]


@cache
def lines(file: str) -> list[str]:
    source = HERE.joinpath(file).read_text(encoding="utf-8")
    return [line for line in source.split("\n") if line and not line.startswith("#")]


def translated(question: str) -> dict[str, tuple[str, ...]]:
    return dict(understand(question, lambda word: False).translations)


def english_of(question: str) -> set[str]:
    return {word for meanings in translated(question).values() for meaning in meanings for word in meaning.split()}


def languages(question: str, known: str = "") -> list[str]:
    spelled = re.findall(r"[^\W\d_]+", question)
    return languages_of([plain_letters(word) for word in spelled], spelled, known.split().__contains__)


def tool(name: str, description: str = "") -> dict[str, Any]:
    return {"name": name, "description": description, "input_schema": {"type": "object", "properties": {}}}


@pytest.mark.parametrize("language", BUNDLED)
def test_every_file_is_read_as_it_is_written(language: str) -> None:
    """Reading does not check the lines: what it relies on is checked here."""
    assert [line for line in lines(f"{language}.tsv") if not re.fullmatch(r"[^\t]+\t[^\t]+", line)] == []
    even_out = plain_letters if language == "en" or language in LATIN else fold
    expected = {
        even_out(word): even_out(english) for word, english in (line.split("\t") for line in lines(f"{language}.tsv"))
    }
    assert lexicon(language).meanings == expected
    assert len(expected) >= 2_000


@pytest.mark.parametrize("language", [*LATIN, "ko", "zh"])
def test_every_stop_word_is_read(language: str) -> None:
    words = lines(f"stopwords/{language}.txt")
    assert stop_words(language) == {(plain_letters(word) if language in LATIN else word).strip() for word in words}
    assert len(words) > 100


def test_what_is_not_there_is_empty() -> None:
    assert len(lexicon("tlh")) == 0
    assert stop_words("tlh") == frozenset()


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Rechnung senden", ["de"]),
        ("Rechnung", ["de"]),
        ("Meeting absagen", ["de"]),
        ("Termin", ["de"]),
        ("wie wird das Wetter morgen in Oslo?", ["de"]),
        ("enviar correo", ["es"]),
        ("borra el archivo", ["es"]),
        ("supprime le fichier", ["fr"]),
        ("envoie un message dans le chat", ["fr"]),
        ("delete the Rechnung von gestern", ["de"]),
    ],
)
def test_a_few_words_tell_the_language(question: str, expected: list[str]) -> None:
    assert languages(question) == expected


@pytest.mark.parametrize(
    "question",
    [
        *HOMOGRAPHS.split(),
        "chat plan",
        "see the art on the plan",
        "pour out the tea",
        "but in the main chat",
        "gift ideas for my son",
        "book a salon",
        "email Priya",
        "email Jürgen Müller",
        "update my résumé",
        "a café near the restaurant",
        "send a message",
        "list all users",
        "table reservation",
        "important information",
        "video conference",
        "do we have a plan for the train strike",
    ],
)
def test_english_stays_english_whatever_other_languages_have(question: str) -> None:
    assert languages(question) == []


def test_what_tools_have_is_not_taken_for_another_language() -> None:
    assert languages("kubectl pod", known="kubectl pod") == []


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("lade die Datei hoch", "upload file"),
        ("die Datei wurde hochgeladen", "upload file"),
        ("ohne die Dateien hochzuladen", "upload file"),
        ("stelle die Datenbank aus der Sicherung wieder her", "restore database backup"),
        ("weise das Ticket Mira zu", "assign ticket"),
        ("Rechnungsversand", "invoice send"),
        ("Rechnungs-Versand", "invoice send"),
        ("Kundenrechnungen suchen", "customer invoice search"),
        ("mein Lieblingslied abspielen", "song play"),
        ("loesche alle Ordner", "delete folder"),
        ("Loesche die Verträge", "delete contract"),
        ("Bücher verschicken", "book send"),
        ("Flug nach Berlin buchen", "flight book"),
        ("die E-Mails beantworten", "reply email"),
        ("ändere die Bildgröße", "size image update"),
        ("teile das Dokument mit Maria", "share document"),
        ("teile Maria den Termin mit", "notify appointment"),
        ("gib dem Kunden sein Geld zurück", "return money customer"),
        ("nimm den Termin an und sag Bescheid", "accept appointment"),
    ],
)
def test_german_is_understood_in_all_its_forms(question: str, expected: str) -> None:
    assert set(expected.split()) - english_of(question) == set(), translated(question)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("envíame las facturas por correo electrónico", "send invoice email"),
        ("borrando los archivos", "delete file"),
        ("supprimez les fichiers", "delete file"),
        ("envoyez-moi la pièce jointe", "send attachment"),
        ("mettre à jour l'arrière-plan", "update background"),
        ("파일을 보냈어요", "file send"),
        ("파일을 삭제해 주세요", "file delete"),
        ("회의일정을 추가해줘", "meeting schedule add"),
        ("把发票发给客户", "invoice send customer"),
        ("刪除這個檔案", "delete file"),
        ("請求書一覧", "invoice list"),
    ],
)
def test_other_languages_are_understood(question: str, expected: str) -> None:
    assert set(expected.split()) - english_of(question) == set(), translated(question)


TOOLS = [
    tool("get_un_data", "Data of the UN: el, un, der, les, die, des, que."),
    tool("send_email", "Send an email."),
    tool("list_de", "List de la el."),
]


@pytest.mark.parametrize(
    "talk",
    [
        "un perro ladró y nadie le oyó",
        "el castillo y la luna",
        "der Hund bellt und die Sonne scheint",
        "les oiseaux chantent dans le jardin",
        "un",
        "el",
        "der des",
    ],
)
def test_small_words_of_another_language_find_nothing(talk: str) -> None:
    assert ToolCatalog(TOOLS).search(talk) == []


@pytest.mark.parametrize("question", ["的", "를", "请帮我", "해주세요"])
def test_small_words_of_chinese_and_korean_find_nothing(question: str) -> None:
    tools = [tool("a", "这是的工具，请帮我发送"), tool("b", "파일을 를 해주세요"), tool("send_email", "Send an email.")]
    assert ToolCatalog(tools).search(question) == []


def test_a_word_of_the_question_that_stands_in_a_tool_counts_more_than_a_translation() -> None:
    tools = [tool("rechnung_senden", "Rechnung an Kunden senden."), tool("send_invoice", "Send an invoice."), tool("x")]
    assert [match.name for match in ToolCatalog(tools).search("Rechnung senden")][:2] == [
        "rechnung_senden",
        "send_invoice",
    ]


@pytest.mark.parametrize(
    ("question", "shown"),
    [
        ("schick die Rechnung ab", "rechnung→invoice"),
        ("envía la factura", "factura→invoice"),
        ("envoie la facture", "facture→invoice"),
        ("发送发票", "发票→invoice"),
        ("청구서를 보내줘", "청구서→invoice"),
        ("請求書を送って", "請求書→invoice"),
    ],
)
def test_a_match_shows_the_translation_in_each_language(question: str, shown: str) -> None:
    matches = ToolCatalog([tool("send_invoice"), tool("list_dogs")]).search(question)
    assert matches[0].name == "send_invoice"
    assert shown in matches[0].why["name"]


def test_words_of_another_language_are_no_misspelled_english() -> None:
    tools = [tool("list_houses", "List houses."), tool("send_email", "Send an email.")]
    assert ToolCatalog(tools).search("el hueso de la mesa") == []


def test_chinese_grammar_keeps_japanese_readings_out() -> None:
    assert "invoice" in english_of("請求書")
    assert "invoice" not in english_of("我的請求書")


@pytest.mark.parametrize(
    "talk",
    [
        "er ging ohne ein Wort über die Brücke im Nebel",
        "früher war das Brot besser, sagt mein Opa",
        "je crois qu'elle ne m'a jamais aimé",
        "il était une fois un roi",
        "nadie sabe adónde va el viento",
        "mi abuelo siempre fumaba en pipa",
        "그는 아무 말도 없이 떠났다",
        "하늘이 복숭아처럼 붉었다",
    ],
)
def test_what_is_told_in_another_language_needs_more_than_one_word_in_common(talk: str) -> None:
    tools = [
        tool("define_word", "The definition of a word."),
        tool("wind_speed", "Wind."),
        tool("x", "Sky, bread, pipe."),
    ]
    assert understand(talk, lambda word: False).is_statement
    assert [match for match in ToolCatalog(tools).search(talk) if getattr(match, "confident", True)] == []


@pytest.mark.parametrize(
    "request_text",
    [
        "leg eine Aufgabe an, die bis Freitag fällig ist",
        "ich möchte die Schuhe zurückgeben",
        "wie ist das Wetter",
        "Rechnung senden",
        "envoie un SMS à ma mère",
        "je voudrais poser un congé",
        "quel est le solde de mon compte",
        "quiero devolver estos zapatos",
        "el saldo de mi cuenta",
        "borra la página antigua",
        "이 신발을 반품하고 싶어요",
        "파일을 삭제해 주세요",
    ],
)
def test_a_request_in_another_language_is_not_taken_for_talk(request_text: str) -> None:
    assert not understand(request_text, lambda word: False).is_statement


def test_an_english_question_reads_no_other_glossary() -> None:
    lexicon.cache_clear()
    understand("please send the report to my boss and tell me when it is done", lambda word: False)
    assert lexicon.cache_info().currsize == 1
    understand("schick mir die Rechnung", lambda word: False)
    assert lexicon.cache_info().currsize == 2


def test_a_glossary_is_read_once() -> None:
    understand("請求書を送って", lambda word: False)
    before = lexicon.cache_info().misses
    understand("予定を追加して", lambda word: False)
    assert lexicon.cache_info().misses == before


def test_homographs_are_plain_words() -> None:
    assert all(re.fullmatch("[a-z]+", word) for word in homographs())


@given(st.text(alphabet=st.characters(codec="latin-1", categories=["L"]), min_size=1, max_size=30))
def test_a_word_is_its_own_first_base_and_bases_are_no_longer_than_it_by_more_than_an_ending(word: str) -> None:
    for language in ("en", *LATIN):
        forms = bases(plain_letters(word), language)
        assert forms[0] == plain_letters(word)
        assert all(len(form) <= len(plain_letters(word)) + 3 for form in forms)


@given(st.lists(st.sampled_from(sorted(lexicon("de").meanings)), min_size=1, max_size=8))
def test_any_german_is_read_without_fail(words: list[str]) -> None:
    heard = understand("der " + " ".join(words), lambda word: False)
    assert heard.foreign
