"""References in the texts of a server's entry: `${NAME}`, `${NAME:-default}`, `${keyring:SERVICE/NAME}`, `envFile`."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import MissingExtra

_REFERENCE = re.compile(
    r"(?P<dollars>\$+)\{(?:keyring:(?P<entry>[^{}]*)|env:(?P<env>\w+)|(?P<asked>(?:input|command|config):[^{}]*|/)"
    r"|(?P<name>\w+)(?::-(?P<default>[^}]*))?)\}"
)
_BROKEN = re.compile(r"\$\{[^}]{0,40}\}?")
_NEVER_SECRET = re.compile(
    "COLUMNS|DISPLAY|EDITOR|HOME|HOST|HOSTNAME|LANG|LINES|LOGNAME|NODE_ENV|PATH|PWD|SHELL|TEMP|TERM|TMP|TMPDIR|TZ|USER|"
    "USERNAME|USERPROFILE"
)
_FOLDER_OR_NUMBER = re.compile(r"(?:[/~.]|[A-Za-z]:[\\/]).*|[0-9.]*|true|false|https?://[^@?]*", re.DOTALL)


class EntryError(ValueError):
    """The entry of one server cannot be used: `reason` completes "server 'name' …", `remedy` says what to do."""

    def __init__(self, reason: str, remedy: str = "") -> None:
        super().__init__(reason, remedy)
        self.reason = reason
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.reason}. {self.remedy}".strip()


@dataclass(frozen=True)
class Syntax:
    """Differences between the files that have references.

    In `.mcp.json` a text such as `a$$b` stays as it is, and an empty variable counts as set, as in Claude Code. Files
    of Cursor and VS Code also have `${env:NAME}`, which is empty where the variable is not set, `${workspaceFolder}`
    and `${userHome}`. In `config.yaml` the rules of that file hold: `$$` is a dollar sign, `${` must begin a
    reference, and a default also replaces an empty variable, as in a shell.
    """

    strict: bool = False


@dataclass
class References:
    """Expands references, and collects the values that must not be shown.

    Args:
        environment: The variables.
        keyring: Returns the password of (service, name); None leaves references to the keyring as they are.
        syntax: Which file the texts are from.
        folder: The folder of the project that the file belongs to, for `${workspaceFolder}`.
    """

    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    keyring: Callable[[str, str], str] | None = None
    syntax: Syntax = field(default_factory=Syntax)
    folder: Path | None = None
    secrets: set[str] = field(default_factory=set[str], repr=False)
    waits_for_keyring: bool = False
    """Whether a reference to the keyring was left as it is."""

    def expand(self, text: str, *, keyring_allowed: bool = True) -> str:
        """`text` with the values of its references; `$${NAME}` is the text `${NAME}`. Values are not expanded again.

        Raises:
            EntryError: a variable is not set, the keyring has no such password, or only a client can expand it.
        """

        def value(match: re.Match[str]) -> str:
            dollars = match["dollars"]
            before = "$" * (len(dollars) // 2)
            if len(dollars) % 2 == 0:
                return before + match[0][len(dollars) :]
            if match["entry"] is not None:
                return before + self._password(match["entry"], match[0][len(dollars) - 1 :], allowed=keyring_allowed)
            if match["name"] is None:
                return before + self._of_client(match["env"], match[0][len(dollars) - 1 :])
            return before + self._variable(match["name"], match["default"])

        if not self.syntax.strict:
            return _REFERENCE.sub(value, text)
        parts: list[str] = []
        position = 0
        for match in _REFERENCE.finditer(text):
            parts += [_strict(text[position : match.start()]), value(match)]
            position = match.end()
        return "".join([*parts, _strict(text[position:])])

    def _of_client(self, variable: str | None, reference: str) -> str:
        """The value of a reference that only Cursor and VS Code have."""
        if self.syntax.strict:
            raise _names_no_variable(reference)
        if reference == "${/}":
            return os.sep
        if variable is None:
            reason = f"has `{reference}`, which only the client that it was written for can fill in"
            raise EntryError(reason, "Write ${NAME} in its place, and set that environment variable.")
        return self._variable(variable, "")

    def _predefined(self, name: str) -> str | None:
        """The value of a variable that Cursor and VS Code set themselves."""
        if self.syntax.strict:
            return None
        match name:
            case "workspaceFolder" | "workspaceRoot" if self.folder is not None:
                return str(self.folder)
            case "workspaceFolderBasename" if self.folder is not None:
                return self.folder.name
            case "userHome":
                return str(Path.home())
            case "pathSeparator":
                return os.sep
            case _:
                return None

    def _variable(self, name: str, default: str | None) -> str:
        found = self.environment.get(name)
        if found is None and (predefined := self._predefined(name)) is not None:
            return predefined
        if default is not None and (found is None or (self.syntax.strict and not found)):
            return default
        if found is None:
            reason = f"needs the environment variable {name}, which is not set"
            raise EntryError(reason, f"Set {name}, or write ${{{name}:-default}}.")
        self.keep_secret(name, found)
        return found

    def keep_secret(self, name: str, value: str) -> None:
        """Count the value of the variable `name` among those that must not be shown, unless it is clearly no secret."""
        if not _NEVER_SECRET.fullmatch(name) and not _FOLDER_OR_NUMBER.fullmatch(value):
            self.secrets.add(value)

    def _password(self, entry: str, reference: str, *, allowed: bool) -> str:
        service, slash, name = entry.rpartition("/")
        if not slash or not service or not name:
            raise EntryError(f"has `{reference}`, which names no password", "Write ${keyring:SERVICE/NAME}.")
        if not allowed:
            reason = f"has `{reference}` where every user of the machine can read it"
            raise EntryError(reason, "References to the keyring go into `env`, `headers` or `url`.")
        if self.keyring is None:
            self.waits_for_keyring = True
            return reference
        found = self.keyring(service, name)
        self.secrets.add(found)
        return found


def escaped(text: str) -> str:
    """`text` escaped, so that nothing in it is expanded."""
    return _REFERENCE.sub(lambda match: "$" * len(match["dollars"]) + match[0], text)


def references_in(text: str) -> list[str]:
    """The references in `text`, such as `${NAME}`, without defaults."""
    found = [match for match in _REFERENCE.finditer(text) if len(match["dollars"]) % 2]
    return [_without_default(match) for match in found]


def _without_default(match: re.Match[str]) -> str:
    if match["name"] is None:
        return match[0][len(match["dollars"]) - 1 :]
    return f"${{{match['name']}}}"


def _strict(text: str) -> str:
    if broken := _BROKEN.search(text.replace("$$", "")):
        raise _names_no_variable(broken[0])
    return text.replace("$$", "$")


def _names_no_variable(reference: str) -> EntryError:
    remedy = "Write ${NAME}, ${NAME:-default} or ${keyring:SERVICE/NAME}, and $$ for a dollar sign."
    return EntryError(f"has `{reference}`, which names no variable", remedy)


_LINE = re.compile(r"(?:export\s+)?([\w.-]+)\s*=\s*(.*)")
_QUOTED = re.compile(r"""(?:'(?P<single>[^']*)'|"(?P<double>(?:[^"\\]|\\.)*)")\s*(?:#.*)?""")
_COMMENT = re.compile(r"(?:^|\s+)#.*")
_ESCAPE = re.compile(r"\\(.)")
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}


