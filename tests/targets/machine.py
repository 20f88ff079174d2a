"""How a binary is run here: its own paths and environment, and the processes that it became."""

import getpass
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time

from harness.report import expect

READY_SECONDS_MAX = 120
COMMAND_SECONDS_MAX = 180
# A program finds its own path by /proc. The process stays the same one, so that it can be stopped and killed.
ENTER = 'mkdir -p "$0/proc" && mount -t proc proc "$0/proc" && exec chroot "$0" "$@"'


class Machine:
    def __init__(self, binary: pathlib.Path, folder: pathlib.Path, through: str | None, root: pathlib.Path | None) -> None:
        self.folder, self.root = folder, root.resolve() if root else None
        self.is_windows = binary.suffix == ".exe"
        self.through = [through] if through else []
        if self.root:
            inside = folder / binary.name
            shutil.copy(binary, inside)
            self.command = ["unshare", "--mount", "sh", "-c", ENTER, str(self.root), "/" + str(inside.relative_to(self.root))]
        else:
            self.command = [*self.through, str(binary)]
        self.services: list[Service] = []
        if self.is_windows:
            self.drive = folder / "wine/drive_c"
            missing = pathlib.Path(__file__).with_name("bcryptprimitives.c")
            compiler = ["x86_64-w64-mingw32-gcc", "-shared", "-o", str(folder / "bcryptprimitives.dll"), str(missing), "-ladvapi32"]
            subprocess.run(compiler, check=True)
            subprocess.run([*self.through, "cmd", "/c", "exit"], env=self.environment(folder, {}), check=True, capture_output=True)

    def name(self, path: pathlib.Path) -> str:
        """What the binary calls a file of this machine."""
        if self.is_windows:
            inside = path.is_relative_to(self.drive)
            return ("C:/" + str(path.relative_to(self.drive)) if inside else f"Z:{path}").replace("/", "\\")
        return "/" + str(path.relative_to(self.root)) if self.root else str(path)

    def home(self, name: str) -> pathlib.Path:
        # Wine decides by itself where its person is at home.
        home = self.drive / "users" / getpass.getuser() if self.is_windows else self.folder / name
        home.mkdir(exist_ok=True)
        return home

    def roaming(self, home: pathlib.Path) -> pathlib.Path:
        """Where programs keep a person's configuration."""
        return home / ("AppData/Roaming" if self.is_windows else ".config")

    def environment(self, home: pathlib.Path, more: dict[str, str]) -> dict[str, str]:
        env = {name: value for name, value in os.environ.items() if not name.startswith(("MNEMON_", "XDG_"))}
        env |= {"MNEMON_METRICS_LISTEN": "", "WINEDEBUG": "-all", "HOME": self.name(home)}
        if self.is_windows:
            env |= {"WINEPREFIX": str(self.folder / "wine"), "WINEPATH": f"Z:{self.folder}", "HOME": str(self.folder)}
        return env | more

    def run(self, *words: object, home: str = "home", env: dict[str, str] | None = None, stdin: str = "") -> subprocess.CompletedProcess:
        place = self.home(home)
        return subprocess.run(
            [*self.command, *map(str, words)], cwd=place, env=self.environment(place, env or {}), input=stdin,
            capture_output=True, text=True, errors="replace", timeout=COMMAND_SECONDS_MAX,
        )

    def ask(self, *words: object, **options) -> str:
        done = self.run(*words, **options)
        expect(done.returncode == 0, f"mnemon {' '.join(map(str, words))} ended with {done.returncode}: {done.stderr[-600:]}")
        return done.stdout

    def serve(self, data: pathlib.Path, *more: str) -> "Service":
        service = Service(self, data, more)
        self.services.append(service)
        return service

    def end(self) -> None:
        for service in self.services:
            service.kill()
        if self.is_windows and shutil.which("wineserver"):
            # Its prefix is in a folder that goes away.
            subprocess.run(["wineserver", "-k", "-w"], env=self.environment(self.home("home"), {}), check=False)


class Service:
    def __init__(self, machine: Machine, data: pathlib.Path, more: tuple[str, ...]) -> None:
        home = machine.home("home")
        ready = home / "ready.json"
        ready.unlink(missing_ok=True)
        self.log = home / "server.log"
        words = ["serve", "--data-dir", machine.name(data), "--listen", "127.0.0.1:0", "--ready-file", machine.name(ready), *more]
        begin = time.monotonic()
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [*machine.command, *words], cwd=home, env=machine.environment(home, {}), stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        while not ready.exists():
            said = self.log.read_text(errors="replace")[-1200:]
            expect(self.process.poll() is None, f"the service ended with {self.process.returncode}: {said}")
            expect(time.monotonic() < begin + READY_SECONDS_MAX, f"the service was not ready after {READY_SECONDS_MAX} s: {said}")
            time.sleep(0.02)
        self.seconds = time.monotonic() - begin
        told = json.loads(ready.read_text())
        self.url, self.mcp, self.key = told["url"], told["mcp"], told.get("key")

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
