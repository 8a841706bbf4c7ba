"""How large and how twisted a page is, found in one quick pass, so that no parser meets a page made to hurt it.

Measured: 200,000 paragraphs keep trafilatura busy for minutes, 30,000 attributes on one element for 4 s; 200,000
nested elements, or attributes, hang lexbor, the parser of selectolax.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["FOR_LEXBOR", "FOR_TRAFILATURA", "Shape", "shape_of"]

# It stops at the next bracket, so a page of unclosed tags is read once and not once per tag.
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)([^<>]*)")
# These close each other, or never hold anything.
_FLAT = frozenset(
    re.findall(
        r"\w+",
        "p li td th tr dt dd option optgroup thead tbody tfoot colgroup rb rt rp "
        "area base br col embed hr img input link meta param source track wbr html head body",
    )
)


@dataclass(frozen=True, slots=True)
class Shape:
    """What a page has of everything that costs a parser time."""

    size: int
    elements: int
    attributes: int
    """The most that one element has."""
    depth: int

    def fits(self, limit: Shape) -> bool:
        """Whether nothing exceeds `limit`."""
        return (
            self.size <= limit.size
            and self.elements <= limit.elements
            and self.attributes <= limit.attributes
            and self.depth <= limit.depth
        )


FOR_TRAFILATURA = Shape(size=2_000_000, elements=12_000, attributes=1_000, depth=250)
FOR_LEXBOR = Shape(size=10_000_000, elements=300_000, attributes=1_000, depth=500)


def shape_of(html: str) -> Shape:
    """The shape of `html`; elements are not counted beyond what any parser is given."""
    size, brackets = len(html), html.count("<")
    if brackets > 3 * FOR_LEXBOR.elements:
        return Shape(size, brackets, 0, 0)
    elements = attributes = depth = deepest = 0
    for closing, name, rest in _TAG.findall(html):
        flat = name.lower() in _FLAT
        if closing:
            depth -= not flat
            continue
        elements += 1
        if rest:
            attributes = max(attributes, min(rest.count("=") + rest.count(" "), len(rest) // 2))
        if not flat and not rest.endswith("/"):
            depth += 1
            deepest = max(deepest, depth)
    return Shape(size, elements, attributes, deepest)
