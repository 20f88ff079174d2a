"""Claude Code, Codex and others with what `mnemon agent install` writes. No model is needed: a stand-in takes the request that would
go to one, and the request shows what the hooks added."""

import http.server
import json
import os
import pathlib
import shutil
import subprocess
import threading

from harness import install
from harness.report import Report, expect, expect_equal
from harness.server import Server

FACT = "The canary deploys go to the cluster in Oslo on Tuesdays."
# The first line of the block that the install writes; clients leave out its marks, which are comments.
INSTRUCTIONS = "## Memory: Mnemon"
QUESTION = "Where do the canary deploys go on Tuesdays?"
SECONDS_MAX = 90
REPOSITORY = pathlib.Path(__file__).resolve().parents[3]


class StandIn:
    """Writes down every request and refuses it."""

    def __init__(self) -> None:
        bodies: list[str] = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                bodies.append(self.rfile.read(int(self.headers.get("Content-Length", 0))).decode(errors="replace"))
                self.answer(400)

            def do_GET(self) -> None:
                self.answer(404)

            do_HEAD = do_GET

            def answer(self, status: int) -> None:
                text = json.dumps({"type": "error", "error": {"type": "invalid_request_error", "message": "no model"}})
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(text.encode())

            def log_message(self, *_: object) -> None:
                pass

        self.bodies = bodies
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def saw(self, text: str) -> bool:
        return any(text in body for body in self.bodies)

    def close(self) -> None:
        self.server.shutdown()


def run(
    report: Report, binary: pathlib.Path, folder: pathlib.Path, server: Server, node: pathlib.Path, packages: pathlib.Path
) -> None:
    claude = [next(packages.glob("@anthropic-ai/claude-code-*/claude"), packages / "claude-code-of-this-platform")]
    codex = [node, packages / "@openai/codex/bin/codex.js"]
    remember(binary, server)
    for name, command, more in [
        ("Claude Code", claude, ["-p", QUESTION]),
        ("Codex", codex, ["exec", "--dangerously-bypass-hook-trust", "--skip-git-repo-check", QUESTION]),
    ]:
        home = folder / f"assistant-{name.replace(' ', '-')}"
        home.mkdir()
        play(report, name, Assistant(command, more, home, binary, server))
    for name, command, listed in [
        ("Gemini CLI", [node, packages / "@google/gemini-cli/bundle/gemini.js"], "(stdio) - Connected"),
        ("Copilot CLI", [node, packages / "@github/copilot/npm-loader.js"], "mnemon (local)"),
    ]:
        home = folder / f"assistant-{name.replace(' ', '-')}"
        home.mkdir()
        knows(report, name, Assistant(command, [], home, binary, server), listed)
    if os.environ.get("MNEMON_ALL_ASSISTANTS") == "1":
        run_large(report, binary, folder, server)
    else:
        print("not run: Cline, OpenCode; MNEMON_ALL_ASSISTANTS=1 runs them too", flush=True)
    with report.story("Claude Code: accepts the plugin and the marketplace"):
        for path in [REPOSITORY / "plugins/mnemon", REPOSITORY]:
            said = Assistant(claude, [], folder, binary, server).ask(["plugin", "validate", str(path)])
            expect("Validation passed" in said, f"it said {said}")
    with report.story("Claude Code: accepts the template for teams"):
        accepts_template(Assistant(claude, [], folder / "assistant-team", binary, server))


