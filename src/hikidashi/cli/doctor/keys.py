"""Which keys are set, by name. A value is checked for visible mistakes, and never shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hikidashi.common.urls import split_base_url
from hikidashi.providers import CHAT_MODELS, SEARCH_PROVIDERS, Package

from .report import Check

__all__ = ["check_keys", "known_keys"]

_SLACK = {"SLACK_APP_TOKEN": "Slack", "SLACK_BOT_TOKEN": "Slack"}


def known_keys() -> dict[str, str]:
    """Each environment variable the doctor checks, and what reads it."""
    readers: dict[str, list[str]] = {}
    for model in CHAT_MODELS.values():
        for name in (*model.key_variables, *model.other_variables):
            readers.setdefault(name, []).append(model.title)
    for provider in SEARCH_PROVIDERS.values():
        for name in filter(None, (provider.key_variable, provider.address_variable)):
            readers.setdefault(name, []).append(f"web search with {provider.title}")
    return dict(sorted(({name: " and ".join(titles) for name, titles in readers.items()} | _SLACK).items()))


def check_keys(environment: Mapping[str, str]) -> Iterator[Check]:
    """Each known key: set, not set, or set to something that cannot work."""
    for name, purpose in known_keys().items():
        yield _check(name, environment.get(name), purpose)


def _check(name: str, value: str | None, purpose: str) -> Check:
    if value is None:
        return Check(area="key", name=name, status="absent", found="not set")
    mistake = _mistake(name, value)
    if mistake:
        found, remedy = mistake
        return Check(area="key", name=name, status="problem", found=found, remedy=remedy)
    return Check(area="key", name=name, status="ok", found=f"set, for {purpose}")


def _mistake(name: str, value: str) -> tuple[str, str] | None:
    if not value.strip():
        return "set, but empty", f"Give it a value, or: unset {name}"
    if value != value.strip():
        return "set, with white space around it", f"Set {name} again without the spaces or the newline."
    if name.endswith("_URL") and not _is_web_address(value):
        return "set, but no http(s) address", f"Set {name} to an address such as https://host:8080"
    if package := _missing_package(name):
        return f"set, but {package.name} is not installed", package.install_command
    return None


def _missing_package(name: str) -> Package | None:
    """The missing package of the search provider with this key; keys of models are for other programs too."""
    readers = [row for row in SEARCH_PROVIDERS.values() if name in (row.key_variable, row.address_variable)]
    return next((package for row in readers for package in row.packages if not package.is_installed), None)


def _is_web_address(value: str) -> bool:
    try:
        split_base_url(value)
    except ValueError:
        return False
    return True
