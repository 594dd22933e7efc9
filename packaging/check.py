"""Holds finished packages against what they promise, from outside: check.py FOLDER"""

import hashlib
import json
import re
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

from release import ROOT, Failure, from_pypi

VALIDATE = """
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(sys.stdin.read())
sys.exit(str(error) if error else 0)
"""


def main(folder: Path) -> None:
    for line in (folder / "SHA256SUMS").read_text().splitlines():
        digest, name = line.split("  ")
        hold(hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest, f"{name} is not what SHA256SUMS says")
    for file in folder.glob("*.tar.gz"):
        program = check_binstall(file)
        bill = json.loads(file.with_name(file.name.replace(".tar.gz", ".cdx.json")).read_text())
        check_bill(bill, program)


def check_binstall(file: Path) -> bytes:
    """Returns the program, from where `cargo binstall` would look for it."""
    package = tomllib.loads((ROOT / "runtime/cli/Cargo.toml").read_text())["package"]
    binstall = package["metadata"]["binstall"]
    name, version, target = re.fullmatch(r"([a-z]+)-([^-]+)-(.+)\.tar\.gz", file.name).groups()
    values = {"name": name, "bin": name, "version": version, "target": target, "binary-ext": "", "repo": ""}
    url, path = (
        re.sub(r"\{ ([a-z-]+) \}", lambda field: values[field[1]], binstall[key]) for key in ("pkg-url", "bin-dir")
    )
    hold(url.rsplit("/", 1)[1] == file.name, f"cargo binstall looks for {url}, not for {file.name}")
    with tarfile.open(file) as archive:
        return archive.extractfile(path).read()


def check_bill(bill: dict, program: bytes) -> None:
    hold(bill["metadata"]["component"]["hashes"][0]["content"] == hashlib.sha256(program).hexdigest(), "the bill is for another program")
    hold(is_valid(bill), "the bill of materials does not fit the schema of CycloneDX 1.6")
    hold(not is_valid({**bill, "version": "one"}), "the schema takes everything")
    # Messages of panics name the files they come from.
    named = {(name.decode(), version.decode()) for name, version in re.findall(rb"/registry/src/[^/]+/([a-z0-9_-]+)-([0-9][0-9A-Za-z.+-]*)/", program)}
    listed = {(it["name"], it["version"]) for it in bill["components"]}
    hold(len(named) > 50, f"the program names {len(named)} crates only")
    hold(named <= listed, f"in the program, but not in its bill of materials: {sorted(named - listed)}")


def is_valid(bill: dict) -> bool:
    python = from_pypi("cyclonedx-python-lib[json-validation]", "11.12.0") / "python"
    return subprocess.run([python, "-c", VALIDATE], input=json.dumps(bill), text=True, stderr=subprocess.DEVNULL).returncode == 0


def hold(holds: bool, otherwise: str) -> None:
    if not holds:
        raise Failure(otherwise)


try:
    main(Path(sys.argv[1]))
except Failure as failure:
    sys.exit(f"packaging: {failure}")
