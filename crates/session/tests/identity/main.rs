//! The identity in force, in units, views, jobs and dynamic SQL, with roles and CURRENT_SCHEMA.
//!
//! A script has steps `user> statement`, each followed by `=> result`: `ok`, rows as `a,b; c,d`, or a part of the
//! error's text. A user connects in its first step; `user!` connects again. `sys` is the owner of the instance.

use instance::InProcess;
use net::local::{Logon, PROTOCOL_VERSION};
use session::Session;
use std::collections::HashMap;
use types::{Result, Value};

struct Db {
    instance: InProcess,
    sessions: HashMap<String, Session>,
}

impl Db {
    fn new() -> Db {
        Db { instance: InProcess::start(&[]).expect("an instance"), sessions: HashMap::new() }
    }

    fn connect(&self, user: &str) -> Result<Session> {
        if user == "sys" {
            return Session::in_process(self.instance.instance());
        }
        let logon = Logon {
            version: PROTOCOL_VERSION,
            user: user.into(),
            password: user.into(),
            program: "test".into(),
            ..Logon::default()
        };
        Session::logon(self.instance.instance(), &logon, 0)
    }

    fn session(&mut self, user: &str) -> Result<&mut Session> {
        if !self.sessions.contains_key(user) {
            let session = self.connect(user)?;
            self.sessions.insert(user.to_string(), session);
        }
        Ok(self.sessions.get_mut(user).expect("just connected"))
    }

    fn run(&mut self, user: &str, sql: &str) -> Result<String> {
        if let Some(again) = user.strip_suffix('!') {
            if let Some(session) = self.sessions.remove(again) {
                session.end();
            }
            return self.run(again, sql);
        }
        let session = self.session(user)?;
        let done = session.run(sql);
        let lines = session.take_output();
        let rows = done?;
        let row = |row: &Vec<Value>| row.iter().map(text).collect::<Vec<_>>().join(",");
        let mut said: Vec<String> = rows.iter().map(row).collect();
        said.extend(lines);
        Ok(if said.is_empty() { "ok".into() } else { said.join("; ") })
    }

    /// Creates users that may log on and have a quota. The password of each is its name.
    fn users(&mut self, names: &[&str]) {
        for name in names {
            self.play(&format!(
                "sys> create user {name} identified by {name} default tablespace users quota unlimited on users => ok
                 sys> grant create session to {name} => ok"
            ));
        }
    }

    /// Runs a due job, as a slave of the job queue does.
    fn run_job(&mut self, job: i64) -> String {
        let outcome = self.session("sys").expect("a session").run_job(job).expect("a job");
        match outcome {
            session::JobOutcome::Failed(e) => e.to_string(),
            session::JobOutcome::Done => "done".into(),
            session::JobOutcome::NotDue => "not due".into(),
        }
    }

    fn play(&mut self, script: &str) {
        let mut wrong = Vec::new();
        let mut rest = script.trim();
        while !rest.is_empty() {
            let (user, after) = rest.split_once('>').expect("user>");
            // Arguments by name have arrows too: the last one of the line is that of the result.
            let first = after.find("=>").expect("=> result");
            let end = after[first..].find('\n').map_or(after.len(), |at| first + at);
            let (sql, expected) = after[..end].rsplit_once("=>").expect("=> result");
            let after = &after[end..];
            rest = after.trim_start();
            let (user, sql, expected) = (user.trim(), sql.trim(), expected.trim());
            let (got, ok) = match self.run(user, sql) {
                Ok(got) => {
                    let ok = got == expected;
                    (got, ok)
                }
                Err(e) => {
                    let text = e.to_string();
                    let ok =
                        !expected.is_empty() && expected != "ok" && expected.split(" & ").all(|x| text.contains(x));
                    (text, ok)
                }
            };
            if !ok {
                wrong.push(format!("{user}> {sql}\n   expected: {expected}\n        got: {got}"));
            }
        }
        assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    }
}

fn text(value: &Value) -> String {
    let mut out = String::new();
    value.write_text(&types::Nls::default(), &mut out).expect("a text");
    if value.is_null() { "-".into() } else { out }
}

mod grants;
mod hostile;
mod jobs;
mod roles;
mod scheduler;
mod triggers;
mod units;
mod views;
