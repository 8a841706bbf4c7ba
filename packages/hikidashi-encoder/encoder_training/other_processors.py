"""Whether the model gives the same vectors on processors without the instructions of this one.

ONNX Runtime chooses its int8 kernels by what the processor has, and no option of it forbids some. So this runs the
encoder under `qemu-x86_64`, which emulates a processor of the given kind: Haswell has AVX2 without VNNI, where sums of
two products of eight bits saturate, and Nehalem has neither. With weights of eight bits the cosine was .990 on
Haswell; with seven, as exported, it is 1.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from hikidashi_encoder import Encoder

__all__ = ["compare"]

PROCESSORS = ("Haswell-noTSX", "Nehalem")
_LEAST = 0.9999  # cosine
_TEXTS = (
    "cancel my meeting on monday",
    "create github issue",
    "Send message. Post a message to a channel, as a reply or at a later time. channel, text, thread, send at",
    "what will the weather be like in oslo on the 14th, and do i need an umbrella",
)


def compare() -> int:
    """Print the least cosine to the vectors of this processor for each kind; returns the exit code."""
    emulator = shutil.which("qemu-x86_64")
    if emulator is None:
        print("qemu-x86_64 is not installed. On Debian and Ubuntu: apt install qemu-user")
        return 2
    here = Encoder().embed(_TEXTS)
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for processor in PROCESSORS:
            path = Path(folder) / f"{processor}.npy"
            subprocess.run(
                [emulator, "-cpu", processor, sys.executable, "-m", __name__, str(path)],
                check=True,
                stderr=subprocess.DEVNULL,  # a warning for each feature that is not emulated either
            )
            cosine = float((here * np.load(path)).sum(1).min())
            failed |= cosine < _LEAST
            print(f"{processor}: the least cosine is {cosine:.6f}")
    return int(failed)


if __name__ == "__main__":
    np.save(sys.argv[1], Encoder().embed(_TEXTS))
