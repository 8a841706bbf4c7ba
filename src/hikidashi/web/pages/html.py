"""The text of an HTML page, by trafilatura (best), lexbor (fast), or a fallback parser without limits on nesting.

Runs in the worker process. Measured: 200,000 paragraphs keep trafilatura busy for minutes, 30,000 attributes on one
element for 4 s; 200,000 nested elements, or attributes, hang lexbor, the parser of selectolax.
"""

from __future__ import annotations

import html as entities
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ...errors import MissingExtra

try:
    import trafilatura
    from selectolax.lexbor import LexborHTMLParser, LexborNode
except ImportError as error:
    raise MissingExtra("trafilatura", "web") from error

_POOR = 250
_MANY_TAGS = 200_000
_MANY_TAGS_SIZE = 4_000_000
_CUT = "[The rest of this page is left out.]"

_TITLE = re.compile(r"<title[^<>]{0,200}>([^<]{1,2000})", re.IGNORECASE)
_HEADING = re.compile(r"<h1[^<>]{0,500}>(.{1,1000}?)</h1", re.IGNORECASE | re.DOTALL)
_CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
_CONTAINERS = frozenset({"div", "section", "ul", "ol", "form", "header", "p", "table"})
_BOILERPLATE = re.compile(
    r"(?<![a-z])(?:cookies?|consent|sidebar|side-column|comments?|footer|share|sharing|sns|social|related|ranking|"
    r"newsletter|breadcrumbs?|menu|nav|navbar|navigation|advert\w*|ads?|banner|popup|modal|promo)(?![a-z])",
    re.IGNORECASE,
)
_HIDDEN = frozenset(
    re.findall(
        r"\w+",
        "script style noscript template svg math iframe object canvas nav footer aside button select textarea dialog",
    )
)
_BLOCK = (
    "address|article|blockquote|body|center|dd|details|div|dl|dt|fieldset|figcaption|figure|form|header|hr|li|main|ol|"
    "p|pre|section|summary|table|tbody|thead|tr|ul|h[1-6]"
)
_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_MARKS = re.compile(r"[\W_]+")
_SPACE = re.compile(r"\s+")
_GAPS = re.compile(r"\n{3,}")
_IS_BLOCK = re.compile(_BLOCK)
_BLOCK_TAG = re.compile(rf"</?(?:{_BLOCK}|br|td|th)\b[^<>]*>?", re.IGNORECASE)
_OPTION = re.compile(r"</?opt(?:ion|group)\b[^<>]*>?", re.IGNORECASE)
_ANY_TAG = re.compile(r"</?[a-zA-Z!?][^<>]*>?")
_NOT_TEXT = (("<!--", "-->"), ("<script", "</script>"), ("<style", "</style>"))


def html_text(html: str, *, parser: int = 0) -> str | None:
    """The text of `html` as Markdown; None if it exceeds the limits of `parser`: 0 the best, 2 the fallback."""
    if parser >= 2:
        return _stripped(html)
    complexity = complexity_of(html)
    if parser == 1:
        return _visible(html) if complexity.fits(LEXBOR_LIMIT) else None
    if not complexity.fits(TRAFILATURA_LIMIT):
        return None
    best = _article(html)
    if _weight(best) >= _POOR:
        return best
    # A short article on a long page is probably a list or an index, which trafilatura drops.
    visible = _visible(html)
    return best if best and len(visible) < 4 * len(best) else visible


def title_of(html: str) -> str | None:
    """The content of the `title` element."""
    found = _TITLE.search(html[:200_000])
    return _plain(found[1]) or None if found else None


def _plain(text: str) -> str:
    return _SPACE.sub(" ", entities.unescape(text)).strip()


def _letters(text: str) -> str:
    return _MARKS.sub("", text)


def _weight(text: str) -> int:
    """The length of `text` in Latin letters; a CJK character counts as three."""
    return len(text) + 2 * len(_CJK.findall(text))


def _article(html: str) -> str:
    text = trafilatura.extract(html, output_format="markdown", include_comments=False, include_tables=True) or ""
    # trafilatura drops a heading that is separated from the article.
    heading = _HEADING.search(html)
    name = _plain(_ANY_TAG.sub("", heading[1])) if heading else ""
    is_title = bool(name) and (title_of(html) or "").startswith(name)
    return f"# {name}\n\n{text}" if text and is_title and _letters(name) not in _letters(text) else text


