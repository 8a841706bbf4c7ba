"""The texts of the bot itself, in Japanese and English."""

from __future__ import annotations

from dataclasses import dataclass

from ...texts import Language

__all__ = ["WAITING", "Language", "Words", "words_in"]

WAITING = ":hourglass_flowing_sand:"
"""Marks the status line at the end of an unfinished answer."""


@dataclass(frozen=True, kw_only=True)
class Words:
    """The texts of the bot, in mrkdwn."""

    thinking: str
    tool: str
    tool_with: str
    tool_failed: str
    nothing_asked: str
    no_answer: str
    failed: str
    timed_out: str
    stopped: str
    interrupted: str
    sources: str
    history_unreadable: str


_JA = Words(
    thinking="考えています…",
    tool="`{name}` を使っています…",
    tool_with="`{name}` を使っています: {about}",
    tool_failed="`{name}` がうまくいきませんでした。続けます…",
    nothing_asked="お呼びですか？ 質問を続けて書いてください。",
    no_answer="答えが返りませんでした。言い方を変えてもう一度お試しください。",
    failed="エラーのため答えられませんでした。しばらくしてからもう一度お試しください。",
    timed_out="{seconds:.0f} 秒以内に答えがまとまりませんでした。質問を短く分けてお試しください。",
    stopped="ボットが停止したため、ここまでです。もう一度お尋ねください。",
    interrupted="ボットが途中で止まったため、答えられませんでした。もう一度お尋ねください。",
    sources="出典",
    history_unreadable="スレッドのこれまでの発言を読めなかったので、最後の発言だけに答えています。{remedy}",
)

_EN = Words(
    thinking="Thinking…",
    tool="Using `{name}`…",
    tool_with="Using `{name}`: {about}",
    tool_failed="`{name}` failed. Continuing…",
    nothing_asked="You called? Write your question after my name.",
    no_answer="There was no answer. Please rephrase the question.",
    failed="Something went wrong and there is no answer. Please try again in a moment.",
    timed_out="There was no answer within {seconds:.0f} seconds. Please ask in smaller steps.",
    stopped="The bot was stopped before the answer was complete. Please ask again.",
    interrupted="The bot crashed before this was answered. Please ask again.",
    sources="Sources",
    history_unreadable="I could not read this thread, so I answer its last message alone. {remedy}",
)


def words_in(language: Language) -> Words:
    """The texts in `language`."""
    return _JA if language == "ja" else _EN
