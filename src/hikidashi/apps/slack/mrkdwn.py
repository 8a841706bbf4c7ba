"""Convert the Markdown of models to Slack's mrkdwn, messages of Slack to text, and split long messages.

mrkdwn has no tables, headings or nested lists, writes bold with one asterisk, and reads `<...>` as links and mentions.
Whatever a model writes, the only `<...>` in the result are links to the web or to a mail address.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import zip_longest

from rich.cells import cell_len, set_cell_size

# Slack formats only text between spaces or punctuation; in Japanese a zero-width space serves as one.
_ZERO_WIDTH = "\u200b"
_DEEPEST = 4

# In a list, a fence is indented like its item.
_FENCE = re.compile(r"^([ \t]*)(`{3,}|~{3,})[^`]*$")
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+(.+?)[ \t]*#*$")
_RULE = re.compile(r"^ {0,3}(?:-[ \t]*){3,}$|^ {0,3}(?:\*[ \t]*){3,}$|^ {0,3}(?:_[ \t]*){3,}$")
_BULLET = re.compile(r"^([ \t]*)[-*+][ \t]+(?:\[([ xX])\][ \t]+)?(.*)$")
_QUOTE = re.compile(r"^ {0,3}>[ \t]?(.*)$")
_TABLE_RULE = re.compile(r"^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")

# Repetitions are bounded: a line of ten thousand unclosed asterisks must not take minutes.
_INLINE = re.compile(
    r"""
      \\(?P<literal>[!-/:-@\[-`{-~])
    | (?P<ticks>`+)(?P<code>[^\n]{1,1000}?)(?<!`)(?P=ticks)(?!`)
    | !?\[(?P<label>[^\[\]\n]{0,500})\]\((?P<target>[^\s()<>]{1,2000}(?:\([^\s()<>]{0,200}\)[^\s()<>]{0,200})?)
        (?:[ \t]+"[^"\n]{0,200}")?\)
    | <(?P<auto>(?:https?://|mailto:)[^\s<>|]{1,2000})>
    | (?P<bare>https?://[^\s<>"'`\u3000-\u303f\uff00-\uff0f]{1,2000})
    | <br[ \t]*/?>(?P<break>)
    | (?P<entity>&(?:amp|lt|gt);)
    | \*\*\*(?=[^\s*])(?P<both>[^\n]{1,500}?)(?<=[^\s*])\*\*\*
    | \*\*(?=\S)(?P<bold>[^\n]{1,1000}?)(?<=\S)\*\*(?!\*)
    | (?<!\w)__(?=\S)(?P<underbold>[^\n]{1,1000}?)(?<=\S)__(?!\w)
    | \*(?=[^\s*])(?P<italic>[^\n*]{1,1000}?)(?<=\S)\*(?!\*)
    | (?<!\w)_(?=[^\s_])(?P<underitalic>[^\n_]{1,1000}?)(?<=\S)_(?!\w)
    | ~~(?=\S)(?P<strike>[^\n]{1,1000}?)(?<=\S)~~
    """,
    re.VERBOSE,
)
_MARKS = re.compile(r"\*\*|__|~~|`")
_SAFE_TARGET = re.compile(r"(?:https?://|mailto:)[^\s]+", re.IGNORECASE)


def escape(text: str) -> str:
    """Escape `text` for Slack."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def unescape(text: str) -> str:
    """The reverse of `escape`."""
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def to_mrkdwn(markdown: str) -> str:
    """Markdown as mrkdwn; it may be incomplete, with an unclosed code block."""
    written: list[str] = []
    lines = markdown.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    at = 0
    while at < len(lines):
        fence = _FENCE.match(lines[at])
        if fence:
            indent = len(fence[1])
            end = _end_of_fence(lines, at + 1, fence[2], indent)
            written += _code_block([re.sub(rf"^[ \t]{{0,{indent}}}", "", line) for line in lines[at + 1 : end]])
            at = end + 1
        elif "|" in lines[at] and at + 1 < len(lines) and "|" in lines[at + 1] and _TABLE_RULE.match(lines[at + 1]):
            end = next((end for end in range(at + 2, len(lines)) if "|" not in lines[end]), len(lines))
            written += _code_block(_aligned([lines[at], *lines[at + 2 : end]]))
            at = end
        else:
            written.append(_line(lines[at]))
            at += 1
    return "\n".join(written)


def _line(line: str) -> str:
    if heading := _HEADING.match(line):
        # Nested bold would end the outer one.
        inner = _inline(heading[1].replace("**", "").replace("__", ""))
        return f"*{inner}*" if inner.strip() and "*" not in inner else inner
    if _RULE.match(line):
        return "─" * 12
    if bullet := _BULLET.match(line):
        indent, box, text = bullet.groups()
        mark = "•" if box is None else "☐" if box == " " else "☑"
        return f"{indent}{mark} {_inline(text)}"
    if quote := _QUOTE.match(line):
        return f"> {_line(quote[1])}" if quote[1].strip() else ">"
    return _inline(line)


def _inline(text: str, depth: int = 0) -> str:
    if depth > _DEEPEST:
        return escape(text)
    written: list[str] = []
    at = 0
    for found in _INLINE.finditer(text):
        written.append(escape(text[at : found.start()]))
        at = found.end()
        piece = _marked(found, depth)
        if found.lastgroup in _FORMATS:
            before = text[found.start() - 1 : found.start()]
            after = text[at : at + 1]
            piece = f"{_apart(before)}{piece}{_apart(after)}"
        written.append(piece)
    written.append(escape(text[at:]))
    return "".join(written)


_FORMATS: dict[str | None, str] = {
    "both": "*_{}_*",
    "bold": "*{}*",
    "underbold": "*{}*",
    "italic": "_{}_",
    "underitalic": "_{}_",
    "strike": "~{}~",
}


def _marked(found: re.Match[str], depth: int) -> str:
    kind = found.lastgroup
    if kind in _FORMATS:
        return _FORMATS[kind].format(_inline(found[kind or 0], depth + 1))
    match kind:
        case "literal":
            return escape(found["literal"])
        case "code":
            return f"`{escape(found['code'].strip().replace('`', 'ˋ')) or ' '}`"
        case "target":
            return _link(found["target"], found["label"])
        case "auto":
            return f"<{_address(found['auto'])}>"
        case "break":
            return "\n"
        case _:  # entities stay; Slack links bare addresses itself
            return found[0] if kind == "entity" else escape(found[0])


def _link(target: str, label: str) -> str:
    # A target such as `!channel` or `@U123` would notify people: only addresses become links.
    shown = escape(_MARKS.sub("", label)).replace("|", "¦").strip()
    if not _SAFE_TARGET.fullmatch(target):
        return f"{shown} ({escape(target)})" if shown else escape(target)
    address = _address(target)
    return f"<{address}|{shown}>" if shown and shown != address else f"<{address}>"


def _address(target: str) -> str:
    return target.replace("&", "&amp;").replace("<", "%3C").replace(">", "%3E").replace("|", "%7C")


def _apart(neighbour: str) -> str:
    return _ZERO_WIDTH if neighbour.isalnum() else ""


def _end_of_fence(lines: list[str], start: int, fence: str, indent: int) -> int:
    closing = re.compile(rf"^[ \t]{{0,{indent + 3}}}{re.escape(fence[0])}{{{len(fence)},}}[ \t]*$")
    return next((at for at in range(start, len(lines)) if closing.match(lines[at])), len(lines))


def _code_block(lines: list[str]) -> list[str]:
    # Three backticks inside the code would end the block in Slack.
    return ["```", *(escape(line).replace("```", f"`{_ZERO_WIDTH}``") for line in lines), "```"]


def _aligned(lines: list[str]) -> list[str]:
    rows = [[_MARKS.sub("", cell) for cell in _cells(line)] for line in lines]
    widths = [max(map(cell_len, column)) for column in zip_longest(*rows, fillvalue="")]
    header, *body = [
        "  ".join(set_cell_size(cell, width) for cell, width in zip(row, widths, strict=False)) for row in rows
    ]
    return [header.rstrip(), "  ".join("-" * width for width in widths), *(row.rstrip() for row in body)]


def _cells(line: str) -> list[str]:
    inner = re.sub(r"(?<!\\)\|[ \t]*$", "", line.strip().removeprefix("|"))
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", inner)]


_REFERENCE = re.compile(r"<([^<>|]*)(?:\|([^<>]*))?>")
_SLACK_CODE = re.compile(r"```\n?(?P<block>.*?)\n?```|(?P<span>`[^`\n]+`)", re.DOTALL)
_SLACK_FORMATS = (
    (re.compile(r"(?<![\w*])\*(?=[^\s*])([^*\n]+?)(?<=\S)\*(?![\w*])"), r"**\1**"),
    (re.compile(r"(?<![\w_])_(?=[^\s_])([^_\n]+?)(?<=\S)_(?![\w_])"), r"*\1*"),
    (re.compile(r"(?<![\w~])~(?=[^\s~])([^~\n]+?)(?<=\S)~(?![\w~])"), r"~~\1~~"),
)


def text_of(mrkdwn: str, names: Mapping[str, str]) -> str:
    """The message of a person as plain text: mentions as `names`, links as their text and address."""

    def seen(reference: re.Match[str]) -> str:
        target, label = reference[1], reference[2]
        if target.startswith("@"):
            return f"@{names.get(target[1:]) or label or target[1:]}"
        if target.startswith(("#", "!")):
            shown = label or target[1:].partition("^")[0]
            return f"{'#' if target[0] == '#' else '@'}{shown.lstrip('@#')}"
        return target if not label or label == target else f"{label} ({target})"

    return unescape(_REFERENCE.sub(seen, mrkdwn))


def markdown_of(mrkdwn: str) -> str:
    """A message of the bot as Markdown: a model that reads mrkdwn starts to write it."""
    written: list[str] = []
    at = 0
    for code in _SLACK_CODE.finditer(mrkdwn):
        written.append(_formatted_markdown(mrkdwn[at : code.start()]))
        block = code["block"]
        written.append(unescape(code["span"] if block is None else f"```\n{block}\n```"))
        at = code.end()
    written.append(_formatted_markdown(mrkdwn[at:]))
    return "".join(written).replace(_ZERO_WIDTH, "")


def _formatted_markdown(mrkdwn: str) -> str:
    pieces: list[str] = []
    at = 0
    for reference in _REFERENCE.finditer(mrkdwn):
        pieces.append(_markdown_marks(mrkdwn[at : reference.start()]))
        target, label = reference[1], reference[2]
        pieces.append(f"[{label}]({target})" if label else target)
        at = reference.end()
    pieces.append(_markdown_marks(mrkdwn[at:]))
    return re.sub(r"^([ \t]*)• ", r"\1- ", unescape("".join(pieces)), flags=re.MULTILINE)


def _markdown_marks(mrkdwn: str) -> str:
    for pattern, replacement in _SLACK_FORMATS:
        mrkdwn = pattern.sub(replacement, mrkdwn)
    return mrkdwn


LONGEST = 3_900
"""Slack refuses to update a message beyond 4,000 characters."""

_FENCE_LINE = "```"
_UNBREAKABLE = re.compile(r"<[^<>\n]*>|&(?:amp|lt|gt);")
_BREAKS = (re.compile(r"[。．！？!?]+"), re.compile(r"[、，,;；]+"), re.compile(r"[ \t　]+"))


def split_message(mrkdwn: str, limit: int = LONGEST) -> list[str]:
    """`mrkdwn` in messages of at most `limit` characters, none of them empty.

    It is split between paragraphs if that leaves no message half empty, else between lines; a line is split only if it
    is longer than a message. A code block that is split is closed and opened again.
    """
    parts = _SplitMessage(limit)
    for line in mrkdwn.split("\n"):
        *pieces, last = _pieces(line, limit - 2 * len(_FENCE_LINE) - 2)
        for piece in pieces:
            parts.add(piece)
            parts.end()  # the rest of a split line
        parts.add(last)
    return parts.whole()


class _SplitMessage:
    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._done: list[str] = []
        self._lines: list[str] = []
        self._size = 0
        self._in_fence = False
        self._good_cut = 0
        """How many lines come before the last start of a paragraph or code block."""

    def add(self, line: str) -> None:
        is_fence = line == _FENCE_LINE
        closing = len(_FENCE_LINE) + 1 if self._in_fence != is_fence else 0
        while self._lines and self._size + len(line) + closing > self._limit:
            self._cut()
        if not self._in_fence and (is_fence or not line.strip()):
            self._good_cut = len(self._lines)
        self._append(line)
        if is_fence:
            self._in_fence = not self._in_fence

    def whole(self) -> list[str]:
        if self._in_fence:
            self._append(_FENCE_LINE)
        self._finish(len(self._lines))
        return self._done

    def end(self) -> None:
        """End the part; an open code block continues in the next."""
        rest: list[str] = []
        if self._in_fence:
            rest = [_FENCE_LINE]
            if self._lines[-1] == _FENCE_LINE:  # an empty code block
                self._lines.pop()
            else:
                self._lines.append(_FENCE_LINE)
        self._finish(len(self._lines))
        for line in rest:
            self._append(line)

    def _cut(self) -> None:
        at = self._good_cut
        if sum(len(line) + 1 for line in self._lines[:at]) * 2 < self._limit:
            self.end()
            return
        rest = self._lines[at:]
        self._finish(at)
        for line in rest:
            self._append(line)

    def _append(self, line: str) -> None:
        self._lines.append(line)
        self._size += len(line) + 1

    def _finish(self, count: int) -> None:
        part = "\n".join(self._lines[:count]).strip("\n")
        if part.strip():
            self._done.append(part)
        self._lines = []
        self._size = 0
        self._good_cut = 0


def _pieces(line: str, longest: int) -> list[str]:
    pieces: list[str] = []
    while len(line) > longest:
        at = _cut_of(line, longest)
        pieces.append(line[:at])
        line = line[at:]
    return [*pieces, line]


def _cut_of(line: str, longest: int) -> int:
    """Where to split without breaking a link or an escaped character, at the end of a sentence if one is near."""
    whole = [found.span() for found in _UNBREAKABLE.finditer(line[: longest * 2])]
    for pattern in _BREAKS:
        ends = [found.end() for found in pattern.finditer(line, longest // 2, longest)]
        for end in reversed(ends):
            if not any(start < end < stop for start, stop in whole):
                return end
    torn = next((start for start, stop in whole if start < longest < stop), longest)
    return torn or longest
