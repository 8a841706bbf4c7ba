"""The references of the site: everything public is in them, and says what it is."""

from __future__ import annotations

import re
from importlib import import_module

import pytest
from docs.generate import commands, config_keys, error_tree, python_api
from docs.generate.pages import GENERATED, generated


def anchors(page: str) -> set[str]:
    return set(re.findall(r"\{ #([\w.-]+) \}$", generated(page), re.MULTILINE))


@pytest.mark.parametrize("door", python_api.DOORS)
def test_every_public_name_is_described_where_the_links_say(door: str) -> None:
    known = python_api.links()
    for name in import_module(door).__all__:
        if not name.startswith("__"):
            page, _, anchor = known[f"{door}.{name}"].partition(".md#")
            assert anchor in anchors(page), f"{door}.{name}"


def test_every_function_of_the_reference_says_what_it_takes_and_gives() -> None:
    text = generated("api")
    assert "def from_function(" in text
    assert "class ToolCatalog(" in text
    assert "<factory>" not in text
    assert " object at 0x" not in text
    assert "Annotated[" not in text


def test_no_heading_of_the_reference_stands_without_a_text() -> None:
    sections = re.split(r"^#{3,4} ", generated("api"), flags=re.MULTILINE)[1:]
    bare = [
        section.splitlines()[0]
        for section in sections
        if not re.sub(r"(?s)```.*?```", "", section.partition("\n")[2]).strip()
    ]
    aliases = [name for name in bare if re.fullmatch(r"`[A-Z]\w+` .*", name)]
    assert bare == aliases, "only an alias of types explains itself"


def test_every_command_and_option_is_described() -> None:
    text = generated("cli")
    for name, command in commands.commands().items():
        assert f"## `hikidashi {name}`" in text
        for parameter in command.params:
            assert parameter.help, f"{name}: {parameter.name} has no help"
            if parameter.param_type_name == "option":
                assert all(option in text for option in parameter.opts), f"{name}: {parameter.name}"


def test_every_key_of_the_config_has_a_type_and_a_meaning() -> None:
    sections = config_keys.keys()
    assert set(sections) == {"tools.web_search", "agent", "slack", "servers.NAME", "gateway"}
    for section, keys in sections.items():
        for key in keys:
            assert key.kind, f"{section}.{key.name}"
            assert key.meaning, f"{section}.{key.name} has no text below it"
            assert f"| `{key.name}` | {key.kind} |" in generated("config")


def test_every_error_is_described_with_its_message() -> None:
    assert len(error_tree.errors()) >= 27
    for error in error_tree.errors():
        assert error.__name__ in anchors("errors")
        if "__init__" in vars(error):
            assert error_tree.message_of(error)
    assert "pip install 'hikidashi[<extra>]'" in generated("errors")


@pytest.mark.parametrize("page", GENERATED)
def test_what_is_generated_names_no_file_of_this_machine(page: str) -> None:
    assert not re.search(r"(?<![\w.])/(?:home|root|tmp|usr)/", generated(page))
