"""The Debian package, around the static binary: it needs no library, and one package fits every version of Debian."""

import hashlib
import os
import pathlib
import shutil
import tempfile
import time

from .archive import gzipped
from .release import ROOT, SUMMARY, Release, run
from .targets import Target

MAINTAINER = "Mnemon maintainers <maintainers@mnemon.invalid>"
PARTS = ROOT / "packages/deb"
SCRIPTS = ["postinst", "prerm", "postrm"]
CONFIGURATION = "etc/mnemon/mnemon.toml"


def make(release: Release, target: Target, binary: pathlib.Path, texts: pathlib.Path) -> None:
    if target.debian is None:
        return
    if not shutil.which("dpkg-deb"):
        release.missing.append(f"the Debian package for {target.debian} (apt-get install dpkg)")
        return
    with tempfile.TemporaryDirectory() as made:
        root = pathlib.Path(made) / "root"
        files = content_of(release, binary, texts)
        for name, (content, mode) in files.items():
            put(root / name, content, mode)
        sums = "".join(
            f"{hashlib.md5(content, usedforsecurity=False).hexdigest()}  {name}\n"
            for name, (content, _) in sorted(files.items())
            if name != CONFIGURATION
        )
        size = sum(len(content) for content, _ in files.values())
        put(root / "DEBIAN/control", control(release, target, size).encode(), 0o644)
        put(root / "DEBIAN/md5sums", sums.encode(), 0o644)
        put(root / "DEBIAN/conffiles", f"/{CONFIGURATION}\n".encode(), 0o644)
        for script in SCRIPTS:
            put(root / "DEBIAN" / script, (PARTS / script).read_bytes(), 0o755)
        for path in [root, *root.rglob("*")]:
            if path.is_dir():
                path.chmod(0o755)
            os.utime(path, (release.time, release.time))
        to = release.folder / f"mnemon_{release.version}_{target.debian}.deb"
        environment = {**os.environ, "SOURCE_DATE_EPOCH": str(release.time)}
        # Formats that dpkg of Debian 11 can open.
        run("dpkg-deb", "--root-owner-group", "-Zxz", "--build", root, to, env=environment)


def content_of(release: Release, binary: pathlib.Path, texts: pathlib.Path) -> dict[str, tuple[bytes, int]]:
    readable = {
        "usr/lib/systemd/system/mnemon.service": ROOT / "ops/systemd/mnemon.service",
        CONFIGURATION: ROOT / "crates/server/mnemon.default.toml",
        "usr/share/mnemon/grafana/mnemon.json": ROOT / "ops/grafana/mnemon.json",
        "usr/share/doc/mnemon/README.md": ROOT / "README.md",
        "usr/share/doc/mnemon/copyright": PARTS / "copyright",
        "usr/share/lintian/overrides/mnemon": PARTS / "lintian-overrides",
    }
    readable |= {f"usr/share/mnemon/prometheus/{path.name}": path for path in (ROOT / "ops/prometheus").glob("*.yml")}
    files = {name: (path.read_bytes(), 0o644) for name, path in readable.items()}
    files["usr/bin/mnemon"] = (binary.read_bytes(), 0o755)
    files["usr/share/doc/mnemon/changelog.gz"] = (gzipped(changelog(release).encode()), 0o644)
    for page in (texts / "man").glob("*.1"):
        files[f"usr/share/man/man1/{page.name}.gz"] = (gzipped(page.read_bytes()), 0o644)
    completions = {
        "mnemon.bash": "bash-completion/completions/mnemon",
        "_mnemon": "zsh/vendor-completions/_mnemon",
        "mnemon.fish": "fish/vendor_completions.d/mnemon.fish",
    }
    for name, to in completions.items():
        if (texts / "completions" / name).exists():
            files[f"usr/share/{to}"] = ((texts / "completions" / name).read_bytes(), 0o644)
    return files


def put(path: pathlib.Path, content: bytes, mode: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(mode)


def control(release: Release, target: Target, size_bytes: int) -> str:
    fields = {
        "Package": "mnemon",
        "Version": release.version,
        "Architecture": target.debian,
        "Maintainer": MAINTAINER,
        "Installed-Size": str(-(-size_bytes // 1024)),
        "Depends": "init-system-helpers (>= 1.52)",
        "Recommends": "ca-certificates",
        "Section": "net",
        "Priority": "optional",
        "Description": f"memory for AI assistants\n {(PARTS / 'description').read_text().strip()}",
    }
    return "".join(f"{name}: {value}\n" for name, value in fields.items())


def changelog(release: Release) -> str:
    at = time.strftime("%a, %d %b %Y %H:%M:%S +0000", time.gmtime(release.time))
    return (
        f"mnemon ({release.version}) stable; urgency=medium\n\n"
        f"  * {SUMMARY}.\n  * See CHANGELOG.md in the source for what this version offers.\n\n"
        f" -- {MAINTAINER}  {at}\n"
    )
