//! A conversation of 77 steps with real drivers in their own languages, each with an instance of its own: all drivers
//! get the same results, which are those of Oracle's documentation (`steps.txt`). Drivers with native encryption run it
//! a second time encrypted.
//!
//! A missing driver is skipped with a message. `./check` installs them where it can.

#[path = "../support/mod.rs"]
mod support;

use client::{Ephemeral, NetAddress};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const HERE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/conversation");
/// A program's result for an operation that its driver does not have.
const NO_SUCH_CALL: &str = "-";
/// Time limit for one driver, for a busy machine.
const SECONDS: &str = "240";

struct Step {
    name: String,
    outcome: String,
}

/// The parameters of an instance that accepts only encrypted connections.
const ENCRYPTED: [(&str, &str); 2] = [("encryption_server", "required"), ("crypto_checksum_server", "required")];
/// The step that reports the protection of the connection.
const PROTECTION: &str = "
[native encryption and checksums]
query select network_service_banner from v$session_connect_info where sid = sys_context('userenv', 'sid') order by 1
= 'AES256 Encryption service adapter' / 'SHA512 Crypto-checksumming service adapter' / 'TCP/IP NT Protocol Adapter'
";

fn steps(text: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix('[') {
            steps.push(Step { name: name.trim_end_matches(']').to_string(), outcome: String::new() });
        } else if let (Some(outcome), Some(step)) = (line.strip_prefix("= "), steps.last_mut()) {
            let between = if step.outcome.is_empty() { "" } else { " / " };
            let _ = write!(step.outcome, "{between}{outcome}");
        }
    }
    assert!(!steps.is_empty() && steps.iter().all(|s| !s.outcome.is_empty()), "steps without an outcome");
    steps
}

/// Whether a command runs.
fn runs(command: &mut Command) -> bool {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|s| s.success())
}

