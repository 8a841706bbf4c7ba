"""Section: a frozen dataclass of config values, checked by the rules of its fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from ..errors import ConfigError
from ._rules import RULE, Rule

__all__ = ["Section", "joined", "rules_of"]


@dataclass(frozen=True, kw_only=True)
class Section:
    """A section of the config: a frozen dataclass whose fields have rules, validated on creation."""

    def __post_init__(self) -> None:
        """Validate all values.

        Raises:
            ConfigError: values are not allowed; the error names each field and what is allowed.
        """
        name = type(self).__name__
        given = {item.name: getattr(self, item.name) for item in fields(self)}
        optional = {item.name for item in fields(self) if item.default is None}
        wrong = [
            ConfigError(name, complaint, key)
            for key, rule in rules_of(type(self)).items()
            if not (given[key] is None and key in optional) and (complaint := rule.complaint(given[key]))
        ]
        if not wrong:
            wrong = [ConfigError(name, reason, key) for key, reason in type(self).conflicts(given)]
        if wrong:
            raise joined(wrong)

    @classmethod
    def conflicts(cls, given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """Each key whose value conflicts with another key, and why."""
        yield from ()


def rules_of(section: type[Section]) -> dict[str, Rule]:
    """The keys of `section` and their rules."""
    return {item.name: item.metadata[RULE] for item in fields(section)}


def joined(problems: list[ConfigError]) -> ConfigError:
    """The first of `problems` as an error that lists the others, one to a line."""
    first, *others = problems
    return ConfigError(first.path, "\n".join([first.reason, *map(str, others)]), first.key, first.line)
