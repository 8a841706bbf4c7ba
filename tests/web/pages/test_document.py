"""The text of HTML and PDF."""

from __future__ import annotations

from io import BytesIO

import pypdf
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikidashi.web.pages import html as _html
from hikidashi.web.pages.document import Page, pdf_text, read_page
from hikidashi.web.pages.html import LEXBOR_LIMIT, TRAFILATURA_LIMIT, Complexity, complexity_of, title_of

SENTENCES = "".join(
    f"<p>Every drawer has a {thing}, and every tool has a drawer it goes back to in the evening, {thing} or not.</p>"
    for thing in ("label", "number", "colour", "handle")
)
MANY = 50_000


def html_text(html: str) -> str:
    """The text in the first parser that takes the page."""
    return next(text for parser in range(3) if (text := _html.html_text(html, parser=parser)) is not None)


def stripped(html: str) -> str:
    """The text in the parser that takes every page."""
    return _html.html_text(html, parser=2) or ""


def test_the_shape_of_a_page_counts_what_costs_time() -> None:
    html = '<html><body><div id="a" class="b c"><p>one<p>two<br/><span/></div><div><div><i>x</i></div></div>'
    assert complexity_of(html) == Complexity(size=len(html), elements=10, attributes=5, depth=3)


@pytest.mark.parametrize(
    ("html", "trafilatura", "lexbor"),
    [
        ("<p>word" * 10_000, True, True),
        ("<p>word" * 100_000, False, True),
        ("<p>word" * 1_000_000, False, False),
        ("<div>" * 300, False, True),
        ("<div>" * 600, False, False),
        ("<div></div>" * 600, True, True),
        ("<p " + "a=1 " * 2_000 + ">", False, False),
        ('<p title="' + "x" * 1_900_000 + '">', True, True),
        ("x" * 2_500_000, False, True),
        ("<" * MANY, True, True),
    ],
)
def test_no_parser_is_given_a_page_made_to_hurt_it(html: str, trafilatura: bool, lexbor: bool) -> None:
    complexity = complexity_of(html)
    assert (complexity.fits(TRAFILATURA_LIMIT), complexity.fits(LEXBOR_LIMIT)) == (trafilatura, lexbor)


def test_the_article_is_told_from_its_surroundings() -> None:
    text = html_text(f"<nav>Home</nav><article><h1>Labels</h1>{SENTENCES}</article><footer>(c) us</footer>")
    assert text.startswith("# Labels\n\nEvery drawer")
    assert "Home" not in text
    assert "(c)" not in text


LISTING = "<nav>Home</nav><h1>All drawers</h1><ul>" + "".join(
    f"<li><a href=/{number}>Drawer {number}</a></li>" for number in range(60)
)


def test_a_page_that_is_a_list_is_read_as_a_list() -> None:
    text = html_text(LISTING)
    assert "Drawer 0" in text
    assert "- Drawer 59" in text


def test_a_page_too_large_for_the_best_way_keeps_its_structure() -> None:
    html = (
        "<header>Shop</header><nav>Home</nav><main><h1>Big <b>page</b></h1><p>one<br>two   three</p>"
        "<pre>def f():\n    return 1\n</pre><table><tr><th>Tool</th><td>saw</td></tr></table>"
        "<ol><li>first<li>second</ol>"
        "<div>left</div>right<script>alert(1)</script><!-- note -->" + "<p>word</p>" * 25_000
    )
    assert html_text(html).startswith(
        "# Big page\n\none\ntwo three\n\n```\ndef f():\n    return 1\n\n```\n\n| Tool | saw |\n\n- first\n- second"
        "\n\nleft\nright\n\nword\n\nword"
    )
    assert "Home" not in html_text(html)
    assert "alert" not in html_text(html)


@pytest.mark.parametrize(
    ("title", "heading", "start"),
    [
        ("Labels | Shop", "Labels", "# Labels\n\nEvery drawer"),
        ("Drawers | Shop", "Labels", "Every drawer"),
        ("Labels | Shop", "La<i>bels</i>", "# Labels\n\nEvery drawer"),
    ],
)
def test_a_heading_apart_from_its_article_is_kept_if_it_is_the_title(title: str, heading: str, start: str) -> None:
    article = f"<h1>{heading}</h1><div class=article-body>{SENTENCES}</div>"
    text = html_text(f"<html><title>{title}</title><body><article>{article}</article>")
    assert text.startswith(start)


