"""A session of PyPI's `mcp` client with the server that the arguments start. Prints one JSON object.

    mcp_stdio.py MODE MODEL PALISADE

MODE is `legacy` (a handshake, as until 2025-11-25) or a protocol version (none, since 2026-07-28). MODEL is one that
waits until it is cancelled.
"""

import json
import sys

import anyio
from mcp import Client, StdioServerParameters
from mcp_session import ask_agent, cancel_agent, told, use_tools


async def main(mode, model, palisade):
    report = {}
    async with Client(StdioServerParameters(command=palisade, args=["mcp"]), mode=mode) as client:
        await use_tools(client, report)
        await ask_agent(client, report)
    waiting = StdioServerParameters(command=palisade, args=["mcp", "--model", model])
    async with Client(waiting, mode=mode) as client:
        await cancel_agent(client, report)
        report["after"] = told(await client.call_tool("ls", {}))
    print(json.dumps(report))


anyio.run(main, *sys.argv[1:])
