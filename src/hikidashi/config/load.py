"""Load config files: a `Config`, or a list of all problems. `${VARIABLE}` is substituted in texts."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

from ..errors import ConfigError
from .rules import Rule, described
from .section import joined
from .sections import (
    AgentConfig,
    Config,
    ConfigSection,
    GatewayConfig,
    ServerConfig,
    SlackConfig,
    ToolsConfig,
    WebSearchConfig,
    rules_of,
)
from .source import ConfigNode, Problems, parse_toml, parse_yaml, read_text

SECTIONS = ("tools", "agent", "slack", "servers", "gateway")
"""The keys at the top of a file."""

_NAMES = ("config.yaml", "config.yml", "config.toml")
_AnySection = TypeVar("_AnySection", bound=ConfigSection)


@dataclass(frozen=True)
class CheckedConfig:
    """The result of a check: the config, or its problems."""

    config: Config | None
    problems: tuple[ConfigError, ...] = ()


def load_config(path: str | os.PathLike[str], *, environment: Mapping[str, str] | None = None) -> Config:
    """Load the YAML or (with the suffix .toml) TOML file `path`, with its variables substituted.

    A missing section is off. A variable that is not set is an error only if its section is on, and not for a key or
    token, which then counts as absent.

    Raises:
        ConfigError: the file cannot be used; the error is the first problem, and its text lists all of them.
    """
    checked = check_config(path, environment=environment)
    if checked.config is None:
        raise joined(list(checked.problems))
    return checked.config


def check_config(path: str | os.PathLike[str], *, environment: Mapping[str, str] | None = None) -> CheckedConfig:
    """Check the file `path`: its config, or all of its problems."""
    file = Path(path)
    problems = Problems(str(file))
    try:
        text = read_text(file)
        toml = file.suffix.lower() == ".toml"
        root = parse_toml(text, str(file)) if toml else parse_yaml(text, str(file), problems)
    except ConfigError as error:
        return CheckedConfig(None, (error,))
    config = _SectionReader(problems, os.environ if environment is None else environment, file).config(root)
    found = tuple(problems)
    return CheckedConfig(None, found) if found else CheckedConfig(config)


def find_config(folder: str | os.PathLike[str] = ".") -> Path | None:
    """The default config file: `HIKIDASHI_CONFIG`, or config.yaml, .yml or .toml in `folder`; None if there is none."""
    if named := os.environ.get("HIKIDASHI_CONFIG"):
        return Path(named)
    return next((file for name in _NAMES if (file := Path(folder, name)).exists()), None)


class _SectionReader:
    def __init__(self, problems: Problems, environment: Mapping[str, str], file: Path) -> None:
        self._problems = problems
        self._environment = environment
        self._file = file

    def config(self, root: ConfigNode) -> Config:
        top = self._section(root, "", SECTIONS)
        tools = self._section(top.get("tools"), "tools", ("web_search",))
        web_search = self._read(WebSearchConfig, tools.get("web_search"), "tools.web_search")
        return Config(
            tools=ToolsConfig(web_search=self._resolved(web_search)),
            agent=self._read(AgentConfig, top.get("agent"), "agent") or AgentConfig(),
            slack=self._read(SlackConfig, top.get("slack"), "slack"),
            servers=self._servers(top.get("servers")),
            gateway=self._read(GatewayConfig, top.get("gateway"), "gateway"),
            path=str(self._file),
        )

    def _servers(self, node: ConfigNode | None) -> Mapping[str, ServerConfig] | None:
        """The servers by name; None if there is no such section."""
        if node is None or node.value is None:
            return None
        if node.section is None:
            remedy = "Write the name of each server and below it `command` or `url`."
            self._problems.add(f"{described(node.value)} is not a section. {remedy}", "servers", node.line)
            return None
        servers: dict[str, ServerConfig] = {}
        for name, given in node.section.items():
            key = f"servers.{name}"
            if not name.strip():
                self._problems.add("A server needs a name.", key, given.line)
            elif given.section is None:
                remedy = "Write `command` with `args` and `env`, or `url` with `headers`, below it."
                self._problems.add(f"{described(given.value)} is not a section. {remedy}", key, given.line)
            elif server := self._read(ServerConfig, given, key):
                servers[name] = server
        return servers

    def _resolved(self, search: WebSearchConfig | None) -> WebSearchConfig | None:
        """Resolve a relative index path against the folder of the config file."""
        if search is None or search.index is None:
            return search
        return replace(search, index=str(self._file.parent.absolute() / Path(search.index).expanduser()))

    def _section(self, node: ConfigNode | None, key: str, known: Sequence[str]) -> dict[str, ConfigNode]:
        """The known keys of a section; unknown ones are reported."""
        if node is None or node.value is None:
            return {}
        if node.section is None:
            what = "The file" if not key else described(node.value)
            where = ", ".join(known)
            self._problems.add(f"{what} is not a section. Write keys and values: {where}.", key, node.line)
            return {}
        section = node.section
        for name in section.keys() - set(known):
            self._problems.add(_unknown(name, known), f"{key}.{name}" if key else name, section[name].line)
        return {name: section[name] for name in known if name in section}

    def _read(self, kind: type[_AnySection], node: ConfigNode | None, key: str) -> _AnySection | None:
        """The section as a value; None if it is missing or has a problem."""
        if node is None or node.value is None:
            return None
        rules = rules_of(kind)
        before = len(self._problems.found)
        section = self._section(node, key, tuple(rules))
        given: dict[str, Any] = {}
        if "enabled" in section:
            given["enabled"] = self._value(section["enabled"], rules["enabled"], f"{key}.enabled", is_on=True)
        is_on = "enabled" not in rules or given.get("enabled") is True
        for name, rule in rules.items():
            if name != "enabled" and name in section:
                given[name] = self._value(section[name], rule, f"{key}.{name}", is_on=is_on)
        given = {name: value for name, value in given.items() if value is not None}
        if len(self._problems.found) > before:
            return None
        conflicts = list(kind.conflicts(given))
        for name, reason in conflicts:
            self._problems.add(reason, f"{key}.{name}", section[name].line if name in section else node.line)
        return None if conflicts else kind(**given)

    def _value(self, node: ConfigNode, rule: Rule, key: str, *, is_on: bool) -> object:
        """The value of a key; None if it counts as absent or has a problem."""
        value, written = node.plain(), None
        if isinstance(value, str) and not rule.raw:
            try:
                found = filled(value, self._environment)
            except BrokenVariableError as error:
                reason = str(error) if rule.shown else "a `${` names no variable"
                advice = "Write ${NAME} or ${NAME:-default}, and $$ for a dollar sign."
                self._problems.add(f"{reason}. {advice}", key, node.line)
                return None
            if found.unset:
                if is_on and not rule.secret:
                    self._problems.add(_unset(found.unset), key, node.line)
                return None
            if not found.text.strip() and (rule.secret or found.from_environment):
                return None
            if found.from_environment:
                written, value = value, rule.read(found.text)
            else:
                value = found.text
        if value is None:
            return None
        complaint = rule.complaint(value, written)
        if complaint:
            self._problems.add(complaint, key, node.line)
        return None if complaint else rule.convert(value)


def _unknown(name: str, known: Sequence[str]) -> str:
    close = get_close_matches(name.lower().replace("-", "_"), known, n=1)
    hint = f" Did you mean `{close[0]}`?" if close else ""
    return f"is not a key here.{hint} Known: {', '.join(known)}."


def _unset(names: Sequence[str]) -> str:
    first = names[0]
    which = " and ".join(names)
    verb = "is" if len(names) == 1 else "are"
    return f"{which} {verb} not set in the environment. Set it, or write ${{{first}:-default}}."


_REFERENCE = re.compile(r"\$(?:(\$)|\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}|(\{[^}]{0,40}\}?))")


@dataclass(frozen=True, slots=True)
class Filled:
    """A text after substitution."""

    text: str
    from_environment: bool
    """Whether it refers to any variable, set or not."""
    unset: tuple[str, ...]
    """The variables that are not set and have no default; they are replaced with nothing."""


class BrokenVariableError(ValueError):
    """A `${` without a valid variable name."""


def filled(text: str, environment: Mapping[str, str]) -> Filled:
    """`text` with its variables substituted; values are not substituted again.

    As in a shell, the default of `${VARIABLE:-default}` also replaces a variable that is set but empty.

    Raises:
        BrokenVariableError: `${` does not start a variable's name, or is never closed.
    """
    named = False
    unset: list[str] = []

    def value(match: re.Match[str]) -> str:
        nonlocal named
        dollar, name, default, broken = match.groups()
        if broken is not None:
            raise BrokenVariableError(f"'${broken}' names no variable")
        if dollar is not None:
            return "$"
        named = True
        found = environment.get(name)
        if default is not None:
            return found or default
        if found is None:
            unset.append(name)
        return found or ""

    return Filled(_REFERENCE.sub(value, text), named, tuple(dict.fromkeys(unset)))
