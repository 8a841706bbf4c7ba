"""The gateway as an OAuth resource server: real tokens of a real issuer, and those that somebody made up."""

from __future__ import annotations

import base64
import json
import logging
import time
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import anyio
import httpx2
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp import MCPError, types
from mcp.client import Client
from mcp.client.session import ClientRequestContext
from mcp.client.streamable_http import streamable_http_client
from tests.gateway.faulty import STDIO
from tests.gateway.issuer import AUDIENCE, EC_KEY, ED_KEY, OTHER_KEY, RSA_KEY, Issuer, public_jwk
from tests.gateway.servers import LEGACY, program
from tests.mcp_support import served

from hikidashi.gateway import Gateway, GatewayOptions, GatewayServer, OAuthOptions, ServerOptions, http_app
from hikidashi.gateway.auth.bearer import InvalidTokenError, JwtVerifier, KeysUnavailableError, SigningKeys

URL = "http://127.0.0.1/mcp"
LIST = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
ACCEPT = {"Accept": "application/json, text/event-stream"}


@pytest.fixture
def issuer() -> Generator[Issuer]:
    with Issuer() as running:
        yield running


def options_of(issuer: Issuer, **more: Any) -> OAuthOptions:
    given: dict[str, Any] = {"issuer": issuer.issuer, "audience": AUDIENCE, **more}
    return OAuthOptions(**given)


@pytest.fixture
def verifier(issuer: Issuer) -> JwtVerifier:
    return JwtVerifier(options_of(issuer))


@asynccontextmanager
async def asking(gateway: Gateway, **options: Any) -> AsyncGenerator[httpx2.AsyncClient]:
    app = http_app(gateway, **options)
    async with app.router.lifespan_context(app), httpx2.AsyncClient(transport=httpx2.ASGITransport(app)) as http:
        yield http


async def answer_to(token: str | None, options: OAuthOptions, *, more: dict[str, str] | None = None) -> httpx2.Response:
    async with Gateway([]) as gateway, asking(gateway, oauth=options) as http:
        headers = ACCEPT | (more or {}) | ({} if token is None else {"Authorization": f"Bearer {token}"})
        return await http.post(URL, json=LIST, headers=headers)


@asynccontextmanager
async def mcp_at(gateway: Gateway, issuer: Issuer) -> AsyncGenerator[str]:
    async with served(http_app(gateway, oauth=options_of(issuer))) as url:
        yield f"{url}/mcp"


@asynccontextmanager
async def client_with(
    token: str, url: str, mode: Literal["auto", "legacy"] = "auto", **more: Any
) -> AsyncGenerator[Client]:
    headers = {"Authorization": f"Bearer {token}", **more.pop("headers", {})}
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode, **more) as client,
    ):
        yield client


# Tokens that are valid


@pytest.mark.parametrize(
    ("path", "openid"), [("", False), ("", True), ("/tenant/one", False), ("/tenant/one", True), ("/", False)]
)
async def test_the_keys_of_an_issuer_are_found_by_its_metadata_of_either_kind(path: str, openid: bool) -> None:
    with Issuer(path=path, openid=openid) as issuer:
        issuer.path = path if path != "/" else ""
        options = OAuthOptions(issuer=issuer.issuer, audience=AUDIENCE)
        access = await JwtVerifier(options).verify(issuer.token())

    assert (access.subject, access.client_id, access.claims) == ("ann", "ann", {"iss": options.issuer})


@pytest.mark.parametrize(
    ("key", "algorithm"),
    [(RSA_KEY, "RS256"), (RSA_KEY, "RS512"), (RSA_KEY, "PS256"), (EC_KEY, "ES256"), (ED_KEY, "EdDSA")],
)
async def test_asymmetric_signatures_of_every_kind_are_accepted(key: Any, algorithm: str) -> None:
    with Issuer([public_jwk(one, name) for name, one in (("r", RSA_KEY), ("e", EC_KEY), ("d", ED_KEY))]) as issuer:
        verifier = JwtVerifier(options_of(issuer))
        named = {RSA_KEY: "r", EC_KEY: "e", ED_KEY: "d"}[key]
        for headers in ({"kid": named}, {}):
            access = await verifier.verify(issuer.token(key, algorithm=algorithm, headers=headers))
            assert access.subject == "ann"


