"""The list of what the binaries are made of, in CycloneDX. It is made from Cargo's own metadata and names no path."""

import json
import time
import tomllib
import uuid

from .release import LICENCE, ROOT, SUMMARY, Release, run


def make(release: Release, targets: list[str]) -> None:
    filters = [word for target in targets for word in ("--filter-platform", target)]
    metadata = json.loads(run("cargo", "metadata", "--locked", "--format-version", "1", *filters, cwd=ROOT))
    document = document_of(release, metadata, checksums())
    path = release.folder / f"mnemon-{release.version}.cdx.json"
    path.write_text(json.dumps(document, indent=1, sort_keys=True) + "\n")


def checksums() -> dict[tuple[str, str], str]:
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())
    return {(one["name"], one["version"]): one["checksum"] for one in lock["package"] if "checksum" in one}


def document_of(release: Release, metadata: dict, sums: dict[tuple[str, str], str]) -> dict:
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    root = next(package["id"] for package in metadata["packages"] if package["name"] == "mnemon-cli")
    used = reached(nodes, root)
    names = {one: reference(packages[one]) for one in used}
    dependencies = [
        {"ref": names[one], "dependsOn": sorted({names[other] for other in built_with(nodes[one])})} for one in used
    ]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'mnemon {release.version} {release.commit}')}",
        "version": 1,
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(release.time)),
            "component": {
                "type": "application",
                "bom-ref": names[root],
                "name": "mnemon",
                "version": release.version,
                "description": SUMMARY,
                "licenses": [{"expression": LICENCE}],
            },
        },
        "components": [component(packages[one], sums) for one in sorted(used, key=names.get) if one != root],
        "dependencies": sorted(dependencies, key=lambda entry: entry["ref"]),
    }


def component(package: dict, sums: dict[tuple[str, str], str]) -> dict:
    entry = {
        "type": "library",
        "bom-ref": reference(package),
        "name": package["name"],
        "version": package["version"],
    }
    if package["source"]:
        entry["purl"] = reference(package)
    if package["license"]:
        # Some still write the old form of "or".
        entry["licenses"] = [{"expression": " OR ".join(package["license"].split("/"))}]
    if checksum := sums.get((package["name"], package["version"])):
        entry["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    return entry


def reference(package: dict) -> str:
    return f"pkg:cargo/{package['name']}@{package['version']}"


def built_with(node: dict) -> list[str]:
    """What is built for it; what only its tests use is left out."""
    return [dep["pkg"] for dep in node["deps"] if any(kind["kind"] != "dev" for kind in dep["dep_kinds"])]


def reached(nodes: dict[str, dict], root: str) -> list[str]:
    found, waiting = {root}, [root]
    while waiting:
        new = set(built_with(nodes[waiting.pop()])) - found
        found |= new
        waiting.extend(new)
    return sorted(found)
