"""`hikidashi config`: an example of the config file, and its check."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.text import Text

from .output import print_beside, print_json, stdout

if TYPE_CHECKING:
    from hikidashi.config import AgentConfig, Config, ServerConfig, SlackConfig, WebSearchConfig
    from hikidashi.config.sections import ConfigSection
    from hikidashi.errors import HikidashiError

_MARKS = {"on": ("✓", "green"), "off": ("·", "dim"), "incomplete": ("!", "bold yellow")}

_EXAMPLES = """\b
Examples:
  hikidashi config check                   config.yaml, or HIKIDASHI_CONFIG
  hikidashi config check bot.toml          another file; also as --config FILE
  hikidashi config check --json | jq       for programs
  hikidashi config example > config.yaml   every key, explained
"""

config = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@config.callback(epilog=_EXAMPLES)
def _config() -> None:  # pyright: ignore[reportUnusedFunction]
    """Print an example of the config file, or check yours: what is on, what is off, and why."""


@config.command(epilog=_EXAMPLES, short_help="Print an example of the config file.")
def example() -> None:
    """Print an example of the config file, with every key explained in Japanese and English."""
    import hikidashi

    package = Path(hikidashi.__file__).parent
    packed = package / "config" / "example.yaml"  # where a wheel has it
    file = packed if packed.exists() else package.parents[1] / "config.yaml.example"
    typer.echo(file.read_text(encoding="utf-8"), nl=False)


@config.command(epilog=_EXAMPLES, short_help="Show what is on and off, or every problem of the file.")
def check(
    path: Annotated[
        Path | None, typer.Argument(metavar="PATH", help="The config file, YAML or TOML.", show_default="config.yaml")
    ] = None,
    config_file: Annotated[
        Path | None, typer.Option("--config", metavar="FILE", help="The same, spelled as in other commands.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Show what the config file turns on, what is off, and why.

    Keys and tokens are shown as set or not set. Exit code 1 means that `hikidashi chat` cannot start
    with the file, unless it has only servers for `hikidashi serve`: each problem is shown with its
    line and what is allowed, or what to install.
    """
    from hikidashi.apps.factory import startup_problems
    from hikidashi.config import Config, check_config, find_config

    if path is not None and config_file is not None and path != config_file:
        raise typer.BadParameter(f"{path} is named too. Name one file.", param_hint="--config")
    checked = check_config(path or config_file or find_config() or Path("config.yaml"))
    read = checked.config
    if read is None:
        name, sections, problems = checked.problems[0].path, list[SectionStatus](), _described(checked.problems)
    else:
        # With servers alone the file is for `hikidashi serve`: the chat need not start with it.
        alone = read.servers is not None and replace(read, servers=None, gateway=None, path=None) == Config()
        problems = [] if alone else _described(startup_problems(read))
        name, sections = read.path or "", list(section_statuses(read, can_chat=not problems))
    if as_json:
        print_json({"ok": not problems, "path": name, "parts": list(map(asdict, sections)), "problems": problems})
    else:
        _print_report(name, sections, problems)
    if problems:
        raise typer.Exit(1)


@dataclass(frozen=True, kw_only=True)
class SectionStatus:
    """Whether a section of the config is on, and why; `incomplete` is on and cannot work."""

    name: str
    status: Literal["on", "off", "incomplete"]
    why: str
    settings: dict[str, Any] = field(default_factory=dict[str, Any])
    """Its keys; keys and tokens are "set" or "not set"."""


def section_statuses(config: Config, *, can_chat: bool = True) -> Iterator[SectionStatus]:
    """Each section of `config`; without `can_chat`, the agent is incomplete."""
    yield _web_search(config.tools.web_search)
    yield _agent(config.agent, can_chat=can_chat)
    yield _slack(config.slack)
    if config.servers is not None:
        yield _servers(config.servers)
    if config.gateway is not None:
        why = "how `hikidashi serve` shows the tools"
        yield SectionStatus(name="gateway", status="on", why=why, settings=_settings(config.gateway))


