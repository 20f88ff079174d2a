"""A Python wheel that holds the binary: `uvx --from mnemon-service mnemon serve`, `pipx install mnemon-service`."""

import base64
import hashlib
import pathlib

from .archive import zipped
from .release import LICENCE, ROOT, SUMMARY, Release
from .targets import Target

# The plain name is somebody else's on PyPI, as `mnemon-memory` and `mnemon-cli` are.
NAME = "mnemon-service"
FILE_NAME = NAME.replace("-", "_")


def make(release: Release, target: Target, binary: pathlib.Path) -> pathlib.Path:
    info = f"{FILE_NAME}-{release.version}.dist-info"
    files = {
        f"{FILE_NAME}-{release.version}.data/scripts/{target.program}": (binary.read_bytes(), 0o755),
        f"{info}/licenses/LICENSE": ((ROOT / "LICENSE").read_bytes(), 0o644),
        f"{info}/METADATA": (metadata(release).encode(), 0o644),
        f"{info}/WHEEL": (tags(target).encode(), 0o644),
    }
    record = "".join(f"{name},{digest(content)},{len(content)}\n" for name, (content, _) in files.items())
    files[f"{info}/RECORD"] = (f"{record}{info}/RECORD,,\n".encode(), 0o644)
    path = release.folder / f"{FILE_NAME}-{release.version}-py3-none-{target.wheel}.whl"
    path.write_bytes(zipped(files, release.time))
    return path


def metadata(release: Release) -> str:
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {NAME}",
        f"Version: {release.version}",
        f"Summary: {SUMMARY}",
        f"License-Expression: {LICENCE}",
        "License-File: LICENSE",
        "Requires-Python: >=3.8",
        "Description-Content-Type: text/markdown",
    ]
    return "\n".join(lines) + "\n\n" + (ROOT / "packages/wheel/README.md").read_text()


def tags(target: Target) -> str:
    platforms = "".join(f"Tag: py3-none-{platform}\n" for platform in target.wheel.split("."))
    return f"Wheel-Version: 1.0\nGenerator: tools/release\nRoot-Is-Purelib: false\n{platforms}"


def digest(content: bytes) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
