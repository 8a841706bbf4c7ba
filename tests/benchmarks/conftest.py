"""The benchmarks are tested for what they measure, not for how fast it is."""

from __future__ import annotations

import os

os.environ.setdefault("NUMBA_DISABLE_JIT", "1")  # bm25s takes ten seconds to compile what a test asks once
