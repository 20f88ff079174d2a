"""The wheel of the Python adapters, which is pure Python: `pip install mnemon-adapters[langgraph]`."""

import pathlib
import tomllib

from .archive import zipped
from .release import ROOT, Release
from .wheel import digest

FOLDER = ROOT / "packages/mnemon-adapters"


def make(release: Release) -> pathlib.Path:
    project = tomllib.loads((FOLDER / "pyproject.toml").read_text())["project"]
    name = project["name"].replace("-", "_")
    info = f"{name}-{project['version']}.dist-info"
    files = {f"{name}/{path.name}": (path.read_bytes(), 0o644) for path in sorted((FOLDER / name).glob("*.py"))}
    files[f"{info}/licenses/LICENSE"] = ((ROOT / "LICENSE").read_bytes(), 0o644)
    files[f"{info}/METADATA"] = (metadata(project).encode(), 0o644)
    files[f"{info}/WHEEL"] = (b"Wheel-Version: 1.0\nGenerator: tools/release\nRoot-Is-Purelib: true\nTag: py3-none-any\n", 0o644)
    record = "".join(f"{inner},{digest(content)},{len(content)}\n" for inner, (content, _) in files.items())
    files[f"{info}/RECORD"] = (f"{record}{info}/RECORD,,\n".encode(), 0o644)
    path = release.folder / f"{name}-{project['version']}-py3-none-any.whl"
    path.write_bytes(zipped(files, release.time))
    return path


def metadata(project: dict) -> str:
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {project['name']}",
        f"Version: {project['version']}",
        f"Summary: {project['description']}",
        f"License-Expression: {project['license']}",
        "License-File: LICENSE",
        f"Requires-Python: {project['requires-python']}",
        "Description-Content-Type: text/markdown",
    ]
    lines += [f"Requires-Dist: {needed}" for needed in project["dependencies"]]
    for extra, packages in project["optional-dependencies"].items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f'Requires-Dist: {needed}; extra == "{extra}"' for needed in packages]
    return "\n".join(lines) + "\n\n" + (FOLDER / project["readme"]).read_text()
