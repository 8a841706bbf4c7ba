"""`server.json`, the entry for the MCP registry: as its schema wants it, and true."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any, get_args, get_type_hints

import jsonschema
import typer.main

from hikidashi import __version__
from hikidashi.cli.app import app
from hikidashi.config.gateway import GatewayOptions

ROOT = Path(__file__).parent.parent
ENTRY: dict[str, Any] = json.loads((ROOT / "server.json").read_text(encoding="utf-8"))
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

_TEXT = {"type": "string"}
_ARGUMENT: dict[str, Any] = {
    "type": "object",
    "required": ["type"],
    "properties": {
        "type": {"enum": ["positional", "named"]},
        "name": _TEXT,
        "value": _TEXT,
        "valueHint": _TEXT,
        "description": _TEXT,
        "default": _TEXT,
        "placeholder": _TEXT,
        "choices": {"type": "array", "items": _TEXT},
        "format": {"enum": ["string", "number", "boolean", "filepath"]},
        "isRequired": {"type": "boolean"},
        "isRepeated": {"type": "boolean"},
        "isSecret": {"type": "boolean"},
    },
    "additionalProperties": False,
    "if": {"properties": {"type": {"const": "named"}}},
    "then": {"required": ["name"]},
    "else": {"anyOf": [{"required": ["value"]}, {"required": ["valueHint"]}]},
}
# What the registry's schema of 2025-12-11 and its validation ask of the keys that are used here.
FACTS: dict[str, Any] = {
    "type": "object",
    "required": ["$schema", "name", "description", "version", "packages"],
    "properties": {
        "$schema": {"const": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"},
        "name": {"type": "string", "maxLength": 200, "pattern": "^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$"},
        "title": {"type": "string", "minLength": 1, "maxLength": 100},
        "description": {"type": "string", "minLength": 1, "maxLength": 100},
        "version": {"type": "string", "maxLength": 255, "pattern": r"^\d+\.\d+\.\d+$"},
        "packages": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["registryType", "identifier", "version", "transport"],
                "properties": {
                    "registryType": {"const": "pypi"},
                    "identifier": _TEXT,
                    "version": {"type": "string", "not": {"const": "latest"}},
                    "runtimeHint": {"const": "uvx"},
                    "runtimeArguments": {"type": "array", "items": _ARGUMENT},
                    "packageArguments": {"type": "array", "items": _ARGUMENT},
                    "transport": {"const": {"type": "stdio"}},
                },
                "additionalProperties": False,
            },
        },
    },
    "additionalProperties": False,
}


def test_the_entry_is_as_the_registry_wants_it() -> None:
    jsonschema.Draft202012Validator(FACTS).validate(ENTRY)  # pyright: ignore[reportUnknownMemberType]


def test_name_version_and_package_agree_with_the_project() -> None:
    (package,) = ENTRY["packages"]
    assert ENTRY["version"] == package["version"] == PROJECT["version"] == __version__
    assert package["identifier"] == PROJECT["name"]
    assert ENTRY["name"].partition("/")[2] == PROJECT["name"]
    # `uvx hikidashi` installs what the gateway with search by meaning needs, and nothing has to be added to it.
    assert "runtimeArguments" not in package
    assert {"mcp", "hikidashi-encoder"} <= {re.split(r"[^\w-]", one)[0] for one in PROJECT["dependencies"]}


def test_its_arguments_are_those_of_the_command() -> None:
    (package,) = ENTRY["packages"]
    command, *options = package["packageArguments"]
    serve: Any = typer.main.get_command(app)
    serve = serve.get_command(None, command["value"])
    known = {name: option for option in serve.params for name in option.opts}
    for option in options:
        assert option["name"] in known
        given = known[option["name"]]
        assert option.get("isRepeated", False) == given.multiple
        if "choices" in option:
            field = option["name"].removeprefix("--")
            assert option["choices"] == list(get_args(get_type_hints(GatewayOptions)[field]))
            assert option["default"] == getattr(GatewayOptions(), field)
