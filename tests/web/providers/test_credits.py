from __future__ import annotations

import pytest

from hikidashi.errors import ErrorType, TavilyAPIError
from hikidashi.texts import in_language
from hikidashi.web.providers.tavily import CreditMeter, extract_cost, search_cost


def test_prices_are_those_of_the_api() -> None:
    assert [search_cost("basic"), search_cost("advanced")] == [1, 2]
    assert [extract_cost(pages) for pages in (0, 1, 5, 6, 20)] == [0, 1, 1, 2, 4]
    assert extract_cost(6, "advanced") == 4


def test_what_is_charged_adds_up() -> None:
    meter = CreditMeter()
    for cost in (1.0, 0.5, 0.0):
        with meter.charge(1.0) as charge:
            charge.cost = cost
    assert meter.used == 1.5


def test_a_request_that_fails_costs_nothing_and_gives_its_room_back() -> None:
    meter = CreditMeter(limit=1)
    with pytest.raises(ValueError), meter.charge(1):
        raise ValueError
    assert meter.used == 0
    with meter.charge(1):
        pass


def test_requests_under_way_count_against_the_limit() -> None:
    meter = CreditMeter(limit=3)
    with meter.charge(2), pytest.raises(TavilyAPIError) as error:
        meter.charge(2)
    assert error.value.error_type is ErrorType.API_ERROR
    assert not error.value.is_retryable
    assert in_language(error.value.message, "en") == (
        "Not sent: it would cost 2 credits, and 2 of the limit of 3 are used. Raise `credit_limit`."
    )