@pytest.mark.parametrize(
    "claims",
    [
        {"aud": [AUDIENCE]},
        {"aud": ["https://other.example", AUDIENCE]},
        {"client_id": "app"},
        {"azp": "app"},
        {"nbf": 5},
        {"exp": -5},
    ],
)
async def test_claims_that_the_standards_allow_are_accepted(claims: dict[str, Any], issuer: Issuer) -> None:
    now = int(time.time())
    dated = {name: value + now if name in ("nbf", "exp") else value for name, value in claims.items()}
    access = await JwtVerifier(options_of(issuer)).verify(issuer.token(**dated))

    assert access.client_id == ("app" if {"client_id", "azp"} & claims.keys() else "ann")


@pytest.mark.parametrize("claims", [{"scope": "b a"}, {"scp": ["a", "b"]}, {"scp": "a b"}])
async def test_scopes_come_in_the_ways_that_issuers_write_them(claims: dict[str, Any], issuer: Issuer) -> None:
    answer = await answer_to(issuer.token(**claims), options_of(issuer, scopes=("a", "b")))

    assert answer.status_code == 200


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_official_client_works_over_http_with_a_token(
    mode: Literal["auto", "legacy"], issuer: Issuer, tmp_path: Path
) -> None:
    server = program(tmp_path, "legacy", LEGACY)
    async with (
        Gateway([server], options=GatewayOptions(search="off")) as gateway,
        mcp_at(gateway, issuer) as url,
        client_with(issuer.token(), url, mode) as client,
    ):
        listed = await client.list_tools()
        read = await client.call_tool("legacy__read", {})

    assert [tool.name for tool in listed.tools][:2] == ["legacy__ask", "legacy__read"]
    assert listed.cache_scope == "private" or mode == "legacy"
    assert not read.is_error


# Tokens that are not


def unsigned(claims: dict[str, Any], header: dict[str, Any], signature: bytes = b"") -> str:
    parts = (json.dumps(header).encode(), json.dumps(claims).encode(), signature)
    return ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts)


