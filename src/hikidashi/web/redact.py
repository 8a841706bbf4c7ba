"""Redaction of secrets: a server may repeat the key it was sent."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterable, Iterator
from urllib.parse import quote, quote_plus

from ..common.unicode import well_formed

HIDDEN = "***"
_SHORTEST = 6  # shorter secrets would match ordinary words
_NAMES_OF_SECRETS = ("_KEY", "_TOKEN", "_SECRET", "_PASSWORD")


def redacted(text: str, secrets: Iterable[str | None] = ()) -> str:
    """`text` with `***` for each of `secrets`, and for each key in the environment.

    Covers the forms in which servers repeat them: percent-encoded, base64, in another case, or cut off at the end.
    """
    # Longest first, so that no form leaves a remainder of another one.
    for form in sorted({form for secret in _all(secrets) for form in _forms(secret)}, key=len, reverse=True):
        text = _without(text, form)
    return text


def _all(secrets: Iterable[str | None]) -> Iterator[str]:
    of_environment = (value for name, value in os.environ.items() if name.endswith(_NAMES_OF_SECRETS))
    for secret in (*secrets, *of_environment):
        if secret and len(secret.strip()) >= _SHORTEST:
            yield secret.strip()


def _forms(secret: str) -> Iterator[str]:
    yield secret
    secret = well_formed(secret)  # an environment variable may hold bytes that are not UTF-8
    yield quote(secret, safe="")
    yield quote_plus(secret)
    raw = secret.encode()
    yield base64.b64encode(raw).decode().rstrip("=")
    yield base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _without(text: str, form: str) -> str:
    lowered, sought = text.lower(), form.lower()
    if len(lowered) != len(text):  # a few characters change length in lower case
        lowered, sought = text, form
    pieces: list[str] = []
    start = 0
    while (found := lowered.find(sought, start)) >= 0:
        pieces += [text[start:found], HIDDEN]
        start = found + len(form)
    rest = text[start:]
    # A text cut off inside a secret ends with a prefix of it.
    for length in range(min(len(form) - 1, len(rest)), max(_SHORTEST, len(form) // 2) - 1, -1):
        if lowered.endswith(sought[:length]):
            rest = rest[:-length] + HIDDEN
            break
    return "".join([*pieces, rest])
