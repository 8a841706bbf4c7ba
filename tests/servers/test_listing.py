"""Lists of MCP servers, and the tools of real ones: started here, over HTTP, dead, silent."""

from __future__ import annotations

import json
import socket
import sys
import textwrap
import tracemalloc
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.mcp_support import served

from hikidashi import from_function, to_mcp
from hikidashi.errors import ToolSourceError
from hikidashi.search import McpServer, read_mcp_config
from hikidashi.servers.failure import Diagnostics
from hikidashi.servers.listing import ServerTools, tools_of_servers

MAIL = """
from hikidashi import from_function, to_mcp

def send_mail(to: str) -> str:
    "Send a mail."
    return to

to_mcp([from_function(send_mail)]).run()
"""

PAGED = """
import anyio
from mcp import types
from mcp.server import Server
from mcp.server.stdio import stdio_server

async def on_list_tools(context, params):
    page = int(params.cursor or 0) if params else 0
    tool = types.Tool(name=f"tool_{page}", input_schema={"type": "object"})
    return types.ListToolsResult(tools=[tool], next_cursor=str(page + 1) if page < 2 else None)

async def main():
    server = Server("paged", on_list_tools=on_list_tools)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())

anyio.run(main)
"""


PLAIN = """
import atexit, json, os, sys

def note(sign):
    with open(sys.argv[1], "a") as file:
        file.write(sign)

note("+")
atexit.register(note, "-")
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    answer = {"jsonrpc": "2.0", "id": asked["id"]}
    if asked["method"] == "initialize":
        info = {"name": "plain", "version": "1"}
        version = asked["params"]["protocolVersion"]
        answer["result"] = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
    elif asked["method"] == "tools/list":
        answer["result"] = {"tools": [{"name": "ping", "inputSchema": {"type": "object"}}]}
    else:
        answer["error"] = {"code": -32601, "message": "no such method"}
    print(json.dumps(answer), flush=True)
"""
"""A server that needs no package and so starts at once; it speaks the protocol of before 2026-07-28."""

STUBBORN = """
import os, pathlib, signal, subprocess, sys, time

here = pathlib.Path(sys.argv[1])
signal.signal(signal.SIGTERM, lambda *_: (here / "told").touch())
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
(here / "child").write_text(str(child.pid))
(here / "server").write_text(str(os.getpid()))
while True:
    time.sleep(600)
"""


def config(path: Path, servers: Any, key: str = "mcpServers") -> Path:
    path.write_text(json.dumps({key: servers}))
    return path


def python(name: str, code: str, *args: str, **env: str) -> McpServer:
    return McpServer(
        name=name, transport="stdio", command=sys.executable, args=("-c", textwrap.dedent(code), *args), env=env
    )


def names(answer: ServerTools) -> list[str]:
    return [tool.name for tool in answer.tools]


@pytest.mark.parametrize("key", ["mcpServers", "servers"])
def test_servers_of_every_kind_are_read(tmp_path: Path, key: str) -> None:
    given = {
        "mail": {"command": "mail-server", "args": ["--port", 1], "env": {"LEVEL": 2, "ON": True}, "cwd": "/srv"},
        "plain": {"type": "stdio", "command": "plain"},
        "web": {"url": "https://example.com/mcp", "headers": {"X-Team": "a"}},
        "new": {"type": "streamableHttp", "url": "https://example.com/mcp"},
        "old": {"type": "sse", "url": "https://example.com/sse"},
        "off": {"command": "off", "disabled": True},
    }
    assert read_mcp_config(config(tmp_path / ".mcp.json", given, key)) == [
        McpServer(
            name="mail",
            transport="stdio",
            command="mail-server",
            args=("--port", "1"),
            env={"LEVEL": "2", "ON": "true"},
            cwd="/srv",
        ),
        McpServer(name="plain", transport="stdio", command="plain", cwd=str(tmp_path)),
        McpServer(name="web", transport="http", url="https://example.com/mcp", headers={"X-Team": "a"}),
        McpServer(name="new", transport="http", url="https://example.com/mcp"),
        McpServer(name="old", transport="sse", url="https://example.com/sse"),
    ]


@pytest.mark.parametrize(
    ("file", "cwd", "folder"),
    [
        ("project/.mcp.json", None, "project"),
        ("project/.mcp.json", "servers", "project/servers"),
        ("project/.vscode/mcp.json", None, "project"),
        ("settings/hikidashi/mcp.json", None, "home"),
        ("project/.mcp.json", "~/servers", "home/servers"),
    ],
)
def test_processes_run_in_the_folder_of_their_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, cwd: str | None, folder: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    (tmp_path / file).parent.mkdir(parents=True)
    (server,) = read_mcp_config(config(tmp_path / file, {"a": {"command": "a", "cwd": cwd}}))
    assert server.cwd == str(tmp_path / folder)


