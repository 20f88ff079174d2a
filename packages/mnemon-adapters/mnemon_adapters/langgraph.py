"""A LangGraph store whose items are Mnemon's records."""

import asyncio
import json
from collections.abc import Iterable
from datetime import datetime
from urllib.parse import unquote

from langgraph.store.base import BaseStore, GetOp, Item, ListNamespacesOp, MatchCondition, Op, PutOp, Result, SearchItem, SearchOp

from mnemon_adapters.client import Mnemon

# The service's limits, and what one search returns at most.
WORKSPACE_CHARS_MAX = 64
KEY_CHARS_MAX = 128
HITS_MAX = 50


class MnemonStore(BaseStore):
    def __init__(self, url: str | None = None, key: str | None = None) -> None:
        super().__init__()
        self.mnemon = Mnemon(url, key)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        return [self._do(op) for op in ops]

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return await asyncio.to_thread(self.batch, list(ops))

    def _do(self, op: Op) -> Result:
        match op:
            case GetOp(namespace=namespace, key=key):
                record = self.mnemon.find(workspace_of(namespace), key)
                return None if record is None else Item(**fields(record))
            case PutOp():
                return self._put(op)
            case SearchOp():
                return self._search(op)
            case ListNamespacesOp():
                return self._list(op)
        raise ValueError(f"unknown operation {type(op).__name__}")

    def _put(self, op: PutOp) -> None:
        if op.ttl is not None:
            raise NotImplementedError("Mnemon forgets nothing by itself: ttl is not supported")
        workspace, key = workspace_of(op.namespace), checked_key(op.key)
        if op.value is None:
            self.mnemon.call("forget", source_id=key, workspace=workspace)
        else:
            self.mnemon.replace(workspace, key, json.dumps(op.value, ensure_ascii=False))

    def _search(self, op: SearchOp) -> list[SearchItem]:
        wanted = op.offset + op.limit
        found: list[SearchItem] = []
        for workspace in self.mnemon.workspaces():
            namespace = namespace_of(workspace)
            if namespace[: len(op.namespace_prefix)] != tuple(op.namespace_prefix):
                continue
            if op.query:
                # A filter is applied here, so the best are asked for and not only as many as are wanted.
                limit = HITS_MAX if op.filter else min(wanted, HITS_MAX)
                records: Iterable[dict] = self.mnemon.search(workspace, op.query, limit=limit)
            else:
                records = self.mnemon.records(workspace)
            items = (SearchItem(**fields(record), score=record.get("score")) for record in records if is_item(record))
            found += [item for item in items if matches(item.value, op.filter or {})]
        # Scores have one scale in all workspaces.
        found.sort(key=lambda item: (item.score or 0, item.updated_at), reverse=True)
        return found[op.offset : wanted]

    def _list(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        conditions = op.match_conditions or ()
        names = [namespace_of(workspace) for workspace in self.mnemon.workspaces()]
        names = [name for name in names if all(fits(name, condition) for condition in conditions)]
        if op.max_depth is not None:
            names = [name[: op.max_depth] for name in names]
        return sorted(set(names))[op.offset : op.offset + op.limit]


def workspace_of(namespace: tuple[str, ...]) -> str:
    # A slash inside a label is escaped, so that namespaces never meet.
    workspace = "/".join(label.replace("%", "%25").replace("/", "%2F") for label in namespace)
    if len(workspace) > WORKSPACE_CHARS_MAX:
        raise ValueError(f"namespace {workspace!r} is {len(workspace)} characters long; the limit is {WORKSPACE_CHARS_MAX}")
    return workspace


def namespace_of(workspace: str) -> tuple[str, ...]:
    return tuple(unquote(label) for label in workspace.split("/"))


def checked_key(key: str) -> str:
    if len(key) > KEY_CHARS_MAX:
        raise ValueError(f"key {key!r} is {len(key)} characters long; the limit is {KEY_CHARS_MAX}")
    return key


def is_item(record: dict) -> bool:
    """Other clients save plain sentences into the same workspaces."""
    try:
        return isinstance(json.loads(record["content"]), dict)
    except ValueError:
        return False


def fields(record: dict) -> dict:
    made = record["created_at"]
    return {
        "value": json.loads(record["content"]),
        "key": record["fact_key"],
        "namespace": namespace_of(record["workspace"]),
        "created_at": moment(made),
        "updated_at": moment(record.get("updated_at", made)),
    }


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def matches(value: dict, wanted: dict) -> bool:
    return all(compares(value.get(name), condition) for name, condition in wanted.items())


def compares(value: object, condition: object) -> bool:
    if not isinstance(condition, dict) or not any(name.startswith("$") for name in condition):
        return value == condition
    return all(OPERATORS[name](value, other) for name, other in condition.items())


OPERATORS = {
    "$eq": lambda value, other: value == other,
    "$ne": lambda value, other: value != other,
    "$gt": lambda value, other: value is not None and value > other,
    "$gte": lambda value, other: value is not None and value >= other,
    "$lt": lambda value, other: value is not None and value < other,
    "$lte": lambda value, other: value is not None and value <= other,
}


def fits(namespace: tuple[str, ...], condition: MatchCondition) -> bool:
    path = tuple(condition.path)
    if len(path) > len(namespace):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", label) for label, wanted in zip(part, path, strict=True))