fn given(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// The command that starts a driver's program, if it can be started.
type Found = Option<Command>;
/// A driver's name, its program, and the number of steps for which the driver has no call.
type Driver = (&'static str, fn() -> Found, usize);

fn python() -> Found {
    let python = given("LATCHWORK_ORACLEDB_PYTHON").unwrap_or("python3".into());
    runs(Command::new(&python).args(["-c", "import oracledb"])).then(|| program(&python, &["python.py"]))
}

fn node() -> Found {
    let has_driver = runs(Command::new("node").args(["-e", "require('oracledb')"]));
    has_driver.then(|| program("node".as_ref(), &["node.js"]))
}

fn go() -> Found {
    let built = Path::new(env!("CARGO_TARGET_TMPDIR")).join("conversation-go");
    let mut build = Command::new("go");
    build.args(["build", "-o"]).arg(&built).arg(".").current_dir(Path::new(HERE).join("go"));
    build.env("GOFLAGS", "-mod=readonly");
    runs(&mut build).then(|| program(built.as_os_str(), &[]))
}

fn jdbc() -> Found {
    let driver = given("LATCHWORK_OJDBC").filter(|jar| Path::new(jar).is_file())?;
    let mut command = program("java".as_ref(), &["Jdbc.java"]);
    command.env("CLASSPATH", driver);
    runs(Command::new("java").arg("--version")).then_some(command)
}

fn program(what: &std::ffi::OsStr, files: &[&str]) -> Command {
    let mut command = Command::new("timeout");
    command.arg(SECONDS).arg(what).args(files.iter().map(|f| Path::new(HERE).join(f)));
    command
}

fn prepare(instance: &Ephemeral, also: &str) {
    let mut shell = Command::new(env!("CARGO_BIN_EXE_latchwork"));
    shell.args(["sql", "-s", "--dir"]).arg(instance.dir()).args(["/", "as", "sysdba"]);
    let mut shell = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the shell runs");
    shell.stdin.take().unwrap().write_all(format!("{}\n{also}\n", include_str!("setup.sql")).as_bytes()).unwrap();
    let said = shell.wait_with_output().expect("the shell ends");
    let said = String::from_utf8_lossy(&said.stdout);
    assert!(!said.contains("ORA-") && !said.contains("Warning"), "{said}");
}

/// The results of a driver, by step.
fn hold(mut command: Command, steps: &Path, parameters: &[(&str, &str)], also: &str) -> BTreeMap<String, String> {
    let instance = support::start(&[&[("local_listener", "0")], parameters].concat());
    prepare(&instance, also);
    let at = NetAddress::of_instance(instance.dir(), "latchwrk").expect("it says where it listens");
    command.arg(steps).arg(at.port.to_string()).arg(&at.service).env("TZ", "Europe/Berlin");
    let out = command.stdin(Stdio::null()).output().expect("the program runs");
    let said = String::from_utf8_lossy(&out.stdout);
    let heard = said.lines().filter_map(|line| line.split_once('\t')).map(|(n, o)| (n.to_string(), o.to_string()));
    let heard: BTreeMap<_, _> = heard.collect();
    assert!(!heard.is_empty(), "nothing was said: {}", String::from_utf8_lossy(&out.stderr));
    heard
}

/// Runs the conversation with each of the drivers and compares. `also` are additional statements of the preparation.
fn compare(what: &str, text: &str, drivers: &[Driver], parameters: &[(&str, &str)], also: &str) {
    let here = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let file: PathBuf = here.join(format!("{what}-steps.txt"));
    std::fs::write(&file, text).unwrap();
    let steps = steps(text);
    let mut table = String::new();
    let mut differences = Vec::new();
    for (name, find, has_not) in drivers {
        let Some(command) = find() else {
            support::absent::left_out(&format!("the {what} of {name}"), "the driver is not there");
            let _ = writeln!(table, "{name}: the driver is not there, left out");
            continue;
        };
        let heard = hold(command, &file, parameters, also);
        let (mut same, mut none) = (0, 0);
        for step in &steps {
            match heard.get(&step.name).map(String::as_str) {
                Some(outcome) if outcome == step.outcome => same += 1,
                Some(NO_SUCH_CALL) => none += 1,
                other => differences.push(format!("{name}, {}: {other:?}, not {:?}", step.name, step.outcome)),
            }
        }
        if none != *has_not {
            differences.push(format!("{name}: no call for {none} steps, not {has_not}"));
        }
        let of = steps.len() - none;
        let _ = writeln!(table, "{name}: {same} of {of} steps as documented, {none} that the driver cannot say");
    }
    print!("{table}");
    std::fs::write(here.join(format!("{what}.txt")), &table).unwrap();
    assert!(differences.is_empty(), "{table}{}", differences.join("\n"));
}

const STEPS: &str = include_str!("steps.txt");

#[test]
fn every_driver_hears_what_oracle_says() {
    let drivers: [Driver; 4] = [("python", python, 0), ("node", node, 1), ("go", go, 14), ("jdbc", jdbc, 4)];
    assert!(steps(STEPS).len() >= 60);
    compare("conversation", STEPS, &drivers, &[], "");
}

#[test]
fn drivers_with_native_encryption_hear_the_same_under_it() {
    let drivers: [Driver; 2] = [("go", go, 14), ("jdbc", jdbc, 4)];
    compare("conversation-encrypted", &format!("{STEPS}{PROTECTION}"), &drivers, &ENCRYPTED, "");
}

/// Accounts that have only 11G verifiers.
const OLDER: &str = "
alter user u identified by values 'S:0307A334A736DFD22BE3FB97DD20F2D7AB5DAA0299887766554433221100';
alter user changing identified by values 'S:0307A334A736DFD22BE3FB97DD20F2D7AB5DAA0299887766554433221100';
alter user through identified by values 'S:0307A334A736DFD22BE3FB97DD20F2D7AB5DAA0299887766554433221100';
create table u.versions as select username, password_versions v from dba_users;
grant select on u.versions to public;
";
/// The steps of their clients.
const OLDER_STEPS: &str = "
[the accounts have none but an 11G verifier]
query select v from u.versions where username = 'U'
= '11G'

[a wrong password is refused]
logon u Wrong1
= ORA-01017

[the right one is not]
logon u Tiger1
= open

[the password is changed at logon]
newpassword changing Tiger1 Tiger2
= CHANGING

[one user through another]
proxy through Tiger1 u
= U THROUGH
";

#[test]
fn drivers_prove_passwords_against_11g_verifiers() {
    let drivers: [Driver; 4] = [("python", python, 0), ("node", node, 0), ("go", go, 1), ("jdbc", jdbc, 0)];
    let accepts = ("allowed_logon_version_server", "12");
    compare("verifiers", OLDER_STEPS, &drivers, &[accepts], OLDER);
    // The key of such a logon is shorter, and so is that of the encrypted packets.
    let both = [ENCRYPTED[0], ENCRYPTED[1], accepts];
    compare("verifiers-encrypted", OLDER_STEPS, &drivers[2..], &both, OLDER);
}
