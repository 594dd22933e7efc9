"""The Python package: a wheel that puts the program onto the path of an environment. It has no Python in it."""

import base64
import hashlib
import json
from pathlib import Path

import archive
from archive import Entry
from release import ROOT, Failure, Release, from_pypi, run

NAME = "palisade_run"


def make(release: Release) -> None:
    # What it links says which systems it runs on; auditwheel knows the names of these.
    tag = confirmed(write(release, release.work, f"linux_{release.target.machine}", packed=False))
    wheel = write(release, release.out, tag)
    if confirmed(wheel) != tag:
        wheel.unlink()
        raise Failure(f"auditwheel does not confirm the tag {tag} of {wheel.name}")


def confirmed(wheel: Path) -> str:
    """Returns the tag that auditwheel finds for a wheel."""
    told = json.loads(run(from_pypi("auditwheel", "6.8.2") / "auditwheel", "show", "--json", wheel))
    tag = told["overall_tag"]
    if not tag.startswith("manylinux_"):
        raise Failure(f"auditwheel finds no manylinux tag for {wheel.name}, only {tag}: {json.dumps(told, indent=1)}")
    return tag


def write(release: Release, folder: Path, platform: str, packed: bool = True) -> Path:
    tag = f"py3-none-{platform}"
    info = f"{NAME}-{release.version}.dist-info"
    entries = [
        Entry(f"{NAME}-{release.version}.data/scripts/palisade", release.program, 0o755),
        Entry(f"{info}/METADATA", metadata(release).encode()),
        Entry(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: palisade\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()),
        Entry(f"{info}/licenses/LICENSE", ROOT / "LICENSE"),
    ]
    entries.append(Entry(f"{info}/RECORD", record(entries, f"{info}/RECORD").encode()))
    wheel = folder / f"{NAME}-{release.version}-{tag}.whl"
    archive.wheel(wheel, entries, release.epoch, packed)
    return wheel


def metadata(release: Release) -> str:
    return f"""Metadata-Version: 2.4
Name: {NAME.replace("_", "-")}
Version: {release.version}
Summary: {release.description}
License-Expression: {release.licence}
License-File: LICENSE
Project-URL: Source, {release.repository}
Requires-Python: >=3.8
Description-Content-Type: text/markdown

{release.readme()}"""


def record(entries: list[Entry], own: str) -> str:
    lines = []
    for entry in entries:
        content = entry.read()
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        lines.append(f"{entry.name},sha256={digest},{len(content)}\n")
    return "".join(lines) + f"{own},,\n"
