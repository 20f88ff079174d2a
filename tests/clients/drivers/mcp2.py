"""Drives the Python package `mcp` 2.x. Arguments: URL, key, mode (`auto`, `legacy` or a protocol version)."""

import sys

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

import session2
import wire


async def main(url: str, key: str, mode: str) -> None:
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=30) as http:
        async with Client(streamable_http_client(url, http_client=http), mode=mode) as client:
            await session2.serve(client)


wire.run(main(*sys.argv[1:]))
