// Serves models that are made up, in every dialect, by a package that nobody here wrote. Says where on
// standard output, and ends when standard input does. The folder of the package is the first argument.

import { pathToFileURL } from "node:url";

const { LLMock } = await import(pathToFileURL(`${process.argv[2]}/dist/index.js`));
const mock = new LLMock({ host: "127.0.0.1", port: 0, strict: true, logLevel: "silent" });
const first = { sequenceIndex: 0 };
const call = { id: "call_1", name: "read", arguments: { path: "größe.txt" } };

mock.on({ userMessage: "say hello" }, { content: "Hello — from a mock." });
mock.on({ userMessage: "read the file", hasToolResult: false }, { content: "I read it.", toolCalls: [call] });
mock.on({ userMessage: "read the file", toolResultContains: "42" }, { content: "It says 42." });
mock.on({ userMessage: "break first", ...first }, { error: { message: "out of order", type: "server_error" }, status: 500 });
mock.on({ userMessage: "break first" }, { content: "In order again." });
mock.on({ userMessage: "be busy first", ...first }, { error: { message: "slow down", type: "rate_limit_error" }, status: 429, retryAfter: 1 });
mock.on({ userMessage: "be busy first" }, { content: "Free again." });
mock.on({ userMessage: "hang up first", hasToolResult: false, ...first }, { toolCalls: [call] }, { chunkSize: 4, latency: 10, truncateAfterChunks: 4 });
mock.on({ userMessage: "hang up first", hasToolResult: false }, { toolCalls: [call] }, { chunkSize: 4 });
mock.on({ userMessage: "hang up first", toolResultContains: "42" }, { content: "It says 42." });
mock.on({ userMessage: "talk nonsense" }, { content: "never heard" }, { chaos: { malformedRate: 1 } });
mock.on({ userMessage: "refuse the key" }, { error: { message: "invalid key", type: "authentication_error" }, status: 401 });

await mock.start();
console.log(mock.url);
process.stdin.resume();
process.stdin.on("end", () => process.exit(0));
