"""Which search providers and chat models can be used here: their packages, keys and addresses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from hikidashi.providers import CHAT_MODELS, SEARCH_PROVIDERS, Package

from .report import Check

__all__ = ["check_providers"]


def check_providers(environment: Mapping[str, str]) -> Iterator[Check]:
    """One check per search provider and chat model: ready, or what is missing."""
    for row in SEARCH_PROVIDERS.values():
        variables = [name for name in (row.key_variable, row.address_variable) if name]
        yield _check(f"search: {row.name}", row.packages, variables, environment)
    for model in CHAT_MODELS.values():
        a_set_one = [name for name in model.key_variables if environment.get(name)]
        yield _check(f"chat: {model.name}", model.packages, (a_set_one or model.key_variables)[:1], environment)


def _check(name: str, packages: Sequence[Package], variables: Sequence[str], environment: Mapping[str, str]) -> Check:
    if missing := [package for package in packages if not package.is_installed]:
        found = f"not installed: {', '.join(package.name for package in missing)}"
        remedy = " && ".join(dict.fromkeys(package.install_command for package in missing))
        return Check(area="provider", name=name, status="absent", found=found, remedy=remedy)
    if unset := [variable for variable in variables if not environment.get(variable, "").strip()]:
        found = f"{', '.join(unset)} not set"
        return Check(area="provider", name=name, status="absent", found=found)
    has = ", ".join([*(package.name for package in packages), *variables])
    return Check(area="provider", name=name, status="ok", found=f"has {has}" if has else "needs nothing")
