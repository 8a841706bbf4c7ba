"""Connections of providers: the pool, limits on answers, retries, and identical requests sent once."""

from __future__ import annotations

import asyncio
import gzip
import itertools
import zlib
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikidashi.errors import ErrorType, TavilyAPIError
from hikidashi.testing.server import Exchange, LoopbackServer
from hikidashi.web.providers.searxng import SearxngProvider
from hikidashi.web.providers.tavily import TavilyAPIClient
from hikidashi.web.providers.transport import (
    ENCODINGS,
    AnswerTooLarge,
    LifoTransport,
    RetryPolicy,
    Shared,
    SingleFlight,
    parse_retry_after,
    read_within_limits,
)


class Echo(LoopbackServer):
    """Answers with the path, or breaks off."""

    def handle(self, exchange: Exchange) -> None:
        if exchange.path == "/cut":
            exchange.answer_in_part(200, b"never whole", {})
        elif exchange.path == "/gone":
            exchange.hang_up()
        else:
            exchange.answer(200, exchange.path.encode(), {})


def transport() -> LifoTransport:
    return LifoTransport(lambda: httpx.AsyncHTTPTransport(limits=httpx.Limits(max_connections=1)))


async def test_one_after_another_uses_one_connection_and_many_at_once_use_many() -> None:
    pool = transport()
    with Echo() as server:
        async with httpx.AsyncClient(transport=pool, base_url=server.url) as client:
            assert [(await client.get(f"/{n}")).text for n in range(5)] == [f"/{n}" for n in range(5)]
            assert len(pool) == 1
            for _ in range(3):
                answers = await asyncio.gather(*(client.get(f"/{n}") for n in range(8)))
                assert [answer.text for answer in answers] == [f"/{n}" for n in range(8)]
            assert len(pool) == 8


@pytest.mark.parametrize("path", ["/cut", "/gone"])
async def test_a_connection_that_breaks_is_replaced(path: str) -> None:
    pool = transport()
    with Echo() as server:
        async with httpx.AsyncClient(transport=pool, base_url=server.url) as client:
            for _ in range(3):
                with pytest.raises(httpx.RemoteProtocolError):
                    await client.get(path)
                assert (await client.get("/fine")).text == "/fine"
    assert len(pool) == 1


async def test_an_answer_that_is_closed_twice_gives_its_connection_back_once() -> None:
    pool = transport()
    with Echo() as server:
        async with httpx.AsyncClient(transport=pool, base_url=server.url) as client:
            async with client.stream("GET", "/long") as answer:
                await answer.aclose()
                await answer.stream.aclose()  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
            await asyncio.gather(client.get("/a"), client.get("/b"))
    assert len(pool) == 2


class Body(LoopbackServer):
    """Answers with a body in one encoding, in pieces, for as long as anybody reads."""

    def __init__(self, pieces: Iterable[bytes], encoding: str) -> None:
        super().__init__()
        self._pieces, self._encoding = pieces, encoding

    def handle(self, exchange: Exchange) -> None:
        named = {"content-encoding": self._encoding} if self._encoding else {}
        exchange.begin_stream(200, {"content-type": "application/json", **named})
        for piece in self._pieces:
            exchange.send(piece)
        exchange.end_stream()


def bomb() -> Iterator[bytes]:
    """Half a megabyte that is half a gigabyte."""
    packed = zlib.compressobj(9, zlib.DEFLATED, 31)
    for _ in range(512):
        if piece := packed.compress(bytes(1024 * 1024)):
            yield piece
    yield packed.flush()


async def read(pieces: Iterable[bytes], encoding: str = "") -> str:
    with Body(pieces, encoding) as server:
        hooks = {"response": [read_within_limits]}
        async with httpx.AsyncClient(headers=ENCODINGS, event_hooks=hooks, base_url=server.url) as client:
            return (await client.get("/")).text


@pytest.mark.parametrize("encoding", ["", "identity", "gzip", "deflate"])
async def test_an_answer_is_read_whole_in_the_encodings_that_are_asked_for(encoding: str) -> None:
    packed = {"gzip": gzip.compress, "deflate": zlib.compress}.get(encoding, bytes)("引き出し".encode() * 1_000)
    assert await read([packed[:10], packed[10:]], encoding) == "引き出し" * 1_000


async def test_an_answer_beyond_the_limit_is_given_up_whatever_it_is_packed_in() -> None:
    with pytest.raises(AnswerTooLarge, match="larger than 64 MB"):
        await read(bomb(), "gzip")
    with pytest.raises(AnswerTooLarge, match="larger than 64 MB"):
        await read(itertools.repeat(bytes(1024 * 1024)))


