//! Runs the examples of docs/CONNECTING.md, with the address of this instance.

use super::{given, start};
use client::{Client, Credentials, Ephemeral, NetAddress};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const PAGE: &str = include_str!("../../../../docs/CONNECTING.md");
const PLACE: &str = "localhost:1521";

/// An example: the info string of its fence, and its text.
struct Example {
    kind: &'static str,
    text: String,
}

fn examples(at: &NetAddress) -> Vec<Example> {
    let mut all = Vec::new();
    for (n, part) in PAGE.split("\n```").enumerate() {
        if n % 2 == 1 {
            let (kind, text) = part.split_once('\n').expect("a fence and lines");
            all.push(Example { kind, text: text.replace(PLACE, &format!("localhost:{}", at.port)) });
        }
    }
    assert_eq!(PAGE.split("\n```").count() % 2, 1, "every fence is closed");
    all
}

fn runs(command: &mut Command) -> bool {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|s| s.success())
}

/// The command that runs a program in a file, if there is one.
fn command(kind: &str, file: &Path) -> Option<Command> {
    let with = |program: PathBuf| {
        let mut command = Command::new("timeout");
        command.arg(super::PATIENCE_S).arg(program);
        command
    };
    let mut command = match kind {
        "python" => {
            let python = given("LATCHWORK_ORACLEDB_PYTHON").or_else(|| given("LATCHWORK_TOOLS_PYTHON"));
            let python = python.unwrap_or("python3".into());
            runs(Command::new(&python).args(["-c", "import oracledb"])).then(|| with(python))?
        }
        "python sqlalchemy" | "python django" => with(given("LATCHWORK_TOOLS_PYTHON")?),
        "js" => runs(Command::new("node").args(["-e", "require('oracledb')"])).then(|| with("node".into()))?,
        "java" => {
            let jar = given("LATCHWORK_OJDBC").or_else(|| given("LATCHWORK_TOOLS_JARS").map(|jars| jars.join("*")))?;
            let mut java = with("java".into());
            java.arg("-cp").arg(jar);
            runs(Command::new("java").arg("--version")).then_some(java)?
        }
        "go" => {
            let module = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conversation/go");
            let folder = file.parent()?;
            for name in ["go.mod", "go.sum"] {
                std::fs::copy(module.join(name), folder.join(name)).ok()?;
            }
            let built = folder.join("hello");
            let mut build = Command::new("go");
            build.args(["build", "-mod=readonly", "-o"]).arg(&built).arg(".").current_dir(folder);
            return runs(&mut build).then(|| with(built));
        }
        other => panic!("{other}: a kind of example that no test runs"),
    };
    command.arg(file);
    Some(command)
}

fn file_name(kind: &str) -> &'static str {
    match kind {
        "js" => "hello.js",
        "go" => "main.go",
        "java" => "Hello.java",
        _ => "hello.py",
    }
}

/// The statements of an example, and the arguments of the command line.
fn administer(example: &Example, instance: &Ephemeral) {
    if example.kind == "sql" {
        let mut c: Client = instance.connect(&Credentials::Sysdba).expect("a local session");
        for sql in example.text.split(";\n").map(|sql| sql.trim().trim_end_matches(';')) {
            c.execute(sql, &[]).unwrap_or_else(|e| panic!("{sql}: {e}"));
        }
        return;
    }
    for line in example.text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words[0], "latchwork", "{line}");
        // The test has already started the instance.
        if words[1] == "start" {
            assert!(line.ends_with("--param local_listener=1521"), "{line}");
            continue;
        }
        let mut shell = Command::new(env!("CARGO_BIN_EXE_latchwork"));
        let dir = instance.dir().display().to_string();
        shell.args(words[1..].iter().map(|word| if *word == "db" { dir.as_str() } else { word })).stdin(Stdio::null());
        let out = shell.output().expect("it runs");
        let said = String::from_utf8_lossy(&out.stdout);
        assert!(out.status.success() && !said.contains("ORA-"), "{line}: {said}");
    }
}

#[test]
fn every_example_of_the_page_connects() {
    let (instance, at) = start(&[]);
    let folder = super::tempdir("connecting");
    let (mut programs, mut left_out) = (0, Vec::new());
    for example in examples(&at) {
        if matches!(example.kind, "sql" | "sh") {
            administer(&example, &instance);
            continue;
        }
        programs += 1;
        let own = folder.join(programs.to_string());
        std::fs::create_dir_all(&own).expect("a folder");
        let file = own.join(file_name(example.kind));
        std::fs::write(&file, &example.text).expect("a file");
        let Some(mut command) = command(example.kind, &file) else {
            super::absent::left_out(&format!("the page's example of {}", example.kind), "its packages are not there");
            left_out.push(example.kind);
            continue;
        };
        let out = command.stdin(Stdio::null()).output().expect("it runs");
        let (said, errors) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
        assert!(out.status.success() && said.trim() == "connected as APP", "{}: {said}\n{errors}", example.kind);
    }
    let _ = std::fs::remove_dir_all(&folder);
    assert_eq!(programs, 7, "programs on the page");
    println!("{} of {programs} programs ran; without their packages: {left_out:?}", programs - left_out.len());
}
