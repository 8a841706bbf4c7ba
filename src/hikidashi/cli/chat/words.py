"""What the chat says to the person who types, in English and Japanese."""

from __future__ import annotations

from dataclasses import dataclass

from ..output import Language

__all__ = ["WORDS", "Words"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Words:
    """The sentences of the chat in one language."""

    welcome: str
    help: str
    thinking: str
    using: str
    stopped: str
    leave: str
    bye: str
    no_tools: str
    what_to_search: str
    unknown_command: str
    forgotten: str
    resumed: str
    not_kept: str


WORDS: dict[Language, Words] = {
    "en": Words(
        welcome="Ask anything. /help lists the commands, Ctrl-C stops an answer, Ctrl-D leaves.",
        help="/tools          the tools the model may call\n"
        "/search QUERY   search the web yourself, without the model\n"
        "/clear          forget what was said\n"
        "/help           this list\n"
        "/quit           leave (Ctrl-D too)\n"
        "A line that ends with \\ goes on in the next one.",
        thinking="thinking …",
        using="{tool} …",
        stopped="Stopped. What was said so far is kept.",
        leave="Type /quit or press Ctrl-D to leave.",
        bye="Bye.",
        no_tools="The model has no tools. Enable `tools.web_search` in the config file to give it some.",
        what_to_search="What shall be searched? Type: /search QUERY",
        unknown_command="There is no command {command!r}. /help lists them.",
        forgotten="Forgotten.",
        resumed="Going on with {count} messages of the last conversation.",
        not_kept="The conversation cannot be kept: {reason}",
    ),
    "ja": Words(
        welcome="質問をどうぞ。/help でコマンド一覧、Ctrl-C で回答を中断、Ctrl-D で終了します。",
        help="/tools          モデルが使えるツールの一覧\n"
        "/search クエリ   モデルを使わずに自分でWeb検索する\n"
        "/clear          これまでの会話を忘れる\n"
        "/help           この一覧\n"
        "/quit           終了（Ctrl-D でも可）\n"
        "行末に \\ を付けると次の行に続けられます。",
        thinking="考えています…",
        using="{tool} を実行中…",
        stopped="中断しました。ここまでの会話は残っています。",
        leave="/quit または Ctrl-D で終了します。",
        bye="またどうぞ。",
        no_tools="モデルが使えるツールはありません。設定ファイルの `tools.web_search` を有効にしてください。",
        what_to_search="検索する言葉を入力してください: /search クエリ",
        unknown_command="{command!r} というコマンドはありません。/help で一覧を表示します。",
        forgotten="会話を忘れました。",
        resumed="前回の会話（{count}件のメッセージ）の続きです。",
        not_kept="会話を保存できません: {reason}",
    ),
}
