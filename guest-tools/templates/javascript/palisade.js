// Makes an object with a schema and a function a tool.
//
// `input` has a JSON Schema for each property; one without a `default` and without `optional: true` must be
// given. What `call` returns is the output; anything but a text is written as JSON. To say that a call went
// wrong, throw InvalidInput, Denied or Failed. Any other error is a failed call with its stack.
//
// In the sandbox there is no clock and no true randomness: the interpreter was started when the tool was built,
// and each call begins where that left off. What the host lends is in `files`, `storage` and `http`, for a tool
// whose `capabilities` in plugin.json have `fs.read`, `storage` or `net.http`, as far as it is granted them.

class Failure extends Error {}

/** The input makes no sense; the model can correct it. */
export class InvalidInput extends Failure {
  tag = "invalid-input";
}

/** Something the call needed was not granted. */
export class Denied extends Failure {
  tag = "denied";
}

/** The call was tried and did not work. */
export class Failed extends Failure {
  tag = "failed";
}

/** Makes a tool: the only thing that a file in `tools/` exports. */
export function tool({ name, description, readOnly = false, idempotent = false, input = {}, call }) {
  if (!name || !description || typeof call !== "function") {
    throw new TypeError("a tool has a `name`, a `description` and a function `call`");
  }
  const isGiven = (property) => !property.optional && property.default === undefined;
  const properties = Object.fromEntries(
    Object.entries(input).map(([key, { optional, ...property }]) => [key, property]),
  );
  const required = Object.keys(input).filter((key) => isGiven(input[key]));
  const schema = { type: "object", properties, required, additionalProperties: false };

  return {
    describe() {
      return {
        name,
        description,
        inputSchema: JSON.stringify(schema),
        capabilities: globalThis.palisadePowers ?? [],
        readOnly,
        idempotent,
      };
    },
    call(text) {
      try {
        const output = call(read(text, input, required));
        return typeof output === "string" ? output : JSON.stringify(output);
      } catch (error) {
        if (error instanceof Failure) throw { tag: error.tag, val: error.message };
        throw { tag: "failed", val: explain(error) };
      }
    },
  };
}

function read(text, input, required) {
  let given;
  try {
    given = JSON.parse(text);
  } catch (error) {
    throw new InvalidInput(`the input is not JSON: ${error.message}`);
  }
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw new InvalidInput("the input is no JSON object");
  }
  const values = {};
  for (const [key, value] of Object.entries(given)) {
    if (!Object.hasOwn(input, key)) {
      throw new InvalidInput(`there is no \`${key}\`; there are ${Object.keys(input).join(", ") || "none"}`);
    }
    // Models write null for what they leave out.
    if (value === null) continue;
    const { type } = input[key];
    if (type && !isA(value, type)) throw new InvalidInput(`\`${key}\` must be of the type ${type}`);
    values[key] = value;
  }
  for (const key of required) {
    if (!(key in values)) throw new InvalidInput(`\`${key}\` is missing`);
  }
  for (const [key, property] of Object.entries(input)) {
    if (!(key in values) && property.default !== undefined) values[key] = property.default;
  }
  return values;
}

function isA(value, type) {
  switch (type) {
    case "array":
      return Array.isArray(value);
    case "integer":
      return Number.isInteger(value);
    case "object":
      return typeof value === "object" && !Array.isArray(value);
    default:
      return typeof value === type;
  }
}

/** An interface of the host, if the tool was built with it. */
function lent(name, power) {
  const host = globalThis.palisadeHost?.[name];
  if (host) return host;
  throw new Failed(`\`"capabilities": ["${power}"]\` of the tool in plugin.json would lend it that`);
}

/** Asks the host; what it refuses or cannot do is thrown as what a tool throws. */
function asked(what, ask) {
  try {
    return ask();
  } catch (error) {
    const why = error?.payload;
    if (why?.tag === undefined) throw error;
    const text = `${what}: ${why.val ?? why.tag.replaceAll("-", " ")}`;
    if (why.tag === "denied") throw new Denied(text);
    throw why.tag === "invalid" ? new InvalidInput(text) : new Failed(text);
  }
}

const bytesOf = (value) => (typeof value === "string" ? encode(value) : Uint8Array.from(value));

