"""The program: built, or taken from where it is; what it links; its texts."""

import os
import platform
import re
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

from archive import COMPLETIONS
from release import ROOT, Failure, Target, run, say


def build(profile: str, triple: str | None) -> Path:
    """Builds the program with cargo and returns its file."""
    command = ["cargo", "build", "--bin", "palisade"]
    command += ["--release"] if profile == "release" else []
    # Machine code for another processor takes its compiler, which is a feature of the program's package.
    foreign = triple and not triple.startswith(platform.machine())
    command += ["--target", triple] if triple else []
    command += ["--features", "cross"] if foreign else []
    say(f"{' '.join(command)} …")
    if subprocess.run(command, cwd=ROOT / "runtime/cli" if foreign else ROOT, stdout=2).returncode != 0:
        raise Failure("the program does not build; what cargo said is above")
    return built(profile, triple)


def built(profile: str, triple: str | None) -> Path:
    folder = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target")
    return ROOT / folder / (triple or "") / ("release" if profile == "release" else "debug") / "palisade"


class Needs(NamedTuple):
    """What a program needs of the system."""

    libraries: list[str]
    glibc: tuple[int, ...]


def examine(program: Path, target: Target) -> Needs:
    """Reads which libraries a program links, and the oldest C library that has all it asks for."""
    told = run("readelf", "--file-header", "--dynamic", "--version-info", "--wide", program, env=os.environ | {"LC_ALL": "C"})
    if not re.search(rf"Machine:.*{target.elf}", told):
        raise Failure(f"{program} is not a program for {target.triple}; give the right --target")
    versions = re.findall(r"Name: GLIBC_([0-9.]+)", told)
    return Needs(
        sorted(re.findall(r"\(NEEDED\).*\[(.+)\]", told)),
        max(tuple(map(int, version.split("."))) for version in versions),
    )


def strip(program: Path, target: Target, stripped: Path) -> None:
    """Copies a program without debug information. Names of functions stay, for backtraces."""
    own = target.machine == platform.machine()
    tools = ["strip" if own else "llvm-strip", f"{target.machine}-linux-gnu-strip"]
    tool = next(filter(shutil.which, reversed(tools)), None)
    if not tool:
        raise Failure(f"no program here strips {target.machine}; install binutils-{target.machine.replace('_', '-')}-linux-gnu")
    run(tool, "--strip-debug", "-o", stripped, program)


def runner(program: Path, target: Target) -> list[str | Path]:
    """Returns the command that runs the program here, or one with the same texts."""
    if target.machine == platform.machine():
        return [program]
    emulator, libraries = f"qemu-{target.machine}", Path(f"/usr/{target.machine}-linux-gnu")
    if shutil.which(emulator) and libraries.is_dir():
        return [emulator, "-L", libraries, program]
    for profile in ("release", "dev"):
        if (host := built(profile, None)).exists():
            return [host]
    raise Failure(
        f"completions and manual pages need a program that runs here, and this one is for {target.machine}: "
        f"install {emulator} (qemu-user) and {libraries} (libc6-{target.debian}-cross), or `cargo build` for this machine first"
    )


def write_texts(command: list[str | Path], folder: Path, version: str) -> None:
    """Has the program write its completions and manual pages."""
    told = run(*command, "--version").strip()
    if told != f"palisade {version}":
        raise Failure(f"the program says `{told}`, the sources are version {version}; build it again")
    for shell, name in COMPLETIONS.items():
        (folder / name).write_text(run(*command, "completions", shell))
    run(*command, "man", folder)