def test_variables_are_filled_in_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAIL_TOKEN", "sk-test")
    monkeypatch.delenv("MAIL_HOST", raising=False)
    given = {
        "mail": {
            "command": "${MAIL_HOST:-localhost}/server",
            "args": ["${MAIL_TOKEN}"],
            "env": {"TOKEN": "Bearer ${MAIL_TOKEN}"},
        }
    }
    (server,) = read_mcp_config(config(tmp_path / ".mcp.json", given))
    assert (server.command, server.args, server.env) == ("localhost/server", ("sk-test",), {"TOKEN": "Bearer sk-test"})


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[]", "has no `mcpServers`"),
        ('{"tools": []}', "has no `mcpServers`"),
        ('{"mcpServers": {"a": {}}}', "server 'a' has neither a `command` nor a `url`"),
        ('{"mcpServers": {"a": null}}', "server 'a' has neither a `command` nor a `url`"),
        ('{"mcpServers": {"a": {"command": 5}}}', "server 'a' has a `command` that is not a string"),
        (
            '{"mcpServers": {"a": {"command": "x", "args": "--port 1"}}}',
            "server 'a' has `args` that is not a list of strings",
        ),
        (
            '{"mcpServers": {"a": {"command": "x", "args": [null]}}}',
            "server 'a' has `args` that is not a list",
        ),
        (
            '{"mcpServers": {"a": {"command": "x", "env": ["A=1"]}}}',
            "server 'a' has `env` that is not an object",
        ),
        (
            '{"mcpServers": {"a": {"command": "x", "env": {"A": null}}}}',
            "server 'a' has `env` that is not an object of",
        ),
        ('{"mcpServers": {"a": {"command": "x", "cwd": 5}}}', "server 'a' has a `cwd` that is not a string"),
        (
            '{"mcpServers": {"a": {"url": "http://x", "headers": "X: 1"}}}',
            "server 'a' has `headers` that is not an object",
        ),
        ('{"mcpServers": {"a": {"url": "ws://x", "type": "ws"}}}', "server 'a' has the unknown type 'ws'"),
        ('{"mcpServers": {"a": {"command": "${HIKIDASHI_UNSET}"}}}', "needs the environment variable HIKIDASHI_UNSET"),
        ('{\n"mcpServers":\n}', ", line 3: is not JSON"),
    ],
)
def test_what_is_wrong_in_a_list_of_servers_is_told(tmp_path: Path, content: str, said: str) -> None:
    file = tmp_path / ".mcp.json"
    file.write_text(content)
    with pytest.raises(ToolSourceError) as caught:
        read_mcp_config(file)
    assert str(caught.value).startswith(str(file))
    assert said in str(caught.value)


def test_a_list_of_servers_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ToolSourceError, match="there is no such file"):
        read_mcp_config(tmp_path / ".mcp.json")


async def test_servers_that_fail_are_told_by_name_and_the_others_answer(tmp_path: Path) -> None:
    heard: list[str] = []
    servers = [
        python("dead", "import sys; print('hello'); sys.exit('no such database')"),
        python("mail", MAIL),
        McpServer(name="missing", transport="stdio", command=str(tmp_path / "nothing")),
        McpServer(name="refused", transport="http", url=f"http://127.0.0.1:{free_port()}/mcp"),
        McpServer(name="odd", transport="sse", url="no address"),
        python("paged", PAGED),
    ]
    answers = await tools_of_servers(servers, on_answer=lambda answer: heard.append(answer.server))
    assert sorted(heard) == sorted(server.name for server in servers)
    dead, mail, missing, refused, odd, paged = answers
    assert (names(mail), mail.failure) == (["mail__send_mail"], None)
    assert (names(paged), paged.failure) == (["paged__tool_0", "paged__tool_1", "paged__tool_2"], None)
    assert str(dead.failure).endswith("; stderr ended with: no such database")
    assert "No such file" in str(missing.failure)
    assert "ConnectError" in str(refused.failure)
    assert odd.failure
    assert [answer.tools for answer in (dead, missing, refused, odd)] == [()] * 4


async def test_two_servers_of_one_name_have_an_answer_each() -> None:
    first, second = await tools_of_servers([python("twin", MAIL), python("twin", "raise SystemExit('no')")])
    assert (names(first), second.failure is None) == (["twin__send_mail"], False)