def _visible(html: str) -> str:
    # 20,000 `option` elements take lexbor 5 s, and are not content.
    tree = LexborHTMLParser(_OPTION.sub(" ", html))
    if tree.body is None:
        return ""
    main = tree.css_first("main, [role=main]")
    text = _tidy("".join(_pieces(main, _is_boilerplate))) if main is not None else ""
    if _weight(text) < _POOR:
        text = _tidy("".join(_pieces(tree.body, _is_boilerplate)))
    return text or _tidy("".join(_pieces(tree.body, lambda _: False)))


def _is_boilerplate(node: LexborNode) -> bool:
    """Whether class or id name this element as navigation, advertising or the like."""
    names = node.attributes
    if not _BOILERPLATE.search(f"{names.get('class') or ''} {names.get('id') or ''}"):
        return False
    return node.css_first("h1, main, article") is None  # some pages put such a class on the whole body


def _pieces(root: LexborNode, is_boilerplate: Callable[[LexborNode], bool]) -> Iterator[str]:
    """The text below `root` as Markdown; iterative, because pages may nest deeper than the recursion limit."""
    stack: list[LexborNode | str] = [root]
    verbatim = 0
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            verbatim -= node == "\n```\n\n"
            yield node
            continue
        tag = node.tag or ""
        if tag == "-text":
            text = node.text_content or ""
            yield text if verbatim else _SPACE.sub(" ", text)
        elif tag == "br":
            yield "\n"
        elif tag not in _HIDDEN and not tag.startswith("-") and not (tag in _CONTAINERS and is_boilerplate(node)):
            opening, closing = _marks(tag)
            verbatim += tag == "pre"
            yield opening
            stack.append(closing)
            stack.extend(reversed(list(node.iter(include_text=True))))


def _marks(tag: str) -> tuple[str, str]:
    if tag in _HEADINGS:
        return f"\n\n{_HEADINGS[tag]}", "\n\n"
    match tag:
        case "pre":
            return "\n\n```\n", "\n```\n\n"
        case "li":
            return "\n- ", ""
        case "tr":
            return "\n| ", "\n"
        case "td" | "th":
            return "", " | "
        case "p" | "table" | "ul" | "ol" | "dl" | "blockquote":
            return "\n\n", "\n\n"
        case _:
            return ("\n", "\n") if _IS_BLOCK.fullmatch(tag) else ("", "")


def _stripped(html: str) -> str:
    """`html` without its tags, in linear time for any page."""
    cut = len(html) > _MANY_TAGS_SIZE and html.count("<") > _MANY_TAGS
    text = html[:_MANY_TAGS_SIZE] if cut else html
    for start, end in _NOT_TEXT:
        text = "".join(_outside(text, start, end))
    text = _tidy(entities.unescape(_ANY_TAG.sub(" ", _BLOCK_TAG.sub("\n", text))))
    return f"{text}\n\n{_CUT}" if cut else text


def _outside(text: str, start: str, end: str) -> Iterator[str]:
    lowered, at = text.lower() if text.isascii() else text, 0
    while (begin := lowered.find(start, at)) >= 0:
        yield text[at:begin]
        at = lowered.find(end, begin)
        if at < 0:
            return
        at += len(end)
    yield text[at:]


def _tidy(text: str) -> str:
    return _GAPS.sub("\n\n", "\n".join(_tidy_lines(text))).strip()


def _tidy_lines(text: str) -> Iterator[str]:
    verbatim = False
    for line in text.split("\n"):
        verbatim ^= line == "```"
        yield line.rstrip() if verbatim else " ".join(line.split())


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


class Complexity(NamedTuple):
    """The properties of a page that cost a parser time."""

    size: int
    elements: int
    attributes: int
    """The largest number of attributes of one element."""
    depth: int

    def fits(self, limit: Complexity) -> bool:
        """Whether no property exceeds `limit`."""
        return all(own <= most for own, most in zip(self, limit, strict=True))


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
