from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikidashi.errors import ErrorType, TavilyAPIError
from hikidashi.web.providers.transport import RetryPolicy, parse_retry_after


def failure(kind: ErrorType, retry_after: float | None = None) -> TavilyAPIError:
    return TavilyAPIError(f"a {kind}", kind, retry_after=retry_after)


class Attempts:
    """Fails as told, then gives 'done'."""

    def __init__(self, *failures: TavilyAPIError) -> None:
        self.failures = list(failures)
        self.made = 0

    async def __call__(self) -> str:
        self.made += 1
        if self.failures:
            raise self.failures.pop(0)
        return "done"


class Waits:
    """Notes how long it was to sleep."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


PASSING = [kind for kind in ErrorType if failure(kind).is_retryable]


@pytest.mark.parametrize("kind", PASSING)
async def test_a_failure_that_may_pass_is_tried_three_times_more_with_growing_waits(kind: ErrorType) -> None:
    waits, attempts = Waits(), Attempts(*[failure(kind)] * 3)
    policy = RetryPolicy(sleep=waits, jitter=lambda: 1.0)
    assert await policy.run(attempts) == "done"
    assert attempts.made == 4
    assert waits.seconds == [1.0, 2.0, 4.0]


async def test_after_the_last_try_its_own_failure_is_raised() -> None:
    last = failure(ErrorType.SERVICE_UNAVAILABLE)
    attempts = Attempts(*[failure(ErrorType.TIMEOUT_ERROR)] * 3, last)
    with pytest.raises(TavilyAPIError) as error:
        await RetryPolicy(sleep=Waits()).run(attempts)
    assert error.value is last


@pytest.mark.parametrize("kind", [kind for kind in ErrorType if kind not in PASSING])
async def test_what_cannot_pass_is_tried_once(kind: ErrorType) -> None:
    waits, attempts = Waits(), Attempts(failure(kind))
    with pytest.raises(TavilyAPIError):
        await RetryPolicy(sleep=waits).run(attempts)
    assert (attempts.made, waits.seconds) == (1, [])


async def test_the_server_says_how_long_to_wait() -> None:
    waits = Waits()
    limited = [failure(ErrorType.RATE_LIMIT_ERROR, seconds) for seconds in (7.0, 0.0, 25.0)]
    assert await RetryPolicy(sleep=waits, jitter=lambda: 0.0).run(Attempts(*limited)) == "done"
    assert waits.seconds == [7.0, 0.0, 25.0]


async def test_a_wait_that_is_too_long_is_left_to_the_caller() -> None:
    attempts = Attempts(failure(ErrorType.RATE_LIMIT_ERROR, 3600))
    with pytest.raises(TavilyAPIError) as error:
        await RetryPolicy(sleep=Waits()).run(attempts)
    assert (attempts.made, error.value.retry_after) == (1, 3600)


@given(st.integers(0, 60), st.floats(0, 1))
def test_every_wait_is_within_half_of_its_length_and_the_cap(retries: int, dice: float) -> None:
    policy = RetryPolicy(max_retries=100, jitter=lambda: dice)
    wait = policy.wait_after(failure(ErrorType.SERVER_ERROR), retries)
    full = min(10.0, 2.0**retries)
    assert wait is not None
    assert full / 2 <= wait <= full


@given(st.floats(0, 60), st.floats(0, 1))
def test_no_wait_is_shorter_than_the_server_asked_for(seconds: float, dice: float) -> None:
    wait = RetryPolicy(jitter=lambda: dice).wait_after(failure(ErrorType.RATE_LIMIT_ERROR, seconds), 0)
    assert wait is not None
    assert seconds <= wait <= seconds * 1.1 + 1e-9


async def test_cancelling_while_it_waits_makes_no_further_try() -> None:
    sleeping = asyncio.Event()

    async def sleep(_: float) -> None:
        sleeping.set()
        await asyncio.Event().wait()

    attempts = Attempts(failure(ErrorType.SERVER_ERROR))
    task = asyncio.create_task(RetryPolicy(sleep=sleep).run(attempts))
    await sleeping.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert attempts.made == 1


async def test_other_exceptions_are_not_ours_to_repeat() -> None:
    async def broken() -> str:
        raise KeyError("bug")

    with pytest.raises(KeyError):
        await RetryPolicy(sleep=Waits()).run(broken)


@given(st.integers(0, 10**9))
def test_seconds_are_read(seconds: int) -> None:
    assert parse_retry_after(str(seconds)) == seconds


NOW = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)


@given(st.integers(-(10**8), 10**8))
def test_a_date_is_the_time_until_then_and_never_negative(seconds: int) -> None:
    date = format_datetime(NOW + timedelta(seconds=seconds), usegmt=True)
    assert parse_retry_after(date, now=NOW) == max(0, seconds)


def test_a_date_without_a_zone_is_taken_as_utc() -> None:
    assert parse_retry_after("Mon, 16 Nov 2026 12:00:30 -0000", now=NOW) == 30


def test_a_date_is_measured_from_now() -> None:
    soon = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    assert 3500 < (parse_retry_after(soon) or 0) <= 3600


@pytest.mark.parametrize("value", [None, "", "soon", "nan", "inf", "-inf", "Mon, 99 Nov 2026 12:00:00 GMT"])
def test_what_says_nothing_is_none(value: str | None) -> None:
    assert parse_retry_after(value) is None


def test_a_negative_number_is_at_once() -> None:
    assert parse_retry_after("-3") == 0


@given(st.text(max_size=60))
def test_any_header_gives_seconds_or_none(value: str) -> None:
    seconds = parse_retry_after(value)
    assert seconds is None or seconds >= 0
