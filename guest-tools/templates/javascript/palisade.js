// Makes an object with a schema and a function a tool.
//
// `input` has a JSON Schema for each property; one without a `default` and without `optional: true` must be
// given. What `call` returns is the output; anything but a text is written as JSON. To say that a call went
// wrong, throw InvalidInput, Denied or Failed. Any other error is a failed call with its stack.
//
// In the sandbox there is no clock, no true randomness, no network and no file: the interpreter was started
// when the tool was built, and each call begins where that left off.

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
export function tool({ name, description, needs = [], readOnly = false, idempotent = false, input = {}, call }) {
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
        capabilities: needs,
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