async def test_tokens_that_somebody_made_up_are_refused(issuer: Issuer, caplog: pytest.LogCaptureFixture) -> None:
    public = RSA_KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    header, body, signature = issuer.token().split(".")
    with_public_key = unsigned(issuer.claims(), {"alg": "HS256", "kid": "one", "typ": "JWT"})
    signing = with_public_key.rpartition(".")[0]
    hmac_with_public_key = jwt.api_jws.PyJWS().get_algorithm_by_name("HS256")
    signed = hmac_with_public_key.sign(signing.encode(), public)
    now = int(time.time())
    hostile: dict[str, tuple[str, str]] = {
        "alg none": (unsigned(issuer.claims(), {"alg": "none", "kid": "one"}), "algorithm"),
        "alg NONE": (unsigned(issuer.claims(), {"alg": "NONE", "kid": "one"}), "algorithm"),
        "alg list": (unsigned(issuer.claims(), {"alg": ["RS256"], "kid": "one"}), "algorithm"),
        "no alg": (unsigned(issuer.claims(), {"kid": "one"}), "malformed|algorithm"),
        "HS256 with the public key": (
            f"{signing}.{base64.urlsafe_b64encode(signed).rstrip(b'=').decode()}",
            "algorithm",
        ),
        "another key": (issuer.token(OTHER_KEY), "signature"),
        "an unknown key": (issuer.token(OTHER_KEY, headers={"kid": "two"}), "unknown key"),
        "a key of another kind": (issuer.token(EC_KEY, algorithm="ES256"), "unknown key"),
        "a key in the header": (
            issuer.token(OTHER_KEY, headers={"kid": "two", "jwk": public_jwk(OTHER_KEY, "two")}),
            "unknown key",
        ),
        "an address of keys in the header": (
            issuer.token(OTHER_KEY, headers={"kid": "two", "jku": f"{issuer.url}/keys"}),
            "unknown key",
        ),
        "a kid that is no text": (unsigned(issuer.claims(), {"alg": "RS256", "kid": ["one"]}), "malformed"),
        "a path as kid": (issuer.token(OTHER_KEY, headers={"kid": "../../dev/null"}), "unknown key"),
        "expired": (issuer.token(exp=now - 3600), "expired"),
        "never expires": (issuer.token(exp=None), "lacks"),
        "endless": (issuer.token(exp=float("inf")), "malformed"),
        "not yet valid": (issuer.token(nbf=now + 3600), "not valid yet"),
        "of the future": (issuer.token(iat=now + 3600), "not valid yet"),
        "another audience": (issuer.token(aud="https://other.example"), "audience"),
        "an audience that begins the same": (issuer.token(aud=AUDIENCE + "/"), "audience"),
        "no audience": (issuer.token(aud=None), "lacks"),
        "another issuer": (issuer.token(iss="https://other.example"), "issuer"),
        "the issuer with a slash": (issuer.token(iss=issuer.issuer + "/"), "issuer"),
        "no subject": (issuer.token(sub=None), "lacks"),
        "an empty subject": (issuer.token(sub=""), "subject"),
        "bound to a key": (issuer.token(cnf={"jkt": "x"}), "cnf"),
        "a logout token": (issuer.token(headers={"kid": "one", "typ": "logout+jwt"}), "kind"),
        "critical": (issuer.token(headers={"kid": "one", "crit": ["x"], "x": 1}), "kind|malformed"),
        "changed": (f"{header}.{body[:-4]}AAAA.{signature}", "signature|malformed"),
        "without a signature": (f"{header}.{body}.", "signature|malformed"),
        "encrypted": (f"{header}.{body}.{signature}.x.y", "not a signed JWT"),
        "huge": (issuer.token(more="x" * 20_000), "more than 16,384"),
        "no token": ("abc", "not a signed JWT"),
        "not text": ("ä.ö.ü", "not a signed JWT"),
    }
    verifier = JwtVerifier(options_of(issuer))
    caplog.set_level(logging.DEBUG)
    for token, reason in hostile.values():
        with pytest.raises(InvalidTokenError, match=reason):
            await verifier.verify(token)
        assert len(token) < 20 or token not in caplog.text
    assert issuer.asked.count("/keys") == 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@given(claim=st.sampled_from(["iss", "aud", "sub", "exp", "nbf", "iat", "scope", "scp", "cnf", "jti"]), value=JSON)
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_a_claim_of_any_kind_is_judged_and_fails_nothing(
    claim: str, value: Any, issuer: Issuer, verifier: JwtVerifier
) -> None:
    with_claim = {**issuer.claims(), claim: value}
    token = jwt.api_jws.encode(json.dumps(with_claim).encode(), RSA_KEY, "RS256", {"kid": "one"})
    try:
        access = await verifier.verify(token)
    except InvalidTokenError:
        return
    said = with_claim["aud"]
    assert with_claim["iss"] == issuer.issuer
    assert AUDIENCE in (said if isinstance(said, list) else [said])
    assert (access.subject, with_claim["sub"]) == (with_claim["sub"], access.subject)
    assert float(with_claim["exp"]) > time.time() - 60


@given(token=st.text(max_size=60) | st.from_regex(r"[\w-]{0,30}\.[\w-]{0,30}\.[\w-]{0,30}", fullmatch=True))
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_any_text_as_a_token_is_refused(token: str, verifier: JwtVerifier) -> None:
    with pytest.raises(InvalidTokenError):
        await verifier.verify(token)


# Keys


