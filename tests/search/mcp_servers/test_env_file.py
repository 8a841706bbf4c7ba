"""The `envFile` of a server, as VS Code and Cursor have it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hikidashi.search.mcp_servers.entries._env_file import variables_of_file
from hikidashi.search.mcp_servers.entries.config import server_from
from hikidashi.search.mcp_servers.entries.references import EntryError, References

WRITTEN = """\ufeff# Keys
TOKEN=sk-test

export REGION = eu-west  # near
EMPTY=
PLAIN=a b#c
SINGLE='it # is $HOME \\n'
DOUBLE="two\\nlines, a \\"quote\\" and a \\\\" # comment
URL=https://x/?a=b=c
TOKEN=tvly-test\r
"""


def test_a_file_has_names_values_quotes_and_comments(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(WRITTEN, encoding="utf-8", newline="")
    references = References(folder=tmp_path)
    assert variables_of_file("${workspaceFolder}/.env", references) == {
        "TOKEN": "tvly-test",
        "REGION": "eu-west",
        "EMPTY": "",
        "PLAIN": "a b#c",
        "SINGLE": "it # is $HOME \\n",
        "DOUBLE": 'two\nlines, a "quote" and a \\',
        "URL": "https://x/?a=b=c",
    }
    assert {"sk-test", "tvly-test"} <= references.secrets


def test_env_prevails_over_the_file(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("A=file\nB=file\n")
    entry = {"command": "x", "envFile": ".env", "env": {"B": "entry"}}
    server = server_from("a", entry, References(folder=tmp_path))
    assert server.env == {"A": "file", "B": "entry"}
    assert "file" in server.secrets


@pytest.mark.parametrize("line", ["sk-test", "TOKEN='sk-test", 'TOKEN="sk-test" more', "=sk-test", "A B=sk-test"])
def test_a_line_that_is_none_is_named_by_its_number_and_never_shown(line: str, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(f"A=1\n{line}\n")
    with pytest.raises(EntryError) as caught:
        variables_of_file(".env", References(folder=tmp_path))
    assert caught.value.reason == "has the `envFile` '.env', whose line 2 cannot be read"
    assert "sk-test" not in caught.value.remedy


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary() | st.text(st.sampled_from("AB=#'\"\\n \n$")).map(str.encode))
def test_any_file_has_variables_or_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / ".env").write_bytes(content)
    with suppress(EntryError):
        found = variables_of_file(".env", References(folder=tmp_path))
        assert all(name and "=" not in name for name in found)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=st.text(st.characters(exclude_categories=["Cs", "Cc"])))
def test_any_value_survives_in_double_quotes(tmp_path: Path, value: str) -> None:
    quoted = value.replace("\\", "\\\\").replace('"', '\\"')
    (tmp_path / ".env").write_text(f'A="{quoted}"', encoding="utf-8", newline="")
    assert variables_of_file(".env", References(folder=tmp_path)) == {"A": value}
