"""Bundles for Claude Desktop: one for each platform, because a bundle can't choose between processors."""

import json
import pathlib

from .archive import zipped
from .release import ROOT, Release
from .targets import Target

PARTS = ROOT / "packages/mcpb"


def make(release: Release, target: Target, binary: pathlib.Path) -> pathlib.Path:
    files = {
        "manifest.json": ((json.dumps(manifest_of(target), indent=2) + "\n").encode(), 0o644),
        "icon.png": ((PARTS / "icon.png").read_bytes(), 0o644),
        "LICENSE": ((ROOT / "LICENSE").read_bytes(), 0o644),
        f"server/{target.program}": (binary.read_bytes(), 0o755),
    }
    path = release.folder / f"mnemon-{release.version}-{target.triple}.mcpb"
    path.write_bytes(zipped(files, release.time))
    return path


def manifest_of(target: Target) -> dict:
    manifest = json.loads((PARTS / "manifest.json").read_text())
    server = manifest["server"]
    server["entry_point"] = f"server/{target.program}"
    server["mcp_config"]["command"] = f"${{__dirname}}/server/{target.program}"
    del server["mcp_config"]["platform_overrides"]
    manifest["compatibility"]["platforms"] = [target.npm_os]
    return manifest
