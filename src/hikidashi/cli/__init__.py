"""The `hikidashi` command: parse, call the library, print.

No framework is imported before a command needs it, so `hikidashi --help` and `hikidashi doctor`
work, and are quick, with the base install alone.
"""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """Run the command line; exits with 0 (success), 1 (failure) or 2 (wrong usage)."""
    import sys

    if sys.argv[1:2] == ["serve"]:
        from .serve.options import attach_quickly

        if (code := attach_quickly(sys.argv[1:])) is not None:
            sys.exit(code)
    from .app import run

    run()