async def test_a_new_key_of_the_issuer_is_found_and_unknown_ones_do_not_have_it_asked_all_the_time(
    issuer: Issuer,
) -> None:
    now = 1_000.0
    verifier = JwtVerifier(options_of(issuer), SigningKeys(options_of(issuer), clock=lambda: now))
    await verifier.verify(issuer.token())
    issuer.keys = [public_jwk(OTHER_KEY, "two")]
    for _ in range(20):
        with pytest.raises(InvalidTokenError, match="unknown key"):
            await verifier.verify(issuer.token(OTHER_KEY, headers={"kid": "two"}))
    asked_at_once = issuer.asked.count("/keys")
    now += 60
    await verifier.verify(issuer.token(OTHER_KEY, headers={"kid": "two"}))
    with pytest.raises(InvalidTokenError, match="unknown key"):
        await verifier.verify(issuer.token())

    assert (asked_at_once, issuer.asked.count("/keys")) == (1, 2)


async def test_a_key_that_was_withdrawn_is_not_used_for_ever_and_an_issuer_that_is_away_does_not_stop_the_gateway(
    issuer: Issuer,
) -> None:
    now = 1_000.0
    verifier = JwtVerifier(options_of(issuer), SigningKeys(options_of(issuer), clock=lambda: now))
    token = issuer.token()
    await verifier.verify(token)
    issuer.status = 503
    now += 7_200
    await verifier.verify(token)
    issuer.status, issuer.keys = 200, []
    now += 7_200
    with pytest.raises(InvalidTokenError):
        await verifier.verify(token)
    issuer.keys = [public_jwk(RSA_KEY, "one")]
    now += 60
    await verifier.verify(token)
    issuer.status = 503
    now += 100_000
    with pytest.raises(KeysUnavailableError):
        await verifier.verify(token)


WEAK = rsa.generate_private_key(public_exponent=65_537, key_size=1_024)


@pytest.mark.parametrize(
    "key",
    [
        public_jwk(RSA_KEY, "one", use="enc"),
        public_jwk(RSA_KEY, "one", alg="PS256"),
        public_jwk(RSA_KEY, "one", key_ops=["encrypt"]),
        public_jwk(WEAK, "one"),
        {"kty": "RSA", "kid": "one", "n": 5, "e": []},
        {"kty": "oct", "kid": "one", "k": "c2VjcmV0"},
        {"kid": "one"},
    ],
)
@pytest.mark.filterwarnings("ignore::jwt.warnings.InsecureKeyLengthWarning")
async def test_keys_that_are_not_for_the_signature_of_a_token_are_not_used(key: dict[str, Any]) -> None:
    signing = WEAK if key.get("n") == public_jwk(WEAK)["n"] else RSA_KEY
    with Issuer([key]) as issuer, pytest.raises(InvalidTokenError, match="unknown key"):
        await JwtVerifier(options_of(issuer)).verify(issuer.token(signing))


@pytest.mark.parametrize(
    "fault",
    [
        {"answer": b"no json"},
        {"answer": b"[]"},
        {"answer": b'{"keys": {}}'},
        {"answer": b'{"keys": [' + b" " * 600_000 + b"]}"},
        {"status": 302},
        {"metadata": {"issuer": "https://other.example"}},
        {"metadata": {"jwks_uri": "http://keys.example/keys"}},
        {"metadata": {"jwks_uri": 5}},
    ],
)
async def test_an_issuer_without_usable_keys_is_no_reason_to_let_anybody_in(
    fault: dict[str, Any], issuer: Issuer, caplog: pytest.LogCaptureFixture
) -> None:
    for name, value in fault.items():
        setattr(issuer, name, value)
    answer = await answer_to(issuer.token(), options_of(issuer))

    assert (answer.status_code, answer.json()["error"]) == (503, "temporarily_unavailable")
    assert f"the keys of {issuer.issuer} cannot be fetched" in caplog.text


