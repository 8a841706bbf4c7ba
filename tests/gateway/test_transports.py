"""The gateway over HTTP: who may ask, under which name."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from mcp import types
from mcp.types import ClientCapabilities, ElicitationCapability, SamplingCapability

from hikidashi.gateway import Gateway
from hikidashi.gateway.callers import missing_capability
from hikidashi.gateway.http_server import http_app


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.0.0.2"])
async def test_a_page_that_reaches_this_machine_under_its_own_name_is_refused_on_every_loopback_address(
    host: str,
) -> None:
    own = f"[{host}]" if ":" in host else host
    async with Gateway([]) as gateway:
        app = http_app(gateway, host=host)
        async with app.router.lifespan_context(app), httpx.AsyncClient(transport=httpx.ASGITransport(app)) as http:

            async def status(name: str, origin: str | None = None) -> int:
                headers = {"Host": name, "Accept": "application/json, text/event-stream"}
                hello = types.InitializeRequestParams(
                    protocol_version="2025-11-25",
                    capabilities=ClientCapabilities(),
                    client_info=types.Implementation(name="test", version="1"),
                ).model_dump(mode="json", by_alias=True, exclude_none=True)
                body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
                given = headers if origin is None else {**headers, "Origin": origin}
                return (await http.post("http://gateway/mcp", json=body, headers=given)).status_code

            assert await status(f"{own}:8000") == 200
            assert await status(own, f"http://{own}") == 200
            assert await status("evil.example") == 421
            assert await status(f"{own}.evil.example:8000") == 421
            assert await status(f"{own}:8000", "http://evil.example") == 403


def test_a_client_is_asked_only_in_the_ways_that_it_declared() -> None:
    form = types.ElicitRequest(params=types.ElicitRequestFormParams(message="?", requested_schema={"type": "object"}))
    url = types.ElicitRequest(
        params=types.ElicitRequestURLParams(message="?", url="https://example.com", elicitation_id="1")
    )
    message = types.SamplingMessage(role="user", content=types.TextContent(text="?"))
    plain = types.CreateMessageRequestParams(messages=[message], max_tokens=1)
    tool = types.Tool(name="a", input_schema={"type": "object"})
    with_tools = types.CreateMessageRequest(params=plain.model_copy(update={"tools": [tool]}))
    only_forms = ClientCapabilities(elicitation=ElicitationCapability(), sampling=SamplingCapability())
    only_urls = ClientCapabilities(elicitation=ElicitationCapability(url=types.UrlElicitationCapability()))

    assert missing_capability(only_forms, form) is None
    assert missing_capability(only_forms, types.CreateMessageRequest(params=plain)) is None
    assert missing_capability(only_urls, url) is None
    cases: list[tuple[ClientCapabilities | None, types.InputRequest, dict[str, Any]]] = [
        (only_forms, url, {"elicitation": {"url": {}}}),
        (only_urls, form, {"elicitation": {}}),
        (only_forms, with_tools, {"sampling": {"tools": {}}}),
        (None, types.ListRootsRequest(), {"roots": {}}),
    ]
    for capabilities, request, needed in cases:
        refused = missing_capability(capabilities, request)
        assert refused is not None
        assert (refused.code, refused.data) == (-32021, {"requiredCapabilities": needed})
