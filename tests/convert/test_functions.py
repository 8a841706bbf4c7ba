"""Plain functions as tools."""

from __future__ import annotations

import asyncio
import functools
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, Required, Unpack, cast

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from hikidashi import ToolAnnotations, ToolResult, ToolValidationError, Unsupported, from_function
from hikidashi.tool import text

if TYPE_CHECKING:
    from decimal import Decimal

who: ContextVar[str] = ContextVar("who", default="nobody")


class Place(BaseModel):
    city: str
    zip_code: int = 0


@dataclass
class Spot:
    x: int


class Record(TypedDict):
    x: int


def send(
    to: str, /, place: Place, copies: Annotated[int, Field(ge=1, description="How many.")] = 1, **tags: int
) -> str:
    """Send it.

    Args:
        to: Who gets it.
        place: Where to.
        copies: Not shown, the hint has its own words.
        tags: More of them.
    """
    return f"{to} {place!r} {copies} {tags}"


async def test_the_signature_and_the_docstring_make_the_definition() -> None:
    tool = from_function(send)
    assert (tool.name, tool.description) == ("send", "Send it.")
    assert tool.input_schema == {
        "type": "object",
        "properties": {
            "to": {"type": "string", "description": "Who gets it."},
            "place": {"$ref": "#/$defs/Place", "description": "Where to."},
            "copies": {"type": "integer", "minimum": 1, "default": 1, "description": "How many."},
        },
        "required": ["to", "place"],
        "additionalProperties": {"type": "integer"},
        "$defs": {
            "Place": {
                "type": "object",
                "title": "Place",
                "properties": {"city": {"type": "string"}, "zip_code": {"type": "integer", "default": 0}},
                "required": ["city"],
            }
        },
    }


async def test_models_arrive_as_models_and_positional_and_extra_arguments_in_their_place() -> None:
    result = await from_function(send).call({"to": "Ada", "place": {"city": "Rome"}, "copies": "3", "rank": 1})
    assert result == ToolResult(content=(text("Ada Place(city='Rome', zip_code=0) 3 {'rank': 1}"),))


async def test_arguments_that_do_not_fit_are_told_one_by_one() -> None:
    result = await from_function(send).call({"place": {"zip_code": "x" * 300}, "copies": 0, "rank": "top"})
    assert result.is_error
    assert result.text.splitlines() == [
        "Invalid arguments for `send`:",
        "- `to` is missing.",
        "- `place.city` is missing.",
        "- `place.zip_code`: Input should be a valid integer, unable to parse string as an integer. "
        f"You gave '{'x' * 199}… (302 characters).",
        "- `copies`: Input should be greater than or equal to 1. You gave 0.",
        "- `rank`: Input should be a valid integer, unable to parse string as an integer. You gave 'top'.",
        "Correct this and call `send` again.",
    ]


def one(city: str) -> str:
    return city


@pytest.mark.parametrize(("func", "known"), [(one, "city"), (lambda: 1, "none")], ids=["one argument", "no argument"])
async def test_an_unknown_argument_is_answered_with_the_known_ones(func: Callable[..., Any], known: str) -> None:
    result = await from_function(func, name="f").call({"city": "a", "town": "Rome"})
    assert f"- `town` is not an argument. Known: {known}." in result.text


async def test_the_caller_may_say_everything_itself() -> None:
    hints = ToolAnnotations(read_only=True)
    tool = from_function(
        lambda: 1,
        name="一",
        description="Mine.",
        annotations=hints,
        aliases=["eins"],
        defer_loading=True,
        metadata={"a/b": 1},
    )
    assert (tool.name, tool.description, tool.annotations) == ("一", "Mine.", hints)
    assert (tool.aliases, tool.defer_loading, tool.metadata) == (("eins",), True, {"a/b": 1})
    assert tool.input_schema == {"type": "object", "properties": {}, "additionalProperties": False}


async def test_names_that_pydantic_keeps_for_itself_are_fine() -> None:
    def odd(schema: int, model_config: int, _x: int, copy: int = 4, p0: int = 5) -> list[int]:
        return [schema, model_config, _x, copy, p0]

    result = await from_function(odd).call({"schema": 1, "model_config": 2, "_x": 3})
    assert result.text == "[1, 2, 3, 4, 5]"