async def test_keys_come_from_where_the_person_says(issuer: Issuer) -> None:
    options = OAuthOptions(issuer="https://elsewhere.example", audience=AUDIENCE, jwks_url=f"{issuer.url}/keys")
    access = await JwtVerifier(options).verify(issuer.token(iss="https://elsewhere.example"))

    assert access.subject == "ann"
    assert issuer.asked == ["/keys"]


# What clients are told


async def test_a_request_without_a_valid_token_is_told_where_to_get_one(issuer: Issuer) -> None:
    options = options_of(issuer, scopes=("tools",))
    metadata = 'resource_metadata="https://gateway.example/.well-known/oauth-protected-resource/mcp"'
    none = await answer_to(None, options)
    wrong = await answer_to(issuer.token(OTHER_KEY), options)
    basic = await answer_to(None, options, more={"Authorization": "Basic YTpi"})
    short = await answer_to(issuer.token(scope="other"), options)

    assert (none.status_code, none.headers["www-authenticate"]) == (401, f'Bearer {metadata}, scope="tools"')
    assert wrong.status_code == 401
    assert wrong.headers["www-authenticate"] == (
        f'Bearer error="invalid_token", error_description="The signature is wrong", {metadata}, scope="tools"'
    )
    assert basic.status_code == 401
    assert short.status_code == 403
    assert short.headers["www-authenticate"] == (
        f'Bearer error="insufficient_scope", error_description="Required scope: tools", {metadata}, scope="tools"'
    )


async def test_the_metadata_of_the_gateway_is_public_and_names_the_issuer(issuer: Issuer) -> None:
    for more, resource in (
        ({}, AUDIENCE),
        ({"audience": "api://gateway"}, URL),
        ({"audience": "api://gateway", "resource": "https://tools.example/team/mcp"}, "https://tools.example/team/mcp"),
    ):
        options = options_of(issuer, scopes=("tools",), **more)
        challenge = (await answer_to(None, options)).headers["www-authenticate"]
        place = challenge.partition('resource_metadata="')[2].partition('"')[0]
        async with Gateway([]) as gateway, asking(gateway, oauth=options) as http:
            path = httpx2.URL(place).path
            described = (await http.get(f"http://127.0.0.1{path}")).json()
            elsewhere = await http.get("http://127.0.0.1/other")

        assert described == {
            "resource": resource,
            "authorization_servers": [issuer.issuer],
            "bearer_methods_supported": ["header"],
            "resource_name": "hikidashi",
            "scopes_supported": ["tools"],
        }
        assert elsewhere.status_code == 401


async def test_two_tokens_in_one_request_are_refused(issuer: Issuer) -> None:
    async with Gateway([]) as gateway, asking(gateway, oauth=options_of(issuer)) as http:
        twice = [("Authorization", f"Bearer {issuer.token()}"), ("Authorization", "Bearer x")]
        answer = await http.post(URL, json=LIST, headers=[*ACCEPT.items(), *twice])

    assert answer.status_code == 400


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"issuer": "http://issuer.example"}, "use https"),
        ({"issuer": "issuer.example"}, "is not an http"),
        ({"issuer": "https://issuer.example/?a=b"}, "leave out what follows"),
        ({"issuer": "https://me:pass@issuer.example"}, "has a name or a password"),
        ({"audience": ""}, "`audience` is ''"),
        ({"jwks_url": "http://keys.example"}, "use https"),
        ({"resource": "ftp://x"}, "is not an http"),
        ({"scopes": ("a b",)}, "one word"),
        ({"scopes": ('"',)}, "one word"),
    ],
)
def test_options_that_would_not_be_safe_are_refused(given: dict[str, Any], said: str) -> None:
    options: dict[str, Any] = {"issuer": "https://issuer.example", "audience": AUDIENCE, **given}
    with pytest.raises(ValueError, match=said) as refused:
        OAuthOptions(**options)
    assert "pass@" not in str(refused.value)


async def test_a_shared_token_and_access_tokens_are_not_mixed(issuer: Issuer) -> None:
    with pytest.raises(ValueError, match="use one of them"):
        http_app(Gateway([]), token="sk-test", oauth=options_of(issuer))


