"""Runs the official suite's scenarios for authorization servers: it prints an address, and a person has to go there."""

import json
import pathlib
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

from .conformance import SUITE, failures_of, own_checks
from .install import HOME
from .report import Report, expect, expect_equal

sys.path.insert(0, str(HOME / "drivers"))

import person  # noqa: E402

CALLBACK_SECONDS_MAX = 20
SCENARIOS = {"authorization-server-metadata-endpoint", "authorization-code-grant"}


def run_suite(report: Report, url: str, key: str, node: pathlib.Path, results: pathlib.Path, env: dict[str, str]) -> None:
    name = "conformance authorization"
    try:
        port = free_port()
        client = register(url, f"http://127.0.0.1:{port}/callback")
        command = [node, SUITE, "authorization", "--url", url, "--client-id", client, "--resource", f"{url}/mcp"]
        suite = subprocess.Popen(
            [*command, "--port", str(port), "--output-dir", results],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env,
        )
        output = follow(suite, url, key)
        expect_equal(suite.wait(60), 0, f"the suite's exit code ({output[-600:]})")
    except Exception as error:
        report.fail(name, f"{error}")
        return
    checks = {path.parent.name: json.loads(path.read_text()) for path in sorted(results.glob("*/checks.json"))}
    for scenario in sorted(SCENARIOS):
        with report.story(f"{name}: {scenario}"):
            found = [part for folder, part in checks.items() if scenario in folder]
            expect_equal(len(found), 1, "the number of results")
            expect_equal(failures_of(found[0]), {}, "the failing checks")
            expect(any(check["status"] == "SUCCESS" for check in own_checks(found[0])), "no check was made")


def follow(suite: subprocess.Popen, url: str, key: str) -> str:
    """Reads what the suite says, and goes where it asks somebody to go."""
    output = ""
    for line in suite.stdout:
        output += line
        if line.startswith(f"{url}/authorize?"):
            address = line.strip()
            back = person.agree(address, key)
            callback = re.search(r"redirect_uri=([^&]+)", address)[1]
            call_back(f"{urllib.parse.unquote(callback)}?{urllib.parse.urlencode(back)}")
    return output


def call_back(address: str) -> None:
    """The suite prints where to go before it listens for who comes back."""
    deadline = time.monotonic() + CALLBACK_SECONDS_MAX
    while True:
        try:
            urllib.request.urlopen(address, timeout=30).read()
            return
        except urllib.error.URLError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def register(url: str, callback: str) -> str:
    body = json.dumps({"client_name": "conformance", "redirect_uris": [callback]}).encode()
    request = urllib.request.Request(f"{url}/register", body, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)["client_id"]


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]