async def test_a_field_as_the_default_keeps_its_limits_and_its_default() -> None:
    def limited(n: int = Field(5, le=9)) -> int:
        return n

    tool = from_function(limited)
    assert (await tool.call({})).text == "5"
    assert (await tool.call({"n": 10})).is_error


async def test_a_default_without_a_json_form_is_used_and_not_shown() -> None:
    nobody = object()

    def pick(who: Any = nobody) -> bool:
        return who is nobody

    tool = from_function(pick)
    assert tool.input_schema["properties"] == {"who": {}}
    assert (await tool.call({})).text == "true"


class Model(BaseModel):
    x: int


@pytest.mark.parametrize(
    ("value", "kind"),
    [(Model(x=1), Model), (Spot(1), Spot), ({"x": 1}, Record)],
    ids=["model", "dataclass", "typeddict"],
)
async def test_a_return_type_with_fields_is_the_output_schema(value: Any, kind: Any) -> None:
    def make() -> Any:
        return value

    make.__annotations__["return"] = kind
    tool = from_function(make)
    schema = {"type": "object", "title": kind.__name__, "properties": {"x": {"type": "integer"}}, "required": ["x"]}
    assert tool.output_schema == schema
    assert (await tool.call({})).structured_content == {"x": 1}


class Recursive(BaseModel):
    inner: Recursive | None = None


@pytest.mark.parametrize("kind", [None, str, int, list[int], dict[str, int], ToolResult, Model | None, Recursive])
def test_any_other_return_type_is_not(kind: Any) -> None:
    def make() -> Any: ...

    make.__annotations__["return"] = kind
    assert from_function(make).output_schema is None


def test_a_return_type_that_pydantic_does_not_know_is_no_output_schema() -> None:
    @dataclass
    class Odd:
        lock: threading.Event

    def make() -> Any: ...

    make.__annotations__["return"] = Odd
    assert from_function(make).output_schema is None


async def test_a_broken_promise_about_the_return_type_is_the_tools_own_error() -> None:
    def make() -> Any: ...

    make.__annotations__["return"] = Model
    with pytest.raises(TypeError, match=r"'make' promises .*Model.*, but returned NoneType"):
        await from_function(make).call({})


async def test_a_function_without_async_runs_in_a_thread_with_the_callers_context() -> None:
    def where() -> list[Any]:
        return [threading.current_thread() is threading.main_thread(), who.get()]

    who.set("Ada")
    assert (await from_function(where).call({})).text == '[false, "Ada"]'


async def test_a_function_without_async_does_not_block_the_loop() -> None:
    entered, leave = threading.Event(), threading.Event()

    def block() -> str:
        entered.set()
        return "left" if leave.wait(10) else "stuck"

    call = asyncio.ensure_future(from_function(block).call({}))
    while not entered.is_set():
        await asyncio.sleep(0)
    leave.set()
    assert (await call).text == "left"


async def test_what_the_tool_raises_is_raised() -> None:
    def fail() -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        await from_function(fail).call({})


async def test_a_validation_error_inside_the_tool_is_its_own() -> None:
    def parse() -> Place:
        return Place.model_validate({})

    with pytest.raises(ValueError, match="city"):
        await from_function(parse).call({})


async def test_stop_iteration_does_not_hang_the_caller() -> None:
    def first() -> int:
        return next(iter(()))

    with anyio.fail_after(10), pytest.raises(RuntimeError, match="'first' raised StopIteration"):
        await from_function(first).call({})


async def test_cancelling_reaches_the_function() -> None:
    started, cancelled = asyncio.Event(), asyncio.Event()

    async def wait() -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    call = asyncio.ensure_future(from_function(wait).call({}))
    await started.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert cancelled.is_set()


class Greeter:
    """Not the description."""

    async def __call__(self, name: str) -> str:
        """Greet."""
        return f"Hi {name}"

    def hello(self, name: str) -> str:
        """Say hello."""
        return f"Hello {name}"


async def later(name: str, greeting: str) -> str:
    """Greet later."""
    return f"{greeting} {name}"


