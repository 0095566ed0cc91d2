//! Transcripts of the shell: the output of SQL*Plus scripts, byte for byte.
//!
//! `shell/NAME.sql` is run by the program on a throw-away instance and must print `shell/NAME.out`. A script that
//! begins with `-- typed:` is typed at the prompt, so that prompts and line numbers appear; the others are run as
//! `@NAME.sql`. The rest of that first line are further arguments of the command line. `UPDATE_TRANSCRIPTS=1` rewrites
//! the expected files.

#[path = "support/absent.rs"]
mod absent;

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use client::{Credentials, Ephemeral, EphemeralOptions};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/shell")
}

fn shell(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_latchwork"));
    command.arg("sql").args(arguments).current_dir(folder());
    command.env_remove("LATCHWORK_HOME").env_remove("SQLPATH");
    command
}

fn run(arguments: &[&str], input: &str) -> Output {
    let mut child = shell(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    // A shell that has ended does not read the rest.
    let _ = child.stdin.take().expect("a pipe").write_all(input.as_bytes());
    child.wait_with_output().expect("the program ends")
}

fn code(arguments: &[&str], input: &str) -> i32 {
    run(arguments, input).status.code().expect("an exit code")
}

fn text(arguments: &[&str], input: &str) -> String {
    let output = run(arguments, input);
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn transcript(name: &str) {
    let script = folder().join(format!("{name}.sql"));
    let source = std::fs::read_to_string(&script).expect("a script");
    let first = source.lines().next().unwrap_or("");
    let printed = match first.strip_prefix("-- typed:") {
        Some(rest) => {
            let mut arguments = vec!["--ephemeral"];
            arguments.extend(rest.split_whitespace());
            let typed = source.split_once('\n').map_or("", |(_, rest)| rest);
            text(&arguments, typed)
        }
        None => {
            let mut arguments = vec!["-s", "--ephemeral"];
            let at = format!("@{name}");
            arguments.push(&at);
            arguments.extend(first.strip_prefix("-- run:").unwrap_or("").split_whitespace());
            text(&arguments, "")
        }
    };
    let printed = printed.replace(env!("CARGO_PKG_VERSION"), "VERSION");
    let expected = folder().join(format!("{name}.out"));
    if std::env::var_os("UPDATE_TRANSCRIPTS").is_some() {
        std::fs::write(&expected, &printed).expect("written");
        return;
    }
    let wanted = std::fs::read_to_string(&expected).expect("what it should print");
    let differs = printed.lines().zip(wanted.lines()).position(|(a, b)| a != b);
    let at = differs.unwrap_or(printed.lines().count().min(wanted.lines().count()));
    assert!(
        printed == wanted,
        "{name} differs at line {}:\nprinted {:?}\nwanted  {:?}\n{printed}",
        at + 1,
        printed.lines().nth(at),
        wanted.lines().nth(at)
    );
}

/// The first experiment of the published article on the result cache's latches, as typed.
#[test]
fn result_cache_latches() {
    transcript("latches");
}

#[test]
fn queries_on_pages() {
    transcript("queries");
}

/// TTITLE, BTITLE, REPHEADER, REPFOOTER, BREAK, COMPUTE and the layout of columns.
#[test]
fn reports_with_titles_breaks_and_computations() {
    transcript("reports");
}

#[test]
fn types_are_described() {
    transcript("types");
}

/// The buffer's lines, files, the history, and the marks of SET around them.
#[test]
fn lines_of_the_buffer_are_edited() {
    transcript("editing");
}

#[test]
fn accepted_and_bound_values_have_types() {
    transcript("asking");
}

/// SHUTDOWN and STARTUP stop and start the instance of a directory, only as SYSDBA, and commit nothing.
#[test]
fn an_instance_is_stopped_and_started() {
    let dir = std::env::temp_dir().join(format!("latchwork-startup-{}", std::process::id()));
    let place = dir.to_str().expect("UTF-8").to_string();
    let program = || Command::new(env!("CARGO_BIN_EXE_latchwork"));
    let started = program().args(["start", "--dir", &place]).output().expect("it starts");
    assert!(started.status.success(), "{}", String::from_utf8_lossy(&started.stderr));
    let script = "create table kept (n number);\ninsert into kept values (7);\n\
                  create user u identified by p;\ngrant create session to u;\narchive log list\n\
                  connect u/p\nshutdown abort\nconnect / as sysdba\n\
                  startup\nshutdown immediate\nselect n from kept;\nshutdown\nstartup mount\nstartup quiet\n\
                  select n from kept;\nstartup force quiet\nselect n from kept;\n\
                  insert into kept values (8);\nshutdown immediate\nshutdown abort\nstartup quiet\n\
                  select n from kept;\nshutdown abort\n";
    let printed = text(&["-s", "--dir", &place, "/", "as", "sysdba"], script);
    let stopped = program().args(["status", "--dir", &place]).output().expect("it answers");
    let nowhere = dir.join("empty");
    std::fs::create_dir_all(&nowhere).expect("a directory");
    // An init file makes no database.
    std::fs::write(nowhere.join("init.ora"), "processes = 50\n").expect("an init file");
    let none = text(&["-s", "--dir", nowhere.to_str().expect("UTF-8"), "/nolog"], "startup\n");
    std::fs::remove_dir_all(&dir).expect("removed");
    assert!(!stopped.status.success(), "the instance still runs");
    let archive = format!(
        "Database log mode              No Archive Mode\nAutomatic archival             Disabled\n\
         Archive destination            {place}/archive\nOldest online log sequence     1\n\
         Current log sequence           1\n"
    );
    let rows = "\n         N\n----------\n         7\n\n";
    let up = "ORACLE instance started.\nDatabase mounted.\nDatabase opened.\n";
    let wanted = format!(
        "\nTable created.\n\n\n1 row created.\n\n\nUser created.\n\n\nGrant succeeded.\n\n{archive}Connected.\n\
         ORA-01031: insufficient privileges\nConnected.\n\
         ORA-01081: cannot start already-running ORACLE - shut it down first\n\
         Database closed.\nDatabase dismounted.\nORACLE instance shut down.\nSP2-0640: Not connected\n\
         ORA-01012: not logged on\nSP2-0042: STARTUP MOUNT is not supported here.\n\
         {up}{rows}{up}{rows}\n1 row created.\n\n\
         ORA-01097: cannot shutdown while in a transaction - commit or rollback first\n\
         ORACLE instance shut down.\n{up}{rows}ORACLE instance shut down.\n"
    );
    assert_eq!(printed, wanted);
    assert!(none.starts_with("ORA-00205: error in identifying control file"), "{none}");
}

/// SET ERRORLOGGING, COPY, SHOW ALL, STARTUP and SHUTDOWN of an instance that is not the shell's to stop.
#[test]
fn errors_are_logged_and_rows_copied() {
    transcript("instances");
}

/// Numbers use the session's decimal character, those in JSON a period.
#[test]
fn numeric_characters() {
    transcript("numeric_characters");
}

#[test]
fn errors_and_where_they_are() {
    transcript("errors");
}

#[test]
fn pages_of_html() {
    transcript("html");
}

#[test]
fn plans_behind_statements() {
    transcript("autotrace");
}

#[test]
fn figures_behind_statements() {
    let script = "create table t as select level n from dual connect by level <= 20;\nset autotrace traceonly statistics\n\
                  select n from t order by n;\nset autotrace off\n";
    let text = text(&["-s", "--ephemeral"], script);
    let after = text.split("Statistics\n").nth(1).unwrap_or_else(|| panic!("{text}"));
    let figure = |name: &str| {
        let line = after.lines().find(|line| line.ends_with(name)).unwrap_or_else(|| panic!("{name}\n{text}"));
        line.split_whitespace().next().and_then(|n| n.parse::<u64>().ok()).unwrap_or_else(|| panic!("{line}"))
    };
    assert_eq!((figure("  rows processed"), figure("  sorts (memory)"), figure("  redo size")), (20, 1, 0), "{text}");
    assert!(figure("  consistent gets") > 0 && !text.contains("Execution Plan") && text.contains("20 rows selected."));
}

#[test]
fn variables_and_binds() {
    transcript("variables");
}

#[test]
fn commands() {
    transcript("commands");
    std::fs::remove_file(folder().join("spooled.lst")).expect("it was spooled");
}

#[test]
fn what_set_says_of_texts_and_output() {
    transcript("set_options");
}

#[test]
fn objects_and_collections_are_printed_as_calls_of_their_constructors() {
    transcript("objects");
}

#[test]
fn cursors_of_blocks_are_printed() {
    transcript("cursors");
}

#[test]
fn blocks_and_packages() {
    transcript("plsql");
}

#[test]
fn exit_codes() {
    let quiet = ["-s", "--ephemeral"];
    assert_eq!(code(&quiet, "exit 7\n"), 7);
    assert_eq!(code(&quiet, "var x number\nexec :x := 9\nexit :x\n"), 9);
    assert_eq!(code(&quiet, "define n = 4\nexit n\n"), 4);
    assert_eq!(code(&quiet, "whenever sqlerror exit sql.sqlcode\nselect 1 from nosuch;\nexit 3\n"), 942 % 256);
    assert_eq!(code(&quiet, "whenever sqlerror exit failure rollback\nselect 1/0 from dual;\nexit 3\n"), 1);
    assert_eq!(code(&quiet, "whenever sqlerror continue\nselect 1/0 from dual;\n"), 0);
    assert_eq!(code(&quiet, "whenever oserror exit 5\n@no_such_script\n"), 5);
    assert_eq!(code(&["-s", "--ephemeral", "nobody/nothing"], "exit\n"), 1);
    assert_eq!(code(&["-s", "--dir", "/nonexistent", "/ as sysdba"], "exit\n"), 1);
}

#[test]
fn a_session_begins_in_the_time_zone_of_the_environment() {
    let mut command = shell(&["-s", "--ephemeral"]);
    command.env("ORA_SDTZ", "Asia/Tokyo").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    let script = "select sessiontimezone || '.' zone from dual;\n\
                  create table t (at timestamp with local time zone);\n\
                  insert into t values (timestamp '2022-06-02 06:30:00 UTC');\nselect at from t;\n\
                  alter session set time_zone = 'America/New_York';\nselect at from t;\nexit\n";
    child.stdin.take().expect("a pipe").write_all(script.as_bytes()).expect("it reads");
    let printed = child.wait_with_output().expect("the program ends").stdout;
    let printed = String::from_utf8(printed).expect("UTF-8");
    for wanted in ["Asia/Tokyo.", "02-JUN-22 03.30.00.000000 PM\n", "02-JUN-22 02.30.00.000000 AM\n"] {
        assert!(printed.contains(wanted), "{wanted} in {printed}");
    }
}

#[test]
fn restricted_commands_are_refused_and_do_nothing() {
    let spooled = std::env::temp_dir().join(format!("latchwork-restrict-{}.lst", std::process::id()));
    let script = format!(
        "host echo ran\n!echo ran\nspool {0}\nspool off\nsave {0}\nget queries\n@commands\nstart commands\nprompt goes on\n",
        spooled.display()
    );
    let refused = |commands: &[&str]| -> String {
        commands.iter().map(|c| format!("SP2-0738: Restricted command \"{c}\" not available\n")).collect()
    };
    assert_eq!(
        text(&["-s", "-R", "3", "/nolog"], &script),
        refused(&["host", "host", "spool", "spool", "save", "get", "start", "start"]) + "goes on\n"
    );
    let second = text(&["-s", "-R", "2", "/nolog"], "!echo ran\nspool x\nsave x\n@no_such_script\n");
    assert!(second.starts_with(&refused(&["host", "spool", "save"])) && second.contains("SP2-0310"), "{second}");
    let first = text(&["-s", "-R", "1", "/nolog"], "host echo ran\nspool\n");
    assert_eq!(first, refused(&["host"]) + "not spooling currently\n");
    let editors = "edit\nstore set x\nset history on\nprompt kept\nhistory 1 edit\n";
    assert_eq!(
        text(&["-s", "-R", "2", "/nolog"], editors),
        refused(&["edit", "store"]) + "kept\n" + &refused(&["edit"])
    );
    assert_eq!(code(&["-s", "-R", "3", "/nolog", "@commands"], ""), 1);
    assert!(!spooled.exists());
}

#[test]
fn a_statement_that_nothing_ends_is_not_run() {
    let printed = text(&["-s", "--ephemeral"], "create table t (n number);\ninsert into t values (1)\n");
    assert!(printed.contains("Table created.") && !printed.contains("1 row created."), "{printed}");
}

#[test]
fn the_name_sqlplus_means_the_shell() {
    let dir = std::env::temp_dir().join(format!("latchwork-sqlplus-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a directory");
    let link = dir.join("sqlplus");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_latchwork"), &link).expect("a link");
    let output = Command::new(&link).args(["-s", "--ephemeral"]).stdin(Stdio::null()).output().expect("it runs");
    std::fs::remove_dir_all(&dir).expect("removed");
    assert!(output.status.success());
}

#[test]
fn a_reader_that_goes_away_ends_the_shell() {
    let mut child = shell(&["-s", "--ephemeral"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    drop(child.stdout.take());
    let _ = child.stdin.take().expect("a pipe").write_all(b"select level from dual connect by level < 1e9;\n");
    let until = Instant::now() + Duration::from_secs(60);
    while child.try_wait().expect("a status").is_none() {
        assert!(Instant::now() < until, "it still runs");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn an_interrupt_breaks_the_call_and_the_script_goes_on() {
    let executable = Some(PathBuf::from(env!("CARGO_BIN_EXE_latchwork")));
    let instance =
        Ephemeral::start_with(&EphemeralOptions { params: Vec::new(), executable }).expect("an instance starts");
    let mut watcher = instance.connect(&Credentials::Sysdba).expect("a session opens");
    let dir = instance.dir().to_str().expect("UTF-8").to_string();
    let mut child = shell(&["-s", "--dir", &dir, "/", "as", "sysdba"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(b"exec dbms_lock.sleep(120)\nprompt after\n").expect("typed");
    // An interrupt before the call would end an idle shell.
    let started = Instant::now();
    let mut sleeps = || {
        let rows = watcher.query("select sid from v$session where event = 'PL/SQL lock timer'", &[]);
        !rows.and_then(client::Query::all).expect("rows").is_empty()
    };
    while !sleeps() {
        assert!(started.elapsed() < Duration::from_secs(60), "the call does not begin");
        std::thread::sleep(Duration::from_millis(5));
    }
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill runs");
    assert!(kill.success());
    drop(input);
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut child.stdout.take().expect("a pipe"), &mut rest).expect("text");
    assert!(rest.contains("ORA-01013") && rest.contains("after"), "{rest}");
    assert!(started.elapsed() < Duration::from_secs(100), "the call was not broken");
    assert!(child.wait().expect("a status").success());
}

/// The shell on a terminal of its own, created by `script`.
struct Typed {
    child: std::process::Child,
    input: std::process::ChildStdin,
    shown: std::sync::mpsc::Receiver<Vec<u8>>,
    /// Output of the terminal that was not matched yet.
    rest: String,
}

impl Typed {
    /// `None` if `script` is not installed. `exec`: an interrupt would otherwise end the command shell that waits for
    /// this shell.
    fn start() -> Option<Typed> {
        let program = env!("CARGO_BIN_EXE_latchwork");
        let mut child = Command::new("script")
            .args(["--quiet", "--return", "--command", &format!("exec '{program}' sql -s --ephemeral"), "/dev/null"])
            .current_dir(folder())
            .env_remove("LATCHWORK_HOME")
            .env_remove("SQLPATH")
            .env("TERM", "xterm")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .ok()?;
        let (send, shown) = std::sync::mpsc::channel();
        let mut output = child.stdout.take()?;
        std::thread::spawn(move || {
            let mut some = [0; 4096];
            while let Ok(n) = output.read(&mut some) {
                if n == 0 || send.send(some[..n].to_vec()).is_err() {
                    break;
                }
            }
        });
        let input = child.stdin.take()?;
        Some(Typed { child, input, shown, rest: String::new() })
    }

    fn types(&mut self, keys: &str) {
        self.input.write_all(keys.as_bytes()).expect("the terminal takes it");
    }

    /// Waits until the terminal shows `text`; returns the output before it.
    fn until(&mut self, text: &str) -> String {
        assert!(self.has(text, Duration::from_secs(60)), "{text:?} is not shown: {:?}", self.rest);
        let at = self.rest.find(text).unwrap_or_default();
        let rest = self.rest.split_off(at + text.len());
        let mut before = std::mem::replace(&mut self.rest, rest);
        before.truncate(at);
        before
    }

    /// Whether the terminal shows `text`; false after `patience` without new output.
    fn has(&mut self, text: &str, patience: Duration) -> bool {
        while !self.rest.contains(text) {
            match self.shown.recv_timeout(patience) {
                Ok(some) => self.rest.push_str(&String::from_utf8_lossy(&some)),
                Err(_) => return false,
            }
        }
        true
    }
}

#[test]
fn lines_typed_ahead_are_kept_and_an_interrupt_drops_the_statement_that_is_being_typed() {
    let Some(mut t) = Typed::start() else {
        absent::left_out("the shell on a terminal", "there is no script(1)");
        return;
    };
    // All at once, faster than the shell reads lines.
    t.types("select 'fir'||'st' from dual;\rbegin\r  null;\rend;\r/\rselect 'sec'||'ond'\rfrom dual;\r");
    t.until("first");
    t.until("PL/SQL procedure successfully completed.");
    t.until("second");
    // The shell reads a line: input typed before that is echoed by the terminal itself.
    t.until("[?2004h");
    // A half-typed statement is discarded, and not run with the next input.
    t.types("select 'half'||'way' from dual where\r");
    t.until("where");
    t.until("[?2004h");
    t.types("1 = 1 and");
    t.until("1 = 1 and");
    t.types("\x03");
    // The terminal is made ready for the next line.
    t.until("[?2004h");
    t.types("select 'who'||'le' from dual;\r");
    let before = t.until("whole");
    assert!(!before.contains("ORA-") && !before.contains("halfway"), "{before:?}");
    // A call that runs is broken, and the shell goes on.
    t.types("begin dbms_output.put_line('runs'); loop null; end loop; end;\r/\r");
    t.until("end;");
    // An interrupt that comes before the call has begun has no effect.
    while !t.has("ORA-01013", Duration::from_secs(2)) {
        t.types("\x03");
    }
    t.types("exit 7\r");
    assert_eq!(t.child.wait().expect("it ends").code(), Some(7));
}

#[test]
fn passwords_are_changed_without_being_shown() {
    let typed = "create user pat identified by First1;\ngrant create session to pat;\nconnect pat/First1\n\
                 password\nFirst1\nSecond1\nSecond1\n\
                 password\nwrong\nThird1\nThird1\n\
                 password\nSecond1\none\nother\n\
                 connect pat/First1\nconnect pat/Second1\nshow user\n\
                 connect / as sysdba\npassword pat\nThird1\nThird1\nalter user pat password expire;\n\
                 connect pat/Third1\nFourth1\nFourth1\nshow user\n\
                 connect pat/Third1\nconnect pat/Fourth1\nshow user\n\
                 connect / as sysdba\nalter user pat password expire;\nconnect pat/Fourth1\none\nother\nshow user\n";
    let printed = text(&["-s", "--ephemeral"], typed);
    let told: Vec<&str> = printed
        .lines()
        .map(|line| line.rsplit(": ").next().unwrap_or(line).trim())
        .filter(|line| {
            ["Password", "Connected", "USER", "Changing"].iter().any(|word| line.starts_with(word))
                || line.contains("invalid")
                || line.contains("expired")
        })
        .collect();
    let wanted = [
        "Connected.",
        "Changing password for PAT",
        "Password changed",
        "Changing password for PAT",
        "invalid old password",
        "Password unchanged",
        "Changing password for PAT",
        "Passwords do not match",
        "Password unchanged",
        "invalid username/password; logon denied",
        "Connected.",
        "USER is \"PAT\"",
        "Connected.",
        "Changing password for PAT",
        "Password changed",
        "the password has expired",
        "Changing password for pat",
        "Password changed",
        "Connected.",
        "USER is \"PAT\"",
        "invalid username/password; logon denied",
        "Connected.",
        "USER is \"PAT\"",
        "Connected.",
        "the password has expired",
        "Changing password for pat",
        "Passwords do not match",
        "Password unchanged",
        "USER is \"\"",
    ];
    assert_eq!(told, wanted, "{printed}");
    assert!(!printed.contains("Second1") && !printed.contains("Fourth1"), "{printed}");
}