async def test_keys_are_neither_in_a_failure_nor_in_what_a_server_looks_like() -> None:
    complains = "import os; raise SystemExit('bad key ' + os.environ['API_KEY'] + ' in ' + os.environ['FOLDER'])"

    async def refuse(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 403, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async with served(refuse) as url:
        servers = [
            python("process", complains, API_KEY="sk-test-1", AUTH_MODE="in", FOLDER="letters"),
            McpServer(name="sse", transport="sse", url=f"{url}/sse?key=sk-test-2"),
            McpServer(name="header", transport="http", url=url, headers={"X-Key": "Bearer sk-test-あ"}),
        ]
        failures = [str(answer.failure) for answer in await tools_of_servers(servers)]
    assert "bad key *** in letters" in failures[0]
    assert "key=***" in failures[1]
    assert "sk-test" not in "".join(failures) + repr(servers)


async def test_a_server_that_says_nothing_is_given_up_and_ended(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    silent = "import os, sys, pathlib; pathlib.Path(sys.argv[1]).write_text(str(os.getpid())); sys.stdin.read()"
    (answer,) = await tools_of_servers([python("silent", silent, str(note))], seconds=1.0)
    assert answer.failure == "no answer within 1 s"
    assert not Path(f"/proc/{note.read_text()}").exists()


async def test_a_server_that_ignores_being_told_to_end_is_killed_with_all_that_it_started(tmp_path: Path) -> None:
    (answer,) = await tools_of_servers([python("stubborn", STUBBORN, str(tmp_path))], seconds=2.0)
    assert answer.failure == "no answer within 2 s"
    assert (tmp_path / "told").exists()
    assert [is_running((tmp_path / pid).read_text()) for pid in ("server", "child")] == [False, False]


def is_running(pid: str) -> bool:
    """Whether the process runs; one that is dead and whose parent has not heard of it does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


async def test_servers_start_a_few_at_a_time_and_each_has_its_time_from_its_own_start(tmp_path: Path) -> None:
    silent = "import sys; sys.stdin.read()"
    note = tmp_path / "starts"
    plain = [python(f"plain{n}", PLAIN, str(note)) for n in range(4)]
    answers = await tools_of_servers([python("silent", silent), *plain], seconds=1.5, at_once=1)
    assert [names(answer) for answer in answers] == [[], *([f"plain{n}__ping"] for n in range(4))]
    assert note.read_text() == "+-" * 4


async def test_no_server_at_once_is_refused() -> None:
    with pytest.raises(ValueError, match="`at_once` is 0: use 1 or more"):
        await tools_of_servers([], at_once=0)


async def test_a_server_that_answered_is_ended(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    told = "import os, sys, pathlib; pathlib.Path(sys.argv[1]).write_text(str(os.getpid()))\n" + MAIL
    (answer,) = await tools_of_servers([python("mail", told, str(note))])
    assert names(answer) == ["mail__send_mail"]
    assert not Path(f"/proc/{note.read_text()}").exists()


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


App = Callable[[Any, Any, Any], Awaitable[None]]


def guarded(app: App) -> App:
    """`app` for those who know the word."""

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or dict(scope["headers"]).get(b"authorization") == b"Bearer sk-test":
            await app(scope, receive, send)
        else:
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": b""})

    return answer


@pytest.mark.parametrize(("transport", "path"), [("http", "/mcp"), ("sse", "/sse")])
async def test_a_server_over_http_gets_the_headers(transport: Any, path: str) -> None:
    def send_mail(to: str) -> str:
        return to

    server = to_mcp([from_function(send_mail)])
    app = server.streamable_http_app() if transport == "http" else server.sse_app()
    async with served(guarded(app)) as url:
        known = McpServer(
            name="known", transport=transport, url=url + path, headers={"Authorization": "Bearer sk-test"}
        )
        unknown = McpServer(name="unknown", transport=transport, url=url + path)
        with_word, without = await tools_of_servers([known, unknown])
    assert (names(with_word), with_word.failure) == (["known__send_mail"], None)
    assert "401" in str(without.failure)


# The end of a server's standard error.


SERVER = McpServer(name="a", transport="stdio", command="x", env={"API_KEY": "sk-test-secret"})


def test_the_last_lines_are_told_in_one_line() -> None:
    diagnostics = Diagnostics(SERVER)
    diagnostics.feed(b"one\ntwo\n\n  three\nError: bad key sk-test-secret\n\nNode.js v22\n")
    assert diagnostics.explain("it ended") == "it ended; stderr ended with: three | Error: bad key *** | Node.js v22"


def test_a_flood_is_bounded_in_memory() -> None:
    diagnostics = Diagnostics(SERVER)
    chunk = b"x" * 99 + b"\n"
    tracemalloc.start()
    for _ in range(2_000):
        diagnostics.feed(chunk * 50)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 200_000
    assert len(diagnostics.explain("it ended")) < 2_000


@given(st.lists(st.integers(0, 300), max_size=80), st.integers(1, 60))
def test_no_part_of_a_secret_is_shown_however_it_is_cut(widths: list[int], size: int) -> None:
    text = "\n".join("x" * width + "sk-test-secret" * 3 for width in widths).encode()
    diagnostics = Diagnostics(SERVER)
    for start in range(0, len(text), size * 50):
        diagnostics.feed(text[start : start + size * 50])
    assert "secret" not in diagnostics.explain("it ended")
