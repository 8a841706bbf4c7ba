"""References in the entries of servers: variables, defaults, the keyring, and what is no reference."""

from __future__ import annotations

import contextlib
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hikidashi.servers.config import server_from
from hikidashi.servers.references import EntryError, References, Syntax, escaped, references_in, variables_of_file

texts = st.text(st.sampled_from("${}:-aX_/ "), max_size=20) | st.text(max_size=20)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("${A}", "one"),
        ("x${A}y${EMPTY}z", "xoneyz"),
        ("${NONE:-d}", "d"),
        ("${NONE:-}", ""),
        ("${EMPTY:-d}", ""),  # as in Claude Code: it is set
        ("$A $(A) {A} $ $$ a$$b", "$A $(A) {A} $ $$ a$$b"),
        ("${env:A} ${env:NONE}${", "one ${"),
        ("${workspaceFolder}/x ${workspaceFolderBasename}${/}", "/home/ann/project/x project/"),
        ("$${env:A} $${input:x}", "${env:A} ${input:x}"),
        ("$${A}", "${A}"),
        ("$$${A}", "$one"),
        ("$${keyring:a/b}", "${keyring:a/b}"),
        ("${TWICE}", "${A}"),
    ],
)
def test_references_of_a_clients_file_are_expanded_once(text: str, expected: str) -> None:
    environment = {"A": "one", "EMPTY": "", "TWICE": "${A}"}
    assert References(environment, folder=Path("/home/ann/project")).expand(text) == expected


@pytest.mark.parametrize("reference", ["${input:x}", "${command:pick}", "${config:editor.tabSize}"])
def test_what_only_a_client_can_fill_in_is_named_and_never_passed_on_as_text(reference: str) -> None:
    with pytest.raises(EntryError) as caught:
        References({}).expand(f"Bearer {reference}")
    assert caught.value.reason == f"has `{reference}`, which only the client that it was written for can fill in"
    assert caught.value.remedy == "Write ${NAME} in its place, and set that environment variable."


def test_a_variable_of_the_environment_comes_before_one_that_a_client_sets_itself() -> None:
    assert References({"userHome": "mine"}).expand("${userHome}") == "mine"
    assert References({}).expand("${userHome}") == str(Path.home())


@pytest.mark.parametrize(("text", "expected"), [("${EMPTY:-d}", "d"), ("a$$b", "a$b"), ("$${A}", "${A}"), ("$5", "$5")])
def test_config_yaml_has_the_rules_of_that_file(text: str, expected: str) -> None:
    assert References({"A": "one", "EMPTY": ""}, syntax=Syntax(strict=True)).expand(text) == expected


@pytest.mark.parametrize("text", ["${input:x}", "${env:A}", "${/}", "${", "$$${", "${A", "${keyring:a/b"])
def test_config_yaml_refuses_what_is_no_reference(text: str) -> None:
    with pytest.raises(EntryError, match=r"which names no variable. Write \$\{NAME\}"):
        References({"A": "one"}, syntax=Syntax(strict=True)).expand(text)


def test_a_variable_that_is_not_set_is_named_with_the_remedy() -> None:
    with pytest.raises(EntryError) as caught:
        References({}).expand("Bearer ${MY_TOKEN}")
    assert caught.value.reason == "needs the environment variable MY_TOKEN, which is not set"
    assert caught.value.remedy == "Set MY_TOKEN, or write ${MY_TOKEN:-default}."


@pytest.mark.parametrize("text", ["${keyring:}", "${keyring:a}", "${keyring:/a}", "${keyring:a/}"])
def test_a_reference_to_no_password_is_refused(text: str) -> None:
    with pytest.raises(EntryError, match="names no password"):
        References({}).expand(text)


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "${keyring:a/b}"},
        {"command": "x", "args": ["${keyring:a/b}"]},
        {"command": "x", "cwd": "${keyring:a/b}"},
    ],
)
def test_no_password_goes_where_every_user_of_the_machine_reads_it(entry: dict[str, object]) -> None:
    with pytest.raises(EntryError, match="go into `env`, `headers` or `url`"):
        server_from("a", entry, References({}, keyring=lambda service, name: "sk-test-secret"))


def test_values_of_the_keyring_and_of_variables_are_not_shown() -> None:
    references = References({"PAT": "abcd1234", "HOME": "/home/me"}, keyring=lambda service, name: f"{service}!{name}")
    entry = {"command": "${HOME}/x", "env": {"A": "${PAT}", "B": "${keyring:my/service/me}"}}
    server = server_from("a", entry, references)
    assert server.env == {"A": "abcd1234", "B": "my/service!me"}
    said = server.without_secrets("/home/me/x: bad abcd1234, my/service!me, my%2Fservice%21me")
    assert said == "/home/me/x: bad ***, ***, ***"
    assert "abcd" not in repr(server)


@given(texts)
def test_what_is_escaped_is_read_as_it_was(text: str) -> None:
    references = References({})
    assert references.expand(escaped(text)) == text
    assert references_in(escaped(text)) == []


@given(texts, st.booleans())
def test_any_text_is_expanded_or_refused(text: str, strict: bool) -> None:
    references = References({"a": "1", "X": "2"}, keyring=lambda service, name: "p", syntax=Syntax(strict=strict))
    with contextlib.suppress(EntryError):
        assert "${a}" not in references.expand(text) or "$${a}" in text


# The `envFile` of a server, as VS Code and Cursor have it.


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
