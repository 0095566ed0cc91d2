#!/usr/bin/env python3
"""Writes the snapshot of security advisories that `./check` compares with Cargo.lock.

Usage: scripts/advisories.py DIR > crates/latchwork/tests/advisories.toml

DIR is a clone of the RustSec advisory database (github.com/rustsec/advisory-db). The snapshot has every advisory that
names a crate of Cargo.lock, whatever its version, and the list of crates that were looked up: a crate that is not on
the list makes the check fail until the snapshot is written again. Run it when Cargo.lock gains a crate, and before
each release.
"""
import pathlib
import subprocess
import sys
import tomllib

if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
    sys.exit(__doc__.strip())
database = pathlib.Path(sys.argv[1])
root = pathlib.Path(__file__).resolve().parent.parent
packages = tomllib.loads((root / "Cargo.lock").read_text())["package"]
crates = sorted({p["name"] for p in packages if "source" in p})
commit = subprocess.check_output(["git", "-C", database, "log", "-1", "--format=%H %cs"], text=True).split()


def text(value):
    """The value as TOML writes it: strings and lists of strings."""
    if isinstance(value, list):
        return "[" + ", ".join(text(v) for v in value) + "]"
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


print("# Written by scripts/advisories.py; do not edit. Source: the RustSec advisory database (CC0-1.0).")
print(f"commit = {text(commit[0])}\ndate = {text(commit[1])}\nlooked_up = [")
for name in crates:
    print(f"    {text(name)},")
print("]")
for name in crates:
    for path in sorted((database / "crates" / name).glob("RUSTSEC-*.md")):
        front = tomllib.loads(path.read_text().split("```toml", 1)[1].split("```", 1)[0])
        about, versions = front["advisory"], front.get("versions", {})
        if "withdrawn" in about:
            continue
        print(f"\n[[advisory]]\nid = {text(about['id'])}\ncrate = {text(name)}")
        if "informational" in about:
            print(f"informational = {text(about['informational'])}")
        print(f"patched = {text(versions.get('patched', []))}\nunaffected = {text(versions.get('unaffected', []))}")
