"""`hikidashi tools`: search, report and tokens, on files and on real MCP servers."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from typer.testing import CliRunner, Result

from hikidashi.cli.app import app
from hikidashi.cli.app import run as start
from hikidashi.errors import HikidashiError, SearchLogError, ToolSearchError, ToolSourceError
from hikidashi.search.log_sqlite import SearchLog

Command = Callable[..., "subprocess.CompletedProcess[str]"]
Tools = Callable[..., Result]

FRAMEWORKS = ("pydantic_ai", "claude_agent_sdk", "mcp", "strands", "anthropic", "tavily")

MAIL = """
from hikidashi import from_function, to_mcp

def send_mail(to: str, subject: str) -> str:
    "Send a mail."
    return to

to_mcp([from_function(send_mail)]).run()
"""


def tool(name: str, description: str, **properties: str) -> dict[str, Any]:
    arguments = {name: {"type": "string", "description": text} for name, text in properties.items()}
    return {"name": name, "description": description, "input_schema": {"type": "object", "properties": arguments}}


TOOLS = [
    tool("send_message", "Send a message to a channel, with attachments and threads. " * 3, channel="Where to send it"),
    tool("会議室予約", "会議室を予約します。日時と人数を指定してください。空きがなければ、ほかの部屋を提案します。"),
    tool("a_name_that_is_much_too_long_for_a_column_of_a_table_on_a_small_terminal", "Archives a thread"),
    tool("get_weather", "Weather at a place"),
]


@pytest.fixture
def catalog(tmp_path: Path) -> str:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps(TOOLS, ensure_ascii=False), encoding="utf-8")
    return str(path)


@pytest.fixture
def run() -> Tools:
    """`run("search", "mail", ...)` runs `hikidashi tools search mail ...` in this process, 80 columns wide."""

    def invoke(*arguments: str, columns: int = 80) -> Result:
        return CliRunner().invoke(app, ["tools", *arguments], env={"COLUMNS": str(columns), "NO_COLOR": "1"})

    return invoke


def failure(result: Result, kind: type[HikidashiError]) -> str:
    assert isinstance(result.exception, kind)
    assert result.stdout == ""
    return str(result.exception)


def servers(path: Path, **commands: str) -> str:
    config = {name: {"command": sys.executable, "args": ["-c", code]} for name, code in commands.items()}
    path.write_text(json.dumps({"mcpServers": config}))
    return str(path)


def test_a_search_shows_rank_name_score_description_and_why(run: Tools, catalog: str) -> None:
    result = run("search", "send a mesage", "--catalog", catalog)
    assert result.exit_code == 0
    head, first, *why = result.stdout.splitlines()
    assert head.startswith(" #  Tool ")
    assert head.endswith("  Score  What it does, and why it matched")
    assert first.startswith(" 1  send_message  ")
    assert float(first.split()[2]) > 0
    assert first.endswith("…")
    assert [line.strip() for line in why[:3]] == [
        "name: send, mesage→message",
        "description: send, mesage→message",
        "argument text: send",
    ]


@pytest.mark.parametrize("columns", [40, 60, 80, 100, 200])
@pytest.mark.parametrize("query", ["会議室を予約する", "archive a thread", "send"])
def test_the_table_fits_the_terminal_in_any_language(run: Tools, catalog: str, query: str, columns: int) -> None:
    result = run("search", query, "--catalog", catalog, columns=columns)
    lines = result.stdout.splitlines()
    assert result.exit_code == 0
    assert max(map(cell_len, lines)) <= min(columns, 100)
    start = max(lines[0].find("What"), lines[0].find("Tool and"))
    assert {cell_len(line.partition(" description: ")[0]) + 1 for line in lines if " description: " in line} == {start}


def test_a_question_in_another_language_is_found_by_meaning(run: Tools, catalog: str) -> None:
    found = run("search", "天気を教えて", "--ranker", "hybrid", "--catalog", catalog, "--json")
    (match, *_) = json.loads(found.stdout)["matches"]
    assert (match["name"], match["why"], match["by_meaning"], match["confident"]) == ("get_weather", {}, 1.0, True)
    assert run("search", "天気を教えて", "--catalog", catalog).stdout.startswith("Nothing found for '天気を教えて'")


def test_what_a_terminal_would_obey_is_not_printed(run: Tools, tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps([tool("wipe", "Wipe\x1b[2J\x07 the\r\n\u202escreen\x9b1m")]))
    result = run("search", "wipe", "--catalog", str(path))
    assert "Wipe the screen1m\n" in result.stdout
    assert not set(result.stdout) & {"\x1b", "\x07", "\r", "\u202e", "\x9b"}


def on_a_terminal(arguments: list[str], cache: Path, **environment: str) -> tuple[str, str]:
    """What a command prints to a pipe on standard output, and to a terminal on standard error."""
    terminal, end = os.openpty()
    started = subprocess.Popen(
        [sys.executable, "-m", "hikidashi", "tools", *arguments],
        env={**os.environ, "XDG_CACHE_HOME": str(cache), "TERM": "xterm", **environment},
        stdout=subprocess.PIPE,
        stderr=end,
        text=True,
    )
    os.close(end)
    written = b""
    with suppress(OSError):  # how Linux says that the other end is closed
        while piece := os.read(terminal, 1_000):
            written += piece
    os.close(terminal)
    printed, _ = started.communicate(timeout=60)
    assert started.returncode == 0
    return printed, written.decode()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")
def test_a_terminal_shows_how_far_the_tools_are_embedded(command: Command, catalog: str, tmp_path: Path) -> None:
    search = ["search", "will it rain", "--ranker", "hybrid", "--catalog", catalog, "--json"]
    printed, written = on_a_terminal(search, tmp_path / "cache")
    assert "Embedding the tools" in written
    assert written.rstrip().endswith("\x1b[2K")  # it is erased in the end
    assert json.loads(printed)["matches"][0]["name"] == "get_weather"
    plain, without_colors = on_a_terminal(search, tmp_path / "other", NO_COLOR="1")
    assert "Embedding the tools" in without_colors
    assert "\x1b[3" not in without_colors
    assert plain == printed
    piped = command("tools", *search, XDG_CACHE_HOME=str(tmp_path / "third"))
    assert (piped.stdout, piped.stderr, piped.returncode) == (printed, "", 0)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")
@pytest.mark.parametrize(
    ("query", "waits"), [("weather", True), ("select:get_weather", False), ("天気", True), ("will it rain", True)]
)
def test_a_search_waits_for_vectors_but_not_for_named_tools(
    catalog: str, tmp_path: Path, query: str, waits: bool
) -> None:
    search = ["search", query, "--catalog", catalog, "--json"]
    printed, written = on_a_terminal(search, tmp_path / "cache", HIKIDASHI_RANKER="")
    assert json.loads(printed)["matches"][0]["name"] == "get_weather"
    assert ("Embedding the tools" in written) is waits
    assert (tmp_path / "cache").exists() is waits


def test_a_search_as_json(run: Tools, catalog: str) -> None:
    result = run("search", "weather", "--catalog", catalog, "--json")
    answer = json.loads(result.stdout)
    (match,) = answer.pop("matches")
    assert answer == {"query": "weather", "regex": False, "tools": 4, "failed": {}}
    assert match.pop("score") > 0
    assert match == {
        "rank": 1,
        "name": "get_weather",
        "description": "Weather at a place",
        "why": {"name": ["weather"], "description": ["weather"]},
        "confident": True,
        "by_words": 1.0,
        "by_meaning": 0.0,
    }


TALK = "she told me that the weather was dreadful all day long in her little garden"


def test_tools_that_are_merely_the_nearest_are_marked_and_the_reason_is_told(run: Tools, catalog: str) -> None:
    result = run("search", TALK, "--catalog", catalog)
    assert result.exit_code == 0
    assert result.stdout.splitlines()[1].startswith(" ?  get_weather  ")
    said = " ".join(result.stdout.split())
    assert "The nearest match, perhaps not the right one. Only 'weather'" in said
    match, *_ = json.loads(run("search", TALK, "--catalog", catalog, "--json").stdout)["matches"]
    assert match["confident"] is False
    assert match["doubt"].startswith("Only 'weather' of the question matches: no tool has ")


def test_explain_shows_what_became_of_each_word_and_what_was_held_back(run: Tools, catalog: str) -> None:
    result = run("search", "a thred for tanaka", "--explain", "--limit", "1", "--catalog", catalog)
    words, held_back = result.stdout.split("\nWords\n")[1].split("\nHeld back\n")
    assert words.splitlines() == ["thred→threads is in 2 tools.", "tanaka is in no tool."]
    assert held_back.splitlines()[0] == "More tools match than the 1 that were asked for."
    assert held_back.splitlines()[1].startswith("  a_name_that_is_much_too_long")
    answer = json.loads(run("search", TALK, "--explain", "--catalog", catalog, "--json").stdout)
    assert answer["words"]["weather"] == "in 1 tool"
    assert answer["held_back"] == []
    assert "No other tool matches." in run("search", "weather", "--explain", "--catalog", catalog).stdout
    assert (
        "Only searches by words have an explanation"
        in run("search", "^get", "--regex", "--explain", "--catalog", catalog).stdout
    )


@pytest.mark.parametrize("columns", [60, 80])
@pytest.mark.parametrize(
    ("question", "shown"),
    [
        ("pay ann@example.com back", ["The encoder read: pay address back"]),
        ("will it rian tomorrow", ["The encoder read: will it rain tomorrow"]),
        ("お金を返して", []),
        (
            "a customer sat on the bench",
            [r"Nearest in meaning: \w+, at \d+% of the similarity that is usually enough\."],
        ),
    ],
)
def test_explain_shows_what_the_encoder_read_and_how_near_the_nearest_tool_was(
    run: Tools, tmp_path: Path, question: str, shown: list[str], columns: int
) -> None:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps([tool("refund", "Pays a customer back."), tool("weather", "Will it rain?")]))
    asked = ["search", question, "--explain", "--ranker", "hybrid", "--catalog", str(path)]
    result = run(*asked, columns=columns).stdout
    assert max(map(cell_len, result.splitlines())) <= columns
    meaning = result.split("\nWords\n")[0].partition("\nMeaning\n")[2].replace("\n", " ")
    assert re.fullmatch(" ".join(shown), meaning)
    answer = json.loads(run(*asked, "--json").stdout)
    read = [line.removeprefix("The encoder read: ") for line in shown if line.startswith("The encoder read: ")]
    assert (answer["read"], answer["nearest"]["nearness"] > 0) == (*(read or [question]), True)


def test_explain_shows_how_likely_the_first_tool_is_right(run: Tools, catalog: str) -> None:
    asked = ["search", "will it rain", "--explain", "--ranker", "hybrid", "--catalog", catalog]
    assert "\nConfidence\nThe first tool is right with a probability of 99%.\n" in run(*asked).stdout
    assert 0.95 < json.loads(run(*asked, "--json").stdout)["probability"] <= 1
    nothing = json.loads(run("search", "zebra", "--explain", "--catalog", catalog, "--json").stdout)
    assert "probability" not in nothing


def test_explain_of_named_tools_says_that_nothing_was_ranked(run: Tools, catalog: str) -> None:
    for ranker in ("lexical", "hybrid"):
        asked = ["search", "select:get_weather", "--explain", "--ranker", ranker, "--catalog", catalog]
        assert run(*asked).stdout.splitlines()[-1] == "These tools were named: nothing was ranked."
        assert "words alone" not in run(*asked).stdout


def test_a_pattern_shows_what_it_matched(run: Tools, catalog: str) -> None:
    result = run("search", "^(send|get)_", "--regex", "--catalog", catalog, "--json")
    assert [match["why"] for match in json.loads(result.stdout)["matches"]] == [
        {"name": ["send_message"]},
        {"name": ["get_weather"]},
    ]


def test_the_limit_is_kept(run: Tools, catalog: str) -> None:
    result = run("search", ".", "--regex", "--limit", "2", "--catalog", catalog, "--json")
    assert len(json.loads(result.stdout)["matches"]) == 2


def test_nothing_found_says_what_to_try_and_ends_with_1(run: Tools, catalog: str) -> None:
    result = run("search", "zebra", "--catalog", catalog)
    assert result.exit_code == 1
    assert result.stdout.startswith("Nothing found for 'zebra' among 4 tools.\nTry other or fewer words")
    assert "words without --regex" in run("search", "^zebra$", "--regex", "--catalog", catalog).stdout


def test_nothing_found_shows_names_that_look_like_it(run: Tools, catalog: str) -> None:
    result = run("search", "get_wether_", "--regex", "--catalog", catalog)
    assert "Names that look like it: get_weather\n" in result.stdout


def test_nothing_found_is_json_too(run: Tools, catalog: str) -> None:
    result = run("search", "zebra", "--catalog", catalog, "--json")
    assert (result.exit_code, json.loads(result.stdout)["matches"]) == (1, [])


def test_a_broken_pattern_is_told(run: Tools, catalog: str) -> None:
    assert "'mail('" in failure(run("search", "mail(", "--regex", "--catalog", catalog), ToolSearchError)


@pytest.mark.parametrize("command", ["search", "tokens", "report"])
@pytest.mark.parametrize("given", [(), ("--catalog", "a.json", "--mcp", "b.json")])
def test_one_source_is_needed_and_no_more(run: Tools, tmp_path: Path, command: str, given: tuple[str, ...]) -> None:
    SearchLog(tmp_path / "log.db").close()
    needed = {"search": ["mail"], "tokens": [], "report": ["--log", str(tmp_path / "log.db")]}[command]
    result = run(command, *needed, *given)
    assert result.exit_code == 2
    assert "either --catalog FILE or --mcp CONFIG" in result.stderr


def test_the_tools_of_mcp_servers_are_found_and_a_dead_server_is_told(run: Tools, tmp_path: Path) -> None:
    config = servers(tmp_path / ".mcp.json", mail=MAIL, dead="import sys; print('?'); sys.exit('no database')")
    result = run("search", "send mail", "--mcp", config, "--json")
    assert result.exit_code == 0
    assert result.stderr.startswith("Asking 2 MCP servers: mail, dead\n")
    assert "✓ mail: 1 tool\n" in result.stderr
    assert "stderr ended with: no database\n" in result.stderr
    assert "Traceback" not in result.stderr
    answer = json.loads(result.stdout)
    assert [match["name"] for match in answer["matches"]] == ["mail__send_mail"]
    assert answer["failed"].keys() == {"dead"}


def test_servers_that_all_fail_are_an_error(run: Tools, tmp_path: Path) -> None:
    config = servers(tmp_path / ".mcp.json", dead="")
    result = run("tokens", "--mcp", config)
    assert "no MCP server answered" in failure(result, ToolSourceError)
    assert "✗ dead: " in result.stderr


def test_a_list_without_servers_is_an_error(run: Tools, tmp_path: Path) -> None:
    config = servers(tmp_path / ".mcp.json")
    assert "has no enabled server" in failure(run("tokens", "--mcp", config), ToolSourceError)


def test_few_tools_are_cheaper_without_search(run: Tools, catalog: str) -> None:
    result = run("tokens", "--catalog", catalog)
    assert result.exit_code == 0
    assert result.stdout.startswith("4 tools in ")
    assert catalog in result.stdout.replace("\n", "")
    assert "\n  search tool + 4 loaded " in result.stdout
    assert "\nSearch does not pay: with fewer than 10 tools the model" in result.stdout
    assert max(map(cell_len, result.stdout.splitlines())) <= 80


def test_small_tools_are_not_worth_a_search(run: Tools, tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps([tool(f"tool_{number}", "Small") for number in range(20)]))
    assert "\nSearch does not pay: below 10,000 tokens" in run("tokens", "--catalog", str(path)).stdout


def test_many_tools_are_cheaper_with_search(run: Tools, tmp_path: Path) -> None:
    path = tmp_path / "tools.jsonl"
    many = [
        tool(f"tool_{number}", "A tool that does a thing with care. " * 5, a="b " * number) for number in range(300)
    ]
    path.write_text("\n".join(map(json.dumps, many)))
    result = run("tokens", "--catalog", str(path))
    assert "\nSearch pays: " in result.stdout
    assert "  −98%\n" in result.stdout
    assert "\nLargest definitions\n" in result.stdout
    answer = json.loads(run("tokens", "--catalog", str(path), "--loaded", "3", "--json").stdout)
    assert (answer["tools"], answer["loaded"], answer["worth_it"]) == (300, 3, True)
    assert answer["with_search"] < answer["at_most"] < answer["all_loaded"] / 10
    assert answer["change"] == pytest.approx(answer["with_search"] / answer["all_loaded"] - 1, abs=1e-4)
    assert [largest["name"] for largest in answer["largest"]][:2] == ["tool_299", "tool_298"]


def test_what_search_saves_is_never_rounded_up_to_everything(run: Tools, tmp_path: Path) -> None:
    path = tmp_path / "tools.jsonl"
    path.write_text("\n".join(json.dumps(tool(f"tool_{number}", "Does a thing. " * 20)) for number in range(4_000)))
    assert "  −99.8%\n" in run("tokens", "--catalog", str(path)).stdout


def test_names_that_the_api_refuses_have_a_cost_as_well(run: Tools, tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps([tool("files.read all", "")]))
    assert "files.read all" in run("tokens", "--catalog", str(path)).stdout


def test_a_catalogue_without_tools_costs_nothing(run: Tools, tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    path.write_text("[]")
    result = run("tokens", "--catalog", str(path))
    assert (result.exit_code, result.stdout.split(" in ")[0]) == (0, "0 tools")


def test_a_report_shows_what_to_improve(run: Tools, tmp_path: Path, catalog: str) -> None:
    path = tmp_path / "searches.db"
    with SearchLog(path) as log:
        for number in range(12):
            log.searched(f"nothing {number:02}", "words", [])
        log.searched("weather", "words", ["get_weather", "会議室予約", "old"])
        for _ in range(3):
            log.called("get_weather")
        for _ in range(2):
            with log.session():
                log.searched("notify everybody at once about the outage of the mail server", "words", [])
                log.searched("channel", "words", ["send_message"])
                log.called("send_message")
        log.flush()
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:  # the model took its time
            connection.execute("UPDATE searches SET at = at - 10 WHERE query LIKE 'notify%'")
    result = run("report", "--log", str(path), "--catalog", catalog)
    assert result.exit_code == 0
    assert max(map(cell_len, result.stdout.splitlines())) <= 80
    for line in (
        "17 searches and 5 calls, 4 tools.",
        "Searches that found nothing  13",
        "    1× “nothing 00”",
        "  … and 3 more: --json shows all",
        "Tools that no search found  1",
        "Tools found and never called  1",
        "    1× 会議室予約",
        "    3× get_weather (60% of all calls)",
        "       old",
        "  send_message + everybody, mail, notify, outage, server",
        "    2× “notify everybody at once about…” missed it, then “channel” led to a call",
    ):
        assert f"{line}\n" in result.stdout
    assert json.loads(run("report", "--log", str(path), "--catalog", catalog, "--json").stdout)["searches"] == 17


def test_a_report_shows_how_the_called_tools_were_found(run: Tools, tmp_path: Path, catalog: str) -> None:
    path = tmp_path / "searches.db"
    with SearchLog(path) as log:
        for number in range(40):
            with log.session():
                if number < 31:
                    log.searched("Will it rain?", "preload", ["get_weather", "send_message"])
                elif number < 38:
                    log.searched("weather", "words", ["get_weather"])
                log.called("get_weather", found_by=None if number < 38 else "listed")
        log.called("会議室予約")
    said = run("report", "--log", str(path), "--catalog", catalog).stdout
    assert max(map(cell_len, said.splitlines())) <= 80
    assert (
        "How the called tools were found\n"
        "  Of 41 conversations in which a tool was called: 31 (76%) preloaded, 7 (17%) by\n"
        "  a search, 2 (5%) listed from the start, 1 (2%) by nothing (a guessed name).\n"
        "  Of 41 calls: 31 (76%) preloaded, 7 (17%) by a search, 2 (5%) listed from the\n"
        "  start, 1 (2%) by nothing (a guessed name).\n"
        "  Preloading loaded 62 tools for 31 messages; 31 of them were called in the same\n"
        "  conversation.\n"
    ) in said
    assert (
        "Tools preloaded and never called  1\n"
        "  Narrow their descriptions, or preload fewer: preload=N.\n"
        "   31× send_message\n"
    ) in said
    shown = json.loads(run("report", "--log", str(path), "--catalog", catalog, "--json").stdout)
    counts = {"total": 41, "preload": 31, "search": 7, "listed": 2, "nothing": 1, "not_recorded": 0}
    assert (shown["conversations_found_by"], shown["calls_found_by"]) == (counts, counts)
    assert shown["preloading"] == {
        "messages": 31,
        "loaded": 62,
        "called": 31,
        "never_called": [{"name": "send_message", "loaded": 31}],
        "never_called_count": 1,
    }


def test_a_report_on_messages_alone_says_what_they_loaded(run: Tools, tmp_path: Path, catalog: str) -> None:
    path = tmp_path / "searches.db"
    with SearchLog(path) as log:
        log.searched("Will it rain?", "preload", ["get_weather"])
    said = run("report", "--log", str(path), "--catalog", catalog).stdout
    assert "Nothing is recorded yet" not in said
    assert "Preloading loaded 1 tool for 1 message; 0 of them were called in the same\n  conversation." in said
    assert "Tools preloaded and never called  1\n" in said
    with SearchLog(path) as log:
        log.searched("Will it rain?", "preload", ["get_weather"])
        log.called("get_weather")
    said = run("report", "--log", str(path), "--catalog", catalog).stdout
    assert "Preloading loaded 2 tools for 2 messages; 1 of them was called in the same" in said
    assert "Tools preloaded and never called" not in said


def test_a_report_on_damaged_records_is_refused_with_what_to_do(run: Tools, tmp_path: Path, catalog: str) -> None:
    path = tmp_path / "searches.db"
    with SearchLog(path) as log:
        log.searched("Will it rain?", "preload", ["get_weather"])
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM sessions")
    for command in (("report", "--log", str(path)), ("tune", str(path))):
        said = failure(run(*command, "--catalog", catalog), SearchLogError)
        assert "searches.db' is damaged (rows of the table 'searches': 1)" in said
        assert "move it away, or name another file" in said


def test_a_long_report_is_cut_with_a_word_about_the_rest(run: Tools, tmp_path: Path) -> None:
    names = [f"tool_{number:02}" for number in range(12)]
    path, tools = tmp_path / "searches.db", tmp_path / "tools.json"
    tools.write_text(json.dumps([tool(name, "") for name in names]))
    with SearchLog(path) as log:
        for name in names:
            for word in ("apples", "pears", "plums", "figs", "figs") * 2:
                with log.session():
                    log.searched(word, "words", [])
                    log.searched(name, "select", [name])
        log.flush()
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("UPDATE searches SET at = at - 10 WHERE kind = 'words'")
    said = run("report", "--log", str(path), "--catalog", str(tools)).stdout
    assert "Words to add to descriptions  12\n" in said
    assert "  tool_00 + figs, apples, pears, plums\n    4× “figs” missed it, then a pattern or names found it\n" in said
    assert said.count("    and 1 more\n") == 10
    assert said.endswith("  … and 2 more: --json shows all\n")


def test_a_proposal_of_many_words_shows_the_best_supported_and_a_rare_favourite_its_share(
    run: Tools, tmp_path: Path, catalog: str
) -> None:
    path = tmp_path / "searches.db"
    fruits = ("apples", "bananas", "cherries", "dates", "elderberries", "figs", "grapes", "honeydews", "kiwis", "kiwis")
    with SearchLog(path) as log:
        for fruit in fruits * 2:
            with log.session():
                log.searched(fruit, "words", [])
                log.searched("get_weather", "select", ["get_weather"])
        for _ in range(3):
            log.called("get_weather")
        for number in range(301):
            log.called(f"other_{number}")
        log.flush()
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("UPDATE searches SET at = at - 10 WHERE kind = 'words'")
    said = run("report", "--log", str(path), "--catalog", catalog).stdout
    words = said.partition("  get_weather + ")[2].partition("    4×")[0]
    assert " ".join(words.split()) == "kiwis, apples, bananas, cherries, dates, elderberries, figs, grapes and 1 more"
    assert "    3× get_weather (<1% of all calls)\n" in said
    assert "kiwis" in run("report", "--log", str(path), "--catalog", catalog, "--json").stdout


def test_words_that_searches_agree_on_become_aliases_in_an_overlay_that_a_search_reads(
    run: Tools, tmp_path: Path, catalog: str
) -> None:
    path, overlay = tmp_path / "searches.db", tmp_path / "words.yaml"
    with SearchLog(path) as log:
        for place in ("Kyoto", "Osaka"):
            with log.session():
                log.searched(f"parasol for {place}", "words", [])
                log.searched("place", "words", ["get_weather"])
                log.called("get_weather")
        log.flush()
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("UPDATE searches SET at = at - 10 WHERE query LIKE 'parasol%'")
    asked = ("report", "--log", str(path), "--catalog", catalog, "--overlay", str(overlay))
    result = run(*asked, "--json")
    assert json.loads(result.stdout)["proposals"][0]["words"] == ["parasol"]
    assert result.stderr.replace("\n", "") == f"Wrote 1 alias of 1 tool to {overlay}."
    assert overlay.read_text().endswith("tools:\n  get_weather:\n    aliases:\n    - parasol\n")

    assert run("search", "parasol", "--catalog", catalog).exit_code == 1
    found = run("search", "parasol", "--catalog", catalog, "--overlay", str(overlay))
    assert found.exit_code == 0
    assert "alias: parasol" in found.stdout
    again = run(*asked)
    assert "Words to add" not in again.stdout
    assert "No words that several searches agree on" in again.stderr

    overlay.write_text("tools: {old_tool: {aliases: [x]}}")
    result = run("tokens", "--catalog", catalog, "--overlay", str(overlay))
    assert "names 1 tool that the catalogue does not have: old_tool\n" in result.stderr
    overlay.write_text("tools: {a: {alias: x}}")
    result = run("search", "x", "--catalog", catalog, "--overlay", str(overlay))
    assert "line 1: `tools.a.alias` is none of" in failure(result, ToolSourceError)


def test_names_are_whole_and_so_is_the_heading(run: Tools, command: Command, catalog: str, tmp_path: Path) -> None:
    long = TOOLS[2]["name"]
    wide = run("search", "archive", "--catalog", catalog).stdout
    assert wide.splitlines()[1] == f" 1  {long}"
    hundred = run("search", "archive", "--catalog", catalog, columns=100).stdout
    assert re.fullmatch(rf" 1  {long}  \d\.\d\d", hundred.splitlines()[1].replace("   ", "  "))
    short = tmp_path / "short.json"
    short.write_text(json.dumps([tool("ls", "List files")]))
    assert " #  Tool   Score  What" in run("search", "list", "--catalog", str(short)).stdout
    longest = tmp_path / "longest.json"
    longest.write_text(json.dumps([tool("archive_" * 20, "Archives a thread")]))
    environment = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
    piped = subprocess.run(
        [sys.executable, "-m", "hikidashi", "tools", "search", "archive", "--catalog", str(longest)],
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    )
    assert f" 1  {'archive_' * 20}  " in piped.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("search", "", "--catalog", "CATALOG"),
        ("search", "x" * 501, "--catalog", "CATALOG"),
        ("search", "mail(", "--regex", "--catalog", "CATALOG"),
        ("search", "mail", "--limit", "0", "--catalog", "CATALOG"),
        ("search", "mail", "--limit", "51", "--catalog", "CATALOG"),
        ("search", "mail", "--ranker", "magic", "--catalog", "CATALOG"),
        ("search", "mail", "--catalog", "nowhere.json"),
        ("search", "mail", "--catalog", "CATALOG", "--overlay", "nowhere.yaml"),
        ("tokens", "--mcp", "nowhere.json"),
        ("report", "--log", "nowhere.db", "--catalog", "CATALOG"),
    ],
)
def test_wrong_usage_ends_with_2(
    run: Tools, catalog: str, arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    given = ["hikidashi", "tools", *(catalog if argument == "CATALOG" else argument for argument in arguments)]
    monkeypatch.setattr(sys, "argv", given)
    with pytest.raises(SystemExit) as caught:
        start()
    assert caught.value.code == 2


def test_a_ranking_by_meaning_without_the_extra_says_what_to_install(command: Command, catalog: str) -> None:
    done = command(
        "tools", "search", "rain", "--ranker", "hybrid", "--catalog", catalog, without=("hikidashi_encoder",)
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.endswith("Run: pip install hikidashi\n")


def test_one_search_is_not_called_searches(run: Tools, tmp_path: Path, catalog: str) -> None:
    with SearchLog(tmp_path / "log.db") as log:
        log.searched("weather", "words", ["get_weather"])
    said = run("report", "--log", str(tmp_path / "log.db"), "--catalog", catalog).stdout
    assert said.startswith("1 search and 0 calls, 4 tools.\n")


def test_a_report_without_queries_has_none(run: Tools, tmp_path: Path, catalog: str) -> None:
    with SearchLog(tmp_path / "log.db", keep_queries=False) as log:
        log.searched("secret", "words", [])
        log.searched("weather", "words", ["get_weather"])
        log.called("get_weather")
    said = run("report", "--log", str(tmp_path / "log.db"), "--catalog", catalog).stdout
    assert "    1× (queries are not kept)\n" in said
    assert "Words to add" not in said


def test_an_empty_log_says_how_to_fill_it(run: Tools, tmp_path: Path, catalog: str) -> None:
    SearchLog(tmp_path / "log.db").close()
    result = run("report", "--log", str(tmp_path / "log.db"), "--catalog", catalog)
    assert result.stdout.endswith("Nothing is recorded yet: pass a SearchLog as `record=` to your search.\n")


def test_a_report_makes_no_log(run: Tools, tmp_path: Path, catalog: str) -> None:
    missing = tmp_path / "log.db"
    assert "does not exist" in failure(run("report", "--log", str(missing), "--catalog", catalog), SearchLogError)
    assert not missing.exists()


def test_a_search_needs_no_framework(command: Command, catalog: str) -> None:
    done = command("tools", "search", "会議室", "--catalog", catalog, without=FRAMEWORKS)
    assert (done.returncode, done.stderr) == (0, "")
    assert " 1  会議室予約 " in done.stdout


def test_an_error_is_one_line_that_names_the_file(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    path.write_text("[\n{]")
    done = command("tools", "tokens", "--catalog", str(path))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"error: {path}, line 2: is not JSON")
    assert done.stderr.count("\n") == 1


def test_the_tools_of_an_agent_are_found(run: Tools, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"agent_of_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(
        "from pydantic_ai import Agent\n"
        "def send_mail(to: str) -> str:\n    'Send a mail.'\n    return to\n"
        "agent = Agent('test', tools=[send_mail])\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    assert " 1  send_mail " in run("search", "mail", "--catalog", f"{name}:agent").stdout


def test_a_terminal_that_is_too_narrow_for_a_table_still_shows_what_a_tool_does(catalog: str, run: Tools) -> None:
    printed = " ".join(run("search", "send a mail", "--catalog", catalog, columns=24).stdout.split())
    wide = run("search", "send a mail", "--catalog", catalog, "--json").stdout
    for match in json.loads(wide)["matches"]:
        assert match["description"] in printed
        assert f"{match['score']:.2f}" in printed


def test_names_that_are_selected_and_that_no_tool_has_are_named(catalog: str, run: Tools) -> None:
    known = TOOLS[0]["name"]
    assert run("search", f"select:{known},nope", "--catalog", catalog).stdout.endswith("No tool is named 'nope'.\n")
    answer = json.loads(run("search", f"select:{known},nope", "--catalog", catalog, "--json").stdout)
    assert ([match["name"] for match in answer["matches"]], answer["unknown"]) == ([known], ["nope"])
