"""Drives the OAuth code of the Python package `mcp` 2.x, from the first 401 on. Arguments: URL, key, mode."""

import sys

import httpx2
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata

import person
import session2
import wire
from memory_storage import MemoryStorage


async def main(url: str, key: str, mode: str) -> None:
    back: dict[str, str] = {}

    async def redirect(authorization_url: str) -> None:
        back.update(person.agree(authorization_url, key))

    async def callback() -> AuthorizationCodeResult:
        return AuthorizationCodeResult(code=back["code"], state=back.get("state"), iss=back.get("iss"))

    metadata = OAuthClientMetadata(client_name="mnemon-stories", redirect_uris=["http://localhost:3030/callback"])
    provider = OAuthClientProvider(url, metadata, MemoryStorage(), redirect, callback)
    async with httpx2.AsyncClient(auth=provider, timeout=30) as http:
        async with Client(streamable_http_client(url, http_client=http), mode=mode) as client:
            await session2.serve(client)


wire.run(main(*sys.argv[1:]))
