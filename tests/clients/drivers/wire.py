"""The line protocol between the stories and a Python client: one JSON request per line in, one JSON answer per line out.

Nothing is judged here. A driver only says what its client saw, so that every client is held to the same stories.
"""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Coroutine

Answer = dict[str, object]


def say(answer: Answer) -> None:
    print(json.dumps(answer), flush=True)


def run(client: Coroutine) -> None:
    """Run a driver; a client that cannot connect is reported like any other observation."""
    try:
        asyncio.run(client)
    except Exception as error:
        say({"failure": describe(error)})


def plain(model) -> Answer:
    """What came over the wire: no defaults that the client's own types would add."""
    return model.model_dump(mode="json", by_alias=True, exclude_unset=True)


async def serve(
    list_tools: Callable[[], Awaitable[Answer]],
    call_tool: Callable[[str, dict], Awaitable[Answer]],
) -> None:
    """Answer requests until the stories close our standard input."""
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if request["op"] == "list":
                say(await list_tools())
            else:
                say(await call_tool(request["name"], request["arguments"]))
        except Exception as error:  # Whatever the client throws is an observation, not a fault of the driver.
            say({"failure": describe(error)})


def describe(error: BaseException) -> str:
    """Name the innermost causes: task groups wrap the interesting error several layers deep."""
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(describe(inner) for inner in error.exceptions)
    return f"{type(error).__name__}: {error}"