def _servers(servers: Mapping[str, ServerConfig]) -> SectionStatus:
    if not servers:
        return SectionStatus(name="servers", status="off", why="it has no server")
    settings = {
        name: "disabled" if server.disabled else "a process" if server.command else "an address"
        for name, server in servers.items()
    }
    return SectionStatus(name="servers", status="on", why="`hikidashi serve` offers their tools", settings=settings)


def _web_search(search: WebSearchConfig | None) -> SectionStatus:
    name = "tools.web_search"
    if search is None:
        return SectionStatus(name=name, status="off", why="there is no such section")
    if search.needs_key:
        why = f"it {search.info.missing_key('config')}"
        return SectionStatus(name=name, status="incomplete", why=why, settings=_settings(search))
    if not search.enabled:
        return SectionStatus(name=name, status="off", why="`enabled` is not true", settings=_settings(search))
    return SectionStatus(name=name, status="on", why=f"searches with {search.info.name}", settings=_settings(search))


def _agent(agent: AgentConfig, *, can_chat: bool) -> SectionStatus:
    if not can_chat:
        why = "the chat cannot start; the problems below say why"
        return SectionStatus(name="agent", status="incomplete", why=why, settings=_settings(agent))
    by = agent.info.title if agent.engine == "claude-code" else f"{agent.provider}, through strands"
    return SectionStatus(name="agent", status="on", why=f"answers with {by}", settings=_settings(agent))


def _slack(slack: SlackConfig | None) -> SectionStatus:
    if slack is None:
        return SectionStatus(name="slack", status="off", why="there is no such section")
    missing = [f"`{name}`" for name in ("bot_token", "app_token") if not getattr(slack, name)]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        why = f"{' and '.join(missing)} {verb} not set, so the bot cannot log in"
        return SectionStatus(name="slack", status="incomplete", why=why, settings=_settings(slack))
    return SectionStatus(name="slack", status="on", why="both tokens are set", settings=_settings(slack))


def _settings(section: ConfigSection) -> dict[str, Any]:
    from hikidashi.config.sections import rules_of

    values = {name: (getattr(section, name), rule.secret) for name, rule in rules_of(type(section)).items()}
    return {name: ("set" if value else "not set") if secret else value for name, (value, secret) in values.items()}


def _described(errors: Sequence[HikidashiError]) -> list[dict[str, Any]]:
    from hikidashi.errors import ConfigError

    return [
        {"line": error.line, "key": error.key, "reason": error.reason}
        if isinstance(error, ConfigError)
        else {"line": None, "key": "", "reason": str(error)}
        for error in errors
    ]


def _print_report(name: str, sections: Sequence[SectionStatus], problems: Sequence[dict[str, Any]]) -> None:
    """Print each section, and each problem with its line."""
    console = stdout()
    print_beside(console, Text(), Text(name, "bold"))
    for section in sections:
        console.print()
        start = Text.assemble("  ", _MARKS[section.status], " ")
        print_beside(console, start, Text.assemble((section.name, "bold"), f" is {section.status}: {section.why}"))
        widest = max(map(len, section.settings), default=0)
        for key, value in section.settings.items():
            shown = "-" if value is None else json.dumps(value, ensure_ascii=False).strip('"')
            print_beside(console, Text(f"      {key.ljust(widest)}  ", "dim"), Text(shown))
    if sections and problems:
        console.print()
    for problem in problems:
        where = f"line {problem['line']}: " if problem["line"] is not None else ""
        key = f"{problem['key']}: " if problem["key"] else ""
        content = Text.assemble((where, "dim"), (key, "bold"), problem["reason"])
        print_beside(console, Text.assemble("  ", ("✗", "bold red"), " "), content)
    verdict = Text("The file can be used.", "green")
    if count := len(problems):
        verdict = Text(f"{count} problem{'s' if count > 1 else ''}: the file cannot be used.", "bold red")
    console.print()
    console.print(verdict)
