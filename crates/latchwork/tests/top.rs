//! `latchwork top` from outside: one sample, the screen on a terminal, and the page, with an instance in which one
//! session waits for another's row.

mod support;

use client::{Client, Credentials, Ephemeral, EphemeralOptions};
use serde_json::Value as Json;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use support::one;

const HOT: &str = "enq: TX - row lock contention";
const PROGRAM: &str = env!("CARGO_BIN_EXE_latchwork");

/// An instance with a session that holds a row and one that waits for it.
struct Scene {
    instance: Ephemeral,
    holder: Client,
    /// Ends when the row is free.
    waiter: Option<JoinHandle<()>>,
}

fn scene() -> Scene {
    let options = EphemeralOptions { params: Vec::new(), executable: Some(PathBuf::from(PROGRAM)) };
    let instance = Ephemeral::start_with(&options).unwrap_or_else(|e| panic!("the instance starts: {e}"));
    let connect = || instance.connect(&Credentials::Sysdba).expect("a session opens");
    let mut holder = connect();
    let run = |c: &mut Client, sql: &str| drop(c.execute(sql, &[]).unwrap_or_else(|e| panic!("{sql}: {e}")));
    run(&mut holder, "create table hot (n number primary key, v number)");
    run(&mut holder, "insert into hot values (1, 0)");
    run(&mut holder, "commit");
    run(&mut holder, "update hot set v = 1 where n = 1");
    let mut waiting = connect();
    let waiter = std::thread::spawn(move || {
        waiting.execute("update hot set v = 2 where n = 1", &[]).expect("the row comes free");
        waiting.execute("commit", &[]).expect("it commits");
    });
    let mut watcher = connect();
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let sql = format!("select sid from v$session where event = '{HOT}' and state = 'WAITING'");
        if !watcher.query(&sql, &[]).and_then(|q| q.all()).expect("the view answers").is_empty() {
            break;
        }
        assert!(Instant::now() < until, "nobody waits for the row");
        std::thread::sleep(Duration::from_millis(10));
    }
    Scene { instance, holder, waiter: Some(waiter) }
}

impl Scene {
    fn top(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(PROGRAM);
        command.arg("top").args(arguments).arg("--dir").arg(self.instance.dir());
        command.output().expect("the program runs")
    }

    fn holder(&self) -> u64 {
        u64::from(self.holder.sid())
    }