# Whose things they are


async def test_what_is_kept_for_one_principal_is_not_for_another(issuer: Issuer, tmp_path: Path) -> None:
    server = GatewayServer(program(tmp_path, "legacy", LEGACY), ServerOptions(result_characters=1_000))
    ann, bob = issuer.token(), issuer.token(sub="bob")
    other_app = issuer.token(client_id="other")

    async def never(*_: Any) -> Any:
        raise AssertionError("only the rounds are wanted")

    async with (
        Gateway([server], options=GatewayOptions(search="on")) as gateway,
        mcp_at(gateway, issuer) as url,
        client_with(ann, url, elicitation_callback=never) as anns,
        client_with(bob, url, elicitation_callback=never) as bobs,
        client_with(other_app, url, elicitation_callback=never) as others,
    ):
        await anns.list_tools()
        # a result that was cut
        cut = await anns.call_tool("call_tool", {"name": "legacy__long", "arguments": {}})
        handle = str(cut.content).partition('handle="')[2].partition('"')[0]
        mine = await anns.call_tool("read_result", {"handle": handle})
        theirs = [await one.call_tool("read_result", {"handle": handle}) for one in (bobs, others)]
        # a call that waits
        asked = await anns.session.call_tool("legacy__ask", {}, allow_input_required=True)
        assert isinstance(asked, types.InputRequiredResult)
        answers: dict[str, Any] = {key: types.ElicitResult(action="decline") for key in asked.input_requests or {}}
        for one in (bobs, others):
            with pytest.raises(MCPError, match="Invalid or expired requestState"):
                await one.session.call_tool(
                    "legacy__ask",
                    {},
                    input_responses=answers,
                    request_state=asked.request_state,
                    allow_input_required=True,
                )
        answered = await anns.session.call_tool(
            "legacy__ask",
            {},
            input_responses=answers,
            request_state=asked.request_state,
            allow_input_required=True,
        )

    assert "word word" in str(mine.content)
    for read in theirs:
        assert read.is_error
        assert "Nothing is kept under" in str(read.content)
    assert "decline" in str(answered)


