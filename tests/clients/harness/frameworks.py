"""The pages of docs/guides/frameworks and the adapters of packages/mnemon-adapters. Each page's code runs as it stands, against the
real service and with a stand-in for the model."""

import os
import pathlib
import re
import subprocess

from harness import install
from harness.model import FACT, STEPS, Model
from harness.report import Report, expect, expect_equal
from harness.server import Server

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
PAGES = REPOSITORY / "docs/guides/frameworks"
ADAPTERS = REPOSITORY / "packages/mnemon-adapters"
SECONDS_MAX = 120
# The others bring hundreds of megabytes each.
QUICK = ["autogen", "google-adk", "langgraph", "llamaindex", "mcp-use", "openai-agents", "pydantic-ai", "smolagents"]
LARGE = ["crewai", "mastra", "semantic-kernel", "vercel-ai"]
JAVASCRIPT = ["mastra", "vercel-ai"]
# These hand their model the first text of an error alone. The overview says so.
DROPS_SECOND_TEXT = ["smolagents"]
QUIET = {
    "CREWAI_DISABLE_TELEMETRY": "true",
    "MCP_USE_ANONYMIZED_TELEMETRY": "false",
    "MASTRA_TELEMETRY_DISABLED": "1",
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
    "OTEL_SDK_DISABLED": "true",
}


def run(report: Report, folder: pathlib.Path, server: Server, node: pathlib.Path | None) -> None:
    with report.story("frameworks: every page is run by a test"):
        pages = {page.stem for page in PAGES.glob("*.md")} - {"README"}
        expect_equal(pages, {*QUICK, *LARGE}, "the pages")
    wants_all = os.environ.get("MNEMON_ALL_FRAMEWORKS") == "1"
    for name in QUICK + (LARGE if wants_all else []):
        with report.story(f"frameworks: {name} saves, finds and is told why a search failed"):
            follow(name, folder, server, node)
    if not wants_all:
        print(f"not run: {', '.join(LARGE)}; MNEMON_ALL_FRAMEWORKS=1 runs them too", flush=True)
    for name in ["langgraph", "anthropic"]:
        with report.story(f"frameworks: the adapter for {name} passes its tests"):
            run_adapter(name, server)


def follow(name: str, folder: pathlib.Path, server: Server, node: pathlib.Path | None) -> None:
    language, code = re.search(r"```(python|js)\n(.*?)```", (PAGES / f"{name}.md").read_text(), re.DOTALL).groups()
    expect_equal(language, "js" if name in JAVASCRIPT else "python", "the language")
    command = command_for(name, code, node)
    home = folder / f"framework-{name}"
    home.mkdir()
    model = Model()
    try:
        env = {"PATH": os.environ["PATH"], "HOME": str(home), "OPENAI_API_KEY": "none", **QUIET, **address(server)}
        # LiteLLM reads the second name.
        env |= {"OPENAI_BASE_URL": model.url, "OPENAI_API_BASE": model.url}
        done = subprocess.run(command, env=env, cwd=home, capture_output=True, text=True, timeout=SECONDS_MAX)
    finally:
        model.close()
    expect(done.returncode == 0 and FACT in done.stdout, f"it ended with {done.returncode}: {done.stdout[-300:]} {done.stderr[-600:]}")
    expect_read(name, model)


def expect_read(name: str, model: Model) -> None:
    """What the model read of the three answers."""
    expect_equal(len(model.seen), len(STEPS), "the number of answers that the model saw")
    for text in ["searchable", "unverified"]:
        expect(text in model.seen[0], f"the model does not see {text!r} of what was saved: {model.seen[0]}")
    for text in [FACT, "deploy.day", "unverified", "score"]:
        expect(text in model.seen[1], f"the model does not see {text!r} of what was found: {model.seen[1]}")
    expect("is not active" in model.seen[2], f"the model does not see why the search failed: {model.seen[2]}")
    is_there = "Active workspaces: default" in model.seen[2]
    expect_equal(is_there, name not in DROPS_SECOND_TEXT, f"whether the model sees the second text ({model.seen[2]})")


def command_for(name: str, code: str, node: pathlib.Path | None) -> list:
    if name not in JAVASCRIPT:
        return [install.python_of_framework(name), "-c", code]
    if node is None:
        raise install.Missing("Node.js")
    # The packages are found from where the file is.
    page = install.node_frameworks() / f".page-{name}.mjs"
    page.write_text(code)
    return [node, page]


def run_adapter(name: str, server: Server) -> None:
    python = install.python_of_framework("adapters")
    command = [python, "-m", "unittest", "discover", "-s", "tests", "-p", f"test_{name}.py"]
    env = {**os.environ, **address(server), "PYTHONPATH": str(ADAPTERS), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, cwd=ADAPTERS, env=env, capture_output=True, text=True, timeout=SECONDS_MAX)
    expect(done.returncode == 0 and "Ran 0 tests" not in done.stderr, done.stderr[-1000:])


def address(server: Server) -> dict[str, str]:
    return {"MNEMON_URL": server.url, "MNEMON_API_KEY": server.key}
