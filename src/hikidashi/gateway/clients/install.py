"""Our entry in a client's configuration: added with a backup, and removed again; with it, servers that we serve."""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from ...common.files import replace_file
from ...common.json import TextError, as_object, parse
from ...errors import ToolSourceError
from ...servers.clients import Client, Format, Machine, Place
from . import claude_code
from .edits import (
    EditError,
    content_of,
    make_backup,
    member_source,
    parse_toml,
    put,
    put_member_source,
    put_table,
    put_table_source,
    read_bytes,
    remove,
    remove_table,
    source_error,
    table_source,
    write_file,
)
from .servers import is_ours, masked_file_text, our_entry

__all__ = [
    "FileChange",
    "Line",
    "Record",
    "Records",
    "apply",
    "diff_of",
    "digest",
    "plan_install",
    "plan_uninstall",
    "put_back",
    "server_in",
    "take_out",
    "value_at",
]


def digest(data: bytes) -> str:
    """The digest of `data`."""
    return hashlib.sha256(data).hexdigest()


@dataclass(frozen=True, kw_only=True)
class Record:
    """A file that has our entry."""

    client: str
    file: str
    name: str
    """Our name in the file."""
    backup: str | None
    """The file as it was before; None if there was none."""
    before: str | None
    """The digest of the backup."""
    after: str
    """The digest of what was written."""
    restorable: bool = True
    """Whether the backup is without our entry."""
    moved: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    """The servers that we took out, by name, each as the file had it: with its keys."""

    def original(self, current: bytes | None) -> tuple[bool, bytes | None]:
        """Whether `current` is what was written, and what was there before it."""
        if current is None or not self.restorable or digest(current) != self.after:
            return False, None
        if self.backup is None:
            return True, None
        try:
            data = Path(self.backup).read_bytes()
        except OSError:
            return False, None
        return digest(data) == self.before, data


