"""The installer script for Linux and macOS, with the checksums of this release inside."""

import pathlib

from .homebrew import filled
from .release import ROOT, Release, sha256


def make(release: Release, archives: dict[str, pathlib.Path]) -> None:
    if not release.url:
        release.missing.append("the installer script (say where the archives will be: --url)")
        return
    lines = [f"{sha256(path)}  {triple}" for triple, path in archives.items() if path.name.endswith(".tar.gz")]
    values = {"VERSION": release.version, "URL": release.url, "SUMS": "\n".join(lines)}
    path = release.folder / "install.sh"
    path.write_text(filled((ROOT / "packages/install.sh").read_text(), values))
    path.chmod(0o755)
