//! The sections `[target.NAME]` of a manifest: an engine's set-up, its workers and its figures.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use toml::Spanned;

/// The engines that a manifest may have sections for.
pub const ENGINES: &[&str] =
    &["latchwork", "postgresql", "mariadb", "sqlite", "duckdb", "oracle", "citus", "yugabytedb", "cockroachdb"];

/// The place of the loop that performs operations. It is part of a cell's name, and no ratio crosses places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    /// A procedure in the engine, which the client calls for many operations.
    Engine,
    /// A compiled or interpreted loop in the process that the engine is part of.
    Process,
    /// A loop in a client, with a round trip for each execution.
    Wire,
}

impl Place {
    pub const ALL: [Place; 3] = [Place::Engine, Place::Process, Place::Wire];

    pub fn name(self) -> &'static str {
        match self {
            Place::Engine => "engine",
            Place::Process => "process",
            Place::Wire => "wire",
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A section `[target.NAME]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sheet {
    /// Script that makes the objects, relative to the manifest. A line with only `/` ends a statement.
    #[serde(default)]
    pub setup: Option<String>,
    /// Statements behind the set-up.
    #[serde(default)]
    pub warm_up: Vec<String>,
    /// Statements that remove the objects from a database of the user, before the set-up and after the run.
    #[serde(default)]
    pub teardown: Vec<String>,
    /// Settings of a server that the laboratory starts.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
    /// Statements that each session executes first.
    #[serde(default)]
    pub session: Vec<String>,
    /// A remark on the comparison, for the reader.
    #[serde(default)]
    pub note: Option<String>,
    /// By name, a query that returns one growing number.
    #[serde(default)]
    pub figures: BTreeMap<String, String>,
    /// By variant, its workers.
    #[serde(default)]
    pub worker: BTreeMap<String, Spanned<Worker>>,
    /// The reason why the engine does not express the experiment at all.
    #[serde(default)]
    pub not_comparable: Option<String>,
}

/// An engine's workers of one variant, by the place of their loop.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Worker {
    /// A statement that performs `:iterations` operations.
    #[serde(default)]
    pub engine: Option<String>,
    #[serde(default)]
    pub process: Option<Loop>,
    #[serde(default)]
    pub wire: Option<Loop>,
    /// The plan that the statement must have, before the first round and after the last one.
    #[serde(default)]
    pub plan: Option<PlanCheck>,
    /// The reason why the engine does not express the variant, or why only some places are there.
    #[serde(default)]
    pub not_comparable: Option<String>,
}

/// A prepared statement that a loop executes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Loop {
    pub statement: String,
    /// The statement's only parameter is a random whole number from the first one up to, and without, the second.
    #[serde(default)]
    pub key: Option<[i64; 2]>,
    /// Operations of one execution.
    #[serde(default = "one")]
    pub operations: u64,
}

fn one() -> u64 {
    1
}

/// How a plan is read, and the words that it must have.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanCheck {
    /// Statements that come first, in the same session.
    #[serde(default)]
    pub prepare: Vec<String>,
    pub explain: String,
    pub has: Vec<String>,
}

/// The work of a session: a loop in the engine, or a statement that a loop outside of it executes.
#[derive(Clone, Debug)]
pub struct Task {
    pub place: Place,
    /// With `:iterations` for a loop in the engine; `:session` is replaced already.
    pub statement: String,
    pub key: Option<[i64; 2]>,
    /// Operations of one execution of a loop outside of the engine.
    pub each: u64,
    /// The number of the session, from 1 on; it is the seed of its keys.
    pub session: u32,
}

impl Task {
    /// The task of the session with this number, from 1 on.
    pub fn for_session(&self, number: u32) -> Task {
        let statement = self.statement.replace(":session", &number.to_string());
        Task { statement, session: number, ..self.clone() }
    }

    /// The statement of a loop in the engine, with the number of operations in its text.
    pub fn for_operations(&self, operations: u64) -> String {
        self.statement.replace(":iterations", &operations.to_string())
    }
}

impl Worker {
    /// The task with a loop at this place.
    pub fn task(&self, place: Place) -> Option<Task> {
        let of_loop =
            |l: &Loop| Task { place, statement: l.statement.clone(), key: l.key, each: l.operations, session: 1 };
        match place {
            Place::Engine => {
                let statement = self.engine.clone()?;
                Some(Task { place, statement, key: None, each: 1, session: 1 })
            }
            Place::Process => self.process.as_ref().map(of_loop),
            Place::Wire => self.wire.as_ref().map(of_loop),
        }
    }

    fn check(&self, portion: u64) -> Result<(), String> {
        if self.engine.as_ref().is_some_and(|text| !text.contains(":iterations")) {
            return Err("the worker in the engine does not use :iterations".into());
        }
        if Place::ALL.iter().all(|place| self.task(*place).is_none()) && self.not_comparable.is_none() {
            return Err("neither engine, process or wire, nor not_comparable with the reason".into());
        }
        for outside in self.process.iter().chain(&self.wire) {
            if outside.key.is_some_and(|[low, high]| low >= high) {
                return Err("key: the first number is below the second".into());
            }
            if outside.operations == 0 || !portion.is_multiple_of(outside.operations) {
                return Err(format!("operations does not divide sweep.portion, {portion}"));
            }
        }
        Ok(())
    }
}

/// Checks the rules that the types do not express. An error has its place in the text, as far as it has one.
pub fn check(sheets: &BTreeMap<String, Sheet>, variants: &[&str], portion: u64) -> Result<(), (Option<usize>, String)> {
    for (name, sheet) in sheets {
        if !ENGINES.contains(&name.as_str()) {
            return Err((None, format!("target.{name}: there is no such engine; there are {}", ENGINES.join(", "))));
        }
        if sheet.not_comparable.is_some() && !sheet.worker.is_empty() {
            return Err((None, format!("target.{name}: it has workers, and not_comparable")));
        }
        for (variant, worker) in &sheet.worker {
            let wrong = |why: String| (Some(worker.span().start), format!("target.{name}.worker.{variant}: {why}"));
            if !variants.contains(&variant.as_str()) {
                return Err(wrong("there is no such variant".into()));
            }
            worker.get_ref().check(portion).map_err(wrong)?;
        }
    }
    Ok(())
}

/// The number of the line with this byte.
pub fn line_of(text: &str, at: usize) -> usize {
    1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count()
}

/// The statements of a script for another engine: a line with only `/` ends a statement.
pub fn statements(script: &str) -> Vec<String> {
    let mut out = vec![String::new()];
    for line in script.lines() {
        match line.trim() {
            "/" => out.push(String::new()),
            comment if comment.starts_with("--") => {}
            _ => {
                let last = out.last_mut().expect("there is one");
                last.push_str(line);
                last.push('\n');
            }
        }
    }
    out.retain(|statement| !statement.trim().is_empty());
    out.into_iter().map(|statement| statement.trim().to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "name='n'\ntitle='t'\nsetup='s'\n[sweep]\nsessions=[1]\nportion=8\ngenerations=['latchwork']\n\
                        [[variant]]\nname='v'\ntitle='v'\nworker='begin w(:iterations); end;'\n";

    fn parsed(sections: &str) -> Result<crate::manifest::Manifest, String> {
        format!("{HEAD}{sections}").parse()
    }

    #[test]
    fn a_section_has_workers_by_the_place_of_their_loop() {
        let manifest = parsed(
            "[target.postgresql]\nsetup='p.sql'\n[target.postgresql.worker.v]\nengine='call w(:iterations, :session)'\n\
             wire={statement='select $1', key=[1, 9], operations=4}\n[target.duckdb]\nnot_comparable='no loop'\n",
        )
        .unwrap();
        let worker = manifest.targets["postgresql"].worker["v"].get_ref();
        let engine = worker.task(Place::Engine).unwrap().for_session(3);
        assert_eq!((engine.for_operations(70).as_str(), engine.session), ("call w(70, 3)", 3));
        let wire = worker.task(Place::Wire).unwrap();
        assert_eq!((wire.key, wire.each), (Some([1, 9]), 4));
        assert!(worker.task(Place::Process).is_none());
    }

    #[test]
    fn a_wrong_section_is_refused_with_its_line() {
        for (sections, line, reason) in [
            ("[target.sqlite]\nsetpu='x'\n", "line 13", "setpu"),
            ("[target.sqlite.worker.v]\nprocess={statement='s', key=[1]}\n", "line 13", "array of length 2"),
            ("[target.sqlite.worker.w]\nengine=':iterations'\n", "line 12", "no such variant"),
            ("\n[target.sqlite.worker.v]\nengine='call w(1)'\n", "line 13", ":iterations"),
            ("[target.sqlite.worker.v]\nprocess={statement='s', key=[5, 5]}\n", "line 12", "below the second"),
            ("[target.sqlite.worker.v]\nprocess={statement='s', operations=3}\n", "line 12", "sweep.portion, 8"),
            ("[target.sqlite.worker.v]\n", "line 12", "not_comparable"),
            ("[target.db3]\n", "", "no such engine"),
            (
                "[target.sqlite]\nnot_comparable='x'\n[target.sqlite.worker.v]\nengine=':iterations'\n",
                "",
                "it has workers",
            ),
        ] {
            let message = parsed(sections).unwrap_err();
            assert!(message.contains(line) && message.contains(reason), "{sections}: {message}");
        }
    }

    #[test]
    fn a_line_with_a_stroke_ends_a_statement() {
        let script =
            "-- a comment\ncreate table a (x int)\n/\ncreate function f() as $$\nbegin\n  x := 1 / 2;\nend $$\n/\n";
        assert_eq!(
            statements(script),
            ["create table a (x int)", "create function f() as $$\nbegin\n  x := 1 / 2;\nend $$"]
        );
    }
}
