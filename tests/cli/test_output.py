"""Consoles, errors, the language, and line breaks in English and Japanese."""

from __future__ import annotations

import errno
import io
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.text import Text

from hikidashi.cli import output
from hikidashi.cli.output import wrapped, wrapped_at_spaces


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("one two three", 7, ["one two", "three"]),
        ("one two three", 80, ["one two three"]),
        ("abcdefgh", 3, ["abc", "def", "gh"]),
        ("今日は雨です", 6, ["今日は", "雨です"]),
        ("今日は雨。明日", 8, ["今日は", "雨。明日"]),
        ("彼は「はい」と", 6, ["彼は", "「は", "い」と"]),
        ("use the 引き出し now", 12, ["use the 引き", "出し now"]),
        ("/usr/local/bin", 8, ["/usr/", "local/", "bin"]),
        ("a\n\nb", 5, ["a", "", "b"]),
        ("", 5, [""]),
    ],
)
def test_lines_break_where_a_reader_expects_it(text: str, width: int, lines: list[str]) -> None:
    assert [line.plain for line in wrapped(Text(text), width)] == lines


def test_styles_survive_the_break() -> None:
    first, second = wrapped(Text.assemble(("red", "red"), " ", ("blue", "blue")), 4)
    assert [(line.plain, [span.style for span in line.spans]) for line in (first, second)] == [
        ("red", ["red"]),
        ("blue", ["blue"]),
    ]


@given(st.text(alphabet="ab /。「雨ー\n", max_size=60), st.integers(2, 20))
def test_no_line_is_too_wide_and_no_letter_is_lost(text: str, width: int) -> None:
    lines = [line.plain for line in wrapped(Text(text), width)]
    assert all(cell_len(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace("\n", "").replace(" ", "")


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("one two three", 7, ["one two", "three"]),
        ("see /usr/local/bin here", 8, ["see", "/usr/local/bin", "here"]),
        ("  /usr/local/bin", 8, ["  /usr/local/bin"]),
        ("今日は雨です と", 6, ["今日は雨です", "と"]),
        ("a  \n\nb", 5, ["a  ", "", "b"]),
        ("", 5, [""]),
    ],
)
def test_words_stay_whole_where_lines_end_at_spaces(text: str, width: int, lines: list[str]) -> None:
    assert [line.plain for line in wrapped_at_spaces(Text(text), width)] == lines


@given(st.text(st.sampled_from("ab 語/"), max_size=60), st.integers(1, 20))
def test_lines_that_end_at_spaces_lose_no_word_and_are_too_long_only_for_one(text: str, width: int) -> None:
    lines = [line.plain for line in wrapped_at_spaces(Text(text), width)]
    assert " ".join(lines).split() == text.split()
    assert [line for line in lines if cell_len(line.rstrip()) > width and len(line.split()) > 1] == []


@pytest.mark.parametrize(
    ("environment", "language"),
    [
        ({}, "en"),
        ({"LANG": "ja_JP.UTF-8"}, "ja"),
        ({"LANG": "ja_JP.UTF-8", "LC_ALL": "C"}, "en"),
        ({"LANG": "de_DE.UTF-8", "LC_MESSAGES": "ja_JP"}, "ja"),
        ({"LANG": "ja_JP.UTF-8", "LC_ALL": ""}, "ja"),
    ],
)
def test_the_language_is_read_as_gettext_reads_it(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], language: str
) -> None:
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert output.language_of_environment() == language


def test_a_reader_who_is_gone_is_an_ordinary_error(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone(io.StringIO):
        def write(self, text: str, /) -> int:
            raise BrokenPipeError(len(text))

    monkeypatch.setattr(sys, "stdout", Gone())
    with pytest.raises(BrokenPipeError) as caught:
        output.stdout().print("Anybody there?")
    assert caught.value.errno == errno.EPIPE


def test_lines_stay_readable_on_a_wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert output.stdout().width == 100
    monkeypatch.setenv("COLUMNS", "80")
    assert output.stdout().width == 80


def test_an_error_is_one_line_also_when_its_text_has_several(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_error(ValueError("it [bold]broke[/bold]\n  in two"))
    assert capsys.readouterr().err == "error: it [bold]broke[/bold] in two\n"
