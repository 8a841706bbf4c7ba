"""Whether a terminal supports hyperlinks (OSC 8), which show a text in place of an address."""

from __future__ import annotations

import os
from collections.abc import Mapping

__all__ = ["supports_hyperlinks"]

_PROGRAMS = frozenset({"ghostty", "Hyper", "iTerm.app", "rio", "Tabby", "vscode", "WarpTerminal", "WezTerm", "zed"})
_TERMS = ("alacritty", "contour", "foot", "ghostty", "kitty", "wezterm", "xterm-ghostty", "xterm-kitty")
_SET_BY_TERMINALS = ("DOMTERM", "KITTY_WINDOW_ID", "KONSOLE_VERSION", "WT_SESSION")
_FIRST_VTE = 5000  # 0.50


def supports_hyperlinks(environment: Mapping[str, str] | None = None) -> bool:
    """Whether the terminal is known to support hyperlinks; elsewhere the address must be printed.

    `FORCE_HYPERLINK=1` and `FORCE_HYPERLINK=0` override this, as in other programs.
    """
    given = os.environ if environment is None else environment
    if (forced := given.get("FORCE_HYPERLINK")) is not None:
        return forced.lower() not in {"", "0", "false", "no"}
    term = given.get("TERM", "")
    # Inside tmux and screen, the outer terminal is unknown.
    if term in {"", "dumb", "linux"} or term.startswith(("tmux", "screen")) or "TMUX" in given:
        return False
    if given.get("TERM_PROGRAM") in _PROGRAMS or term.startswith(_TERMS):
        return True
    if any(given.get(name) for name in _SET_BY_TERMINALS):
        return True
    vte = given.get("VTE_VERSION", "")
    return vte.isascii() and vte.isdigit() and int(vte) >= _FIRST_VTE
