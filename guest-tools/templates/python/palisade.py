"""Makes a Python function a tool: its hints become the schema, its docstring what the model reads.

The first paragraphs of the docstring describe the tool; a line `name: text` is about an argument.
What the function returns is the output; anything but a text is written as JSON. To say that a call
went wrong, raise InvalidInput, Denied or Failed. Any other exception is a failed call with its
traceback.

In the sandbox there is no clock, no true randomness and no file to open: the interpreter was
started when the tool was built, and each call begins where that left off.
"""

import dataclasses
import inspect
import json
import linecache
import types
import typing


class Failure(Exception):
    """Why a call gave no output; the model reads the text."""


class InvalidInput(Failure):
    """The input makes no sense; the model can correct it."""


class Denied(Failure):
    """Something the call needed was not granted."""


class Failed(Failure):
    """The call was tried and did not work."""


@dataclasses.dataclass
class _Tool:
    function: typing.Callable
    hints: dict
    defaults: dict
    description: dict


_tool = None


def tool(needs=(), read_only=False, idempotent=False):
    """Makes the function below it the tool of its file.

    needs has the powers that it cannot do without, such as "fs.read"; read_only says that it
    changes nothing, idempotent that calling it twice is as calling it once.
    """

    def make(function):
        global _tool
        if _tool is not None:
            raise TypeError(f"a file has one tool; {_tool.function.__name__} is one already")
        hints = typing.get_type_hints(function)
        hints.pop("return", None)
        parameters = inspect.signature(function).parameters
        for name in parameters:
            if name not in hints:
                raise TypeError(f"the argument {name} of {function.__name__} has no type; write `{name}: str`")
        defaults = {
            name: parameter.default
            for name, parameter in parameters.items()
            if parameter.default is not inspect.Parameter.empty
        }
        text, about = _read_docstring(inspect.getdoc(function) or "", parameters)
        if not text:
            raise TypeError(f"{function.__name__} has no docstring; the model has to know what it does")
        schema = {
            "type": "object",
            "properties": {
                name: _schema(hint) | ({"description": about[name]} if name in about else {})
                for name, hint in hints.items()
            },
            "required": [name for name, hint in hints.items() if name not in defaults and not _may_be_none(hint)],
            "additionalProperties": False,
        }
        description = {
            "name": function.__name__,
            "description": text,
            "input_schema": json.dumps(schema),
            "capabilities": list(needs),
            "read_only": read_only,
            "idempotent": idempotent,
        }
        _tool = _Tool(function, hints, defaults, description)
        # Kept for tracebacks: where the tool runs there is no file to read them from.
        linecache.getlines(inspect.getfile(function))
        return function

    return make


def _read_docstring(text, parameters):
    rest, about, last = [], {}, None
    for line in text.splitlines():
        name, colon, words = line.strip().partition(":")
        if colon and name in parameters:
            about[name], last = words.strip(), name
        elif last and line.strip() and line.startswith(" "):
            about[last] += " " + line.strip()
        elif line.strip() not in ("Args:", "Arguments:"):
            rest.append(line)
            last = None
    return "\n".join(rest).strip(), about


_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", list: "array", dict: "object"}


def _may_be_none(hint):
    return type(None) in typing.get_args(hint)


def _schema(hint):
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint in _PLAIN:
        return {"type": _PLAIN[hint]}
    if hint is typing.Any:
        return {}
    if origin is typing.Literal:
        return {"enum": list(arguments)}
    if origin is list:
        return {"type": "array", "items": _schema(arguments[0])}
    if origin is dict and arguments[0] is str:
        return {"type": "object", "additionalProperties": _schema(arguments[1])}
    if origin in (typing.Union, types.UnionType):
        kinds = [_schema(kind) for kind in arguments if kind is not type(None)]
        return kinds[0] if len(kinds) == 1 else {"anyOf": kinds}
    raise TypeError(f"{hint} has no JSON Schema; use str, int, float, bool, list[…], dict[str, …], Literal or … | None")


def _fits(value, hint):
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is typing.Any:
        return True
    if hint is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if origin is typing.Literal:
        return value in arguments
    if origin is list:
        return isinstance(value, list) and all(_fits(item, arguments[0]) for item in value)
    if origin is dict:
        return isinstance(value, dict) and all(_fits(item, arguments[1]) for item in value.values())
    if origin in (typing.Union, types.UnionType):
        return any(_fits(value, kind) for kind in arguments)
    return isinstance(value, hint)


def _arguments(text):
    try:
        given = json.loads(text)
    except ValueError as error:
        raise InvalidInput(f"the input is not JSON: {error}") from None
    if not isinstance(given, dict):
        raise InvalidInput("the input is no JSON object")
    # Models write null for what they leave out.
    given = {name: value for name, value in given.items() if value is not None}
    for name in given:
        if name not in _tool.hints:
            raise InvalidInput(f"there is no `{name}`; there are {', '.join(_tool.hints) or 'no arguments'}")
    for name, hint in _tool.hints.items():
        if name not in given and name not in _tool.defaults:
            if not _may_be_none(hint):
                raise InvalidInput(f"`{name}` is missing")
            given[name] = None
        elif name in given and not _fits(given[name], hint):
            raise InvalidInput(f"`{name}` must be {json.dumps(_schema(hint))}")
    return given


def _traceback(error):
    """The innermost calls with their source lines; nothing of this file."""
    rows, step = [], error.__traceback__
    while step is not None:
        code, line = step.tb_frame.f_code, step.tb_lineno
        if code.co_filename != __file__:
            rows.append(f"  {code.co_filename.removeprefix('/0/')}:{line}, in {code.co_name}")
            cached = linecache.cache.get(code.co_filename)
            if cached and len(cached) == 4 and 0 < line <= len(cached[2]):
                rows.append(f"    {cached[2][line - 1].strip()}")
        step = step.tb_next
    return "\n".join([f"{type(error).__name__}: {error}"] + rows[-12:])


def call(text):
    """Calls the tool of this component with a JSON object."""
    output = _tool.function(**_arguments(text))
    return output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)


try:
    import wit_world.exports.tool as _world
    from componentize_py_types import Err
except ImportError:
    # An ordinary Python, where the functions can be tested as they are.
    pass
else:

    class Tool:
        """What the component exports."""

        def describe(self):
            return _world.Description(**_tool.description)

        def call(self, input):
            try:
                return call(input)
            except InvalidInput as error:
                raise Err(_world.Failure_InvalidInput(str(error)))
            except Denied as error:
                raise Err(_world.Failure_Denied(str(error)))
            except Failed as error:
                raise Err(_world.Failure_Failed(str(error)))
            except Exception as error:
                raise Err(_world.Failure_Failed(_traceback(error)))
