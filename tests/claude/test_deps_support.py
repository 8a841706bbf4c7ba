from __future__ import annotations

import copy
import enum
import logging
import math
import pickle
import sys
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from dataclasses import InitVar, dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, NamedTuple, NewType, NotRequired, TypeVar
from typing import TypedDict as OldTypedDict
from uuid import UUID, uuid4
from zoneinfo import ZoneInfo

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, SecretStr, field_validator
from typing_extensions import TypeAliasType, TypedDict

from hikidashi import DepsContext, UnsupportedDepsTypeError, deserialize_deps, serialize_deps
from hikidashi.claude.deps_support import check_deps
from hikidashi.errors import ClaudeCodeError, DepsJSONError, TypeHintResolutionError

T = TypeVar("T")
MOMENT = datetime(2026, 1, 1)  # noqa: DTZ001 - without a zone is one of the cases


class Color(enum.Enum):
    RED = "red"
    DEEP = 7


class Level(enum.IntEnum):
    LOW = 1


class Point(NamedTuple):
    x: int
    when: datetime


class Options(TypedDict):
    since: date
    limit: NotRequired[int]


@dataclass
class Inner:
    name: str
    when: date


@dataclass(frozen=True, slots=True, kw_only=True)
class Everything:
    text: str = "引き出し"
    number: float = 1
    nothing: None = None
    moment: datetime = datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)
    local: datetime = datetime(2026, 7, 1, tzinfo=ZoneInfo("Asia/Tokyo"))
    day: date = date(2026, 1, 2)
    clock: time = time(1, 2, 3, 4)
    span: timedelta = timedelta(days=-1, microseconds=3)
    color: Color = Color.DEEP
    level: Level = Level.LOW
    id: UUID = field(default_factory=uuid4)
    path: Path = Path("/data/引き出し")
    price: Decimal = Decimal("1.10")
    raw: bytes = b"\xff\x00"
    pair: tuple[int, str] = (1, "a")
    many: tuple[int, ...] = (1, 2, 3)
    unique: set[date] = field(default_factory=lambda: {date(2026, 1, 1)})
    frozen: frozenset[Color] = frozenset({Color.RED})
    nested: Inner = field(default_factory=lambda: Inner("n", date(2026, 1, 1)))
    maybe: Inner | None = None
    listed: list[Inner] = field(default_factory=lambda: [Inner("l", date(2026, 1, 1))])
    mapped: dict[str, Inner] = field(default_factory=lambda: {"k": Inner("d", date(2026, 1, 1))})
    by_day: dict[date, int] = field(default_factory=lambda: {date(2026, 1, 1): 1})
    either: int | str = "5"
    choice: Literal["a", "b"] = "b"
    point: Point = field(default_factory=lambda: Point(1, MOMENT))
    options: Options = field(default_factory=lambda: Options(since=date(2026, 1, 1)))
    infinite: float = math.inf
    anything: Any = field(default_factory=lambda: {"a": [1, None, True, "x"]})


class Settings(BaseModel):
    model_config = ConfigDict(extra="allow")

    name: str
    since: date
    limit: int = Field(default=3, alias="max-items")
    inner: Inner | None = None


@dataclass
class Box(Generic[T]):
    value: T
    more: list[T] = field(default_factory=list)  # pyright: ignore[reportUnknownVariableType]
    by_name: dict[str, T] = field(default_factory=dict)  # pyright: ignore[reportUnknownVariableType]
    spare: T | None = None


class ModelBox(BaseModel, Generic[T]):
    value: T


@dataclass
class Base:
    a: int


@dataclass
class Derived(Base):
    b: datetime
    c: int = field(init=False)
    scale: InitVar[int] = 10

    def __post_init__(self, scale: int) -> None:
        self.c = self.a * scale


@dataclass
class Holder:
    base: Base


@dataclass
class Tree:
    value: int
    children: list[Tree] = field(default_factory=list["Tree"])


