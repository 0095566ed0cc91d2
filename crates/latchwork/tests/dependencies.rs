//! Checks the dependencies of Latchwork: security advisories, licences, origin.
//!
//! The advisories are a snapshot (`advisories.toml`, written by `scripts/advisories.py` from the RustSec database), so
//! the check needs no network and gives the same answer on every machine. A new crate in `Cargo.lock` fails the check
//! until the snapshot is written again. `cargo deny` would read the same data, but takes six minutes to build.

use semver::{Version, VersionReq};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Advisories that are accepted, each with the reason. An entry that no longer applies fails the test.
const ACCEPTED: [(&str, &str); 0] = [];

/// Permitted licences of dependencies, as SPDX identifiers. A package's expression must have one of them in each `AND`
/// part.
const LICENSES: [&str; 9] =
    ["Apache-2.0", "MIT", "BSD-2-Clause", "BSD-3-Clause", "ISC", "Unicode-3.0", "Unlicense", "Zlib", "CC0-1.0"];

#[derive(Deserialize)]
struct Snapshot {
    looked_up: BTreeSet<String>,
    advisory: Vec<Advisory>,
}

#[derive(Deserialize)]
struct Advisory {
    id: String,
    #[serde(rename = "crate")]
    package: String,
    patched: Vec<String>,
    unaffected: Vec<String>,
}

impl Advisory {
    /// Whether the advisory affects this version: no requirement of `patched` and `unaffected` matches it.
    fn is_about(&self, version: &Version) -> bool {
        let takes = |text: &String| {
            let wanted = VersionReq::parse(text).unwrap_or_else(|e| panic!("{}: {text}: {e}", self.id));
            wanted.matches(version)
        };
        !self.patched.iter().chain(&self.unaffected).any(takes)
    }
}

#[derive(Deserialize)]
struct Lock {
    package: Vec<Locked>,
}

#[derive(Deserialize)]
struct Locked {
    name: String,
    version: Version,
    source: Option<String>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn locked() -> Vec<Locked> {
    let text = std::fs::read_to_string(root().join("Cargo.lock")).expect("Cargo.lock is there");
    let lock: Lock = toml::from_str(&text).expect("Cargo.lock is TOML");
    lock.package.into_iter().filter(|p| p.source.is_some()).collect()
}

fn snapshot() -> Snapshot {
    toml::from_str(include_str!("advisories.toml")).expect("the snapshot is TOML")
}

/// The advisories about these packages, each as `id: crate version`.
fn findings(snapshot: &Snapshot, packages: &[Locked]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for package in packages {
        for advisory in snapshot.advisory.iter().filter(|a| a.package == package.name) {
            if advisory.is_about(&package.version) {
                found.push((advisory.id.clone(), format!("{} {}", package.name, package.version)));
            }
        }
    }
    found
}

#[test]
fn no_dependency_has_a_known_vulnerability() {
    let (snapshot, packages) = (snapshot(), locked());
    let new: Vec<&str> =
        packages.iter().map(|p| p.name.as_str()).filter(|name| !snapshot.looked_up.contains(*name)).collect();
    assert!(new.is_empty(), "not in the snapshot of advisories: {new:?}; run scripts/advisories.py");
    let found = findings(&snapshot, &packages);
    let open: Vec<_> = found.iter().filter(|(id, _)| !ACCEPTED.iter().any(|(accepted, _)| accepted == id)).collect();
    assert!(open.is_empty(), "advisories about packages of Cargo.lock: {open:?}");
    for (id, reason) in ACCEPTED {
        assert!(found.iter().any(|(of, _)| of == id), "{id} ({reason}) is accepted, but no package has it");
    }
}

#[test]
fn a_vulnerable_version_would_be_found() {
    let package = |version| Locked { name: "smallvec".into(), version: Version::parse(version).unwrap(), source: None };
    let found = findings(&snapshot(), &[package("1.6.0")]);
    assert_eq!(found, [("RUSTSEC-2021-0003".to_string(), "smallvec 1.6.0".to_string())]);
    assert_eq!(findings(&snapshot(), &[package("1.6.1")]), []);
}

#[test]
fn every_dependency_comes_from_the_one_registry() {
    let packages = locked();
    let sources: BTreeSet<&str> = packages.iter().filter_map(|p| p.source.as_deref()).collect();
    assert!(sources.len() == 1 && sources.iter().all(|s| s.starts_with("registry+")), "other sources: {sources:?}");
}

/// Whether the permitted licences satisfy a licence expression.
fn is_allowed(expression: &str) -> bool {
    let flat = expression.replace('/', " OR ").replace(['(', ')'], "");
    flat.split(" AND ").all(|part| part.split(" OR ").any(|one| LICENSES.contains(&one.trim())))
}

#[test]
fn licenses_are_the_permitted_ones() {
    assert!(is_allowed("MIT OR GPL-3.0") && is_allowed("(MIT OR Apache-2.0) AND Unicode-3.0"));
    assert!(!is_allowed("MIT AND GPL-3.0") && !is_allowed(""));
    let out = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--offline"])
        .args(["--filter-platform", &format!("{}-unknown-linux-gnu", std::env::consts::ARCH)])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(out.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&out.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&out.stdout).expect("cargo metadata prints JSON");
    let packages = metadata["packages"].as_array().expect("there are packages");
    assert!(packages.len() > 50, "only {} packages were looked at", packages.len());
    for package in packages {
        let license = package["license"].as_str().unwrap_or_default();
        assert!(is_allowed(license), "{} is licensed {license:?}", package["name"]);
    }
}
