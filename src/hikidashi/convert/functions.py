"""Plain Python functions as tools, with pydantic alone."""

from __future__ import annotations

import asyncio
import functools
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, is_dataclass
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, NotRequired, Required, Unpack, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import ErrorDetails
from typing_extensions import is_typeddict

from ..common.exceptions import without_prefix
from ..errors import ToolValidationError, Unsupported
from ..tool import Tool, ToolAnnotations, ToolResult

_PARAMETER_SECTIONS = frozenset({"args", "arguments", "parameters", "params", "keyword args", "keyword arguments"})
_OTHER_SECTIONS = frozenset(
    {
        *("attributes", "example", "examples", "note", "notes", "other parameters", "raises", "references"),
        *("return", "returns", "see also", "warning", "warnings", "warns", "yield", "yields"),
    }
)

_GOOGLE_HEADER = re.compile(r"(?P<title>\w[\w ]*):\s*$")
_GOOGLE_ENTRY = re.compile(r"(?P<name>\*{0,2}\w+)(?:\s*\((?:[^()]|\([^()]*\))*\))?\s*:\s*(?P<text>.*)$")
_NUMPY_ENTRY = re.compile(r"(?P<names>\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?$")
_REST_FIELD = re.compile(r":(?P<field>\w+)(?:\s+[^:]*?)??(?:\s+(?P<name>\*{0,2}\w+))?:\s*(?P<text>.*)$")


@dataclass(frozen=True, kw_only=True, slots=True)
class Docstring:
    """The parts of a docstring that a model reads."""

    description: str = ""
    """The text before the first section."""
    parameters: dict[str, str] = field(default_factory=dict[str, str])


def parse_docstring(docstring: str | None) -> Docstring:
    """The description and the parameters' descriptions in `docstring`; empty if it has none."""
    lines = inspect.cleandoc(docstring or "").splitlines()
    description: list[str] = []
    parameters: dict[str, str] = {}
    for title, body in _sections(lines):
        if title is None:
            plain, fields = _without_rest_fields(body)
            description += plain
            parameters |= fields
        elif title in _PARAMETER_SECTIONS:
            parameters |= _entries(body)
    return Docstring(description="\n".join(description).strip(), parameters=parameters)


def _sections(lines: list[str]) -> Iterator[tuple[str | None, list[str]]]:
    """The sections in order; the text before the first has no title."""
    title: str | None = None
    body: list[str] = []
    skip_rule = False
    for number, line in enumerate(lines):
        if skip_rule:
            skip_rule = False
            continue
        following = lines[number + 1] if number + 1 < len(lines) else ""
        header, skip_rule = _header(line, following)
        if header is None:
            body.append(line)
            continue
        yield title, body
        title, body = header, []
    yield title, body


def _header(line: str, following: str) -> tuple[str | None, bool]:
    """The title of the section that `line` opens, and whether a NumPy rule follows it."""
    if (
        re.fullmatch(r"-{3,}\s*", following)
        and (numpy := line.strip().lower()) in _PARAMETER_SECTIONS | _OTHER_SECTIONS
    ):
        return numpy, True
    google = _GOOGLE_HEADER.match(line)
    if google and (title := google["title"].lower()) in _PARAMETER_SECTIONS | _OTHER_SECTIONS:
        return title, False
    return None, False


def _entries(body: list[str]) -> dict[str, str]:
    """The parameters of a section: Google entries are indented, NumPy ones are not."""
    filled = [line for line in body if line.strip()]
    if not filled:
        return {}
    margin = len(filled[0]) - len(filled[0].lstrip())
    entries: dict[str, list[str]] = {}
    current: list[str] = []
    for line in filled:
        at_margin = len(line) - len(line.lstrip()) <= margin
        if not at_margin:
            current.append(line.strip())
        elif margin == 0:
            current = []
            numpy = _NUMPY_ENTRY.match(line)
            entries |= dict.fromkeys(re.split(r"\s*,\s*", numpy["names"]), current) if numpy else {}
        elif google := _GOOGLE_ENTRY.match(line.strip()):
            current = [google["text"]]
            entries[google["name"]] = current
    return {name.lstrip("*"): _joined(words) for name, words in entries.items()}


def _without_rest_fields(body: list[str]) -> tuple[list[str], dict[str, str]]:
    """The lines before the first reST field, and the texts of the `:param name:` fields."""
    plain: list[str] = []
    fields: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in body:
        if match := _REST_FIELD.match(line):
            current = [match["text"]]
            if match["field"] in ("param", "parameter", "arg", "argument", "key", "keyword") and match["name"]:
                fields[match["name"].lstrip("*")] = current
        elif current is None:
            plain.append(line)
        elif line.strip():
            current.append(line.strip())
    return plain, {name: _joined(words) for name, words in fields.items()}


