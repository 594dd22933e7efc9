"""What PyPI's `anthropic` client makes of the server. Prints one JSON object.

    anthropic_session.py ADDRESS KEY

The agent's model is a script: it says something, calls a tool, and then answers.
"""

import json
import sys

import anthropic

ADDRESS, KEY = sys.argv[1:]
AGENT = "explore"


def client(key=KEY):
    # What fails is to be seen at once.
    return anthropic.Anthropic(base_url=f"http://{ADDRESS}", api_key=key, max_retries=0)


def failure(ask):
    """How a request fails: the client's own class, and what it read."""
    try:
        ask()
    except anthropic.APIStatusError as error:
        body = error.body if isinstance(error.body, dict) else {}
        return {
            "class": type(error).__name__,
            "shape": body.get("type"),
            "type": body.get("error", {}).get("type"),
            "message": body.get("error", {}).get("message"),
            "media": error.response.headers["content-type"],
        }
    return None


def told(message):
    return {
        "text": "".join(block.text for block in message.content if block.type == "text"),
        "blocks": [block.type for block in message.content],
        "stop": message.stop_reason,
        "usage": [message.usage.input_tokens, message.usage.output_tokens],
    }


def main():
    ask = client()
    question = [{"role": "user", "content": "what is here?"}]
    turns = [
        *question,
        {"role": "assistant", "content": [{"type": "text", "text": "A ferry."}]},
        {"role": "user", "content": [{"type": "text", "text": "and what does it carry?"}]},
        {"role": "system", "content": "Be short."},
    ]

    def message(ask=ask, model=AGENT, messages=question, **more):
        return ask.messages.create(model=model, max_tokens=256, messages=messages, **more)

    with ask.messages.stream(model=AGENT, max_tokens=256, messages=question) as stream:
        pieces = list(stream.text_stream)
        final = stream.get_final_message()
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    report = {
        "models": sorted(model.id for model in ask.models.list()),
        "model": ask.models.retrieve(AGENT).id,
        "message": told(message()),
        "stream": {"pieces": len(pieces), "heard": "".join(pieces), **told(final)},
        "several": told(message(messages=turns, system="Speak of the river.")),
        "failures": {
            "model": failure(lambda: message(model="nobody")),
            "known": failure(lambda: ask.models.retrieve("nobody")),
            "key": failure(lambda: message(client("nonsense"))),
            "stream": failure(lambda: message(client("nonsense"), stream=True)),
            "body": failure(lambda: message(messages=[])),
            "shape": failure(lambda: message(extra_body={"stream": "yes"})),
            "picture": failure(lambda: message(messages=[{"role": "user", "content": [picture]}])),
        },
    }
    print(json.dumps(report))


main()
