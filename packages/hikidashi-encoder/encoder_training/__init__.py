"""Training of the encoder: `python -m encoder_training --help`."""
