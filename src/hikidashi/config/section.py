"""ConfigSection: a frozen dataclass of config values, checked by the rules of its fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from ..errors import ConfigError
from .rules import RULE, Rule

_OPTION = "option"


@dataclass(frozen=True, kw_only=True)
class CommandOption:
    """How a field appears on the command line."""

    help: str
    flag: str = ""
    """Its name there, if that is not made from the name of the field."""
    metavar: str | None = None
    shown_default: str | bool = False
    variable: str | None = None
    """The environment variable that gives it too."""
    hidden: bool = False


def on_command_line(help: str, **more: Any) -> dict[str, CommandOption]:  # noqa: A002 - as typer calls it
    """Metadata of a field that is an option of a command too."""
    return {_OPTION: CommandOption(help=help, **more)}


def command_options(cls: Any) -> dict[str, CommandOption]:
    """The fields of a dataclass that are options of a command."""
    return {item.name: item.metadata[_OPTION] for item in fields(cls) if _OPTION in item.metadata}


@dataclass(frozen=True, kw_only=True)
class ConfigSection:
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
        for key, rule in rules_of(type(self)).items():
            if given[key] is not None:
                object.__setattr__(self, key, rule.convert(given[key]))

    @classmethod
    def conflicts(cls, given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """Each key whose value conflicts with another key, and why."""
        yield from ()


def rules_of(section: type[ConfigSection]) -> dict[str, Rule]:
    """The keys of `section` and their rules."""
    return {item.name: item.metadata[RULE] for item in fields(section) if RULE in item.metadata}


def joined(problems: list[ConfigError]) -> ConfigError:
    """The first of `problems` as an error that lists the others, one to a line."""
    first, *others = problems
    return ConfigError(first.path, "\n".join([first.reason, *map(str, others)]), first.key, first.line)