LARGE = "<p>word</p>" * 25_000


@pytest.mark.parametrize(
    ("html", "kept"),
    [
        ("<div class='cookie-banner'>parted</div>", False),
        ("<div id=sidebar>parted</div>", False),
        ("<ul class='post SHARE'><li>parted</ul>", False),
        ("<div class='leadership shared-memory'>parted</div>", True),
        ("<div class='has-sidebar'><h1>T</h1>parted</div>", True),
        ("<aside>parted</aside>", False),
        ("<select><option>parted</select>", False),
    ],
)
def test_what_a_page_names_as_furniture_is_left_out(html: str, kept: bool) -> None:
    assert ("parted" in html_text(html + LARGE)) is kept


def test_a_page_of_nothing_but_furniture_is_read_all_the_same() -> None:
    assert html_text("<div class=menu>Soup of the day</div>") == "Soup of the day"


def test_the_last_way_strips_tags_scripts_and_comments() -> None:
    html = "<p class='a'>1 &lt; 2 &amp; 3<br>next</p><SCRIPT>alert(1)</SCRIPT><!-- hidden --><b>bo</b>ld 5<6"
    assert stripped(html).split() == ["1", "<", "2", "&", "3", "next", "bo", "ld", "5<6"]


def test_the_last_way_says_where_it_stopped() -> None:
    assert stripped("<p>word" * 600_000).endswith("word\nw\n\n[The rest of this page is left out.]")
    assert stripped("word " * 1_000_000).endswith("word word")


@pytest.mark.parametrize(
    "html",
    [
        "<div>" * MANY + "text",
        "<b><i><a href=x>" * MANY + "text",
        "<p " + "a=1 " * MANY + ">text",
        '<p title="' + "x" * 10 * MANY + '">text',
        "<p>" + "&amp;&lt;&nbsp;" * MANY + "text",
        "<" * MANY + " text",
        "text" + "<!--" * MANY,
        "text" + "<script" * MANY,
        "text<p>" + " \n" * MANY,
        "text<title" * MANY,
        "text" + "<p" * MANY,
        "text" + "</div>" * MANY,
        "text<select>" + "<option>word" * MANY,
    ],
)
def test_a_hostile_page_gives_its_text(html: str) -> None:
    texts = [text for parser in range(3) if (text := _html.html_text(html, parser=parser)) is not None]
    assert all("text" in text for text in texts)


@given(
    st.lists(
        st.sampled_from(
            ["<p>", "</p>", "<b", ">", "<pre>", "<li>", "<td>", "&amp;", "<!--", "-->", "文", " ", "\n", "a"]
        )
    )
)
def test_any_soup_of_tags_is_read(soup: list[str]) -> None:
    html = "".join(soup)
    for parser in range(3):
        text = _html.html_text(html, parser=parser)
        assert text is not None
        assert text == text.strip()


@pytest.mark.parametrize(
    ("html", "title"),
    [
        ("<TITLE lang=en>\n A &amp; B\n</TITLE>", "A & B"),
        ("<title></title>", None),
        ("<title> </title>", None),
        ("<p>none", None),
    ],
)
def test_a_page_says_what_it_is_called(html: str, title: str | None) -> None:
    assert title_of(html) == title


@pytest.mark.parametrize(
    ("body", "content_type", "page"),
    [
        (b"plain <b>text\r\nmore", "text/plain", Page(None, "plain <b>text\nmore")),
        (b"intro\n# Tools \ntext", "text/markdown", Page("Tools", "intro\n# Tools \ntext")),
        (b"no heading", "text/markdown", Page(None, "no heading")),
        (b'{"tool": "saw"}', "application/json", Page(None, '{"tool": "saw"}')),
        (b"<rss><title>x</title></rss>", "application/rss+xml", Page(None, "<rss><title>x</title></rss>")),
        (b"a,b\n1,2\n", "text/csv", Page(None, "a,b\n1,2")),
        ("\u9053\u5177".encode("cp932"), "text/plain", Page(None, "道具")),
        (b"<!doctype html><title>T</title><p>hello", "", Page("T", "hello")),
        (b"<html><p>hello", "application/octet-stream", Page(None, "hello")),
        (b"just words", "", Page(None, "just words")),
    ],
)
def test_each_kind_of_document_is_read_as_what_it_is(body: bytes, content_type: str, page: Page) -> None:
    assert read_page(body, content_type=content_type) == page


