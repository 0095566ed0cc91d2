//! Checks the dependencies between crates against the table in `docs/ARCHITECTURE.md`.
//!
//! A crate may depend on crates of lower rows and, within its own row, on crates to its left. The test reads the table
//! in the document; there is no second copy here. Tests of any row may use the crate `testing`, and only tests.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use enqueue::{EnqueueType, LockMode};
use latch::{Generation, LatchName, Owner, Where};
use wait::Event;

/// The workspace's root folder.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Reads the table: the names of the crates, each with its row (counted from the ground up) and its position from the
/// left.
fn places(table: &str) -> HashMap<String, (usize, usize)> {
    let rows: Vec<Vec<String>> = table
        .lines()
        .skip_while(|line| !line.starts_with("| row |"))
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .map(|line| {
            let crates = line.split('|').nth(2).expect("a row has two columns");
            let mut names = Vec::new();
            for (at, part) in crates.split('`').enumerate() {
                if at % 2 == 1 {
                    names.push(part.to_string());
                }
            }
            names
        })
        .collect();
    let mut places = HashMap::new();
    for (up, row) in rows.iter().rev().enumerate() {
        for (left, name) in row.iter().enumerate() {
            assert!(places.insert(name.clone(), (up, left)).is_none(), "{name} stands in two places");
        }
    }
    places
}

/// The fault of a dependency, if any.
fn fault(places: &HashMap<String, (usize, usize)>, from: &str, to: &str) -> Option<String> {
    let (Some(a), Some(b)) = (places.get(from), places.get(to)) else {
        return Some(format!("{from} -> {to}: not both in the table"));
    };
    (b >= a).then(|| format!("{from} -> {to}: goes up or to the right"))
}

fn metadata() -> serde_json::Value {
    let out = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(out.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&out.stderr));
    serde_json::from_slice(&out.stdout).expect("cargo metadata prints JSON")
}

