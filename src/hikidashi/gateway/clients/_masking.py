"""Masks keys in what is shown: values of variables and headers, queries of URLs, whatever looks like a key."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, cast

__all__ = ["HIDDEN", "masked_args", "masked_file_text", "masked_text", "masked_url"]

HIDDEN = "***"

_NAME = r"[A-Za-z0-9_.-]*(?:key|token|secret|passw|pwd|auth|credential|bearer|cookie|session|dsn)[A-Za-z0-9_.-]*"
_SECRET_NAME = re.compile(_NAME, re.IGNORECASE)
_SECRET_OPTION = re.compile(rf"--?{_NAME}", re.IGNORECASE)
_PAIR_OPTION = re.compile(r"-e|-H|-u|--env|--headers?|--user", re.IGNORECASE)
_PAIR = re.compile(r"^([^=:]*[=:]\s*).+$", re.DOTALL)
_PAIR_IN_ONE = re.compile(r"^(--(?:env|headers?)=[^=:]*[=:]\s*).+$", re.DOTALL | re.IGNORECASE)
_ASSIGNED = re.compile(r"(^|[\s'\"])([A-Z_][A-Z0-9_]*=)(?!\*\*\*)([^\s'\"]+)")  # such as `docker run -e NAME=value`
_NAMED = re.compile(rf"(\b{_NAME}\s*[=:]\s*)(?:(Bearer|Basic|Token)\s+)?([^\s'\"&,]+)", re.IGNORECASE)
_LOGIN = re.compile(r"(\s(?:-u\s*|--user[\s=]+)[^\s'\":]+:)[^\s'\"]+")  # such as `curl -u NAME:password`
_SCHEME = re.compile(r"\b(Bearer|Basic|Token)\s+[^\s'\"]+", re.IGNORECASE)
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s'\"]+")
_PREFIX = re.compile(
    r"(?<![A-Za-z0-9_./@-])(?:(?:sk|pk|rk|tvly|xox[a-z]|xapp|gh[pousr]|github_pat|glpat|hf|npm|pypi|shpat|dop_v1|lin_api|"
    r"ntn|figd|sbp|whsec)[-_][A-Za-z0-9_.-]{3,}|(?:AKIA|ASIA|AIza|eyJ|ya29)[A-Za-z0-9_.-]{8,})"
)
_RANDOM = re.compile(r"(?<![A-Za-z0-9_./@+-])[A-Za-z0-9_+=-]{20,}(?![A-Za-z0-9_./@-])")
_HIDDEN_BELOW = frozenset({"env", "headers", "http_headers", "requestinit", "environment", "oauth", "auth"})
_SHORTEST = 4
_SHORTEST_ANYWHERE = 8  # shorter ones would mask words that are not keys


def masked_text(text: str) -> str:
    """`text` with `***` for whatever looks like a key."""
    text = _URL.sub(lambda found: masked_url(found[0]), text)
    text = _NAMED.sub(lambda found: f"{found[1]}{HIDDEN}", text)
    text = _ASSIGNED.sub(lambda found: f"{found[1]}{found[2]}{HIDDEN}", text)
    text = _LOGIN.sub(lambda found: f"{found[1]}{HIDDEN}", text)
    text = _SCHEME.sub(lambda found: f"{found[1]} {HIDDEN}", text)
    text = _PREFIX.sub(HIDDEN, text)
    return _RANDOM.sub(lambda found: HIDDEN if _looks_random(found[0]) else found[0], text)


def masked_args(args: list[str]) -> list[str]:
    """Arguments of a command; what follows an option such as `--api-key` is hidden whatever it looks like."""
    shown: list[str] = []
    for number, arg in enumerate(args):
        option = args[number - 1] if number else ""
        if _SECRET_OPTION.fullmatch(option) and not arg.startswith("-"):
            shown.append(HIDDEN)
        elif _PAIR_OPTION.fullmatch(option):  # `--header NAME: value`, `--env NAME=value`
            shown.append(_PAIR.sub(rf"\1{HIDDEN}", masked_text(arg)))
        else:
            shown.append(_PAIR_IN_ONE.sub(rf"\1{HIDDEN}", masked_text(arg)))
    return shown


def masked_url(url: str) -> str:
    """A URL without its user, the values of its query and parts of its path that look like keys."""
    address, mark, fragment = url.partition("#")
    address, question, query = address.partition("?")
    scheme, slashes, rest = address.partition("://")
    host, slash, path = rest.partition("/")
    if "@" in host:
        host = f"{HIDDEN}@{host.rpartition('@')[2]}"
    parts = [HIDDEN if _PREFIX.fullmatch(part) or _looks_random(part) else part for part in path.split("/")]
    pairs = [pair.partition("=") for pair in query.split("&")]
    query = "&".join(f"{name}={HIDDEN}" if equals else HIDDEN for name, equals, _ in pairs) if question else ""
    return f"{scheme}{slashes}{host}{slash}{'/'.join(parts)}{question}{query}{mark}{HIDDEN if fragment else ''}"


def masked_file_text(text: str, content: Any) -> str:
    """The text of a configuration, or a part of it, without the keys that the parsed `content` has."""
    secrets = {secret for secret in _secrets(content, hidden=False) if len(secret) >= _SHORTEST}
    for secret in sorted(secrets, key=len, reverse=True):
        for form in {secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}:
            for quote in ('"', "'"):
                text = text.replace(f"{quote}{form}{quote}", f"{quote}{HIDDEN}{quote}")
            if len(form) >= _SHORTEST_ANYWHERE:
                text = text.replace(form, HIDDEN)
    return text


def _secrets(value: Any, *, hidden: bool) -> Iterator[str]:
    """Each text that is masked."""
    if isinstance(value, dict):
        for key, item in cast("dict[str, Any]", value).items():
            below = hidden or key.lower() in _HIDDEN_BELOW
            named = _SECRET_NAME.fullmatch(key) is not None and isinstance(item, str)
            yield from _secrets(item, hidden=below or named)
    elif isinstance(value, list):
        texts = [item if isinstance(item, str) else "" for item in cast("list[Any]", value)]
        for item, text, shown in zip(cast("list[Any]", value), texts, masked_args(texts), strict=True):
            if text and (hidden or shown != text):
                yield text
            elif not text:
                yield from _secrets(item, hidden=hidden)
    elif isinstance(value, str) and (hidden or masked_text(value) != value):
        yield value


def _looks_random(text: str) -> bool:
    """Whether a long word has letters and digits mixed as no name has them."""
    if len(text) < 20 or not re.fullmatch(r"[A-Za-z0-9_+=-]+", text):
        return False
    changes = sum(a.isdigit() != b.isdigit() for a, b in pairwise(text))
    return changes >= 4
