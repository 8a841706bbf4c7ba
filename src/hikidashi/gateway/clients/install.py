"""Our entry in a client's configuration: added with a backup, and removed again; with it, servers that we serve."""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from ...common.files import replace_file
from ...common.json import TextError
from ...errors import ToolSourceError
from ...servers.clients import Client, Format, Machine, Place
from . import claude_code
from .edits import EditError, ServerTable, content_of, make_backup, read_bytes, source_error, write_file
from .servers import is_ours, masked_file_text, our_entry


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


def table_of(client: Client, place: Place) -> ServerTable:
    """The servers in the file at `place`."""
    return ServerTable(client.format, place.key)


def take_out(table: ServerTable, text: str, names: Iterable[str]) -> tuple[str, dict[str, str], dict[str, str]]:
    """`text` without the servers `names`, each of these as it was written, and why some stay.

    Raises:
        TextError: `text` is invalid.
    """
    taken: dict[str, str] = {}
    left: dict[str, str] = {}
    for name in names:
        value = table.get(text, name)
        if value is None:
            continue
        try:
            source = table.source(text, name)
            if table.server_in(source, name) != value:
                example = f"[{table.key[0]}.{name}]"
                raise EditError(f"it is written in a form that cannot be moved; write it as a table, {example}", 1, 1)
            text = table.remove(text, name)
        except EditError as error:
            left[name] = error.reason
        else:
            taken[name] = source
    return text, taken, left


def put_back(table: ServerTable, text: str, moved: Mapping[str, str]) -> tuple[str, list[str], dict[str, str]]:
    """`text` with those of the servers that it does not have, their names, and why others were not put back.

    Raises:
        TextError: `text` is invalid, or cannot be added to.
    """
    back: list[str] = []
    left: dict[str, str] = {}
    for name, source in moved.items():
        there = table.get(text, name)
        if there is None:
            text = table.put_source(text, name, source)
            back.append(name)
        elif there != table.server_in(source, name):
            left[name] = _ANOTHER
    return text, back, left


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
    main = client.main(machine)
    changes: list[FileChange] = []
    for place in (main, client.settings) if client.settings else (main,):
        file, kind = place.file(machine), _format_of(client, place)
        before = read_bytes(file)
        record = records.of(client.name, file)
        untouched, original = (False, None) if record is None else record.original(before)
        known = {} if record is None else record.moved
        names = dict.fromkeys([*(known if untouched else ()), *(move if place is main else ())])
        with _error_of(file, kind):
            text = _text_of(file, (original if untouched else before) or b"", kind)
            if record is not None and record.name != line.name and not untouched:
                text = _without_ours(client, place, text, record.name)
            text, taken, left = take_out(table_of(client, place), text, names)
            after = _with_ours(client, place, file, text, line).encode("utf-8")
        changes.append(
            FileChange(
                client=client,
                file=file,
                format=kind,
                name=line.name,
                how="install",
                before=before,
                after=after,
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
        kind = _format_of(client, place)
        moved = {} if record is None else record.moved
        back, left = list(moved) if untouched else [], dict[str, str]()
        if not untouched and (before is not None or moved):
            with _error_of(file, kind):
                text = _without_ours(client, place, _text_of(file, before or b"", kind), used)
                text, back, left = put_back(table_of(client, place), text, moved)
                after = text.encode("utf-8")
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


def _format_of(client: Client, place: Place) -> Format:
    return "json" if place is client.settings else client.format


def _with_ours(client: Client, place: Place, file: Path, text: str, line: Line) -> str:
    """The text of a file with our entry, or that of the settings with our rules."""
    if place is client.settings:
        return claude_code.with_rules(text, line.name, claude_code.hook_command(line.command, list(line.hook)))
    table, entry = table_of(client, place), our_entry(client, line.command, list(line.args))
    there = table.get(text, line.name)
    if there is not None and not is_ours(there):
        reason = f"has another server that is called {line.name!r}"
        raise ToolSourceError(str(file), reason, "Give ours another name with --name.")
    return text if there == entry else table.put(text, line.name, entry)


def _without_ours(client: Client, place: Place, text: str, name: str) -> str:
    if place is client.settings:
        return claude_code.without_rules(text, name)
    table = table_of(client, place)
    return table.remove(text, name) if is_ours(table.get(text, name)) else text


def _text_of(file: Path, data: bytes, kind: Format) -> str:
    content_of(file, data, kind)  # says what is broken, and where
    return data.decode("utf-8")


@contextmanager
def _error_of(file: Path, kind: Format) -> Generator[None]:
    """Raise the errors of an edit as errors of `file`."""
    try:
        yield
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
