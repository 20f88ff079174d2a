"""Drives the Python package `mcp` 1.x, which knows the protocol up to 2025-11-25. Arguments: URL, key."""

import sys

import httpx
from mcp import ClientSession, McpError
from mcp.client.streamable_http import streamable_http_client

import wire


async def main(url: str, key: str) -> None:
    async with (
        httpx.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=30) as http,
        streamable_http_client(url, http_client=http) as (read, write, _session_id),
        ClientSession(read, write) as session,
    ):
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
