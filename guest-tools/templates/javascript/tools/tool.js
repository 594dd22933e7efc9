import { tool } from "../palisade.js";

export default tool({
  name: "{{tool}}",
  description: "Greets someone by name.",
  readOnly: true,
  idempotent: true,
  input: {
    name: { type: "string", description: "Who to greet." },
    times: { type: "integer", description: "How often.", default: 1 },
  },
  call({ name, times }) {
    return Array(times).fill(`Hello, ${name}!`).join("\n");
  },
});
