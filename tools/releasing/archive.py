"""Archives whose bytes depend on nothing but their content."""

import gzip
import io
import pathlib
import tarfile
import time
import zipfile

from .release import ROOT, Release
from .targets import Target


def make(release: Release, target: Target, binary: pathlib.Path, texts: pathlib.Path) -> pathlib.Path:
    name = f"mnemon-{release.version}-{target.triple}"
    files = {f"{name}/{inner}": content for inner, content in content_of(target, binary, texts).items()}
    path = release.folder / f"{name}.{target.archive_suffix}"
    path.write_bytes(zipped(files, release.time) if target.is_windows else tarred(files, release.time))
    return path


def content_of(target: Target, binary: pathlib.Path, texts: pathlib.Path) -> dict[str, tuple[bytes, int]]:
    files = {target.program: (binary.read_bytes(), 0o755)}
    for name in ["README.md", "CHANGELOG.md", "LICENSE"]:
        files[name] = ((ROOT / name).read_bytes(), 0o644)
    files["mnemon.default.toml"] = ((ROOT / "crates/server/mnemon.default.toml").read_bytes(), 0o644)
    for folder, prefix in [(ROOT / "ops", "ops/"), (texts, "")]:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            files[prefix + path.relative_to(folder).as_posix()] = (path.read_bytes(), 0o644)
    return files


def tarred(files: dict[str, tuple[bytes, int]], at: int) -> bytes:
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, (content, mode) in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode, entry.mtime = len(content), mode, at
            tar.addfile(entry, io.BytesIO(content))
    return gzipped(plain.getvalue())


def gzipped(content: bytes) -> bytes:
    return gzip.compress(content, compresslevel=9, mtime=0)


def zipped(files: dict[str, tuple[bytes, int]], at: int) -> bytes:
    out = io.BytesIO()
    # The format knows no time before 1980.
    moment = max(time.gmtime(at)[:6], (1980, 1, 1, 0, 0, 0))
    with zipfile.ZipFile(out, "w") as archive:
        for name, (content, mode) in files.items():
            entry = zipfile.ZipInfo(name, moment)
            entry.create_system, entry.external_attr = 3, (0o100000 | mode) << 16
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED, 9)
    return out.getvalue()
