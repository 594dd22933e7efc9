// What agents may do, as the server explains it: asked for once, in one form wherever it comes from.

import * as api from "./api.js";

const known = new Map();

// What an agent may do when it is asked by those of a chain, the outermost first.
export function of(agent, chain = []) {
  const name = JSON.stringify([agent, chain]);
  if (!known.has(name)) {
    const asked = api.explain(agent, chain);
    known.set(name, asked);
    asked.catch(() => known.delete(name));
  }
  return known.get(name);
}

// Definitions may change between two runs.
export const forget = () => known.clear();

// Every kind of power there is, with what a grant of it lists.
export const POWERS = [
  ["fs.read", "reads files"],
  ["fs.write", "writes files"],
  ["net.http", "asks hosts over HTTP"],
  ["exec", "runs native programs"],
  ["agents", "asks other agents"],
  ["tools", "calls other tools of the agent"],
  ["storage", "keeps things of its own"],
  ["env", "reads variables"],
  ["secrets", "uses secrets"],
];

// Grants as an explanation has them (a list of files) or as a ceiling has them (a map of files): in one form.
export function grants(of) {
  const files = Array.isArray(of?.files) ? of.files : Object.entries(of?.files ?? {}).map(([path, access]) => ({ path, access }));
  const list = (name) => (Array.isArray(of?.[name]) ? of[name] : []);
  const lists = Object.fromEntries(["http", "commands", "agents", "env", "secrets", "outside"].map((name) => [name, list(name)]));
  return { files, ...lists, storage: of?.storage ?? null };
}

const place = (path) => (path === "." ? "the workspace" : path);

// What a power reaches under some grants: a list of words; empty means that it is not there.
export function reach(power, of) {
  const { files, http, commands, agents, env, secrets, storage } = grants(of);
  switch (power) {
    case "fs.read": return files.filter((file) => file.access !== "none").map((file) => place(file.path));
    case "fs.write": return files.filter((file) => file.access === "read-write").map((file) => place(file.path));
    case "net.http": return http;
    case "exec": return commands;
    case "agents": return agents;
    case "tools": return ["those in its scope"];
    case "storage": return storage ? ["its own space"] : [];
    case "env": return env;
    case "secrets": return secrets;
    default: return [];
  }
}

// What an agent may do, in a word or two.
export function badges(of) {
  const { files, http, commands, agents } = grants(of);
  const found = [];
  if (files.some((file) => file.access === "read-write")) found.push(["writes", "warn"]);
  else found.push(files.length ? ["read-only", "good"] : ["no files", "good"]);
  if (http.length) found.push(["network", "warn"]);
  if (commands.length) found.push(["native programs", "bad"]);
  if (agents.length) found.push(["delegates", "dim"]);
  return found;
}
