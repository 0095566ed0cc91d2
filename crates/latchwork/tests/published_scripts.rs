//! The published scripts, unmodified, run by the program itself. Without the folder of the scripts these tests are
//! skipped.

#[path = "support/absent.rs"]
mod absent;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use client::{Client, Credentials, Ephemeral, EphemeralOptions};
use types::Value;

fn scripts() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/acceptance/scripts");
    if folder.is_dir() {
        return Some(folder);
    }
    absent::left_out("a published script", &format!("{} is not here", folder.display()));
    None
}

/// Runs a script on a throw-away instance and returns its output.
fn run(params: &[&str], script: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_latchwork"));
    command.args(["sql", "-s", "--ephemeral"]);
    for param in params {
        command.args(["--param", param]);
    }
    command.arg(format!("@{}", script.display())).args(arguments);
    let Output { status, stdout, stderr } = command.output().expect("the program runs");
    let text = String::from_utf8_lossy(&stdout).into_owned();
    assert!(status.success(), "{status}\n{text}\n{}", String::from_utf8_lossy(&stderr));
    for mark in ["ORA-", "PLS-", "SP2-"] {
        assert!(!text.contains(mark), "{text}");
    }
    text
}

/// The number alone under a heading, for each occurrence of the heading.
fn under(text: &str, heading: &str) -> Vec<Vec<i64>> {
    let lines: Vec<&str> = text.lines().collect();
    let mut out = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let is_heading = line.split_whitespace().collect::<Vec<_>>().join(" ") == heading;
        if is_heading && lines.get(at + 1).is_some_and(|rule| rule.starts_with('-')) {
            let row = lines.get(at + 2).copied().unwrap_or("");
            out.push(row.split_whitespace().filter_map(|word| word.parse().ok()).collect());
        }
    }
    out
}

