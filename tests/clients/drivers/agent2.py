"""Drives the Python package `mcp` 2.x, with the local agent as its stdio server.

Arguments: program, key, mode (`auto`, `legacy` or a protocol version). The service's address is in MNEMON_URL.
"""

import os
import sys

from mcp import Client, StdioServerParameters

import session2
import wire


async def main(program: str, key: str, mode: str) -> None:
    env = {"MNEMON_URL": os.environ["MNEMON_URL"], "MNEMON_API_KEY": key}
    agent = StdioServerParameters(command=program, args=["agent"], env=env)
    async with Client(agent, mode=mode) as client:
        await session2.serve(client)


wire.run(main(*sys.argv[1:]))