def _joined(words: Iterable[str]) -> str:
    return " ".join(word for word in words if word)


# The function itself: its signature makes the schema and checks the arguments


_LONGEST_ECHO = 200


def from_function(
    func: Callable[..., Any],
    *,
    name: str | None = None,
    description: str | None = None,
    annotations: ToolAnnotations | None = None,
    aliases: Iterable[str] = (),
    defer_loading: bool = False,
    metadata: Mapping[str, Any] | None = None,
) -> Tool:
    """A tool that calls `func`, described by its signature and docstring.

    The type hints make the schema and check the arguments, so a `BaseModel` parameter arrives as the
    model; what does not fit comes back as an error the model can repair. The docstring (Google, NumPy
    or reST) describes the tool and its parameters. A function without `async` runs in a thread.
    A return type that is a `BaseModel`, a dataclass or a `TypedDict` becomes the output schema.

    Raises:
        Unsupported: `func` takes `*args`, or is a generator.
        ToolValidationError: `func` has no name or signature of its own, or type hints that make no schema.
    """
    if not callable(func):
        raise ToolValidationError(f"A tool needs a function, got {func!r}.", name)
    if name is not None and not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ToolValidationError(f"A tool needs a name, got {name!r:.100}.")
    if isinstance(aliases, str) or not isinstance(aliases, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ToolValidationError(f"`aliases` is {aliases!r:.100}: use a list of texts, such as ['email'].", name)
    name = name or _name_of(func)
    if inspect.isgeneratorfunction(_inner(func)) or inspect.isasyncgenfunction(_inner(func)):
        raise Unsupported(f"the generator function {name!r}", "A tool", "Return a list instead of yielding.")
    docstring = parse_docstring(
        _inner(func).__doc__ if inspect.isroutine(_inner(func)) else type(func).__call__.__doc__
    )
    hints = _hints_of(func, name)
    taken = _Signature(func, name, hints, docstring.parameters)
    output = _output_schema(hints.get("return"))
    run = func if _is_async(func) else functools.partial(_in_thread, func)

    async def call(arguments: dict[str, Any]) -> ToolResult:
        try:
            args, kwargs = taken.bind(arguments)
        except ValidationError as error:
            return ToolResult.error(_advice(name, taken.names, error.errors(include_url=False)))
        value = await run(*args, **kwargs)
        result = ToolResult.of(value, structured=True)
        if output is not None and result.structured_content is None and not result.is_error:
            raise TypeError(f"Tool {name!r} promises {hints['return']!r}, but returned {type(value).__name__}.")
        return result

    return Tool(
        name=name,
        description=docstring.description if description is None else description,
        input_schema=taken.schema,
        call=call,
        output_schema=output,
        annotations=annotations or ToolAnnotations(),
        aliases=tuple(aliases),
        defer_loading=defer_loading,
        metadata=dict(metadata or {}),
    )


class _Schema(GenerateJsonSchema):
    """JSON Schema without titles that repeat the name, and without warnings about defaults that are not JSON."""

    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012 - pydantic's own form

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


_LEFT_OUT = object()
"""The default of a key of `**options: Unpack[...]` that may be left out: it has no JSON form, so no schema shows it."""


class _Signature:
    """The parameters of a function, each taken by its name, as a JSON object has it."""

    def __init__(
        self, func: Callable[..., Any], name: str, hints: Mapping[str, Any], descriptions: Mapping[str, str]
    ) -> None:
        try:
            own = signature(func).parameters.values()
        except ValueError as error:
            raise ToolValidationError(
                f"{name!r} has no signature that can be read: wrap it in a function.", name
            ) from error
        parameters: list[Parameter] = []
        self._positional: list[str] = []
        for parameter in own:
            hint = hints.get(parameter.name, Any)
            if parameter.kind is Parameter.VAR_POSITIONAL:
                raise Unsupported(
                    f"`*{parameter.name}` of {name!r}", "A tool", f"Take a list instead: `{parameter.name}: list[...]`."
                )
            if parameter.kind is Parameter.POSITIONAL_ONLY:
                self._positional.append(parameter.name)
            if parameter.kind is not Parameter.VAR_KEYWORD:
                parameters.append(_named(parameter.name, hint, parameter.default, descriptions))
            elif get_origin(hint) is Unpack:
                parameters += [
                    _named(key, kind, Parameter.empty if is_required else _LEFT_OUT, descriptions)
                    for key, kind, is_required in _keys_of(*get_args(hint))
                ]
            else:
                parameters.append(parameter.replace(annotation=hint))
        self.names = [parameter.name for parameter in parameters]

        def checked(**values: Any) -> dict[str, Any]:
            return values

        checked.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        vars(checked)["__signature__"] = Signature(parameters)
        function: Any = checked  # of which an adapter checks the arguments
        takes_any = any(parameter.kind is Parameter.VAR_KEYWORD for parameter in parameters)
        config = ConfigDict(extra="allow" if takes_any else "forbid")  # of dataclasses among the arguments
        try:
            self._checked = TypeAdapter[dict[str, Any]](function, config=config)
        except (PydanticSchemaGenerationError, PydanticUserError) as error:
            raise ToolValidationError(f"The type hints of {name!r} make no schema: {error}", name) from error

    @property
    def schema(self) -> dict[str, Any]:
        schema = self._checked.json_schema(schema_generator=_Schema)
        schema.setdefault("additionalProperties", True)  # pydantic leaves it out for `**kwargs` of any type
        return schema

    def bind(self, arguments: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        values = self._checked.validate_python(dict(arguments))
        args = [values.pop(name) for name in self._positional]
        return args, {name: value for name, value in values.items() if value is not _LEFT_OUT}


def _keys_of(options: Any) -> Iterator[tuple[str, Any, bool]]:
    """The keys of a TypedDict, each with its type and whether it must be given."""
    # `__required_keys__` does not see the marks of a module with `from __future__ import annotations`.
    marks = {Required: True, NotRequired: False}
    for key, kind in get_type_hints(options, include_extras=True).items():
        mark = get_origin(kind)
        yield (key, get_args(kind)[0], marks[mark]) if mark in marks else (key, kind, options.__total__)


def _named(name: str, hint: Any, default: Any, descriptions: Mapping[str, str]) -> Parameter:
    """A parameter with what the docstring says about it, unless a `Field` does."""
    if isinstance(default, FieldInfo):
        hint, default = Annotated[hint, default], Parameter.empty
    fields = [extra for extra in getattr(hint, "__metadata__", ()) if isinstance(extra, FieldInfo)]
    options: dict[str, Any] = {"alias": name}  # where a `Field` gives another
    if name in descriptions and not any(field.description for field in fields):
        options["description"] = descriptions[name]
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[hint, Field(**options)])


def _output_schema(hint: Any) -> dict[str, Any] | None:
    if not inspect.isclass(hint) or not (issubclass(hint, BaseModel) or is_dataclass(hint) or is_typeddict(hint)):
        return None
    try:
        schema = TypeAdapter[Any](hint).json_schema(mode="serialization", schema_generator=_Schema)
    except (PydanticSchemaGenerationError, PydanticUserError):
        return None  # an output schema is optional; `typing.TypedDict` has none before Python 3.12
    return schema if schema.get("type") == "object" else None


def _hints_of(func: Callable[..., Any], name: str) -> dict[str, Any]:
    inner = _inner(func)
    try:
        return get_type_hints(inner if inspect.isroutine(inner) else type(inner).__call__, include_extras=True)
    except NameError as error:
        raise ToolValidationError(
            f"The type hints of {name!r} cannot be resolved: {error}. Import the names at module level, "
            "outside `if TYPE_CHECKING:`.",
            name,
        ) from error


def _name_of(func: Callable[..., Any]) -> str:
    inner = _inner(func)
    name = getattr(inner, "__name__", type(inner).__name__)
    if name == "<lambda>":
        raise ToolValidationError("A lambda has no name: give one with `from_function(func, name=...)`.")
    return name


def _inner(func: Callable[..., Any]) -> Callable[..., Any]:
    while isinstance(func, functools.partial):
        func = func.func
    return func


def _is_async(func: Callable[..., Any]) -> bool:
    inner = _inner(func)
    return inspect.iscoroutinefunction(inner) or inspect.iscoroutinefunction(type(inner).__call__)


async def _in_thread(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    def run() -> Any:
        try:
            return func(*args, **kwargs)
        except StopIteration as error:  # a future cannot hold one: the caller would wait forever
            raise RuntimeError(f"{_name_of(func)!r} raised StopIteration") from error

    value = await asyncio.to_thread(run)  # carries the context variables over
    return await value if inspect.isawaitable(value) else value


def _advice(name: str, known: list[str], errors: list[ErrorDetails]) -> str:
    lines = [f"Invalid arguments for `{name}`:"]
    for error in errors:
        where = ".".join(str(part) for part in error["loc"])
        match error["type"]:
            case "missing" | "missing_keyword_only_argument":
                lines.append(f"- `{where}` is missing.")
            case "extra_forbidden" | "unexpected_keyword_argument":
                lines.append(f"- `{where}` is not an argument. Known: {', '.join(known) or 'none'}.")
            case _:
                said = without_prefix(error["msg"])
                lines.append(f"- `{where}`: {said}. You gave {_echo(error['input'])}.")
    return "\n".join([*lines, f"Correct this and call `{name}` again."])


def _echo(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= _LONGEST_ECHO else f"{shown[:_LONGEST_ECHO]}… ({len(shown)} characters)"
