//! Golden interleavings of several sessions, in one text.
//!
//! | line | means |
//! |---|---|
//! | `# …` | a comment |
//! | `a> statement` | session `a` (opened as SYSDBA at its first use) runs it; the next lines are the expected answer |
//! | `a& statement` | the same, but it is still running when the next step begins; the observer has seen it active |
//! | `a<` | the answer of the statement that `a` is running |
//! | `a waits event` | `a` is in that wait, seen through `v$session` |
//! | `a> connect user/password` | `a` is a session of that user |
//! | `a> open c query`, `a> fetch c n`, `a> close c` | an open cursor |
//! | `a> break` | Ctrl-C for what `a` is running, from outside |
//! | `a> kill -9`, `a> vanish` | its server process is killed; its client closes the connection |
//! | `a= name query` | the first value of the query is kept; `{name}` in a statement stands for it |
//! | `{a}` in a statement | `sid,serial#` of session `a` |
//!
//! A statement ends with its line; a line that ends with `\` goes on. Answers: rows with `|` between columns, `no
//! rows`, `N rows` of DML, `ok`, lines of `dbms_output` after `: `, and the first line of an error, with ` @position`.

use crate::common::{PATIENCE, assert_nothing_held, executable, line, number, rows};
use client::{BreakHandle, Client, ClientError, Credentials, Ephemeral, EphemeralOptions, Feedback, Outcome};
use std::collections::HashMap;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// Time limit of a step that should complete at once, on a busy machine, too; an incomplete step shows in the answers.
const QUICK: Duration = Duration::from_secs(30);

/// A session in a thread of its own.
struct Actor {
    orders: Sender<String>,
    answers: Receiver<String>,
    sid: u32,
    serial: u32,
    server: i32,
    breaker: BreakHandle,
    /// Whether a statement is running.
    busy: bool,
}

impl Actor {
    fn start(mut client: Client) -> Actor {
        let (orders, inbox) = channel::<String>();
        let (outbox, answers) = channel();
        let welcome = client.welcome().clone();
        let breaker = client.break_handle();
        client.set_want_output(true);
        std::thread::spawn(move || {
            let mut cursors = HashMap::new();
            for sql in inbox {
                if outbox.send(answer(&mut client, &mut cursors, &sql)).is_err() {
                    return;
                }
            }
        });
        let server = welcome.server_process as i32;
        Actor { orders, answers, sid: welcome.sid, serial: welcome.serial, server, breaker, busy: false }
    }

    fn hear(&mut self) -> String {
        self.busy = false;
        self.answers.recv_timeout(PATIENCE).unwrap_or_else(|e| format!("no answer: {e}"))
    }
}

fn error_line(e: &ClientError) -> String {
    let text = e.to_string();
    let mut first = text.lines().next().unwrap_or_default().to_string();
    if let Some((head, _)) = first.split_once(" when trying to allocate") {
        // The number of bytes differs from run to run.
        first = head.to_string();
    }
    match e.position() {
        Some(at) => format!("{first} @{at}"),
        None => first,
    }
}

fn answer(client: &mut Client, cursors: &mut HashMap<String, u32>, sql: &str) -> String {
    let mut words = sql.split_whitespace();
    let (verb, name) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let result = match verb {
        "open" => {
            let text = sql.split_once(name).expect("a name").1.trim();
            client.execute_prefetch(text, &[], 0).map(|o| {
                cursors.insert(name.to_string(), o.cursor);
                "ok".to_string()
            })
        }
        "fetch" => {
            let most = words.next().and_then(|n| n.parse().ok()).unwrap_or(1);
            let cursor = cursors.get(name).copied().unwrap_or(u32::MAX);
            client.fetch(cursor, most).map(|o| all_rows(&o.rows))
        }
        "close" => client.close_cursor(cursors.remove(name).unwrap_or(u32::MAX)).map(|()| "ok".to_string()),
        _ => client.execute(sql, &[]).and_then(|o| outcome(client, o)),
    };
    let result = result.unwrap_or_else(|e| error_line(&e));
    let output: Vec<String> =
        client.take_output().into_iter().map(|l| format!(": {}", l.unwrap_or_default()).trim_end().into()).collect();
    output.into_iter().chain([result]).collect::<Vec<_>>().join("\n")
}

