"""Texts and questions as the full-text engine sees them, checked on the engine itself."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikidashi.web.words import TOKENIZER, indexed, run_term, spelled, terms_of


def letters(question: str) -> list[str]:
    return [term.letters for term in terms_of(question)]


@pytest.fixture(scope="module")
def engine() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:")
    connection.execute(f'CREATE VIRTUAL TABLE words USING fts5(body, content="", tokenize="{TOKENIZER}")')
    yield connection
    connection.close()


def finds(engine: sqlite3.Connection, text: str, question: str) -> bool:
    engine.execute("INSERT INTO words(words) VALUES ('delete-all')")
    engine.execute("INSERT INTO words(rowid, body) VALUES (1, ?)", (indexed(text),))
    asked = " AND ".join(term.expression for term in terms_of(question))
    return bool(engine.execute("SELECT rowid FROM words WHERE words MATCH ?", (asked,)).fetchall())


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("The drawers were stuck.", "drawer"),
        ("Installing packages", "how do I install a package?"),
        ("Call getUserName() first.", "user name"),
        ("Call getUserName() first.", "getUserName"),
        ("Café au lait", "cafe"),
        ("東京都の天気", "天気"),
        ("東京都の天気", "東京"),
        ("木の引き出しを直す", "引き出しの直し方"),
        ("データベースサーバーを再起動", "サーバー"),
        ("レジを閉める", "レジ"),
        ("ｻｰﾊﾞｰの設定", "サーバー"),
        ("鍵を失くした", "鍵"),
        ("最後は鍵", "鍵"),
        ("おすすめの店", "おすすめ"),
        ("数据库的备份", "备份"),
        ("도서관에서 책을 읽다", "도서관은"),
        ("ลิ้นชักไม้ในห้องครัว", "ลิ้นชัก"),
        ("हिन्दी में लिखा", "हिन्दी"),
        ("Код программы", "программы"),
        ("version 3.11 of Python", "python 3.11"),
    ],
)
def test_a_text_is_found_by_its_words(engine: sqlite3.Connection, text: str, question: str) -> None:
    assert finds(engine, text, question)


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("東京都の天気", "京都府"),
        ("東の空と京の町", "東京"),
        ("サーバー", "サバ"),
        ("artist", "art"),
        ("鍵盤楽器", "楽鍵"),
    ],
)
def test_a_text_is_not_found_by_letters_that_happen_to_be_in_it(
    engine: sqlite3.Connection, text: str, question: str
) -> None:
    assert not finds(engine, text, question)


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("How do I repair a drawer?", ["repair", "drawer"]),
        ("経費精算の期限はいつですか？", ["経費精算", "期限"]),
        ("プリンターが動かなくなった", ["プリンター", "動"]),
        ("取り扱い説明書", ["取り扱い説明書"]),
        ("なぜひらがなですか", ["ひらが"]),
        ("Pythonの非同期処理とは", ["Python", "非同期処理"]),
        ("バックアップの方法を教えてください", ["バックアップ"]),
        ("drawer drawer", ["drawer"]),
        ("about", ["about"]),
        ("what is the", ["what"]),
        ("?!", []),
        ("です", []),
    ],
)
def test_a_question_is_about_its_telling_words(question: str, found: list[str]) -> None:
    assert letters(question) == found


@given(st.text())
def test_every_question_is_an_expression_that_the_engine_takes(question: str) -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute(f'CREATE VIRTUAL TABLE words USING fts5(body, tokenize="{TOKENIZER}")')
    for term in terms_of(question):
        connection.execute("SELECT rowid FROM words WHERE words MATCH ?", (term.expression,)).fetchall()
    connection.close()


@pytest.mark.parametrize(
    "question",
    ['"unclosed', "a AND (b", "title:secret", "NEAR(a b, 3)", "-minus", "col : x*", "^start", "a\0b", "'; DROP"],
)
def test_nothing_in_a_question_is_syntax(engine: sqlite3.Connection, question: str) -> None:
    assert finds(engine, question, question)


@given(st.text(st.characters(categories=["Lu", "Ll", "Lo", "Lm", "Nd", "Zs", "Po"]), min_size=1))
def test_a_text_is_found_by_itself(text: str) -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute(f'CREATE VIRTUAL TABLE words USING fts5(body, tokenize="{TOKENIZER}")')
    connection.execute("INSERT INTO words VALUES (?)", (indexed(text),))
    for term in terms_of(text):
        # The engine itself folds a letter here and there to a separator; what it keeps must be found.
        tokens = connection.execute("SELECT count(*) FROM words WHERE words MATCH ?", (term.expression,)).fetchone()
        assert tokens == (1,) or not _engine_keeps(term.letters)
    connection.close()


def _engine_keeps(text: str) -> bool:
    connection = sqlite3.connect(":memory:")
    connection.execute(f'CREATE VIRTUAL TABLE words USING fts5(body, tokenize="{TOKENIZER}")')
    connection.execute("CREATE VIRTUAL TABLE seen USING fts5vocab('words', 'row')")
    connection.execute("INSERT INTO words VALUES (?)", (text,))
    kept = [term for (term,) in connection.execute("SELECT term FROM seen")]
    connection.close()
    return kept == [text.lower()]


def test_a_question_without_end_is_no_trouble() -> None:
    assert letters("です" * 5_000 + "引き出し" * 2) == ["引き出し引き出"]


def test_lone_surrogates_are_no_letters() -> None:
    assert letters("drawer\ud800") == ["drawer"]


@pytest.mark.parametrize(
    ("word", "text"), [("created", "creating a file"), ("drawers", "The Drawer"), ("引き出し", "木の引き出し")]
)
def test_a_term_is_recognised_as_people_spell_it(word: str, text: str) -> None:
    (term,) = terms_of(word)
    assert spelled(term).search(text)


def test_a_word_is_recognised_only_where_it_begins() -> None:
    (term,) = terms_of("art")
    assert not spelled(term).search("a smart cart")
    assert spelled(run_term("出し")).search("引き出し")
