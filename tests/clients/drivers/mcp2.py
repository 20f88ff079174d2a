"""Drives the Python package `mcp` 2.x. Arguments: URL, key, mode (`auto`, `legacy` or a protocol version)."""

import sys

import httpx2
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client

import wire


async def main(url: str, key: str, mode: str) -> None:
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=30) as http:
        async with Client(streamable_http_client(url, http_client=http), mode=mode) as client:
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
