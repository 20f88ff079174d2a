"""Drives the Python package `mcp` 2.x, with the local agent as its stdio server.

Arguments: program, key, mode (`auto`, `legacy` or a protocol version). The service's address is in MNEMON_URL.
"""

import os
import sys

from mcp import Client, MCPError, StdioServerParameters

import wire


async def main(program: str, key: str, mode: str) -> None:
    env = {"MNEMON_URL": os.environ["MNEMON_URL"], "MNEMON_API_KEY": key}
    agent = StdioServerParameters(command=program, args=["agent"], env=env)
    async with Client(agent, mode=mode) as client:
        wire.say({"connected": client.protocol_version})

        async def list_tools() -> wire.Answer:
            return wire.plain(await client.list_tools())

        async def call_tool(name: str, arguments: dict) -> wire.Answer:
            try:
                return {"result": wire.plain(await client.call_tool(name, arguments))}
            except MCPError as error:
                return {"error": wire.plain(error.error)}

        await wire.serve(list_tools, call_tool)


wire.run(main(*sys.argv[1:]))
