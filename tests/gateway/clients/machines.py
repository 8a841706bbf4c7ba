"""A machine whose clients have the files in `fixtures/`."""

from __future__ import annotations

from pathlib import Path

from hikidashi.servers.clients import CLIENTS, Client, Machine

FIXTURES = Path(__file__).parent / "fixtures"


def machine_in(folder: Path) -> Machine:
    """An empty Linux machine."""
    (folder / "home").mkdir()
    (folder / "project").mkdir()
    return Machine(system="linux", environ={}, home=folder / "home", project=folder / "project")


def fixture_of(client: Client) -> bytes:
    """What the file of `client` has in it."""
    return next(FIXTURES.glob(f"{client.name}.*")).read_bytes()


def filled(machine: Machine) -> Machine:
    """`machine` with a file of each client."""
    for client in CLIENTS:
        file = client.main(machine).file(machine)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(fixture_of(client))
    return machine
