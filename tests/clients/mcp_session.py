"""A session of PyPI's `mcp` client over HTTP. Prints one JSON object.

    mcp_session.py MODE ADDRESS KEY SLOW_ADDRESS SLOW_KEY

MODE is `legacy` (a handshake, as until 2025-11-25) or a protocol version (none, since 2026-07-28). The agents of the slow
server have a model that waits until it is cancelled.
"""

import json
import sys

import anyio
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError


def told(result):
    return {"error": result.is_error, "text": result.content[0].text}


async def main(mode, address, key, slow_address, slow_key):
    report = {}

    def reach(path, address=address, key=key):
        http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=60)
        return Client(streamable_http_client(f"http://{address}{path}", http_client=http), mode=mode)

    async with reach("/mcp/explore") as client:
        report["version"] = client.protocol_version
        tools = (await client.list_tools()).tools
        report["tools"] = {tool.name: tool.annotations.read_only_hint for tool in tools}
        report["allowed"] = told(await client.call_tool("read", {"path": "README.md"}))
        report["refused"] = told(await client.call_tool("read", {"path": "../secret.txt"}))
        try:
            await client.call_tool("write", {"path": "new.txt", "content": "x"})
        except MCPError as error:
            report["unknown"] = error.code

    async with reach("/mcp") as client:
        tools = (await client.list_tools()).tools
        report["agents"] = {tool.name: tool.annotations.read_only_hint for tool in tools}
        said = []

        async def hear(progress, total, message):
            said.append([progress, message])

        task = {"task": "where are parcels unloaded?"}
        report["agent"] = told(await client.call_tool("agent_explore", task, progress_callback=hear))
        report["progress"] = said

    async with reach("/mcp", slow_address, slow_key) as client:
        with anyio.CancelScope() as scope:

            async def cancel(progress, total, message):
                if message == "step 1":
                    scope.cancel()

            await client.call_tool("agent_explore", {"task": "take your time"}, progress_callback=cancel)
        report["cancelled"] = scope.cancelled_caught
        report["after"] = len((await client.list_tools()).tools)
    print(json.dumps(report))


anyio.run(main, *sys.argv[1:])
