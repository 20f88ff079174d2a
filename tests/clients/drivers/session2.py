"""Answers the stories through a client of the Python package `mcp` 2.x, however it was connected."""

from mcp import Client, MCPError

import wire


async def serve(client: Client) -> None:
    wire.say({"connected": client.protocol_version})

    async def list_tools() -> wire.Answer:
        return wire.plain(await client.list_tools())

    async def call_tool(name: str, arguments: dict) -> wire.Answer:
        try:
            return {"result": wire.plain(await client.call_tool(name, arguments))}
        except MCPError as error:
            return {"error": wire.plain(error.error)}

    await wire.serve(list_tools, call_tool)
