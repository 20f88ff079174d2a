"""Drives the command line of the npm package `@modelcontextprotocol/inspector`, one run per request.

Arguments: URL, key, era (`legacy` or `modern`). Needs no Python package; `node` is taken from PATH.
"""

import json
import pathlib
import subprocess
import sys

LAUNCHER = pathlib.Path(__file__).parents[1] / "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"


def main(url: str, key: str, era: str) -> None:
    def inspect(*arguments: str) -> subprocess.CompletedProcess:
        # Stored credentials are refused so that a rejected key ends the run instead of opening a browser.
        common = ["--cli", "--server-url", url, "--transport", "http", "--protocol-era", era, "--stored-auth-only"]
        output = ["--format", "json", "--header", f"Authorization: Bearer {key}"]
        return subprocess.run(["node", LAUNCHER, *common, *output, *arguments], capture_output=True, text=True, timeout=60)

    def list_tools() -> dict:
        run = inspect("--method", "tools/list", "--strict")
        return json.loads(run.stdout)["result"] if run.returncode == 0 else failure(run)

    def call_tool(name: str, arguments: dict) -> dict:
        run = inspect("--method", "tools/call", "--tool-name", name, "--tool-args-json", json.dumps(arguments))
        # A tool's error ends the command with a code of its own, and the result is printed all the same.
        return {"result": json.loads(run.stdout)["result"]} if run.stdout.strip() else failure(run)

    first = list_tools()
    say(first if "failure" in first else {"connected": None})
    for line in sys.stdin:
        request = json.loads(line)
        say(list_tools() if request["op"] == "list" else call_tool(request["name"], request["arguments"]))


def failure(run: subprocess.CompletedProcess) -> dict:
    return {"failure": f"exit {run.returncode}: {run.stderr.strip()}"}


def say(answer: dict) -> None:
    print(json.dumps(answer), flush=True)


main(*sys.argv[1:])
