//! python-oracledb's own tests of commonly used features, unpatched, against an instance.
//!
//! They run if `LATCHWORK_DRIVER_TESTS` names a folder with their `tests`, and are skipped otherwise. Tests that pass
//! without a server, and those that the driver skips, are not counted. `missing.txt` lists the failing tests with the
//! reason; a listed test must not pass.

#[path = "../support/mod.rs"]
mod support;

use client::NetAddress;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

const HERE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/driver_suite");
/// The files of tests, by number.
const FILES: [&str; 20] = [
    "1100", "1300", "1400", "1600", "1700", "1800", "2100", "2200", "2400", "2500", "2600", "2900", "3100", "3900",
    "4000", "4100", "4200", "4300", "4400", "7400",
];
const SECONDS: &str = "600";

struct Suite {
    python: PathBuf,
    tests: PathBuf,
}

impl Suite {
    fn find() -> Option<Suite> {
        let given = |name| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
        let tests = given("LATCHWORK_DRIVER_TESTS")?.join("tests");
        let python = given("LATCHWORK_DRIVER_TESTS_PYTHON").unwrap_or("python3".into());
        let mut command = Command::new(&python);
        command.args(["-c", "import oracledb, pytest, numpy, pandas"]);
        let has_all = command.output().is_ok_and(|out| out.status.success());
        (has_all && tests.join("conftest.py").is_file()).then_some(Suite { python, tests })
    }

    fn command(&self, port: u16) -> Command {
        let mut command = Command::new("timeout");
        command.arg(SECONDS).arg(&self.python).current_dir(&self.tests).env("PYTHONDONTWRITEBYTECODE", "1");
        let settings = [
            ("MAIN_USER", "pythontest"),
            ("MAIN_PASSWORD", "Welcome1"),
            ("PROXY_USER", "pythontestproxy"),
            ("PROXY_PASSWORD", "Welcome1"),
            ("ADMIN_USER", "system"),
            ("ADMIN_PASSWORD", "Manager1"),
            ("EDITION_NAME", "pythonedition"),
        ];
        for (name, value) in settings {
            command.env(format!("PYO_TEST_{name}"), value);
        }
        command.env("PYO_TEST_CONNECT_STRING", format!("127.0.0.1:{port}/latchwrk"));
        command
    }

    /// Runs the tests; returns the result of each.
    fn run(&self, port: u16) -> BTreeMap<String, String> {
        let mut command = self.command(port);
        command.args(["-m", "pytest", "-p", "no:cacheprovider", "-q", "--tb=no", "-rA", "-W", "ignore"]);
        let mut files: Vec<PathBuf> = std::fs::read_dir(&self.tests).unwrap().map(|e| e.unwrap().path()).collect();
        files.sort();
        let is_one = |f: &&PathBuf| {
            let name = f.file_name().unwrap().to_string_lossy().into_owned();
            FILES.iter().any(|n| name.starts_with(&format!("test_{n}_")) && name.ends_with(".py"))
        };
        command.args(files.iter().filter(is_one));
        let out = command.output().expect("the tests run");
        let said = String::from_utf8_lossy(&out.stdout);
        let mut all = BTreeMap::new();
        for line in said.lines() {
            let Some((outcome, rest)) = line.split_once(' ') else { continue };
            let test = rest.split(" - ").next().unwrap_or_default().trim();
            if matches!(outcome, "PASSED" | "FAILED" | "ERROR") && test.contains("::") {
                // A parametrised test counts as one; a test that passes but fails in its cleanup has failed.
                let short = test.rsplit("::").next().unwrap_or_default();
                let short = short.split('[').next().unwrap_or_default();
                let entry = all.entry(short.to_string()).or_insert_with(|| outcome.to_string());
                if outcome != "PASSED" {
                    *entry = outcome.to_string();
                }
            }
        }
        assert!(all.len() > 300, "{said}\n{}", String::from_utf8_lossy(&out.stderr));
        all
    }
}

#[test]
fn the_drivers_own_tests_pass() {
    let Some(suite) = Suite::find() else {
        support::absent::left_out("python-oracledb's own tests", "LATCHWORK_DRIVER_TESTS names no folder of them");
        return;
    };
    let without = suite.run(1);
    let instance = support::start(&[("local_listener", "0"), ("open_cursors", "1000")]);
    support::run(&mut support::connect(&instance), "alter user system identified by Manager1 account unlock");
    let at = NetAddress::of_instance(instance.dir(), "latchwrk").expect("it says where it listens");
    let mut schema = suite.command(at.port);
    schema.arg(Path::new(HERE).join("schema.py")).arg(suite.tests.join("sql/create_schema.sql"));
    let schema = schema.output().expect("the schema is made");
    assert!(schema.status.success(), "{}", String::from_utf8_lossy(&schema.stderr));
    let heard = suite.run(at.port);

    let needs_server = |test: &&String| without.get(*test).is_none_or(|outcome| outcome != "PASSED");
    let counted: Vec<&String> = heard.keys().filter(needs_server).collect();
    let passed: BTreeSet<&String> = counted.iter().filter(|t| heard[**t] == "PASSED").copied().collect();
    let missing = std::fs::read_to_string(Path::new(HERE).join("missing.txt")).unwrap();
    let missing: BTreeMap<&str, &str> =
        missing.lines().filter(|l| !l.starts_with('#')).filter_map(|l| l.split_once(' ')).collect();
    let line = format!("python-oracledb's own tests: {} of {} passed\n", passed.len(), counted.len());
    print!("{line}");
    std::fs::write(Path::new(env!("CARGO_TARGET_TMPDIR")).join("driver_suite.txt"), &line).unwrap();
    let unexpected: Vec<_> =
        counted.iter().filter(|t| !passed.contains(**t) && !missing.contains_key(t.as_str())).collect();
    let said = String::from_utf8_lossy(&schema.stdout);
    assert!(unexpected.is_empty(), "{line}not in missing.txt: {unexpected:?}\nthe schema: {said}");
    let now_there: Vec<_> = missing.keys().filter(|t| passed.contains(&(**t).to_string())).collect();
    assert!(now_there.is_empty(), "{line}in missing.txt, but passed: {now_there:?}");
}
