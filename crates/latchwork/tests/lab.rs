//! The laboratory end to end: a small run, its files, and the counts that do not depend on the machine.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use client::{Credentials, Ephemeral, EphemeralOptions, NetAddress};

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("latchwork-lab-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a temporary folder");
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn lab(arguments: &[&str]) -> (bool, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_latchwork")).arg("lab").args(arguments).output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (output.status.success(), text)
}

fn read(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

#[test]
fn a_run_leaves_figures_that_agree_with_the_design() {
    let folder = Folder::new("run");
    let out = folder.0.to_str().unwrap();
    let arguments = ["run", "result-cache", "--sessions", "1,2", "--iterations", "300", "--repeat", "1", "--quiet"];
    let (ok, text) = lab(&[&arguments[..], &["--generation", "11.1,11.2.0.3,latchwork", "--out", out]].concat());
    assert!(ok, "{text}");
    assert!(text.contains("% linear") && text.contains("report.html"), "{text}");
    let results: serde_json::Value = serde_json::from_str(&read(&folder.0, "results.json")).unwrap();
    let rows = results["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2 * 3 * 2);
    for row in rows {
        let sessions = row["sessions"].as_u64().unwrap();
        assert_eq!(row["operations"].as_u64().unwrap(), 300 * sessions);
        assert!(row["elapsed_s"].as_f64().unwrap() > 0.0 && row["pct_linear"].as_f64().unwrap() > 0.0);
        let calls = row["calls"].as_u64().unwrap();
        assert!(calls >= sessions, "{row}");
        if row["workload"] != "result-cache" {
            continue;
        }
        let name = if row["generation"] == "11.1" { "Result Cache: Latch" } else { "Result Cache: RC Latch" };
        let gets = row["latches"][name]["gets"].as_u64().unwrap();
        // Two gets an access and one a call while the latch is exclusive; then one an access.
        match row["generation"].as_str().unwrap() {
            "11.1" => assert_eq!(gets, sessions * 2 * 300 + calls, "{row}"),
            "latchwork" => assert_eq!(gets, sessions * 300, "{row}"),
            _ => assert_eq!(gets, sessions * 300 + calls, "{row}"),
        }
    }
    assert!(text.contains("One repeat of each cell: there is no interval"), "{text}");
    assert!(results["cells"].as_array().unwrap().iter().all(|cell| cell["ops_per_s"]["interval"].is_null()));
    let counts = results["counts"].as_array().unwrap();
    assert!(counts.iter().all(|count| count["readings"].as_array().unwrap().len() == 7), "{counts:?}");
    assert_eq!(read(&folder.0, "results.csv").lines().count(), 13);
    assert!(read(&folder.0, "report.html").contains("</html>"));
    let (ok, again) = lab(&["report", out]);
    assert!(ok && again.contains("Operations per second"), "{again}");
}

/// Repeats come from separate instances, one after the other; a cell has an interval, and a rate of the window in which
/// all sessions ran, from counted operations.
#[test]
fn one_instance_lives_at_a_time_and_repeats_give_intervals() {
    let folder = Folder::new("window");
    let (out, instances) = (folder.0.join("out"), folder.0.join("tmp"));
    std::fs::create_dir_all(&instances).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_latchwork"))
        .args(["lab", "run", "result-cache", "--sessions", "1,2", "--seconds", "0.4", "--repeat", "2", "--quiet"])
        .args(["--variant", "hash-cluster", "--generation", "11.1,latchwork", "--out", out.to_str().unwrap()])
        .env("XDG_RUNTIME_DIR", &instances)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    let (mut seen, mut most) = (std::collections::BTreeSet::new(), 0);
    while child.try_wait().expect("its state").is_none() {
        let alive: Vec<_> = std::fs::read_dir(&instances).unwrap().flatten().map(|entry| entry.file_name()).collect();
        most = most.max(alive.len());
        seen.extend(alive);
        std::thread::sleep(Duration::from_millis(2));
    }
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{output:?}");
    assert_eq!((most, seen.len()), (1, 4), "instances at the same time, and in all: {seen:?}");
    let results: serde_json::Value = serde_json::from_str(&read(&out, "results.json")).unwrap();
    let rows = results["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2 * 2 * 2);
    for row in rows {
        let (window, figure) = (&row["window"], |name: &str| row[name].as_f64().unwrap());
        // A call takes a fiftieth of a second, so most operations of the cell are in calls entirely in the window.
        assert!(figure("calls") >= 2.0 * figure("sessions"), "{row}");
        if window.is_null() {
            // On a busy machine one session may have ended before the other began.
            let whole = figure("operations") / figure("elapsed_s");
            assert!(row["sessions"] == 2 && (figure("ops_per_s") - whole).abs() < 1e-6 * whole, "{row}");
            continue;
        }
        assert!(window["seconds"].as_f64().unwrap() <= figure("elapsed_s"), "{row}");
        let (counted, cut) = (window["counted"].as_f64().unwrap(), window["cut"].as_f64().unwrap());
        let rate = (counted + cut) / window["seconds"].as_f64().unwrap();
        assert!((figure("ops_per_s") - rate).abs() < 1e-6 * rate, "{row}");
        assert!(counted + cut <= figure("operations") * 1.000_001, "{row}");
        if row["sessions"] == 1 {
            assert_eq!((counted, cut), (figure("operations"), 0.0), "{row}");
        }
    }
    let cells = results["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 4);
    for cell in cells {
        assert!(cell["ops_per_s"]["count"] == 2 && cell["ops_per_s"]["interval"].as_f64().unwrap() > 0.0, "{cell}");
    }
    let csv = read(&out, "results.csv");
    assert!(csv.lines().next().unwrap().contains(",window_s,") && csv.contains("interval_95_ops_per_s"), "{csv}");
    let page = read(&out, "report.html");
    assert!(page.contains("Averages of 2 repeats; ± is half of the 95 % interval"));
    assert!(page.contains("Latchwork as 11.1</li>") && page.contains("Core i7 980X, 2010, Oracle 11.2</li>"));
}

/// An instance with a listener and a user: to the laboratory a database of the user, reached by Oracle Net.
fn database_of_the_user() -> (Ephemeral, NetAddress) {
    let options = EphemeralOptions {
        params: vec![("local_listener".into(), "0".into())],
        executable: Some(PathBuf::from(env!("CARGO_BIN_EXE_latchwork"))),
    };
    let instance = Ephemeral::start_with(&options).expect("the instance starts");
    let mut session = instance.connect(&Credentials::Sysdba).expect("a session");
    for statement in ["create user app identified by \"Secret#1\"", "grant dba to app"] {
        session.execute(statement, &[]).unwrap_or_else(|e| panic!("{e}: {statement}"));
    }
    let at = NetAddress::of_instance(instance.dir(), "latchwrk").expect("it says where it listens");
    (instance, at)
}

#[test]
fn engines_run_in_rounds_with_ratios_and_the_secrets_of_a_url_stay_secret() {
    let (instance, at) = database_of_the_user();
    let folder = Folder::new("targets");
    let out = folder.0.to_str().unwrap();
    let url = format!("own=oracle://app:Secret%231@{}:{}/latchwrk", at.host, at.port);
    let nowhere = "far=oracle://app:Secret%231@127.0.0.1:1/nothing";
    let targets = format!("latchwork,{url},{nowhere},latchwork@9.2");
    let arguments = ["run", "result-cache", "--targets", &targets, "--sessions", "1,2", "--iterations", "300"];
    let (ok, text) = lab(&[&arguments[..], &["--repeat", "2", "--quiet", "--out", out]].concat());
    assert!(ok, "{text}");
    assert!(
        text.contains("far: no session at 127.0.0.1:1/nothing") && text.contains("the run goes on without it"),
        "{text}"
    );
    assert!(text.contains("latchwork / own") && text.contains("Only 2 rounds"), "{text}");
    assert!(text.contains("latchwork@9.2, result-cache: there is no result cache in this release"), "{text}");
    assert!(text.contains("Oracle's licence"), "{text}");
    let json = read(&folder.0, "results.json");
    let results: serde_json::Value = serde_json::from_str(&json).unwrap();
    let rows = results["rows"].as_array().unwrap();
    // Two rounds, one and two sessions; two variants with two places, and one variant of 9.2.
    assert_eq!(rows.len(), 2 * 2 * (4 + 4 + 2));
    for row in rows {
        let is_own = row["target"] == "own";
        assert_eq!(row["operations"].as_u64().unwrap(), 300 * row["sessions"].as_u64().unwrap());
        assert_eq!(row["cpu_us"].is_null(), is_own, "{row}");
        assert!(is_own || row["cpu_us"].as_f64().unwrap() > 0.0, "{row}");
        if !is_own && row["variant"] == "hash-cluster" {
            // One logical read an operation; other processes may add to them.
            assert!(row["figures"]["logical reads"].as_f64().unwrap() >= 1.0, "{row}");
        }
    }
    let beside = results["beside"].as_array().unwrap();
    // Two sessions of so few operations may never work at once, and then have no rate to compare. Over a wire the
    // user's database is at the end of another one.
    let alone: Vec<_> = beside.iter().filter(|b| b["sessions"] == 1).collect();
    assert_eq!(alone.len(), 2 + 2, "{beside:?}");
    assert!(alone.iter().all(|b| b["by_clock"]["rounds"] == 2), "{beside:?}");
    assert!(beside.iter().all(|b| b["other"] != "own" || b["cell"].as_str().unwrap().ends_with("/engine")));
    let page = read(&folder.0, "report.html");
    for place in [&text, &json, &page, &read(&folder.0, "results.csv")] {
        assert!(!place.contains("Secret") && !place.contains("app:"), "{place}");
    }
    let (ok, again) = lab(&["report", out]);
    assert!(ok && again.contains("latchwork / own"), "{again}");
    for command in [vec!["compare", out, out], vec!["export", out, "--to", out]] {
        let (ok, text) = lab(&command);
        assert!(!ok && text.contains("several engines"), "{text}");
    }
    // The objects of the run are gone.
    let mut session = instance.connect(&Credentials::Sysdba).expect("a session");
    let left = session.query("select object_name from dba_objects where owner = 'APP'", &[]).unwrap().all().unwrap();
    assert!(left.is_empty(), "{left:?}");
    // A schema with objects is left alone: the experiment drops its own ones by their names.
    session.execute("create table app.lookup (mine number)", &[]).unwrap();
    let (ok, text) = lab(&["run", "result-cache", "--targets", &url, "--iterations", "300", "--quiet", "--out", out]);
    assert!(!ok && text.contains("the schema of its user is not empty (1 objects)"), "{text}");
    assert!(session.query("select mine from app.lookup", &[]).is_ok());
}

#[test]
fn what_cannot_be_run_is_said_plainly() {
    for (arguments, word) in [
        (vec!["run", "result-cache", "--instance-kills", "5"], "unexpected argument '--instance-kills'"),
        (vec!["run", "slob", "--generation", "11.1"], "--generation"),
        (vec!["run", "--quick", "torture"], "latchwork lab run torture --help"),
        (vec!["run", "no-such-experiment"], "no-such-experiment"),
        (vec!["run", "result-cache", "--targets", "db2"], "there is no engine db2"),
        (vec!["run", "hot-cursor", "--targets", "mariadb"], "none of the engines"),
        (vec!["run", "result-cache", "--variant", "nothing"], "hash-cluster"),
        (vec!["report", "no/such/folder"], "results.json"),
    ] {
        let (ok, text) = lab(&arguments);
        assert!(!ok && text.contains(word), "{text}");
    }
    let (ok, text) = lab(&["list"]);
    assert!(ok && text.contains("result-cache"), "{text}");
    for (program, own, other) in [
        ("torture", "--instance-kills", "--think-ms"),
        ("slob", "--think-ms", "--generation"),
        ("huge-pages", "--reserve-huge-pages", "--hot-pct"),
        ("time-machine", "--experiment", "--rate"),
    ] {
        let (ok, text) = lab(&["run", program, "--help"]);
        assert!(ok && text.contains(own) && !text.contains(other) && text.contains("Examples:"), "{text}");
    }
    let (ok, text) = lab(&["run", "--help"]);
    assert!(ok && text.contains("--rate") && text.contains("torture") && !text.contains("--instance-kills"), "{text}");
}

/// The verdicts on speed depend on the machine, so only those on exact counts are asserted.
#[test]
fn published_statements_are_rerun_and_judged() {
    let (ok, text) = lab(&["reproduce", "--list"]);
    assert!(ok && text.contains("row-cache: K. Sun") && text.contains("tested from 6 processors on"), "{text}");
    let (ok, text) = lab(&["reproduce", "S7"]);
    assert!(!ok && text.contains("no source 'S7': there are all, S0, S1"), "{text}");
    let folder = Folder::new("reproduce");
    let place = folder.0.to_str().unwrap();
    let short = ["reproduce", "S2", "S4", "--iterations", "200", "--repeat", "2", "--quiet", "--out", place];
    let (_, text) = lab(&short);
    let results: serde_json::Value = serde_json::from_str(&read(&folder.0, "results.json")).expect(&text);
    let claims = results["claims"].as_array().unwrap();
    assert_eq!(claims.len(), 13, "{text}");
    let exact: Vec<&serde_json::Value> = claims.iter().filter(|c| c["within"].is_null()).collect();
    assert!(exact.len() == 4 && exact.iter().all(|c| c["verdict"] == "reproduced"), "{text}");
    assert!(claims.iter().all(|c| c["verdict"] != "not-tested" || !c["note"].as_str().unwrap().is_empty()), "{text}");
    assert!(text.contains("13 statements: "), "{text}");
    let page = read(&folder.0, "report.html");
    assert!(page.contains("Published experiments, rerun") && !page.contains("<script"), "{page}");
    assert!(folder.0.join("result-cache/results.json").exists() && folder.0.join("row-cache/report.html").exists());
    let (ok, again) = lab(&["report", place]);
    assert!(ok && text.starts_with(again.trim_end()), "{again}");
}

#[test]
fn a_recorded_load_is_predicted_or_refused_with_the_reason() {
    let folder = Folder::new("predict");
    let (trace, out) = (folder.0.join("load.trace"), folder.0.join("forecast.csv"));
    let mut text = String::from("latch-trace 1\nname a test\nsessions 1\ncall_ns 11150\nlatch 0 exclusive RC Latch\n");
    text += "calls 1600\ngets 1600\n";
    for n in 0..1_600 {
        text += &format!("call 100\nget 0 1 r {} 50 same\n", 1_000 + n * 7_919 % 20_000);
    }
    std::fs::write(&trace, &text).unwrap();
    let quick = ["predict", "--calls", "1000", "--draws", "4", "--machine", "cascade-lake-6242"];
    let quick = [&quick[..], &["--trace", trace.to_str().unwrap()]].concat();
    let common = [&quick[..], &["--cores", "8", "--sessions", "1,8"]].concat();
    let (ok, text) = lab(&[&common[..], &["--design", "versioned"]].concat());
    assert!(ok && text.contains("versioned against recorded, 8 cpus, 8 sessions"), "{text}");
    let (ok, text) = lab(&[&common[..], &["--format", "csv", "--out", out.to_str().unwrap()]].concat());
    assert!(ok, "{text}");
    assert_eq!(read(&folder.0, "forecast.csv").lines().count(), 3);
    // More sessions than processors need a measured scheduler, which a machine of the literature has not.
    let (ok, text) = lab(&[&quick[..], &["--cores", "4", "--sessions", "8"]].concat());
    assert!(ok && text.contains("recorded, 4 cpus, 8 sessions: refused: sessions outnumber processors"), "{text}");
    let (ok, text) = lab(&["predict", "--help"]);
    assert!(ok && text.contains("latchwork lab predict --trace load.trace") && text.contains("hot-copies-K"), "{text}");
}

/// A result file with these rates of the workload `w`: for each number of sessions the rates of its repeats.
fn run_file(folder: &Path, name: &str, rates: &[(u32, &[f64])]) -> String {
    let mut rows = Vec::new();
    for (sessions, rates) in rates {
        rows.extend(rates.iter().zip(1..).map(|(rate, repeat)| {
            serde_json::json!({"variant": "w@latchwork", "workload": "w", "generation": "latchwork",
                "sessions": sessions, "repeat": repeat, "operations": 1000, "elapsed_s": 1.0, "ops_per_s": rate,
                "pct_linear": null, "latches": {}})
        }));
    }
    let run = serde_json::json!({"experiment": "e", "title": "t", "source": "", "question": "", "started": 1_795_341_600u64,
        "host": {"cpu": "a processor", "cores": 2, "memory_bytes": 1u64 << 30, "kernel": "6"}, "version": "0",
        "parameters": {"_spin_count": "100"}, "rows": rows});
    let path = folder.join(name);
    std::fs::write(&path, run.to_string()).unwrap();
    path.to_str().unwrap().to_string()
}

/// The exit code of `lab compare`, and its output.
fn compare(arguments: &[&str]) -> (i32, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_latchwork"))
        .args(["lab", "compare"])
        .args(arguments)
        .output()
        .expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(!text.contains("panicked"), "{text}");
    (output.status.code().expect("it was not killed"), text)
}

#[test]
fn two_runs_are_compared_and_the_exit_code_says_whether_one_is_slower() {
    let folder = Folder::new("compare");
    let a = run_file(&folder.0, "a.json", &[(1, &[100.0, 101.0, 99.0]), (2, &[200.0, 201.0, 199.0]), (8, &[1.0, 2.0])]);
    let b = run_file(&folder.0, "b.json", &[(1, &[80.0, 81.0, 80.5]), (2, &[202.0, 200.0, 199.5]), (9, &[1.0, 2.0])]);
    let (code, text) = compare(&[&a, &b]);
    assert_eq!(code, 3, "{text}");
    assert!(text.contains("SLOWER") && text.contains("no difference found"), "{text}");
    assert!(text.contains("2 cells: 1 slower beyond the limit"), "{text}");
    assert!(text.contains("1 cells in A only: e w@latchwork, 8 sessions") && text.contains("in B only"), "{text}");
    assert!(text.contains("2026-11-22 10:00 UTC, a processor, 2 cores"), "{text}");
    // Within a wider limit, in the other direction, or against itself, nothing is slower.
    for arguments in [vec![&a[..], &b, "--limit", "40 %"], vec![&b, &a], vec![&a, &a, "--limit", "0"]] {
        let (code, text) = compare(&arguments);
        assert_eq!(code, 0, "{arguments:?}: {text}");
        assert!(!text.contains("SLOWER"), "{text}");
    }
    let (code, text) = compare(&[&a, &a, "--json"]);
    let all: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!((code, &all["slower"], &all["judged"]), (0, &0.into(), &3.into()));
    assert!(all["cells"].as_array().unwrap().iter().all(|c| c["verdict"] == "no-difference-found"), "{text}");
    let (code, text) = compare(&[&a, &b, "--csv"]);
    assert_eq!((code, text.lines().count()), (3, 3), "{text}");
    assert!(text.contains("\"e\",\"w\",\"latchwork\",1,ops/s,3,3,100,80.5,0.80"), "{text}");
    let page = folder.0.join("page.html");
    assert_eq!(compare(&[&a, &b, "--page", page.to_str().unwrap()]).0, 3);
    assert!(read(&folder.0, "page.html").contains("speed of B relative to A, by ops/s"));
}

#[test]
fn a_baseline_is_written_and_compared_with() {
    let folder = Folder::new("baseline");
    let a = run_file(&folder.0, "a.json", &[(1, &[100.0, 101.0, 99.0])]);
    let b = run_file(&folder.0, "b.json", &[(1, &[80.0, 81.0, 80.5])]);
    let file = folder.0.join("of.baseline");
    let file = file.to_str().unwrap();
    let (code, text) = compare(&[&a, "--baseline", file, "--update"]);
    assert!(code == 0 && text.contains("1 cells written"), "{text}");
    let written = read(&folder.0, "of.baseline");
    assert_eq!(written.lines().count(), 6, "{written}");
    assert_eq!(compare(&[&a, "--baseline", file]).0, 0);
    assert_eq!(compare(&[&b, "--baseline", file]).0, 3);
    assert_eq!(compare(&[&a, "--baseline", file, "--update"]).0, 0);
    assert_eq!(read(&folder.0, "of.baseline"), written, "the same run gives the same file");
    let single = run_file(&folder.0, "single.json", &[(1, &[100.0])]);
    let other = folder.0.join("single.baseline");
    let (code, text) = compare(&[&single, "--baseline", other.to_str().unwrap(), "--update"]);
    assert!(code == 0 && text.contains("1 of them have a single repeat"), "{text}");
    std::fs::write(file, &written[..written.len() - 8]).unwrap();
    let (code, text) = compare(&[&a, "--baseline", file]);
    assert!(code == 2 && text.contains("of.baseline"), "{text}");
}

#[test]
fn input_that_cannot_be_compared_is_refused_with_exit_code_2() {
    let folder = Folder::new("hostile");
    let good = run_file(&folder.0, "good.json", &[(1, &[100.0, 101.0, 99.0])]);
    let single = run_file(&folder.0, "single.json", &[(1, &[50.0])]);
    let other = run_file(&folder.0, "seven.json", &[(7, &[50.0, 51.0])]);
    let text = std::fs::read_to_string(&good).unwrap();
    let mut machine: serde_json::Value = serde_json::from_str(&text).unwrap();
    machine["host"]["cores"] = 4.into();
    let mut parameter: serde_json::Value = serde_json::from_str(&text).unwrap();
    parameter["parameters"]["_spin_count"] = "200".into();
    let hostile = [
        ("truncated", text[..text.len() / 2].to_string(), "truncated.json", 2),
        ("empty", String::new(), "EOF", 2),
        ("list", "[1, 2]".into(), "not the results of a run", 2),
        ("other", "{\"experiment\": \"e\", \"cells\": {}}".into(), "not the results of a run", 2),
        ("torture", "{\"experiment\": \"torture\"}".into(), "no rates", 2),
        ("deep", "[".repeat(100_000), "recursion", 2),
        ("huge", text.replace("100.0", "1e999"), "out of range", 2),
        ("sessions", text.replace("\"sessions\":1", "\"sessions\":99999999999"), "not the results of a run", 2),
        ("negative", text.replace("100.0", "-100.0"), "not above zero", 2),
        ("zero", text.replace("100.0", "0.0"), "not above zero", 2),
        ("machine", machine.to_string(), "other machine: a processor, 2 cores and a processor, 4 cores", 2),
        ("parameter", parameter.to_string(), "_spin_count: 100 and 200", 2),
        ("great", text.replace("100.0", "1.7e308"), "no difference found", 0),
        ("escape", text.replace("a processor", "\\u001b[31m"), "other machine", 2),
    ];
    for (name, content, word, expected) in hostile {
        let path = folder.0.join(format!("{name}.json"));
        std::fs::write(&path, content).unwrap();
        let (code, text) = compare(&[&good, path.to_str().unwrap()]);
        assert!(code == expected && text.contains(word), "{name}: {code}: {text}");
        assert!(!text.contains('\u{1b}'), "{name}: {text}");
    }
    assert_eq!(compare(&[&good, folder.0.join("machine.json").to_str().unwrap(), "--anyway"]).0, 0);
    for (arguments, word) in [
        (vec![&good[..], &single], "single repeat"),
        (vec![&good, &other], "no cell is in both"),
        (vec![&good], "give two runs"),
        (vec![&good, "no/such/file"], "no/such/file"),
        (vec![&good, "/dev/zero"], "not a file"),
        (vec![&good, "--baseline", &good], "not a baseline"),
        (vec![&good, &good, "--baseline", "x"], "give one run"),
        (vec![&good, &good, "--limit", "100"], "--limit"),
        (vec![&good, &good, "--limit", "NaN"], "--limit"),
        (vec![&good, &good, "--designs", "11.1"], "two generations"),
        (vec![&good, &good, "--json", "--csv"], "cannot be used with"),
        (vec![&good, "--update"], "--baseline"),
    ] {
        let (code, text) = compare(&arguments);
        assert!(code == 2 && text.contains(word), "{arguments:?}: {code}: {text}");
    }
}

/// An open loop: a given number of operations arrives whatever the sessions do, and its latencies merge.
#[test]
fn operations_that_arrive_at_a_rate_leave_latencies() {
    let folder = Folder::new("rate");
    let out = folder.0.join("out");
    let out = out.to_str().unwrap();
    let common = ["run", "result-cache", "--variant", "hash-cluster@latchwork", "--generation", "latchwork", "--quiet"];
    let rate = ["--rate", "200", "--arrivals", "constant", "--seconds", "0.5", "--sessions", "2", "--repeat", "2"];
    let (ok, text) = lab(&[&common[..], &rate, &["--out", out]].concat());
    assert!(ok, "{text}");
    assert!(text.contains("Microseconds from the intended arrival") && text.contains("p99.9"), "{text}");
    let results: serde_json::Value = serde_json::from_str(&read(Path::new(out), "results.json")).unwrap();
    assert_eq!(results["parameters"]["arrivals per second"], "200");
    let rows = results["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    for row in rows {
        let latency = &row["latency"];
        let dropped = latency["dropped"].as_u64().unwrap();
        assert_eq!(latency["arrivals"], 100, "{row}");
        assert_eq!(row["operations"].as_u64().unwrap() + dropped, 100, "{row}");
        assert!(latency["p50_us"].as_f64().unwrap() > 0.0 && row["pct_linear"].is_null(), "{row}");
        assert!(latency["histogram"].as_str().unwrap().starts_with("HISTFAAA"), "{row}");
        // One get of an operation by its design.
        let gets = row["latches"]["cache buffers chains"]["gets"].as_u64().unwrap();
        assert!(gets >= 100 - dropped, "{row}");
    }
    let log = read(Path::new(out), "latencies.hlog");
    assert_eq!(log.lines().filter(|l| l.starts_with("Tag=hash-cluster@latchwork/2/")).count(), 2, "{log}");
    assert!(read(Path::new(out), "report.html").contains("<h2>Latencies</h2>"));
    let (code, text) = compare(&[out, out]);
    assert!(code == 0 && text.contains("p99 us") && !text.contains("ops/s  "), "{text}");
    for (arguments, word) in [
        (&["run", "result-cache", "--rate", "1e12"][..], "arrivals a cell"),
        (&["run", "shared-mode", "--rate", "10"], "held by hand"),
        (&["run", "result-cache", "--rate=-1"], "--rate"),
        (&["run", "result-cache", "--rate", "10", "--iterations", "5"], "--iterations"),
        (&["run", "result-cache", "--arrivals", "poisson"], "--rate"),
    ] {
        let (ok, text) = lab(arguments);
        assert!(!ok && text.contains(word), "{arguments:?}: {text}");
    }
}

/// The rows of a small run: variant, sessions, and one latch's gets.
fn small_run(name: &str, arguments: &[&str]) -> Vec<serde_json::Value> {
    let folder = Folder::new(name);
    let out = folder.0.to_str().unwrap();
    let common = ["run", name, "--repeat", "1", "--quiet", "--out", out];
    let (ok, text) = lab(&[&common[..], arguments].concat());
    assert!(ok, "{text}");
    let results: serde_json::Value = serde_json::from_str(&read(&folder.0, "results.json")).unwrap();
    results["rows"].as_array().unwrap().clone()
}

#[test]
fn kill_cpu_makes_the_published_number_of_gets_for_each_row() {
    let rows =
        small_run("kill-cpu", &["--sessions", "2", "--iterations", "32768", "--generation", "9.2,11.1,latchwork"]);
    assert_eq!(rows.len(), 9);
    for row in rows {
        let operations = row["operations"].as_u64().unwrap();
        assert_eq!(operations, 2 * 32768);
        let halves = match (row["workload"].as_str().unwrap(), row["generation"].as_str().unwrap()) {
            ("new-algorithm", _) => 0,
            (_, "9.2") => 4,
            (_, "11.1") => 1,
            _ => 2,
        };
        // A few more for the sessions' own statements.
        let gets = row["latches"]["cache buffers chains"]["gets"].as_u64().unwrap();
        let least = operations * halves / 2;
        assert!((least..least + 4000).contains(&gets), "{row}");
    }
}

#[test]
fn readers_pass_a_latch_that_is_held_shared_where_they_share_it() {
    let rows = small_run("shared-mode", &["--sessions", "1", "--iterations", "500"]);
    assert_eq!(rows.len(), 9);
    for row in rows {
        let stopped = match (row["workload"].as_str().unwrap(), row["generation"].as_str().unwrap()) {
            ("held-shared", "11.2.0.1") => true,
            ("held-exclusive", "latchwork") => false,
            (workload, _) => workload == "held-exclusive",
        };
        // A blocked session cannot end before the latch is free; one that gets past the latch ends before that, however
        // slow.
        let passed = row["passed"].as_u64();
        match row["workload"].as_str().unwrap() {
            "free" => assert_eq!(passed, None, "{row}"),
            _ => assert_eq!(passed, Some(u64::from(!stopped)), "{row}"),
        }
    }
}

#[test]
fn the_row_cache_experiment_tells_its_sections_beside_the_published_figures() {
    let folder = Folder::new("row-cache");
    let out = folder.0.to_str().unwrap();
    let arguments =
        ["run", "row-cache", "--sessions", "2", "--iterations", "300", "--repeat", "1", "--quiet", "--out", out];
    let (ok, text) = lab(&arguments);
    assert!(ok, "{text}");
    let heading = "Dictionary cache: gets a row, for 1,000";
    let heading = text.lines().find(|line| line.starts_with(heading)).expect("the section");
    assert!(text.contains("Sleeps by place: sleeps, for 1,000 operations"), "{text}");
    let after = &text[text.find(heading).unwrap()..];
    let line = after.lines().find(|line| line.starts_with("dc_props") && line.split_whitespace().nth(1) == Some("2"));
    let cells: Vec<&str> = line.expect("a line for two sessions").split_whitespace().skip(2).collect();
    // Ours and the published ones of 12.1 and 12.2, then ours of the others: one look-up a row in each execution.
    assert_eq!(cells, ["1,000", "1,000", "1,000", "989", "1,000", "1,000"], "{text}");
    let results: serde_json::Value = serde_json::from_str(&read(&folder.0, "results.json")).unwrap();
    for row in results["rows"].as_array().unwrap() {
        let gets = row["latches"]["row cache objects"]["gets"].as_u64().unwrap();
        let least = match row["generation"].as_str().unwrap() {
            "12.1" => 600 * 3 * 37,
            "latchwork" => 600 * 39,
            _ => 0,
        };
        // A few more for the names in the measuring statements.
        assert!((least..least + 2000).contains(&gets), "{row}");
    }
}

#[test]
fn the_time_machine_draws_a_plot_for_each_generation_and_counts_to_the_unit() {
    let folder = Folder::new("journey");
    let out = folder.0.to_str().unwrap();
    let arguments = ["run", "time-machine", "--experiment", "row-cache", "--sessions", "2", "--iterations", "30"];
    let (ok, text) = lab(&[&arguments[..], &["--repeat", "1", "--seed", "3", "--quiet", "--out", out]].concat());
    assert!(ok, "{text}");
    let journey: serde_json::Value = serde_json::from_str(&read(&folder.0, "results.json")).unwrap();
    let run = &journey["runs"][0];
    let rows = run["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 10);
    for row in rows {
        let latch = &row["latches"]["row cache objects"];
        let figure = |name: &str| latch[name].as_u64().unwrap();
        assert!(figure("spin_gets") + figure("sleeps") >= figure("misses"), "{row}");
    }
    let counts = run["counts"].as_array().unwrap();
    assert_eq!(counts.len(), 2 * 10);
    for count in counts {
        // Readings are quotients.
        let differs = count["expected"].as_f64().zip(count["seen"].as_f64()).is_none_or(|(a, b)| (a - b).abs() > 1e-9);
        assert!(!differs, "{count}");
    }
    let page = read(&folder.0, "report.html");
    for generation in ["8.1.7", "9.2", "10.2", "11.1", "11.2.0.1", "11.2.0.3", "12.1", "12.2", "12.2, hot copies"] {
        let title = format!("<text class=\"title\" x=\"4\" y=\"14\">Latchwork as {generation}</text>");
        assert!(page.contains(&title), "{generation}");
    }
    assert!(page.contains("<text class=\"title\" x=\"4\" y=\"14\">Latchwork's own design</text>"), "{page}");
    assert!(page.contains("Misses of row cache objects, % of gets"), "{page}");
    assert!(page.contains("</html>"));
    assert_eq!(read(&folder.0, "results.csv").lines().count(), 11);
    let (ok, again) = lab(&["report", out]);
    assert!(ok && again.contains("12.2-hot-copies"), "{again}");
}

#[test]
fn a_journey_that_is_stopped_leaves_its_page_and_no_instance() {
    let folder = Folder::new("stopped");
    let (out, instances) = (folder.0.join("out"), folder.0.join("tmp"));
    std::fs::create_dir_all(&instances).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_latchwork"))
        .args(["lab", "run", "time-machine", "--generation", "11.1,latchwork", "--sessions", "1", "--iterations", "10"])
        .args(["--repeat", "4", "--quiet", "--variant", "read-parameter,result-cache", "--out", out.to_str().unwrap()])
        .env("XDG_RUNTIME_DIR", &instances)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    let page = out.join("report.html");
    // The first experiment is written; the second sets its instances up.
    while !page.exists() && child.try_wait().expect("its state").is_none() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let id = i32::try_from(child.id()).unwrap();
    os::process::kill(id, os::signal::SIGINT).expect("a signal is sent");
    let output = child.wait_with_output().expect("it ends");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && errors.contains("stopped; the results so far are written"), "{errors}");
    let page = read(&out, "report.html");
    assert!(page.contains("Not run: the journey ended before.") && page.contains("</html>"));
    let left: Vec<_> = std::fs::read_dir(&instances).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn executions_of_one_cursor_get_what_their_design_says() {
    let rows = small_run(
        "hot-cursor",
        &["--sessions", "2", "--iterations", "200", "--generation", "9.2,10.2,12.2,latchwork", "--seed", "5"],
    );
    // Marked statements exist from 11.2 on.
    assert_eq!(rows.len(), 2 * 4 + 2);
    for row in rows {
        let gets = |latch: &str| row["latches"][latch]["gets"].as_u64().unwrap();
        let pins = match (row["generation"].as_str().unwrap(), row["workload"].as_str().unwrap()) {
            ("9.2", _) => 2 * 400,
            _ => 0,
        };
        // The sessions' own calls and the reading of the figures add little.
        assert!((pins..pins + 300).contains(&gets("library cache pin")), "{row}");
        for latch in ["library cache", "library cache pin"] {
            let figures = &row["latches"][latch];
            let figure = |name: &str| figures[name].as_u64().unwrap();
            assert!(figure("spin_gets") + figure("sleeps") >= figure("misses"), "{row}");
        }
    }
}

/// A range of 255 rows through an index reads as many table blocks, or fewer where rows share one, and a few index
/// blocks.
#[test]
fn slob_counts_what_its_readers_read_by_two_snapshots() {
    let folder = Folder::new("slob");
    let arguments = [
        "run",
        "slob",
        "--sessions",
        "2",
        "--repeat",
        "1",
        "--seconds",
        "1",
        "--warm-up",
        "0.2",
        "--quiet",
        "--writers",
        "1",
    ];
    let tables =
        ["--small-rows", "1000", "--big-rows", "3000", "--hot-rows", "300", "--out", folder.0.to_str().unwrap()];
    let (ok, text) = lab(&[&arguments[..], &tables[..]].concat());
    assert!(ok, "{text}");
    let results: serde_json::Value = serde_json::from_str(&read(&folder.0, "results.json")).unwrap();
    let rows = results["rows"].as_array().unwrap();
    let names: Vec<&str> = rows.iter().map(|r| r["workload"].as_str().unwrap()).collect();
    assert_eq!(names, ["big", "hot-spot", "small", "updates"]);
    for row in rows {
        assert!(row["operations"].as_u64().unwrap() > 200 && row["elapsed_s"].as_f64().unwrap() > 0.9, "{row}");
    }
    assert!(read(&folder.0, "report.html").contains("logical read"));
    let (ok, text) = lab(&["run", "slob", "--update-pct", "101"]);
    assert!(!ok && text.contains("between 0 and 100"), "{text}");
}

/// On ordinary pages only: a test must not change the machine's reservation.
#[test]
fn the_pages_experiment_shows_page_tables_connections_and_reads() {
    let folder = Folder::new("pages");
    let arguments = [
        "run",
        "huge-pages",
        "--sessions",
        "1",
        "--repeat",
        "1",
        "--seconds",
        "0.5",
        "--warm-up",
        "0.1",
        "--quick",
        "--quiet",
    ];
    let tables =
        ["--small-rows", "1000", "--big-rows", "2000", "--param", "sga_target=400M", "--variant", "4 KB", "--out"];
    let (ok, text) = lab(&[&arguments[..], &tables[..], &[folder.0.to_str().unwrap()]].concat());
    assert!(ok, "{text}");
    assert!(
        text.contains("4 KB, pre-page, big") && text.contains("95 % interval") && text.contains("authenticate"),
        "{text}"
    );
    let results: serde_json::Value = serde_json::from_str(&read(&folder.0, "results.json")).unwrap();
    let trials = results["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 4);
    let sga = results["sga_bytes"].as_f64().unwrap();
    for trial in trials {
        let figure = |name: &str| trial[name].as_f64().unwrap();
        assert!(figure("logical_reads") > 200.0 && figure("seconds") > 0.4, "{trial}");
        let parts = trial["connect"]["parts_us"].as_array().unwrap();
        let pre_page = trial["cell"]["pre_page"].as_bool().unwrap();
        assert_eq!(parts[3].as_f64().unwrap() > 0.0, pre_page, "{trial}");
        // Eight bytes for each page of 4 KB that the session has touched.
        assert_eq!(figure("session_page_tables") >= sga / 512.0, pre_page, "{trial}");
    }
    assert_eq!(read(&folder.0, "results.csv").lines().count(), 5);
    let page = read(&folder.0, "report.html");
    assert!(page.contains("Radar, small tables") && page.contains("Distributions, big tables"));
    let (ok, text) = lab(&["report", folder.0.to_str().unwrap()]);
    assert!(ok && text.contains("Logical reads a second"), "{text}");
    let (ok, text) = lab(&["run", "huge-pages", "--variant", "8 KB"]);
    assert!(!ok && text.contains("2 MB, pre-page, big"), "{text}");
}

/// The answer depends on the machine; the order, the figures and the design afterwards do not.
#[test]
fn a_switchback_compares_two_designs_and_puts_the_first_one_back() {
    let folder = Folder::new("switchback");
    let json = folder.0.join("quads.json");
    let arguments = ["switchback", "--structure", "result-cache", "--a", "11.1", "--b", "versioned", "--seconds", "4"];
    let more = ["--period", "30", "--burn-in", "2", "--json", json.to_str().unwrap()];
    let run = |arguments: &[&str]| {
        let output =
            Command::new(env!("CARGO_BIN_EXE_latchwork")).arg("lab").args(arguments).output().expect("it runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        (output.status.code(), text)
    };
    for wrong in [["--burn-in", "0"], ["--width", "0"]] {
        let (code, text) = run(&[&arguments[..], &wrong].concat());
        assert!(code != Some(0) && text.contains(wrong[0]), "{code:?}: {text}");
    }
    let (code, text) = run(&[&arguments[..], &more].concat());
    assert!([Some(0), Some(3), Some(4)].contains(&code), "{code:?}: {text}");
    assert!(text.contains("result cache: 11.1 (A) over versioned (B)") && text.contains("A over A"), "{text}");
    let results: serde_json::Value = serde_json::from_str(&read(&folder.0, "quads.json")).unwrap();
    let contrasts = |of: &str| results[of]["rate"].as_array().unwrap().len();
    assert!(contrasts("against_b") > 0, "{results}");
    // In a running instance: the design before is in force afterwards, also after a wrong name.
    let instance = client::Ephemeral::start_with(&client::EphemeralOptions {
        executable: Some(env!("CARGO_BIN_EXE_latchwork").into()),
        params: vec![("_result_cache_design".into(), "shared".into())],
    })
    .unwrap();
    let mut session = instance.connect(&client::Credentials::Sysdba).unwrap();
    let stop = std::sync::atomic::AtomicBool::new(false);
    let dir = instance.dir().to_str().unwrap();
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let mut c = instance.connect(&client::Credentials::Sysdba).unwrap();
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                c.execute(
                    "declare n number; begin for i in 1 .. 500 loop select 1 into n from dual; end loop; end;",
                    &[],
                )
                .unwrap();
            }
        });
        for (b, codes) in [("11.2.0.1", &[0, 3, 4][..]), ("nothing", &[1])] {
            let arguments = ["switchback", "--structure", "result-cache", "--a", "latchwork", "--b", b, "--dir", dir];
            let (code, text) = run(&[&arguments[..], &["--seconds", "2", "--period", "20", "--burn-in", "1"]].concat());
            let rows = session.query("select design from x$ksldesign where structure = 'result cache'", &[]).unwrap();
            let design = rows.all().unwrap();
            let shown = "select ksppstvl from x$ksppi where ksppinm = '_switch_result_cache'";
            let shown = session.query(shown, &[]).unwrap().all().unwrap();
            // The worker ends before a failure is reported.
            let is_right = code.is_some_and(|code| codes.contains(&code))
                && matches!(&design[0][0], types::Value::Text(name) if name == "shared")
                && shown[0][0] == types::Value::Null;
            if !is_right || b == "nothing" {
                stop.store(true, std::sync::atomic::Ordering::Relaxed);
            }
            assert!(is_right, "{code:?}, {design:?}, {shown:?}: {text}");
        }
        worker.join().unwrap();
    });
}

/// An instance of this program, and a session in it.
fn instance_with(params: &[(&str, &str)]) -> (client::Ephemeral, client::Client) {
    let instance = client::Ephemeral::start_with(&client::EphemeralOptions {
        executable: Some(env!("CARGO_BIN_EXE_latchwork").into()),
        params: params.iter().map(|(name, value)| ((*name).to_string(), (*value).to_string())).collect(),
    })
    .unwrap();
    let session = instance.connect(&client::Credentials::Sysdba).unwrap();
    (instance, session)
}

/// The first column of a query, as text.
fn column(session: &mut client::Client, sql: &str) -> Vec<String> {
    let rows = session.query(sql, &[]).and_then(|q| q.all()).unwrap_or_else(|e| panic!("{sql}: {e}"));
    rows.iter().map(|row| format!("{:?}", row[0])).collect()
}

fn designs(session: &mut client::Client) -> Vec<String> {
    column(session, "select structure || ' ' || design from x$ksldesign order by indx")
}

/// Waits for something that happens soon; the limit is for a program that does not do it at all.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let from = std::time::Instant::now();
    while !is_so() {
        assert!(from.elapsed() < Duration::from_secs(120), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Without the holder of designs, the design that was in force when the program died stays.
#[test]
fn the_instance_puts_designs_back_behind_a_killed_switchback() {
    let (instance, mut session) = instance_with(&[("_result_cache_design", "shared")]);
    let before = designs(&mut session);
    let dir = instance.dir().to_str().unwrap();
    let switches = "select to_char(epoch) from x$ksldesign where structure = 'result cache'";
    for signals in [&[os::signal::SIGKILL][..], &[os::signal::SIGINT, os::signal::SIGINT]] {
        let arguments = ["lab", "switchback", "--structure", "result-cache", "--a", "11.1", "--b", "versioned"];
        let more = ["--dir", dir, "--seconds", "600", "--width", "0.001", "--period", "20", "--burn-in", "1"];
        let mut lab = Command::new(env!("CARGO_BIN_EXE_latchwork"));
        let mut lab = lab.args(arguments).args(more).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let first = column(&mut session, switches);
        // This session is the load.
        until("switches", || column(&mut session, switches) != first && designs(&mut session) != before);
        let mut top = Command::new(env!("CARGO_BIN_EXE_latchwork"));
        let top = top.args(["top", "--dir", dir, "--once", "--pane", "designs"]).output().unwrap();
        let shown = String::from_utf8_lossy(&top.stdout).into_owned();
        let line = shown.lines().find(|line| line.contains("result cache")).unwrap_or_else(|| panic!("{shown}"));
        assert!(line.contains("versioned") || line.contains("exclusive-long"), "{shown}");
        for signal in signals {
            os::process::kill(lab.id() as i32, *signal).unwrap();
            std::thread::sleep(Duration::from_millis(10));
        }
        lab.wait().unwrap();
        until("designs as before", || designs(&mut session) == before);
    }
}

#[test]
fn designs_go_back_when_their_holder_ends_and_a_switch_by_another_session_stays() {
    let (instance, mut session) = instance_with(&[]);
    let before = designs(&mut session);
    let set = |c: &mut client::Client, name: &str, value: &str| {
        c.execute(&format!("alter system set \"{name}\" = {value}"), &[]).map(drop).map_err(|e| e.to_string())
    };
    let all = [
        ("_switch_cache_buffers_chains", "'fastpath'"),
        ("_switch_result_cache", "'11.1'"),
        ("_switch_row_cache", "'12.2'"),
        ("_switch_library_cache", "'10.2'"),
        ("_switch_latch_sleep", "'8.1.7'"),
        ("_spin_count", "77"),
    ];
    for killed in [true, false] {
        let mut holder = instance.connect(&client::Credentials::Sysdba).unwrap();
        let me = |c: &client::Client| format!("'{},{}'", c.welcome().sid, c.welcome().serial);
        let unknown = set(&mut holder, "_switch_holder", "'9999,1'");
        assert!(unknown.as_ref().is_err_and(|e| e.contains("ORA-00030")), "{unknown:?}");
        let malformed = set(&mut holder, "_switch_holder", "'me'");
        assert!(malformed.as_ref().is_err_and(|e| e.contains("ORA-00026")), "{malformed:?}");
        let own = me(&holder);
        set(&mut holder, "_switch_holder", &own).unwrap();
        all.iter().for_each(|(name, value)| set(&mut holder, name, value).unwrap());
        let second = me(&session);
        let taken = set(&mut session, "_switch_holder", &second);
        assert!(taken.as_ref().is_err_and(|e| e.contains("ORA-00054")), "{taken:?}");
        // Its own switch back and forth changes nothing about the design before.
        set(&mut holder, "_switch_row_cache", "'latch'").unwrap();
        // A design that is only tried is not for the next start.
        for (name, value) in [("_switch_holder", "''"), ("_switch_row_cache", "'latch' scope = spfile")] {
            let scope = if name == "_switch_holder" { " scope = both" } else { "" };
            let refused = set(&mut holder, name, &format!("{value}{scope}"));
            assert!(refused.as_ref().is_err_and(|e| e.contains("ORA-32017")), "{refused:?}");
        }
        // Another session's switch is meant to stay.
        set(&mut session, "_switch_result_cache", "'exclusive-short'").unwrap();
        let meanwhile = designs(&mut session);
        assert!(meanwhile.iter().zip(&before).all(|(now, then)| now != then), "{meanwhile:?}");
        if killed {
            let server = holder.welcome().server_process as i32;
            os::process::kill(server, os::signal::SIGKILL).unwrap();
        }
        drop(holder);
        let is_back =
            |now: &[String]| now.iter().zip(&before).all(|(now, then)| now == then || now.contains("exclusive-short"));
        until("designs as before", || is_back(&designs(&mut session)));
        assert!(designs(&mut session)[1].contains("exclusive-short"));
        let shown = "select ksppinm from x$ksppi where ksppinm like '\\_switch%' escape '\\' and ksppstvl is not null";
        assert_eq!(column(&mut session, shown).len(), 1, "the parameters show what they showed before");
        // Without a name: the design at start.
        set(&mut session, "_switch_result_cache", "''").unwrap();
        assert_eq!(designs(&mut session), before);
    }
    // Without a holder a switch stays when its session ends.
    let mut other = instance.connect(&client::Credentials::Sysdba).unwrap();
    set(&mut other, "_switch_row_cache", "'mutex'").unwrap();
    other.logoff(true).unwrap();
    assert!(designs(&mut session)[2].contains("mutex"));
}

/// The generations of a structure, oldest first, and the experiment and variant that show their difference.
const PUBLISHED: [(&str, &str, &str, &[&str]); 2] = [
    ("result-cache", "result-cache", "result-cache", &["11.1", "11.2.0.1", "11.2.0.3", "latchwork"]),
    ("cache-buffers-chains", "kill-cpu", "short-walks", &["9.2", "10.2", "11.1", "latchwork"]),
];

/// Generations under two sessions. With `LATCHWORK_SWITCHBACK` in the environment, the number of seconds of each
/// comparison, each generation is compared with the next one, and none may be slower beyond its interval; the newest
/// must be faster than the oldest by its whole interval. Otherwise the oldest and the newest are compared for a moment,
/// and only the figures are looked at. A probe of the index is two gets of the chain in 9.2 and in 10.2, which are
/// equal.
#[test]
fn switchbacks_of_generations_in_the_published_order() {
    let seconds = std::env::var("LATCHWORK_SWITCHBACK").ok();
    let folder = Folder::new("order");
    for (structure, experiment, variant, generations) in PUBLISHED {
        let ends = [generations[0], generations[generations.len() - 1]];
        let mut pairs = vec![ends];
        if seconds.is_some() {
            pairs.extend(generations.windows(2).map(|two| [two[0], two[1]]));
        }
        for [older, newer] in pairs {
            let json = folder.0.join(format!("{structure}-{older}-{newer}.json"));
            let arguments = ["lab", "switchback", "--structure", structure, "--a", newer, "--b", older];
            let load = ["--experiment", experiment, "--variant", variant, "--sessions", "2"];
            let long = ["--seconds", seconds.as_deref().unwrap_or("2"), "--width", "0.5", "--seed", "16"];
            let short = ["--period", "30", "--burn-in", "2"];
            let mut command = Command::new(env!("CARGO_BIN_EXE_latchwork"));
            command.args(arguments).args(load).args(long).args(["--json", json.to_str().unwrap()]);
            if seconds.is_none() {
                command.args(short);
            }
            let output = command.output().expect("it runs");
            let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
            assert!([Some(0), Some(3), Some(4)].contains(&output.status.code()), "{text}");
            let results: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
            assert!(!results["against_b"]["rate"].as_array().unwrap().is_empty(), "{text}");
            let [low, high] = [0, 1].map(|end| results["interval"][end].as_f64().unwrap_or(f64::NAN));
            println!("{structure}: {newer} over {older}: {:+.2} to {:+.2} %", 100.0 * low, 100.0 * high);
            assert!(seconds.is_none() || if [older, newer] == ends { low > 0.0 } else { high > 0.0 }, "{text}");
        }
    }
}
