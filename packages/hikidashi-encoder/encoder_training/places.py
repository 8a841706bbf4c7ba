"""Where things are: the package, what a run leaves behind, the figures and the card."""

from __future__ import annotations

from pathlib import Path

__all__ = ["CARD", "FIGURES", "PACKAGE", "WORK"]

PACKAGE = Path(__file__).parent.parent
WORK = PACKAGE / "work"
"""Checkpoints and states; not in the repository."""
FIGURES = PACKAGE / "figures.json"
CARD = PACKAGE / "README.md"
