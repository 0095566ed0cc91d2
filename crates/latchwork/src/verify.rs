//! `latchwork verify`.

use crate::instance::Place;
use crate::progress::Progress;
use clap::Args;
use std::path::Path;
use std::process::ExitCode;

/// Exit code: the database is damaged.
const EXIT_DAMAGED: u8 = 1;
/// Exit code: the database could not be checked.
const EXIT_NOT_RUN: u8 = 2;

const EXAMPLES: &str = "\
Exit status: 0 nothing is wrong, 1 damage was found, 2 the database could not be checked.

Examples:
  latchwork verify                     the stopped database in ./latchwork-db
  latchwork verify --dir /data/db --json | jq .findings";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Verify {
    #[command(flatten)]
    place: Place,
    /// Print the report as one JSON object
    #[arg(long)]
    json: bool,
}

/// Runs `latchwork verify`.
pub fn run(args: &Verify) -> ExitCode {
    let dir = args.place.dir();
    match checked(&dir) {
        Ok(report) => {
            if args.json {
                println!("{}", as_json(&report));
            } else {
                print(&report, &dir);
            }
            if report.is_clean() { ExitCode::SUCCESS } else { ExitCode::from(EXIT_DAMAGED) }
        }
        Err(text) => {
            if args.json {
                println!("{}", serde_json::json!({ "status": "not run", "reason": text }));
            } else {
                eprintln!("{text}");
            }
            ExitCode::from(EXIT_NOT_RUN)
        }
    }
}

fn checked(dir: &Path) -> Result<verify::Report, String> {
    if !dir.join("control").is_file() {
        return Err(format!("There is no database in {}.", dir.display()));
    }
    let _hold = server::hold(dir)?;
    let mut progress = Progress::new();
    let report = verify::verify(dir, &mut |at| progress.show(at.stage, at.what, at.done, at.all));
    progress.finish();
    report.map_err(|e| {
        let hint = if e.is(1113) { "\nThe database was not closed cleanly: start it once to recover it." } else { "" };
        format!("{e}{hint}")
    })
}

fn print(report: &verify::Report, dir: &Path) {
    for finding in &report.findings {
        println!("{finding}");
    }
    if report.more > 0 {
        println!("… and {} more.", report.more);
    }
    for note in &report.notes {
        println!("note: {note}");
    }
    let c = &report.counts;
    println!(
        "Database {} in {}: {} files, {} blocks, {} segments, {} tables with {} rows, {} indexes with {} entries, {} constraints, {} undo segments checked.",
        report.database,
        dir.display(),
        c.files,
        c.blocks,
        c.segments,
        c.tables,
        c.rows,
        c.indexes,
        c.entries,
        c.constraints,
        c.undo_segments
    );
    match report.findings.len() as u64 + report.more {
        0 => println!("Nothing is wrong."),
        1 => println!("1 fault was found."),
        n => println!("{n} faults were found."),
    }
}

fn as_json(report: &verify::Report) -> serde_json::Value {
    let findings: Vec<_> = report
        .findings
        .iter()
        .map(|f| {
            serde_json::json!({
                "file": f.block.map(|(file, _)| file),
                "block": f.block.map(|(_, block)| block),
                "object": f.object,
                "what": f.what,
            })
        })
        .collect();
    let c = &report.counts;
    serde_json::json!({
        "status": if report.is_clean() { "clean" } else { "damaged" },
        "database": report.database,
        "checked": {
            "files": c.files, "blocks": c.blocks, "segments": c.segments, "tables": c.tables, "rows": c.rows,
            "indexes": c.indexes, "entries": c.entries, "constraints": c.constraints, "undo_segments": c.undo_segments,
        },
        "findings": findings,
        "findings_left_out": report.more,
        "notes": report.notes,
    })
}
