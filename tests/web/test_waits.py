"""When to try again, in words."""

from __future__ import annotations

import math
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikidashi.texts import in_language
from hikidashi.web.messages import wait_message

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
HOUR, DAY = 3600, 86_400


@pytest.mark.parametrize(
    ("seconds", "english", "japanese"),
    [
        (0, "Try again in 0 seconds.", "0秒後に再試行できます。"),
        (2.5, "Try again in 2.5 seconds.", "2.5秒後に再試行できます。"),
        (60.2, "Try again in 61 seconds.", "61秒後に再試行できます。"),
        (600, "Try again in about 10 minutes.", "約10分後に再試行できます。"),
        (5 * HOUR, "Try again in about 5 hours.", "約5時間後に再試行できます。"),
        (9 * DAY, "Try again after 2026-11-25 (UTC).", "2026-11-25（UTC）以降に再試行できます。"),
    ],
)
def test_a_wait_is_told_in_the_unit_a_person_would_use(seconds: float, english: str, japanese: str) -> None:
    assert in_language(wait_message(seconds, now=NOW), "en").strip() == english
    assert wait_message(seconds, now=NOW) == japanese


@pytest.mark.parametrize("seconds", [None, 2_301_440_000, 1e300, math.inf, math.nan, -1])
def test_a_wait_that_makes_no_sense_is_not_repeated(seconds: float | None) -> None:
    assert wait_message(seconds, now=NOW) == ""


@given(st.floats(0, allow_infinity=True))
def test_no_wait_is_told_with_an_exponent(seconds: float) -> None:
    assert "e+" not in wait_message(seconds, now=NOW)