def awaitable(name: str) -> Any:
    """Greet in a while."""
    return later(name, "Soon")


@pytest.mark.parametrize(
    ("func", "expected"),
    [
        (Greeter(), ("Greeter", "Greet.", "Hi Ada")),
        (Greeter().hello, ("hello", "Say hello.", "Hello Ada")),
        (functools.partial(later, greeting="Yo"), ("later", "Greet later.", "Yo Ada")),
        (awaitable, ("awaitable", "Greet in a while.", "Soon Ada")),
    ],
    ids=["callable object", "method", "partial", "returns an awaitable"],
)
async def test_every_kind_of_callable_works(func: Callable[..., Any], expected: tuple[str, str, str]) -> None:
    tool = from_function(func)
    assert (tool.name, tool.description, (await tool.call({"name": "Ada"})).text) == expected


def test_star_args_are_refused_by_name() -> None:
    def many(*names: str) -> None: ...

    with pytest.raises(Unsupported, match=r"`\*names` of 'many'.*`names: list\[...\]`"):
        from_function(many)


async def stream() -> AsyncIterator[int]:
    yield 1


def count() -> Iterator[int]:
    yield 1


@pytest.mark.parametrize("func", [stream, count])
def test_generators_are_refused(func: Callable[..., Any]) -> None:
    with pytest.raises(Unsupported, match=f"generator function '{func.__name__}'"):
        from_function(func)


def test_only_functions_are_taken() -> None:
    with pytest.raises(ToolValidationError, match="needs a function, got 'send'"):
        from_function(cast("Any", "send"))


def test_a_builtin_without_a_signature_is_refused() -> None:
    with pytest.raises(ToolValidationError, match="'get' has no signature"):
        from_function(who.get)


def test_a_lambda_needs_a_name() -> None:
    with pytest.raises(ToolValidationError, match="name="):
        from_function(lambda: 1)


def test_hints_that_name_nothing_are_told() -> None:
    def pay(amount: Decimal) -> None: ...

    with pytest.raises(ToolValidationError, match="'pay' cannot be resolved: name 'Decimal'"):
        from_function(pay)


def test_hints_that_make_no_schema_are_told() -> None:
    def lock(event: threading.Event) -> None: ...

    with pytest.raises(ToolValidationError, match="'lock' make no schema"):
        from_function(lock)


@settings(max_examples=50)
@given(st.dictionaries(st.text(), st.recursive(st.integers() | st.text() | st.none(), st.lists, max_leaves=5)))
async def test_arguments_arrive_as_they_were_sent(arguments: dict[str, Any]) -> None:
    async def echo(**kwargs: Any) -> dict[str, Any]:
        return {"got": kwargs}

    assert (await from_function(echo).call(arguments)).structured_content == {"got": arguments}


async def test_a_thousand_calls_at_once_get_their_own_answers() -> None:
    def double(n: int) -> int:
        return 2 * n

    tool = from_function(double)
    results = await asyncio.gather(*(tool.call({"n": n}) for n in range(1_000)))
    assert [result.text for result in results] == [str(2 * n) for n in range(1_000)]


class Options(TypedDict, total=False):
    city: Required[str]
    days: int
    unit: Annotated[Literal["c", "f"], Field(description="Celsius or Fahrenheit")]


async def test_keyword_options_of_a_typed_dict_are_parameters_and_only_those_given_arrive() -> None:
    async def forecast(name: str, **options: Unpack[Options]) -> dict[str, Any]:
        """Forecast the weather."""
        return {"name": name, **options}

    tool = from_function(forecast)
    assert tool.input_schema == {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "name": {"type": "string"},
            "city": {"type": "string"},
            "days": {"type": "integer"},
            "unit": {"type": "string", "enum": ["c", "f"], "description": "Celsius or Fahrenheit"},
        },
        "required": ["name", "city"],
    }
    arguments = {"name": "a", "city": "Kyoto", "unit": "c"}
    assert json.loads((await tool.call(arguments)).text) == arguments
    assert (await tool.call({"name": "a"})).is_error
    assert (await tool.call({**arguments, "days": "soon"})).is_error
    assert (await tool.call({**arguments, "more": 1})).is_error
