"""The npm packages: one with the program for each platform, and one that starts the right of them."""

import json
from pathlib import Path

import archive
from archive import Entry
from release import ROOT, TARGETS, Release, run

NAME = "palisade-run"
LAUNCHER = Path(__file__).with_name("launcher.js")


def make(release: Release) -> None:
    pack(release, launcher(release), [Entry("bin/palisade.js", LAUNCHER, 0o755)])
    pack(release, platform(release), [Entry("bin/palisade", release.program, 0o755)])


def launcher(release: Release) -> dict:
    # All platforms are named; npm installs the one whose `os`, `cpu` and `libc` fit. Nothing runs while it installs.
    platforms = {f"{NAME}-linux-{target.npm}": release.version for target in TARGETS.values()}
    return {
        **shared(release, NAME, release.description),
        "bin": {"palisade": "bin/palisade.js"},
        "engines": {"node": ">=18"},
        "optionalDependencies": platforms,
    }


def platform(release: Release) -> dict:
    target = release.target
    return {
        **shared(release, f"{NAME}-linux-{target.npm}", f"The program of {NAME} for Linux on {target.machine}."),
        "os": ["linux"],
        "cpu": [target.npm],
        "libc": ["glibc"],
        "preferUnplugged": True,
    }


def shared(release: Release, name: str, description: str) -> dict:
    return {
        "name": name,
        "version": release.version,
        "description": description,
        "license": release.licence,
        "repository": {"type": "git", "url": f"git+{release.repository}.git"},
        "files": ["bin"],
    }


def pack(release: Release, package: dict, entries: list[Entry]) -> None:
    entries = entries + [
        Entry("package.json", json.dumps(package, indent=2).encode() + b"\n"),
        Entry("LICENSE", ROOT / "LICENSE"),
        Entry("README.md", release.readme().encode()),
    ]
    folder = archive.stage(release.work / package["name"], entries)
    run("npm", "pack", "--ignore-scripts", "--loglevel", "error", "--pack-destination", release.out, cwd=folder)