    /// Releases the waiter, whether or not the holder still exists.
    fn end(mut self) {
        // A killed session has been rolled back already.
        drop(self.holder.rollback());
        self.waiter.take().expect("it waits").join().expect("the waiter ends well");
    }
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn one_sample_for_people_and_for_programs() {
    let scene = scene();
    let out = scene.top(&["--once", "--json", "--interval", "0.3"]);
    let sample: Json = serde_json::from_slice(&out.stdout).unwrap_or_else(|e| panic!("{e}: {}", text(&out)));
    assert_eq!(sample["format"], "latchwork-top/1");
    let events = sample["events"].as_array().expect("a list");
    let hot = events.iter().find(|e| e["event"] == HOT).unwrap_or_else(|| panic!("{HOT} in {sample}"));
    assert_eq!((&hot["wait_class"], &hot["active_sessions"]), (&"Application".into(), &1.0.into()));
    let chain = sample["blockers"].as_array().expect("a list");
    assert_eq!(chain[0]["sid"], scene.holder().to_string(), "{chain:?}");
    assert_eq!((&chain[0]["waiting_behind"], &chain[1]["object"]), (&1.into(), &"SYS.HOT".into()), "{chain:?}");
    assert!(sample["session_count"].as_u64().is_some_and(|n| n >= 2), "holder and waiter: {sample}");
    assert_eq!(sample["active_session_count"], 1);
    let own = sample["sessions"].as_array().expect("a list").iter().filter(|s| s["program"] == "latchwork top");
    assert_eq!(own.count(), 0, "the observer is not observed");

    let said = text(&scene.top(&["--once", "--interval", "0.3"]));
    assert!(said.contains(HOT) && said.contains("Blocking sessions"), "{said}");
    let csv = text(&scene.top(&["--once", "--csv", "--interval", "0.3"]));
    assert_eq!(csv.lines().next(), Some("event,wait_class,active_sessions,share,waits_per_s,avg_wait_us"));
    assert!(csv.lines().any(|line| line.starts_with(&format!("{HOT},Application,1"))), "{csv}");
    scene.end();
}

#[test]
fn active_sessions_and_rates_are_what_the_instance_counted() {
    let scene = scene();
    let mut c = scene.instance.connect(&Credentials::Sysdba).expect("a session opens");
    // The increase between two readings bounds the sample's values.
    let mut counted = || {
        let time = one(&mut c, "select value from v$sys_time_model where stat_name = 'DB time'");
        let stats = ["execute count", "session logical reads", "user calls"]
            .map(|name| one(&mut c, &format!("select value from v$sysstat where name = '{name}'")));
        [&time, &stats[0], &stats[1], &stats[2]].map(|n| n.parse::<f64>().expect("a number"))
    };
    let before = counted();
    let out = scene.top(&["--once", "--json", "--interval", "0.5"]);
    let after = counted();
    let sample: Json = serde_json::from_slice(&out.stdout).unwrap_or_else(|e| panic!("{e}: {}", text(&out)));
    let of = |value: &Json| value.as_f64().unwrap_or_else(|| panic!("a number in {sample}"));
    let (seconds, load) = (of(&sample["seconds"]), of(&sample["average_active_sessions"]["total"]));
    // Values are rounded to thousandths, and so is each class.
    assert!((load - of(&sample["db_time_per_s"])).abs() < 0.01, "{sample}");
    assert!(load > 0.0 && seconds > 0.0, "one session waits for a lock all the time: {sample}");
    let rates = ["executions_per_s", "logical_reads_per_s", "calls_per_s"].map(|key| of(&sample["rates"][key]));
    let units = [1e6, 1.0, 1.0, 1.0];
    for (n, rate) in [load, rates[0], rates[1], rates[2]].into_iter().enumerate() {
        // Both factors are rounded to a thousandth.
        let (seen, rounded) = (rate * seconds * units[n], 0.001 * (rate + seconds) * units[n]);
        assert!(seen <= after[n] - before[n] + rounded, "{seen} of {} to {}: {sample}", before[n], after[n]);
    }
    scene.end();
}

#[test]
fn a_recording_shows_what_was_seen() {
    let scene = scene();
    let file = scene.instance.dir().join("seen.jsonl");
    let file = file.to_str().expect("a name");
    scene.top(&["--once", "--interval", "0.3", "--record", file]);
    let again = scene.top(&["--once", "--interval", "0.3", "--record", file]);
    assert!(!again.status.success(), "a recording is not written over");
    let sql = text(&scene.top(&["--replay", file, "--once", "--pane", "blockers"]));
    assert!(sql.contains(HOT), "{sql}");
    scene.end();
}

#[test]
fn where_no_instance_runs_it_is_said_with_a_code() {
    let out =
        Command::new(PROGRAM).args(["top", "--once", "--dir", "/nonexistent/latchwork"]).output().expect("it runs");
    assert_eq!((out.status.code(), text(&out)), (Some(3), "No instance runs in /nonexistent/latchwork.\n".into()));
}

/// The program on a terminal of its own, created by util-linux's `script`; `None` if it is not installed.
fn on_a_terminal(scene: &Scene, command: &str) -> Option<Child> {
    let line = format!("stty rows 24 cols 80; {} top --interval 0.3 --dir {}", command, scene.instance.dir().display());
    Command::new("script")
        .args(["-qefc", &line, "/dev/null"])
        .env("TERM", "xterm-256color")
        .env("LC_ALL", "C.UTF-8")
        .env_remove("NO_COLOR")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .ok()
}

/// Reads until `what` appears; returns all output.
fn read_until(out: &mut impl Read, what: &str) -> String {
    let mut seen = Vec::new();
    let mut part = [0; 4096];
    loop {
        let n = out.read(&mut part).expect("the terminal is read");
        seen.extend_from_slice(&part[..n]);
        let text = String::from_utf8_lossy(&seen);
        if text.contains(what) || n == 0 {
            return text.into_owned();
        }
    }
}

const LEAVE: &str = "\x1b[?1049l";

#[test]
fn the_terminal_is_given_back_by_a_key_and_by_a_signal() {
    let scene = scene();
    let Some(mut child) = on_a_terminal(&scene, PROGRAM) else {
        support::absent::left_out("top on a terminal", "there is no script(1)");
        return scene.end();
    };
    let mut out = child.stdout.take().expect("a pipe");
    let seen = read_until(&mut out, "row lock contention");
    assert!(seen.contains("\x1b[?1049h"), "the screen is another one: {seen}");
    child.stdin.take().expect("a pipe").write_all(b"q").expect("a key is pressed");
    let seen = read_until(&mut out, LEAVE);
    assert!(seen.contains(LEAVE), "{seen}");
    assert!(child.wait().expect("it ends").success());

    let noted = scene.instance.dir().join("top.pid");
    let mut child =
        on_a_terminal(&scene, &format!("echo $$ > {}; exec {PROGRAM}", noted.display())).expect("a terminal");
    let keys = child.stdin.take();
    let mut out = child.stdout.take().expect("a pipe");
    let mut all = read_until(&mut out, "row lock contention");
    let process = std::fs::read_to_string(&noted).ok().and_then(|n| n.trim().parse().ok()).expect("its process");
    os::process::kill(process, os::signal::SIGTERM).expect("a signal is sent");
    out.read_to_string(&mut all).expect("the terminal is read");
    assert!(all.contains(LEAVE) && all.contains("\x1b[?25h"), "the screen and the cursor come back: {all}");
    drop(keys);
    child.wait().expect("it ends");
    scene.end();
}

#[test]
fn the_screen_ends_with_its_terminal() {
    let scene = scene();
    let noted = scene.instance.dir().join("gone.pid");
    let Some(mut child) = on_a_terminal(&scene, &format!("echo $$ > {}; exec {PROGRAM}", noted.display())) else {
        support::absent::left_out("top on a terminal", "there is no script(1)");
        return scene.end();
    };
    let keys = child.stdin.take();
    let mut out = child.stdout.take().expect("a pipe");
    read_until(&mut out, "row lock contention");
    let process = std::fs::read_to_string(&noted).ok().and_then(|n| n.trim().parse().ok()).expect("its process");
    // The terminal emulator dies, as when its window is closed.
    child.kill().expect("it is killed");
    child.wait().expect("it ends");
    let until = Instant::now() + Duration::from_secs(30);
    while os::process::is_running(process) {
        if Instant::now() > until {
            drop(os::process::kill(process, os::signal::SIGKILL));
            panic!("it goes on without a terminal");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(keys);
    scene.end();
}

/// The page's server; ended when dropped.
struct Web {
    child: Child,
    address: String,
    key: String,
}

impl Drop for Web {
    fn drop(&mut self) {
        // The process may have ended by itself.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn web(scene: &Scene) -> Web {
    let mut command = Command::new(PROGRAM);
    command.args(["top", "--web", "--port", "0", "--interval", "0.3", "--dir"]).arg(scene.instance.dir());
    serve(command)
}

/// Starts a server and reads its address.
fn serve(mut command: Command) -> Web {
    let mut child = command.stdout(Stdio::piped()).spawn().expect("the program runs");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("it says where it is");
    let url = line.trim_end().strip_prefix("http://").expect("an address");
    let (address, key) = url.split_once("/?key=").expect("an address with a key");
    Web { child, address: address.into(), key: key.into() }
}

impl Web {
    fn ask(&self, request: &str, headers: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a limit");
        let head =
            format!("{request} HTTP/1.1\r\nHost: {}\r\n{headers}Content-Length: {}\r\n\r\n", self.address, body.len());
        stream.write_all((head + body).as_bytes()).expect("it reads");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("it answers");
        text
    }

    /// The first event of a stream that contains the words.
    fn event_with(&self, words: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a limit");
        let head = format!("GET /events?key={} HTTP/1.1\r\nHost: {}\r\n\r\n", self.key, self.address);
        stream.write_all(head.as_bytes()).expect("it reads");
        let lines = BufReader::new(stream).lines();
        let found =
            lines.map(|line| line.expect("it goes on")).find(|line| line.starts_with("data: ") && line.contains(words));
        found.unwrap_or_else(|| panic!("{words} in an event"))
    }
}

#[test]
fn the_page_shows_the_hot_event_and_kills_who_is_in_the_way() {
    let scene = scene();
    let web = web(&scene);
    let event = web.event_with(HOT);
    let event: Json = serde_json::from_str(&event["data: ".len()..]).expect("an event is JSON");
    assert!(web.ask("GET /", "", "").starts_with("HTTP/1.1 403"), "the owner needs the key, too");
    let page = web.ask(&format!("GET /?key={}", web.key), "", "");
    assert!(page.starts_with("HTTP/1.1 200") && page.contains(HOT), "{page}");
    let cookie = page.lines().find_map(|line| line.strip_prefix("Set-Cookie: ")).expect("a cookie for the key");
    let cookie = format!("Cookie: {}\r\n", cookie.split(';').next().expect("its value"));

    let stranger = format!("GET /sample.json?key={} HTTP/1.1\r\nHost: evil.example\r\n\r\n", web.key);
    let mut stream = TcpStream::connect(&web.address).expect("it listens");
    stream.write_all(stranger.as_bytes()).expect("it reads");
    let mut refused = String::new();
    stream.read_to_string(&mut refused).expect("it answers");
    assert!(refused.starts_with("HTTP/1.1 421"), "{refused}");
    assert!(
        web.ask("GET /sample.json", &format!("{cookie}Origin: http://evil.example\r\n"), "")
            .starts_with("HTTP/1.1 403")
    );

    let blockers =
        event["tables"].as_array().expect("a list").iter().find(|t| t["key"] == "blockers").expect("a table");
    let target = blockers["lines"][0]["target"].as_str().expect("a session");
    let (sid, serial) = target.strip_prefix("session:").and_then(|t| t.split_once(',')).expect("sid and serial number");
    assert_eq!(sid, scene.holder().to_string());
    let body = format!("sid={sid}&serial={serial}");
    let origin = format!("{cookie}Origin: http://{}\r\n", web.address);
    assert!(web.ask("POST /kill", &origin, &body).starts_with("HTTP/1.1 403"), "without the token");
    let token = page.split("name=\"token\" content=\"").nth(1).and_then(|t| t.split('"').next()).expect("a token");
    let killed = web.ask("POST /kill", &format!("{origin}X-Latchwork-Token: {token}\r\n"), &body);
    assert!(killed.starts_with("HTTP/1.1 202"), "{killed}");
    // The waiter gets the row, because its holder was rolled back.
    scene.end();
}

/// A permanent database, stopped and removed when dropped.
struct Lasting(PathBuf);

impl Lasting {
    fn run(&self, arguments: &[&str]) {
        let out = Command::new(PROGRAM).args(arguments).arg("--dir").arg(&self.0).output().expect("the program runs");
        assert!(out.status.success(), "{arguments:?}: {}", text(&out));
    }
}

impl Drop for Lasting {
    fn drop(&mut self) {
        let mut stop = Command::new(PROGRAM);
        // It may be stopped already.
        drop(stop.args(["stop", "--mode", "abort", "--dir"]).arg(&self.0).output());
        drop(std::fs::remove_dir_all(&self.0));
    }
}

#[test]
fn an_instance_that_went_away_is_said_and_found_again() {
    let database = Lasting(std::env::temp_dir().join(format!("latchwork-top-{}", std::process::id())));
    database.run(&["start"]);
    let mut command = Command::new(PROGRAM);
    command.args(["top", "--web", "--port", "0", "--interval", "0.3", "--dir"]).arg(&database.0);
    let web = serve(command);
    web.event_with("\"lost\":null");
    database.run(&["stop"]);
    web.event_with("\"lost\":\"No instance runs in");
    database.run(&["start"]);
    web.event_with("\"lost\":null");
}

#[test]
fn a_browser_draws_the_page() {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let there = |name: &&&str| Command::new(name).arg("--version").output().is_ok_and(|out| out.status.success());
    let Some(browser) = names.iter().find(there) else {
        support::absent::left_out("the page in a browser", "there is no Chromium");
        return;
    };
    let scene = scene();
    let web = web(&scene);
    web.event_with(HOT);
    let url = format!("http://{}/?key={}&open=event%3A{}", web.address, web.key, HOT.replace(' ', "%20"));
    let profile = scene.instance.dir().join("browser");
    let mut child = Command::new("timeout")
        .args(["-k", "5", "60", browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .args(["--window-size=1300,1000", "--timeout=5000", "--dump-dom", &url])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the browser starts");
    let mut dom = String::new();
    child.stdout.take().expect("a pipe").read_to_string(&mut dom).expect("the browser prints");
    child.wait().expect("the browser ends");
    let drawn = dom.split("<main").nth(1).and_then(|rest| rest.split("</main>").next()).unwrap_or_default();
    assert!(drawn.contains(HOT) && drawn.contains("data-table=\"blockers\""), "the tables are drawn: {dom}");
    assert!(dom.contains("<path d=\"M"), "the chart is drawn");
    scene.end();
}
