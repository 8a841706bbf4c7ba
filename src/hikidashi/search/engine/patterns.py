"""Regular expressions in linear time, by the Rust engine in pydantic-core.

Python's `re` backtracks: a short pattern can take hours, and holds the GIL meanwhile.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from time import perf_counter, thread_time

from ...common.unicode import well_formed
from ...errors import ToolSearchError
from .analyzer import visible
from .entry import Entry

MAX_PATTERN = 200
_MAX_TEXT = 10_000  # characters per tool: far above what tools have, so that no tool takes all the time
# A search should take at most 50 ms: it is aborted after 35, and the last text takes at most 10 more, at 100 million
# steps of the engine per second.
_SECONDS_PER_10_000 = 0.035
_MAX_STEPS = 1_000_000


def searchable_text(entry: Entry) -> str:
    """The text that patterns match: each name, description and argument on a line of its own.

    Descriptions come last, so that a long one cuts off nothing else.
    """
    short = (entry.name, *entry.aliases, *entry.tags, *entry.argument_names)
    every = (*short, entry.description, *entry.argument_descriptions)
    lines = "\n".join(every)
    if "\r" in lines or len(f"{lines}.".splitlines()) != len(every):  # few tools: some text is several lines
        lines = "\n".join(map(_one_line, every))
    return _readable(lines)[:_MAX_TEXT]


def _one_line(text: str) -> str:
    return " ".join(filter(None, text.splitlines()))


def _readable(text: str) -> str:
    """`text` without invisible characters, and without lone surrogates, which the engine cannot read."""
    return text if text.isascii() else well_formed(visible(text))


class Pattern:
    """A compiled pattern."""

    def __init__(self, pattern: str) -> None:
        from pydantic_core import (  # takes 20 ms, which a search by words need not wait for
            SchemaError,
            SchemaValidator,
            core_schema,
        )

        began = thread_time()
        self.source = pattern
        translated = translate(pattern)
        try:
            re.compile(translated.text)  # for the position of a fault, which the other engine does not report
        except re.error as error:
            place = None if error.pos is None else ([*translated.positions, len(pattern)])[error.pos]
            raise invalid(pattern, f"{error.msg}", place) from error
        flags = "(?ims)" if translated.dot_all else "(?im)"
        try:
            validator = SchemaValidator(
                core_schema.str_schema(pattern=flags + translated.text, regex_engine="rust-regex")
            )
        except SchemaError as error:
            raise invalid(pattern, f"the engine refuses it ({str(error).splitlines()[-1].strip()})") from error
        self.matches = validator.isinstance_python
        self._letters = min(_MAX_TEXT, _MAX_STEPS // max(1, translated.cost))
        self._compiling = thread_time() - began

    def places(self, entry: Entry) -> dict[str, tuple[str, ...]]:
        """The texts of a tool that match, per field."""
        fields = {
            name: tuple(text for text in texts if self.matches(_readable(_one_line(text[: self._letters]))))
            for name, texts in entry.texts()
            if name != "argument_values"  # these are searched by words only
        }
        return {name: texts for name, texts in fields.items() if texts}

    def first_matches(self, batches: Iterable[Sequence[str]], tools: int, limit: int) -> list[int]:
        """The positions of the first `limit` texts that match, of `tools` in all.

        The time to make a batch of texts does not count.

        Raises:
            ToolSearchError: it takes too long, with the code `execution_time_exceeded`.
        """
        budget = _SECONDS_PER_10_000 * max(1.0, tools / 10_000)
        clock, began = perf_counter() + budget - self._compiling, thread_time() - self._compiling
        letters = self._letters
        found: list[int] = []
        first = 0
        paused = perf_counter(), thread_time()
        for texts in batches:
            clock += perf_counter() - paused[0]
            began += thread_time() - paused[1]
            for position, text in enumerate(texts, first):
                if self.matches(text if len(text) <= letters else text[:letters]):
                    found.append(position)
                    if len(found) == limit:
                        return found
                elif perf_counter() > clock and thread_time() - began > budget:  # without the time of other threads
                    raise ToolSearchError(
                        "execution_time_exceeded",
                        f"Pattern {self.source!r} took more than {budget * 1000:.0f} ms over {tools} tools. "
                        "Use a simpler one: fewer repetitions, plain words.",
                    )
            first += len(texts)
            paused = perf_counter(), thread_time()
        return found


# The cost of a piece for the engine, in units of a literal character. Unicode's `\w` is some 800 ranges: 25 of them
# compile in 10 ms, 500 exceed the size limit.
_COSTS = {"w": 40, "W": 40, "b": 2, "B": 2, "d": 4, "D": 8, "s": 2, "S": 4, ".": 2}
_MAX_COST = 1_000
# Characters in ranges: the engine looks up the other case of each, which takes 6 ms for all of Unicode.
_MAX_IN_RANGES = 5_000
_MOST_IN_RANGE = 2_000  # so many characters have a case; those of a longer range mostly have none
_CASELESS = ("\u3000", "\u9fff"), ("\uac00", "\ud7ff")  # Japanese, Chinese and Korean
_SPACES = " \t\n\r\v\f"
_OCTAL = re.compile(r"\\(0[0-7]{0,2}|[0-3][0-7]{2})")
_REPEAT = re.compile(r"\{([0-9]*)(?:(,)([0-9]*))?\}")
_FLAGS = re.compile(r"\(\?([aiLmsux]*)(?:-([imsx]+))?([:)])")
_HEX = {"x": 2, "u": 4, "U": 8}
_CONTROLS = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
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
    """A pattern in the syntax of the engine, and the position in the original of each character."""

    text: str
    positions: list[int]
    dot_all: bool
    cost: int
    """The steps of the engine for each character of a text, in the worst case."""


@dataclass(slots=True)
class _Group:
    verbose: bool = False
    cost: int = 0


def invalid(
    pattern: str, what: str, position: int | None = None, remedy: str = "Escape it with \\, or use plain words."
) -> ToolSearchError:
    """The error for a pattern that cannot be used."""
    at = "" if position is None else f" at position {position}"
    return ToolSearchError("invalid_pattern", f"Invalid pattern {pattern!r}: {what}{at}. {remedy}", position)


def translate(pattern: str) -> Translated:
    r"""`pattern` for the engine: always case-insensitive and Unicode, `^`, `$`, `\A` and `\Z` at each line.

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
    groups: list[_Group] = field(default_factory=lambda: [_Group()])
    names: set[str] = field(default_factory=set[str])
    last: int = 0
    """The cost of the last piece, which a quantifier repeats."""
    in_ranges: int = 0
    dot_all: bool = False

    def run(self) -> Translated:
        while self.at < len(self.pattern):
            self._next()
        return Translated("".join(self.out), self.positions, self.dot_all, self.groups[0].cost)

    def _next(self) -> None:
        start, letter = self.at, self.pattern[self.at]
        if self.groups[-1].verbose and (letter in _SPACES or letter == "#"):
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
                "it repeats too much, so it grows too large to compile",
                remedy="Use * or + instead of counting.",
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
        name = re.match(r"\(\?P<([^>]*)>", rest)
        if name:
            self._name(name.group(1), start)
        elif rest.startswith("(?") and not rest.startswith("(?:"):
            remedy = r"Write (?:…) or (?P<name>…) to group, \( to match a parenthesis."
            raise invalid(self.pattern, f"unknown group {rest[:3]!r}", start, remedy)
        self._emit("(?:", start, len(name.group()) if name else 3 if rest.startswith("(?:") else 1)
        self.groups.append(_Group(self.groups[-1].verbose))

    def _name(self, name: str, start: int) -> None:
        if not name.isidentifier():
            raise invalid(self.pattern, f"bad group name {name!r}", start, "Use letters, digits and _.")
        if name in self.names:
            raise invalid(self.pattern, f"a second group named {name!r}", start, "Rename one.")
        self.names.add(name)

    def _flags(self, found: re.Match[str], start: int) -> None:
        on, off, end = found.group(1), found.group(2) or "", found.group(3)
        if "L" in on:
            raise invalid(self.pattern, "the flag L, which is for bytes,", start, "Drop it.")
        if end == ")":
            if start != 0:
                raise invalid(self.pattern, "flags in the middle", start, "Write them first, or (?s:…) for a part.")
            self.dot_all = "s" in on
            self.groups[0].verbose = "x" in on
            self.at += len(found.group())
            return
        flags = ("s" if "s" in on else "") + ("-s" if "s" in off else "")
        self._emit(f"(?{flags}:", start, len(found.group()))
        self.groups.append(_Group("x" in on or (self.groups[-1].verbose and "x" not in off)))

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
            times = max(int(low or 0), int(high or 0))
            text = f"{{{low or 0}{comma or ''}{high or ''}}}"
            length = len(counted.group())
            self._spend(max(1, self.last) * max(0, times - 1))
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
            text, length, letters = self._character_escape(start)
            self._piece(text, start, length, 1 if letters else _COSTS[letter])

    def _octal(self, start: int) -> re.Match[str] | None:
        return _OCTAL.match(self.pattern, start)

    def _character_escape(self, start: int) -> tuple[str, int, str]:
        """An escape for characters: its translation, its length in the original, the character if it is one."""
        letter = self.pattern[start + 1 : start + 2]
        if not letter:
            raise invalid(self.pattern, "a lone backslash", start, "Write two to match one.")
        if letter in _CLASS_ESCAPES:
            return "\\" + letter, 2, ""
        if letter in _CONTROLS:
            return _letter(_CONTROLS[letter], 2)
        if letter in _HEX:
            size = _HEX[letter]
            digits = self.pattern[start + 2 : start + 2 + size]
            if not re.fullmatch(f"[0-9a-fA-F]{{{size}}}", digits) or int(digits, 16) > 0x10FFFF:
                raise invalid(
                    self.pattern, f"\\{letter} needs {size} hexadecimal digits", start, "Or write the letter itself."
                )
            return _letter(chr(int(digits, 16)), 2 + size)
        octal = self._octal(start)
        if octal:
            return _letter(chr(int(octal.group(1), 8)), len(octal.group()))
        if letter == "N":
            return self._named(start)
        if letter.isascii() and letter.isalnum():
            remedy = (
                r"Use \w, \d or a set." if letter in "pP" else "Leave the backslash out, or write two to match one."
            )
            raise invalid(self.pattern, f"unknown escape \\{letter}", start, remedy)
        return _letter(letter, 2)

    def _named(self, start: int) -> tuple[str, int, str]:
        named = re.compile(r"\\N\{([^}]+)\}").match(self.pattern, start)
        try:
            return _letter(unicodedata.lookup(named.group(1) if named else ""), len(named.group() if named else ""))
        except KeyError as error:
            raise invalid(
                self.pattern, r"\N without the name of a letter", start, r"Write it as in \N{BULLET}."
            ) from error

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
            text, letter, spent = self._member()
            cost += spent
            if self.pattern.startswith("-", self.at) and not self.pattern.startswith("-]", self.at):
                dash = self.at
                self.at += 1
                if self.at == len(self.pattern):
                    break
                last_text, last, _ = self._member()
                if not letter or not last:
                    raise invalid(
                        self.pattern, "a range without a letter on both sides", dash, "Put - last to match it."
                    )
                self._range(letter, last, dash)
                text += "-" + last_text
            parts.append(text)
        if self.at >= len(self.pattern):
            raise invalid(self.pattern, "missing ] for the [", start, r"Close the set, or write \[ to match one.")
        length = self.at + 1 - start
        self._piece("".join(parts) + "]", start, length, cost)

    def _range(self, first: str, last: str, dash: int) -> None:
        if not any(low <= first <= last <= high for low, high in _CASELESS):
            self.in_ranges += min(max(0, ord(last) - ord(first)), _MOST_IN_RANGE)
        if self.in_ranges > _MAX_IN_RANGES:
            raise invalid(self.pattern, "too many letters in ranges", dash, r"Use \w, \W or . instead.")

    def _member(self) -> tuple[str, str, int]:
        """One member of a set: its translation, the character if it is one, and its cost."""
        letter = self.pattern[self.at]
        if letter != "\\":
            self.at += 1
            return _literal(letter), letter, 0
        if self.pattern.startswith("\\b", self.at):
            self.at += 2
            return r"\x08", "\b", 0
        text, length, letter = self._character_escape(self.at)
        self.at += length
        return text, letter, 0 if letter else _COSTS[text[1]]


def _letter(letter: str, length: int) -> tuple[str, int, str]:
    return _literal(letter), length, letter


def _literal(letter: str) -> str:
    if letter in _META:
        return "\\" + letter
    if letter.isprintable() and letter != " ":
        return letter
    code = ord(letter)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
