"""A session of PyPI's `mcp` client with the server that the arguments start. Prints one JSON object.

    client.py MODE MODEL PALISADE

MODE is `legacy` (a handshake, as until 2025-11-25) or a protocol version (none, since 2026-07-28). MODEL is one that
waits until it is cancelled.
"""

import json
import sys

import anyio
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError


def told(result):
    return {"error": result.is_error, "text": result.content[0].text}


async def main(mode, model, palisade):
    report = {}
    async with Client(StdioServerParameters(command=palisade, args=["mcp"]), mode=mode) as client:
        report["version"] = client.protocol_version
        tools = (await client.list_tools()).tools
        report["tools"] = {tool.name: tool.annotations.read_only_hint for tool in tools}
        report["allowed"] = told(await client.call_tool("read", {"path": "README.md"}))
        report["refused"] = told(await client.call_tool("read", {"path": "../secret.txt"}))
        try:
            await client.call_tool("write", {"path": "new.txt", "content": "x"})
        except MCPError as error:
            report["unknown"] = error.code

        said = []

        async def hear(progress, total, message):
            said.append([progress, message])

        task = {"task": "where are parcels unloaded?"}
        report["agent"] = told(await client.call_tool("agent_explore", task, progress_callback=hear))
        report["progress"] = said

    waiting = StdioServerParameters(command=palisade, args=["mcp", "--model", model])
    async with Client(waiting, mode=mode) as client:
        with anyio.CancelScope() as scope:

            async def cancel(progress, total, message):
                if message == "step 1":
                    scope.cancel()

            await client.call_tool("agent_explore", {"task": "take your time"}, progress_callback=cancel)
        report["cancelled"] = scope.cancelled_caught
        report["after"] = told(await client.call_tool("ls", {}))
    print(json.dumps(report))


anyio.run(main, *sys.argv[1:])
