"""How fast and how big hikidashi is beside its peers: `python -m benchmarks` prints, writes and draws it."""
