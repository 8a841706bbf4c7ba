"""Options declared once, as typer and a command see them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer
from typer.testing import CliRunner

from hikidashi.cli.shared_options import with_shared_options


@dataclass(frozen=True, kw_only=True)
class Oven:
    heat: Annotated[int, typer.Option(help="In degrees.", min=0)] = 180
    fan: Annotated[bool, typer.Option("--fan/--no-fan", help="Moving air.")] = True


@dataclass(frozen=True, kw_only=True)
class BreadOven(Oven):
    heat: Annotated[int, typer.Option(help="In degrees.", min=0)] = 240


def baking() -> typer.Typer:
    app = typer.Typer(rich_markup_mode=None)

    @app.command()
    @with_shared_options
    def cake(name: Annotated[str, typer.Argument()], *, eggs: int = 2, oven: Oven, quiet: bool = False) -> None:  # pyright: ignore[reportUnusedFunction]
        """Bake a cake."""
        typer.echo(f"{name} {eggs} {oven} {quiet}")

    @app.command()
    @with_shared_options
    def bread(*, oven: BreadOven) -> None:  # pyright: ignore[reportUnusedFunction]
        """Bake bread."""
        typer.echo(f"{oven}")

    return app


def said(*arguments: str) -> str:
    return CliRunner().invoke(baking(), arguments).output.strip()


def test_a_command_gets_the_group_with_its_defaults() -> None:
    assert said("cake", "plain") == f"plain 2 {Oven()} False"


def test_a_command_gets_the_group_as_it_was_asked_for() -> None:
    asked = ("--no-fan", "--quiet", "--heat", "160", "--eggs", "4")
    assert said("cake", *asked, "plain") == f"plain 4 {Oven(heat=160, fan=False)} True"


def test_a_group_may_give_another_default() -> None:
    assert said("bread") == f"{BreadOven(heat=240, fan=True)}"


def test_the_options_stand_where_the_group_stands() -> None:
    told = said("cake", "--help")
    assert told.startswith("Usage: root cake [OPTIONS]")
    assert "Bake a cake." in told
    places = [told.index(option) for option in ("--eggs", "--heat", "--fan / --no-fan", "--quiet")]
    assert places == sorted(places)


def test_a_value_out_of_range_is_refused_by_name() -> None:
    assert "--heat" in said("cake", "plain", "--heat", "-1")
