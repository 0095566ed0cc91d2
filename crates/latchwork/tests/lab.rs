//! The laboratory end to end: a small run, its files, and the counts that do not depend on the machine.

use std::path::{Path, PathBuf};
use std::process::Command;

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
        if row["workload"] != "result-cache" {
            continue;
        }
        let name = if row["generation"] == "11.1" { "Result Cache: Latch" } else { "Result Cache: RC Latch" };
        let gets = row["latches"][name]["gets"].as_u64().unwrap();
        // Two gets an access and one a session while the latch is exclusive; one an access after that.
        match row["generation"].as_str().unwrap() {
            "11.1" => assert_eq!(gets, sessions * (2 * 300 + 1), "{row}"),
            "latchwork" => assert_eq!(gets, sessions * 300, "{row}"),
            _ => assert_eq!(gets, sessions * (300 + 1), "{row}"),
        }
    }
    assert_eq!(read(&folder.0, "results.csv").lines().count(), 13);
    assert!(read(&folder.0, "report.html").contains("</html>"));
    let (ok, again) = lab(&["report", out]);
    assert!(ok && again.contains("Operations per second"), "{again}");
}

#[test]
fn what_cannot_be_run_is_said_plainly() {
    for (arguments, word) in [
        (vec!["run", "no-such-experiment"], "no-such-experiment"),
        (vec!["run", "result-cache", "--variant", "nothing"], "hash-cluster"),
        (vec!["report", "no/such/folder"], "results.json"),
    ] {
        let (ok, text) = lab(&arguments);
        assert!(!ok && text.contains(word), "{text}");
    }
    let (ok, text) = lab(&["list"]);
    assert!(ok && text.contains("result-cache"), "{text}");
}