fn outcome(client: &mut Client, mut o: Outcome) -> Result<String, ClientError> {
    while o.done.more {
        let next = client.fetch(o.cursor, 1000)?;
        o.rows.extend(next.rows);
        o.done.more = next.done.more;
    }
    if let Some(w) = &o.done.warning {
        return Ok(w.text.lines().next().unwrap_or_default().to_string());
    }
    Ok(match o.done.kind.feedback() {
        Feedback::Selected => all_rows(&o.rows),
        Feedback::Rows(_) => format!("{} rows", o.done.rows),
        Feedback::Line(_) | Feedback::Silent => "ok".into(),
    })
}

fn all_rows(rows: &[Vec<types::Value>]) -> String {
    if rows.is_empty() {
        return "no rows".into();
    }
    rows.iter().map(|r| line(r)).collect::<Vec<_>>().join("\n")
}

struct Stage {
    instance: Ephemeral,
    observer: Client,
    actors: HashMap<String, Actor>,
    kept: HashMap<String, String>,
}

impl Stage {
    fn actor(&mut self, name: &str) -> &mut Actor {
        if !self.actors.contains_key(name) {
            let client = self.instance.connect(&Credentials::Sysdba).expect("a session opens");
            self.actors.insert(name.to_string(), Actor::start(client));
        }
        self.actors.get_mut(name).expect("it was just put there")
    }

    fn expand(&self, sql: &str) -> String {
        let mut text = sql.to_string();
        for (name, a) in &self.actors {
            text = text.replace(&format!("{{{name}}}"), &format!("{},{}", a.sid, a.serial));
        }
        for (name, value) in &self.kept {
            text = text.replace(&format!("{{{name}}}"), value);
        }
        text
    }

    fn step(&mut self, name: &str, how: &str, what: &str) -> String {
        let what = self.expand(what);
        match (how, what.as_str()) {
            (">", "break") => {
                let a = self.actor(name);
                assert!(a.busy, "{name} runs something");
                a.breaker.send().expect("the break is sent");
                a.hear()
            }
            (">", "vanish") => {
                self.actors.remove(name);
                "gone".into()
            }
            (">", "kill -9") => {
                let a = self.actor(name);
                os::process::kill(a.server, os::signal::SIGKILL).expect("the server process lives");
                if a.busy { a.hear() } else { "killed".into() }
            }
            (">", text) if text.starts_with("connect ") => {
                let (user, password) = text[8..].split_once('/').expect("user/password");
                self.actors.remove(name);
                match self.instance.connect(&Credentials::password(user, password)) {
                    Ok(c) => {
                        self.actors.insert(name.to_string(), Actor::start(c));
                        "ok".into()
                    }
                    Err(e) => error_line(&e),
                }
            }
            (">", _) => {
                let a = self.actor(name);
                assert!(!a.busy, "{name} runs something already");
                a.orders.send(what).expect("the session's thread lives");
                a.hear()
            }
            ("&", _) => {
                let a = self.actor(name);
                assert!(!a.busy, "{name} runs something already");
                a.orders.send(what).expect("the session's thread lives");
                a.busy = true;
                let sid = a.sid;
                let sql = format!("select count(*) from v$session where sid = {sid} and status = 'ACTIVE'");
                let start = std::time::Instant::now();
                while number(&mut self.observer, &sql) == 0 && start.elapsed() < QUICK {
                    std::thread::sleep(Duration::from_millis(10));
                }
                // A statement that does not wait is detected by its answer at the next step, which then differs.
                std::thread::sleep(Duration::from_millis(20));
                String::new()
            }
            ("=", text) => {
                let (kept, query) = text.split_once(' ').expect("a name and a query");
                let a = self.actor(name);
                a.orders.send(query.to_string()).expect("the session's thread lives");
                let value = a.hear();
                self.kept.insert(kept.to_string(), value);
                String::new()
            }
            ("<", _) => self.actor(name).hear(),
            ("waits", event) => {
                let sid = self.actor(name).sid;
                let sql = format!("select state || ' ' || event from v$session where sid = {sid}");
                let start = std::time::Instant::now();
                loop {
                    let now = rows(&mut self.observer, &sql).join("");
                    if now == format!("WAITING {event}") {
                        return String::new();
                    }
                    if start.elapsed() > QUICK {
                        return now;
                    }
                    std::thread::sleep(Duration::from_millis(10));
                }
            }
            _ => panic!("no such step: {name} {how} {what}"),
        }
    }
}