#[test]
fn crates_import_only_downwards_and_to_the_left() {
    let table = std::fs::read_to_string(root().join("docs/ARCHITECTURE.md")).unwrap();
    let places = places(&table);
    let metadata = metadata();
    let packages = metadata["packages"].as_array().unwrap();
    let ours: Vec<&str> = packages.iter().map(|p| p["name"].as_str().unwrap()).collect();
    let mut faults = Vec::new();
    for package in packages {
        let from = package["name"].as_str().unwrap();
        if !places.contains_key(from) {
            faults.push(format!("{from} is not in the table"));
        }
        for dependency in package["dependencies"].as_array().unwrap() {
            let to = dependency["name"].as_str().unwrap();
            let is_path = dependency["path"].is_string();
            if to == "testing" {
                faults.extend((dependency["kind"] != "dev").then(|| format!("{from} -> {to}: not only in tests")));
            } else if is_path && ours.contains(&to) {
                faults.extend(fault(&places, from, to));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    for name in places.keys() {
        assert!(ours.contains(&name.as_str()), "the table names {name}, which is no crate");
    }
}

/// Cargo unites the features of a build: one dependency with the faults would bring them into every program.
#[test]
fn only_tests_and_a_feature_of_the_program_compile_faults_in() {
    let metadata = metadata();
    let mut found = Vec::new();
    for package in metadata["packages"].as_array().unwrap() {
        let name = package["name"].as_str().unwrap();
        for dependency in package["dependencies"].as_array().unwrap() {
            let is_fault = |feature: &&str| {
                matches!((dependency["name"].as_str(), *feature), (Some("faults"), "inject"))
                    || matches!((dependency["name"].as_str(), *feature), (Some("os"), "faults"))
            };
            let features = dependency["features"].as_array().unwrap().iter().filter_map(|f| f.as_str());
            found.extend(features.filter(is_fault).map(|feature| format!("{name}: {feature}")));
        }
        for (feature, parts) in package["features"].as_object().unwrap() {
            let parts = parts.as_array().unwrap().iter().filter_map(|part| part.as_str());
            let is_fault = |part: &&str| matches!(*part, "faults/inject" | "os/faults");
            found.extend(parts.filter(is_fault).map(|part| format!("{name}, feature {feature}: {part}")));
        }
    }
    found.sort();
    let want =
        ["faults, feature inject: os/faults", "latchwork, feature fault_injection: faults/inject", "testing: inject"];
    assert_eq!(found, want);
}

#[test]
fn every_crate_has_a_readme() {
    let missing: Vec<String> = std::fs::read_dir(root().join("crates"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir() && !path.join("README.md").is_file())
        .map(|path| path.display().to_string())
        .collect();
    assert!(missing.is_empty(), "no README.md in {missing:?}");
}

/// Files below `folder` whose name has this ending, without those that git ignores.
fn files_in(folder: &Path, ending: &str, to: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        if path.is_dir() && name != "target" && !name.to_string_lossy().starts_with('.') {
            files_in(&path, ending, to);
        } else if name.to_string_lossy().ends_with(ending) {
            to.push(path);
        }
    }
}

/// A numbered rule of a README: a letter and a number, as `R13`.
type Rule = (char, u32);

/// The rule that a text begins with, and the text behind it.
fn rule_at(text: &str) -> Option<(Rule, &str)> {
    let letter = text.chars().next().filter(char::is_ascii_uppercase)?;
    let digits = text[1..].find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len() - 1);
    let rest = &text[1 + digits..];
    let is_whole = !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '.');
    let number = text[1..=digits].parse().ok().filter(|_| (1..=2).contains(&digits))?;
    (is_whole || rest.starts_with(". ") || rest == ".").then_some(((letter, number), rest))
}

/// The rules that a README states, a list item each.
fn rules_of(page: &str) -> Vec<Rule> {
    let items = page.lines().filter_map(|line| line.strip_prefix("- "));
    let rules = items.filter_map(|item| rule_at(item.trim_start_matches("**")));
    rules.filter(|(_, rest)| rest.starts_with([' ', '*'])).map(|(rule, _)| rule).collect()
}

/// The rules with one of these letters that a comment cites. `R1 to R3` cites three.
fn cited_in(comment: &str, letters: &HashSet<char>) -> Vec<Rule> {
    let (mut cited, mut begin): (Vec<Rule>, Option<Rule>) = (Vec::new(), None);
    let mut last = None;
    for word in comment.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.' | '`' | ':'))) {
        match rule_at(word).map(|(rule, _)| rule).filter(|(letter, _)| letters.contains(letter)) {
            Some(rule) => {
                let from = begin.take().filter(|from: &Rule| from.0 == rule.0).map_or(rule.1, |from| from.1 + 1);
                cited.extend((from..=rule.1).map(|number| (rule.0, number)));
                last = Some(rule);
            }
            None if word == "to" => begin = last.take(),
            None if word.is_empty() => {}
            None => (begin, last) = (None, None),
        }
    }
    cited
}

/// A rule that no code cites may have been given up without notice. Rules with a number alone, which comments cite as
/// "(invariant 3)", are looked up only from the citation.
#[test]
fn comments_cite_the_rules_of_their_crate_and_every_rule_with_a_letter_is_cited() {
    let mut faults = Vec::new();
    for folder in std::fs::read_dir(root().join("crates")).expect("crates").flatten().map(|entry| entry.path()) {
        let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
        let page = std::fs::read_to_string(folder.join("README.md")).expect("a README");
        let rules = rules_of(&page);
        let in_order = |pair: &[Rule]| pair[0].0 != pair[1].0 || pair[0].1 + 1 == pair[1].1;
        faults.extend((!rules.windows(2).all(in_order)).then(|| format!("{name}: rules are not in order")));
        let letters: HashSet<char> = rules.iter().map(|(letter, _)| *letter).collect();
        let numbers = page.lines().filter_map(|line| line.split_once(". ")?.0.parse::<u32>().ok());
        let numbers: HashSet<u32> = numbers.collect();
        let (mut sources, mut cited) = (Vec::new(), HashSet::new());
        files_in(&folder.join("src"), ".rs", &mut sources);
        for path in sources {
            let text = std::fs::read_to_string(&path).expect("a source file");
            for (line, n) in text.lines().zip(1..) {
                let Some((_, comment)) = line.split_once("//") else { continue };
                for rule in cited_in(comment, &letters) {
                    let is_there = rules.contains(&rule);
                    faults.extend((!is_there).then(|| format!("{}:{n}: no rule {}{}", path.display(), rule.0, rule.1)));
                    cited.insert(rule);
                }
                let cites = comment.split("invariant ").skip(1).filter_map(|rest| {
                    rest[..rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())].parse::<u32>().ok()
                });
                let missing = cites.filter(|number| !numbers.contains(number));
                faults.extend(missing.map(|number| format!("{}:{n}: no invariant {number}", path.display())));
            }
        }
        let uncited = rules.iter().filter(|rule| !cited.contains(*rule));
        faults.extend(uncited.map(|(letter, number)| format!("{name}: no comment cites {letter}{number}")));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn rules_and_their_citations_are_recognised() {
    let page = "# x\n- **R1** One.\n- R2  Two.\n- Read it.\n- R3D is a word.\n1. A number.\n";
    assert_eq!(rules_of(page), [('R', 1), ('R', 2)]);
    let letters = HashSet::from(['R']);
    assert_eq!(cited_in(" as stated (R1, R3); see R5.", &letters), [('R', 1), ('R', 3), ('R', 5)]);
    assert_eq!(cited_in(" the chains (R1 to R3)", &letters), [('R', 1), ('R', 2), ('R', 3)]);
    assert_eq!(cited_in(" from R2 back to the root, R4", &letters), [('R', 2), ('R', 4)]);
    assert_eq!(cited_in(" `R2` of T4, XR5, R6x, R123", &letters), []);
}

/// rustfmt bounds the lines of code. A row of a table and an address cannot be divided.
#[test]
fn comments_and_documents_end_by_column_120() {
    const COLUMNS: usize = 120;
    let (mut sources, mut pages, mut faults) = (Vec::new(), Vec::new(), Vec::new());
    files_in(&root().join("crates"), ".rs", &mut sources);
    for folder in ["crates", "docs"] {
        files_in(&root().join(folder), ".md", &mut pages);
    }
    pages.extend(["README.md", "COMPAT.md", "CHANGELOG.md", "SECURITY.md"].map(|page| root().join(page)));
    assert!(sources.len() > 500 && pages.len() > 60, "{} sources, {} pages", sources.len(), pages.len());
    for path in sources.iter().chain(&pages) {
        let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let (is_page, mut is_example) = (path.extension().is_some_and(|e| e == "md"), false);
        for (line, n) in text.lines().zip(1..) {
            is_example ^= is_page && line.trim_start().starts_with("```");
            let words = match line.trim_start().strip_prefix("//") {
                Some(comment) => comment.trim_start_matches(['/', '!', ' ']),
                None if is_page && !is_example => line.trim_start(),
                None => continue,
            };
            let may_be_long = words.starts_with('|') || words.contains("://");
            if !may_be_long && line.chars().count() > COLUMNS {
                faults.push(format!("{}:{n}", path.display()));
            }
        }
    }
    assert!(faults.is_empty(), "longer than {COLUMNS} columns:\n{}", faults.join("\n"));
}

