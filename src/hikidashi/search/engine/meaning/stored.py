"""The vectors in a saved catalogue. Needs no numpy: a file is loaded and saved without it."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass

__all__ = ["StoredVectors"]


@dataclass(frozen=True, slots=True)
class StoredVectors:
    """Vectors of tools by number, in the form in which `Vectorizer` stores them."""

    model: str
    """The `Embedder.id` of the model."""
    rows: dict[int, bytes]

    def to_bytes(self) -> bytes:
        """A line of JSON with the model and the numbers, then the vectors, all of one length."""
        head = json.dumps({"model": self.model, "numbers": list(self.rows)}, separators=(",", ":"))
        return b"".join((head.encode(), b"\n", *self.rows.values()))

    @classmethod
    def from_bytes(cls, content: bytes) -> StoredVectors:
        """What `to_bytes` made."""
        head, _, body = content.partition(b"\n")
        described = json.loads(head)
        numbers: list[int] = described["numbers"]
        size = len(body) // len(numbers) if numbers else 0
        rows = {number: body[place * size : (place + 1) * size] for place, number in enumerate(numbers)}
        return cls(described["model"], rows)

    def only(self, numbers: Collection[int]) -> StoredVectors:
        """The vectors of the tools among `numbers`."""
        return StoredVectors(self.model, {number: self.rows[number] for number in numbers if number in self.rows})

    def renumbered(self, order: Sequence[int]) -> StoredVectors:
        """The tool at each place of `order`, its number so far, gets that place as its number."""
        rows = {place: self.rows[number] for place, number in enumerate(order) if number in self.rows}
        return StoredVectors(self.model, rows)
