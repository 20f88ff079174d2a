"""Starts the real `mnemon` on an empty data directory and a free port, and stops it the way an operator would."""

import json
import os
import pathlib
import signal
import subprocess
import time

READY_SECONDS_MAX = 30
STOP_SECONDS_MAX = 15


class Server:
    def __init__(
        self, binary: pathlib.Path, home: pathlib.Path, origins: list[str], more_env: dict[str, str] | None = None
    ) -> None:
        ready_file = home / "ready.json"
        self.log_path = home / "server.log"
        command = [binary, "serve", "--data-dir", home / "data", "--listen", "127.0.0.1:0", "--ready-file", ready_file]
        settings = home / "mnemon.toml"
        if settings.exists():
            command += ["--config", settings]
        command += [f"--allow-origin={origin}" for origin in origins]
        # Settings of the person who runs the tests must not leak in, neither by environment nor by a file in the folder.
        env = {name: value for name, value in os.environ.items() if not name.startswith("MNEMON_")}
        env["MNEMON_METRICS_LISTEN"] = ""  # its usual port may be taken
        env |= more_env or {}
        with self.log_path.open("wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=home, env=env)
        try:
            ready = self.wait_until_ready(ready_file)
            self.url: str = ready["url"]
            self.mcp: str = ready["mcp"]
            self.key: str = ready["key"]
            self.operator: str = ready["operator_token"]
        except BaseException:
            self.process.kill()
            raise

    def wait_until_ready(self, ready_file: pathlib.Path) -> dict:
        deadline = time.monotonic() + READY_SECONDS_MAX
        while not ready_file.exists():
            if self.process.poll() is not None:
                raise RuntimeError(f"the server ended with {self.process.returncode} before it was ready: {self.log()[-2000:]}")
            if time.monotonic() > deadline:
                raise RuntimeError(f"the server was not ready after {READY_SECONDS_MAX} s: {self.log()[-2000:]}")
            time.sleep(0.02)
        return json.loads(ready_file.read_text())

    def stop(self) -> int:
        """Ask politely and return the exit code; a server that does not listen is killed and counts as a failure."""
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self.kill()
            raise RuntimeError(f"the server still ran {STOP_SECONDS_MAX} s after SIGTERM") from None

    def kill(self) -> None:
        """For the way out after something broke; harmless when the server is already gone."""
        self.process.kill()
        self.process.wait()

    def log(self) -> str:
        return self.log_path.read_text(errors="replace")
