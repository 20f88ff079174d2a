"""Real MCP servers as integrations: added by the command line, listed and called by curl and by real clients.

One service of its own serves all of these stories, so that the clients' own stories see no tools but ours.
"""

import json
import os
import pathlib
import secrets
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from .conversation import Client, Conversation
from .install import NODE_MODULES
from .report import Report, expect, expect_equal
from .server import Server

EVERYTHING = NODE_MODULES / "@modelcontextprotocol/server-everything/dist/index.js"
START_SECONDS_MAX = 30
CALL_SECONDS_MAX = 60


@dataclass(frozen=True)
class Upstream:
    """An integration, a tool of it that reads, and the tools that write."""

    name: str
    title: str
    where: list[str]
    tool: str
    arguments: dict
    expected: str
    write_tools: list[str]


def run(
    report: Report,
    binary: pathlib.Path,
    folder: pathlib.Path,
    env: dict[str, str],
    node: pathlib.Path,
    git_python: pathlib.Path,
    clients: list[Client],
) -> None:
    home = folder / "upstreams"
    home.mkdir()
    repository = make_repository(home, env)
    with everything_over_http(node, home, env) as url:
        write_settings(home, node, git_python, repository)
        server = None
        with report.story("integrations: a service starts with commands and a key for credentials"):
            server = Server(binary, home, [])
        if server is None:
            return
        try:
            tell(report, binary, server, env, upstreams(url, repository), clients)
            with report.story("integrations: git_commit never happened"):
                expect_equal(git(repository, env, "rev-list", "--count", "HEAD"), "2", "the number of commits")
                expect_equal(git(repository, env, "status", "--porcelain"), "?? untracked.txt", "the state of the repository")
            with report.story("integrations: the service stops when told to, and so do its commands"):
                expect_equal(server.stop(), 0, "exit code after SIGTERM")
                expect_gone(str(repository))
            with report.story("integrations: neither arguments nor answers are in the log"):
                expect(SECRET_WORD not in server.log(), "an argument or an answer is in the log")
        finally:
            server.kill()


# An argument of the echo, which comes back in its answer.
SECRET_WORD = "zqupstream" + secrets.token_hex(4)


def upstreams(url: str, repository: pathlib.Path) -> list[Upstream]:
    echo = {"message": SECRET_WORD}
    everything_writes = ["toggle-simulated-logging", "toggle-subscriber-updates", "gzip-file-as-resource"]
    git_writes = ["git_commit", "git_add", "git_reset", "git_create_branch", "git_checkout"]
    log = {"repo_path": str(repository), "max_count": 5}
    return [
        Upstream("web", "Everything", ["--endpoint", url], "echo", echo, SECRET_WORD, everything_writes),
        Upstream("local", "Everything here", ["--command", "everything"], "echo", echo, SECRET_WORD, everything_writes),
        Upstream("repo", "Git", ["--command", "git"], "git_log", log, "the second commit", git_writes),
    ]


def tell(
    report: Report, binary: pathlib.Path, server: Server, env: dict[str, str], all_upstreams: list[Upstream], clients: list[Client]
) -> None:
    for upstream in all_upstreams:
        with report.story(f"integration {upstream.name}: is added by the command line, which says what works"):
            added = cli(binary, server, env, ["integration", "add", upstream.name, "--title", upstream.title, "--allow", "*", *upstream.where])
            expect(added.startswith("ok   "), f"`integration add` said: {added}")
            expect(upstream.tool in added, f"`integration add` does not name {upstream.tool}: {added}")
        with report.story(f"integration {upstream.name}: is listed and called by curl"):
            by_curl(server, upstream)
        with report.story(f"integration {upstream.name}: tools that write are neither listed nor callable, in any spelling"):
            refuses_to_write(server, upstream)
        with report.story(f"integration {upstream.name}: `test` and `tools` show the state of every tool"):
            tested = json.loads(cli(binary, server, env, ["integration", "test", upstream.name, "--json"]))
            states = {tool["name"]: tool["state"] for tool in tested["integration"]["tools"]}
            expect_equal(states[upstream.tool], "offered", f"state of {upstream.tool}")
            for tool in upstream.write_tools:
                expect_equal(states[tool], "not_read_only", f"state of {tool}")
            strange = {name: state for name, state in states.items() if state not in ("offered", "not_read_only")}
            expect_equal(strange, {}, "tools that are neither offered nor write")
    for client in clients:
        with Conversation(client, server.mcp, server.key, env) as conversation:
            with report.story(f"integrations with {client.name}: connects"):
                conversation.connected_version()
            for upstream in all_upstreams:
                with report.story(f"integrations with {client.name}: lists and calls {upstream.name}"):
                    by_client(conversation, upstream)


def by_curl(server: Server, upstream: Upstream) -> None:
    tools = {tool["name"]: tool for tool in curl(server, "tools/list", {})["result"]["tools"]}
    name = f"{upstream.name}_readonly.{upstream.tool}"
    expect(name in tools, f"{name} is not listed among {sorted(tools)}")
    expect(tools[name]["title"].startswith(f"{upstream.title} (read-only): "), f"title is {tools[name]['title']!r}")
    hints = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": True}
    annotations = {hint: tools[name]["annotations"].get(hint) for hint in hints}
    expect_equal(annotations, hints, f"annotations of {name}")
    direct = curl(server, "tools/call", {"name": name, "arguments": upstream.arguments})["result"]
    gateway = {"server": upstream.name, "tool": upstream.tool, "arguments": upstream.arguments}
    through = curl(server, "tools/call", {"name": "gateway_call", "arguments": gateway})["result"]
    for way, result in [("directly", direct), ("by gateway_call", through)]:
        expect(not result["isError"], f"called {way}: {json.dumps(result)}")
        expect(upstream.expected in json.dumps(result["content"]), f"called {way}, the answer is {json.dumps(result)}")
    expect_equal(through["content"], direct["content"], "the answer of gateway_call compared with the direct one")


