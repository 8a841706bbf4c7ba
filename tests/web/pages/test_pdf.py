from __future__ import annotations

from io import BytesIO

import pypdf
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikidashi.web.pages.document import PdfText, pdf_text


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
    assert pdf_text(pdf_of("First page", "Second page", title="Drawers")) == PdfText(
        "First page\n\nSecond page", "Drawers"
    )


def test_pages_beyond_the_limit_are_counted() -> None:
    assert pdf_text(pdf_of("one", "two", "three"), max_pages=1) == PdfText("one\n\n[2 more pages]", None)


def test_a_pdf_that_takes_too_long_gives_at_least_its_first_page() -> None:
    assert pdf_text(pdf_of("one", "two"), seconds=0) == PdfText("one\n\n[1 more pages]", None)


@pytest.mark.parametrize(("password", "found"), [("sk-test", "pdf_encrypted"), ("", PdfText("Secret plans", None))])
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
    assert isinstance(found, PdfText) or found in {"pdf_encrypted", "pdf_broken", "pdf_no_text"}
