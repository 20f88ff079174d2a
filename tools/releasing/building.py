"""Builds the binary for a target, and has it write its completions and man pages."""

import os
import pathlib
import shutil
import subprocess

from . import apple
from .release import ROOT, Release, run
from .targets import Target

SHELLS = {"bash": "mnemon.bash", "zsh": "_mnemon", "fish": "mnemon.fish", "powershell": "mnemon.ps1"}


def build(release: Release, target: Target) -> pathlib.Path | None:
    host = run("rustc", "-vV").split("host: ", 1)[1].split()[0]
    cargo = "build" if target.triple == host else "zigbuild"
    if target.triple == "x86_64-pc-windows-gnu" and shutil.which("x86_64-w64-mingw32-gcc"):
        cargo = "build"
    if cargo == "zigbuild" and not shutil.which("cargo-zigbuild"):
        release.missing.append(f"{target.triple} (pip install ziglang cargo-zigbuild)")
        return None
    if not (pathlib.Path(run("rustc", "--print", "sysroot").strip()) / "lib/rustlib" / target.triple).exists():
        release.missing.append(f"{target.triple} (rustup target add {target.triple})")
        return None
    command = ["cargo", cargo, "--locked", "--package", "mnemon-cli", "--profile", "dist", "--target", target.triple]
    if subprocess.run(command, cwd=ROOT, env=environment(release, target), check=False).returncode != 0:
        release.missing.append(f"{target.triple} (its build failed; see above)")
        return None
    folder = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return (ROOT / folder / target.triple / "dist" / target.program).resolve()


def environment(release: Release, target: Target) -> dict[str, str]:
    # Without the paths of this machine, two machines build the same.
    home = os.environ.get("CARGO_HOME", str(pathlib.Path.home() / ".cargo"))
    flags = [f"--remap-path-prefix={ROOT}=.", f"--remap-path-prefix={home}=cargo"]
    settings = {"MNEMON_COMMIT": release.commit, "SOURCE_DATE_EPOCH": str(release.time)}
    if target.macos is not None:
        flags += apple.flags(target.triple)
        settings["MACOSX_DEPLOYMENT_TARGET"] = target.macos
    return {**os.environ, **settings, "CARGO_ENCODED_RUSTFLAGS": "\x1f".join(flags)}


def texts(release: Release, binaries: dict[str, pathlib.Path], folder: pathlib.Path) -> pathlib.Path:
    """Completions and man pages, by the first binary that runs on this machine. They are the same for all targets."""
    for binary in binaries.values():
        try:
            said = run(binary, "--version")
        except (OSError, subprocess.CalledProcessError):
            continue
        if said.split()[1] != release.version:
            raise SystemExit(f"{binary} says that it is {said.strip()}, and this tree is {release.version}")
        (folder / "completions").mkdir()
        for shell, name in SHELLS.items():
            (folder / "completions" / name).write_text(run(binary, "completions", shell))
        run(binary, "man", folder / "man")
        return folder
    release.missing.append("completions and man pages (no binary here runs on this machine)")
    return folder