@dataclass
class Config:
    api_key: str
    http: httpx.AsyncClient | None = None


@dataclass
class Clients:
    clients: list[httpx.AsyncClient] = field(default_factory=list[httpx.AsyncClient])


@dataclass
class Nested:
    config: Config


@dataclass
class Loose:
    anything: Any


@dataclass
class LooseList:
    items: list[Any]


@dataclass
class NeedsArgument:
    a: int
    secret: InitVar[str]


@dataclass
class Drifting:
    count: int

    def __post_init__(self) -> None:
        self.count += 1


@dataclass
class Unresolved:
    other: Nowhere  # pyright: ignore[reportUndefinedVariable] # noqa: F821
    day: date = date(2026, 1, 1)


@dataclass
class Outer:
    inner: Unresolved


class SecretSettings(BaseModel):
    api_key: SecretStr


class Hiding(BaseModel):
    name: str = "x"
    _client: Any = PrivateAttr(default=None)


class Carrying(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)

    client: httpx.AsyncClient | None = None


class Blob(BaseModel):
    raw: bytes


class OldOptions(OldTypedDict):
    since: date


@dataclass
class Undecided:
    either: Annotated[Settings | Blob, Field(discriminator="kind")]


Days = TypeAliasType("Days", list[date])
UserId = NewType("UserId", int)


class Calls(BaseModel):
    run: Callable[[], int] | None = None


def anything_that_comes_back() -> list[tuple[Any, Any]]:
    return [
        (None, type(None)),
        (True, bool),
        (2**70, int),
        (1.5, float),
        ("引き出し", str),
        ([1, "a", None], list),
        ({"a": [1, {"b": None}]}, dict),
        ((1, "a"), tuple[int, str]),
        ({date(2026, 1, 1)}, set[date]),
        ({"when": date(2026, 1, 1)}, dict[str, date]),
        ({7: Inner("n", date(2026, 1, 1))}, dict[int, Inner]),
        (datetime(2026, 1, 1, tzinfo=UTC), datetime),
        (b"\xff", bytes),
        (Color.RED, Color),
        (Path("a/b"), Path),
        (Point(1, MOMENT), Point),
        (Everything(), Everything),
        (Settings.model_validate({"name": "n", "since": "2026-01-01", "max-items": 9, "extra": [1]}), Settings),
        (Box[int](1, [2], {"x": 3}, 4), Box[int]),
        (Box(date(2026, 1, 1), [date(2026, 1, 2)], {"x": date(2026, 1, 3)}), Box[date]),
        (Box(Inner("n", date(2026, 1, 1)), spare=Inner("m", date(2026, 1, 1))), Box[Inner]),
        (Box([date(2026, 1, 1)]), Box[list[date]]),
        (Box({"a": date(2026, 1, 1)}), Box[dict[str, date]]),
        (Box((1, date(2026, 1, 1))), Box[tuple[int, date]]),
        (Box(None), Box[None]),
        (ModelBox[date](value=date(2026, 1, 1)), ModelBox[date]),
        (ModelBox(value=date(2026, 1, 1)), ModelBox[date]),
        (Derived(1, MOMENT), Derived),
        (Tree(1, [Tree(2, [Tree(3)])]), Tree),
        ([Inner("n", date(2026, 1, 1))], list[Inner]),
        (Hiding(), Hiding),
    ]


@pytest.mark.parametrize(("deps", "deps_type"), anything_that_comes_back())
def test_what_the_check_accepts_comes_back_equal(deps: Any, deps_type: Any) -> None:
    check_deps(deps)

    back = deserialize_deps(serialize_deps(deps), deps_type)

    assert back == deps
    assert type(back) is type(deps) or isinstance(deps, ModelBox)


