"""Build the site in every language, in one process, so that what is made from the code is made once."""

from __future__ import annotations

import logging
import sys

from mkdocs.commands.build import build
from mkdocs.config import load_config  # pyright: ignore[reportUnknownVariableType]
from mkdocs.exceptions import Abort

CONFIGS = ("mkdocs.yml", "mkdocs.ja.yml")  # the first clears the folder that the second builds into


def main() -> int:
    """0, or 1 after a warning: a link that leads nowhere, a page that is not in the menu."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(message)s")
    for file in CONFIGS:
        config = load_config(file, strict=True)
        config.plugins.on_startup(command="build", dirty=False)
        try:
            build(config)
        except Abort as error:
            sys.stderr.write(f"{file}: {error}\n")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
