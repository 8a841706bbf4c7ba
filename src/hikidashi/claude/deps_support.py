"""Dependencies of tools that Claude Code runs: check, serialise, deserialise, provide to a tool.

Everything goes through one check, so what passes it can be serialised and comes back equal. pydantic
rebuilds the values: dacite, which spec 002 names, cannot restore dates, enums, sets or bytes from JSON
without a hook for each.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar, cast, overload

from pydantic import ValidationError

from ..errors import DepsJSONError, UnsupportedDepsTypeError
from .deps.types import adapter, check_type, type_name
from .deps.values import checked_json, first_problem

__all__ = ["DepsContext", "check_deps", "check_deps_type", "deserialize_deps", "is_serializable_type", "serialize_deps"]

T = TypeVar("T")
DepsT_co = TypeVar("DepsT_co", covariant=True)


class DepsContext(Generic[DepsT_co]):
    """What a tool gets as its `RunContext` when Claude Code runs it: `deps`, and nothing else.

    **Experimental**: this class may change in any release.

    A tool written for `ctx: RunContext[Config]` that reads `ctx.deps` works with it unchanged. Other attributes
    of a `RunContext` belong to a live pydantic-ai run, which is not there; reading one raises an `AttributeError`
    that says so.

    Raises:
        UnsupportedDepsTypeError: `deps` cannot be serialised; `path` says which part.
    """

    __slots__ = ("_deps",)

    def __init__(self, deps: DepsT_co) -> None:
        check_deps(deps)
        self._deps = deps

    @property
    def deps(self) -> DepsT_co:
        """The dependencies, the same object that was given."""
        return self._deps

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(
            f"`ctx.{name}` is not available: this tool runs inside Claude Code with a `DepsContext`, which has `deps` "
            'only. Use `ClaudeCodeModel(tool_execution="agent")` to run it with a full `RunContext`.',
            name=name,
            obj=self,
        )

    def __repr__(self) -> str:
        return f"DepsContext(<{type_name(type(self._deps))}>)"  # deps hold secrets: name them, do not show them


def check_deps(deps: object, *, path: str = "deps") -> None:
    """Raise unless `serialize_deps(deps)` works and `deserialize_deps` rebuilds an equal value from it.

    The check looks at values as well as types, at any depth. Type hints that cannot be resolved are logged as a
    warning and assumed to be serialisable; `deserialize_deps`, which needs them, raises.

    Raises:
        UnsupportedDepsTypeError: something inside `deps` is not serialisable; `path` says where.
    """
    checked_json(deps, path)


def check_deps_type(deps_type: Any, *, path: str = "deps") -> None:
    """Raise unless values of `deps_type` can be serialised, judging by its type hints; `Any` passes.

    Raises:
        UnsupportedDepsTypeError: something inside `deps_type` is not serialisable; `path` says where.
    """
    if check_type(deps_type, path):
        adapter(deps_type)


def is_serializable_type(deps_type: Any) -> bool:
    """Whether `check_deps_type` accepts `deps_type`."""
    try:
        check_deps_type(deps_type)
    except UnsupportedDepsTypeError:
        return False
    return True


def serialize_deps(deps: object) -> str:
    """`deps` as JSON text from which `deserialize_deps` rebuilds an equal value.

    A pydantic model is its `model_dump_json()`. Everything else follows pydantic too, with bytes as URL-safe base64
    and NaN and infinities as strings.

    Raises:
        UnsupportedDepsTypeError: `check_deps` refuses `deps`.
    """
    return checked_json(deps, "deps")


@overload
def deserialize_deps(json_str: str, deps_type: type[T]) -> T: ...
@overload
def deserialize_deps(json_str: str, deps_type: Any) -> Any: ...
def deserialize_deps(json_str: str, deps_type: Any) -> Any:
    """The `deps_type` that `serialize_deps` wrote as `json_str`.

    Args:
        json_str: what `serialize_deps` returned.
        deps_type: a class, or any other type: `dict[str, date]`, `Box[int]`, `Config | None`.

    Raises:
        DepsJSONError: `json_str` is not JSON, or describes something else.
        TypeHintResolutionError: `deps_type` has type hints that cannot be resolved.
        UnsupportedDepsTypeError: `deps_type` has no JSON form.
    """
    check_type(deps_type, "deps")
    reader = adapter(deps_type)
    if not isinstance(cast("object", json_str), str):
        raise DepsJSONError(type_name(deps_type), "deps", f"it is a {type(json_str).__name__}, not text")
    try:
        values = reader.validate_json(f"[{json_str}]", by_alias=True, by_name=True)
    except ValidationError as error:
        place, reason = first_problem(error)
        raise DepsJSONError(type_name(deps_type), f"deps{place}", reason) from error
    if len(values) != 1:
        raise DepsJSONError(type_name(deps_type), "deps", f"{len(values)} values instead of one")
    return values[0]
