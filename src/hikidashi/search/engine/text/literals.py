"""Literal values in a question: addresses, ids, paths, long numbers and quotations.

They say what to work on, not what to do, and match the example values in descriptions by chance.
"""

from __future__ import annotations

import re

__all__ = ["literals", "without_literals"]

_FEWEST_WORDS = 5  # of a quotation: a shorter one may be the name of a tool, or what to search for
_FEWEST_LETTERS = 13  # of a quotation in a script without spaces
_LITERAL = re.compile(
    r"""
      (?P<text>
          "[^"\n]{1,2000}" | “[^”\n]{1,2000}” | «[^»\n]{1,2000}» | „[^“”\n]{1,2000}[“”]
        | 「[^」\n]{1,2000}」 | 『[^』\n]{1,2000}』 | (?<!\w)'[^'\n]{1,2000}'(?!\w)
      )
    | (?P<link>\b[a-z][a-z0-9+.-]{1,20}://[^\s"'<>「」『』]{1,2000})
    | (?P<address>(?<![\w.+-])[\w.+-]{1,64}@\w[\w-]{0,63}(?:\.[\w-]{1,63}){1,8})
    | (?P<path>
          (?<![\w/~.])(?:~|\.{1,2})?(?:/[\w.@+-]{1,255}){2,40}/?
        | (?<![\w/~.])(?:~|\.{1,2})/[\w.@+-]{1,255}/?
        | (?<!\w)[A-Z]:\\[^\s"'<>|]{1,255}
      )
    | (?P<id>
          (?<![\w-])[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?![\w-])
        | (?<![\w-])(?=[a-z]{0,64}\d)(?=\d{0,64}[a-z])[0-9a-f]{7,64}(?![\w-])
      )
    | (?P<number>(?<![\w.])\+?\d(?:[\d,.()\s-]{3,40}\d)(?!\w))
    """,
    re.IGNORECASE | re.VERBOSE,
)
_LONG_NUMBER = 5  # digits
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_WORD = re.compile(r"\w+")
_JOINED = re.compile(r"\w+(?:[-./:]\w+)+")  # more likely a name than a text, however many words it has


def without_literals(text: str, *, kinds: bool = True) -> str:
    """`text` with each literal value replaced by its kind, such as `address`; unchanged if it has nothing else.

    Args:
        text: A question.
        kinds: If false, literal values are left out.
    """
    rest = _LITERAL.sub(lambda match: " " if _is_literal(match) else match[0], text)
    if rest == text or not _WORD.search(rest):
        return text
    if not kinds:
        return rest
    return _LITERAL.sub(lambda match: str(match.lastgroup) if _is_literal(match) else match[0], text)


def literals(text: str) -> list[str]:
    """The literal values in `text`, and all that is in quotes but single short words; without the quotes."""
    found = [match[0][1:-1] if match.lastgroup == "text" else match[0] for match in _LITERAL.finditer(text)]
    return [one for one in found if not one.isalpha() or len(one) >= _FEWEST_LETTERS]


def _is_literal(match: re.Match[str]) -> bool:
    if match.lastgroup == "text":
        inside = match[0][1:-1]
        if _JOINED.fullmatch(inside) and not _LITERAL.fullmatch(inside):
            return False
        words = _WORD.findall(match[0])
        return len(words) >= _FEWEST_WORDS or (
            not match[0].isascii() and max(map(len, words), default=0) >= _FEWEST_LETTERS
        )
    if match.lastgroup == "number":
        return sum(map(str.isdigit, match[0])) >= _LONG_NUMBER and not _DATE.fullmatch(match[0])
    return True
