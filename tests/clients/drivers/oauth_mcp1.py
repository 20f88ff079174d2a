"""Drives the OAuth code of the Python package `mcp` 1.x, from the first 401 on. Arguments: URL, key."""

import sys

import httpx
from mcp import ClientSession, McpError
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata

import person
import wire
from memory_storage import MemoryStorage


async def main(url: str, key: str) -> None:
    back: dict[str, str] = {}

    async def redirect(authorization_url: str) -> None:
        back.update(person.agree(authorization_url, key))

    async def callback() -> tuple[str, str | None]:
        return back["code"], back.get("state")

    metadata = OAuthClientMetadata(client_name="mnemon-stories", redirect_uris=["http://localhost:3030/callback"])
    provider = OAuthClientProvider(url, metadata, MemoryStorage(), redirect, callback)
    async with (
        httpx.AsyncClient(auth=provider, timeout=30) as http,
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
