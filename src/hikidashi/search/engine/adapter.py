"""The adapter that `hikidashi tools tune` installs: a low-rank linear map on the vectors of questions.

Tools keep their vectors, so what is cached of them stays valid. Needs numpy where an adapter is installed. The adapter
that a new one replaces is kept beside it, and removing the new one brings it back.
"""

from __future__ import annotations

import io
import logging
import os
import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ...common.files import data_folder, replace_file
from ...errors import ToolSearchError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]

logger = logging.getLogger("hikidashi")

_MAX_NAME = 100  # characters of the encoder's name in the file name; the file has the whole name
_MAX_BYTES = 50_000_000  # a hundred times the size of any adapter that is trained here
_MAX_WEIGHT = 100.0  # of the map; trained ones stay below 5
_REMEDY = "Run `hikidashi tools tune` again, or remove it with `hikidashi tools tune --remove`."


@dataclass(frozen=True, eq=False)
class Adapter:
    """Maps vectors `v` to `v + v·down·up`, normalised."""

    down: Matrix
    """As many rows as a vector has numbers, and a column for each rank."""
    up: Matrix
    """A row for each rank."""

    def __call__(self, vectors: Matrix) -> Matrix:
        """The mapped vectors, normalised; vectors of another length than the adapter's are returned as they are."""
        numpy = _numpy()
        given = cast("Matrix", numpy.asarray(vectors, numpy.float32))
        if given.shape[-1] != len(self.down):
            logger.warning(
                "The tuned adapter is for vectors of %d numbers, and the encoder has %d: it is ignored. %s",
                len(self.down),
                given.shape[-1],
                _REMEDY,
            )
            return given
        mapped = given + (given @ self.down) @ self.up
        lengths = numpy.linalg.norm(mapped, axis=-1, keepdims=True)
        return mapped / numpy.where(lengths > 0, lengths, 1)


@dataclass(frozen=True, slots=True)
class Tune:
    """When an adapter was made, and from what."""

    made: datetime
    """In local time: the time of its file."""
    questions: int | None = None
    """How many questions it was made from; None if its file does not say so."""

    def as_json(self) -> dict[str, Any]:
        """Both as a JSON object."""
        return {"made": self.made.isoformat(timespec="seconds"), "questions": self.questions}


class _UnusableError(ValueError):
    """A file is not an adapter that can be applied; the message says why."""


def adapter_path(encoder_id: str) -> Path:
    """The file of the adapter of an encoder: `tuned/<encoder id>.npz` in the user's data folder."""
    return data_folder() / "tuned" / (re.sub(r"[^\w.-]+", "_", encoder_id)[:_MAX_NAME] + ".npz")


def previous_path(path: Path) -> Path:
    """The file of the adapter that the one at `path` replaced."""
    return path.with_name(path.name + ".previous")


def installed_adapters() -> list[Path]:
    """The files of all adapters, of this encoder and of others."""
    return sorted(adapter_path("").parent.glob("*.npz"))


def load_adapter(encoder_id: str) -> Adapter | None:
    """The installed adapter of an encoder; None if there is none.

    A file that cannot be used is ignored, with a warning.
    """
    path = adapter_path(encoder_id)
    try:
        if not path.exists():
            return None
        return _read(path, encoder_id)[0]
    except Exception as error:
        logger.warning("The tuned adapter %s is ignored: %s. %s", path, _reason(error), _REMEDY)
        return None


def tune_at(path: Path) -> Tune | None:
    """When the adapter at `path` was made, and from what; None if there is none that can be applied."""
    try:
        questions = _read(path)[1]
    except ImportError:  # numpy is missing: the file may well be an adapter
        questions = None
    except Exception:  # as in `_reason`
        return None
    try:
        return Tune(datetime.fromtimestamp(path.stat().st_mtime).astimezone(), questions)
    except OSError:  # there is none
        return None


