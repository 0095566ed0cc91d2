//! Rules for the whole repository: the contents of every crate's README, and forbidden words.

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every file below a folder of the repository whose name has one of the endings, without build output.
fn files(folder: &str, endings: &[&str]) -> Vec<(PathBuf, String)> {
    let mut out = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display())) {
            let path = entry.unwrap().path();
            if path.is_dir() {
                if path.file_name().is_some_and(|n| n != "target") {
                    folders.push(path);
                }
            } else if endings.iter().any(|e| path.to_string_lossy().ends_with(e)) {
                let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
                out.push((path, text));
            }
        }
    }
    assert!(!out.is_empty(), "no file in {folder}");
    out
}

fn crates() -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> =
        std::fs::read_dir(root().join("crates")).unwrap().map(|e| e.unwrap().path()).filter(|p| p.is_dir()).collect();
    all.sort();
    all
}

#[test]
fn a_readme_says_limits_rules_order_and_what_a_death_leaves() {
    for place in crates() {
        let file = place.join("README.md");
        let text = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let lower = text.to_lowercase();
        let says = |words: &[&str]| words.iter().any(|w| lower.contains(w));
        assert!(says(&["not know", "knows no"]), "{}: what it does not know", file.display());
        assert!(says(&["lock", "latch"]), "{}: its place in the lock order", file.display());
        assert!(says(&["dies", "dead", "death", "dying"]), "{}: what a death leaves behind", file.display());
        let numbered = text.lines().any(|l| {
            let l = l.trim_start_matches(['-', '*', ' ']);
            let l = l.trim_start_matches(|c: char| c.is_ascii_uppercase());
            l.starts_with('1')
        });
        assert!(numbered, "{}: numbered rules", file.display());
    }
}

#[test]
fn every_crate_forbids_or_denies_unsafe_code() {
    for place in crates() {
        for name in ["src/lib.rs", "src/main.rs"] {
            let Ok(text) = std::fs::read_to_string(place.join(name)) else { continue };
            let settled = ["#![forbid(unsafe_code)]", "#![deny(unsafe_code)]"].iter().any(|a| text.contains(a));
            // The crate that calls the operating system is exempt: unsafe code is its purpose.
            assert!(settled || place.ends_with("os"), "{}/{name}", place.display());
        }
    }
}

#[test]
fn nothing_is_left_unfinished() {
    // Written in two halves so that this file does not contain the words.
    let words =
        [["to", "do!("], ["unimpl", "emented!("], ["FIX", "ME"], ["HA", "CK"], ["#[ign", "ore"]].map(|w| w.concat());
    for (path, text) in files("crates", &[".rs", ".toml", ".md", ".sql"]) {
        for word in &words {
            assert!(!text.contains(word.as_str()), "{} has {word}", path.display());
        }
    }
}

#[test]
fn every_sga_area_is_on_its_page() {
    let page = std::fs::read_to_string(root().join("docs/format/sga.md")).unwrap();
    let mut seen = 0;
    for (path, text) in files("crates", &[".rs"]) {
        if !path.components().any(|c| c.as_os_str() == "src") {
            continue;
        }
        let text = text.split("mod tests {").next().expect("a first part");
        for part in text.split("reserve(\"").skip(1) {
            let area = part.split('"').next().expect("a first part");
            assert!(page.contains(&format!("| `{area}` |")), "{}: {area} is not on the page", path.display());
            seen += 1;
        }
    }
    assert!(seen > 30, "{seen} areas found");
}

/// Gets that protect nothing are made by these functions, and the page lists all of them.
#[test]
fn gets_that_protect_nothing_are_listed() {
    let mut made = Vec::new();
    for (path, text) in files("crates", &[".rs"]) {
        let path = path.to_string_lossy();
        let within = path.rsplit("/crates/").next().and_then(|rest| rest.split_once("/src/"));
        let Some((name, _)) = within else { continue };
        for call in text.split(".imitated_").skip(1) {
            let place = call.split("Where::").nth(1).map(|rest| rest.split(|c: char| !c.is_alphanumeric()).next());
            made.push(format!("| `{name}` | `{}` |", place.flatten().unwrap_or("?")));
        }
    }
    made.sort();
    let page = std::fs::read_to_string(root().join("docs/IMITATED_GETS.md")).expect("the page");
    let cells = |line: &str| line.split('|').take(3).collect::<Vec<_>>().join("|") + "|";
    let mut listed: Vec<String> = page.lines().filter(|line| line.starts_with("| `")).map(cells).collect();
    listed.sort();
    assert!(!made.is_empty());
    assert_eq!(listed, made, "docs/IMITATED_GETS.md lists each place once");
}
