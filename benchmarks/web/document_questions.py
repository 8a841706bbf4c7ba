"""A hundred questions on documents that are on any machine: Python's own modules, and this project's texts.

The questions were written by hand before any engine was asked; the words of four answers, and the pages of those that
were in the READMEs, were named anew when these texts moved into the guides. An answer is a passage of the document
named first (or of one in the folder named first) that has the words named second, or any passage of it where none are
named. A question whose words have gone from the document is left out, and the report says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["ENGLISH", "JAPANESE", "Asked"]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, the document that answers it, and words of the passage that does."""

    question: str
    document: str
    words: str = ""


def _of_modules(*pairs: tuple[str, str]) -> list[Asked]:
    return [Asked(question, f"python/{module}") for question, module in pairs]


def _of_text(document: str, *pairs: tuple[str, str]) -> list[Asked]:
    return [Asked(question, document, words) for question, words in pairs]


ENGLISH: Sequence[Asked] = [
    *_of_modules(
        ("how do I parse command line options and arguments", "argparse"),
        ("read and write zip archives", "zipfile"),
        ("compress data in gzip format", "gzip"),
        ("parse and write comma separated values", "csv"),
        ("find the median of numbers", "statistics"),
        ("exact decimal arithmetic for money", "decimal"),
        ("rational numbers with numerator and denominator", "fractions"),
        ("keep a list sorted while inserting", "bisect"),
        ("priority queue algorithm", "heapq"),
        ("generate secure tokens for passwords", "secrets"),
        ("make a temporary directory that removes itself", "tempfile"),
        ("copy a whole directory tree", "shutil"),
        ("compare sequences and show the differences between two files", "difflib"),
        ("wrap a paragraph to a given width", "textwrap"),
        ("what does lru_cache do", "functools"),
        ("combinations and permutations of an iterable", "itertools"),
        ("deep copy of an object", "copy"),
        ("serialise python objects to bytes", "pickle"),
        ("weak references to objects", "weakref"),
        ("run a child process and capture its output", "subprocess"),
        ("schedule events at a given time", "sched"),
        ("send mail by SMTP", "smtplib"),
        ("parse an ini configuration file", "configparser"),
        ("base64 encoding of binary data", "base64"),
        ("match file names with shell patterns", "fnmatch"),
        ("expand a glob pattern to paths", "glob"),
        ("guess the mime type of a file", "mimetypes"),
        ("escape and unescape HTML entities", "html"),
        ("inspect the signature of a function", "inspect"),
        ("measure the execution time of small code snippets", "timeit"),
        ("calendar of a month as text", "calendar"),
        ("create an abstract base class", "abc"),
        ("hash-based message authentication code", "hmac"),
        ("UUID from a random number", "uuid"),
        ("context manager that suppresses exceptions", "contextlib"),
    ),
    *_of_text(
        "docs/en/",
        ("how do I install the extras", "The base is small"),
        ("which exit codes does the command line have", "Exit code 1"),
        ("test an agent without a real API", "follows a script"),
        ("use Claude Code with a subscription", "uses the login of Claude Code"),
        ("what does tool_execution agent mean", "One CLI process serves a whole run"),
        ("register a toolset for the mcp mode", "`set_agent_toolsets()` asks for it"),
        ("convert a python function into a tool for strands", "to_strands([tool])"),
        ("what happens when a target cannot express a tool", "Unsupported"),
        ("search tools by regular expression", "a regular expression between slashes"),
        ("are private addresses fetched", "private addresses are refused"),
        ("what is the slack bot manifest", "slack --manifest"),
        ("point a Tavily client at my own documents", "api_base_url"),
        ("which engines can the chat use", "Bedrock"),
        ("simulate rate limits in tests", "fault.rate_limited()"),
        ("what does FallbackModel need", "FallbackModel"),
        ("how long does import hikidashi take", "import hikidashi"),
        ("which searches found nothing report", "tools report"),
    ),
    *_of_text(
        "docs/architecture.md",
        ("which way do imports point", "Never the other way"),
        ("why are pages read in another process", "Pages are parsed in another process"),
        ("when is a document in the index", "A document is in the index when it is reported"),
        ("why search by words first", "Search by words first"),
        ("what is allowed by default", "Nothing is allowed by default"),
        ("how does a parked tool call get its result", "so that results are matched to calls"),
        ("what does the neutral tool in the middle cost", "A neutral tool in the middle"),
        ("who answers a tool call in the mcp mode", "the MCP server runs the tool"),
    ),
]

JAPANESE: Sequence[Asked] = _of_text(
    "docs/ja/",
    ("インストール方法", "本体にはゲートウェイ"),
    ("終了コードの意味", "終了コード"),
    ("エージェントのテスト", "台本どおりに答える Messages API"),
    ("サブスクリプションで使えますか", "サブスクリプション"),
    ("認証はどうする", "認証は Claude Code のログイン"),
    ("ツールを実行するのは誰", "ツールを実行するのは"),
    ("承認と再試行", "再試行"),
    ("MCP サーバーで実行するための登録", "| 登録 | 不要 |"),
    ("関数をツールに変換する", "from_function"),
    ("変換できないときのエラー", "Unsupported"),
    ("ツールが多すぎるとき", "ツールが多すぎて"),
    ("正規表現で探す", "正規表現"),
    ("日本語の質問で英語のツールを見つける", "辞書"),
    ("検索の記録", "SearchLog"),
    ("見つからなかった検索を調べる", "見つからなかった検索"),
    ("ウェブの検索ツール", "検索、抽出、コンテキスト"),
    ("キーなしで検索できますか", "TAVILY_API_KEY"),
    ("プライベートアドレスへのアクセス", "プライベートアドレスは拒否"),
    ("手元の文書を検索する", "手元の文書"),
    ("PDFの索引", "PDF"),
    ("サイトマップを登録", "サイトマップ"),
    ("キャッシュとクレジットの上限", "クレジット"),
    ("Tavilyクライアントをつなぐ", "api_base_url"),
    ("Slackボットの起動", "hikidashi slack"),
    ("端末でチャット", "hikidashi chat"),
    ("設定ファイルの誤りを調べる", "config check"),
    ("使えるエンジン", "Bedrock"),
    ("レート制限を再現する", "fault.rate_limited()"),
    ("例外の一覧", "エラーの一覧"),
    ("例外に書かれていること", "HikidashiError"),
    ("入っているものを確認するコマンド", "hikidashi doctor"),
    ("トークンの消費量を調べる", "tools tokens"),
    ("意味での検索", "semantic"),
    ("手書きとの違い", "SDK で手書き"),
    ("計測結果の読み方", "benchmarks/README.md"),
    ("ライセンス", "MIT ライセンス"),
    ("今後の予定", "予定"),
    ("プロセス内サーバーの速度", "プロセス内サーバー"),
    ("pytestのフィクスチャ", "フィクスチャ"),
    ("最初に実行するコマンド", "pip install"),
)
