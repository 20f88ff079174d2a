"""Drives the Python package `mcp` 1.x, which knows the protocol up to 2025-11-25. Arguments: URL, key."""

import sys

import httpx
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

import session1
import wire


async def main(url: str, key: str) -> None:
    async with (
        httpx.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=30) as http,
        streamable_http_client(url, http_client=http) as (read, write, _session_id),
        ClientSession(read, write) as session,
    ):
        await session1.serve(session)


wire.run(main(*sys.argv[1:]))
