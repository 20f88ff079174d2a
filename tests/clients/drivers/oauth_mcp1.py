"""Drives the OAuth code of the Python package `mcp` 1.x, from the first 401 on. Arguments: URL, key."""

import sys

import httpx
from mcp import ClientSession
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata

import person
import session1
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
        await session1.serve(session)


wire.run(main(*sys.argv[1:]))
