"""The stories that every client must pass. Expectations are stated here once; drivers only report what they saw."""

import json
import secrets

from .conversation import Conversation
from .report import expect, expect_equal

# Prefix of every word the stories store, so that one search of the server's log shows whether any of them leaked.
WORD_PREFIX = "zqstory"

# name, title, then the hints: read-only, destructive, idempotent, open world.
TOOLS = [
    ("remember", "Save memory", False, False, False, False),
    ("search", "Search memories", True, False, True, False),
    ("forget", "Delete memory", False, True, False, False),
    ("validate_memory", "Check memory freshness", True, False, True, False),
    ("gateway_call", "Call a connected integration", False, False, False, True),
]
AGENT_TOOL = ("agent_sync_status", None, True, None, True, None)
STATUS_FIELDS = [
    "consent", "server", "reachable", "sessions_found", "sessions_synced", "bytes_pending", "last_sync_at", "last_error",
]
HINTS = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"]
RECORD_FIELDS = ["id", "workspace", "scope", "content", "fact_key", "status"]


def lists_the_tools(client: Conversation) -> None:
    expect_tools(client, [row for row in TOOLS if not client.by_oauth or row[0] != "gateway_call"])


def lists_the_tools_and_the_agents_own(client: Conversation) -> None:
    expect_tools(client, [*TOOLS, AGENT_TOOL])


def asks_how_far_the_sync_has_come(client: Conversation) -> None:
    result = client.result_of("agent_sync_status", {})
    expect(not result.get("isError"), f"agent_sync_status failed: {json.dumps(result)}")
    status = result["structuredContent"]
    expect_equal(list(status), STATUS_FIELDS, "the fields of the status")
    expect_equal(json.loads(result["content"][0]["text"]), status, "the JSON in the text")
    seen = (status["consent"], status["reachable"], status["sessions_found"])
    expect_equal(seen, (False, True, 0), "consent, reachable and sessions found")


def expect_tools(client: Conversation, expected: list[tuple]) -> None:
    tools = client.list_tools()
    expect_equal([tool["name"] for tool in tools], [row[0] for row in expected], "the list of tools")
    for tool, (name, title, *hints) in zip(tools, expected, strict=True):
        annotations = tool.get("annotations", {})
        expect_equal({hint: annotations.get(hint) for hint in HINTS}, dict(zip(HINTS, hints, strict=True)), f"annotations of {name}")
        # Clients of different ages look for the title in different places, so both have to hold it.
        expect_equal(tool.get("title"), title, f"title of {name}")
        expect_equal(annotations.get("title"), title, f"annotations.title of {name}")
        expect(bool(tool.get("description")), f"{name} has no description")
        expect_equal(tool["inputSchema"].get("type"), "object", f"type of the input schema of {name}")


def keeps_finds_checks_and_forgets(client: Conversation) -> None:
    """The whole life of a record, as an assistant would use it."""
    # A word that no other record has: all clients share one project, and none may lean on another's records.
    word = WORD_PREFIX + secrets.token_hex(6)
    source = f"notes/{word}.md"
    content = f"The staging database is called {word} and listens on port 5433"

    saved = client.succeed("remember", {"content": content, "source_id": source, "source_hash": "hash-1"})
    expect_equal(list(saved)[:6], RECORD_FIELDS, "the first fields of a saved record")
    wanted = {"workspace": "default", "scope": "shared", "content": content, "status": "unverified", "searchable": True}
    expect_equal({field: saved.get(field) for field in wanted}, wanted, "the saved record")

    found = find(client, word, saved["id"])
    expect(found is not None, "search does not find the record that was just saved")
    expect_equal(list(found)[:7], [*RECORD_FIELDS, "score"], "the first fields of a found record")
    expect_equal(found["content"], content, "content of the found record")
    expect(0 < found["score"] <= 1, f"score is {found['score']}, expected it in (0, 1]")

    fresh = client.succeed("validate_memory", {"source_id": source, "current_source_hash": "hash-1"})
    counts = {"source_id": source, "checked": 1, "verified_count": 1, "stale_count": 0, "stale_ids": [], "conflict_count": 0}
    expect_equal({field: fresh.get(field) for field in counts}, counts, "validate_memory with the same hash")
    expect_equal(find(client, word, saved["id"])["status"], "verified", "status after validation")

    changed = client.succeed("validate_memory", {"source_id": source, "current_source_hash": "hash-2"})
    counts = {"checked": 1, "verified_count": 0, "stale_count": 1, "stale_ids": [saved["id"]]}
    expect_equal({field: changed.get(field) for field in counts}, counts, "validate_memory with another hash")
    expect_equal(find(client, word, saved["id"])["status"], "stale", "status after the source changed")
    expect(find(client, word, saved["id"], exclude_stale=True) is None, "exclude_stale lets a stale record through")

    forgotten = client.succeed("forget", {"memory_id": saved["id"]})
    expect_equal((forgotten.get("forgotten"), forgotten.get("memory_ids")), (1, [saved["id"]]), "the answer of forget")
    expect(find(client, word, saved["id"]) is None, "search still finds the forgotten record")
    client.fail("forget", {"memory_id": saved["id"]}, f"memory '{saved['id']}' not found")


def sees_why_a_save_failed(client: Conversation) -> None:
    client.fail("remember", {"content": ""}, "content must not be empty")
    client.fail("remember", {"content": "x", "source_hash": "h"}, "source_id is required when source_hash is provided")


def is_refused_an_unknown_tool(client: Conversation) -> None:
    answer = client.call("no_such_tool", {})
    expect("error" in answer, f"expected a JSON-RPC error, the client saw {json.dumps(answer)}")
    expect_equal(answer["error"]["code"], -32602, "error code")
    # Some clients put words of their own in front of the server's.
    expect(answer["error"]["message"].endswith("Unknown tool: no_such_tool"), f"error message is {answer['error']['message']!r}")


def find(client: Conversation, word: str, record_id: str, **filters: object) -> dict | None:
    """The record if a search for its word returns it. It has to come first: nothing else has the word."""
    result = client.succeed("search", {"query": word, **filters})["result"]
    ids = [record["id"] for record in result]
    expect(record_id not in ids or ids[0] == record_id, "a record without the word ranks above the one that has it")
    return result[0] if record_id in ids else None
