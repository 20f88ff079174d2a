"""Drives the Python package `fastmcp` 4.x with its own bearer option. Arguments: URL, key."""

import sys

from fastmcp import Client
from mcp import MCPError

import wire


async def main(url: str, key: str) -> None:
    async with Client(url, auth=key) as client:
        wire.say({"connected": client.protocol_version})

        async def list_tools() -> wire.Answer:
            return wire.plain(await client.list_tools_mcp())

        async def call_tool(name: str, arguments: dict) -> wire.Answer:
            try:
                return {"result": wire.plain(await client.call_tool_mcp(name, arguments))}
            except MCPError as error:
                return {"error": wire.plain(error.error)}

        await wire.serve(list_tools, call_tool)


wire.run(main(*sys.argv[1:]))
