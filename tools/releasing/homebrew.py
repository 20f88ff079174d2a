"""The Homebrew formula: it takes the archive of this release for the machine."""

import pathlib

from .release import LICENCE, ROOT, SUMMARY, Release, sha256

NEEDED = {
    "MAC_ARM": "aarch64-apple-darwin",
    "MAC_INTEL": "x86_64-apple-darwin",
    "LINUX_ARM": "aarch64-unknown-linux-musl",
    "LINUX_INTEL": "x86_64-unknown-linux-musl",
}


def make(release: Release, archives: dict[str, pathlib.Path]) -> None:
    if not release.url:
        release.missing.append("the Homebrew formula (say where the archives will be: --url)")
        return
    lacking = [triple for triple in NEEDED.values() if triple not in archives]
    if lacking:
        release.missing.append(f"the Homebrew formula (it lacks the archives for {', '.join(lacking)})")
        return
    values = {"VERSION": release.version, "SUMMARY": SUMMARY.split(":")[0], "LICENCE": LICENCE}
    for name, triple in NEEDED.items():
        values[f"{name}_URL"] = f"{release.url}/{archives[triple].name}"
        values[f"{name}_SHA256"] = sha256(archives[triple])
    (release.folder / "mnemon.rb").write_text(filled((ROOT / "packages/homebrew/mnemon.rb").read_text(), values))


def filled(template: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        template = template.replace(f"@{name}@", value)
    return template
