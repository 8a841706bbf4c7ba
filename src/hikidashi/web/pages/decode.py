"""Decoding of pages, including those with a missing or wrong charset, and ISO-2022-JP as the web writes it."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator

_BOMS = [
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
]
_META = re.compile(
    rb"""<meta\b[^>]{0,1000}?charset\s*=\s*["']?\s*([\w.:-]{1,40})|<\?xml\b[^>]{0,200}?encoding\s*=\s*["']([\w.:-]{1,40})""",
    re.IGNORECASE,
)
_HEAD = 4096

# Browsers decode these labels as the Windows superset.
_WIDER = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "tis-620": "cp874",
}
_ALIASES = {"x-sjis": "cp932", "windows-31j": "cp932", "x-euc-jp": "euc_jp", "windows-874": "cp874"}
# Excludes Python's codecs that are not character encodings, such as `zip` or `unicode_escape`.
_TEXT_CODECS = re.compile(
    r"utf-8|utf-16(-[bl]e)?|cp\d{3,4}|iso8859-\d+|koi8-\w|mac-\w+|euc_\w+|gb18030|big5\w*|johab|hz"
)

_LATIN = frozenset({"cp1250", "cp1252", "cp1254", "iso8859-2", "iso8859-15", "mac-roman"})
_STRANGE = re.compile(
    "[\ufffd\ue000-\uf8ff\x80-\x9f]|(?P<half>[\uff61-\uff9f])|(?P<mojibake>[縺繧繝])|(?P<lone>(?<=[A-Za-z])[\u4e00-\u9fff](?=[A-Za-z]))"
)
_SIDE_BY_SIDE = re.compile("[\x80-\U0010ffff]{2,}")
_NON_ASCII = re.compile("[^\x00-\x7f]")
_LONG_UTF8 = re.compile(rb"[\xe0-\xf4]")
_EAST_ASIAN = re.compile("euc_|cp932|cp949|gb|big5|johab")
_SAMPLE = 100_000


def decode_page(body: bytes, charset: str | None = None) -> str:
    """The text of `body`, whose server named `charset`.

    A byte order mark wins; else the charsets named by server and page are preferred if the result looks plausible, else
    the most plausible of UTF-8, Shift_JIS, EUC-JP and Windows-1252. Never raises: invalid bytes become U+FFFD.
    """
    for mark, encoding in _BOMS:
        if body.startswith(mark):
            return body[len(mark) :].decode(encoding, "replace")
    if is_iso2022jp(body):
        return decode_iso2022jp(body)
    if body.isascii() and b"\x00" not in body:
        return body.decode("ascii")
    if wide := _wide(body, charset):
        return body.decode(wide, "replace")
    _, _, best = min(_candidates(body, charset))
    return _decode(body, best)


def _wide(body: bytes, charset: str | None) -> str | None:
    """UTF-16 without a byte order mark: the server says so, or every other byte of the first tag is zero."""
    named = _codec(charset)
    if named is not None and named.startswith("utf-16"):
        return "utf-16-be" if named.endswith("be") else "utf-16-le"
    start = body.lstrip(b"\x00")[:1]
    if start == b"<" and body[:1] == b"\x00":
        return "utf-16-be"
    return "utf-16-le" if body[:4:2].isascii() and body[1:4:2] == b"\x00\x00" else None


def _candidates(body: bytes, charset: str | None) -> Iterator[tuple[float, int, str]]:
    """The implausibility of the page in each candidate encoding, its rank, and the encoding."""
    names: dict[str, float] = {}
    if named := _codec(charset):
        names[named] = 0.3
    if named := _codec(_declared(body)):
        names.setdefault(named.removesuffix("-le").removesuffix("-be").replace("utf-16", "utf-8"), 0.25)
    for name in ("utf-8", "cp932", "euc_jp", "cp1252"):
        names.setdefault(name, 0.0)
    # Text in another encoding is rarely valid UTF-8, but two characters of EUC may be.
    if _is_utf8(body):
        names["utf-8"] += 0.35 if _LONG_UTF8.search(body) or not _EAST_ASIAN.match(next(iter(names))) else 0.2
    for place, (name, trust) in enumerate(names.items()):
        yield _strangeness(_decode(body[:_SAMPLE], name), name) - trust, place, name


