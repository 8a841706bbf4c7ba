"""Search filters as conditions of SQL, so that the full-text query itself leaves out what they exclude."""

from __future__ import annotations

import json
from dataclasses import dataclass

from ...filters import SearchFilters
from ._database import POSITIONS

__all__ = ["EVERYTHING", "Condition", "condition_of"]


@dataclass(frozen=True, slots=True)
class Condition:
    """What must hold for a document, as SQL about the table `document`; empty for all documents."""

    sql: str = ""
    values: tuple[str, ...] = ()

    def of_passage(self, column: str) -> str:
        """The condition on the passage with the number in `column`, to be put behind other conditions."""
        return f" AND {column} / {POSITIONS} IN (SELECT id FROM document WHERE {self.sql})" if self.sql else ""

    def of_document(self) -> str:
        """The condition on a document, to be put behind other conditions."""
        return f" AND {self.sql}" if self.sql else ""


EVERYTHING = Condition()


def condition_of(filters: SearchFilters) -> Condition:
    """The documents of the days and domains that `filters` let through; a file is of no domain."""
    clauses: list[str] = []
    values: list[str] = []
    first, last = filters.days()
    for day, operator in ((first, ">="), (last, "<=")):
        if day is not None:
            clauses.append(f"day {operator} ?")
            values.append(day)
    for domains, negation in ((filters.include_domains, ""), (filters.exclude_domains, "NOT ")):
        if domains:
            # One value however many domains there are; `LIKE` would take an underscore for any letter.
            clauses.append(
                f"{negation}EXISTS (SELECT 1 FROM json_each(?) AS domain WHERE host = domain.value "
                "OR substr(host, -length(domain.value) - 1) = '.' || domain.value)"
            )
            values.append(json.dumps(domains))
    return Condition(" AND ".join(clauses), tuple(values))
