"""What PyPI's clients make of an agent that fails, and of a tenant that asks too often. Prints one JSON object.

    broken.py PACKAGE ADDRESS KEY

PACKAGE is `openai` or `anthropic`; the agent's model says something and then fails.
"""

import importlib
import json
import sys

PACKAGE, ADDRESS, KEY = sys.argv[1:]
sdk = importlib.import_module(PACKAGE)
QUESTION = {"model": "explore", "messages": [{"role": "user", "content": "what is here?"}]}

if PACKAGE == "openai":
    create = sdk.OpenAI(base_url=f"http://{ADDRESS}/v1", api_key=KEY, max_retries=0).chat.completions.create
else:
    create = sdk.Anthropic(base_url=f"http://{ADDRESS}", api_key=KEY, max_retries=0).messages.create
    QUESTION["max_tokens"] = 256


def failure(ask):
    try:
        ask()
    except sdk.APIError as error:
        response = getattr(error, "response", None)
        after = response.headers.get("retry-after") if response is not None else None
        return {"class": type(error).__name__, "text": str(error), "after": after}
    return None


report = {
    "whole": failure(lambda: create(**QUESTION)),
    "stream": failure(lambda: list(create(**QUESTION, stream=True))),
    "often": failure(lambda: create(**QUESTION)),
}
print(json.dumps(report))
