"""The `envFile` of an entry, as VS Code and Cursor have it: a file of lines `NAME=value`."""

from __future__ import annotations

import re
from pathlib import Path

from .references import EntryError, References

__all__ = ["variables_of_file"]

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
