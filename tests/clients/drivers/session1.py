"""Answers the stories through a session of the Python package `mcp` 1.x, however it was connected."""

from mcp import ClientSession, McpError

import wire


async def serve(session: ClientSession) -> None:
    wire.say({"connected": (await session.initialize()).protocolVersion})

    async def list_tools() -> wire.Answer:
        return wire.plain(await session.list_tools())

    async def call_tool(name: str, arguments: dict) -> wire.Answer:
        try:
            return {"result": wire.plain(await session.call_tool(name, arguments))}
        except McpError as error:
            return {"error": wire.plain(error.error)}

    await wire.serve(list_tools, call_tool)