def anything_that_does_not() -> list[tuple[Any, str, str]]:
    client = httpx.AsyncClient()
    hiding = Hiding()
    hiding._client = client
    circle: list[Any] = []
    circle.append(circle)
    return [
        (client, "deps", "httpx.AsyncClient"),
        (Config("k", client), "deps.http", "httpx.AsyncClient"),
        (Config("k"), "deps.http", "httpx.AsyncClient"),
        (Nested(Config("k")), "deps.config.http", "httpx.AsyncClient"),
        (Clients(), "deps.clients[...]", "httpx.AsyncClient"),
        (Clients([client]), "deps.clients[0]", "httpx.AsyncClient"),
        ([1, {"a": client}], "deps[1]['a']", "httpx.AsyncClient"),
        ({"k": Config("k")}, "deps['k'].http", "httpx.AsyncClient"),
        (Loose(client), "deps.anything", "httpx.AsyncClient"),
        (Loose({"a": [client]}), "deps.anything['a'][0]", "httpx.AsyncClient"),
        (Box(client), "deps.value", "httpx.AsyncClient"),
        (ModelBox(value=client), "deps.value", "httpx.AsyncClient"),
        (Carrying(), "deps.client", "httpx.AsyncClient"),
        (hiding, "deps._client", "httpx.AsyncClient"),
        (Unresolved(client), "deps.other", "httpx.AsyncClient"),
        (Calls(), "deps.run", str(Callable[[], int])),
        (len, "deps", "builtin_function_or_method"),
        (Loose(date(2026, 1, 1)), "deps.anything", "datetime.date"),
        (Loose((1, 2)), "deps.anything", "tuple"),
        (Loose(Inner("n", date(2026, 1, 1))), "deps.anything", f"{__name__}.Inner"),
        (LooseList([1, {2}]), "deps.items[1]", "set"),
        (SecretSettings(api_key=SecretStr("sk-test")), "deps.api_key", "pydantic.types.SecretStr"),
        (NeedsArgument(1, "x"), "deps.secret", "dataclasses.InitVar"),
        (Drifting(1), "deps.count", "int"),
        (Holder(Derived(1, MOMENT)), "deps.base", f"{__name__}.Derived"),
        (Box[Base](Derived(1, MOMENT)), "deps.value", f"{__name__}.Derived"),
        (Everything(mapped=OrderedDict(a=Inner("n", date(2026, 1, 1)))), "deps.mapped", "collections.OrderedDict"),
        (defaultdict(int, a=1), "deps", "collections.defaultdict"),
        ({(1, 2): 3}, "deps", "tuple"),
        (circle, "deps", "list"),
        ("\ud800", "deps", "str"),
        (Blob(raw=b"\xff"), "deps", f"{__name__}.Blob"),
        (Everything(options={"since": date(2026, 1, 1), "more": 1}), "deps.options", "dict"),  # pyright: ignore[reportArgumentType]
        (Undecided(Blob(raw=b"")), "deps", f"{__name__}.Undecided"),
    ]


@pytest.mark.parametrize(("deps", "path", "type_name"), anything_that_does_not())
def test_what_cannot_come_back_is_refused_with_its_place(deps: Any, path: str, type_name: str) -> None:
    with pytest.raises(UnsupportedDepsTypeError) as refused:
        check_deps(deps)
    assert (refused.value.path, refused.value.type_name) == (path, type_name)

    with pytest.raises(UnsupportedDepsTypeError) as unwritten:
        serialize_deps(deps)
    assert unwritten.value.args == refused.value.args
    with pytest.raises(UnsupportedDepsTypeError):
        DepsContext(deps)


def test_a_refusal_does_not_show_what_the_deps_hold() -> None:
    with pytest.raises(UnsupportedDepsTypeError) as refused:
        check_deps(SecretSettings(api_key=SecretStr("sk-test")))

    assert "sk-test" not in str(refused.value)


leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(),
    st.binary(max_size=8),
    st.dates(),
    st.datetimes(),
    st.times(),
    st.timedeltas(),
    st.decimals(allow_nan=False),
    st.uuids(),
    st.sampled_from(Color),
    st.builds(Path, st.sampled_from(["a", "/b/c"])),
    st.builds(Inner, st.text(), st.dates()),
    st.builds(Loose, st.one_of(st.integers(), st.dates(), st.text(), st.tuples(st.integers()))),
    st.builds(object),
)
values = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.text(max_size=3), inner, max_size=3),
        st.tuples(inner, inner),
        st.builds(Box, inner),
        st.builds(Loose, inner),
    ),
    max_leaves=8,
)


@settings(max_examples=300)
@given(values)
def test_the_check_passes_exactly_if_serialising_works_and_the_value_comes_back(deps: Any) -> None:
    try:
        check_deps(deps)
    except UnsupportedDepsTypeError:
        with pytest.raises(UnsupportedDepsTypeError):
            serialize_deps(deps)
        return

    text = serialize_deps(deps)
    deps_type: Any = deps.__class__

    if deps_type not in (list, dict, tuple, Box):  # these need a type that says what is inside
        assert same(deserialize_deps(text, deps_type), deps)


def same(back: Any, deps: Any) -> bool:
    return back == deps or repr(back) == repr(deps)  # NaN is not equal to itself


@settings(max_examples=200)
@given(
    st.builds(
        Everything,
        text=st.text(),
        number=st.floats(allow_nan=False),
        moment=st.datetimes(timezones=st.just(UTC)),
        day=st.dates(),
        clock=st.times(),
        span=st.timedeltas(),
        color=st.sampled_from(Color),
        id=st.uuids(),
        price=st.decimals(allow_nan=False, allow_infinity=False),
        raw=st.binary(),
        many=st.lists(st.integers()).map(tuple),
        unique=st.sets(st.dates()),
        either=st.one_of(st.integers(), st.text(alphabet="ab")),
        maybe=st.none() | st.builds(Inner, st.text(), st.dates()),
    )
)
def test_every_supported_field_comes_back_equal_whatever_it_holds(deps: Everything) -> None:
    assert deserialize_deps(serialize_deps(deps), Everything) == deps


def test_not_a_number_comes_back() -> None:
    back = deserialize_deps(serialize_deps(Everything(number=math.nan)), Everything)

    assert math.isnan(back.number)


def is_read_back(deps_type: Any) -> bool:
    """Whether `deserialize_deps` takes the type, whatever the JSON."""
    try:
        deserialize_deps("?", deps_type)
    except DepsJSONError:
        return True
    except UnsupportedDepsTypeError:
        return False
    raise AssertionError("`?` is not JSON")


def test_typed_dicts_of_the_standard_library_need_python_3_12() -> None:
    assert is_read_back(OldOptions) is (sys.version_info >= (3, 12))


def test_a_model_is_its_own_json() -> None:
    model = Settings.model_validate({"name": "日本", "since": "2026-01-01", "max-items": 9})

    assert serialize_deps(model) == model.model_dump_json()


def test_json_keeps_letters_readable() -> None:
    assert serialize_deps({"名前": Inner("引き出し", date(2026, 1, 1))}) == (
        '{"名前":{"name":"引き出し","when":"2026-01-01"}}'
    )


def test_types_alone_are_checked_as_deep_as_they_go() -> None:
    with pytest.raises(UnsupportedDepsTypeError) as refused:
        deserialize_deps("{}", dict[str, list[Nested | None]])

    assert refused.value.path == "deps[...][...].config.http"


@pytest.mark.parametrize(
    "good", [dict, list, str, None, Any, Everything, Settings, Box[int], Box, Tree, Options, Point, Days, UserId]
)
def test_types_that_json_can_carry(good: Any) -> None:
    assert is_read_back(good)


