"""What PyPI's `openai` client makes of the server. Prints one JSON object.

    openai_session.py ADDRESS KEY

The agent's model is a script: it says something, calls a tool, and then answers.
"""

import json
import sys

import openai

ADDRESS, KEY = sys.argv[1:]
AGENT = "explore"


def client(key=KEY):
    # What fails is to be seen at once.
    return openai.OpenAI(base_url=f"http://{ADDRESS}/v1", api_key=key, max_retries=0)


def failure(ask):
    """How a request fails: the client's own class, and what it read."""
    try:
        ask()
    except openai.APIStatusError as error:
        body = error.body or {}
        return {
            "class": type(error).__name__,
            "type": body.get("type"),
            "code": body.get("code"),
            "message": body.get("message"),
            "media": error.response.headers["content-type"],
        }
    return None


def usage(told):
    return [told.prompt_tokens, told.completion_tokens, told.total_tokens]


def chat(ask, **more):
    return ask.chat.completions.create(model=AGENT, messages=[{"role": "user", "content": "what is here?"}], **more)


def streamed(ask):
    chunks = list(chat(ask, stream=True, stream_options={"include_usage": True}))
    choices = [chunk.choices[0] for chunk in chunks if chunk.choices]
    return {
        "text": "".join(choice.delta.content or "" for choice in choices),
        "pieces": len([choice for choice in choices if choice.delta.content]),
        "tool_calls": [str(choice.delta.tool_calls) for choice in choices if choice.delta.tool_calls],
        "finish": [choice.finish_reason for choice in choices if choice.finish_reason],
        "usage": [usage(chunk.usage) for chunk in chunks if chunk.usage],
        "ids": len({chunk.id for chunk in chunks}),
    }


def responded(ask):
    first = ask.responses.create(model=AGENT, input="what is here?", instructions="Be short.")
    with ask.responses.stream(model=AGENT, input="and what else?", previous_response_id=first.id) as stream:
        kinds = [event.type for event in stream]
        second = stream.get_final_response()
    return {
        "text": first.output_text,
        "items": [item.type for item in first.output],
        "status": first.status,
        "usage": [first.usage.input_tokens, first.usage.output_tokens, first.usage.total_tokens],
        "streamed": second.output_text,
        "follows": second.previous_response_id == first.id,
        "kinds": sorted(set(kinds)),
        "last": kinds[-1],
        "run": second.id.removeprefix("resp_"),
    }


def main():
    ask = client()
    whole = chat(ask)
    turns = [
        {"role": "system", "content": "Speak of the river."},
        {"role": "user", "content": "what is here?"},
        {"role": "assistant", "content": "A ferry."},
        {"role": "user", "content": [{"type": "text", "text": "and what does it carry?"}]},
    ]
    several = ask.chat.completions.create(model=AGENT, messages=turns, store=True)
    picture = [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]
    report = {
        "models": sorted(model.id for model in ask.models.list()),
        "model": ask.models.retrieve(AGENT).id,
        "chat": {
            "text": whole.choices[0].message.content,
            "tool_calls": whole.choices[0].message.tool_calls,
            "finish": whole.choices[0].finish_reason,
            "usage": usage(whole.usage),
        },
        "stream": streamed(ask),
        "several": several.id.removeprefix("chatcmpl-"),
        "responses": responded(ask),
        "failures": {
            "model": failure(lambda: ask.chat.completions.create(model="nobody", messages=turns)),
            "known": failure(lambda: ask.models.retrieve("nobody")),
            "response": failure(lambda: ask.responses.create(model=AGENT, input="x", previous_response_id="resp_x")),
            "key": failure(lambda: chat(client("nonsense"))),
            "stream": failure(lambda: chat(client("nonsense"), stream=True)),
            "body": failure(lambda: ask.chat.completions.create(model=AGENT, messages=[])),
            "shape": failure(lambda: chat(ask, extra_body={"stream": "yes"})),
            "picture": failure(lambda: ask.responses.create(model=AGENT, input=[{"role": "user", "content": picture}])),
        },
    }
    print(json.dumps(report))


main()
