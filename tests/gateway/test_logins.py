"""Logins to servers behind the gateway, at a real authorization server; the browser is played by an HTTP client."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Coroutine, Generator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qs, urlsplit

import anyio
import httpx2
import keyring
import keyring.backend
import pytest
from anyio.abc import TaskGroup
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp.client import Client
from mcp.shared.auth import OAuthClientInformationFull
from tests.gateway.authorization import Authorization, browse, server_with_login
from tests.gateway.servers import MODERN, free_port, program
from tests.gateway.test_gateway import text_of

from hikidashi.errors import LoginError
from hikidashi.gateway import Gateway, GatewayOptions
from hikidashi.gateway.auth.login_flow import KnownClient, log_in, tools_with_login
from hikidashi.gateway.auth.logins import Login, Logins, ServerLogin, renewed, revoke
from hikidashi.gateway.server import GatewayMCPServer
from hikidashi.servers.config import McpServer


@pytest.fixture
def logins(tmp_path: Path) -> Logins:
    return Logins(tmp_path / "state" / "logins")


Browse = Callable[[str], Coroutine[Any, Any, Any]]


def start(tasks: TaskGroup, by: Browse, url: str) -> None:
    tasks.start_soon(by, url)


async def agreed(server: McpServer, client: KnownClient | None = None, *, by: Browse = browse) -> Login:
    """The login of a person who agrees."""
    failed: list[LoginError] = []
    async with anyio.create_task_group() as tasks:
        try:
            return await log_in(server, show=lambda url: start(tasks, by, url), client=client, seconds=20)
        except LoginError as error:
            failed.append(error)
    raise failed[0]


async def until(gateway: Gateway, server: str, status: str) -> str:
    """What the gateway says of a server once it is in this state."""
    with anyio.fail_after(20):
        while (state := gateway.upstreams[server].state).status != status:
            await anyio.sleep(0.01)
    return f"{state.reason}. {state.remedy}"


# Logging in


@pytest.mark.parametrize("transport", ["http", "sse"])
async def test_a_person_logs_in_and_the_server_lists_its_tools(
    transport: Literal["http", "sse"], logins: Logins
) -> None:
    async with server_with_login(transport=transport) as (server, authorization):
        authorization.issuer_said = f"{authorization.url}/"
        login = await agreed(server)
        logins.write(server, login)
        tools = await tools_with_login(server, logins, seconds=20)
        sent = next(iter(authorization.clients.values()))

    assert tools == 1
    assert (login.url, login.token_endpoint) == (server.url, f"{authorization.url}/token")
    assert login.resource == server.url
    assert (sent.client_name, sent.token_endpoint_auth_method) == ("hikidashi", "none")
    assert login.access_token not in repr(login)


def by_hand(authorization: Authorization) -> KnownClient:
    """An application that a person registered at the authorization server."""
    port = free_port()
    described: dict[str, Any] = {
        "client_id": "by-hand",
        "client_secret": "sk-test",
        "redirect_uris": [f"http://127.0.0.1:{port}/callback"],
        "token_endpoint_auth_method": "client_secret_post",
        "scope": "tools",
    }
    authorization.clients["by-hand"] = OAuthClientInformationFull.model_validate(described)
    return KnownClient(id="by-hand", secret="sk-test", port=port)


async def test_a_client_that_was_registered_by_hand_is_used_where_none_registers_itself(logins: Logins) -> None:
    async with server_with_login(registers=False) as (server, authorization):
        with pytest.raises(LoginError, match="--client-id") as refused:
            await agreed(server)
        login = await agreed(server, by_hand(authorization))
        logins.write(server, login)
        again = await renewed(logins, server, login.access_token)

    assert "Registration failed: 404" in str(refused.value)
    assert login.client["client_id"] == "by-hand"
    assert "sk-test" not in repr(login)
    assert again is not None
    assert again.access_token != login.access_token


async def test_a_login_that_is_refused_or_forged_fails_with_the_reason() -> None:
    async with server_with_login() as (server, authorization):
        authorization.refuses = "access_denied"
        with pytest.raises(LoginError, match="the login was refused: access_denied"):
            await agreed(server)
        authorization.refuses, authorization.issuer_said = "", "https://other.example"
        with pytest.raises(LoginError, match="iss mismatch"):
            await agreed(server)
        with pytest.raises(LoginError, match="the login was not completed within"):
            await log_in(server, show=lambda _: None, seconds=0.5)

    assert authorization.access == {}


async def test_a_client_id_metadata_document_is_the_id_where_the_authorization_server_takes_it() -> None:
    document = "https://hikidashi.example/client.json"
    known = KnownClient(metadata_url=document, port=free_port())
    async with server_with_login() as (server, authorization):
        back = [f"http://127.0.0.1:{known.port}/callback"]
        described: dict[str, Any] = {"client_id": document, "redirect_uris": back, "token_endpoint_auth_method": "none"}
        authorization.clients[document] = OAuthClientInformationFull.model_validate({**described, "scope": "tools"})
        authorization.metadata = {"client_id_metadata_document_supported": True}
        login = await agreed(server, known)

    assert login.client["client_id"] == document
    assert list(authorization.clients) == [document]


@pytest.mark.parametrize(
    ("metadata", "said"),
    [
        ({"authorization_endpoint": "http://login.example/authorize"}, "is not https: http://login.example"),
        ({"token_endpoint": "http://login.example/token"}, "is not https: http://login.example"),
        ({"issuer": "https://other.example"}, "issuer mismatch"),
        ({"authorization_response_iss_parameter_supported": True}, "missing iss"),
    ],
)
async def test_an_authorization_server_that_cannot_be_trusted_is_refused(metadata: dict[str, Any], said: str) -> None:
    async with server_with_login() as (server, authorization):
        authorization.metadata = metadata
        with pytest.raises(LoginError, match=said):
            await agreed(server)

    assert authorization.access == {}


async def test_an_answer_of_another_login_is_refused_and_the_right_one_still_counts() -> None:
    forged: list[int] = []

    async def attacked(url: str) -> None:
        back = parse_qs(urlsplit(url).query)["redirect_uri"][0]
        async with httpx2.AsyncClient() as http:
            wrong = ("?code=x&state=y", "?code=x", "?error=x", "?state=%FF", "/more?code=x", "")
            forged.extend([(await http.get(back + one)).status_code for one in wrong])
            forged.append((await http.post(f"{back}?code=x&state=y")).status_code)
        assert (await browse(url)).text.startswith("You are logged in.")

    async with server_with_login() as (server, _):
        login = await agreed(server, by=attacked)

    assert forged == [400] * 7
    assert login.access_token.startswith("access-")


@pytest.mark.parametrize(
    ("server", "said"),
    [
        (McpServer(name="a", transport="stdio", command="x"), "it is a process"),
        (McpServer(name="a", transport="http", url="http://127.0.0.1:9", headers={"authorization": "Bearer x"}), "key"),
        (McpServer(name="a", transport="http", url="http://127.0.0.1:9/mcp"), "ConnectError|connection|attempts"),
    ],
)
async def test_a_server_that_takes_no_login_says_so(server: McpServer, said: str) -> None:
    with pytest.raises(LoginError, match=f"{said}|Authorization header"):
        await log_in(server, show=lambda _: None, seconds=10)


# In the gateway


async def test_a_server_that_needs_a_login_is_shown_with_the_remedy_and_works_once_the_person_logs_in(
    logins: Logins, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    other = program(tmp_path, "modern", MODERN)
    async with (
        server_with_login() as (server, authorization),
        Gateway([server, other], options=GatewayOptions(search="on"), logins=logins) as gateway,
        Client(GatewayMCPServer(gateway)) as client,
    ):
        shown = await until(gateway, "behind", "failed")
        found = text_of(await client.call_tool("search_tools", {"query": "secret number of behind"}))
        logins.write(server, first := await agreed(server))
        await until(gateway, "behind", "ready")
        called = text_of(await client.call_tool("call_tool", {"name": "behind__secret_number"}))

        # The access token ends: it is renewed, and the call does not notice.
        authorization.access.clear()
        renewed_call = text_of(await client.call_tool("call_tool", {"name": "behind__secret_number"}))
        kept = logins.read(server)

        # The whole login ends: the call says so, and the other server is not hurt.
        authorization.access.clear()
        authorization.refresh.clear()
        refused = await client.call_tool("call_tool", {"name": "behind__secret_number"})
        ended = await until(gateway, "behind", "failed")
        added = text_of(await client.call_tool("call_tool", {"name": "modern__add", "arguments": {"a": 1, "b": 2}}))

        # The person logs in again, and then out.
        logins.write(server, await agreed(server))
        await until(gateway, "behind", "ready")
        again = text_of(await client.call_tool("call_tool", {"name": "behind__secret_number"}))
        logins.delete(server)
        with anyio.fail_after(20):
            while "401" not in await until(gateway, "behind", "failed"):
                await anyio.sleep(0.01)

    remedy = "Log in: hikidashi serve login behind"
    assert "401 Unauthorized" in shown
    assert remedy in shown
    assert remedy in found
    assert (called, renewed_call, again, added) == ("42", "42", "42", "3")
    assert kept is not None
    assert (kept.id, kept.access_token == first.access_token) == (first.id, False)
    assert authorization.reuse == 0
    assert refused.is_error
    assert remedy in text_of(refused)
    assert "the login could not be renewed (invalid_grant)" in ended
    for secret in (first.access_token, first.refresh_token, kept.access_token, kept.refresh_token):
        assert secret is not None
        assert secret not in caplog.text


async def test_a_token_that_is_about_to_end_is_renewed_before_it_is_sent(logins: Logins) -> None:
    async with server_with_login() as (server, authorization):
        authorization.lifetime = 0
        logins.write(server, await agreed(server))
        authorization.lifetime = 3_600
        before = authorization.renewals
        async with Gateway([server], options=GatewayOptions(search="off"), logins=logins) as gateway:
            await until(gateway, "behind", "ready")
            async with Client(GatewayMCPServer(gateway)) as client:
                called = text_of(await client.call_tool("behind__secret_number", {}))

    assert (called, authorization.renewals - before, authorization.reuse) == ("42", 1, 0)


RENEW = """
import asyncio, sys
from pathlib import Path
from hikidashi.gateway.auth.logins import Logins
from hikidashi.gateway.auth.logins import renewed
from hikidashi.servers.config import McpServer