#[test]
fn an_upward_or_rightward_edge_is_a_fault() {
    let places = places("| row | crates |\n|---|---|\n| top | `c` |\n| low | `a` · `b` |\n");
    assert_eq!(fault(&places, "c", "a"), None);
    assert_eq!(fault(&places, "b", "a"), None);
    assert!(fault(&places, "a", "b").is_some());
    assert!(fault(&places, "a", "c").is_some());
    assert!(fault(&places, "a", "a").is_some());
    assert!(fault(&places, "a", "unknown").is_some());
}

/// The source of all crates except `params`, without the tests folders.
fn sources(folder: &Path, to: &mut String) {
    for entry in std::fs::read_dir(folder).expect("a folder of the workspace").flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, to);
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            to.push_str(&std::fs::read_to_string(&path).expect("a source file"));
        }
    }
}

/// Whether the source names the parameter, and not only a longer name that begins with it.
fn is_read(source: &str, param: params::Param) -> bool {
    let name = format!("Param::{param:?}");
    source
        .match_indices(&name)
        .any(|(at, _)| !source[at + name.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_'))
}

#[test]
fn parameters_without_effect_are_those_that_nothing_reads() {
    let mut source = String::new();
    let mut folders: Vec<_> =
        std::fs::read_dir(root().join("crates")).expect("crates").flatten().map(|e| e.path()).collect();
    folders.retain(|folder| !folder.ends_with("params"));
    folders.iter().for_each(|folder| sources(&folder.join("src"), &mut source));
    for file in ["design.rs", "init.rs", "session.rs", "system.rs", "value.rs"] {
        let path = root().join("crates/params/src").join(file);
        source.push_str(&std::fs::read_to_string(path).expect("a source file"));
    }
    // These parameters take effect at the logon.
    let left_out = [params::Param::ResourceLimit, params::Param::AuditTrail, params::Param::RemoteLoginPasswordfile];
    for def in params::PARAMS.iter().filter(|def| !left_out.contains(&def.param)) {
        let without_effect = params::WITHOUT_EFFECT.contains(&def.param);
        assert_eq!(without_effect, !is_read(&source, def.param), "{}: is it obeyed or not?", def.name);
    }
}

/// The variants of an enum of that name that code of the crates names, tests left out.
fn named_in_code(of: &str, but: &[&str]) -> HashSet<String> {
    fn walk(folder: &Path, visit: &mut dyn FnMut(&Path)) {
        for entry in std::fs::read_dir(folder).expect("a folder of the workspace").flatten() {
            let path = entry.path();
            if path.is_dir() { walk(&path, visit) } else { visit(&path) }
        }
    }
    let (mut found, prefix) = (HashSet::new(), format!("{of}::"));
    let mut read = |path: &Path| {
        let is_left_out = but.iter().any(|end| path.ends_with(end)) || path.ends_with("tests.rs");
        if is_left_out || path.extension().is_none_or(|ext| ext != "rs") {
            return;
        }
        let text = std::fs::read_to_string(path).expect("a source file");
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        for (at, _) in code.match_indices(&prefix) {
            let is_whole = !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
            let rest = &code[at + prefix.len()..];
            let end = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
            if is_whole {
                found.insert(rest[..end].to_owned());
            }
        }
    };
    for entry in std::fs::read_dir(root().join("crates")).expect("crates").flatten() {
        let source = entry.path().join("src");
        if source.is_dir() {
            walk(&source, &mut read);
        }
    }
    found
}

/// The names in backquotes of the paragraph of `docs/IMITATED_GETS.md` that begins so.
fn names_on_the_page(beginning: &str) -> Vec<String> {
    let page = std::fs::read_to_string(root().join("docs/IMITATED_GETS.md")).expect("the page");
    let paragraph = page.split("\n\n").find(|text| text.starts_with(beginning)).expect("the paragraph");
    paragraph.split('`').skip(1).step_by(2).map(|name| name.replace('\n', " ")).collect()
}

const TEST_LATCHES: [LatchName; 2] = [LatchName::TestUnit, LatchName::TestShared];

#[test]
fn latches_that_are_only_names_are_those_that_no_code_gets() {
    let named = named_in_code("LatchName", &["latch/src/list.rs", "latch/src/places.rs"]);
    let mut only_names = Vec::new();
    for name in LatchName::all().filter(|name| !TEST_LATCHES.contains(name)) {
        assert_eq!(name.is_got(), named.contains(&format!("{name:?}")), "{name:?}: is it got or not?");
        if !name.is_got() {
            only_names.push(name.name());
        }
    }
    assert_eq!(names_on_the_page("Latches:"), only_names);
}

#[test]
fn every_place_is_one_that_some_code_gets_at() {
    let named = named_in_code("Where", &["latch/src/places.rs"]);
    let is_of_tests = |place: &Where| match place.owner() {
        Owner::Latch(name) => TEST_LATCHES.contains(&name),
        Owner::Mutex(_) => false,
    };
    for place in Where::all().filter(|place| !is_of_tests(place)) {
        assert!(named.contains(&format!("{place:?}")), "{place:?}: no code gets anything there");
    }
}

#[test]
fn events_that_are_only_names_are_those_that_nothing_waits_for() {
    let mut named = named_in_code("Event", &["wait/src/events.rs", "latch/src/list.rs", "enqueue/src/kinds.rs"]);
    for name in LatchName::all().filter(|name| name.is_got()) {
        named.extend(Generation::ALL.map(|generation| format!("{:?}", name.event(generation))));
    }
    let kinds = named_in_code("EnqueueType", &["enqueue/src/kinds.rs"]);
    for kind in EnqueueType::all().filter(|kind| kinds.contains(&format!("{kind:?}"))) {
        let modes = [LockMode::SubShare, LockMode::Share, LockMode::Exclusive];
        named.extend(modes.map(|mode| format!("{:?}", kind.event(mode))));
    }
    let mut only_names = Vec::new();
    for event in Event::all() {
        assert_eq!(event.occurs(), named.contains(&format!("{event:?}")), "{event:?}: does it occur or not?");
        if !event.occurs() {
            only_names.push(event.name());
        }
    }
    assert_eq!(names_on_the_page("Events:"), only_names);
}

/// A number without a text is reported as "Message … not found".
#[test]
fn every_error_that_the_source_raises_has_a_text() {
    let mut source = String::new();
    std::fs::read_dir(root().join("crates"))
        .expect("crates")
        .flatten()
        .for_each(|folder| sources(&folder.path().join("src"), &mut source));
    let mut numbers: Vec<u32> = Vec::new();
    for made in ["Ora::new(", "Ora::with("] {
        numbers.extend(source.split(made).skip(1).filter_map(|rest| {
            let rest = rest.trim_start();
            rest[..rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())].parse::<u32>().ok()
        }));
    }
    numbers.sort_unstable();
    numbers.dedup();
    assert!(numbers.len() > 400, "{} numbers were found", numbers.len());
    let untold: Vec<u32> =
        numbers.into_iter().filter(|&n| types::Ora::new(n).to_string().contains("not found;")).collect();
    assert!(untold.is_empty(), "no text in crates/types/src/messages for {untold:?}");
}
