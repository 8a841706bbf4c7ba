"""The options of `hikidashi serve`, and the settings of a gateway by them and by the config.

It imports neither typer nor a framework: a client waits for it at every start.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from hikidashi import __version__
from hikidashi.gateway.config import GatewaySetup, identity_of
from hikidashi.gateway.names import LONGEST_CLIENT_NAME, OUR_NAME, asks_for_records, longest_name_with
from hikidashi.gateway.options import GatewayOptions, GatewayServer

from ...gateway.shim import socket_path

if TYPE_CHECKING:
    from hikidashi.config import GatewayConfig
    from hikidashi.gateway.options import OAuthOptions

__all__ = ["ServeArguments", "ServeSettings", "WrongOptionError"]


class WrongOptionError(ValueError):
    """The value of an option cannot be used."""

    def __init__(self, option: str, problem: str) -> None:
        super().__init__(option, problem)
        self.option = option
        self.problem = problem


@dataclass(frozen=True, kw_only=True)
class ServeArguments:
    """The options of the command; None means the value of the config, or the default."""

    config: tuple[Path, ...]
    http: str | None
    daemon: bool
    names: Literal["prefixed", "plain"] | None
    search: Literal["auto", "on", "off"] | None
    promote: bool
    pin: tuple[str, ...]
    record: Path | None
    client_name: str
    token_env: str | None
    yes: bool
    as_daemon: Path | None
    oauth: OAuthOptions | None = None

    def to_argv(self) -> list[str]:
        """The same options, for another process."""
        argv = [part for path in self.config for part in ("--config", str(path.absolute()))]
        argv += [
            part for name in ("names", "search") if (value := getattr(self, name)) for part in (f"--{name}", value)
        ]
        argv += [*(["--promote"] if self.promote else []), *(["--yes"] if self.yes else [])]
        argv += [part for glob in self.pin for part in ("--pin", glob)]
        argv += ["--client-name", self.client_name] if self.client_name != OUR_NAME else []
        return [*argv, *(["--record", str(self.record.absolute())] if self.record else [])]


@dataclass(frozen=True, kw_only=True)
class ServeSettings:
    """The settings of a gateway: options of the command line first, then those of the config."""

    servers: list[GatewayServer]
    options: GatewayOptions
    record: Path | None

    @classmethod
    def of(cls, args: ServeArguments, setup: GatewaySetup) -> ServeSettings:
        """The settings by the command line and the config.

        Raises:
            WrongOptionError: an option cannot be used with the rest.
        """
        section = setup.gateway
        options = GatewayOptions() if section is None else _options_of(section)
        overrides = {name: value for name in ("names", "search", "promote", "pin") if (value := getattr(args, name))}
        record = args.record
        if record is None and section is not None and section.record is not None:
            record = setup.folder / Path(section.record).expanduser()
        if len(args.client_name) > LONGEST_CLIENT_NAME:
            raise WrongOptionError(
                "--client-name",
                f"has {len(args.client_name)} characters: use at most {LONGEST_CLIENT_NAME}, since names of tools have "
                "64 with it.",
            )
        options = replace(options, **overrides, longest_name=longest_name_with(args.client_name))
        if asks_for_records(options.pin) and record is None:
            raise WrongOptionError("--pin", "most-used needs the records of calls: give --record FILE too.")
        return cls(servers=setup.servers, options=options, record=None if record is None else record.absolute())

    def socket(self) -> Path:
        """The socket of the daemon with these settings."""
        # Another version or another home would serve other tools under the same configuration.
        place = (sys.executable, __version__, os.environ.get("HOME", ""))
        return socket_path(identity_of(self.servers, self.options, str(self.record), *place))


def _options_of(section: GatewayConfig) -> GatewayOptions:
    names = [option.name for option in fields(GatewayOptions) if option.name != "longest_name"]
    return GatewayOptions(**{name: getattr(section, name) for name in names})
