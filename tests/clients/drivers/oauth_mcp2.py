"""Drives the OAuth code of the Python package `mcp` 2.x, from the first 401 on. Arguments: URL, key, mode."""

import sys

import httpx2
from mcp import Client, MCPError
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata

import person
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
