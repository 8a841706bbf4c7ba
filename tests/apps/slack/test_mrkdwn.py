"""Markdown to Slack's mrkdwn and back, and long answers in several messages."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hikidashi.apps.slack.mrkdwn import escape, markdown_of, split_message, text_of, to_mrkdwn, unescape

NAMES = {"U0HANAKO": "Hanako"}


@pytest.mark.parametrize(
    ("markdown", "mrkdwn"),
    [
        ("**bold** and __bold__", "*bold* and *bold*"),
        ("*italic* and _italic_", "_italic_ and _italic_"),
        ("***both***", "*_both_*"),
        ("~~gone~~", "~gone~"),
        ("**bold with *italic* in it**", "*bold with _italic_ in it*"),
        ("これは**重要**です", "これは\u200b*重要*\u200bです"),
        ("これは、**重要**。", "これは、*重要*。"),
        ("snake_case_name and 2 * 3 * 4", "snake_case_name and 2 * 3 * 4"),
        (r"\*not italic\*", "*not italic*"),
        ("a < b && c > d", "a &lt; b &amp;&amp; c &gt; d"),
        ("AT&amp;T", "AT&amp;T"),
        ("one<br>two<br/>three", "one\ntwo\nthree"),
        ("# Heading", "*Heading*"),
        ("### A **bold** heading ##", "*A bold heading*"),
        ("# 2 * 3", "2 * 3"),
        ("#hashtag", "#hashtag"),
        ("- one\n* two\n+ three", "• one\n• two\n• three"),
        ("- one\n  - inner", "• one\n  • inner"),
        ("- [ ] open\n- [x] done", "☐ open\n☑ done"),
        ("1. first\n2. second", "1. first\n2. second"),
        ("> said **loudly**\n>\n> - point", "> said *loudly*\n>\n> • point"),
        ("---", "────────────"),
        ("[text](https://a.example/?x=1&y=2)", "<https://a.example/?x=1&amp;y=2|text>"),
        ('[text](https://a.example "title")', "<https://a.example|text>"),
        ("[**bold** | text](https://a.example)", "<https://a.example|bold ¦ text>"),
        ("[wiki](https://a.example/A_(b))", "<https://a.example/A_(b)|wiki>"),
        ("[https://a.example](https://a.example)", "<https://a.example>"),
        ("[](https://a.example)", "<https://a.example>"),
        ("![picture](https://a.example/a.png)", "<https://a.example/a.png|picture>"),
        ("[mail](mailto:a@b.example)", "<mailto:a@b.example|mail>"),
        ("<https://a.example>", "<https://a.example>"),
        ("https://a.example/a_b_c*d*", "https://a.example/a_b_c*d*"),
        ("詳しくは https://a.example/x。次", "詳しくは https://a.example/x。次"),
        ("`code <b> & *c*`", "`code &lt;b&gt; &amp; *c*`"),
        ("`` a`b ``", "`aˋb`"),
        ("```python\nx = '**' < 1\n```", "```\nx = '**' &lt; 1\n```"),
        ("1. so:\n    ```sh\n    ls\n      -l\n    ```\n2. then", "1. so:\n```\nls\n  -l\n```\n2. then"),
        ("~~~\na\n~~~", "```\na\n```"),
        ("````\n```\n````", "```\n`\u200b``\n```"),
        ("```\nnot closed yet", "```\nnot closed yet\n```"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("| 名前 | n |\n|---|--:|\n| **東京** | 1 |\n| x |\n\nend", "```\n名前  n\n----  -\n東京  1\nx\n```\n\nend"),
        ("| a \\| b |\n|---|\n| c |", "```\na | b\n-----\nc\n```"),
        ("no | table", "no | table"),
        ("", ""),
    ],
)
def test_markdown_becomes_mrkdwn(markdown: str, mrkdwn: str) -> None:
    assert to_mrkdwn(markdown) == mrkdwn


@pytest.mark.parametrize(
    "markdown",
    ["[all](!channel)", "<!everyone>", "<@U0HANAKO>", "[x](@U0HANAKO)", "[run](javascript:x)", "![a](#C0GENERAL)"],
)
def test_no_answer_can_call_people_or_link_to_anything_but_the_web(markdown: str) -> None:
    assert "<" not in to_mrkdwn(markdown)


@given(st.text(alphabet=st.sampled_from("ab 語*_~`[]()<>|!#&;-\\:/.h\n1") | st.characters(codec="utf-8"), max_size=300))
@example("[a](https://x|y<z>)")
@example("<https://a><!channel>")
def test_every_angle_bracket_is_a_link_of_ours(markdown: str) -> None:
    mrkdwn = to_mrkdwn(markdown)
    links = re.findall(r"<((?:https?://|mailto:)[^<>|\s]+)(?:\|[^<>|\n]+)?>", mrkdwn, re.IGNORECASE)
    quotes = sum(line.startswith(">") for line in mrkdwn.split("\n"))
    assert mrkdwn.count("<") == len(links)
    assert mrkdwn.count(">") <= len(links) + quotes * mrkdwn.count(">")
    assert not re.search(r"&(?!amp;|lt;|gt;)", mrkdwn)


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\r\u200b"), max_size=200))
def test_code_is_kept_to_the_letter(code: str) -> None:
    block = to_mrkdwn(f"~~~~~~\n{code}\n~~~~~~") if "~~~~~~" not in code else f"```\n{escape(code)}\n```"
    assert unescape(block.removeprefix("```\n").removesuffix("\n```")).replace("\u200b", "") == code


@given(st.text(alphabet="abc 語句、。!?123.,'", max_size=200))
def test_plain_words_stay_as_they_are(text: str) -> None:
    assert unescape(to_mrkdwn(text)) == text or re.search(r"(?m)^ *\d+\.", text)


@given(st.text(max_size=300))
def test_escaping_can_be_undone(text: str) -> None:
    assert unescape(escape(text)) == text


def test_marks_inside_marks_are_kept_five_deep() -> None:
    assert to_mrkdwn("**~~__*_x < y_*__~~**") == "*~*__x &lt; y__*~*"


@pytest.mark.parametrize(
    "unclosed", ["**a ", "*a ", "__a ", "_a ", "~~a ", "`a ``b ", "[a", "[a](", "<https://a", "a***"]
)
def test_marks_that_nobody_closes_do_not_take_long(unclosed: str) -> None:
    markdown = unclosed * 5_000
    assert len(to_mrkdwn(markdown)) >= len(markdown) / 2


@pytest.mark.parametrize(
    ("mrkdwn", "markdown"),
    [
        ("*bold* _italic_ ~gone~", "**bold** *italic* ~~gone~~"),
        ("これは\u200b*重要*\u200bです", "これは**重要**です"),
        (
            "<https://a.example/?x=1&amp;y=2|text> &amp; <https://b.example>",
            "[text](https://a.example/?x=1&y=2) & https://b.example",
        ),
        ("• one\n  • inner", "- one\n  - inner"),
        ("`a *b* &lt;`", "`a *b* <`"),
        ("```\n*a* &lt; _b_\n```\n*c*", "```\n*a* < _b_\n```\n**c**"),
        ("2 * 3 * 4 and snake_case_name", "2 * 3 * 4 and snake_case_name"),
    ],
)
def test_what_the_bot_wrote_is_markdown_again(mrkdwn: str, markdown: str) -> None:
    assert markdown_of(mrkdwn) == markdown


@pytest.mark.parametrize(
    ("mrkdwn", "text"),
    [
        ("<@U0HANAKO> and <@U0OTHER> and <@U0OTHER|taro>", "@Hanako and @U0OTHER and @taro"),
        ("<#C0GENERAL|general> <!here> <!subteam^S0TEAM|@team>", "#general @here @team"),
        ("<https://a.example|the page> <https://b.example>", "the page (https://a.example) https://b.example"),
        ("a &lt;b&gt; &amp;amp; *c*", "a <b> &amp; *c*"),
    ],
)
def test_what_people_wrote_reads_as_they_see_it(mrkdwn: str, text: str) -> None:
    assert text_of(mrkdwn, NAMES) == text


def test_a_short_answer_is_one_message() -> None:
    assert split_message("short\n\nanswer") == ["short\n\nanswer"]


def test_a_long_answer_is_cut_between_paragraphs() -> None:
    assert split_message("aaaa aaaa\naaaa\n\nbbbb\nbbbb", 20) == ["aaaa aaaa\naaaa", "bbbb\nbbbb"]


def test_a_long_line_is_cut_after_a_sentence() -> None:
    assert split_message("一つ目の文です。二つ目の文です。三つ目の文です。", 30) == [
        "一つ目の文です。二つ目の文です。",
        "三つ目の文です。",
    ]


def test_a_code_block_that_is_cut_is_closed_and_opened_again() -> None:
    assert split_message("```\n1111111\n2222222\n3333333\n```", 24) == [
        "```\n1111111\n2222222\n```",
        "```\n3333333\n```",
    ]


def test_a_code_block_that_fits_into_the_next_message_moves_there_whole() -> None:
    assert split_message("text text text\n```\n1111\n2222\n```", 26) == ["text text text", "```\n1111\n2222\n```"]


def test_a_code_block_that_was_only_just_opened_leaves_no_empty_one_behind() -> None:
    assert split_message("text\n```\n" + "1" * 20 + "\n```", 28) == ["text", "```\n" + "1" * 20 + "\n```"]


def test_a_link_and_an_escaped_sign_are_not_torn() -> None:
    line = "x" * 15 + "<https://a.example/path|text>" + "&amp;" * 10
    parts = split_message(line, 40)
    assert "".join(parts) == line
    assert parts[0] == "x" * 15
    assert all(re.fullmatch(r"(?:[^&]|&amp;)*", part) for part in parts)


def test_a_line_is_not_cut_at_a_space_inside_a_link() -> None:
    line = "x" * 10 + "<https://a.example|a b c d e>" + "y" * 20
    assert split_message(line, 40) == ["x" * 10, "<https://a.example|a b c d e>yyy", "y" * 17]


def test_nothing_is_no_message() -> None:
    assert split_message(" \n\n ") == []


LINES = st.lists(st.sampled_from(["```", "", "word", "a longer line of words", "x" * 30, "語" * 50]), max_size=60)


@given(LINES, st.integers(min_value=40, max_value=200))
def test_every_part_fits_and_nothing_is_lost(lines: list[str], limit: int) -> None:
    parts = split_message("\n".join(lines), limit)
    assert all(0 < len(part) <= limit for part in parts)
    assert all(part.split("\n").count("```") % 2 == 0 for part in parts)
    assert _letters("\n".join(parts)) == _letters("\n".join(lines))


@given(st.text(max_size=2_000), st.integers(min_value=20, max_value=120))
def test_any_text_can_be_split(text: str, limit: int) -> None:
    assert all(0 < len(part) <= limit for part in split_message(to_mrkdwn(text), limit))


def _letters(text: str) -> str:
    return re.sub(r"```|\s", "", text)
