"""What FastMCP's client sees of the tools, a line of JSON for each address. The argument has the addresses, and the era to ask in."""

import asyncio
import json
import sys

from fastmcp import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from fastmcp.exceptions import ToolError

NAMES = {"First?": "Ada", "Second?": "Alan"}


async def answer(message, response_type, params, context):
    return response_type(name=NAMES[message])


def client_of(address):
    if address["kind"] == "stdio":
        transport = StdioTransport(command=address["command"], args=address["args"], keep_alive=False)
    else:
        transport = StreamableHttpTransport(address["url"], headers=address["headers"])
    return Client(transport, elicitation_handler=answer)


async def start(client, era, tool, args):
    """Calls a tool as a task, and answers the handle that its release has for one."""
    if era == "2025":
        return await client.call_tool(tool, args, task=True)
    from fastmcp_tasks import call_tool_task

    return await call_tool_task(client, tool, args)


async def error_of(awaitable):
    try:
        await awaitable
    except Exception as error:  # What it is differs between the releases; what it says is what a person reads.
        return str(error)
    return None


async def story(client, era):
    seen = {}
    task = await start(client, era, "echo", {"text": "dug"})
    seen["echo"] = (await task.result()).structured_content
    seen["only_task"] = (await (await start(client, era, "only_task", {})).result()).content[0].text
    task = await start(client, era, "asks", {"questions": list(NAMES)})
    seen["asks"] = (await task.result()).structured_content
    for tool in ["throws", "fails", "raises"]:
        seen[tool] = await error_of((await start(client, era, tool, {})).result())

    task = await start(client, era, "hold", {"gate": "fastmcp"})
    seen["working"] = (await task.status()).status
    await task.cancel()
    seen["cancelled"] = (await task.wait(state="cancelled", timeout=20)).status

    plain = await client.call_tool("look", {"gate": "nobody waits here"})
    seen["plain"] = plain.structured_content
    # In the era of 2026 the server makes this a task, which the client follows to its end.
    seen["followed"] = (await client.call_tool("echo", {"text": "dug"})).structured_content
    return seen


def name_tasks_in_headers():
    """
    Over HTTP the specification wants the header Mcp-Name with every request about a task, and a server refuses one
    without. fastmcp-tasks 4.1.4 does not set it; the SDK beneath does, for requests that say which parameter it is.
    """
    from fastmcp_tasks import client_models

    for request in (client_models.GetTaskRequest, client_models.UpdateTaskRequest, client_models.CancelTaskRequest):
        request.name_param = "taskId"


async def main():
    asked = json.loads(sys.argv[1])
    if asked["era"] == "2026":
        name_tasks_in_headers()
    for address in asked["addresses"]:
        async with client_of(address) as client:
            print(json.dumps(await story(client, asked["era"])))


asyncio.run(main())
