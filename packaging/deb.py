"""The Debian package. It runs nothing when it is installed: the service is there, and starts when it is enabled."""

import gzip
import os
import re

import archive
from archive import Entry
from build import Needs
from release import ROOT, Failure, Release, run

def make(release: Release, needs: Needs) -> None:
    files = [
        Entry("usr/bin/palisade", release.program, 0o755),
        Entry("usr/lib/systemd/system/palisade.service", unit().encode()),
        Entry("usr/lib/sysusers.d/palisade.conf", b"u palisade - \"Palisade server\" /var/lib/palisade\n"),
        Entry("usr/share/doc/palisade/copyright", copyright(release).encode()),
        Entry("usr/share/doc/palisade/changelog.gz", packed((ROOT / "CHANGELOG.md").read_bytes())),
        Entry("usr/share/bash-completion/completions/palisade", release.texts / "palisade.bash"),
        Entry("usr/share/zsh/vendor-completions/_palisade", release.texts / "_palisade"),
        Entry("usr/share/fish/vendor_completions.d/palisade.fish", release.texts / "palisade.fish"),
        *(Entry(f"usr/share/man/man1/{page.name}.gz", packed(page.read_bytes())) for page in release.manual()),
    ]
    size = sum(len(entry.read()) for entry in files) // 1024
    control = Entry("DEBIAN/control", control_file(release, depends(needs), size).encode())
    umask = os.umask(0o022)
    folder = archive.stage(release.work / "deb", [*files, control])
    os.umask(umask)
    package = release.out / f"palisade_{release.version}_{release.target.debian}.deb"
    # The variable makes it give that time to all that is newer.
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(release.epoch)}
    run("dpkg-deb", "--root-owner-group", "-Zxz", "--build", folder, package, env=environment)


def depends(needs: Needs) -> str:
    """Returns the packages that hold the libraries, the C library in the version that is needed."""
    packages = {f"libc6 (>= {'.'.join(map(str, needs.glibc))})"}
    for library in needs.libraries:
        if library.startswith("libgcc_s."):
            packages.add("libgcc-s1")
        elif not re.match(r"(libc|libm|libdl|libpthread|librt|ld-linux[-\w]*)\.so", library):
            raise Failure(f"the program links {library}; name its Debian package in packaging/deb.py")
    return ", ".join(sorted(packages))


def control_file(release: Release, depends: str, size: int) -> str:
    return f"""Package: palisade
Version: {release.version}
Architecture: {release.target.debian}
Maintainer: Palisade maintainers <maintainers@localhost>
Installed-Size: {size}
Depends: {depends}
Recommends: ca-certificates
Section: utils
Priority: optional
Homepage: {release.repository}
Description: sandboxed agents and tools
 {release.description}
"""


def unit() -> str:
    return (ROOT / "deploy/palisade.service").read_text().replace("/usr/local/bin/", "/usr/bin/")


def copyright(release: Release) -> str:
    return f"""Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: palisade
Source: {release.repository}
Comment: The licences of the crates in the program are in the bill of materials that comes with each release.

Files: *
Copyright: Palisade contributors
License: {release.licence}
 On Debian systems, the text of the Apache License 2.0 is in /usr/share/common-licenses/Apache-2.0.
"""


def packed(content: bytes) -> bytes:
    return gzip.compress(content, 9, mtime=0)