/** The files that are granted, by paths relative to the workspace. Needs `fs.read`. */
export const files = {
  /** The bytes of a file. */
  read(path) {
    const host = lent("files", "fs.read");
    let whole = new Uint8Array(0);
    for (;;) {
      const { bytes, size } = asked(path, () => host.read(path, whole.length, 1 << 20));
      const longer = new Uint8Array(whole.length + bytes.length);
      longer.set(whole);
      longer.set(bytes, whole.length);
      whole = longer;
      if (bytes.length === 0 || whole.length >= size) return whole;
    }
  },
  /** The text of a file; what is not UTF-8 in it becomes U+FFFD. */
  readText(path) {
    return decode(files.read(path));
  },
  /** What is in a folder, sorted by name: `{ name, kind }`, a kind being file, directory, symlink or other. */
  list(path = ".") {
    return asked(path, () => lent("files", "fs.read").list(path)).entries;
  },
  /** `{ kind, size, modified, executable }`, without following a link in the last place. */
  stat(path) {
    return asked(path, () => lent("files", "fs.read").stat(path));
  },
};

/** Values that last from one call to the next, in a space of the plugin's own. Needs `storage`. */
export const storage = {
  /** The bytes that were kept under a key, or null. */
  get(key) {
    return asked(key, () => lent("storage", "storage").get(key)) ?? null;
  },
  /** The same as a text, or null. */
  getText(key) {
    const bytes = storage.get(key);
    return bytes === null ? null : decode(bytes);
  },
  /** Keeps bytes, or a text as UTF-8. */
  set(key, value) {
    asked(key, () => lent("storage", "storage").set(key, bytesOf(value)));
  },
  /** Forgets a key; one that is not there is no error. */
  delete(key) {
    asked(key, () => lent("storage", "storage").delete(key));
  },
  /** The keys that begin with a text, sorted. */
  keys(prefix = "") {
    return asked(prefix, () => lent("storage", "storage").keys(prefix));
  },
};

/** Requests to the hosts that are granted. Needs `net.http`, and `hosts` in plugin.json. */
export const http = {
  /** Sends a request and waits for the answer. A redirect is an answer like any other. */
  send(url, { method = "GET", headers = {}, body = "" } = {}) {
    const request = { method, url, headers: Object.entries(headers), body: bytesOf(body) };
    const answer = asked(url, () => lent("http", "net.http").send(request));
    return {
      status: answer.status,
      headers: Object.fromEntries(answer.headers),
      body: answer.body,
      text: () => decode(answer.body),
      json: () => JSON.parse(decode(answer.body)),
    };
  },
};

function encode(text) {
  const escaped = encodeURIComponent(text.toWellFormed?.() ?? text);
  const bytes = escaped.match(/%..|[^%]/g) ?? [];
  return Uint8Array.from(bytes, (piece) => (piece.length === 3 ? parseInt(piece.slice(1), 16) : piece.charCodeAt(0)));
}

function decode(bytes) {
  let text = "";
  for (let at = 0; at < bytes.length; ) {
    const first = bytes[at];
    const length = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    let code = length === 1 ? first : first & (0xff >> (length + 1));
    let read = 1;
    while (read < length && (bytes[at + read] & 0xc0) === 0x80) code = (code << 6) | (bytes[at + read++] & 0x3f);
    const least = [0, 0, 0x80, 0x800, 0x10000][length];
    const isWhole =
      read === length && (first < 0x80 || first >= 0xc2) && first < 0xf8 && code >= least && code <= 0x10ffff && code >> 11 !== 0x1b;
    text += isWhole ? String.fromCodePoint(code) : "\ufffd";
    at += isWhole ? length : 1;
  }
  return text;
}

// Filled in by `palisade plugins build`: the files of the tool by name, for the lines of a stack.
const sources = globalThis.palisadeSources ?? {};

/** The error with where it happened and the source line of each step. */
function explain(error) {
  const rows = [String(error)];
  for (const step of String(error?.stack ?? "").split("\n")) {
    const place = /([^\s()/]+\.m?js):(\d+)(?::\d+)?\)?$/.exec(step.trim());
    if (!place || place[1] === "palisade.js") continue;
    rows.push(`  ${step.trim()}`);
    const line = sources[place[1]]?.split("\n")[place[2] - 1];
    if (line) rows.push(`    ${line.trim()}`);
  }
  return rows.slice(0, 13).join("\n");
}
