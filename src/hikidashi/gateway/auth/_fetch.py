"""JSON from an authorization server: bounded in size and time, without redirects."""

from __future__ import annotations

import json
from typing import Any, cast

import anyio
import httpx2

__all__ = ["FetchError", "fetch_object"]

_SECONDS = 10.0
_MOST_BYTES = 512 * 1024


class FetchError(Exception):
    """It could not be fetched; the text says why, in one line."""


async def fetch_object(url: str) -> dict[str, Any]:
    """The JSON object at `url`; redirects are not followed.

    Raises:
        FetchError: there is none, it is too large, or it takes too long.
    """
    content = bytearray()
    try:
        with anyio.fail_after(_SECONDS):
            async with (
                httpx2.AsyncClient(follow_redirects=False, timeout=_SECONDS) as http,
                http.stream("GET", url, headers={"Accept": "application/json"}) as response,
            ):
                if response.status_code != 200:
                    raise FetchError(f"{url} answered {response.status_code}")
                async for piece in response.aiter_bytes():
                    content += piece
                    if len(content) > _MOST_BYTES:
                        raise FetchError(f"{url} sent more than {_MOST_BYTES:,} bytes")
    except TimeoutError as error:
        raise FetchError(f"{url} did not answer within {_SECONDS:g} s") from error
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise FetchError(f"{url} cannot be reached: {type(error).__name__}") from error
    try:
        value = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise FetchError(f"{url} sent no JSON") from error
    if not isinstance(value, dict):
        raise FetchError(f"{url} sent no JSON object")
    return cast("dict[str, Any]", value)
