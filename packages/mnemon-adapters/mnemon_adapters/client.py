"""Calls to the service over plain HTTP. It needs no session and no package."""

import json
import os
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator


class MnemonError(Exception):
    """The service refused a call; the text says why and what to do."""


class Mnemon:
    def __init__(self, url: str | None = None, key: str | None = None, timeout: float = 30) -> None:
        self.url = (url or os.environ.get("MNEMON_URL") or "http://127.0.0.1:7676").rstrip("/")
        self.key = key or os.environ.get("MNEMON_API_KEY") or ""
        self.timeout = timeout
        self._project: str | None = None
        if not self.key:
            raise MnemonError("no API key: pass `key` or set MNEMON_API_KEY")

    def call(self, tool: str, **arguments) -> dict:
        """What the tool answers."""
        params = {"name": tool, "arguments": arguments}
        answer = self._send("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        if "error" in answer:
            raise MnemonError(answer["error"]["message"])
        result = answer["result"]
        if result.get("isError"):
            raise MnemonError("\n".join(item["text"] for item in result["content"]))
        return result["structuredContent"]

    def replace(self, workspace: str, name: str, content: str) -> dict:
        """Saves a text under a name in place of what is there."""
        # The name is the source as well: the same text under two names is two records.
        place = {"workspace": workspace, "fact_key": name, "source_id": name}
        saved = self.call("remember", content=content, replace=True, **place)
        if saved.get("duplicate") and saved["content"] != content:
            # For the service these differ in nothing that matters (white space, quotes); here the exact text does.
            self.call("forget", memory_id=saved["id"])
            saved = self.call("remember", content=content, **place)
        return saved

    def find(self, workspace: str, name: str) -> dict | None:
        """The record under a name."""
        records = self.search(workspace, "*", fact_key=name, limit=1)
        return records[0] if records else None

    def search(self, workspace: str, query: str, **filters) -> list[dict]:
        try:
            return self.call("search", workspace=workspace, query=query, **filters)["result"]
        except MnemonError as error:
            if "is not active" in str(error):  # nothing was saved there yet
                return []
            raise

    def records(self, workspace: str) -> Iterator[dict]:
        """All records of a workspace, newest first."""
        before: dict = {}
        while True:
            page = self._list("records", workspace=workspace, limit=100, **before)
            yield from page["records"]
            if not page.get("next"):
                return
            before = {"before": page["next"]}

    def workspaces(self) -> list[str]:
        return [workspace["name"] for workspace in self._list("workspaces")["workspaces"]]

    def _list(self, what: str, **query) -> dict:
        if self._project is None:
            self._project = self._send("/admin/v1/me")["project"]["id"]
        return self._send(f"/admin/v1/projects/{self._project}/{what}?{urllib.parse.urlencode(query)}")

    def _send(self, path: str, body: dict | None = None) -> dict:
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        try:
            with urllib.request.urlopen(urllib.request.Request(self.url + path, data, headers), timeout=self.timeout) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            raise MnemonError(reason_of(error)) from error
        except OSError as error:
            raise MnemonError(f"can't reach {self.url}: {error}") from error


def reason_of(error: urllib.error.HTTPError) -> str:
    try:
        body = json.load(error)
    except ValueError:
        return f"HTTP {error.code}"
    return body.get("message") or body.get("error_description") or f"HTTP {error.code}"
