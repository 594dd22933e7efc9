from palisade import tool


@tool(read_only=True, idempotent=True)
def {{tool}}(name: str, times: int = 1) -> str:
    """Greets someone by name.

    name: Who to greet.
    times: How often.
    """
    return "\n".join([f"Hello, {name}!"] * times)
