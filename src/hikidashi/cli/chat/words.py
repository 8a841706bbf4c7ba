"""The texts of the chat, in English and Japanese."""

from __future__ import annotations

from dataclasses import dataclass

from ..output import Language

__all__ = ["WORDS", "Words"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Words:
    """The texts in one language."""

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
    started_new: str
    not_forgotten: str
    resumed: str
    nothing_to_resume: str
    not_kept: str
    sources: str
    no_conversations: str
    deleted: str


WORDS: dict[Language, Words] = {
    "en": Words(
        welcome="Ask anything. /help lists the commands, Ctrl-C stops an answer, Ctrl-D leaves.",
        help="/tools          the tools the model may call\n"
        "/search QUERY   search the web yourself, without the model\n"
        "/new            start a new conversation; this one stays saved\n"
        "/clear          delete this conversation, and its saved copy\n"
        "/help           this list\n"
        "/quit           leave (Ctrl-D too)\n"
        "Alt-Enter, or \\ at the end of a line, begins a new line; pasted lines are one question.\n"
        "Ctrl-X Ctrl-E opens $EDITOR; arrow keys bring back what was typed, Ctrl-R searches it.",
        thinking="thinking …",
        using="{tool} …",
        stopped="Stopped. The answer so far is kept.",
        leave="Type /quit or press Ctrl-D to leave.",
        bye="Bye.",
        no_tools="The model has no tools. Enable `tools.web_search` in the config file to give it some.",
        what_to_search="Nothing to search for. Type: /search QUERY",
        unknown_command="There is no command {command!r}. /help lists them.",
        forgotten="Forgotten.",
        started_new="New conversation. The last one is saved as {name}.",
        not_forgotten="The saved conversation cannot be deleted: {reason}",
        resumed="Continuing {name} ({count} messages).",
        nothing_to_resume="There is no saved conversation, so this is a new one.",
        not_kept="The conversation cannot be saved: {reason}",
        sources="Sources",
        no_conversations="No conversation is saved.",
        deleted="{name} is deleted.",
    ),
    "ja": Words(
        welcome="質問をどうぞ。/help でコマンド一覧、Ctrl-C で回答を中断、Ctrl-D で終了します。",
        help="/tools          モデルが使えるツールの一覧\n"
        "/search クエリ   モデルを使わずに自分でWeb検索する\n"
        "/new            新しい会話を始める（今の会話は残る）\n"
        "/clear          これまでの会話を忘れ、保存した内容も消す\n"
        "/help           この一覧\n"
        "/quit           終了（Ctrl-D でも可）\n"
        "Alt-Enter または行末の \\ で改行します。貼り付けた複数行は一つの質問になります。\n"
        "Ctrl-X Ctrl-E で $EDITOR を開きます。矢印キーで履歴、Ctrl-R で履歴検索。",
        thinking="考えています…",
        using="{tool} を実行中…",
        stopped="中断しました。ここまでの会話は残っています。",
        leave="/quit または Ctrl-D で終了します。",
        bye="またどうぞ。",
        no_tools="モデルが使えるツールはありません。設定ファイルの `tools.web_search` を有効にしてください。",
        what_to_search="検索する言葉を入力してください: /search クエリ",
        unknown_command="{command!r} というコマンドはありません。/help で一覧を表示します。",
        forgotten="会話を忘れました。",
        started_new="新しい会話を始めます。前の会話は {name} として残っています。",
        not_forgotten="保存した会話を消せません: {reason}",
        resumed="{name}（{count}件のメッセージ）の続きです。",
        nothing_to_resume="続ける会話がないので、新しい会話を始めます。",
        not_kept="会話を保存できません: {reason}",
        sources="出典",
        no_conversations="保存された会話はありません。",
        deleted="{name} を削除しました。",
    ),
}
