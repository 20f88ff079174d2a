"""The bundle for Claude Desktop, the wheel of the adapters, and the names of Apple's frameworks."""

import base64
import json
import os
import pathlib
import re
import tempfile
import unittest
import unittest.mock
import zipfile

from releasing import adapters, apple, image, mcpb, wheel
from releasing.release import ROOT, Release
from releasing.targets import TARGETS

# As the crates of the build declare them.
DECLARATIONS = """
    pub fn CFRelease(cf: CFTypeRef);
    pub static kCFAllocatorDefault: CFAllocatorRef;
    pub fn SecTrustEvaluateWithError(trust: SecTrustRef, error: *mut CFErrorRef) -> bool;
    #[cfg_attr(target_arch = "x86_64", link_name = "SecCertificateCopyPublicKey$LEGACYMAC")]
    pub fn SCDynamicStoreCopyProxies(store: SCDynamicStoreRef) -> CFDictionaryRef;
    pub fn close(&self) {}
"""


class Packages(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.folder = pathlib.Path(place.name)
        self.release = Release(self.folder, "0.1.0", "0" * 40, 1_790_000_000)

    def test_a_bundle_starts_the_program_of_its_platform(self):
        binary = self.folder / "binary"
        binary.write_bytes(b"a program")
        for triple, system, program in [
            ("x86_64-pc-windows-gnu", "win32", "server/mnemon.exe"),
            ("aarch64-apple-darwin", "darwin", "server/mnemon"),
        ]:
            with self.subTest(triple), zipfile.ZipFile(mcpb.make(self.release, TARGETS[triple], binary)) as bundle:
                manifest = json.loads(bundle.read("manifest.json"))
                self.assertEqual(manifest["compatibility"], {"platforms": [system]})
                self.assertEqual(manifest["server"]["entry_point"], program)
                config = manifest["server"]["mcp_config"]
                self.assertEqual((config["command"], config["args"]), ("${__dirname}/" + program, ["agent"]))
                self.assertEqual(bundle.read(program), b"a program")
                self.assertEqual(bundle.getinfo(program).external_attr >> 16 & 0o777, 0o755)
                self.assertIn(manifest["icon"], bundle.namelist())

    def test_the_wheel_of_the_adapters_holds_them_and_what_they_need(self):
        path = adapters.make(self.release)
        with zipfile.ZipFile(path) as made:
            names = made.namelist()
            info = f"{path.name.removesuffix('-py3-none-any.whl')}.dist-info"
            record = made.read(f"{info}/RECORD").decode().splitlines()
            about = made.read(f"{info}/METADATA").decode()
            for line in record[:-1]:
                name, digest, size = line.split(",")
                self.assertEqual((digest, size), (wheel.digest(made.read(name)), str(len(made.read(name)))), name)
        self.assertEqual([line.split(",")[0] for line in record], names)
        self.assertTrue({"mnemon_adapters/langgraph.py", "mnemon_adapters/anthropic.py"} <= set(names), names)
        self.assertIn('Requires-Dist: langgraph>=1.2; extra == "langgraph"\n', about)

    def test_the_frameworks_export_what_was_declared_and_no_name_of_the_c_library(self):
        apple.write(self.folder, DECLARATIONS)
        stubs = {path.stem: path.read_text() for path in self.folder.glob("*.framework/*.tbd")}
        expected = {
            "CoreFoundation": "[ '_CFRelease', '_kCFAllocatorDefault' ]",
            "Security": "[ '_SecCertificateCopyPublicKey$LEGACYMAC', '_SecTrustEvaluateWithError' ]",
            "SystemConfiguration": "[ '_SCDynamicStoreCopyProxies' ]",
        }
        self.assertEqual(set(stubs), set(expected))
        for name, symbols in expected.items():
            self.assertIn(f"symbols:         {symbols}\n", stubs[name])
            self.assertIn(f"/System/Library/Frameworks/{name}.framework/Versions/A/{name}'", stubs[name])

    def test_the_image_is_for_both_processors_and_a_builder_that_is_away_is_named(self):
        docker, log = self.folder / "docker", self.folder / "log"
        for inspected, expected in [(0, []), (1, ["the image (no builder runs: docker buildx inspect --bootstrap)"])]:
            with self.subTest(inspected), unittest.mock.patch.dict(os.environ, {"PATH": str(self.folder)}):
                docker.write_text(f'#!/bin/sh\n[ "$2" = inspect ] && exit {inspected}\necho "$*" >>"{log}"\n')
                docker.chmod(0o755)
                self.release.missing.clear()
                image.make(self.release)
                self.assertEqual(self.release.missing, expected)
        self.assertIn("--platform linux/amd64,linux/arm64", log.read_text())
        self.assertEqual(len(log.read_text().splitlines()), 1)

    def test_both_links_of_the_readme_add_the_agent_and_hold_no_key(self):
        readme = (ROOT / "README.md").read_text()
        cursor = re.search(r"\(https://cursor\.com/install-mcp\?name=mnemon&config=([A-Za-z0-9+/=]+)\)", readme)[1]
        vscode = re.search(r"\(<https://vscode\.dev/redirect/mcp/install\?name=mnemon&config=(\{.*?\})>\)", readme)[1]
        agent = {"command": "mnemon", "args": ["agent"]}
        self.assertEqual((json.loads(base64.b64decode(cursor)), json.loads(vscode)), (agent, agent))


if __name__ == "__main__":
    unittest.main()
