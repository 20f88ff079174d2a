"""Makes a release around a small program, and uses what came out as people would. `./check` runs it."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import unittest
import unittest.mock
import zipfile

TOOLS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TOOLS))

from releasing import building  # noqa: E402
from releasing.release import Release  # noqa: E402
from releasing.targets import TARGETS  # noqa: E402

VERSION = tomllib.loads((TOOLS.parent / "Cargo.toml").read_text())["workspace"]["package"]["version"]
LINUX = ["x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl"]
OTHERS = ["aarch64-apple-darwin", "x86_64-apple-darwin", "x86_64-pc-windows-gnu"]

# Says what the real one would say to the release tool, and otherwise its arguments.
PROGRAM = f"""#!/bin/sh
case "$1" in
    --version) echo "mnemon {VERSION} (0123456789ab)" ;;
    completions) echo "# completions for $2" ;;
    man) mkdir -p "$2" && echo '.TH mnemon 1' >"$2/mnemon.1" && echo '.TH mnemon-serve 1' >"$2/mnemon-serve.1" ;;
    fail) exit 3 ;;
    *) echo "ran with $*" ;;
esac
"""


def run(*command, **options):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)


class TheReleaseTool(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory()
        cls.root = pathlib.Path(cls.place.name)
        cls.made = cls.root / "made"
        cls.url = cls.made.as_uri()
        cls.said = cls.release(cls.made)

    @classmethod
    def tearDownClass(cls):
        cls.place.cleanup()

    @classmethod
    def release(cls, folder):
        program = cls.root / "program"
        program.write_text(PROGRAM)
        program.chmod(0o755)
        binaries = [word for target in LINUX + OTHERS for word in ("--binary", f"{target}={program}")]
        done = run(TOOLS / "release", folder, "--url", cls.url, *binaries)
        assert done.returncode == 0, done.stderr
        return done

    def file(self, pattern):
        (found,) = self.made.glob(pattern)
        return found

    def test_the_same_binaries_give_the_same_bytes(self):
        again = self.root / "again"
        self.release(again)
        self.assertEqual((again / "SHA256SUMS").read_text(), (self.made / "SHA256SUMS").read_text())

    def test_the_sums_cover_every_file(self):
        done = run("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=self.made)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(len(done.stdout.splitlines()), len(list(self.made.iterdir())) - 1)

    def test_an_archive_holds_the_program_its_pages_and_its_operations_files(self):
        with tarfile.open(self.file(f"*{LINUX[0]}.tar.gz")) as tar:
            names = {member.name.split("/", 1)[1]: member for member in tar}
        self.assertEqual(names["mnemon"].mode, 0o755)
        for name in ["man/mnemon-serve.1", "completions/_mnemon", "ops/systemd/mnemon.service", "LICENSE", "CHANGELOG.md"]:
            self.assertIn(name, names)
        with zipfile.ZipFile(self.file("*windows-gnu.zip")) as archive:
            inner = [name.split("/", 1)[1] for name in archive.namelist()]
        self.assertTrue({"mnemon.exe", "completions/mnemon.ps1"} <= set(inner), inner)

    def test_the_list_of_parts_names_no_path_of_this_machine(self):
        text = self.file("*.cdx.json").read_text()
        for path in [str(TOOLS.parent), str(pathlib.Path.home()), "file:", "path+"]:
            self.assertNotIn(path, text)
        parts = json.loads(text)
        names = {part["name"]: part for part in parts["components"]}
        self.assertEqual(names["tokio"]["hashes"][0]["alg"], "SHA-256")
        self.assertIn("mnemon-server", names)
        self.assertIn("windows-sys", names, "what only other systems use is in their binaries")
        self.assertNotIn("mnemon-testkit", names, "tests are no part of the binary")
        known = {part["bom-ref"] for part in parts["components"]} | {parts["metadata"]["component"]["bom-ref"]}
        self.assertEqual({entry["ref"] for entry in parts["dependencies"]}, known)

    def test_the_wheel_holds_what_its_record_says(self):
        with zipfile.ZipFile(self.file("*manylinux2014_x86_64*.whl")) as wheel:
            lines = wheel.read(f"mnemon_service-{VERSION}.dist-info/RECORD").decode().split()
            self.assertEqual([line.split(",")[0] for line in lines], wheel.namelist())
            mode = wheel.getinfo(f"mnemon_service-{VERSION}.data/scripts/mnemon").external_attr >> 16
        self.assertEqual(mode & 0o777, 0o755)

    def test_the_npm_packages_run_the_program_and_end_as_it_ends(self):
        if not shutil.which("npm"):
            self.skipTest("npm is not installed")
        modules = self.root / "npm/node_modules/@mnemon"
        for name in ["cli", "cli-linux-x64", "cli-linux-arm64"]:
            with tarfile.open(self.file(f"mnemon-{name}-{VERSION}.tgz")) as tar:
                tar.extractall(modules / name, filter="data")
            (modules / name / "package").rename(modules / f"{name}.new")
            (modules / name).rmdir()
            (modules / f"{name}.new").rename(modules / name)
        manifest = json.loads((modules / "cli/package.json").read_text())
        self.assertEqual(len(manifest["optionalDependencies"]), len(LINUX + OTHERS))
        starter = modules / "cli" / manifest["bin"]["mnemon"]
        self.assertEqual(run("node", starter, "serve", "--listen", "x y").stdout, "ran with serve --listen x y\n")
        self.assertEqual(run("node", starter, "fail").returncode, 3)
        for platform in modules.glob("cli-*"):
            shutil.rmtree(platform)
        lacking = run("node", starter, "serve")
        self.assertEqual(lacking.returncode, 1)
        self.assertIn("--omit=optional", lacking.stderr)

    def test_the_debian_package_restarts_on_upgrade_and_stops_on_removal(self):
        if not shutil.which("dpkg-deb"):
            self.skipTest("dpkg is not installed")
        package = self.file("*_amd64.deb")
        scripts = self.root / "control"
        self.assertEqual(run("dpkg-deb", "--control", package, scripts).returncode, 0)
        self.assertEqual((scripts / "conffiles").read_text(), "/etc/mnemon/mnemon.toml\n")
        self.assertEqual(self.asked(scripts / "postinst", "configure", "0.0.9"), ["daemon-reload", "try-restart"])
        self.assertEqual(self.asked(scripts / "postinst", "configure", ""), ["daemon-reload"])
        self.assertEqual(self.asked(scripts / "prerm", "remove"), ["stop"])
        self.assertEqual(self.asked(scripts / "prerm", "upgrade", VERSION), [])
        self.assertEqual(self.asked(scripts / "postrm", "purge"), ["daemon-reload", "purge"])
        listed = run("dpkg-deb", "--contents", package).stdout
        for name in ["./usr/bin/mnemon", "./usr/share/man/man1/mnemon.1.gz", "./usr/share/doc/mnemon/copyright"]:
            self.assertIn(f" {name}\n", listed)
        self.assertNotIn(os.environ.get("USER", "nobody-at-all") + "/", listed)

    def asked(self, script, *arguments):
        """What a maintainer script asks of systemd, where systemd runs."""
        tools, log = self.root / "tools", self.root / "asked"
        tools.mkdir(exist_ok=True)
        log.write_text("")
        for name in ["systemctl", "deb-systemd-invoke", "deb-systemd-helper"]:
            (tools / name).write_text(f'#!/bin/sh\necho "$*" >>"{log}"\n')
            (tools / name).chmod(0o755)
        text = script.read_text().replace("-d /run/systemd/system", f"-d {tools}")
        done = run("sh", "-c", text, script, *arguments, env={"PATH": f"{tools}:/usr/bin:/bin"})
        self.assertEqual(done.returncode, 0, done.stderr)
        return [line.removeprefix("--system ").split()[0] for line in log.read_text().splitlines()]

    def test_lintian_finds_no_error(self):
        if not shutil.which("lintian"):
            self.skipTest("lintian is not installed")
        done = run("lintian", "--fail-on", "error", self.file("*_amd64.deb"))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_installer_installs_and_refuses_a_wrong_archive(self):
        into = self.root / "bin"
        environment = {**os.environ, "MNEMON_INSTALL_DIR": str(into)}
        done = run("sh", self.made / "install.sh", env=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"Installed mnemon {VERSION}", done.stdout)
        self.assertIn("is not in PATH", done.stdout)
        self.assertEqual(run(into / "mnemon", "serve").stdout, "ran with serve\n")
        forged = self.root / "forged"
        shutil.copytree(self.made, forged, dirs_exist_ok=True)
        for archive in forged.glob("*.tar.gz"):
            archive.write_bytes(archive.read_bytes() + b"\0")
        (into / "mnemon").unlink()
        refused = run("sh", self.made / "install.sh", env={**environment, "MNEMON_INSTALL_URL": forged.as_uri()})
        self.assertEqual(refused.returncode, 1)
        self.assertIn("nothing was installed", refused.stderr)
        self.assertFalse((into / "mnemon").exists())

    def test_the_formula_has_a_sum_for_every_archive_it_names(self):
        formula = self.file("mnemon.rb").read_text()
        self.assertNotIn("@", formula)
        for target in LINUX + OTHERS[:2]:
            archive = self.file(f"*{target}.tar.gz")
            with self.subTest(target):
                self.assertIn(f'url "{self.url}/{archive.name}"', formula)
                self.assertIn(run("sha256sum", archive).stdout.split()[0], formula)

    def test_a_build_is_found_where_cargo_was_told_to_put_it(self):
        triple, elsewhere, sysroot = LINUX[0], self.root / "elsewhere", self.root / "sysroot"
        (sysroot / "lib/rustlib" / triple).mkdir(parents=True)
        tools = self.root / "toolchain"
        tools.mkdir()
        built = f"{elsewhere}/{triple}/dist"
        scripts = {
            "rustc": f'case "$1" in -vV) echo "host: {triple}" ;; *) echo "{sysroot}" ;; esac',
            "cargo": f'[ "$CARGO_TARGET_DIR" = "{elsewhere}" ] && mkdir -p "{built}" && echo built >"{built}/mnemon"',
        }
        for name, script in scripts.items():
            (tools / name).write_text(f"#!/bin/sh\n{script}\n")
            (tools / name).chmod(0o755)
        release = Release(self.root, VERSION, "0123456789ab", 0)
        environment = {"PATH": f"{tools}:{os.environ['PATH']}", "CARGO_TARGET_DIR": str(elsewhere)}
        with unittest.mock.patch.dict(os.environ, environment):
            binary = building.build(release, TARGETS[triple])
        self.assertEqual(release.missing, [])
        self.assertEqual(binary.read_text(), "built\n")

    def test_a_binary_of_another_version_is_refused(self):
        other = self.root / "other"
        other.write_text("#!/bin/sh\necho mnemon 9.9.9\n")
        other.chmod(0o755)
        done = run(TOOLS / "release", self.root / "none", "--binary", f"{LINUX[0]}={other}")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(f"and this tree is {VERSION}", done.stderr)
        self.assertIn("is no target", run(TOOLS / "release", self.root / "none", "--binary", f"vax={other}").stderr)


if __name__ == "__main__":
    unittest.main()
