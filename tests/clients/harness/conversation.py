"""Talks to one driver process: a real client that is connected to the server under test."""

import json
import pathlib
import queue
import subprocess
import tempfile
import threading
from dataclasses import dataclass, field

from .report import Broken, expect, expect_equal, one_line

ANSWER_SECONDS_MAX = 60
API_VERSION = "1.0"
INTERNAL = ("tenant_id", "project_id", "api_version")


@dataclass(frozen=True)
class Client:
    """A client as a person would pick it: package, version, and the way it speaks."""

    name: str
    command: list[str | pathlib.Path]
    mode: list[str] = field(default_factory=list)
    # The protocol version that has to be agreed on; None where the client does not tell.
    version: str | None = None
    # The inspector asks for the list first and never sends a call of a tool that is not in it.
    sends_unknown_tools: bool = True
    # Talks to the local agent over standard input and output, and so sees the agent's own tool as well.
    is_through_agent: bool = False
    # mcp-remote meets a rejected key with an OAuth login in a browser, which belongs to other tests.
    reports_a_rejected_key: bool = True
    # Connected by the client's own OAuth code: four tools, and no word about whose memory it is.
    by_oauth: bool = False


class Conversation:
    def __init__(self, client: Client, url: str, key: str, env: dict[str, str]) -> None:
        self.by_oauth = client.by_oauth
        self.stderr = tempfile.TemporaryFile("w+")
        command = [*client.command, url, key, *client.mode]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.stderr, text=True, bufsize=1, env=env
        )
        # A thread reads, so that waiting for an answer can end even when the client hangs.
        self.lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self.read_lines, daemon=True).start()

    def __enter__(self) -> "Conversation":
        return self

    def __exit__(self, *_error: object) -> None:
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.stderr.close()

    def read_lines(self) -> None:
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def next_answer(self) -> dict:
        try:
            line = self.lines.get(timeout=ANSWER_SECONDS_MAX)
        except queue.Empty:
            raise Broken(f"the client gave no answer within {ANSWER_SECONDS_MAX} s") from None
        if line is None:
            self.stderr.seek(0)
            raise Broken(f"the client ended on its own: {one_line(self.stderr.read()[-1000:])}")
        return json.loads(line)

    def ask(self, request: dict) -> dict:
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
        except BrokenPipeError:
            pass  # The reason is on its standard error, which `next_answer` shows.
        return self.next_answer()

    def connected_version(self) -> str | None:
        first = self.next_answer()
        expect("connected" in first, f"the client could not connect: {first.get('failure')}")
        return first["connected"]

    def list_tools(self) -> list[dict]:
        answer = self.ask({"op": "list"})
        expect("tools" in answer, f"no list of tools: {answer.get('failure')}")
        self.expect_discreet(answer)
        return answer["tools"]

    def call(self, tool: str, arguments: dict) -> dict:
        return self.ask({"op": "call", "name": tool, "arguments": arguments})

    def succeed(self, tool: str, arguments: dict) -> dict:
        """The structured result of a call that has to work, checked for what every result has in common."""
        result = self.result_of(tool, arguments)
        expect(not result.get("isError"), f"{tool} failed: {text_of(result)}")
        structured = result.get("structuredContent")
        expect(isinstance(structured, dict), f"{tool} returned no structuredContent")
        expect_equal(json.loads(text_of(result)), structured, f"the JSON in the text of {tool}")
        if self.by_oauth:
            return structured
        expect_equal(structured.get("api_version"), API_VERSION, f"api_version of {tool}")
        for identity in ("tenant_id", "project_id"):
            expect(bool(structured.get(identity)), f"{tool} returned no {identity}")
        return structured

    def fail(self, tool: str, arguments: dict, reason: str) -> None:
        """A call that has to end in `isError` with exactly this reason."""
        result = self.result_of(tool, arguments)
        expect_equal(result.get("isError"), True, f"isError of {tool}")
        expect_equal(text_of(result), f"Error executing tool {tool}: {reason}", f"the error text of {tool}")

    def result_of(self, tool: str, arguments: dict) -> dict:
        answer = self.call(tool, arguments)
        expect("result" in answer, f"{tool} gave no result: {json.dumps(answer)}")
        result = answer["result"]
        self.expect_discreet(answer)
        if self.by_oauth:
            return result
        expect_equal((result.get("_meta") or {}).get("api_version"), API_VERSION, f"_meta.api_version of {tool}")
        return result

    def expect_discreet(self, answer: dict) -> None:
        """OAuth callers get nothing internal, neither in fields nor in texts."""
        if self.by_oauth:
            said = json.dumps(answer)
            expect_equal([field for field in INTERNAL if field in said], [], "the internal fields in an answer")


def text_of(result: dict) -> str:
    items = result.get("content", [])
    expect_equal([item.get("type") for item in items], ["text"], "the kinds of content items")
    return items[0]["text"]
