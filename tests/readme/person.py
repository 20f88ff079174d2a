"""A person at a new machine who types a page's blocks into terminals and reads what appears."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

from harness.report import expect
from page import Block, missing_line

SECONDS_MAX = 120
STAYS = "Press Ctrl-C to stop"
SHIM = """#!/bin/sh
# The program under test is built already: `cargo run --release -- …` runs it. Nothing else of cargo is there.
if [ "$1 $2 $3" = "run --release --" ]; then shift 3; exec mnemon-under-test "$@"; fi
echo "this shim knows only: cargo run --release -- ..." >&2
exit 1
"""


class Person:
    def __init__(self, folder: pathlib.Path, binary: pathlib.Path) -> None:
        self.folder = folder
        self.home, self.clone, tools = folder / "home", folder / "mnemon", folder / "tools"
        for one in (self.home, self.clone / "target/release", tools):
            one.mkdir(parents=True)
        # Where `cargo run --release` would have put it.
        (self.clone / "target/release/mnemon").symlink_to(binary)
        (tools / "mnemon-under-test").symlink_to(binary)
        (tools / "cargo").write_text(SHIM)
        (tools / "cargo").chmod(0o755)
        self.env = {"HOME": str(self.home), "PATH": f"{tools}:/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "TERM": "dumb"}
        self.terminals: list[Terminal] = []

    def follow(self, block: Block) -> None:
        if not self.terminals or self.terminals[-1].is_taken:
            self.terminals.append(Terminal(self.folder / f"terminal-{len(self.terminals)}", self.clone, self.env))
        terminal = self.terminals[-1]
        terminal.type(block.text)
        asked = re.search(r"\bread -r (\w+)", block.text.strip().splitlines()[-1])
        if asked:
            terminal.type(self.shown_secret(asked[1]) + "\n")
        seen = terminal.wait()
        failed = re.search(r"^FAILED: (.*)$", seen, re.MULTILINE)
        expect(failed is None, f"`{failed and failed[1]}` failed: {seen[-1500:]}")
        missing = missing_line(block.promised, seen)
        expect(missing is None, f"`{missing}` was promised and is not in: {seen[-1500:]}")

    def shown_secret(self, variable: str) -> str:
        """What the person copies from another terminal when a command waits for it."""
        prefix = "mnp_" if variable == "MNEMON_OPERATOR_TOKEN" else "mnm_"
        shown = "".join(terminal.shown() for terminal in self.terminals)
        found = re.search(rf"^\s+({prefix}[0-9A-Za-z]{{20,}})$", shown, re.MULTILINE)
        expect(found is not None, f"{variable} is asked for, and no {prefix}... was shown")
        return found[1]

    def press_ctrl_c(self) -> None:
        for terminal in self.terminals:
            if terminal.is_taken:
                terminal.interrupt()

    def leave(self) -> None:
        for terminal in self.terminals:
            terminal.close()


class Terminal:
    def __init__(self, file: pathlib.Path, folder: pathlib.Path, env: dict[str, str]) -> None:
        self.file, self.is_taken, self.read_to, self.count = file, False, 0, 0
        self.output = file.open("wb")
        bash = shutil.which("bash")
        self.shell = subprocess.Popen(
            [bash, "--noprofile", "--norc"], stdin=subprocess.PIPE, stdout=self.output, stderr=self.output, cwd=folder, env=env, start_new_session=True
        )
        # Pasting goes on after a failed command, so each failure is noted where it happens.
        self.type("set -o pipefail; trap 'echo \"FAILED: $BASH_COMMAND\"' ERR\n")

    def type(self, text: str) -> None:
        self.shell.stdin.write(text.encode())
        self.shell.stdin.flush()

    def shown(self) -> str:
        return self.file.read_bytes().decode(errors="replace")

    def wait(self) -> str:
        """Until the prompt is back, or a program says that it stays until Ctrl-C. What appeared since the last time."""
        self.count += 1
        end = f"done {self.count} {os.getpid()}"
        self.type(f"echo; echo '{end}'\n")
        began = time.monotonic()
        while True:
            new = self.shown()[self.read_to :]
            if f"\n{end}\n" in new or STAYS in new:
                self.is_taken = f"\n{end}\n" not in new
                self.read_to += len(new)
                return new.replace(f"\n{end}\n", "")
            expect(self.shell.poll() is None, f"the shell ended: {new[-1500:]}")
            expect(time.monotonic() - began < SECONDS_MAX, f"no prompt after {SECONDS_MAX} s: {new[-1500:]}")
            time.sleep(0.02)

    def interrupt(self) -> None:
        os.killpg(self.shell.pid, signal.SIGINT)
        self.is_taken = False
        seen = self.wait()
        expect("FAILED" not in seen, f"it ended with an error: {seen[-1500:]}")

    def close(self) -> None:
        self.shell.stdin.close()
        try:
            os.killpg(self.shell.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.shell.wait()
        self.output.close()
