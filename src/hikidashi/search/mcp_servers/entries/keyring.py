"""Passwords from the keyring of the system, through the `keyring` library; imported when one is needed."""

from __future__ import annotations

import shlex

from ....errors import MissingExtra
from .references import EntryError

__all__ = ["password"]


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
