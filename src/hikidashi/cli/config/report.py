"""A report on a config: which sections are on; keys and tokens are shown as set or not set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from hikidashi.config import AgentConfig, Config, ServerConfig, SlackConfig, WebSearchConfig
from hikidashi.config.load import CheckedConfig
from hikidashi.config.section import Section, rules_of
from hikidashi.errors import ConfigError, HikidashiError

__all__ = ["Part", "Report", "is_for_gateway_alone", "report_on"]

Status = Literal["on", "off", "incomplete"]
"""`incomplete` is on and cannot work."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """One section of the config."""

    name: str
    status: Status
    why: str
    settings: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Report:
    """The sections of a config, or the problems of its file."""

    path: str
    parts: tuple[Part, ...] = ()
    problems: tuple[dict[str, Any], ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the file can be used."""
        return not self.problems

    def as_json(self) -> dict[str, Any]:
        """The report as a JSON object."""
        return {"ok": self.ok, **asdict(self)}


def report_on(checked: CheckedConfig, missing: Sequence[HikidashiError] = ()) -> Report:
    """The report on a checked config; `missing` are the problems that keep the chat from starting."""
    if checked.config is None:
        problems = tuple({"line": each.line, "key": each.key, "reason": each.reason} for each in checked.problems)
        return Report(path=checked.problems[0].path, problems=problems)
    problems = tuple(_problem(error) for error in missing)
    return Report(path=checked.config.path or "", parts=_parts(checked.config, missing), problems=problems)


def _problem(error: HikidashiError) -> dict[str, Any]:
    if isinstance(error, ConfigError):
        return {"line": error.line, "key": error.key, "reason": error.reason}
    return {"line": None, "key": "", "reason": str(error)}


def _parts(config: Config, missing: Sequence[HikidashiError]) -> tuple[Part, ...]:
    agent = _agent(config.agent)
    if missing:
        agent = replace(agent, status="incomplete", why="the chat cannot start; the problems below say why")
    parts = [_web_search(config.tools.web_search), agent, _slack(config.slack)]
    if config.servers is not None:
        parts.append(_servers(config.servers))
    if config.gateway is not None:
        why = "how `hikidashi serve` shows the tools"
        parts.append(Part(name="gateway", status="on", why=why, settings=_settings(config.gateway)))
    return tuple(parts)


def is_for_gateway_alone(config: Config) -> bool:
    """Whether a config has servers and nothing for the chat, which then need not start with it."""
    return config.servers is not None and replace(config, servers=None, gateway=None, path=None) == Config()


def _servers(servers: Mapping[str, ServerConfig]) -> Part:
    if not servers:
        return Part(name="servers", status="off", why="it has no server", settings={})
    settings = {
        name: "disabled" if server.disabled else "a process" if server.command else "an address"
        for name, server in servers.items()
    }
    return Part(name="servers", status="on", why="`hikidashi serve` offers their tools", settings=settings)


def _web_search(search: WebSearchConfig | None) -> Part:
    name = "tools.web_search"
    if search is None:
        return Part(name=name, status="off", why="there is no such section", settings={})
    if search.needs_key:
        why = f"it {search.info.missing_key('config')}"
        return Part(name=name, status="incomplete", why=why, settings=_settings(search))
    if not search.enabled:
        return Part(name=name, status="off", why="`enabled` is not true", settings=_settings(search))
    return Part(name=name, status="on", why=f"searches with {search.info.name}", settings=_settings(search))


def _agent(agent: AgentConfig) -> Part:
    by = agent.info.title if agent.engine == "claude-code" else f"{agent.provider}, through strands"
    return Part(name="agent", status="on", why=f"answers with {by}", settings=_settings(agent))


def _slack(slack: SlackConfig | None) -> Part:
    if slack is None:
        return Part(name="slack", status="off", why="there is no such section", settings={})
    missing = [f"`{name}`" for name in ("bot_token", "app_token") if not getattr(slack, name)]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        why = f"{' and '.join(missing)} {verb} not set, so the bot cannot log in"
        return Part(name="slack", status="incomplete", why=why, settings=_settings(slack))
    return Part(name="slack", status="on", why="both tokens are set", settings=_settings(slack))


def _settings(section: Section) -> dict[str, Any]:
    values = {name: (getattr(section, name), rule.secret) for name, rule in rules_of(type(section)).items()}
    return {name: ("set" if value else "not set") if secret else value for name, (value, secret) in values.items()}
