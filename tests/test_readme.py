"""What the READMEs say, done: every Python block runs, every command named exists."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.pages_support import (
    ROOT,
    Block,
    bare,
    blocks,
    check_commands,
    check_python,
    check_scripts,
    inline_commands,
    programs,
)
from tests.test_public_door import ROOMS
from typer.testing import CliRunner

from hikidashi.cli.app import app
from hikidashi.servers.clients import CLIENTS
from hikidashi.testing import MessagesServer

READMES = ("README.md", "README.ja.md")
PAGES = (*READMES, "docs/architecture.md", "CONTRIBUTING.md", "AGENTS.md", "SECURITY.md")
REPOSITORY = "https://github.com/hikidashi/hikidashi/blob/main/"


@pytest.mark.cli
@pytest.mark.parametrize("block", programs(READMES), ids=str)
def test_every_python_block_runs_as_it_stands(
    block: Block, messages_server: Callable[..., MessagesServer], tmp_path: Path
) -> None:
    check_python(block, messages_server, tmp_path)


@pytest.mark.cli
@pytest.mark.parametrize("page", READMES)
def test_every_sh_block_runs_as_it_stands(
    page: str, messages_server: Callable[..., MessagesServer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    assert blocks(page, "sh")
    check_scripts(page, messages_server, tmp_path)


@pytest.mark.parametrize("page", READMES)
def test_a_readme_has_the_line_for_every_client(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    commands = re.findall(r"`hikidashi (serve install [\w-]+)`", text)
    clients = {client.name: client.title for client in CLIENTS if client.name != "claude-code-project"}
    assert sorted(command.split()[-1] for command in commands) == sorted(clients)
    assert [title for title in clients.values() if title not in text] == []
    monkeypatch.setenv("HOME", str(tmp_path))
    by_hand = json.loads(re.findall(r'`({"mcpServers".*})`', text)[0])["mcpServers"]["hikidashi"]
    config = str(ROOT / "examples/mcp.json")
    for command in commands:
        done = CliRunner().invoke(app, [*command.split(), "--config", config, "--dry-run", "--json"])
        assert done.exit_code == 0, done.output
        written = " ".join(json.loads(done.stdout)["files"][0]["diff"].replace("\n+", "").split())
        assert all(f'"{argument}"' in written for argument in [*by_hand["args"][:-1], config])


def test_both_readmes_have_the_same_blocks_of_code() -> None:
    english, japanese = ([bare(block.code) for block in blocks(page)] for page in READMES)
    assert english
    assert english == japanese


@pytest.mark.parametrize("page", READMES)
def test_a_readme_is_one_screen(page: str) -> None:
    assert len((ROOT / page).read_text(encoding="utf-8").splitlines()) <= 105


def test_both_readmes_have_a_place_for_the_benchmark() -> None:
    for page in READMES:
        assert (ROOT / page).read_text(encoding="utf-8").count("<!-- bench -->") == 1


@pytest.mark.parametrize("page", PAGES)
def test_every_command_a_page_names_exists(page: str) -> None:
    for block in blocks(page, "sh", "shell"):
        check_commands(block)
    for block in inline_commands(page):
        check_commands(block, complete=False)


@pytest.mark.parametrize("page", PAGES)
def test_every_link_inside_the_project_leads_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8").replace(REPOSITORY, f"{ROOT}/")
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", text):
        assert ((ROOT / page).parent / target).exists(), target


@pytest.mark.parametrize("page", READMES)
def test_a_readme_is_read_on_a_package_index_too_so_its_links_are_whole(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert re.findall(r"\]\((?!https://)[^)]*\)", text) == []


def test_the_two_commands_of_a_clone_stand_side_by_side() -> None:
    for page in READMES:
        assert re.search(r"`make run`.*`make test`", (ROOT / page).read_text(encoding="utf-8"))
    assert re.search(r"^make test$", (ROOT / ".ci/run").read_text(encoding="utf-8"), re.MULTILINE)


def test_the_architecture_names_every_room_in_the_order_of_imports() -> None:
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(\w+?)(?:\.py|/)` \|", text, re.MULTILINE) == ROOMS
    agents = (ROOT / "AGENTS.md").read_text(encoding="utf-8")
    assert [room for room in ROOMS if not re.search(rf"`(?:[\w, ./`]*)\b{room}\b", agents)] == ["__main__"]


@pytest.mark.parametrize("page", ["docs/architecture.md", "AGENTS.md", "CONTRIBUTING.md", "SECURITY.md"])
def test_every_path_that_a_page_names_is_there(page: str) -> None:
    text = re.sub(r"(?ms)^```.*?^```$", "", (ROOT / page).read_text(encoding="utf-8"))
    paths = [path for path in re.findall(r"`([\w.-]+(?:/[\w.-]*)+|\w+\.(?:py|md))`", text) if "://" not in path]
    made_later = {".venvs/", "site/", "hikidashi/examples"}
    here = (ROOT, ROOT / "src/hikidashi")
    assert [path for path in paths if path not in made_later and not any((at / path).exists() for at in here)] == []
