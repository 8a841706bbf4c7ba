"""The text of pages in any encoding, whatever their servers say."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hikidashi.web.pages.decode import decode_iso2022jp, decode_page

JAPANESE = "<title>引き出し</title><p>道具はいつもの場所にあります。使うときだけ、取り出します。カタカナも。"
WINDOWS = "①㈱髙﨑ｱｲｳ～"
FRENCH = "Une étude où l'été à Noël a été très agréable, déjà"


@pytest.mark.parametrize("declared", [None, "utf-8", "Shift_JIS", "euc-jp", "iso-8859-1", "nonsense", "zip", "rot13"])
@pytest.mark.parametrize("encoding", ["utf-8", "cp932", "euc_jp", "iso2022_jp", "utf-16", "utf-16-le", "utf-16-be"])
def test_japanese_is_read_whatever_the_server_says(encoding: str, declared: str | None) -> None:
    assert decode_page(JAPANESE.encode(encoding), declared) == JAPANESE


@pytest.mark.parametrize("declared", [None, "utf-8", "latin-1", "shift_jis", "us-ascii"])
@pytest.mark.parametrize("encoding", ["utf-8", "cp1252"])
def test_french_is_read_whatever_the_server_says(encoding: str, declared: str | None) -> None:
    assert decode_page(FRENCH.encode(encoding), declared) == FRENCH


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("Дом и сад у реки", "windows-1251"),
        ("Дом и сад у реки", "koi8-r"),
        ("ελληνικά κείμενα", "iso-8859-7"),
        ("ภาษาไทย", "tis-620"),
        ("你好世界，今天天气很好", "gb2312"),
        ("繁體中文的網頁", "big5"),
        ("안녕하세요 세계", "euc-kr"),
        ("Příliš žluťoučký kůň", "windows-1250"),
        (WINDOWS, "x-sjis"),
        (WINDOWS, "Windows-31J"),
    ],
)
def test_an_encoding_that_is_declared_and_fits_is_used(text: str, label: str) -> None:
    body = text.encode({"x-sjis": "cp932", "Windows-31J": "cp932"}.get(label, label))
    assert decode_page(body, label) == text
    meta = b'<meta http-equiv="Content-Type" content="text/html; charset=' + label.encode() + b'">'
    assert decode_page(meta + body) == meta.decode() + text


@pytest.mark.parametrize(
    "head",
    [
        "<meta charset=utf-16>",
        "<META CHARSET='UTF-8'>",
        '<?xml version="1.0" encoding="utf-8"?>',
        '<meta content="text/html; charset=euc-jp" http-equiv=content-type>',
    ],
)
def test_what_the_page_says_of_itself_does_not_mislead(head: str) -> None:
    assert decode_page((head + JAPANESE).encode()) == head + JAPANESE


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
    ],
)
def test_a_byte_order_mark_wins_over_everything(mark: bytes, encoding: str) -> None:
    assert decode_page(mark + JAPANESE.encode(encoding), "shift_jis") == JAPANESE


def test_a_few_broken_bytes_do_not_change_the_encoding() -> None:
    decoded = decode_page(JAPANESE.encode() + b"\xff" + "終わり".encode()[:-1], "utf-8")
    assert decoded.startswith(JAPANESE)


def test_iso_2022_jp_keeps_the_characters_of_windows_and_survives_forgotten_escapes() -> None:
    body = b'<p>\x1b$B-!-j\x1b(B <b>\x1b(I1\x1b(B</b>\x1b$(D0!\x1b(B\x1b$B$"\n$$'
    assert decode_page(body) == "<p>①㈱ <b>ｱ</b>丂あ\nい"
    assert decode_page(b'\x1b$B$"$') == "あ\ufffd"


japanese_words = st.text(
    st.sampled_from(
        "あいうえおかきくけこさしすせそたちつてとのはまみもやゆよらりるれろわをんアイウエオカタナ日本語道具引出場所使時取見人々。、「」ー"
    )
)


@given(text=japanese_words, encoding=st.sampled_from(["utf-8", "cp932", "euc_jp", "iso2022_jp", "utf-16"]))
@example(text="々", encoding="euc_jp")
def test_declared_japanese_comes_back_unchanged(text: str, encoding: str) -> None:
    label = {"cp932": "shift_jis"}.get(encoding, encoding)
    assert decode_page(text.encode(encoding), label) == text


@given(
    text=japanese_words.filter(lambda text: len(text) > 8), encoding=st.sampled_from(["utf-8", "cp932", "iso2022_jp"])
)
def test_undeclared_japanese_comes_back_unchanged(text: str, encoding: str) -> None:
    assert decode_page(f"<p>{text}</p>".encode(encoding)) == f"<p>{text}</p>"


@given(st.text())
def test_utf8_comes_back_unchanged(text: str) -> None:
    body = text.encode("utf-8", "ignore")
    assert decode_page(codecs.BOM_UTF8 + body) == body.decode()


@given(
    st.binary(max_size=400), st.none() | st.sampled_from(["utf-8", "shift_jis", "euc-jp", "utf-16", "latin1", "hex"])
)
def test_any_bytes_give_some_text(body: bytes, charset: str | None) -> None:
    decoded = decode_page(body, charset)
    assert not body.isascii() or b"\x1b" in body or b"\x00" in body or decoded == body.decode()


@given(st.binary(max_size=200).map(lambda data: b"\x1b$B" + bytes(byte & 0x7F for byte in data)))
def test_any_bytes_after_an_escape_give_some_text(body: bytes) -> None:
    assert isinstance(decode_iso2022jp(body), str)