class Records:
    """The records in the file `path`, which only its owner may read."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def all(self) -> list[Record]:
        """All records; none if the file is missing or invalid."""
        try:
            kept: Any = json.loads(self._path.read_text(encoding="utf-8"))
            return [Record(**one) for one in kept]
        except (OSError, ValueError, TypeError):
            return []

    def of(self, client: str, file: Path) -> Record | None:
        """The record of a file of `client`."""
        return next((one for one in self.all() if (one.client, one.file) == (client, str(file))), None)

    def replace(self, client: str, files: list[Path], new: list[Record]) -> None:
        """Replace the records of these files of `client` by `new`.

        Raises:
            ToolSourceError: it cannot be written.
        """
        gone = {str(file) for file in files}
        kept = [one for one in self.all() if one.client != client or one.file not in gone]
        try:
            content = json.dumps([asdict(one) for one in [*kept, *new]], indent=1)
            replace_file(self._path, content.encode(), private=True)
        except OSError as error:
            reason = f"cannot be written ({error.strerror or error})"
            raise ToolSourceError(str(self._path), reason, "Check the permissions there.") from error


_ANOTHER = "the file has another server of that name now; backups with the moved one are beside the file"


def take_out(
    client: Client, place: Place, text: str, names: Iterable[str]
) -> tuple[str, dict[str, str], dict[str, str]]:
    """`text` without the servers `names`, each of these as it was written, and why some stay.

    Raises:
        TextError: `text` is invalid.
    """
    taken: dict[str, str] = {}
    left: dict[str, str] = {}
    for name in names:
        value = _value(client, place, text, name)
        if value is None:
            continue
        try:
            source = _source(client, place, text, name)
            if server_in(client, place, name, source) != value:
                example = f"[{place.key[0]}.{name}]"
                raise EditError(f"it is written in a form that cannot be moved; write it as a table, {example}", 1, 1)
            text = _without(client, place, text, name)
        except EditError as error:
            left[name] = error.reason
        else:
            taken[name] = source
    return text, taken, left


def put_back(
    client: Client, place: Place, text: str, moved: Mapping[str, str]
) -> tuple[str, list[str], dict[str, str]]:
    """`text` with those of the servers that it does not have, their names, and why others were not put back.

    Raises:
        TextError: `text` is invalid, or cannot be added to.
    """
    back: list[str] = []
    left: dict[str, str] = {}
    for name, source in moved.items():
        there = _value(client, place, text, name)
        if there is not None:
            if there != server_in(client, place, name, source):
                left[name] = _ANOTHER
            continue
        if client.format == "toml":
            text = put_table_source(text, (place.key[0], name), source)
        else:
            text = put_member_source(text, (*place.key, name), source, comments=client.format == "jsonc")
        back.append(name)
    return text, back, left


def server_in(client: Client, place: Place, name: str, source: str) -> Any:
    """The server that was kept as `source`.

    Raises:
        TextError: `source` is invalid.
    """
    if client.format == "toml":
        return value_at(parse_toml(source), (*place.key, name))
    return value_at(_parsed(client, f"{{{source}}}"), (name,))


def value_at(content: Any, path: Iterable[str]) -> Any:
    """The value at `path` in objects; None if it is not there."""
    for key in path:
        content = as_object(content).get(key)
    return content


def _value(client: Client, place: Place, text: str, name: str) -> Any:
    return value_at(_parsed(client, text), (*place.key, name))


def _parsed(client: Client, text: str) -> Any:
    if client.format == "toml":
        return parse_toml(text)
    node = parse(text, comments=client.format == "jsonc")
    return None if node is None else node.value


def _source(client: Client, place: Place, text: str, name: str) -> str:
    if client.format == "toml":
        return table_source(text, (place.key[0], name))
    return member_source(text, (*place.key, name), comments=client.format == "jsonc")


def _without(client: Client, place: Place, text: str, name: str) -> str:
    if client.format == "toml":
        return remove_table(text, (place.key[0], name))
    return remove(text, (*place.key, name), comments=client.format == "jsonc")


_Edit = Callable[[str], str]
How = Literal["install", "restore", "remove"]


@dataclass(frozen=True, kw_only=True)
class Line:
    """The entry that is added: our name, and the command that starts us."""

    name: str
    command: str
    args: Sequence[str]
    hook: Sequence[str]
    """The arguments of the hook, for a client that has one."""


@dataclass(frozen=True, kw_only=True)
class FileChange:
    """A file before and after; None means no file."""

    client: Client
    file: Path
    format: Format
    name: str
    how: How
    before: bytes | None
    after: bytes | None
    record: Record | None = None
    """The record of the file."""
    untouched: bool = True
    """Whether the file is unchanged since we wrote it."""
    moved: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """The servers that are out of the file since we moved them, by name, each as the file had it: with its keys."""
    taken_out: Sequence[str] = ()
    """Those of them that this change takes out."""
    put_back: Sequence[str] = ()
    """The servers that this change puts back."""
    left: Mapping[str, str] = field(default_factory=dict[str, str])
    """The servers that cannot be taken out or put back, and why."""

    @property
    def changes(self) -> bool:
        """Whether there is anything to write."""
        return self.before != self.after


def plan_install(
    client: Client, line: Line, records: Records, *, move: Sequence[str] = (), machine: Machine | None = None
) -> list[FileChange]:
    """The changes that put our entry into the files of `client`.

    Args:
        client: The client.
        line: Our entry.
        records: What was installed before; servers that were moved then stay moved.
        move: The names of the servers in the file that gets our entry that are taken out of it.
        machine: Where files are.

    Raises:
        ToolSourceError: a file is invalid, or has another server under our name.
    """
    machine = machine or Machine()
    place = client.main(machine)
    main = place.file(machine)
    edits: list[tuple[Path, Format, _Edit, Callable[[str], _Edit]]]
    edits = [(main, client.format, _with_line(client, place, main, line), partial(_without_line, client, place))]
    if client.settings is not None:
        command = claude_code.hook_command(line.command, list(line.hook))
        with_rules = partial(claude_code.with_rules, name=line.name, command=command)
        edits.append((client.settings.file(machine), "json", with_rules, _without_rules))
    changes: list[FileChange] = []
    for file, kind, edit, without in edits:
        before = read_bytes(file)
        record = records.of(client.name, file)
        untouched, original = (False, None) if record is None else record.original(before)
        start = (original if untouched else before) or b""
        if record is not None and record.name != line.name and not untouched:
            start = _edited(file, kind, start, without(record.name))
        known = {} if record is None else record.moved
        names = dict.fromkeys([*(known if untouched else ()), *(move if file == main else ())])
        start, taken, left = _taken_out(client, place, file, start, names)
        changes.append(
            FileChange(
                client=client,
                file=file,
                format=kind,
                name=line.name,
                how="install",
                before=before,
                after=_edited(file, kind, start, edit),
                record=record,
                untouched=untouched,
                moved={**known, **taken},
                taken_out=[name for name in taken if not (untouched and name in known)],
                left=left,
            )
        )
    return changes


def plan_uninstall(
    client: Client, records: Records, *, name: str | None = None, machine: Machine | None = None
) -> list[FileChange]:
    """The changes that take our entry out of the files of `client`; none where it is not there.

    Raises:
        ToolSourceError: a file is invalid.
    """
    machine = machine or Machine()
    changes: list[FileChange] = []
    places = [client.main(machine), *([client.settings] if client.settings else [])]
    for place in places:
        file = place.file(machine)
        record = records.of(client.name, file)
        if record is not None and name is not None and record.name != name:
            record = None
        used = name or (record.name if record else "hikidashi")
        before = read_bytes(file)
        untouched, after = (False, None) if record is None else record.original(before)
        kind: Format = "json" if place is client.settings else client.format
        moved = {} if record is None else record.moved
        back, left = list(moved) if untouched else [], dict[str, str]()
        if not untouched and (before is not None or moved):
            without = _without_rules(used) if place is client.settings else _without_line(client, place, used)
            after = _edited(file, kind, before or b"", without)
            after, back, left = _put_back(client, place, file, after, moved)
        change = FileChange(
            client=client,
            file=file,
            format=kind,
            name=used,
            how="restore" if untouched else "remove",
            before=before,
            after=after,
            record=record,
            untouched=untouched,
            put_back=back,
            left=left,
        )
        if change.changes or record is not None:
            changes.append(change)
    return changes


def apply(changes: Sequence[FileChange], records: Records) -> dict[Path, Path]:
    """Write the changes, all or none; return the backup of each file that has one.

    Raises:
        ToolSourceError: a file cannot be written; those before it are as they were.
    """
    backups: dict[Path, Path] = {}
    new: list[Record] = []
    done: list[FileChange] = []
    try:
        for change in changes:
            backup = _backup(change)
            if change.changes:
                _write(change.file, change.before, change.after)
                done.append(change)
            if backup is not None:
                backups[change.file] = backup
            if change.how == "install" and (change.changes or change.record is not None):
                new.append(_record(change, backup))
        # An entry without a record may be beside one with a record, which then stays.
        recorded = [change.file for change in changes if change.how == "install" or change.record is not None]
        records.replace(changes[0].client.name, recorded, new)
    except ToolSourceError:
        for change in reversed(done):
            with suppress(ToolSourceError):
                _write(change.file, change.after, change.before)
        for change in done:
            if (backup := backups.get(change.file)) is not None:
                backup.unlink(missing_ok=True)
        raise
    for change in changes:
        if change.how == "restore" and change.record is not None and change.record.backup is not None:
            Path(change.record.backup).unlink(missing_ok=True)  # the file is the same again
    return backups


def diff_of(change: FileChange) -> str:
    """What changes in the file, without the keys in it."""
    # The keys of both are masked in both: a comment that stays may repeat a key of a server that goes.
    known = [content_of(change.file, data or b"", change.format) for data in (change.before, change.after)]
    before, after = (
        masked_file_text((data or b"").decode("utf-8", "replace"), known) for data in (change.before, change.after)
    )
    return "".join(
        difflib.unified_diff(
            before.splitlines(keepends=True),
            after.splitlines(keepends=True),
            str(change.file) if change.before is not None else "/dev/null",
            str(change.file) if change.after is not None else "/dev/null",
        )
    )


def _with_line(client: Client, place: Place, file: Path, line: Line) -> _Edit:
    entry = our_entry(client, line.command, list(line.args))

    def edit(text: str) -> str:
        there = _entry(client, place, line.name, text)
        if there is not None and not is_ours(there):
            reason = f"has another server that is called {line.name!r}"
            raise ToolSourceError(str(file), reason, "Give ours another name with --name.")
        if there == entry:
            return text
        if client.format == "toml":
            return put_table(text, (place.key[0], line.name), entry)
        return put(text, (*place.key, line.name), entry, comments=client.format == "jsonc")

    return edit


def _without_line(client: Client, place: Place, name: str) -> _Edit:
    def edit(text: str) -> str:
        if not is_ours(_entry(client, place, name, text)):
            return text
        if client.format == "toml":
            return remove_table(text, (place.key[0], name))
        return remove(text, (*place.key, name), comments=client.format == "jsonc")

    return edit


def _without_rules(name: str) -> _Edit:
    return lambda text: claude_code.without_rules(text, name)


def _entry(client: Client, place: Place, name: str, text: str) -> Any:
    content = content_of(Path(), text.encode("utf-8", "surrogatepass"), client.format)
    return value_at(content, (*place.key, name))


def _taken_out(
    client: Client, place: Place, file: Path, data: bytes, names: Iterable[str]
) -> tuple[bytes, dict[str, str], dict[str, str]]:
    content_of(file, data, client.format)  # says what is broken, and where
    text, taken, left = take_out(client, place, data.decode("utf-8"), names)
    return text.encode("utf-8"), taken, left


def _put_back(
    client: Client, place: Place, file: Path, data: bytes, moved: Mapping[str, str]
) -> tuple[bytes, list[str], dict[str, str]]:
    try:
        text, back, left = put_back(client, place, data.decode("utf-8"), moved)
    except TextError as error:
        raise source_error(file, client.format, error) from error
    return text.encode("utf-8"), back, left


def _edited(file: Path, kind: Format, data: bytes, edit: _Edit) -> bytes:
    content_of(file, data, kind)  # says what is broken, and where
    try:
        return edit(data.decode("utf-8")).encode("utf-8")
    except TextError as error:
        raise source_error(file, kind, error) from error
    except UnicodeEncodeError as error:
        reason = "would get a path that is not valid UTF-8"
        raise ToolSourceError(str(file), reason, "Move hikidashi, or its config, to another folder.") from error


def _backup(change: FileChange) -> Path | None:
    """A backup of the file, unless one of the same bytes is there already."""
    if change.before is None:
        return None
    record = change.record
    if change.untouched and record is not None:
        return Path(record.backup) if record.backup is not None and change.how == "install" else None
    return make_backup(change.file, change.before) if change.changes else None


def _record(change: FileChange, backup: Path | None) -> Record:
    assert change.after is not None
    known = change.record
    if known is not None and change.untouched:
        return replace(known, name=change.name, after=digest(change.after), moved=dict(change.moved))
    if known is not None and not change.changes:
        return known
    return Record(
        client=change.client.name,
        file=str(change.file),
        name=change.name,
        backup=None if backup is None else str(backup),
        before=None if change.before is None else digest(change.before),
        after=digest(change.after),
        restorable=known is None,
        moved=dict(change.moved),
    )


def _write(file: Path, before: bytes | None, after: bytes | None) -> None:
    if after is not None:
        write_file(file, after, before=before)
        return
    if read_bytes(file) != before:
        raise ToolSourceError(str(file), "was changed by another program meanwhile", "Close it, and try again.")
    try:
        file.unlink(missing_ok=True)
    except OSError as error:
        raise ToolSourceError(str(file), f"cannot be removed ({error.strerror or error})") from error
