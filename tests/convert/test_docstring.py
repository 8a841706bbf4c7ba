"""The three docstring styles say the same."""

from __future__ import annotations

import pytest

from hikidashi.convert.functions import Docstring, parse_docstring

GOOGLE = """Send a mail.

    It goes out at once.

    Args:
        to (list[str]): Who gets it,
            one or many.
        on_sent (Callable[[int], str], optional): Called after.
        **headers: Whatever else.

    Returns:
        to: not a parameter.
    """
NUMPY = """Send a mail.

    It goes out at once.

    Parameters
    ----------
    to : list[str]
        Who gets it,
        one or many.
    on_sent
        Called after.
    **headers : str
        Whatever else.

    Returns
    -------
    to
        not a parameter.
    """
REST = """Send a mail.

    It goes out at once.

    :param list[str] to: Who gets it,
        one or many.
    :param on_sent: Called after.
    :type on_sent: Callable

    :param headers: Whatever else.
    :returns: to nobody
    """
SAME = Docstring(
    description="Send a mail.\n\nIt goes out at once.",
    parameters={"to": "Who gets it, one or many.", "on_sent": "Called after.", "headers": "Whatever else."},
)


@pytest.mark.parametrize("docstring", [GOOGLE, NUMPY, REST], ids=["google", "numpy", "rest"])
def test_every_style_gives_the_description_and_the_parameters(docstring: str) -> None:
    assert parse_docstring(docstring) == SAME


@pytest.mark.parametrize("docstring", [None, "", "   \n  "])
def test_no_docstring_is_an_empty_one(docstring: str | None) -> None:
    assert parse_docstring(docstring) == Docstring()


def test_names_that_share_a_numpy_entry_share_its_text() -> None:
    assert parse_docstring("Add.\n\nParameters\n----------\na, b : int\n    A number.").parameters == {
        "a": "A number.",
        "b": "A number.",
    }


@pytest.mark.parametrize(
    "docstring",
    [
        "Do it.\n\nArgs:\n",
        "Do it.\n\nArgs:\n    no colon here\n",
        "Do it.\n\nParameters\n----------\n? what\n    that\n",
    ],
)
def test_a_section_that_says_nothing_gives_nothing(docstring: str) -> None:
    assert parse_docstring(docstring) == Docstring(description="Do it.")


def test_a_colon_in_the_prose_opens_no_section() -> None:
    prose = "Do it.\n\nRemember this:\n    be kind\n\nURL: http://example.com"
    assert parse_docstring(prose).description == prose
