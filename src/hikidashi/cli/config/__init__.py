"""`hikidashi config`: an example of the config file, and its check."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["config"]

_EXAMPLES = """\b
Examples:
  hikidashi config check                   config.yaml, or HIKIDASHI_CONFIG
  hikidashi config check bot.toml          another file; also as --config FILE
  hikidashi config check --json | jq       for programs
  hikidashi config example > config.yaml   every key, explained
"""

config = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@config.callback(epilog=_EXAMPLES, short_help="Print an example of the config file, or check yours.")
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
    from hikidashi.config import check_config, find_config

    from ...apps.factory import startup_problems
    from ..output import stdout
    from .report import is_for_gateway_alone, report_on
    from .view import print_report

    if path is not None and config_file is not None and path != config_file:
        raise typer.BadParameter(f"{path} is named too. Name one file.", param_hint="--config")
    checked = check_config(path or config_file or find_config() or Path("config.yaml"))
    config = checked.config
    missing = [] if config is None or is_for_gateway_alone(config) else startup_problems(config)
    report = report_on(checked, missing)
    print_report(report, stdout(), as_json=as_json)
    if not report.ok:
        raise typer.Exit(1)
