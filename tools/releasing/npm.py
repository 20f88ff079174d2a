"""npm packages: one with the binary per platform, and one that picks it: `npx @mnemon/cli serve`."""

import json
import os
import pathlib
import shutil
import tempfile

from .release import LICENCE, ROOT, SUMMARY, Release, run
from .targets import TARGETS, Target

# The plain name is somebody else's on npm.
NAME = "@mnemon/cli"


def make(release: Release, binaries: dict[str, pathlib.Path]) -> None:
    if not shutil.which("npm"):
        release.missing.append("the npm packages (npm)")
        return
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made)
        for triple, binary in sorted(binaries.items()):
            pack(release, platform_package(release, TARGETS[triple], binary, folder / triple))
        pack(release, main_package(release, folder / "main"))


def platform_name(target: Target) -> str:
    return f"{NAME}-{target.npm_os}-{target.npm_cpu}"


def platform_package(release: Release, target: Target, binary: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    manifest = common(release, platform_name(target), f"The binary of Mnemon for {target.npm_os} {target.npm_cpu}")
    manifest |= {"os": [target.npm_os], "cpu": [target.npm_cpu], "files": [f"bin/{target.program}"]}
    (folder / "bin").mkdir(parents=True)
    shutil.copyfile(binary, folder / "bin" / target.program)
    (folder / "bin" / target.program).chmod(0o755)
    return written(folder, manifest)


def main_package(release: Release, folder: pathlib.Path) -> pathlib.Path:
    manifest = common(release, NAME, SUMMARY)
    manifest |= {
        "bin": {"mnemon": "mnemon.js"},
        "files": ["mnemon.js"],
        "engines": {"node": ">=18"},
        "optionalDependencies": {platform_name(target): release.version for target in TARGETS.values()},
    }
    folder.mkdir()
    shutil.copyfile(ROOT / "packages/npm/mnemon.js", folder / "mnemon.js")
    (folder / "mnemon.js").chmod(0o755)
    shutil.copyfile(ROOT / "packages/npm/README.md", folder / "README.md")
    return written(folder, manifest)


def common(release: Release, name: str, summary: str) -> dict:
    return {"name": name, "version": release.version, "description": summary, "license": LICENCE}


def written(folder: pathlib.Path, manifest: dict) -> pathlib.Path:
    shutil.copyfile(ROOT / "LICENSE", folder / "LICENSE")
    (folder / "package.json").write_text(json.dumps(manifest, indent=2) + "\n")
    return folder


def pack(release: Release, package: pathlib.Path) -> None:
    # A cache of its own: npm needs none for this, and wants to write to one all the same.
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "npm_config_cache": cache, "npm_config_update_notifier": "false"}
        run("npm", "pack", "--silent", "--pack-destination", release.folder, cwd=package, env=environment)
