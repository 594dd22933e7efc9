"""What all packages of one release have in common: names, versions, texts, and how programs are started."""

import os
import re
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Registries take more, people wait less.
LIMIT = 60_000_000


class Failure(Exception):
    """A package that cannot be made. The text says why and what to do."""


@dataclass(frozen=True)
class Target:
    """A processor and system, by the names that each kind of package has for it."""

    triple: str
    machine: str
    debian: str
    npm: str
    elf: str


TARGETS = {
    target.triple: target
    for target in (
        Target("x86_64-unknown-linux-gnu", "x86_64", "amd64", "x64", "X86-64"),
        Target("aarch64-unknown-linux-gnu", "aarch64", "arm64", "arm64", "AArch64"),
    )
}


@dataclass(frozen=True)
class Release:
    """One build that is packed."""

    target: Target
    profile: str
    version: str
    description: str
    licence: str
    repository: str
    # The time that every file in every package has.
    epoch: int
    # The program without debug information.
    program: Path
    # Completions and manual pages.
    texts: Path
    # Folders for the packages and for what is needed while they are made.
    out: Path
    work: Path

    def readme(self) -> str:
        """Returns the README with links that work outside of a clone."""
        text = (ROOT / "README.md").read_text()
        return re.sub(r"\]\((?!https?:|#)", f"]({self.repository}/blob/v{self.version}/", text)

    def manual(self) -> list[Path]:
        return sorted(self.texts.glob("*.1"))


def manifest() -> dict[str, str]:
    """Returns the fields of the program's manifest, with those of the workspace."""
    shared = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]
    own = tomllib.loads((ROOT / "runtime/cli/Cargo.toml").read_text())["package"]
    return {**shared, "description": own["description"]}


def epoch() -> int:
    """Returns SOURCE_DATE_EPOCH, or else the time of the commit."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    try:
        return int(given or run("git", "-C", ROOT, "log", "-1", "--format=%ct"))
    except (Failure, ValueError):
        raise Failure("the sources have no commit to take the time from; set SOURCE_DATE_EPOCH to seconds since 1970")


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def skip(text: str) -> None:
    """Leaves a package out, which is an error in CI."""
    if os.environ.get("CI") == "true":
        raise Failure(text)
    say(f"SKIPPED: {text}")


def run(*command: str | Path, **options) -> str:
    """Runs a program and returns its standard output."""
    try:
        ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    except FileNotFoundError:
        raise Failure(f"`{command[0]}` is not installed")
    if ended.returncode != 0:
        raise Failure(f"`{' '.join(map(str, command))}` failed:\n{ended.stderr.strip() or ended.stdout.strip()}")
    return ended.stdout


def from_pypi(name: str, version: str) -> Path:
    """Returns the `bin` folder of a virtual environment with one package, made when it is first needed."""
    package = name.split("[")[0]
    folder = ROOT / f"target/toolchains/{package}-{version}"
    if not (folder / "installed").exists():
        say(f"fetching {package} {version} (once) …")
        run(sys.executable, "-m", "venv", "--clear", folder)
        run(folder / "bin/pip", "install", "--quiet", "--disable-pip-version-check", f"{name}=={version}")
        (folder / "installed").write_text(version)
    return folder / "bin"
