"""Print the manifest of the Slack app."""

from __future__ import annotations

import json

import typer
import yaml

from hikidashi.apps.slack.manifest import app_manifest

__all__ = ["print_manifest"]


def print_manifest(*, as_json: bool) -> None:
    """Print the manifest as YAML or JSON."""
    manifest = app_manifest()
    typer.echo(json.dumps(manifest, indent=2) if as_json else yaml.safe_dump(manifest, sort_keys=False), nl=as_json)
