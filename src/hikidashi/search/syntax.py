"""A Python regular expression rewritten for the linear-time engine, or a reason why it cannot be.

What both languages write alike passes through; what they write differently is spelled out; what only a
backtracking engine can do is refused with something to write instead. Groups capture nothing here, since a
search only asks whether there is a match.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ..errors import ToolSearchError

__all__ = ["Translated", "invalid", "translate"]

# What a piece costs the engine, in units of a literal letter. Unicode's `\w` is some 800 ranges: 25 of them
# compile in 10 ms, 500 not at all.
_COSTS = {"w": 40, "W": 40, "b": 2, "B": 2, "d": 4, "D": 8, "s": 2, "S": 4, ".": 2}
_MAX_COST = 1_000
_REPEAT = re.compile(r"\{(\d*)(?:(,)(\d*))?\}")
_FLAGS = re.compile(r"\(\?([aiLmsux]*)(?:-([imsx]+))?([:)])")
_HEX = {"x": 2, "u": 4, "U": 8}
_CLASS_ESCAPES = "dDsSwW"
_META = frozenset(r"\.+*?()|[]{}^$#&-~")
_GROUPS = {
    "(?=": "look-ahead",
    "(?!": "look-ahead",
    "(?<=": "look-behind",
    "(?<!": "look-behind",
    "(?>": "an atomic group",
    "(?(": "a conditional group",
    "(?P=": "a back-reference",
}
_INSTEAD = {
    "look-ahead": "match the text itself, or search twice with simpler patterns",
    "look-behind": r"match the text itself, or use \b",
    "a back-reference": "write the repeated text out",
    "an atomic group": "use a plain group (?:…)",
    "a conditional group": "use alternatives a|b",
    "a possessive quantifier": "drop the second +",
}


@dataclass(slots=True)
class Translated:
    """A pattern in the engine's language, and where in the original each of its letters comes from."""

    text: str
    positions: list[int]
    dot_all: bool


@dataclass(slots=True)
class _Group:
    start: int
    cost: int = 0


def invalid(pattern: str, what: str, position: int | None = None) -> ToolSearchError:
    """The error for a pattern that cannot be used."""
    at = "" if position is None else f" at position {position}"
    return ToolSearchError("invalid_pattern", f"Invalid pattern {pattern!r}: {what}{at}.", position)


def translate(pattern: str) -> Translated:
    r"""`pattern` for the engine: always case-insensitive, `^`, `$`, `\A` and `\Z` at each line.

    Raises:
        ToolSearchError: it uses what no linear-time engine does, or repeats too much.
    """
    return _Translator(pattern).run()


