#!/usr/bin/env node
// Starts the program that an optional dependency of this package brought for this machine.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");
const { isatty } = require("node:tty");

const { name, version, optionalDependencies } = require("../package.json");

function find() {
  const wanted = `${name}-${process.platform}-${process.arch}`;
  if (!(wanted in optionalDependencies)) {
    fail(`there is no package for ${process.platform} on ${process.arch}; there are ${Object.keys(optionalDependencies).join(", ")}`);
  }
  try {
    return require.resolve(`${wanted}/bin/palisade`);
  } catch {
    return fail(
      `the package ${wanted}, which holds the program for this machine, is not installed.\n` +
        `Install it with \`npm install ${wanted}@${version}\`, and do not leave out optional dependencies. It needs glibc.`,
    );
  }
}

function fail(message) {
  console.error(`palisade: ${message}`);
  process.exit(1);
}

const program = find();
const given = process.argv.slice(2);
// Node.js 22.15 and newer can become the program.
if (process.execve) process.execve(program, [program, ...given], process.env);

const child = spawn(program, given, { stdio: "inherit" });
// A terminal tells the program itself of what is typed; signals of processes come only here. The streams of `process`
// are left alone: they would make the program's own input and output non-blocking.
const typed = [0, 1, 2].some((stream) => isatty(stream)) ? ["SIGINT", "SIGQUIT"] : [];
for (const signal of ["SIGINT", "SIGQUIT", "SIGTERM", "SIGHUP", "SIGUSR2", "SIGCONT", "SIGWINCH"]) {
  process.on(signal, () => typed.includes(signal) || child.kill(signal));
}
child.on("error", (error) => fail(`${program} cannot be started: ${error.message}`));
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  // Ends as the program did, so that a shell sees it.
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
  setTimeout(() => process.exit(128 + constants.signals[signal]), 100);
});
