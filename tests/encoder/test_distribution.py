"""What is uploaded: `hikidashi-encoder` with its model and licences, and `hikidashi` without them."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from email import message_from_bytes
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "packages" / "hikidashi-encoder"
MOST = 45_000_000
MODEL = ("embeddings.npy", "pieces.txt", "weights.npz")
MODULES = ("__init__.py", "network.py", "py.typed", "tokenizer.py", "tools.py")
LICENCES = {"LICENSE", "LICENSE-APACHE", "NOTICE"}


def built(folder: Path, kind: str, into: Path) -> Path:
    """The distribution of the project in `folder`."""
    build = f"import sys; from hatchling.build import build_{kind}; print(build_{kind}(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", build, str(into)], cwd=folder, capture_output=True, text=True, check=True
    )
    return into / done.stdout.split()[-1]


def test_the_wheel_has_the_model_its_licences_and_nothing_else(tmp_path: Path) -> None:
    path = built(PACKAGE, "wheel", tmp_path)
    with zipfile.ZipFile(path) as wheel:
        packed = set(wheel.namelist())
        about = next(name for name in packed if name.endswith(".dist-info/METADATA")).removesuffix("METADATA")
        metadata = message_from_bytes(wheel.read(f"{about}METADATA"))
    assert packed == {
        *(f"hikidashi_encoder/{name}" for name in MODULES),
        *(f"hikidashi_encoder/model/{name}" for name in MODEL),
        *(f"{about}{name}" for name in ("METADATA", "RECORD", "WHEEL")),
        *(f"{about}licenses/{name}" for name in LICENCES),
    }
    assert metadata["License-Expression"] == "MIT AND Apache-2.0"
    assert set(metadata.get_all("License-File") or []) == LICENCES
    assert path.stat().st_size < MOST


def test_the_source_distribution_has_them_too_but_no_training_data(tmp_path: Path) -> None:
    path = built(PACKAGE, "sdist", tmp_path)
    with tarfile.open(path) as archive:
        packed = {name.split("/", 1)[1] for name in archive.getnames()}
    source = "src/hikidashi_encoder"
    assert {*LICENCES, "README.md", *(f"{source}/model/{name}" for name in MODEL)} <= packed
    assert not {name for name in packed if name.startswith(("data", "encoder_training", "work", ".venv"))}
    assert path.stat().st_size < MOST


def test_hikidashi_itself_is_small_and_has_no_model(tmp_path: Path) -> None:
    wheel, sdist = (built(ROOT, kind, tmp_path) for kind in ("wheel", "sdist"))
    with zipfile.ZipFile(wheel) as archive:
        packed = archive.namelist()
    assert {name.split("/", 1)[0].split("-")[0] for name in packed} == {"hikidashi"}
    with tarfile.open(sdist) as archive:
        packed += archive.getnames()
    assert not [name for name in packed if name.endswith(MODEL) or "/packages/" in name]
    assert wheel.stat().st_size < 3_000_000
    assert sdist.stat().st_size < 10_000_000
