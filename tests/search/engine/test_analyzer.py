"""Texts become the terms of an index."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hikidashi.search.engine.analyzer import IRREGULAR, Analyzer, fold, is_request, name_key, spelling, stem


def terms(text: str) -> list[str]:
    return Analyzer().terms(text)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("get_user_data", ["get", "user", "data", "getuserdata"]),
        ("getUserData", ["get", "user", "data", "getuserdata"]),
        ("get-user-data", ["get", "user", "data", "getuserdata"]),
        ("api.users.list", ["api", "user", "list", "apiuserslist"]),
        ("parseHTMLPage", ["pars", "html", "page", "parsehtmlpage"]),
        ("GitHub", ["git", "hub", "github"]),
        ("e-mail", ["e", "mail", "email"]),
        ("covid19", ["covid", "19", "covid19"]),
        ("mp3 S3 b2b iOS IPv4 3D", ["mp3", "s3", "b2b", "ios", "ipv4", "3d"]),
        ("URLs and IDs", ["url", "id"]),
        ("mcp__server__create_the_issue", ["mcp", "server", "creat", "issu"]),
        ("...", []),
        ("", []),
    ],
)
def test_names_are_split_at_separators_case_and_digits_and_short_ones_kept_whole(
    written: str, expected: list[str]
) -> None:
    assert terms(written) == expected


def test_function_words_are_left_out() -> None:
    assert terms("The weather of a city, and what is in it.") == ["weath", "citi"]


@pytest.mark.parametrize(
    "family",
    [
        "create creates created creating creation",
        "message messages",
        "translate translates translating translation translator",
        "calculate calculation calculator calculating",
        "notify notifies notification",
        "organize organise organization organisation organizing",
        "search searches searching searched",
        "plan plans planned planning",
        "play plays playing played",
        "convert converts converter converting converted",
        "city cities",
        "send sends sent sending",
        "delete deletes deleted deleting deletion",
        "box boxes",
        "process processes processing processed",
        "child children",
    ],
)
def test_forms_of_a_word_share_a_stem(family: str) -> None:
    assert len({stem(word) for word in family.split()}) == 1, {word: stem(word) for word in family.split()}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("user", "use"),
        ("flower", "flow"),
        ("number", "numb"),
        ("center", "cent"),
        ("news", "newt"),
        ("general", "generate"),
        ("bus", "bu"),
        ("status", "state"),
    ],
)
def test_different_words_keep_different_stems(one: str, other: str) -> None:
    assert stem(one) != stem(other)


@given(st.text(alphabet=st.characters(codec="ascii", categories=["Ll"]), min_size=1, max_size=20))
def test_a_stem_is_never_empty_and_hardly_longer_than_its_word(word: str) -> None:
    assert stem(word)
    assert word in IRREGULAR or len(stem(word)) <= len(word) + 1  # an abbreviation stands for its word


def test_an_abbreviation_has_the_stem_of_its_word() -> None:
    assert stem("qty") == stem("quantity")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("検索", ["検索"]),
        ("請求書", ["請求", "求書"]),
        ("本", ["本"]),
        ("メール送信", ["メー", "ール", "送信"]),
        ("メールを送信してください", ["メー", "ール", "送信"]),
        ("天气预报", ["天气", "气预", "预报"]),
        ("날씨 검색", ["날씨", "검색"]),
        ("고객에게", ["고객", "객에", "에게"]),
        ("สภาพ", ["สภา", "ภาพ"]),
        ("ＡＢＣ株式", ["abc", "株式"]),
        ("Slackにメッセージ", ["slack", "メッ", "ッセ", "セー", "ージ"]),
    ],
)
def test_scripts_without_spaces_become_overlapping_pairs_or_threes(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("Café", "cafe"), ("ＣＡＦＥ", "cafe"), ("Straße", "strasse"), ("ŁÓDŹ", "łodz"), ("が", "が")],
)
def test_folding_evens_out_width_case_and_diacritics_but_not_letters(text: str, expected: str) -> None:
    assert fold(text) == expected


def test_words_of_other_alphabets_are_kept_whole() -> None:
    assert terms("отправить сообщение") == ["отправить", "сообщение"]
    assert terms("संदेश भेजें") == ["संदेश", "भेजें"]


@given(st.text(max_size=60))
def test_any_text_gives_terms_without_spaces_and_case(text: str) -> None:
    for term in terms(text):
        assert term
        assert term == term.casefold()
        assert not any(letter.isspace() for letter in term)


@given(st.text(max_size=60))
@example("0:\u09b1")
@example("\u3099 \u0e31")
def test_sources_are_the_terms_once_each_in_order(text: str) -> None:
    assert list(Analyzer().sources(text)) == list(dict.fromkeys(terms(text)))


@given(st.lists(st.sampled_from(["get", "user", "data", "mail", "list"]), min_size=1, max_size=4))
def test_every_spelling_of_a_name_has_one_key(words: list[str]) -> None:
    camel = words[0] + "".join(word.title() for word in words[1:])
    spellings = {"_".join(words), "-".join(words), ".".join(words), " ".join(words).title(), camel}
    assert {name_key(spelled) for spelled in spellings} == {"".join(words)}


def test_a_term_is_spelled_as_its_text_has_it() -> None:
    assert spelling("messag", "getMessages") == "messages"
    assert spelling("送信", "送信") == "送信"


def test_phrases_of_asking_are_told_from_wishes() -> None:
    assert is_request(stem("please"))
    assert not is_request(stem("weather"))


def test_an_analyzer_forgets_when_it_has_met_too_many_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hikidashi.search.engine.analyzer._REMEMBERED", 2)
    analyzer = Analyzer()
    assert analyzer.terms("alpha beta gamma delta") == ["alpha", "beta", "gamma", "delta"]
    assert len(analyzer) <= 2
