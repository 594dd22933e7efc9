"""A session of PyPI's `mcp` client over HTTP. Prints one JSON object.

    mcp_http.py MODE ADDRESS KEY SLOW_ADDRESS SLOW_KEY

MODE is `legacy` (a handshake, as until 2025-11-25) or a protocol version (none, since 2026-07-28). The agents of the slow
server have a model that waits until it is cancelled.
"""

import json
import sys

import anyio
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_session import ask_agent, cancel_agent, reading, use_tools


async def main(mode, address, key, slow_address, slow_key):
    report = {}

    def reach(path, address=address, key=key):
        http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=60)
        return Client(streamable_http_client(f"http://{address}{path}", http_client=http), mode=mode)

    async with reach("/mcp/explore") as client:
        await use_tools(client, report)
    async with reach("/mcp") as client:
        report["agents"] = await reading(client)
        await ask_agent(client, report)
    async with reach("/mcp", slow_address, slow_key) as client:
        await cancel_agent(client, report)
        report["after"] = len((await client.list_tools()).tools)
    print(json.dumps(report))


anyio.run(main, *sys.argv[1:])
