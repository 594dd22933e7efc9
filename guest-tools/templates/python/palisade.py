"""Makes a Python function a tool: its hints become the schema, its docstring what the model reads.

The first paragraphs of the docstring describe the tool; a line `name: text` is about an argument.
What the function returns is the output; anything but a text is written as JSON. To say that a call
went wrong, raise InvalidInput, Denied or Failed. Any other exception is a failed call with its
traceback.

In the sandbox there is no clock, no true randomness and no file to open: the interpreter was
started when the tool was built, and each call begins where that left off. What the host lends is in
`files`, `storage` and `http`, for a tool whose `capabilities` in plugin.json have `fs.read`,
`storage` or `net.http`, as far as it is granted them.
"""

import dataclasses
import importlib
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

# The powers that plugin.json declares; filled in by `palisade plugins build`.
powers = None


def tool(read_only=False, idempotent=False):
    """Makes the function below it the tool of its file.

    read_only says that it changes nothing, idempotent that calling it twice is as calling it once.
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
            "capabilities": list(powers or ()),
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


# What the host lends, by name. It is imported now: where the tool runs there is no file to import from.
_host = {}
for _name in ("files", "storage", "http"):
    try:
        _host[_name] = importlib.import_module(f"wit_world.imports.{_name}")
    except ImportError:
        pass


def _lent(interface, power):
    """An interface of the host, if the tool was built with it."""
    if interface not in _host:
        raise Failed(f'`"capabilities": ["{power}"]` of the tool in plugin.json would lend it that')
    return _host[interface]


def _asked(what, function, *arguments):
    """Asks the host; what it refuses or cannot do is raised as what a tool raises."""
    try:
        return function(*arguments)
    except Exception as error:
        why = getattr(error, "value", None)
        if why is None:
            raise
        case = type(why).__name__.removeprefix("Error_")
        # `NotADirectory` as `not a directory`.
        words = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in case).strip()
        kind = {"Denied": Denied, "Invalid": InvalidInput}.get(case, Failed)
        raise kind(f"{what}: {getattr(why, 'value', words)}") from None


class Entry(typing.NamedTuple):
    """Something in a folder; its kind is `file`, `directory`, `symlink` or `other`."""

    name: str
    kind: str


class Status(typing.NamedTuple):
    """What a file is; `modified` counts milliseconds since 1970."""

    kind: str
    size: int
    modified: int
    executable: bool


class files:
    """The files that are granted, by paths relative to the workspace. Needs `fs.read`."""

    @staticmethod
    def read(path):
        """The bytes of a file."""
        host, whole = _lent("files", "fs.read"), b""
        while True:
            chunk = _asked(path, host.read, path, len(whole), 1 << 20)
            whole += chunk.bytes
            if not chunk.bytes or len(whole) >= chunk.size:
                return whole

    @staticmethod
    def read_text(path):
        """The text of a file, which is UTF-8."""
        try:
            return files.read(path).decode()
        except UnicodeDecodeError as error:
            raise Failed(f"{path} is no text: {error}") from None

    @staticmethod
    def list(path="."):
        """What is in a folder, sorted by name."""
        listing = _asked(path, _lent("files", "fs.read").list, path)
        return [Entry(entry.name, entry.kind.name.lower()) for entry in listing.entries]

    @staticmethod
    def stat(path):
        """What a file is, without following a link in the last place."""
        status = _asked(path, _lent("files", "fs.read").stat, path)
        return Status(status.kind.name.lower(), status.size, status.modified, status.executable)


class storage:
    """Values that last from one call to the next, in a space of the plugin's own. Needs `storage`."""

    @staticmethod
    def get(key):
        """The bytes that were kept under a key, or None."""
        return _asked(key, _lent("storage", "storage").get, key)

    @staticmethod
    def set(key, value):
        """Keeps bytes, or a text as UTF-8."""
        value = value.encode() if isinstance(value, str) else bytes(value)
        _asked(key, _lent("storage", "storage").set, key, value)

    @staticmethod
    def delete(key):
        """Forgets a key; one that is not there is no error."""
        _asked(key, _lent("storage", "storage").delete, key)

    @staticmethod
    def keys(prefix=""):
        """The keys that begin with a text, sorted."""
        return _asked(prefix, _lent("storage", "storage").keys, prefix)


class Answer(typing.NamedTuple):
    """An answer; the names of its headers are in lower case."""

    status: int
    headers: dict
    body: bytes

    def text(self):
        return self.body.decode(errors="replace")

    def json(self):
        return json.loads(self.body)


class http:
    """Requests to the hosts that are granted. Needs `net.http`, and `hosts` in plugin.json."""

    @staticmethod
    def send(url, method="GET", headers=None, body=b""):
        """Sends a request and waits for the answer. A redirect is an answer like any other."""
        host = _lent("http", "net.http")
        body = body.encode() if isinstance(body, str) else bytes(body)
        answer = _asked(url, host.send, host.Request(method, url, list((headers or {}).items()), body))
        return Answer(answer.status, dict(answer.headers), answer.body)


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
