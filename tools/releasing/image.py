"""The container image for both processors, as one archive, where a builder runs. It compiles everything inside."""

import shutil
import subprocess

from .release import ROOT, Release

PLATFORMS = "linux/amd64,linux/arm64"


def make(release: Release) -> None:
    if not shutil.which("docker"):
        release.missing.append("the image (docker with buildx)")
        return
    looked = subprocess.run(["docker", "buildx", "inspect", "--bootstrap"], capture_output=True, check=False)
    if looked.returncode != 0:
        release.missing.append("the image (no builder runs: docker buildx inspect --bootstrap)")
        return
    to = release.folder / f"mnemon-{release.version}-image.tar"
    command = ["docker", "buildx", "build", "--platform", PLATFORMS, "--file", "ops/container/Dockerfile"]
    command += ["--build-arg", f"SOURCE_DATE_EPOCH={release.time}", "--output", f"type=oci,dest={to}", "."]
    if subprocess.run(command, cwd=ROOT, check=False).returncode != 0:
        release.missing.append("the image (its build failed; see above)")
