"""Reads tools and questions from standard input, and prints what FastMCP's search finds for each question."""

import asyncio
import json
import sys

from fastmcp.server.transforms.search import BM25SearchTransform
from fastmcp.tools import Tool


def nothing() -> None:
    """A body that is never called."""


async def main() -> None:
    found = []
    for api in json.load(sys.stdin):
        tools = []
        for each in api["tools"]:
            tool = Tool.from_function(nothing, name=each["name"][:128], description=each["description"] or each["name"])
            tools.append(tool.model_copy(update={"parameters": each["inputSchema"]}))
        search = BM25SearchTransform(max_results=api["first"])
        found.append([[tool.name for tool in await search._search(tools, question)] for question in api["questions"]])
    print(json.dumps(found))


asyncio.run(main())
