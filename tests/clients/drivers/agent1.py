"""Drives the Python package `mcp` 1.x, with the local agent as its stdio server.

Arguments: program, key. The service's address is in MNEMON_URL.
"""

import os
import sys

from mcp import ClientSession, McpError
from mcp.client.stdio import StdioServerParameters, stdio_client

import wire


async def main(program: str, key: str) -> None:
    env = {"MNEMON_URL": os.environ["MNEMON_URL"], "MNEMON_API_KEY": key}
    agent = StdioServerParameters(command=program, args=["agent"], env=env)
    async with stdio_client(agent) as (read, write), ClientSession(read, write) as session:
        wire.say({"connected": (await session.initialize()).protocolVersion})

        async def list_tools() -> wire.Answer:
            return wire.plain(await session.list_tools())

        async def call_tool(name: str, arguments: dict) -> wire.Answer:
            try:
                return {"result": wire.plain(await session.call_tool(name, arguments))}
            except McpError as error:
                return {"error": wire.plain(error.error)}

        await wire.serve(list_tools, call_tool)


wire.run(main(*sys.argv[1:]))
