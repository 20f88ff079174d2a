"""Drives the command line of the npm package `@modelcontextprotocol/inspector`, one run per request.

Arguments: URL, key, era (`legacy` or `modern`). Instead of a URL, the path of the program starts the local agent, which
finds the service's address in MNEMON_URL. Needs no Python package; `node` is taken from PATH.
"""

import json
import os
import pathlib
import subprocess
import sys

LAUNCHER = pathlib.Path(__file__).parents[1] / "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"


def main(url: str, key: str, era: str) -> None:
    def inspect(*arguments: str) -> subprocess.CompletedProcess:
        common = ["--cli", *target(url, key), "--protocol-era", era, "--format", "json"]
        return subprocess.run(["node", LAUNCHER, *common, *arguments], capture_output=True, text=True, timeout=60)

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


def target(url: str, key: str) -> list[str]:
    if url.startswith("http"):
        # Stored credentials are refused so that a rejected key ends the run instead of opening a browser.
        direct = ["--server-url", url, "--transport", "http", "--stored-auth-only"]
        return [*direct, "--header", f"Authorization: Bearer {key}"]
    env = [f"MNEMON_URL={os.environ['MNEMON_URL']}", f"MNEMON_API_KEY={key}", f"HOME={os.environ['HOME']}"]
    return [url, "agent", "--transport", "stdio", *(word for pair in env for word in ("-e", pair))]


def failure(run: subprocess.CompletedProcess) -> dict:
    return {"failure": f"exit {run.returncode}: {run.stderr.strip()}"}


def say(answer: dict) -> None:
    print(json.dumps(answer), flush=True)


main(*sys.argv[1:])
