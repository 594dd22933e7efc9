"""What every session of PyPI's `mcp` client does, however it reaches the server. Filled into a report."""

import anyio
from mcp.shared.exceptions import MCPError


def told(result):
    return {"error": result.is_error, "text": result.content[0].text}


async def reading(client):
    """The tools there are, by whether they only read."""
    return {tool.name: tool.annotations.read_only_hint for tool in (await client.list_tools()).tools}


async def use_tools(client, report):
    report["version"] = client.protocol_version
    report["tools"] = await reading(client)
    report["allowed"] = told(await client.call_tool("read", {"path": "README.md"}))
    report["refused"] = told(await client.call_tool("read", {"path": "../secret.txt"}))
    try:
        await client.call_tool("write", {"path": "new.txt", "content": "x"})
    except MCPError as error:
        report["unknown"] = error.code


async def ask_agent(client, report):
    report["progress"] = []

    async def hear(progress, total, message):
        report["progress"].append([progress, message])

    task = {"task": "where are parcels unloaded?"}
    report["agent"] = told(await client.call_tool("agent_explore", task, progress_callback=hear))


async def cancel_agent(client, report):
    """Its model waits until it is cancelled."""
    with anyio.CancelScope() as scope:

        async def cancel(progress, total, message):
            if message == "step 1":
                scope.cancel()

        await client.call_tool("agent_explore", {"task": "take your time"}, progress_callback=cancel)
    report["cancelled"] = scope.cancelled_caught
