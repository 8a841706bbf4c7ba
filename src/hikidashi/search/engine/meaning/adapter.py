"""The adapter that `hikidashi tools tune` installs: a low-rank linear map on the vectors of questions.

Tools keep their vectors, so what is cached of them stays valid. Needs numpy where an adapter is installed.
"""

from __future__ import annotations

import io
import logging
import re
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ....common.atomic import replace_file
from ....common.folders import data_folder
from ....errors import ToolSearchError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]

__all__ = ["Adapter", "adapter_path", "installed_adapters", "load_adapter", "remove_adapter", "save_adapter"]

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


def adapter_path(encoder_id: str) -> Path:
    """The file of the adapter of an encoder: `tuned/<encoder id>.npz` in the user's data folder."""
    return data_folder() / "tuned" / (re.sub(r"[^\w.-]+", "_", encoder_id)[:_MAX_NAME] + ".npz")


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
        return _read(path, encoder_id)
    except Exception as error:  # zipfile, zlib and numpy have many errors for a damaged file
        logger.warning("The tuned adapter %s is ignored: %s. %s", path, str(error).rstrip("."), _REMEDY)
        return None


def save_adapter(encoder_id: str, adapter: Adapter) -> Path:
    """Install an adapter, atomically; programs that start from now on use it.

    Raises:
        ToolSearchError: the file cannot be written.
    """
    path, content = adapter_path(encoder_id), io.BytesIO()
    _numpy().savez(content, encoder=encoder_id, down=adapter.down, up=adapter.up)
    try:
        replace_file(path, content.getvalue(), private=True)
    except OSError as error:
        raise _unusable(path, "written", error) from error
    return path


def remove_adapter(path: Path) -> None:
    """Remove the file of an adapter.

    Raises:
        ToolSearchError: it cannot be removed.
    """
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise _unusable(path, "removed", error) from error


def _read(path: Path, encoder_id: str) -> Adapter:
    numpy = _numpy()
    if (size := path.stat().st_size) > _MAX_BYTES:
        raise ValueError(f"it has {size:,} bytes")
    with path.open("rb") as file, numpy.load(file, allow_pickle=False) as arrays:
        if missing := {"encoder", "down", "up"} - set(arrays.files):
            raise ValueError(f"it lacks {', '.join(sorted(missing))}")
        encoder, down, up = str(arrays["encoder"]), arrays["down"], arrays["up"]
    if encoder != encoder_id:
        raise ValueError(f"it is for the encoder {encoder!r:.100}, not for {encoder_id!r}")
    if down.ndim != 2 or not down.size or up.shape != down.shape[::-1]:
        raise ValueError(f"its matrices have the shapes {down.shape} and {up.shape}")
    if down.dtype.kind != "f" or up.dtype.kind != "f":
        raise ValueError(f"its matrices have the types {down.dtype} and {up.dtype}")
    # Of a NaN, no comparison is true.
    if not all(bool(numpy.abs(part).max() <= _MAX_WEIGHT) for part in (down, up)):
        raise ValueError("its matrices have values that are not finite, or too large")
    return Adapter(down.astype(numpy.float32), up.astype(numpy.float32))


def _unusable(path: Path, what: str, error: OSError) -> ToolSearchError:
    remedy = "Check the permissions of the folder, or set XDG_DATA_HOME to another one."
    return ToolSearchError("unavailable", f"The tuned adapter {path} cannot be {what} ({error.strerror}). {remedy}")


def _numpy() -> Any:
    return import_module("numpy")