#[test]
fn memory_and_gets_of_one_cached_result_come_out_as_published() {
    let Some(folder) = scripts() else {
        return;
    };
    let text = run(&["latch_generation=11.1"], &folder.join("s2-memory-and-gets.sql"), &[]);
    assert!(text.contains("373") && text.contains("1545889529"), "{text}");
    assert!(text.contains("374") && text.contains("986859868"), "{text}");
    assert_eq!(under(&text, "GETS"), [[0], [204], [206]], "{text}");
    let compact: Vec<String> = text.lines().map(|l| l.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert!(compact.contains(&"NO 200".into()) && compact.contains(&"YES 24".into()), "{text}");
    assert_eq!(under(&text, "COUNT(*)"), [[0]], "{text}");
    for line in ["Table created.", "100 rows created.", "Commit complete.", "no rows selected"] {
        assert!(text.contains(line), "{line} is missing in\n{text}");
    }
}

/// Gets after each part of the jobs script: before, after `do_work`, before and after `do_rc`.
fn job_gets(text: &str) -> Vec<i64> {
    let all = under(text, "GETS MISSES SLEEPS WAIT_TIME");
    all.iter().map(|row| row[0]).collect()
}

#[test]
fn four_jobs_make_the_published_number_of_gets() {
    let Some(folder) = scripts() else {
        return;
    };
    let n = 2000;
    let text = run(&["latch_generation=11.1"], &folder.join("s2-jobs.sql"), &[&n.to_string()]);
    let gets = job_gets(&text);
    assert_eq!(gets.len(), 5, "{text}");
    // The first of the four jobs builds the result: 199 blocks and one, and two gets for the dependency.
    assert_eq!(gets[1] - gets[0], 4 * (2 * n + 1) + 200 + 2, "{text}");
    assert_eq!(gets[2], gets[1], "{text}");
    // Two gets for each cached key and two for the dependency; the number of keys hit by four random sequences varies.
    let built = gets[3] - gets[2] - 4 * (2 * n + 1) - 2;
    assert!(built % 2 == 0 && built > 0 && built <= 2 * 9999, "{built}\n{text}");
    assert_eq!(text.matches("Total:").count(), 3, "{text}");
    assert!(text.contains("4 rows deleted.") && text.contains("10000 rows created."), "{text}");
}

/// A script's text without its last command, so that further statements can follow in the same instance.
fn without_exit(script: &Path) -> String {
    let text = std::fs::read_to_string(script).expect("a script");
    text.lines().filter(|line| line.trim() != "exit").map(|line| format!("{line}\n")).collect()
}

/// Runs a text as a script.
fn run_text(name: &str, params: &[&str], text: &str, arguments: &[&str]) -> String {
    let own = std::env::temp_dir().join(format!("latchwork-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&own).expect("a folder");
    let script = own.join("all.sql");
    std::fs::write(&script, text).expect("a script");
    let text = run(params, &script, arguments);
    let _ = std::fs::remove_dir_all(&own);
    text
}

/// The numbers after a word at the beginning of a line.
fn said(text: &str, word: &str) -> Vec<i64> {
    let line = text.lines().find_map(|line| line.strip_prefix(word)?.strip_prefix(' '));
    let line = line.unwrap_or_else(|| panic!("no line '{word}' in\n{text}"));
    line.split_whitespace().map(|word| word.parse().unwrap_or_else(|_| panic!("{word} in {line}"))).collect()
}

/// Eight jobs read through the result cache: four of them one result of a hundred rows, four of them results of one row
/// by key.
#[test]
fn jobs_make_the_gets_of_their_generation() {
    let Some(folder) = scripts() else {
        return;
    };
    let n = 400;
    let ask = "select 'figures ' || (select gets from v$latch where name in ('Result Cache: Latch', 'Result Cache: RC Latch')) \
               || ' ' || (select count(*) - 1 from v$result_cache_objects where type = 'Result') \
               || ' ' || (select to_number(value) from v$result_cache_statistics where name = 'Find Count') from dual;\n\
               select 'latches ' || count(*) || ' ' || sum(case when misses > gets then 1 else 0 end) || ' ' || \
               sum(case when spin_gets + sleeps < misses then 1 else 0 end) || ' ' || \
               sum(case when wait_time > 0 and sleeps = 0 then 1 else 0 end) from v$latch;\nexit\n";
    for generation in ["11.1", "12.1", "12.2", "latchwork"] {
        let text = without_exit(&folder.join("s2-jobs.sql")) + ask;
        let text = run_text("jobs", &[&format!("latch_generation={generation}")], &text, &[&n.to_string()]);
        assert_eq!(text.matches("Total:").count(), 3, "{generation}\n{text}");
        assert!(text.contains("4 rows deleted.") && text.contains("10000 rows created."), "{generation}\n{text}");
        let [gets, keys, finds] = said(&text, "figures")[..] else { panic!("{generation}\n{text}") };
        // A session whose snapshot is older than the result does not use the cache: its access may have one get less.
        let passed = 8 * n - finds - keys - 1;
        assert!((0..8).contains(&passed), "{generation}: {finds} finds, {keys} keys");
        // Accesses and sessions; the large result's 200 blocks with its header and dependency; the gets to build a
        // key's result.
        let expected = match generation {
            "11.1" => 8 * (2 * n + 1) + 204 + 2 * (keys - 1),
            "latchwork" => 8 * n + 205 + 3 * keys,
            _ => 8 * (n + 1) + 206 + 4 * keys,
        };
        // A session that waits for a result being built by another gets the latch once or twice more.
        assert!(
            (expected - passed..expected + 40).contains(&gets),
            "{generation}: {gets} gets, {expected} expected, {keys} keys, {passed} passed by"
        );
        let latches = said(&text, "latches");
        assert!(latches[0] > 10 && latches[1..] == [0, 0, 0], "{generation}: {latches:?}");
    }
    let text = run(&[], &folder.join("s0-latch-sampling.sql"), &[]);
    assert!(text.contains("SAMPLE_ID") || text.contains("no rows selected"), "{text}");
}

/// The sections that the publication shows of its report, with the contents required for the generation.
fn five_sections(generation: &str, report: &str) {
    let section = |title: &str| {
        let from = report.find(&format!("\n{title}")).unwrap_or_else(|| panic!("{generation}: {title}\n{report}"));
        let rest = &report[from + 1..];
        &rest[..rest.find("\n          ------").unwrap_or(rest.len())]
    };
    assert!(section("Top 10 Foreground Events by Total Wait Time").contains("DB CPU"), "{generation}");
    assert!(section("SQL ordered by Elapsed Time").contains("7mgsfc44trnr8"), "{generation}");
    let (latches, mutexes) = (section("Latch Sleep Breakdown"), section("Mutex Sleep Summary"));
    assert!(section("Latch Activity").contains("redo allocation"), "{generation}");
    let has_mutexes = generation == "12.2";
    assert!(has_mutexes || !mutexes.contains("Row Cache"), "{generation}: {mutexes}");
    assert!(!has_mutexes || !latches.contains("row cache objects"), "{generation}: {latches}");
    assert!(section("Dictionary Cache Stats").contains("dc_props"), "{generation}");
}

/// Number of jobs of the test, all parts together.
const JOBS: i64 = 1 + 2 + 3 + 4 + 5 + 6 + 9 + 12;

#[test]
fn the_dictionary_cache_test_runs_and_leaves_no_job_behind() {
    let Some(folder) = scripts() else {
        return;
    };
    // On a busy machine the killed jobs take longer to end than the two seconds in the script.
    let ask = "declare n number; begin for i in 1 .. 600 loop select count(*) into n from v$session s, v$process p \
               where p.addr = s.paddr and p.pname like 'J%'; exit when n = 0; dbms_lock.sleep(0.1); end loop; end;\n/\n\
               select 'left ' || count(*) from dba_jobs_running;\nselect 'jobs ' || count(*) from dba_jobs;\n\
               select 'snapshots ' || count(*) from dba_hist_snapshot;\n\
               select 'counted ' || gets || ' ' || usage || ' ' || \
               (select sum(executions) from v$sql where sql_id = '7mgsfc44trnr8') \
               from v$rowcache where parameter = 'dc_props';\n\
               select 'waits ' || count(*) from v$system_event where event = 'row cache mutex';\n\
               set linesize 140\nset pagesize 0\n\
               select output from table(dbms_workload_repository.awr_report_text(1, 1, 1, 9));\n";
    let check = |generation: &str| {
        let text = without_exit(&folder.join("s4-setup.sql")) + &without_exit(&folder.join("s4-run.sql")) + ask;
        let text =
            run_text(&format!("rows-{generation}"), &[&format!("latch_generation={generation}")], &text, &["0.2"]);
        for (word, number) in [("left", 0), ("jobs", 0), ("snapshots", 9)] {
            assert_eq!(said(&text, word), [number], "{generation}\n{text}");
        }
        // Every execution got each property, but for one at most of each job, which was killed in the middle of it.
        let [gets, properties, executions] = said(&text, "counted")[..] else { panic!("{generation}\n{text}") };
        let missing = properties * executions - gets;
        assert!(executions > 0 && (0..=JOBS * properties).contains(&missing), "{generation}: {missing} gets\n{text}");
        five_sections(generation, &text[text.find("WORKLOAD REPOSITORY report").unwrap_or(text.len())..]);
        let text = &text[..text.find("WORKLOAD REPOSITORY report").unwrap_or(text.len())];
        // The event of mutexes exists only in the generation with mutexes.
        assert!(generation == "12.2" || said(text, "waits") == [0], "{generation}\n{text}");
        assert!(generation != "12.1" || text.contains("411"), "{text}");
    };
    // Most of a run is two seconds of sleep after each of nine parts.
    std::thread::scope(|scope| {
        for generation in ["11.1", "12.1", "12.2", "latchwork"] {
            scope.spawn(move || check(generation));
        }
    });
}

fn numbers(session: &mut Client, sql: &str) -> Vec<i64> {
    let rows = session.query(sql, &[]).and_then(|q| q.all()).unwrap_or_else(|e| panic!("{sql}: {e}"));
    let number = |value: &Value| match value {
        Value::Number(n) => n.as_i64().expect("a whole number"),
        other => panic!("{sql}: {other:?}"),
    };
    rows.iter().flatten().map(number).collect()
}

/// The waits of jobs that read the dictionary cache together, in `v$session`: the event's parameters are those of the
/// publication.
#[test]
fn sessions_are_seen_to_wait_for_the_hot_object() {
    let Some(folder) = scripts() else {
        return;
    };
    let setup = std::fs::read_to_string(folder.join("s4-setup.sql")).expect("the script");
    // P1 to P3 of a wait, as in the publication's queries; P3 is the number of tries to get the latch.
    let mutex =
        "select p1, p3, case when p2 in (13, 19) then 1 else 0 end from v$session where event = 'row cache mutex'";
    let latch = "select case when p1raw = (select max(la.addr) from x$kqrst dc, v$latch_children la where dc.kqrstcln = la.child# \
                 and la.name = 'row cache objects' and kqrsttxt = 'dc_props') then 15 else -1 end, 0, \
                 case when p2 = (select latch# from v$latch where name = 'row cache objects') then 1 else 0 end \
                 from v$session where event = 'latch: row cache objects'";
    for (generation, ask) in [("12.1", latch), ("12.2", mutex)] {
        let params = vec![("latch_generation".to_string(), generation.to_string())];
        let executable = Some(env!("CARGO_BIN_EXE_latchwork").into());
        let instance = Ephemeral::start_with(&EphemeralOptions { params, executable }).expect("an instance starts");
        let mut admin = instance.connect(&Credentials::Sysdba).expect("the owner connects");
        let mut run = |sql: &str| admin.execute(sql, &[]).map(drop).unwrap_or_else(|e| panic!("{sql}: {e}"));
        shell::split_script(&setup).iter().filter(|s| s.trim() != "exit").for_each(|s| run(s));
        run("begin nls_select_jobs(4, 1e9); end;");
        let give_up = Instant::now() + Duration::from_secs(60);
        let seen = loop {
            let seen = numbers(&mut admin, ask);
            if seen.chunks(3).any(|wait| wait[0] == 15) || Instant::now() > give_up {
                break seen;
            }
        };
        assert!(!seen.is_empty(), "{generation}: nobody was seen to wait");
        // A job that begins may also wait for the child latch of another cache: users, objects, segments.
        let is_meant = |wait: &[i64]| wait == [15, 0, 1] || (generation == "12.1" && wait == [-1, 0, 1]);
        assert!(seen.chunks(3).all(is_meant), "{generation}: {seen:?}");
        assert!(seen.chunks(3).any(|wait| wait[0] == 15), "{generation}: nobody waits for the hot object: {seen:?}");
        admin.execute("begin clean_jobs; end;", &[]).expect("jobs end");
        while numbers(&mut admin, "select count(*) from dba_jobs_running") != [0] {
            assert!(Instant::now() < give_up + Duration::from_secs(60), "{generation}: a job goes on");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// The script that loads a processor, with fewer rows in an unoptimised build: every row doubles the work.
#[test]
fn the_hierarchy_over_one_block_has_as_many_rows_as_published() {
    let Some(folder) = scripts() else {
        return;
    };
    let text = std::fs::read_to_string(folder.join("s3-kill-cpu.sql")).expect("the script");
    let (rows, seen) = if cfg!(debug_assertions) { (13, 4096) } else { (25, 16_777_216) };
    let place = std::env::temp_dir().join(format!("latchwork-s3-{}", std::process::id()));
    std::fs::create_dir_all(&place).expect("a temporary folder");
    let script = place.join("kill-cpu.sql");
    std::fs::write(&script, text.replace("<= 25", &format!("<= {rows}"))).expect("a copy");
    for generation in ["9.2", "11.1", "12.1", "12.2", "latchwork"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_latchwork"));
        command.args(["sql", "-s", "--ephemeral", "--param", &format!("latch_generation={generation}")]);
        let script = format!("@{}", script.display());
        let output = command.args([script.as_str(), "a"]).current_dir(&place).output().expect("the program runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && !text.contains("ORA-") && !text.contains("SP2-"), "{text}");
        assert_eq!(under(&text, "X"), [[seen]], "{text}");
        assert!(
            text.contains("Session altered.") && text.contains("Table created.") && text.contains("Elapsed:"),
            "{text}"
        );
        let spooled = ["latch_test_a.lst", "latch_test_a"].iter().any(|name| place.join(name).exists());
        assert!(spooled, "the output went to a file too");
    }
    let _ = std::fs::remove_dir_all(&place);
}

#[test]
fn the_reader_of_the_published_benchmark_gets_its_sql_id_and_two_snapshots() {
    let Some(folder) = scripts() else {
        return;
    };
    let part = |name: &str, arguments: &[(&str, &str)]| {
        let text = std::fs::read_to_string(folder.join(name)).expect("a script");
        let lines = text.lines().filter(|line| !line.trim_start().starts_with("exit"));
        let text = lines.map(|line| format!("{line}\n")).collect::<String>();
        arguments.iter().fold(text, |text, (from, to)| text.replace(from, to))
    };
    let own = std::env::temp_dir().join(format!("latchwork-reader-{}", std::process::id()));
    std::fs::create_dir_all(&own).expect("a folder");
    let index = "create table cf1 as select * from seed;\ncreate index i_cf1 on cf1 (custid);\n";
    let ask = "select 'read ' || sql_id || ' ' || executions from v$sql where sql_id = '68vu5q46nu22s';\n\
               select 'snapshots ' || count(*) from dba_hist_snapshot;\nexit\n";
    let script = own.join("all.sql");
    let text = part("s1-setup.sql", &[("&1", "1000"), ("&2", "users")])
        + index
        + &part("s1-reader.sql", &[("&1", "30"), ("&2", "1000")])
        + &part("s1-stats.sql", &[("sleep(2)", "sleep(0.1)"), ("sleep(10)", "sleep(0.1)")])
        + ask;
    std::fs::write(&script, text).expect("a script");
    let text = run(&["latch_generation=11.1"], &script, &[]);
    let _ = std::fs::remove_dir_all(&own);
    for line in ["read 68vu5q46nu22s 30", "snapshots 2"] {
        assert!(text.contains(line), "{line} is missing in\n{text}");
    }
}

/// The publication's set-up, reader and snapshots unmodified, one program after the other on one instance, as in its
/// shell script.
#[test]
fn the_published_benchmark_runs_unmodified() {
    let Some(folder) = scripts() else {
        return;
    };
    let params = vec![("latch_generation".to_string(), "11.1".to_string())];
    let executable = Some(env!("CARGO_BIN_EXE_latchwork").into());
    let instance = Ephemeral::start_with(&EphemeralOptions { params, executable }).expect("an instance starts");
    let mut admin = instance.connect(&Credentials::Sysdba).expect("the owner connects");
    let mut run = |sql: &str| admin.execute(sql, &[]).map(drop).unwrap_or_else(|e| panic!("{sql}: {e}"));
    run("create user user1 identified by user1");
    run("grant dba to user1");
    let sql = |logon: &[&str], name: &str, arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_latchwork"));
        command.args(["sql", "-s"]).args(logon).arg(format!("@{}", folder.join(name).display())).args(arguments);
        let output = command.env("LATCHWORK_HOME", instance.dir()).output().expect("the program runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && !text.contains("ORA-") && !text.contains("SP2-"), "{name}\n{text}");
        text
    };
    let text = sql(&["user1/user1"], "s1-setup.sql", &["10000", "USERS"]);
    assert!(text.contains("Table created.") && text.contains("PL/SQL procedure successfully completed."), "{text}");
    run("create table user1.cf1 pctfree 0 as select * from user1.seed order by dbms_random.value");
    run("create index user1.i_cf1 on user1.cf1 (custid)");
    // Two snapshots with the reader between them: the second program sleeps two seconds first, and ten in between.
    std::thread::scope(|scope| {
        let stats = scope.spawn(|| sql(&["/", "as", "sysdba"], "s1-stats.sql", &[]));
        while numbers(
            &mut instance.connect(&Credentials::Sysdba).expect("connects"),
            "select count(*) from dba_hist_snapshot",
        ) == [0]
        {
            std::thread::sleep(Duration::from_millis(100));
        }
        sql(&["user1/user1"], "s1-reader.sql", &["300", "10000"]);
        assert!(stats.join().is_ok(), "the snapshots");
    });
    let mut ask = |sql: &str| numbers(&mut admin, sql);
    assert_eq!(ask("select count(*) from dba_hist_snapshot"), [2]);
    assert_eq!(ask("select executions from v$sql where sql_id = '68vu5q46nu22s'"), [300]);
    // 255 rows, each in a block of its own except those that share one.
    let reads =
        ask("select max(value) - min(value) from dba_hist_sysstat where stat_name = 'session logical reads'")[0];
    assert!(reads > 300 * 200, "{reads}");
}