/// Splits `a> select 1` into its name, its sign and the rest.
fn parse(line: &str) -> Option<(&str, &str, &str)> {
    let end = line.find(|c: char| !c.is_ascii_alphanumeric() && c != '_')?;
    let (name, rest) = line.split_at(end);
    if name.is_empty() {
        return None;
    }
    for sign in [">", "&", "<", "="] {
        if let Some(what) = rest.strip_prefix(sign)
            && (what.is_empty() || what.starts_with(' '))
        {
            return Some((name, sign, what.trim()));
        }
    }
    rest.strip_prefix(" waits ").map(|event| (name, "waits", event.trim()))
}

/// Runs a golden text; returns it with the actual answers.
fn play(text: &str) -> String {
    let params = text
        .lines()
        .filter_map(|l| l.strip_prefix("#param "))
        .filter_map(|l| l.split_once('='))
        .map(|(n, v)| (n.trim().to_string(), v.trim().to_string()))
        .collect();
    let options = EphemeralOptions { params, executable: Some(executable()) };
    let instance = Ephemeral::start_with(&options).expect("the instance starts");
    let observer = instance.connect(&Credentials::Sysdba).expect("a session opens");
    let mut stage = Stage { instance, observer, actors: HashMap::new(), kept: HashMap::new() };
    let mut out = String::new();
    let mut lines = text.lines();
    while let Some(l) = lines.next() {
        if l.starts_with('#') || l.is_empty() {
            out.push_str(l);
            out.push('\n');
            continue;
        }
        let Some((name, sign, what)) = parse(l) else { continue };
        out.push_str(l);
        out.push('\n');
        let mut what = what.to_string();
        while what.ends_with('\\') {
            what.pop();
            let more = lines.next().unwrap_or_default();
            out.push_str(more);
            out.push('\n');
            what.push_str(more);
        }
        let answer = stage.step(name, sign, &what);
        if !answer.is_empty() {
            out.push_str(&answer);
            out.push('\n');
        }
    }
    assert!(stage.instance.is_running(), "the instance lives");
    assert_nothing_held(&mut stage.observer, "select * from v$latchholder");
    out
}

/// Runs every golden file. With `LATCHWORK_SPEC` set, only those whose name contains it.
pub fn check_all() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/robust/specs");
    let only = std::env::var("LATCHWORK_SPEC").unwrap_or_default();
    let mut failures = Vec::new();
    let mut files: Vec<_> = std::fs::read_dir(&dir).expect("the specs").map(|e| e.expect("a spec").path()).collect();
    files.sort();
    for path in files.iter().filter(|p| p.to_string_lossy().contains(&only)) {
        let want = std::fs::read_to_string(path).expect("a readable spec");
        let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let played = std::panic::catch_unwind(|| play(&want));
        match played {
            Ok(got) if got == want => {}
            Ok(got) => failures.push(format!("{name}:\n{}", difference(&want, &got))),
            Err(_) => failures.push(format!("{name}: panicked")),
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The lines that differ, each with the step before it.
fn difference(want: &str, got: &str) -> String {
    if std::env::var_os("LATCHWORK_SPEC_SHOW").is_some() {
        return got.to_string();
    }
    let (want, got): (Vec<&str>, Vec<&str>) = (want.lines().collect(), got.lines().collect());
    let same = want.iter().zip(&got).take_while(|(a, b)| a == b).count();
    let step = want[..same].iter().rev().find(|l| parse(l).is_some()).copied().unwrap_or_default();
    let at = |l: &[&str]| l.get(same..).unwrap_or_default().iter().take(3).copied().collect::<Vec<_>>().join("\n    ");
    format!("line {} after `{step}`\n  want\n    {}\n  got\n    {}", same + 1, at(&want), at(&got))
}
