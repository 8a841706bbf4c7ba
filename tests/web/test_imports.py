"""Every module of the web tools can be the first that is imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import hikidashi.web

FOLDER = Path(hikidashi.web.__file__).parent
MODULES = sorted(
    ".".join(("hikidashi.web", *path.relative_to(FOLDER).with_suffix("").parts)).removesuffix(".__init__")
    for path in FOLDER.rglob("*.py")
)
# One process for all: what the one before has loaded is forgotten, but for what is not ours.
SCRIPT = """
import importlib, sys
for name in sys.argv[1:]:
    for loaded in [one for one in sys.modules if one.startswith("hikidashi")]:
        del sys.modules[loaded]
    try:
        importlib.import_module(name)
    except ImportError as error:
        print(name, error)
"""


def test_every_module_may_be_imported_first() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT, *MODULES], capture_output=True, text=True, check=True)
    assert done.stdout == ""
