"""Names of what Apple's frameworks export, for a linker on a machine without Apple's SDK. Zig brings the C library only.

The names are those that the crates of the build declare. A binary that is linked with them looks for the frameworks
where macOS has them, as any other does."""

import json
import os
import pathlib
import re

from .release import ROOT, run

# A framework, what its names begin with, and the version that programs ask for.
FRAMEWORKS = {
    "CoreFoundation": (r"_{0,2}k?CF", 150),
    "SystemConfiguration": (r"_{0,2}k?SC", 1),
    "Security": (r"_{0,2}k?(?:Sec|SSL|Authorization|CMS)", 1),
}
CRATES = re.compile(r"^(core-foundation|security-framework|system-configuration|objc2)")
DECLARED = re.compile(r"\b(?:fn|static(?:\s+mut)?)\s+(\w+)|link_name\s*=\s*\"([^\"]+)\"")
TARGETS = "[ x86_64-macos, arm64-macos ]"
# Below the root, so that no path of this machine gets into the flags of the build.
FOLDER = "target/apple-frameworks"


def flags(triple: str) -> list[str]:
    """What the compiler is told besides."""
    if os.environ.get("SDKROOT"):
        return []
    words = ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", triple]
    packages = json.loads(run(*words, cwd=ROOT))["packages"]
    folders = [pathlib.Path(package["manifest_path"]).parent for package in packages if CRATES.match(package["name"])]
    write(ROOT / FOLDER, "\n".join(path.read_text() for folder in folders for path in sorted(folder.rglob("*.rs"))))
    return [f"-Clink-arg=-F{FOLDER}"]


def write(folder: pathlib.Path, source: str) -> None:
    declared = {one or other for one, other in DECLARED.findall(source)}
    for name, (beginning, version) in FRAMEWORKS.items():
        names = sorted(word for word in declared if re.match(rf"{beginning}[A-Z_]?\w", word))
        path = folder / f"{name}.framework/{name}.tbd"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(stub(name, version, names))


def stub(name: str, version: int, names: list[str]) -> str:
    symbols = ", ".join(f"'_{symbol}'" for symbol in names)
    return f"""--- !tapi-tbd
tbd-version:     4
targets:         {TARGETS}
install-name:    '/System/Library/Frameworks/{name}.framework/Versions/A/{name}'
current-version: {version}
compatibility-version: {version}
exports:
  - targets:         {TARGETS}
    symbols:         [ {symbols} ]
...
"""
