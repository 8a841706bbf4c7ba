"""Every sentence of the tour, in English and in Japanese."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..output import Language

__all__ = ["WORDS", "Words"]


@dataclass(frozen=True, kw_only=True)
class Words:
    """The tour in one language."""

    # The frame
    subtitle: str
    honest: str
    waiting: str
    act: str
    """The number of an act, such as `Act 1`."""
    next_steps: str
    other_language: tuple[str, str]
    doctor: str
    pydoc: str
    stopped: str

    # Labels in the margin
    tools: str
    prefix: str
    you: str
    model: str
    call: str
    result: str
    retry: str
    failed: str
    answer: str
    diary: str
    used: str
    usage: str
    found: str
    among: Mapping[str, str]
    nothing: str

    # The acts
    agent_title: str
    agent_about: str
    mcp_title: str
    mcp_about: str
    drawer_title: str
    drawer_about: str
    search_title: str
    search_about: str
    tool_questions: tuple[str, ...]
    web_title: str
    web_about: str
    web_questions: tuple[str, ...]

    # The agent and its tools
    instructions: str
    weather: str
    trains: str
    book_table: str
    full: str
    entry: str
    booked: str

    # What is asked, and what the scripted model says and calls with
    city: str
    origin: str
    place: str
    saturday: str
    sunday: str
    first_question: str
    first_thought: str
    first_answer: str
    second_question: str
    second_answer: str


_EN = Words(
    subtitle="one drawer for every tool an agent has",
    honest=(
        "The Claude Code CLI and the tools are real here. The model is not: a script plays its part, on a "
        "Messages API at 127.0.0.1. No network, no account, no key is used. Tokens and costs are estimates; "
        "nothing is paid."
    ),
    waiting="Claude Code is at work",
    act="Act {number}",
    next_steps="Next",
    other_language=("ja", "the tour in Japanese"),
    doctor="what works here",
    pydoc="the model's options",
    stopped="Stopped. The CLI and the server were closed.",
    tools="tools",
    prefix="Claude Code calls them {prefix}…",
    you="you",
    model="model",
    call="call",
    result="result",
    retry="try again",
    failed="failed",
    answer="answer",
    diary="diary",
    used="used",
    usage="{requests} requests · {input:,} tokens in, {output:,} out · ${cost:.4f} · {seconds:.1f} s",
    found="found",
    among={
        "tools": "among {among:,} tools, in {milliseconds:.1f} ms",
        "passages": "among {among:,} passages, in {milliseconds:.1f} ms",
    },
    nothing="nothing",
    agent_title="pydantic-ai runs the tools",
    agent_about="Validation, retries and live deps as ever; one CLI process for the whole run.",
    mcp_title="Claude Code runs the tools",
    mcp_about="The same agent. An in-process MCP server runs each tool when it is called.",
    drawer_title="The same tools, for any MCP client",
    drawer_about="Nothing is written twice: the official MCP client lists them, and calls one.",
    search_title="One tool among a thousand",
    search_about="The model sees one search tool. Words in seven languages find the tools, described in English.",
    tool_questions=(
        "download all invoices from Garnet",
        "Harborの会議室の予約を取り消したい",
        "what colour are my socks",
    ),
    web_title="The web, without a key",
    web_about="Documents of your own in an index on this machine; with TAVILY_API_KEY the same tools ask Tavily.",
    web_questions=("run pydantic-ai tools in Claude Code", "ツールを検索するには"),
    instructions="You plan short trips. Be brief.",
    weather="The forecast for a city on a day.",
    trains="Trains between two cities that leave after a time.",
    book_table="Book a table, and write it in the diary.",
    full="Full at {time}. Free: {free}.",
    entry="{day} {time}, {place}, table for {people}",
    booked="Booked: {entry}.",
    city="Kyoto",
    origin="Tokyo",
    place="Nishiki",
    saturday="Saturday",
    sunday="Sunday",
    first_question=(
        "We go to Kyoto on Saturday. How is the weather, which train leaves Tokyo after nine, "
        "and can Nishiki seat two of us at six?"
    ),
    first_thought="I look at the sky and the timetable first.",
    first_answer=(
        "Rain from three, so take an umbrella. Nozomi 19 leaves at 09:12 and is there at 11:27. "
        "Nishiki was full at six; you have a table at 18:30."
    ),
    second_question="If Sunday is dry, book us lunch there at noon.",
    second_answer="Sunday is clear, 21 degrees. Lunch for two is booked for 12:00.",
)

_JA = Words(
    subtitle="エージェントの道具を、ひとつの引き出しに",
    honest=(
        "Claude Code CLI もツールも本物です。モデルだけは本物ではなく、127.0.0.1 の Messages API が台本どおりに"
        "答えます。ネットワークもアカウントもキーも使いません。"
        "トークン数と費用は目安で、支払いは発生しません。"
    ),
    waiting="Claude Code が動いています",
    act="第{number}幕",
    next_steps="次は",
    other_language=("en", "英語で見る"),
    doctor="動作環境を調べる",
    pydoc="モデルの説明を読む",
    stopped="中断しました。CLI とサーバーは終了済みです。",
    tools="ツール",
    prefix="Claude Code からは {prefix}… と見えます",
    you="あなた",
    model="モデル",
    call="呼出",
    result="結果",
    retry="再試行",
    failed="失敗",
    answer="回答",
    diary="手帳",
    used="使用量",
    usage="リクエスト {requests} 回 · 入力 {input:,} / 出力 {output:,} トークン · ${cost:.4f} · {seconds:.1f} 秒",
    found="発見",
    among={
        "tools": "ツール {among:,} 件から {milliseconds:.1f} ミリ秒",
        "passages": "文章 {among:,} 件から {milliseconds:.1f} ミリ秒",
    },
    nothing="見つかりませんでした",
    agent_title="pydantic-ai がツールを実行する",
    agent_about="検証も再試行も deps もいつもの pydantic-ai のまま。CLI は 1 プロセスだけです。",
    mcp_title="Claude Code がツールを実行する",
    mcp_about="エージェントは同じ。呼ばれたツールはプロセス内の MCP サーバーが実行します。",
    drawer_title="同じツールを、どの MCP クライアントにも",
    drawer_about="書き直しはありません。公式の MCP クライアントが一覧を取り、ひとつ呼びます。",
    search_title="千のツールから、ひとつを",
    search_about="モデルに見えるのは検索ツールだけ。英語で書かれたツールが、日本語など7言語の言葉で見つかります。",
    tool_questions=("Harborの会議室の予約を取り消したい", "download all invoices from Garnet", "靴下は何色ですか"),
    web_title="キーなしで、ウェブのツール",
    web_about="手元の文書をこのマシンで索引にします。TAVILY_API_KEY があれば、同じツールが Tavily に尋ねます。",
    web_questions=("ツールを検索するには", "run pydantic-ai tools in Claude Code"),
    instructions="小さな旅の計画を手伝います。手短に答えてください。",
    weather="都市と曜日から天気予報を返す。",
    trains="二つの都市を結ぶ、指定時刻より後の列車。",
    book_table="席を予約し、手帳に書き込む。",
    full="{time}は満席です。空き: {free}",
    entry="{day} {time} {place} {people}名",
    booked="予約しました: {entry}",
    city="京都",
    origin="東京",
    place="錦",
    saturday="土曜",
    sunday="日曜",
    first_question="土曜に京都へ行きます。天気と、9時より後に東京を出る列車は? 18時に「錦」を2名で取れますか?",
    first_thought="まず空模様と時刻表を見ます。",
    first_answer=(
        "15時から雨なので傘をお持ちください。のぞみ19号が 09:12 発、11:27 着です。"
        "「錦」は18時が満席だったので、18:30 に2名で取りました。"
    ),
    second_question="日曜が晴れなら、同じ店で正午に昼食を予約して。",
    second_answer="日曜は一日じゅう晴れ、21度です。「錦」の昼食を 12:00 に2名で予約しました。",
)

WORDS: dict[Language, Words] = {"en": _EN, "ja": _JA}
