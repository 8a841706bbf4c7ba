"""`hikidashi doctor`: what is installed, what runs, which providers can be used, and which keys are set."""

from __future__ import annotations

import os

from .claude_code import check_claude_code
from .keys import check_keys
from .packages import check_base, check_extras, needs_by_extra
from .providers import check_providers
from .report import Check, Report
from .view import print_report

__all__ = ["Check", "Report", "examine", "print_report"]


def examine() -> Report:
    """A report on this environment; frameworks are looked up, not imported."""
    return Report(
        (
            *check_base(),
            *check_extras(needs_by_extra()),
            *check_claude_code(os.environ),
            *check_providers(os.environ),
            *check_keys(os.environ),
        )
    )
