#!/usr/bin/env python3
"""Breaks the host on purpose, in one way after the other, and shows which attempts of the delegation suite notice.

The patch beside this file builds all mutations into one program; PALISADE_MUTANT chooses one. The tree has to be
clean, and is left as it was. Writes docs/delegation-mutations.md; fails if a mutation is not noticed, or if an attempt
notices none.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PATCH = ROOT / "tests/mutations/delegation.patch"
PAGE = ROOT / "docs/delegation-mutations.md"

MUTATIONS = {
    "ceiling-ignored": "nobody is held to what the one that asks has",
    "tools-of-all": "whoever is asked gets every tool there is",
    "budget-not-drawn": "an agent that is asked has an account of its own",
    "depth-not-counted": "levels above are forgotten",
    "task-own-account": "`task` opens an account of its own",
    "message-own-account": "`agents_message` opens an account of its own",
    "follow-up-own-account": "`agent_ask` opens an account of its own",
    "callback-own-account": "a turn for an answer opens an account of its own",
    "follow-up-forgets-ceiling": "`agent_ask` does not hold to what the session was begun with",
    "message-forgets-ceiling": "`agents_message` does not hold to what the session was begun with",
    "callback-forgets-ceiling": "a turn for an answer does not hold to what the session was begun with",
    "retry-without-ceiling": "after a failure nobody is held to anything",
    "pool-ignores-fingerprint": "an idle agent is used for any other",
    "pool-keeps-rights": "an idle agent keeps the rights it had",
    "gate-open": "rules do not hold for tools that call tools",
    "plugin-without-ceiling": "agents of plugins are not held to what the one that asks has",
    "asker-read-anew": "what is handed down is what the definition says now",
    "run-follows-definition": "a run gets what its definition says now",
    "nothing-is-taken-back": "what is taken back is kept until the end of the run",
    "revocation-not-inherited": "what is taken from an agent is not taken from those it asked",
}

WAYS = ["spawn", "resume", "retry", "follow_up", "pool_reuse", "session_reuse", "async_callback", "tool_calls_tool",
        "plugin_reload", "config_change"]
AXES = {"no_other_tool": "tool", "no_other_folder": "preopen", "no_more_writing": "write", "no_other_host": "host",
        "no_other_command": "command", "no_other_secret": "secret", "no_more_memory": "memory", "no_more_time": "time",
        "no_more_steps": "steps", "no_more_depth": "depth"}

SUITE = ["cargo", "test", "--workspace", "--test", "suite", "--", "delegation::"]


def noticed(mutation):
    """The attempts that fail with a mutation."""
    run = subprocess.run(SUITE, cwd=ROOT, env={**os.environ, "PALISADE_MUTANT": mutation}, text=True, capture_output=True)
    tried = re.findall(r"^test delegation::(\w+)::(\w+) \.\.\. (ok|FAILED)$", run.stdout, re.MULTILINE)
    if len(tried) != len(WAYS) * len(AXES):
        sys.exit(f"{len(tried)} attempts were made\n{run.stdout}\n{run.stderr}")
    return {(way, AXES[axis]) for way, axis, ended in tried if ended == "FAILED"}


def cells(found):
    """`spawn, retry: steps, depth`; ways with the same things are told together."""
    ways = {}
    for way in WAYS:
        axes = tuple(axis for axis in AXES.values() if (way, axis) in found)
        if axes:
            ways.setdefault(axes, []).append(way.replace("_", "-"))
    every = len(AXES)
    told = [(", ".join(ways) if len(ways) < len(WAYS) else "every way",
             ", ".join(axes) if len(axes) < every else "everything") for axes, ways in ways.items()]
    return "; ".join(f"{ways}: {axes}" for ways, axes in told)


def write(table):
    """Writes the page, and fails if something is not noticed."""
    unnoticed = [mutation for mutation, found in table.items() if not found]
    everything = {(way, axis) for way in WAYS for axis in AXES.values()}
    blind = everything - set().union(*table.values())
    rows = "\n".join(f"| `{name}` | {MUTATIONS[name]} | {len(found)} | {cells(found)} |" for name, found in table.items())
    PAGE.write_text(
        "# What the delegation suite notices\n\n"
        "Written by `just mutations`, which breaks the host on purpose in one way after the other and runs the hundred attempts of\n"
        "`tests/suite/delegation.rs`. "
        f"{len(table) - len(unnoticed)} of {len(table)} mutations are noticed, and {100 - len(blind)} of 100 attempts notice at least one.\n\n"
        f"| mutation | what is wrong then | attempts that fail | which |\n|---|---|---:|---|\n{rows}\n"
    )
    if unnoticed or blind:
        sys.exit(f"not noticed: {unnoticed}; notice nothing: {sorted(blind)}")


def main():
    if subprocess.run(["git", "diff", "--quiet"], cwd=ROOT).returncode != 0:
        sys.exit("commit or put away your changes first: a patch is applied and taken back")
    subprocess.run(["git", "apply", PATCH], cwd=ROOT, check=True)
    try:
        if found := noticed("none"):
            sys.exit(f"without any mutation these fail: {sorted(found)}")
        table = {mutation: noticed(mutation) for mutation in MUTATIONS}
    finally:
        subprocess.run(["git", "apply", "--reverse", PATCH], cwd=ROOT, check=True)
    write(table)


if __name__ == "__main__":
    main()
