"""Size and nesting of an HTML page, measured in one pass, and the limits up to which each parser is used.

Measured: 200,000 paragraphs keep trafilatura busy for minutes, 30,000 attributes on one element for 4 s; 200,000
nested elements, or attributes, hang lexbor, the parser of selectolax.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["LEXBOR_LIMIT", "TRAFILATURA_LIMIT", "Complexity", "complexity_of"]

# Stops at the next bracket, so matching takes linear time even on unclosed tags.
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)([^<>]*)")
# Elements that are closed implicitly, or are always empty.
_FLAT = frozenset(
    re.findall(
        r"\w+",
        "p li td th tr dt dd option optgroup thead tbody tfoot colgroup rb rt rp "
        "area base br col embed hr img input link meta param source track wbr html head body",
    )
)


@dataclass(frozen=True, slots=True)
class Complexity:
    """The properties of a page that cost a parser time."""

    size: int
    elements: int
    attributes: int
    """The largest number of attributes of one element."""
    depth: int

    def fits(self, limit: Complexity) -> bool:
        """Whether no property exceeds `limit`."""
        return (
            self.size <= limit.size
            and self.elements <= limit.elements
            and self.attributes <= limit.attributes
            and self.depth <= limit.depth
        )


TRAFILATURA_LIMIT = Complexity(size=2_000_000, elements=12_000, attributes=1_000, depth=250)
LEXBOR_LIMIT = Complexity(size=10_000_000, elements=300_000, attributes=1_000, depth=500)


def complexity_of(html: str) -> Complexity:
    """The complexity of `html`; counting stops beyond the limit of every parser."""
    size, brackets = len(html), html.count("<")
    if brackets > 3 * LEXBOR_LIMIT.elements:
        return Complexity(size, brackets, 0, 0)
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
    return Complexity(size, elements, attributes, deepest)