@pytest.mark.parametrize("bad", [httpx.AsyncClient, list[httpx.AsyncClient], Config, Callable, type, bytearray, Calls])
def test_types_that_json_cannot_carry(bad: Any) -> None:
    assert not is_read_back(bad)


def test_an_unresolved_type_hint_is_tolerated_by_the_check_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "hikidashi"):
        check_deps(Outer(Unresolved(1)))

    assert [record.getMessage() for record in caplog.records] == [
        "The type of deps.inner.other (Nowhere) cannot be resolved; it is assumed to be serialisable."
    ]
    assert serialize_deps(Outer(Unresolved(1))) == '{"inner":{"other":1,"day":"2026-01-01"}}'


@pytest.mark.parametrize("deps_type", [Unresolved, Outer, list[Outer]])
def test_an_unresolved_type_hint_cannot_be_rebuilt(deps_type: Any) -> None:
    with pytest.raises(TypeHintResolutionError, match="Nowhere"):
        deserialize_deps("{}", deps_type)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("{", "deps"),
        ("", "deps"),
        ("1, 2", "deps"),
        ("[]", "deps"),
        ('{"name": "n"}', "deps.when"),
        ('{"name": "n", "when": "soon"}', "deps.when"),
    ],
)
def test_json_of_something_else_is_refused_by_name(text: str, path: str) -> None:
    with pytest.raises(DepsJSONError) as refused:
        deserialize_deps(text, Inner)

    assert (refused.value.type_name, refused.value.path) == (f"{__name__}.Inner", path)
    assert isinstance(refused.value, ClaudeCodeError)
    assert isinstance(refused.value, ValueError)
    assert "serialize_deps" in str(refused.value)


def test_rebuilding_a_type_without_json_form_says_so() -> None:
    with pytest.raises(UnsupportedDepsTypeError) as refused:
        deserialize_deps("{}", Config)

    assert refused.value.path == "deps.http"


def test_a_context_has_the_very_object_that_was_given() -> None:
    deps = Inner("n", date(2026, 1, 1))

    assert DepsContext(deps).deps is deps


def test_a_context_says_which_part_of_a_run_it_does_not_have() -> None:
    with pytest.raises(AttributeError, match=r'`ctx\.usage` is not available.*tool_execution="agent"') as missing:
        _ = DepsContext(None).usage

    assert missing.value.name == "usage"


def test_a_context_does_not_show_what_the_deps_hold() -> None:
    assert repr(DepsContext({"api_key": "sk-test"})) == "DepsContext(<dict>)"


def test_a_context_can_be_copied_and_pickled() -> None:
    context = DepsContext({"a": 1})

    assert copy.copy(context).deps == pickle.loads(pickle.dumps(context)).deps == {"a": 1}


def test_a_context_is_marked_as_experimental() -> None:
    assert "**Experimental**" in (DepsContext.__doc__ or "")


def test_the_deps_of_a_context_cannot_be_replaced() -> None:
    with pytest.raises(AttributeError):
        DepsContext(1).deps = 2  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize("given", [1, None, b"1", ["1"]])
def test_json_that_is_no_text_is_refused(given: Any) -> None:
    with pytest.raises(DepsJSONError, match=f"it is a {type(given).__name__}, not text"):
        deserialize_deps(given, int)


def test_the_reason_of_a_validator_is_told_in_its_own_words() -> None:
    class Account(BaseModel):
        name: str

        @field_validator("name")
        @classmethod
        def check(cls, name: str) -> str:
            if name != "Ada":
                raise ValueError("only Ada has an account")
            return name

    with pytest.raises(UnsupportedDepsTypeError) as refused:
        serialize_deps(Account.model_construct(name="Bob"))
    assert "cannot be read back: only Ada has an account" in str(refused.value)
    with pytest.raises(DepsJSONError) as unread:
        deserialize_deps('{"name": "Bob"}', Account)
    assert "only Ada has an account" in str(unread.value)
    assert "Value error" not in str(refused.value) + str(unread.value)
