"""The bill of materials (CycloneDX 1.6): the crates that are linked into the program, and into the guests inside it."""

import hashlib
import json
import re
import tomllib
import uuid
from datetime import datetime, timezone
from pathlib import Path

from release import ROOT, Failure, Release, run

# Built-in tools are the packages of this name in the workspace of the guests.
TOOL = "palisade-tool-"


class Crates:
    """What some packages of a workspace link: normal dependencies for one platform, without procedural macros."""

    def __init__(self, workspace: Path, platform: str, is_root):
        command = ["cargo", "metadata", "--format-version=1", f"--filter-platform={platform}", "--locked"]
        told = json.loads(run(*command, cwd=workspace))
        self.packages = {package["id"]: package for package in told["packages"]}
        self.nodes = {node["id"]: node for node in told["resolve"]["nodes"]}
        lock = tomllib.loads((workspace / "Cargo.lock").read_text())["package"]
        self.checksums = {(it["name"], it["version"]): it["checksum"] for it in lock if "checksum" in it}
        self.roots = [id for id in told["workspace_members"] if is_root(self.packages[id]["name"])]
        if not self.roots:
            raise Failure(f"no package of {workspace / 'Cargo.toml'} is what the bill of materials starts from")
        self.linked = self.walk()

    def walk(self) -> set[str]:
        found, ahead = set(), list(self.roots)
        while ahead:
            if (id := ahead.pop()) not in found:
                found.add(id)
                ahead += self.dependencies(id)
        return found

    def dependencies(self, id: str) -> list[str]:
        normal = (it["pkg"] for it in self.nodes[id]["deps"] if any(kind["kind"] is None for kind in it["dep_kinds"]))
        return [id for id in normal if not any("proc-macro" in target["kind"] for target in self.packages[id]["targets"])]


def make(release: Release) -> None:
    crates = {
        "program": Crates(ROOT, release.target.triple, lambda name: name == "palisade"),
        "guests": Crates(ROOT / "guest-tools", "wasm32-wasip2", lambda name: name.startswith(TOOL)),
    }
    components, edges = {}, {}
    for part, linked in crates.items():
        for id in linked.linked:
            package = linked.packages[id]
            ref = purl(package, release)
            one = components.setdefault(ref, component(package, ref, linked.checksums))
            one["properties"].append({"name": "palisade:part", "value": part})
            edges.setdefault(ref, set()).update(purl(linked.packages[it], release) for it in linked.dependencies(id))
    program, guests = crates.values()
    root = purl(program.packages[program.roots[0]], release)
    # The machine code of the tools is linked into the program.
    edges[root].update(purl(guests.packages[id], release) for id in guests.roots)
    digest = hashlib.sha256(release.program.read_bytes()).hexdigest()
    main = {**components.pop(root), "type": "application", "hashes": [{"alg": "SHA-256", "content": digest}]}
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'{root}#{digest}')}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(release.epoch, timezone.utc).isoformat(),
            "lifecycles": [{"phase": "build"}],
            "component": main,
        },
        "components": [components[ref] for ref in sorted(components)],
        "dependencies": [{"ref": ref, "dependsOn": sorted(edges[ref])} for ref in sorted(edges)],
    }
    file = release.out / f"palisade-{release.version}-{release.target.triple}.cdx.json"
    file.write_text(json.dumps(bill, indent=1) + "\n")


def component(package: dict, ref: str, checksums: dict) -> dict:
    name, version = package["name"], package["version"]
    # Older manifests separate alternatives with a slash.
    licence = re.sub(r"\s*/\s*", " OR ", package["license"] or "")
    checksum = checksums.get((name, version))
    return {
        "type": "library",
        "bom-ref": ref,
        "name": name,
        "version": version,
        "purl": ref,
        **({"licenses": [{"expression": licence}]} if licence else {}),
        **({"hashes": [{"alg": "SHA-256", "content": checksum}]} if checksum else {}),
        "properties": [],
    }


def purl(package: dict, release: Release) -> str:
    """Returns the package URL. Crates of our own are in no registry, so theirs says where they are."""
    ours = "" if package["source"] else f"?vcs_url=git%2B{release.repository.replace(':', '%3A')}.git"
    return f"pkg:cargo/{package['name']}@{package['version'].replace('+', '%2B')}{ours}"