@dataclass(slots=True)
class _Translator:
    pattern: str
    at: int = 0
    out: list[str] = field(default_factory=list[str])
    positions: list[int] = field(default_factory=list[int])
    groups: list[_Group] = field(default_factory=lambda: [_Group(0)])
    last: int = 0
    """What the piece just written costs: the one a quantifier repeats."""
    dot_all: bool = False
    verbose: bool = False

    def run(self) -> Translated:
        while self.at < len(self.pattern):
            self._next()
        return Translated("".join(self.out), self.positions, self.dot_all)

    def _next(self) -> None:
        start, letter = self.at, self.pattern[self.at]
        if self.verbose and (letter.isspace() or letter == "#"):
            self._skip_comment(letter)
        elif letter == "\\":
            self._escape()
        elif letter == "[":
            self._set()
        elif letter == "(":
            self._open()
        elif letter == ")":
            self._emit(")", start, 1)
            if len(self.groups) > 1:
                self.last = self.groups.pop().cost
                self._spend(self.last)
        elif letter in "*+?" or (letter == "{" and self._repeat_at(start)):
            self._repeat()
        elif letter in "|^$":
            self._emit(letter, start, 1)
            self.last = 0
        elif letter == ".":
            self._piece(".", start, 1, _COSTS["."])
        else:
            self._piece(_literal(letter), start, 1, 1)

    def _emit(self, text: str, start: int, length: int) -> None:
        self.out.append(text)
        self.positions += [start] * len(text)
        self.at = start + length

    def _piece(self, text: str, start: int, length: int, cost: int) -> None:
        self._emit(text, start, length)
        self.last = cost
        self._spend(cost)

    def _spend(self, cost: int) -> None:
        self.groups[-1].cost += cost
        if self.groups[-1].cost > _MAX_COST:
            raise invalid(
                self.pattern,
                "it repeats too much, so it grows too large to compile. Use * or + instead of counting",
                None,
            )

    def _refuse(self, what: str, position: int) -> ToolSearchError:
        return ToolSearchError(
            "invalid_pattern",
            f"Pattern {self.pattern!r} uses {what} at position {position}, which takes unbounded time and is not "
            f"supported here: {_INSTEAD[what]}.",
            position,
        )

    def _skip_comment(self, letter: str) -> None:
        end = self.pattern.find("\n", self.at) if letter == "#" else self.at
        self.at = len(self.pattern) if end < 0 else end + 1

    # Groups

    def _open(self) -> None:
        start, rest = self.at, self.pattern[self.at :]
        for opening, what in _GROUPS.items():
            if rest.startswith(opening):
                raise self._refuse(what, start)
        if rest.startswith("(?#"):
            end = rest.find(")")
            if end < 0:
                raise invalid(self.pattern, "missing ), unterminated comment", start)
            self.at += end + 1
            return
        flags = _FLAGS.match(rest)
        if flags and flags.group(0) != "(?:" and flags.group(0) != "(?)":
            self._flags(flags, start)
            return
        name = re.match(r"\(\?P<[^>]*>", rest)
        self._emit("(?:", start, len(name.group()) if name else 3 if rest.startswith("(?:") else 1)
        self.groups.append(_Group(start))

    def _flags(self, found: re.Match[str], start: int) -> None:
        on, off, end = found.group(1), found.group(2) or "", found.group(3)
        if "L" in on:
            raise invalid(self.pattern, "the flag L does not apply to text, drop it", start)
        if end == ")":
            if start != 0:
                raise invalid(self.pattern, "flags go to the start of the pattern", start)
            self.dot_all = "s" in on
            self.verbose = "x" in on
            self.at += len(found.group())
            return
        if "x" in on + off:
            raise invalid(self.pattern, "the flag x works only for the whole pattern, write (?x) at its start", start)
        flags = ("s" if "s" in on else "") + ("-s" if "s" in off else "")
        self._emit(f"(?{flags}:", start, len(found.group()))
        self.groups.append(_Group(start))

    # Quantifiers

    def _repeat_at(self, start: int) -> re.Match[str] | None:
        found = _REPEAT.match(self.pattern, start)
        return found if found and found.group() != "{}" else None

    def _repeat(self) -> None:
        start = self.at
        letter = self.pattern[start]
        counted = self._repeat_at(start) if letter == "{" else None
        if counted:
            low, comma, high = counted.groups()
            times = int(high or low or 1)
            text = f"{{{low or 0}{comma or ''}{high or ''}}}"
            length = len(counted.group())
            self._spend(self.last * max(0, times - 1))
            self.last *= max(1, times)
        else:
            text, length = letter, 1
        after = self.pattern[start + length : start + length + 1]
        if after == "+":
            raise self._refuse("a possessive quantifier", start + length)
        self._emit(text, start, length)
        if after == "?":  # lazy or greedy: the same tools match
            self.at += 1

    # Escapes and sets

    def _escape(self) -> None:
        start = self.at
        letter = self.pattern[start + 1 : start + 2]
        if letter in ("A", "Z", "z"):
            self._emit("^" if letter == "A" else "$", start, 2)
            self.last = 0
        elif letter and letter in "123456789" and not self._octal(start):
            raise self._refuse("a back-reference", start)
        elif letter and letter in "bB":
            self._piece("\\" + letter, start, 2, _COSTS[letter])
        else:
            text, length, cost = self._character_escape(start)
            self._piece(text, start, length, cost)

    def _octal(self, start: int) -> re.Match[str] | None:
        return re.compile(r"\\(0[0-7]{0,2}|[0-3][0-7]{2})").match(self.pattern, start)

    def _character_escape(self, start: int) -> tuple[str, int, int]:
        """An escape that stands for letters: what to write, how long the original is, what it costs."""
        letter = self.pattern[start + 1 : start + 2]
        if not letter:
            raise invalid(self.pattern, "it ends in a lone backslash: write two for one", start)
        if letter in _CLASS_ESCAPES:
            return "\\" + letter, 2, _COSTS[letter]
        if letter in "afnrtv":
            return "\\" + letter, 2, 1
        if letter in _HEX:
            size = _HEX[letter]
            digits = self.pattern[start + 2 : start + 2 + size]
            if not re.fullmatch(f"[0-9a-fA-F]{{{size}}}", digits) or int(digits, 16) > 0x10FFFF:
                raise invalid(self.pattern, f"\\{letter} needs {size} hexadecimal digits", start)
            return _literal(chr(int(digits, 16))), 2 + size, 1
        octal = self._octal(start)
        if octal:
            return _literal(chr(int(octal.group(1), 8))), len(octal.group()), 1
        if letter.isascii() and letter.isalnum():
            hint = r": use \w, \d or a set" if letter in "pP" else ""
            raise invalid(self.pattern, f"unknown escape \\{letter}{hint}", start)
        return _literal(letter), 2, 1

    def _set(self) -> None:
        start = self.at
        self.at += 1
        parts = ["["]
        if self.pattern.startswith("^", self.at):
            parts.append("^")
            self.at += 1
        cost = 2 if len(parts) > 1 else 1
        first = self.at
        while self.at < len(self.pattern) and (self.pattern[self.at] != "]" or self.at == first):
            low, spent = self._member()
            cost += spent
            if self.pattern.startswith("-", self.at) and not self.pattern.startswith("-]", self.at):
                dash = self.at
                self.at += 1
                if self.at == len(self.pattern):
                    break
                high, _ = self._member()
                if low[1:] in tuple(_CLASS_ESCAPES) or high[1:] in tuple(_CLASS_ESCAPES):
                    raise invalid(self.pattern, "a range needs a letter on both sides", dash)
                parts.append(f"{low}-{high}")
            else:
                parts.append(low)
        if self.at >= len(self.pattern):
            raise invalid(self.pattern, r"missing ] of the set that starts here, or write \[ for the letter", start)
        length = self.at + 1 - start
        self._piece("".join(parts) + "]", start, length, cost)

    def _member(self) -> tuple[str, int]:
        """One member of a set, and what it costs."""
        if self.pattern[self.at] != "\\":
            self.at += 1
            return _literal(self.pattern[self.at - 1]), 0
        if self.pattern.startswith("\\b", self.at):
            self.at += 2
            return r"\x08", 0
        text, length, cost = self._character_escape(self.at)
        self.at += length
        return text, cost if text[1:] in tuple(_CLASS_ESCAPES) else 0


def _literal(letter: str) -> str:
    if letter in _META:
        return "\\" + letter
    if letter.isprintable() and letter != " ":
        return letter
    code = ord(letter)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