@pytest.mark.parametrize(
    ("encoding", "body"), [("br", b"x"), ("gzip", b"no gzip"), ("gzip", gzip.compress(b"x", mtime=0)[:-4])]
)
async def test_an_encoding_that_cannot_be_undone_is_a_failure(encoding: str, body: bytes) -> None:
    with pytest.raises(httpx.DecodingError, match="could not be decompressed"):
        await read([body], encoding)


NO_RETRY = RetryPolicy(max_retries=0)


def tavily(url: str) -> TavilyAPIClient:
    return TavilyAPIClient("tvly-test", base_url=url, language="en", retry=NO_RETRY)


def searxng(url: str) -> SearxngProvider:
    return SearxngProvider(url, timeout=5.0, language="en", retry=NO_RETRY)


@pytest.mark.parametrize("make", [tavily, searxng])
async def test_a_provider_says_that_an_answer_is_too_large(make: Any) -> None:
    with Body(itertools.repeat(bytes(1024 * 1024)), "") as server:
        async with make(server.url) as provider:
            with pytest.raises(TavilyAPIError, match=r"larger than 64 MB\. Ask for fewer results") as error:
                await provider.search("x")
    assert error.value.error_type == ErrorType.API_ERROR


async def test_a_server_that_drips_is_given_up_in_time() -> None:
    with Drip() as server:
        async with SearxngProvider(server.url, timeout=0.3, language="en", retry=NO_RETRY) as provider:
            with pytest.raises(TavilyAPIError, match=r"did not answer within 0\.3 seconds"):
                await provider.search("x")


class Drip(LoopbackServer):
    """Sends a byte now and then, for ever: each comes well within the time of one step."""

    def handle(self, exchange: Exchange) -> None:
        exchange.begin_stream(200, {"content-type": "application/json"})
        while True:
            exchange.send(b" ")
            exchange.wait(0.02)


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


class Work:
    """Work that begins, and ends when it is told to."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error
        self.times = 0
        self.begun = asyncio.Event()
        self.may_end = asyncio.Event()

    async def __call__(self) -> int:
        self.times += 1
        self.begun.set()
        await self.may_end.wait()
        if self.error is not None:
            raise self.error
        return self.times


async def started(flights: SingleFlight[int], work: Work, count: int) -> list[asyncio.Task[Shared[int]]]:
    tasks = [asyncio.create_task(flights.run("key", work)) for _ in range(count)]
    await work.begun.wait()
    await asyncio.sleep(0)
    return tasks


async def test_all_who_ask_meanwhile_get_the_same_and_one_of_them_leads() -> None:
    flights, work = SingleFlight[int](), Work()
    tasks = await started(flights, work, 5)
    work.may_end.set()
    assert await asyncio.gather(*tasks) == [Shared(1, leader=True), *[Shared(1, leader=False)] * 4]
    assert len(flights) == 0


async def test_other_keys_and_later_callers_do_their_own_work() -> None:
    flights, work = SingleFlight[int](), Work()
    work.may_end.set()
    assert await flights.run("a", work) == (1, True)
    assert await flights.run("a", work) == (2, True)
    assert await asyncio.gather(flights.run("b", work), flights.run("c", work)) == [(3, True), (4, True)]


async def test_a_failure_reaches_all() -> None:
    flights, work = SingleFlight[int](), Work(error=ValueError("no"))
    tasks = await started(flights, work, 3)
    work.may_end.set()
    assert [str(error) for error in await asyncio.gather(*tasks, return_exceptions=True)] == ["no"] * 3
    assert work.times == 1
    assert len(flights) == 0


async def test_a_cancelled_caller_leaves_the_others_undisturbed() -> None:
    flights, work = SingleFlight[int](), Work()
    first, second, third = await started(flights, work, 3)
    second.cancel()
    await asyncio.wait([second])
    work.may_end.set()
    assert (await first, await third) == ((1, True), (1, False))
    assert work.times == 1


async def test_if_the_first_is_cancelled_the_next_one_takes_over_for_all() -> None:
    flights, work = SingleFlight[int](), Work()
    first, second, third = await started(flights, work, 3)
    work.begun.clear()
    first.cancel()
    await work.begun.wait()
    work.may_end.set()
    assert (await second, await third) == ((2, True), (2, False))
    with pytest.raises(asyncio.CancelledError):
        await first


async def test_when_all_are_cancelled_nothing_is_left() -> None:
    flights, work = SingleFlight[int](), Work()
    tasks = await started(flights, work, 3)
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    assert (work.times, len(flights)) == (1, 0)


async def test_a_failure_is_no_complaint_where_its_last_reader_is_cancelled_at_that_moment(
    caplog: pytest.LogCaptureFixture,
) -> None:
    flights, work = SingleFlight[int](), Work(error=ValueError("no"))
    first, second = await started(flights, work, 2)
    work.may_end.set()
    await asyncio.wait([first])
    second.cancel()
    await asyncio.wait([second])
    with pytest.raises(ValueError):
        await first
    assert caplog.records == []
