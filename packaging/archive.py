"""Archives that are the same bytes for the same files: one time, one owner, sorted."""

import gzip
import io
import tarfile
import time
import zipfile
from pathlib import Path
from typing import NamedTuple

from release import ROOT, Release


class Entry(NamedTuple):
    """One file of a package."""

    name: str
    source: Path | bytes
    mode: int = 0o644

    def read(self) -> bytes:
        return self.source if isinstance(self.source, bytes) else self.source.read_bytes()


def tar(path: Path, entries: list[Entry], epoch: int) -> None:
    with path.open("wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=epoch) as packed:
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
            for entry in sorted(entries):
                content = entry.read()
                info = tarfile.TarInfo(entry.name)
                info.size, info.mode, info.mtime, info.uname, info.gname = len(content), entry.mode, epoch, "root", "root"
                archive.addfile(info, io.BytesIO(content))


def wheel(path: Path, entries: list[Entry], epoch: int, packed: bool = True) -> None:
    """Writes a zip file in the order of `entries`: a wheel's record comes last."""
    with zipfile.ZipFile(path, "w") as archive:
        for entry in entries:
            info = zipfile.ZipInfo(entry.name, time.gmtime(epoch)[:6])
            info.external_attr = (0o100000 | entry.mode) << 16
            info.compress_type = zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED
            archive.writestr(info, entry.read(), compresslevel=9)


def stage(folder: Path, entries: list[Entry]) -> Path:
    """Lays the files out in a folder, for a program that packs folders."""
    for entry in entries:
        path = folder / entry.name
        path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        path.write_bytes(entry.read())
        path.chmod(entry.mode)
    return folder


def make(release: Release) -> None:
    """Makes the archive for those who install by hand, and for `cargo binstall`."""
    top = f"palisade-{release.version}-{release.target.triple}"
    entries = [
        Entry(f"{top}/palisade", release.program, 0o755),
        Entry(f"{top}/LICENSE", ROOT / "LICENSE"),
        Entry(f"{top}/README.md", release.readme().encode()),
        Entry(f"{top}/palisade.service", ROOT / "deploy/palisade.service"),
        *(Entry(f"{top}/completions/{name}", release.texts / name) for name in COMPLETIONS.values()),
        *(Entry(f"{top}/man/{page.name}", page) for page in release.manual()),
    ]
    tar(release.out / f"{top}.tar.gz", entries, release.epoch)


# The files of completions, as each shell wants them called.
COMPLETIONS = {"bash": "palisade.bash", "zsh": "_palisade", "fish": "palisade.fish"}
