"""What the doctor found."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

__all__ = ["Check", "Report", "Status"]

Status = Literal["ok", "absent", "problem"]
"""`absent` is something that nobody set up, which is fine; `problem` is set up and cannot work."""


@dataclass(frozen=True, kw_only=True)
class Check:
    """One thing the doctor looked at."""

    area: Literal["base", "extra", "claude", "provider", "key"]
    name: str
    status: Status
    found: str
    """What is there, in a few words; never the value of a key."""
    remedy: str = ""
    """What to do, where there is something to do."""


@dataclass(frozen=True)
class Report:
    """Everything the doctor looked at."""

    checks: tuple[Check, ...]

    @property
    def problems(self) -> tuple[Check, ...]:
        """What is set up and cannot work."""
        return tuple(check for check in self.checks if check.status == "problem")

    @property
    def ok(self) -> bool:
        """Whether everything that is set up can work."""
        return not self.problems

    def as_json(self) -> dict[str, Any]:
        """The report as a JSON object."""
        return {"ok": self.ok, "checks": [asdict(check) for check in self.checks]}
