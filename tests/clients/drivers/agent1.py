"""Drives the Python package `mcp` 1.x, with the local agent as its stdio server.

Arguments: program, key. The service's address is in MNEMON_URL.
"""

import os
import sys

from mcp import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client

import session1
import wire


async def main(program: str, key: str) -> None:
    env = {"MNEMON_URL": os.environ["MNEMON_URL"], "MNEMON_API_KEY": key}
    agent = StdioServerParameters(command=program, args=["agent"], env=env)
    async with stdio_client(agent) as (read, write), ClientSession(read, write) as session:
        await session1.serve(session)


wire.run(main(*sys.argv[1:]))