def run_large(report: Report, binary: pathlib.Path, folder: pathlib.Path, server: Server) -> None:
    packages = None
    with report.story("Cline, OpenCode: are installed"):
        packages = install.large_assistants()
    if packages is None:
        return
    for name, program in [("OpenCode", "opencode-linux-x64/bin/opencode"), ("Cline", "@cline/cli-linux-x64/bin/cline")]:
        home = folder / f"assistant-{name}"
        home.mkdir()
        assistant = Assistant([packages / program], [], home, binary, server)
        assistant.env |= {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1", "CLINE_NO_AUTO_UPDATE": "1"}
        if name == "OpenCode":
            knows(report, name, assistant, "connected")
        else:
            shares_its_file(report, assistant)


def shares_its_file(report: Report, assistant: "Assistant") -> None:
    """Cline lists servers only to a person at a terminal, but it adds them without one."""
    with report.story("Cline: keeps the agent beside what it adds itself, and the uninstall keeps that"):
        file = assistant.home / ".cline/data/settings/cline_mcp_settings.json"
        assistant.mnemon("agent", "install", "--client", "cline")
        said = assistant.ask(["mcp", "install", "--yes", "other", "--", "true"])
        servers = json.loads(file.read_text())["mcpServers"]
        expect("mnemon" in servers and "other" in servers, f"{file} holds {servers}; it said {said}")
        assistant.mnemon("agent", "install", "--client", "cline", "--uninstall")
        expect_equal(list(json.loads(file.read_text())["mcpServers"]), ["other"], "what the uninstall leaves")


class Assistant:
    def __init__(
        self, command: list, question: list[str], home: pathlib.Path, binary: pathlib.Path, server: Server
    ) -> None:
        self.command, self.question, self.home, self.binary, self.server = command, question, home, binary, server
        quiet = {"DISABLE_TELEMETRY": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
        mine = {"HOME": str(home), "ANTHROPIC_API_KEY": "none", "CODEX_HOME": str(home / ".codex")}
        self.env = {"PATH": f"{binary.parent}:{os.environ['PATH']}", **quiet, **mine}

    def ask(self, arguments: list[str], more_env: dict[str, str] | None = None) -> str:
        done = subprocess.run(
            [*self.command, *arguments], cwd=self.home, env={**self.env, **(more_env or {})}, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=SECONDS_MAX,
        )
        return done.stdout

    def mnemon(self, *arguments: str) -> str:
        env = {**self.env, "MNEMON_URL": self.server.url, "MNEMON_API_KEY": self.server.key}
        done = subprocess.run([self.binary, *arguments], cwd=self.home, env=env, capture_output=True, text=True)
        expect_equal(done.returncode, 0, f"the exit code of mnemon {' '.join(arguments)} ({done.stderr})")
        return done.stdout


def remember(binary: pathlib.Path, server: Server) -> None:
    env = {**os.environ, "MNEMON_URL": server.url, "MNEMON_API_KEY": server.key}
    subprocess.run([binary, "remember", FACT], env=env, check=True, capture_output=True)


def knows(report: Report, name: str, assistant: "Assistant", connected: str) -> None:
    """It lists the agent, connected where the client tries that, and after the uninstall no longer."""
    client = name.lower().replace(" ", "-")
    with report.story(f"{name}: knows the agent that was installed, and forgets it"):
        trusted = assistant.home / ".gemini/trustedFolders.json"
        trusted.parent.mkdir(exist_ok=True)
        trusted.write_text(json.dumps({str(assistant.home.resolve()): "TRUST_FOLDER"}))
        assistant.mnemon("agent", "install", "--client", client)
        listed = assistant.ask(["mcp", "list"])
        expect("mnemon" in listed and connected in listed, f"mcp list says {listed}")
        assistant.mnemon("agent", "install", "--client", client, "--uninstall")
        listed = assistant.ask(["mcp", "list"])
        expect(connected not in listed, f"mcp list says {listed}")


def play(report: Report, name: str, assistant: Assistant) -> None:
    client = name.lower().replace(" ", "-")
    with report.story(f"{name}: knows the agent that was installed"):
        assistant.mnemon("agent", "install", "--client", client, "--hooks", "--prompt-hook", "--instructions")
        listed = assistant.ask(["mcp", "list"])
        expect("mnemon" in listed and "agent" in listed, f"mcp list says {listed}")
    with report.story(f"{name}: hands the digest, the hits and the instructions to its model"):
        stand_in = StandIn()
        point_to(assistant, stand_in.url)
        said = assistant.ask(assistant.question, {"ANTHROPIC_BASE_URL": stand_in.url})
        stand_in.close()
        expect(stand_in.bodies != [], f"no request came; it said {said}")
        for text in ["Memory of workspace `default`\\n", "best matches", FACT, INSTRUCTIONS]:
            expect(stand_in.saw(text), f"the request to the model lacks {text!r}")
    with report.story(f"{name}: goes on without memory when the service is away"):
        stand_in = StandIn()
        point_to(assistant, stand_in.url)
        away = {"ANTHROPIC_BASE_URL": stand_in.url, "MNEMON_URL": "http://127.0.0.1:9"}
        said = assistant.ask(assistant.question, away)
        stand_in.close()
        expect(stand_in.saw(QUESTION), f"the question did not come through; it said {said}")
        expect(not stand_in.saw(FACT), "a fact came from nowhere")
    with report.story(f"{name}: has nothing of it left after the uninstall"):
        assistant.mnemon("agent", "install", "--client", client, "--uninstall")
        listed = assistant.ask(["mcp", "list"])
        expect("agent" not in listed, f"mcp list says {listed}")
        stand_in = StandIn()
        point_to(assistant, stand_in.url)
        assistant.ask(assistant.question, {"ANTHROPIC_BASE_URL": stand_in.url})
        stand_in.close()
        expect(stand_in.saw(QUESTION) and not stand_in.saw(INSTRUCTIONS), "the instructions are still there")
        expect(not stand_in.saw(FACT), "the hooks are still there")


def point_to(assistant: Assistant, url: str) -> None:
    """Codex reads the address of its model from its configuration, in front of what we added there."""
    config = assistant.home / ".codex/config.toml"
    mark = "# the stand-in\n"
    before = config.read_text() if config.exists() else ""
    rest = before.split(mark)[-1]
    head = f'model = "none"\nmodel_provider = "none"\nmodel_providers.none = {{ name = "none", base_url = "{url}/v1", wire_api = "responses" }}\n'
    config.parent.mkdir(exist_ok=True)
    config.write_text(head + mark + rest)


def accepts_template(assistant: Assistant) -> None:
    assistant.home.mkdir()
    shutil.copy(REPOSITORY / "plugins/team/.mcp.json", assistant.home / ".mcp.json")
    # What a person does once: approve the servers of this project.
    (assistant.home / ".claude").mkdir()
    (assistant.home / ".claude/settings.json").write_text('{"enableAllProjectMcpServers": true}')
    env = {"MNEMON_URL": assistant.server.url, "MNEMON_API_KEY": assistant.server.key}
    listed = assistant.ask(["mcp", "list"], env)
    expect("mnemon" in listed and "Connected" in listed, f"mcp list says {listed}")