def save_adapter(encoder_id: str, adapter: Adapter, *, questions: int | None = None) -> Path:
    """Install an adapter, atomically; programs that start from now on use it.

    The one that was installed is kept as `previous_path`, unless it is the same or damaged.

    Args:
        encoder_id: The encoder that it is for.
        adapter: The adapter.
        questions: How many questions it was made from.

    Raises:
        ToolSearchError: a file cannot be written; what was installed stays so.
    """
    path, content = adapter_path(encoder_id), io.BytesIO()
    counted = {} if questions is None else {"questions": questions}
    _numpy().savez(content, encoder=encoder_id, down=adapter.down, up=adapter.up, **counted)
    try:
        _keep(path, encoder_id, adapter)
        replace_file(path, content.getvalue(), private=True)
    except OSError as error:
        raise _unusable(path, "written", error) from error
    return path


def _keep(path: Path, encoder_id: str, new: Adapter) -> None:
    """Copy the installed adapter to `previous_path`, so that one is installed all the time."""
    previous, numpy = previous_path(path), _numpy()
    if not path.exists():  # the user removed it: what it had replaced must not come back
        previous.unlink(missing_ok=True)
        return
    try:
        installed, _ = _read(path, encoder_id)
    except Exception:  # damaged, as in `_reason`: the one before it is worth more
        return
    if numpy.array_equal(installed.down, new.down) and numpy.array_equal(installed.up, new.up):
        return
    made = path.stat().st_mtime
    replace_file(previous, path.read_bytes(), private=True)
    with suppress(OSError):  # some file systems keep no times
        os.utime(previous, (made, made))


def remove_adapter(path: Path) -> Tune | None:
    """Remove an adapter and use the one that it replaced again, if that is kept; return that one.

    Raises:
        ToolSearchError: it cannot be removed.
    """
    previous = previous_path(path)
    try:
        kept = tune_at(previous) if path.exists() else None
        if kept is not None:
            previous.replace(path)
        else:
            previous.unlink(missing_ok=True)
            path.unlink(missing_ok=True)
    except OSError as error:
        raise _unusable(path, "removed", error) from error
    return kept


def _reason(error: Exception) -> str:
    """Why a file is not used. For a damaged one, zipfile, zlib and numpy have many errors, with advice of their own."""
    if isinstance(error, OSError) and error.strerror:
        return f"it cannot be read ({error.strerror})"
    return str(error).rstrip(".") if isinstance(error, _UnusableError | ImportError) else "its file is damaged"


def _read(path: Path, encoder_id: str | None = None) -> tuple[Adapter, int | None]:
    """The adapter of a file, and how many questions it was made from."""
    numpy = _numpy()
    if (size := path.stat().st_size) > _MAX_BYTES:
        raise _UnusableError(f"it has {size:,} bytes")
    with path.open("rb") as file, numpy.load(file, allow_pickle=False) as arrays:
        if missing := {"encoder", "down", "up"} - set(arrays.files):
            raise _UnusableError(f"it lacks {', '.join(sorted(missing))}")
        encoder, down, up = str(arrays["encoder"]), arrays["down"], arrays["up"]
        questions = int(arrays["questions"]) if "questions" in arrays.files else None
    if encoder_id not in (None, encoder):
        raise _UnusableError(f"it is for the encoder {encoder!r:.100}, not for {encoder_id!r}")
    if down.ndim != 2 or not down.size or up.shape != down.shape[::-1]:
        raise _UnusableError(f"its matrices have the shapes {down.shape} and {up.shape}")
    if down.dtype.kind != "f" or up.dtype.kind != "f":
        raise _UnusableError(f"its matrices have the types {down.dtype} and {up.dtype}")
    # Of a NaN, no comparison is true.
    if not all(bool(numpy.abs(part).max() <= _MAX_WEIGHT) for part in (down, up)):
        raise _UnusableError("its matrices have values that are not finite, or too large")
    return Adapter(down.astype(numpy.float32), up.astype(numpy.float32)), questions


def _unusable(path: Path, what: str, error: OSError) -> ToolSearchError:
    remedy = "Check the permissions of the folder, or set XDG_DATA_HOME to another one."
    return ToolSearchError("unavailable", f"The tuned adapter {path} cannot be {what} ({error.strerror}). {remedy}")


def _numpy() -> Any:
    return import_module("numpy")
