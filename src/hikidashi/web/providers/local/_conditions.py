"""Search filters as SQL conditions, applied within the full-text query."""

from __future__ import annotations

import json
from dataclasses import dataclass

from ...filters import SearchFilters
from ._database import POSITIONS

__all__ = ["NO_CONDITION", "Condition", "condition_of"]


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on documents as SQL about the table `document`; empty for all documents."""

    sql: str = ""
    values: tuple[str, ...] = ()

    def of_passage(self, column: str) -> str:
        """The condition for a passage whose id is in `column`, to append to other conditions."""
        return f" AND {column} / {POSITIONS} IN (SELECT id FROM document WHERE {self.sql})" if self.sql else ""

    def of_document(self) -> str:
        """The condition for a document, to append to other conditions."""
        return f" AND {self.sql}" if self.sql else ""


NO_CONDITION = Condition()


def condition_of(filters: SearchFilters) -> Condition:
    """The condition for the dates and domains of `filters`; a file has no domain."""
    clauses: list[str] = []
    values: list[str] = []
    first, last = filters.days()
    for day, operator in ((first, ">="), (last, "<=")):
        if day is not None:
            clauses.append(f"day {operator} ?")
            values.append(day)
    for domains, negation in ((filters.include_domains, ""), (filters.exclude_domains, "NOT ")):
        if domains:
            # One parameter for any number of domains; `LIKE` would treat an underscore as a wildcard.
            clauses.append(
                f"{negation}EXISTS (SELECT 1 FROM json_each(?) AS domain WHERE host = domain.value "
                "OR substr(host, -length(domain.value) - 1) = '.' || domain.value)"
            )
            values.append(json.dumps(domains))
    return Condition(" AND ".join(clauses), tuple(values))
