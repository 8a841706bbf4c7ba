"""The options of `hikidashi serve`: how each appears, how they are read, and the settings of a gateway by them.

It imports neither typer nor a framework: a client waits for this at every start. With a daemon that runs, options that
are certain to be right are read here, and the client is attached to it; whatever else is left to typer, which says what
is wrong: help, other commands, unknown or malformed options, new servers, and a daemon that has to be started.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from hikidashi import __version__
from hikidashi.common.files import config_folder, state_folder
from hikidashi.common.json import is_object
from hikidashi.config.gateway import GatewayConfig, GatewayOptions
from hikidashi.config.section import CommandOption, command_options, on_command_line, rules_of
from hikidashi.gateway.approval import Approvals
from hikidashi.gateway.config import GatewaySetup, identity_of, read_setup
from hikidashi.gateway.names import LONGEST_CLIENT_NAME, OUR_NAME, asks_for_records, longest_name_with
from hikidashi.gateway.options import GatewayServer, OAuthOptions
from hikidashi.gateway.shim import Shim, connect, socket_path

_INTERRUPTED = 130  # the exit code of typer


@dataclass(frozen=True, kw_only=True)
class ServeOptions:
    """The options of the command, in the order of its help; those of the gateway are declared in the config."""

    config: tuple[Path, ...] = field(
        default=(),
        metadata=on_command_line(
            "MCP servers: .mcp.json or config.yaml; repeatable.",
            metavar="FILE",
            shown_default="`servers` of your config.yaml, or what `serve import` wrote",
        ),
    )
    http: str | None = field(
        default=None, metadata=on_command_line("Serve HTTP instead of stdio, at /mcp.", metavar="[HOST:]PORT")
    )
    no_daemon: bool = field(
        default=False, metadata=on_command_line("Share no process with the other clients of this config.")
    )
    gateway: Mapping[str, Any] = field(default_factory=dict[str, Any], metadata={"of": GatewayConfig})
    """How tools are shown: what was given, by the names of the config."""
    client_name: str = field(
        default=OUR_NAME,
        metadata=on_command_line(
            "Our name in the client: names of tools leave room for it.", metavar="NAME", shown_default=True
        ),
    )
    token_env: str | None = field(
        default=None,
        metadata=on_command_line("Variable with the token that HTTP clients must send.", metavar="NAME"),
    )
    oauth: Mapping[str, Any] = field(default_factory=dict[str, Any], metadata={"of": OAuthOptions})
    """Whose access tokens HTTP clients send: what was given, by the names of `OAuthOptions`."""
    yes: bool = field(default=False, metadata=on_command_line("Run servers that are new in the config without asking."))
    as_daemon: Path | None = field(default=None, metadata=on_command_line("", hidden=True))

    def to_argv(self) -> list[str]:
        """The same options, for the process of the daemon."""
        argv: list[str] = []
        for option in serve_options():
            value = option.value_in(self)
            if not option.of_daemon or value == option.default:
                continue
            if value is True:
                argv.append(option.flag)
            else:
                for one in value if option.many else (value,):
                    argv += [option.flag, str(one.absolute()) if option.kind is Path else one]
        return argv


_NOT_OF_DAEMON = ("http", "no_daemon", "token_env", "as_daemon")


@dataclass(frozen=True)
class Option:
    """One option: the field of `group`, or of `ServeOptions` itself, that has its value."""

    name: str
    group: str
    kind: Any
    """Its type as it is read: that of each value, where `many`."""
    many: bool
    default: Any
    shown: CommandOption

    @property
    def flag(self) -> str:
        """Its name on the command line."""
        return self.shown.flag or f"--{self.name.replace('_', '-')}"

    @property
    def parameter(self) -> str:
        """The name of the parameter of the command."""
        return self.flag.removeprefix("--").replace("-", "_")

    @property
    def of_daemon(self) -> bool:
        """Whether it concerns a gateway that the clients of stdio share."""
        return self.group != "oauth" and self.name not in _NOT_OF_DAEMON

    def value_in(self, options: ServeOptions) -> Any:
        """Its value."""
        return getattr(options, self.group).get(self.name, self.default) if self.group else getattr(options, self.name)


def serve_options() -> list[Option]:
    """All options, in the order of the help."""
    found: list[Option] = []
    for item in fields(ServeOptions):
        inner = item.metadata.get("of")
        found += _options_in(ServeOptions, "", item.name) if inner is None else _options_in(inner, item.name)
    return found


def _options_in(cls: Any, group: str, only: str = "") -> list[Option]:
    hints = get_type_hints(cls)
    found: list[Option] = []
    for name, shown in command_options(cls).items():
        if only in ("", name):
            hint = hints[name]
            kinds = [
                kind for kind in (get_args(hint) if isinstance(hint, UnionType) else (hint,)) if kind is not NoneType
            ]
            many = get_origin(kinds[0]) is tuple
            given = next(item.default for item in fields(cls) if item.name == name)
            # Options of the config and of OAuth are those that were given: None stands for all others.
            default = () if many else False if kinds[0] is bool else None if group else given
            kind = get_args(kinds[0])[0] if many else kinds[0]
            found.append(Option(name, group, Path if shown.metavar == "FILE" else kind, many, default, shown))
    return found


def options_of(values: Mapping[str, Any]) -> ServeOptions:
    """The options by the parameters of the command, which typer has read."""
    given: dict[str, Any] = {"gateway": {}, "oauth": {}}
    for option in serve_options():
        value = values.get(option.parameter, option.default)
        if option.many:
            value = tuple(value or ())
        if value != option.default:
            (given[option.group] if option.group else given)[option.name] = value
    return ServeOptions(**given)


def read_arguments(argv: Sequence[str]) -> ServeOptions | None:
    """The options of a plain `serve` on stdio; None if `argv` has anything else in it."""
    if not argv or argv[0] != "serve":
        return None
    known = {option.flag: option for option in serve_options() if option.of_daemon}
    values: dict[str, Any] = {}
    rest = list(argv[1:])
    while rest:
        flag, has_value, value = rest.pop(0).partition("=")
        option = known.get(flag)
        if option is None or (not has_value and option.kind is not bool and not rest):
            return None
        if option.kind is bool:
            if has_value:
                return None
            values[option.parameter] = True
            continue
        if not has_value:
            value = rest.pop(0)
        if not value or value.startswith("-") or not value.isprintable():
            return None
        if get_origin(option.kind) is Literal and value not in get_args(option.kind):
            return None
        read = Path(value) if option.kind is Path else value
        values[option.parameter] = [*values.get(option.parameter, ()), read] if option.many else read
    return options_of(values)


def attach_quickly(argv: Sequence[str]) -> int | None:
    """The exit code of `hikidashi ARGV` when the client has closed its input; None if typer has to run it."""
    options = read_arguments(argv)
    # A terminal shows the progress of the servers; Windows has no sockets of this kind.
    if (
        options is None
        or sys.platform == "win32"
        or any(stream is None or stream.isatty() for stream in (sys.stdin, sys.stderr))
    ):
        return None
    if any(name.startswith("_") and name.endswith("_COMPLETE") for name in os.environ):  # of a shell
        return None
    try:
        options = replace(options, config=config_files(options.config))
        settings = ServeSettings.of(options, read_setup(options.config))
        if approvals().missing(settings.servers):
            return None
        connection = connect(settings.socket())
    except Exception:  # the full command line says what is wrong
        return None

    def again() -> Any:
        from .run import attached_again

        return attached_again(options)

    try:
        return Shim(connection, again).run()
    except KeyboardInterrupt:
        return _INTERRUPTED


class WrongOptionError(ValueError):
    """The value of an option cannot be used."""

    def __init__(self, option: str, problem: str) -> None:
        super().__init__(option, problem)
        self.option = option
        self.problem = problem


@dataclass(frozen=True, kw_only=True)
class ServeSettings:
    """The settings of a gateway: options of the command line first, then those of the config."""

    servers: list[GatewayServer]
    options: GatewayOptions
    record: Path | None

    @classmethod
    def of(cls, given: ServeOptions, setup: GatewaySetup) -> ServeSettings:
        """The settings by the command line and the config.

        Raises:
            WrongOptionError: an option cannot be used with the rest.
        """
        section = setup.gateway or GatewayConfig()
        shown = {name: given.gateway.get(name, getattr(section, name)) for name in rules_of(GatewayOptions)}
        record = given.gateway.get("record")
        if record is None and section.record is not None:
            record = setup.folder / Path(section.record).expanduser()
        if len(given.client_name) > LONGEST_CLIENT_NAME:
            raise WrongOptionError(
                "--client-name",
                f"has {len(given.client_name)} characters: use at most {LONGEST_CLIENT_NAME}, since names of tools "
                "have 64 with it.",
            )
        options = GatewayOptions(**shown, longest_name=longest_name_with(given.client_name))
        if asks_for_records(options.pin) and record is None:
            raise WrongOptionError("--pin", "most-used needs the records of calls: give --record FILE too.")
        return cls(servers=setup.servers, options=options, record=None if record is None else Path(record).absolute())

    def socket(self) -> Path:
        """The socket of the daemon with these settings."""
        # Another version or another home would serve other tools under the same configuration.
        place = (sys.executable, __version__, os.environ.get("HOME", ""))
        return socket_path(identity_of(self.servers, self.options, str(self.record), *place))


def approvals() -> Approvals:
    """The servers that were approved on this machine."""
    return Approvals(state_folder() / "gateway" / "approved.json")


_NAMES = ("config.yaml", "config.yml", "config.toml")
_SECTION = re.compile(r"^[\"']?(servers|gateway)[\"']?\s*:|^\s*\[\s*(servers|gateway)\b", re.MULTILINE)


def config_files(named: Sequence[Path]) -> tuple[Path, ...]:
    """The files that were named, or the default ones.

    Raises:
        typer.BadParameter: there are none.
    """
    files = tuple(named) or default_files()
    if not files:
        import typer  # takes longer than the rest: the process that a client starts does without it

        from hikidashi.gateway.clients.takeover import default_config

        raise typer.BadParameter(
            f"no servers are configured: no config.yaml has a section `servers`, and there is no {default_config()}. "
            "Run `hikidashi serve import` to take over the servers of your MCP clients, or name a file such as "
            ".mcp.json.",
            param_hint="--config",
        )
    return files


def default_files() -> tuple[Path, ...]:
    """The `config.yaml` with servers, or else the file of `hikidashi serve import`; none where there are neither.

    The `config.yaml` is the one that HIKIDASHI_CONFIG names, that of the current folder, or that of the user's config
    folder. Its section `gateway` also holds for the servers of `hikidashi serve import`.
    """
    from hikidashi.gateway.clients.takeover import default_config  # not needed where a file is named

    named = os.environ.get("HIKIDASHI_CONFIG")
    folders = (Path(), config_folder())
    candidates = [Path(named)] if named else [folder / name for folder in folders for name in _NAMES]
    own = default_config()
    if named and not Path(named).is_file():
        return (Path(named),)  # reading it reports what is wrong
    for file in candidates:
        sections = _sections_of(file)
        if "servers" in sections:
            return (file,)
        if "gateway" in sections and own.exists():
            return (file, own)
    return (own,) if own.exists() else ()


def _sections_of(file: Path) -> set[str]:
    """Which of our sections a file has; the whole file is checked when it is read."""
    try:
        text = file.read_text(encoding="utf-8-sig", errors="replace")
    except OSError:
        return set()
    if text.lstrip().startswith("{"):  # a mapping in one pair of braces: rare, and worth the import
        import yaml

        try:
            content: object = yaml.safe_load(text)
        except yaml.YAMLError:
            return {"servers"}  # reading it says what is wrong
        return {"servers", "gateway"} & content.keys() if is_object(content) else set()
    return {found[1] or found[2] for found in _SECTION.finditer(text)}