def variables_of_file(given: object, references: References) -> dict[str, str]:
    """The variables in the file that an entry names; their values are kept as secrets.

    A value may be in single or double quotes; `#` begins a comment. Nothing in it is expanded.

    Args:
        given: The path, which may have references and be relative to the folder of the project.
        references: Expands them.

    Raises:
        EntryError: the file cannot be read, or a line is none; the error has its number and nothing of its text.
    """
    if not isinstance(given, str) or not given:
        raise EntryError("has an `envFile` that is not the path of a file", 'Write "envFile": ".env".')
    shown = references.expand(given, keyring_allowed=False)
    try:
        path = (references.folder or Path()) / Path(shown).expanduser()
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, RuntimeError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "it is not text in UTF-8"
        remedy = "Check the path and its permissions, or write the variables into `env`."
        raise EntryError(f"has the `envFile` {shown!r}, which cannot be read ({reason})", remedy) from error
    found: dict[str, str] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        matched = _LINE.fullmatch(line.strip())
        value = None if matched is None else _value(matched[2])
        if matched is None or value is None:
            remedy = "Write NAME=value on each line; quotes are closed on the same line."
            raise EntryError(f"has the `envFile` {shown!r}, whose line {number} cannot be read", remedy)
        found[matched[1]] = value
        references.keep_secret(matched[1], value)
    return found


def _value(text: str) -> str | None:
    """The value of a variable; None if a quote is not closed, or something follows it."""
    if not text.startswith(("'", '"')):
        return _COMMENT.sub("", text)
    if (quoted := _QUOTED.fullmatch(text)) is None:
        return None
    if quoted["single"] is not None:
        return quoted["single"]
    return _ESCAPE.sub(lambda found: _ESCAPES.get(found[1], found[1]), quoted["double"])


def password(service: str, name: str) -> str:
    """The password that the keyring has for `name` of `service`.

    Raises:
        EntryError: `keyring` is not installed, cannot be opened, or has no such password.
    """
    shown = f"${{keyring:{service}/{name}}}"
    try:
        import keyring
    except ImportError as error:
        missing = MissingExtra("keyring", "keyring")
        problem, _, remedy = str(missing).partition(". ")
        raise EntryError(f"needs `{shown}`, and {problem}", remedy) from error
    try:
        found = keyring.get_password(service, name)
    except Exception as error:  # each backend has errors of its own, and none may stop the other servers
        reason = f"needs `{shown}`, and the keyring cannot be read ({type(error).__name__})"
        raise EntryError(reason, "Unlock it, or set up a backend: see `keyring diagnose`.") from None
    if not found:
        reason = f"needs `{shown}`, and the keyring has no such password"
        raise EntryError(reason, f"Set it: {shlex.join(['keyring', 'set', service, name])}")
    return found
