"""The report of the doctor."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

__all__ = ["Check", "Report", "Status"]

Status = Literal["ok", "absent", "problem"]
"""`absent` is not set up, which is fine; `problem` is set up and cannot work."""


@dataclass(frozen=True, kw_only=True)
class Check:
    """The result of one check."""

    area: Literal["base", "extra", "claude", "provider", "key"]
    name: str
    status: Status
    found: str
    """What was found, in a few words; never the value of a key."""
    remedy: str = ""
    """What to do; empty if there is nothing to do."""


@dataclass(frozen=True)
class Report:
    """All checks."""

    checks: tuple[Check, ...]

    @property
    def problems(self) -> tuple[Check, ...]:
        """The checks that found a problem."""
        return tuple(check for check in self.checks if check.status == "problem")

    @property
    def ok(self) -> bool:
        """Whether there are no problems."""
        return not self.problems

    def as_json(self) -> dict[str, Any]:
        """The report as a JSON object."""
        return {"ok": self.ok, "checks": [asdict(check) for check in self.checks]}