def refuses_to_write(server: Server, upstream: Upstream) -> None:
    listed = json.dumps(curl(server, "tools/list", {})["result"]["tools"])
    for tool in upstream.write_tools:
        expect(f"{upstream.name}_readonly.{tool}" not in listed, f"{tool} is listed")
        arguments = {"repo_path": "x", "message": "never", "files": ["untracked.txt"], "branch_name": "never"}
        for spelling in [
            f"{upstream.name}_readonly.{tool}",
            f"{upstream.name}_readonly_{tool}",
            f"{upstream.name}_readonly.{tool.upper()}",
            f"{upstream.name}_readonly.{tool} ",
            f"{upstream.name}.{tool}",
            f"{upstream.name}_{tool}",
            tool,
        ]:
            answer = curl(server, "tools/call", {"name": spelling, "arguments": arguments})
            expect_equal(answer.get("error", {}).get("message"), f"Unknown tool: {spelling}", f"the answer to {spelling!r}")
        for server_name, name in [(upstream.name, tool), (upstream.name, tool.upper()), (f"{upstream.name}_readonly", tool)]:
            gateway = {"server": server_name, "tool": name, "arguments": arguments}
            result = curl(server, "tools/call", {"name": "gateway_call", "arguments": gateway})["result"]
            expect_equal(result["isError"], True, f"isError of gateway_call to {server_name}, {name}")


def by_client(conversation: Conversation, upstream: Upstream) -> None:
    name = f"{upstream.name}_readonly.{upstream.tool}"
    names = [tool["name"] for tool in conversation.list_tools()]
    expect(name in names, f"the client does not see {name} among {names}")
    for tool in upstream.write_tools:
        expect(f"{upstream.name}_readonly.{tool}" not in names, f"the client sees {tool}")
    gateway = {"server": upstream.name, "tool": upstream.tool, "arguments": upstream.arguments}
    for called, arguments in [(name, upstream.arguments), ("gateway_call", gateway)]:
        answer = conversation.call(called, arguments)
        expect(upstream.expected in json.dumps(answer.get("result", {}).get("content")), f"{called} answered {json.dumps(answer)}")


# --- what the stories need ----------------------------------------------------------------------------------------------


def curl(server: Server, method: str, params: dict) -> dict:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    headers = ["-H", f"Authorization: Bearer {server.key}", "-H", "Content-Type: application/json"]
    command = ["curl", "-sS", "--max-time", str(CALL_SECONDS_MAX), server.mcp, *headers, "-d", body]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def cli(binary: pathlib.Path, server: Server, env: dict[str, str], arguments: list[str]) -> str:
    settings = {"MNEMON_URL": server.url, "MNEMON_API_KEY": server.key}
    done = subprocess.run([binary, *arguments], capture_output=True, text=True, env={**env, **settings}, timeout=CALL_SECONDS_MAX)
    expect(done.returncode == 0, f"`mnemon {' '.join(arguments[:3])}` failed: {done.stdout} {done.stderr}")
    return done.stdout


def write_settings(home: pathlib.Path, node: pathlib.Path, git_python: pathlib.Path, repository: pathlib.Path) -> None:
    # JSON's strings and lists are TOML's too.
    everything = json.dumps([str(node), str(EVERYTHING), "stdio"])
    git_server = json.dumps([str(git_python), "-m", "mcp_server_git", "--repository", str(repository)])
    settings = [
        '[outgoing.allowed_hosts]\n"127.0.0.1" = { accounts = ["*"] }',
        f'[gateway]\nencryption_key = "{secrets.token_hex(32)}"',
        "[gateway.commands]",
        f'everything = {{ run = {everything}, accounts = ["*"] }}',
        f'git = {{ run = {git_server}, accounts = ["*"] }}\n',
    ]
    (home / "mnemon.toml").write_text("\n".join(settings))


def make_repository(home: pathlib.Path, env: dict[str, str]) -> pathlib.Path:
    repository = home / "repository"
    repository.mkdir()
    git(repository, env, "init", "--quiet")
    for number, text in enumerate(["the first commit", "the second commit"]):
        (repository / f"{number}.txt").write_text(text)
        git(repository, env, "add", ".")
        git(repository, env, "-c", "user.name=Story", "-c", "user.email=story@example.com", "commit", "--quiet", "-m", text)
    (repository / "untracked.txt").write_text("nobody adds this")
    return repository


def git(repository: pathlib.Path, env: dict[str, str], *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=repository, env=env, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@contextmanager
def everything_over_http(node: pathlib.Path, home: pathlib.Path, env: dict[str, str]) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with (home / "everything.log").open("wb") as log:
        command = [node, EVERYTHING, "streamableHttp"]
        process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env={**env, "PORT": str(port)})
    try:
        deadline = time.monotonic() + START_SECONDS_MAX
        while socket.socket().connect_ex(("127.0.0.1", port)) != 0:
            expect(process.poll() is None, f"the upstream ended: {(home / 'everything.log').read_text()[-1000:]}")
            expect(time.monotonic() < deadline, f"the upstream did not listen within {START_SECONDS_MAX} s")
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.kill()
        process.wait()


def expect_gone(word: str) -> None:
    """No process of ours has this word in its command line any more."""
    deadline = time.monotonic() + 5
    while True:
        left = [pid for pid in os.listdir("/proc") if pid.isdigit() and word in command_line(pid)]
        if not left:
            return
        expect(time.monotonic() < deadline, f"processes that outlive the service: {[command_line(pid) for pid in left]}")
        time.sleep(0.05)


def command_line(pid: str) -> str:
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""