@pytest.mark.parametrize(
    ("body", "content_type", "code"),
    [
        (b"\x00\x01\x02", "", "media"),
        (b"x", "application/zip", "media"),
        (b" ", "text/plain", "empty"),
        (b"<script>x</script>", "text/html", "empty"),
        (b"%PDF-1.4", "", "pdf_broken"),
        (b"<frameset><frame src=a></frameset>", "text/html", "empty"),
        (b"<p>word" * 20_000, "text/html", "too_much"),
    ],
)
def test_a_document_without_text_says_why(body: bytes, content_type: str, code: str) -> None:
    assert read_page(body, content_type=content_type) == code


def pdf_of(*pages: str, title: str = "") -> bytes:
    """A PDF whose pages hold one line each."""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Count %d /Kids [%b] >>"
        % (len(pages), b" ".join(b"%d 0 R" % (4 + 2 * at) for at in range(len(pages)))),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for at, text in enumerate(pages):
        drawn = b"BT /F1 12 Tf 20 100 Td (%b) Tj ET" % text.encode("latin-1")
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Contents %d 0 R "
            b"/Resources << /Font << /F1 3 0 R >> >> >>" % (5 + 2 * at)
        )
        objects.append(b"<< /Length %d >>\nstream\n%b\nendstream" % (len(drawn), drawn))
    objects.append(b"<< /Title (%b) >>" % title.encode())
    body = bytearray(b"%PDF-1.4\n")
    places: list[int] = []
    for number, content in enumerate(objects, 1):
        places.append(len(body))
        body += b"%d 0 obj\n%b\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    body += (
        b"xref\n0 %d\n0000000000 65535 f \n%btrailer\n<< /Size %d /Root 1 0 R /Info %d 0 R >>\nstartxref\n%d\n%%%%EOF"
        % (
            len(objects) + 1,
            table,
            len(objects) + 1,
            len(objects),
            len(body),
        )
    )
    return bytes(body)


def test_the_pages_of_a_pdf_are_set_apart_and_its_title_is_known() -> None:
    assert pdf_text(pdf_of("First page", "Second page", title="Drawers")) == Page(
        "Drawers", "First page\n\nSecond page"
    )


def test_pages_beyond_the_limit_are_counted() -> None:
    assert pdf_text(pdf_of("one", "two", "three"), max_pages=1) == Page(None, "one\n\n[2 more pages]")


def test_a_pdf_that_takes_too_long_gives_at_least_its_first_page() -> None:
    assert pdf_text(pdf_of("one", "two"), seconds=0) == Page(None, "one\n\n[1 more pages]")


@pytest.mark.parametrize(("password", "found"), [("sk-test", "pdf_encrypted"), ("", Page(None, "Secret plans"))])
def test_only_a_pdf_that_asks_for_a_password_is_closed(password: str, found: object) -> None:
    writer = pypdf.PdfWriter(clone_from=BytesIO(pdf_of("Secret plans")))
    writer.encrypt(password, owner_password="owner", algorithm="RC4-128")
    file = BytesIO()
    writer.write(file)
    assert pdf_text(file.getvalue()) == found


@pytest.mark.parametrize("data", [b"", b"%PDF-1.4", b"%PDF-1.7\n" + b"\x00" * 500, b"<p>not a PDF"])
def test_a_broken_pdf_is_called_broken(data: bytes) -> None:
    assert pdf_text(data) == "pdf_broken"


def test_a_pdf_without_words_says_so() -> None:
    assert pdf_text(pdf_of("", " ")) == "pdf_no_text"


PDF = pdf_of("First page", "Second page")


@given(at=st.integers(0, len(PDF) - 1), junk=st.binary(max_size=40))
def test_a_damaged_pdf_gives_text_or_a_problem(at: int, junk: bytes) -> None:
    found = pdf_text(PDF[:at] + junk + PDF[at + len(junk) :])
    assert isinstance(found, Page) or found in {"pdf_encrypted", "pdf_broken", "pdf_no_text"}
