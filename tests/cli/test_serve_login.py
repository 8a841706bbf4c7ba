"""Authorization of `hikidashi serve` as a person sets it up: access tokens of clients, logins to servers."""

from __future__ import annotations

import json
import stat
from collections.abc import Generator
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import httpx2
import pytest
from anyio.streams.buffered import BufferedByteReceiveStream
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from tests.cli.test_serve import HIKIDASHI, Command, client_of, config, environment, hikidashi
from tests.gateway.authorization import browse, server_with_login
from tests.gateway.issuer import AUDIENCE, OTHER_KEY, Issuer
from tests.gateway.servers import free_port

__all__ = ["config", "environment", "hikidashi"]


@pytest.fixture
def issuer() -> Generator[Issuer]:
    with Issuer() as running:
        yield running


def serve(config: Path, *more: str) -> list[str]:
    return [HIKIDASHI, "serve", "--config", str(config), "--yes", "--search", "off", *more]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "--oauth-issuer and --oauth-audience"),
        (["--oauth-issuer", "https://issuer.example"], "--oauth-audience"),
        (["--oauth-audience", AUDIENCE], "--oauth-issuer"),
        (["--oauth-scope", "tools"], "--oauth-issuer"),
        (["--oauth-issuer", "http://issuer.example", "--oauth-audience", AUDIENCE], "use https"),
        (
            ["--oauth-issuer", "https://issuer.example", "--oauth-audience", AUDIENCE, "--token-env", "TOKEN"],
            "use one of them",
        ),
    ],
)
def test_a_host_that_others_can_reach_needs_a_token_or_an_issuer_and_an_audience(
    options: list[str],
    said: str,
    config: Path,
    hikidashi: Command,
) -> None:
    refused = hikidashi("serve", "--config", str(config), "--yes", "--http", "0.0.0.0:8000", *options)

    assert refused.returncode == 2
    assert said in " ".join(refused.stderr.replace("│", " ").split())


async def test_the_command_serves_clients_with_an_access_token_and_nobody_else(
    config: Path,
    environment: dict[str, str],
    issuer: Issuer,
) -> None:
    port = free_port()
    more = ["--http", str(port), "--oauth-audience", AUDIENCE, "--oauth-scope", "tools"]
    settings = {"HIKIDASHI_OAUTH_ISSUER": issuer.issuer}
    good, wrong = issuer.token(scope="tools more"), issuer.token(OTHER_KEY, scope="tools")
    process = await anyio.open_process(serve(config, *more), env={**environment, **settings})
    heard = bytearray()
    try:
        assert process.stderr is not None
        heard += await process.stderr.receive()
        url = f"http://127.0.0.1:{port}/mcp"
        async with httpx2.AsyncClient() as http:
            statuses = [
                (await http.post(url, json={}, headers={"Authorization": f"Bearer {token}"})).status_code
                for token in (wrong, issuer.token(), "x" * 9_000)
            ]
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {good}"}) as authorized,
            Client(streamable_http_client(url, http_client=authorized)) as client,
        ):
            added = await client.call_tool("modern__add", {"a": 1, "b": 2})
    finally:
        process.terminate()
        async for more_said in process.stderr or ():
            heard += more_said
        await process.wait()

    assert added.structured_content == {"result": 3}
    assert statuses == [401, 403, 401]
    for token in (good, wrong):
        assert token.encode() not in heard
        assert token.split(".")[2].encode() not in heard


async def test_a_person_logs_in_by_the_command_and_a_running_gateway_uses_it_at_once(
    tmp_path: Path,
    environment: dict[str, str],
    hikidashi: Command,
) -> None:
    async def run(*arguments: str) -> Any:
        return await anyio.to_thread.run_sync(hikidashi, *arguments)

    async with server_with_login() as (server, authorization):
        given = tmp_path / "remote.json"
        given.write_text(json.dumps({"mcpServers": {"behind": {"type": "http", "url": server.url}}}))
        async with client_of(given, environment, "--search", "off") as client:
            before = await client.list_tools()
            shown = await run("serve", "status")
            unknown = await run("serve", "login", "nobody", "--config", str(given))
            process = await anyio.open_process(
                [HIKIDASHI, "serve", "login", "behind", "--config", str(given), "--no-browser"], env=environment
            )
            assert process.stdout is not None
            lines = BufferedByteReceiveStream(process.stdout)
            asked = await lines.receive_until(b"\n", 10_000)
            page = (await lines.receive_until(b"\n", 10_000)).decode()
            await browse(page)
            said = await lines.receive_until(b"\n", 10_000)
            assert await process.wait() == 0
            with anyio.fail_after(30):
                while not (after := await client.list_tools()).tools:
                    await anyio.sleep(0.05)
            called = await client.call_tool("behind__secret_number", {})
            files = list(Path(environment["XDG_STATE_HOME"]).glob("hikidashi/gateway/logins/*.json"))
            modes = [stat.S_IMODE(file.stat().st_mode) for file in files]
            logs = "".join(log.read_text() for log in Path(environment["XDG_RUNTIME_DIR"]).glob("hikidashi/*.log"))
            out = await run("serve", "logout", "behind", "--config", str(given))
            again = await run("serve", "logout", "behind", "--config", str(given))
        await run("serve", "stop")
        secrets = [*authorization.access, *authorization.refresh]

    assert before.tools == []
    assert shown.returncode == 1
    assert f"Log in: hikidashi serve login behind --config {given}".replace(" ", "") in "".join(shown.stdout.split())
    assert unknown.returncode == 2
    assert "There are: behind" in " ".join(unknown.stderr.split())
    assert asked == b"Log in to behind on this page:"
    assert said == b"Logged in to behind: 1 tool."
    assert [tool.name for tool in after.tools] == ["behind__secret_number"]
    assert called.structured_content == {"result": 42}
    assert modes == [0o600]
    assert out.stdout == "Logged out of behind.\n"
    assert again.stdout == "There was no login to behind.\n"
    assert secrets
    assert not any(secret in logs + shown.stdout for secret in secrets)


def test_the_server_to_log_in_to_is_found_in_the_files_of_serve_and_then_in_the_project(
    tmp_path: Path, environment: dict[str, str], hikidashi: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment["XDG_CONFIG_HOME"] = str(tmp_path / "config")
    monkeypatch.chdir(tmp_path)
    nothing = hikidashi("serve", "logout", "mine")
    own = tmp_path / "config" / "hikidashi"
    own.mkdir(parents=True)
    (own / "config.yaml").write_text("servers: {mine: {url: https://mine.example/mcp}}\n")
    (tmp_path / ".mcp.json").write_text('{"mcpServers": {"project": {"url": "https://project.example/mcp"}}}')
    found = [hikidashi("serve", "logout", name).stdout for name in ("mine", "project")]
    unknown = hikidashi("serve", "logout", "nobody")

    assert nothing.returncode == unknown.returncode == 2
    assert "Run `hikidashi serve import`" in nothing.stderr
    assert found == ["There was no login to mine.\n", "There was no login to project.\n"]
    assert f"'nobody' is not in {own / 'config.yaml'}, .mcp.json. There are: mine, project." in unknown.stderr
