"""What all steps share: the version, the commit, its time, where files go, and what could not be made."""

import dataclasses
import hashlib
import pathlib
import subprocess
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUMMARY = "Memory for AI assistants: the service, the command line and the agent"
LICENCE = "Apache-2.0"


@dataclasses.dataclass
class Release:
    folder: pathlib.Path
    version: str
    commit: str
    # Seconds since 1970.
    time: int
    url: str | None = None
    missing: list[str] = dataclasses.field(default_factory=list)

    @staticmethod
    def of_this_tree(folder: pathlib.Path, url: str | None) -> "Release":
        folder.mkdir(parents=True, exist_ok=True)
        manifest = tomllib.loads((ROOT / "Cargo.toml").read_text())
        # A tree out of an archive has no history; its archive says which commit it was.
        if git("rev-parse", "--show-toplevel") == str(ROOT):
            commit, time = git("log", "-1", "--format=%H %ct").split()
        else:
            written = (ROOT / "crates/cli/commit.txt").read_text()
            commit, time = ("", "0") if "$" in written else written.split()
        version = manifest["workspace"]["package"]["version"]
        return Release(folder.resolve(), version, commit, int(time), url.rstrip("/") if url else None)


def git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def run(*command: object, **options: object) -> str:
    words = [str(word) for word in command]
    return subprocess.run(words, check=True, capture_output=True, text=True, **options).stdout


def sha256(path: pathlib.Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