async def test_a_session_is_of_the_principal_that_opened_it_and_so_is_what_they_allowed(
    issuer: Issuer, tmp_path: Path
) -> None:
    careful = GatewayServer(program(tmp_path, "legacy", LEGACY), ServerOptions(confirm=("read",)))
    asked: list[bool] = []
    sessions: list[str] = []

    async def allow(context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        assert isinstance(params, types.ElicitRequestFormParams)
        asked.append("remember" in params.requested_schema["properties"])
        return types.ElicitResult(action="accept", content={"remember": True})

    async def note(request: httpx2.Request) -> None:
        sessions.extend(request.headers.get_list("mcp-session-id"))

    async with (
        Gateway([careful], options=GatewayOptions(search="off")) as gateway,
        mcp_at(gateway, issuer) as url,
    ):
        headers = {"Authorization": f"Bearer {issuer.token()}"}
        async with (
            httpx2.AsyncClient(headers=headers, event_hooks={"request": [note]}) as http,
            Client(streamable_http_client(url, http_client=http), mode="legacy", elicitation_callback=allow) as anns,
        ):
            await anns.call_tool("legacy__read", {})
            await anns.call_tool("legacy__read", {})
            once = len(asked)
            bob = {"Authorization": f"Bearer {issuer.token(sub='bob')}", "Mcp-Session-Id": sessions[-1]}
            async with httpx2.AsyncClient(headers=ACCEPT | bob) as another:
                stolen = await another.post(url, json={"jsonrpc": "2.0", "id": 9, "method": "tools/list"})
            for token in (issuer.token(sub="bob"), issuer.token()):
                named = {"Mcp-Session-Id": sessions[-1]}
                async with client_with(token, url, headers=named, elicitation_callback=allow) as modern:
                    await modern.call_tool("legacy__read", {})

    assert stolen.status_code == 404
    assert (once, asked) == (1, [True, False, False])  # what has no session could remember nothing


async def test_a_shared_token_is_compared_whole_and_its_kind_in_any_case() -> None:
    async with Gateway([]) as gateway, asking(gateway, host="0.0.0.0", token="sk-test") as http:

        async def status(*values: str) -> int:
            headers = [*ACCEPT.items(), *(("Authorization", value) for value in values)]
            return (await http.post(URL, json=LIST, headers=headers)).status_code

        assert await status("Bearer sk-test") == await status("bearer sk-test") == 200
        for wrong in ("Bearer sk-tes", "Bearer sk-test2", "Bearer", "Bearer ", "Basic sk-test", "sk-test", ""):
            assert await status(wrong) == 401
        assert await status() == 401
        assert await status("Bearer sk-test", "Bearer sk-test") == 400


async def test_a_log_message_that_may_be_about_the_call_of_another_principal_reaches_nobody(
    issuer: Issuer, tmp_path: Path
) -> None:
    heard: list[str] = []
    during = -1

    async def hear(params: types.LoggingMessageNotificationParams) -> None:
        heard.append(params.level)

    more: dict[str, Any] = {"logging_callback": hear, "log_level": "debug"}
    async with (
        Gateway([program(tmp_path, "faulty", STDIO)], options=GatewayOptions(search="off")) as gateway,
        mcp_at(gateway, issuer) as url,
        client_with(issuer.token(), url) as anns,
        client_with(issuer.token(sub="bob"), url, **more) as bobs,
    ):
        with anyio.fail_after(30):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(anns.call_tool, "faulty__wait")
                while "wait" not in str((await bobs.call_tool("faulty__heard", {})).content):
                    await anyio.sleep(0.01)
                await bobs.call_tool("faulty__chatter", {})
                during = len(heard)
                tasks.cancel_scope.cancel()
            while "cancelled" not in str((await bobs.call_tool("faulty__heard", {})).content):
                await anyio.sleep(0.01)
            await bobs.call_tool("faulty__chatter", {})

    assert (during, len(heard)) == (0, 400)


async def test_a_log_message_outside_of_calls_reaches_only_the_principal_whose_calls_it_may_be_about(
    issuer: Issuer, tmp_path: Path
) -> None:
    heard: dict[str, list[Any]] = {"ann": [], "bob": []}

    def listening(who: str) -> dict[str, Any]:
        async def hear(params: types.LoggingMessageNotificationParams) -> None:
            heard[who].append(params.data)

        return {"mode": "legacy", "logging_callback": hear}

    async with (
        Gateway([program(tmp_path, "faulty", STDIO)], options=GatewayOptions(search="off")) as gateway,
        mcp_at(gateway, issuer) as url,
        client_with(issuer.token(sub="ann"), url, **listening("ann")) as ann,
        client_with(issuer.token(sub="bob"), url, **listening("bob")) as bob,
    ):

        async def have_the_server_say_something() -> None:
            one, no_more = (
                types.SubscribeRequestParams(uri="note://one"),
                types.UnsubscribeRequestParams(uri="note://one"),
            )
            await ann.session.send_request(types.SubscribeRequest(params=one), types.EmptyResult)
            await ann.session.send_request(types.UnsubscribeRequest(params=no_more), types.EmptyResult)

        with anyio.fail_after(30):
            await ann.list_tools()
            await bob.list_tools()
            await ann.call_tool("faulty__heard", {})
            await have_the_server_say_something()
            while not heard["ann"]:
                await anyio.sleep(0.01)
            await bob.call_tool("faulty__heard", {})
            await have_the_server_say_something()
            for client in (ann, bob):
                await client.call_tool("faulty__chatter", {})
            while not all("error 199" in said for said in heard.values()):
                await anyio.sleep(0.01)

    assert [said.count("outside of calls") for said in heard.values()] == [1, 0]