def _is_utf8(body: bytes) -> bool:
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _decode(body: bytes, encoding: str) -> str:
    if encoding == "euc_jp":
        try:
            return body.decode("euc_jp")
        except UnicodeDecodeError:  # ① and other Windows extensions are in JIS X 0213:2004
            return body.decode("euc_jis_2004", "replace")
    return body.decode(encoding, "replace")


def _strangeness(text: str, encoding: str) -> float:
    """Implausibility of a decoded text: 0 for natural text to about 4 for broken characters only."""
    count = len(_NON_ASCII.findall(text))
    if not count:
        return 0.0
    if encoding in _LATIN:
        # Accented letters rarely follow each other; Japanese decoded as Latin has long runs.
        rows = sum(len(row) for row in _SIDE_BY_SIDE.findall(text))
        return rows / count + 4 * text.count("\ufffd") / count
    weight = sum(
        1.0 if match.lastgroup in {"half", "lone"} else 2.0 if match.lastgroup == "mojibake" else 4.0
        for match in _STRANGE.finditer(text)
    )
    return weight / count


def _declared(body: bytes) -> str | None:
    found = _META.search(body[:_HEAD])
    return (found[1] or found[2]).decode("ascii") if found else None


def _codec(label: str | None) -> str | None:
    """Python's name of a character encoding; None if it is unknown or not a character encoding."""
    if not label:
        return None
    name = label.strip().lower()
    try:
        name = codecs.lookup(_ALIASES.get(name, name)).name
    except (LookupError, ValueError):
        return None
    name = _WIDER.get(name, name)
    return name if _TEXT_CODECS.fullmatch(name) else None


_ESCAPE = re.compile(rb"\x1b(\$[@B]|\$\(D|\([BJIH])")
_DOUBLE, _SUPPLEMENT, _KANA = {b"$@", b"$B"}, b"$(D", b"(I"


def is_iso2022jp(body: bytes) -> bool:
    """Whether `body` has escape sequences for Japanese character sets."""
    return re.search(rb"\x1b(?:\$[@B]|\$\(D|\(I)", body) is not None and body.isascii()


def decode_iso2022jp(body: bytes) -> str:
    """The text of `body`, with U+FFFD for invalid bytes."""
    start, *rest = _ESCAPE.split(body)
    pieces = [start.decode("ascii", "replace")]
    pieces += [_segment(mode, data) for mode, data in zip(rest[::2], rest[1::2], strict=True)]
    return "".join(pieces)


def _segment(mode: bytes, data: bytes) -> str:
    if mode in _DOUBLE or mode == _SUPPLEMENT:
        # Pages forget to switch back to ASCII at the end of a line; control characters are never part of a pair.
        return "".join(
            _double(run, mode) if run[0] > 0x20 else run.decode("ascii")
            for run in re.findall(rb"[\x00-\x20]+|[^\x00-\x20]+", data)
        )
    if mode == _KANA:
        return bytes(byte | 0x80 if 0x21 <= byte <= 0x5F else byte for byte in data).decode("cp932", "replace")
    return data.decode("ascii", "replace")


def _double(run: bytes, mode: bytes) -> str:
    pairs = [run[at : at + 2] for at in range(0, len(run) - 1, 2)]
    broken = "\ufffd" if len(run) % 2 else ""
    if mode == _SUPPLEMENT:
        return (
            b"".join(bytes((0x8F, row | 0x80, cell | 0x80)) for row, cell in pairs).decode("euc_jp", "replace") + broken
        )
    return b"".join(_to_shift_jis(row, cell) for row, cell in pairs).decode("cp932", "replace") + broken


def _to_shift_jis(row: int, cell: int) -> bytes:
    lead = (row + 1 >> 1) + (0x70 if row < 0x5F else 0xB0)
    if row % 2:
        return bytes((lead, cell + (0x20 if cell >= 0x60 else 0x1F)))
    return bytes((lead, cell + 0x7E))