url, folder, stale = sys.argv[1:]
server = McpServer(name="behind", transport="http", url=url)
sys.stdin.readline()
print(asyncio.run(renewed(Logins(Path(folder)), server, stale)).access_token)
"""


@pytest.mark.soak
async def test_processes_that_renew_at_once_do_so_once_and_lose_no_token(logins: Logins, tmp_path: Path) -> None:
    async with server_with_login() as (server, authorization):
        login = await agreed(server)
        logins.write(server, login)
        folder = str(tmp_path / "state" / "logins")
        command = [sys.executable, "-c", RENEW, server.url, folder, login.access_token]
        processes = [await anyio.open_process(command, stderr=None) for _ in range(3)]
        given: list[str] = []

        async def run(process: Any) -> None:
            await process.stdin.send(b"\n")
            given.append((await process.stdout.receive()).decode().strip())
            await process.wait()

        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                for process in processes:
                    tasks.start_soon(run, process)
        for process in processes:
            await process.aclose()
        after = logins.read(server)
        assert after is not None
        last = await renewed(logins, server, after.access_token)

    assert given == [after.access_token] * 3
    assert (authorization.renewals, authorization.reuse) == (2, 0)
    assert last is not None
    assert last.access_token in authorization.access


async def test_an_authorization_server_that_is_away_ends_no_login(logins: Logins) -> None:
    async with server_with_login() as (server, _):
        login = replace(await agreed(server), token_endpoint="http://127.0.0.1:9/token")
        logins.write(server, login)
        after = await renewed(logins, server, login.access_token)

    assert after == login


async def test_a_token_goes_to_its_own_server_only(logins: Logins) -> None:
    server = McpServer(name="a", transport="http", url="https://tools.example/mcp")
    logins.write(server, Login(url=server.url, client={}, tokens={"access_token": "access-1"}, token_endpoint="x"))
    auth = ServerLogin(logins, server)
    await auth.begin()
    heard: list[tuple[str, str | None]] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        heard.append((str(request.url), request.headers.get("authorization")))
        if request.url.path == "/mcp" and request.url.host == "tools.example":
            return httpx2.Response(307, headers={"Location": "https://evil.example/mcp"})
        return httpx2.Response(200)

    async with httpx2.AsyncClient(auth=auth, transport=httpx2.MockTransport(answer), follow_redirects=True) as http:
        await http.post("https://tools.example/mcp")
        for elsewhere in ("https://evil.example/", "http://tools.example/", "https://tools.example:8443/"):
            await http.post(elsewhere)
    other = McpServer(name="a", transport="http", url="https://evil.example/mcp")

    assert heard == [
        ("https://tools.example/mcp", "Bearer access-1"),
        ("https://evil.example/mcp", None),
        ("https://evil.example/", None),
        ("http://tools.example/", None),
        ("https://tools.example:8443/", None),
    ]
    assert logins.read(other) is None


async def test_tokens_are_revoked_where_the_server_offers_that() -> None:
    async with server_with_login() as (server, authorization):
        login = await agreed(server, by_hand(authorization))  # the package revokes for clients with a secret only
        assert authorization.access
        assert await revoke(login)
        assert authorization.access == {}
        assert not await revoke(replace(login, revocation_endpoint=None))


# What is kept


SERVER = McpServer(name="a", transport="http", url="https://tools.example/mcp")
KEPT = Login(
    url=SERVER.url,
    client={"client_id": "c", "client_secret": "sk-test"},
    tokens={"access_token": "access-1", "refresh_token": "refresh-1"},
    token_endpoint="https://login.example/token",
)


def test_without_a_keyring_a_login_is_in_a_file_for_its_owner_only(logins: Logins, tmp_path: Path) -> None:
    logins.write(SERVER, KEPT)
    (file,) = (tmp_path / "state" / "logins").glob("*.json")

    assert logins.read(SERVER) == KEPT
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    logins.delete(SERVER)
    assert (logins.read(SERVER), logins.id_of(SERVER), list(file.parent.glob("*.json"))) == (None, None, [])


@pytest.fixture
def vault() -> Generator[Any]:
    before = keyring.get_keyring()

    # Not outside: the package would find it, and take it for the keyring of this machine.
    class Vault(keyring.backend.KeyringBackend):
        """A keyring in memory."""

        priority = 5  # pyright: ignore[reportAssignmentType]

        def __init__(self) -> None:
            super().__init__()
            self.kept: dict[tuple[str, str], str] = {}
            self.locked = False

        def set_password(self, service: str, username: str, password: str) -> None:
            if self.locked:
                raise RuntimeError("it is locked")
            self.kept[service, username] = password

        def get_password(self, service: str, username: str) -> str | None:
            if self.locked:
                raise RuntimeError("it is locked")
            return self.kept.get((service, username))

        def delete_password(self, service: str, username: str) -> None:
            del self.kept[service, username]

    kept = Vault()
    keyring.set_keyring(kept)
    yield kept
    keyring.set_keyring(before)


def test_with_a_keyring_no_file_has_a_secret(logins: Logins, vault: Any, tmp_path: Path) -> None:
    logins.write(SERVER, KEPT)
    (file,) = (tmp_path / "state" / "logins").glob("*.json")

    assert logins.read(SERVER) == KEPT
    assert not any(secret in file.read_text() for secret in ("access-1", "refresh-1", "sk-test"))
    assert logins.id_of(SERVER) == KEPT.id
    vault.locked = True
    assert logins.read(SERVER) is None
    logins.write(SERVER, KEPT)
    assert logins.read(SERVER) == KEPT
    vault.locked = False
    logins.delete(SERVER)
    assert vault.kept == {}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(key=st.sampled_from(["version", "kept", "secrets", "url", "id", "expires_at", "new", "name"]), value=JSON)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_file_that_somebody_changed_is_a_login_or_none(logins: Logins, tmp_path: Path, key: str, value: Any) -> None:
    logins.write(SERVER, KEPT)
    (file,) = (tmp_path / "state" / "logins").glob("*.json")
    file.write_text(json.dumps({**json.loads(file.read_text()), key: value}))
    login = logins.read(SERVER)
    logins.id_of(SERVER)

    assert login is None or (login.url == SERVER.url and isinstance(login.has_expired, bool))
    file.write_text(json.dumps(value))
    assert logins.read(SERVER) is None
