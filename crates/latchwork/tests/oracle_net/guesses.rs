//! Wrong passwords over the network: their cost, their traces, and the information that they give about names.

use crate::unproved::{listener, own_kb};
use crate::{code, logon, number, start, sysdba};
use client::{Client, ClientError, NetAddress, NetSession, Stage, Stranger};
use std::sync::Mutex;
use std::time::Instant;
use testing::Random;
use types::Value;

/// The number of guesses: a few, or the value of `LATCHWORK_WRONG_PASSWORDS` (docs/TORTURE.md has the long form).
fn wrong_passwords() -> usize {
    std::env::var("LATCHWORK_WRONG_PASSWORDS").ok().and_then(|n| n.parse().ok()).unwrap_or(600)
}

/// The difference between the ranks of two samples in standard deviations (Mann and Whitney).
fn ranks_apart(a: &[u64], b: &[u64]) -> f64 {
    let mut all: Vec<(u64, bool)> = a.iter().map(|t| (*t, true)).chain(b.iter().map(|t| (*t, false))).collect();
    all.sort_unstable();
    let sum: f64 = all.iter().enumerate().filter(|(_, (_, first))| *first).map(|(rank, _)| rank as f64 + 1.0).sum();
    let (n, m) = (a.len() as f64, b.len() as f64);
    let u = sum - n * (n + 1.0) / 2.0;
    (u - n * m / 2.0) / (n * m * (n + m + 1.0) / 12.0).sqrt()
}

/// The largest distance between the distributions of two samples, in units of its deviation by chance (Kolmogorov and
/// Smirnov): 1.36 is reached once in twenty times, 1.95 once in a thousand.
fn distributions_apart(a: &[u64], b: &[u64]) -> f64 {
    let (mut a, mut b) = (a.to_vec(), b.to_vec());
    a.sort_unstable();
    b.sort_unstable();
    let (n, m) = (a.len() as f64, b.len() as f64);
    let below = |sorted: &[u64], t: u64| sorted.partition_point(|x| *x <= t) as f64;
    let distance = a.iter().chain(&b).map(|t| (below(&a, *t) / n - below(&b, *t) / m).abs()).fold(0.0, f64::max);
    distance * (n * m / (n + m)).sqrt()
}

fn value(c: &mut Client, sql: &str) -> String {
    match c.query(sql, &[]).and_then(|q| q.all()).unwrap_or_else(|e| panic!("{sql}: {e}"))[0][0].clone() {
        Value::Text(text) => text.to_string(),
        Value::Number(n) => n.to_string(),
        other => panic!("{other:?}"),
    }
}

/// The error of a logon; 0 for none.
fn refusal(at: &NetAddress, user: &str, password: &str) -> u32 {
    NetSession::connect(at, user, password).map_or_else(|e| code(&e), |s| s.logoff().map_or(1, |()| 0))
}

fn redo_bytes(c: &mut Client) -> u64 {
    value(c, "select value from v$sysstat where name = 'redo size'").parse().unwrap()
}

fn failures(c: &mut Client, name: &str) -> u64 {
    let id = match name {
        "nobody" => "4294967295".into(),
        name => format!("(select user# from sys.user$ where name = upper('{name}'))"),
    };
    value(c, &format!("select lcount from sys.user_logon$ where user# = {id}")).parse().unwrap()
}

/// The guessed names, by the state of the account.
const NAMES: [&str; 4] = ["patient", "nobody", "stale", "shut"];

fn accounts(c: &mut Client) {
    for sql in [
        "create profile patience limit failed_login_attempts unlimited",
        "create user patient identified by Right1 profile patience",
        "create user stale identified by Right1 profile patience password expire",
        "create user shut identified by Right1 account lock",
        "create user brief identified by Right1",
        "grant create session to patient, stale, shut, brief",
    ] {
        c.execute(sql, &[]).unwrap_or_else(|e| panic!("{sql}: {e}"));
    }
}

/// The nanoseconds until the challenge and until the refusal of a guess.
#[derive(Clone, Copy)]
struct Times {
    challenge: u64,
    refusal: u64,
}

/// One guess for each name of `names`, all at the same time, three guesses on each connection.
fn guess_at(at: &NetAddress, names: &[usize], times: &mut [Vec<Times>; 4]) {
    let now = |began: Instant| began.elapsed().as_nanos() as u64;
    let mut open: Vec<Stranger> = Vec::new();
    let connections = names.len().div_ceil(3);
    let mut rest = names;
    for round in 0..3 {
        let (now_named, later) = rest.split_at(connections.min(rest.len()));
        rest = later;
        let mut asked = Vec::new();
        for (i, name) in now_named.iter().enumerate() {
            if round == 0 {
                open.push(Stranger::open(at, "", Stage::Agreed).expect("there is room"));
            }
            let began = Instant::now();
            open[i].name(NAMES[*name]).expect("a challenge");
            let challenge = now(began);
            asked.push((Instant::now(), challenge));
            open[i].guess(NAMES[*name]).expect("it is heard");
        }
        for (i, (name, (began, challenge))) in now_named.iter().zip(asked).enumerate() {
            let refused = open[i].refusal().expect("an answer");
            assert_eq!(refused, 1017, "{}", NAMES[*name]);
            times[*name].push(Times { challenge, refusal: now(began) });
        }
    }
}

#[test]
fn a_storm_of_wrong_passwords_is_counted_and_leaves_little() {
    let per_address = "16384";
    let (instance, at) = start(&[
        ("_listener_pending_max", per_address),
        ("_listener_pending_per_address", per_address),
        ("inbound_connect_timeout", "900"),
    ]);
    assert!(os::process::raise_descriptor_limit() > 1000);
    let mut c = sysdba(&instance);
    accounts(&mut c);
    let mut expected = [0u64; 4];
    NetSession::connect(&at, "brief", "Right1").unwrap().logoff().unwrap();
    let alert = || std::fs::read_to_string(instance.dir().join("alert.log")).expect("the alert log");
    let trail = "select count(*) from sys.aud$";
    let (gate, redo, rows, log) = (listener(&instance), redo_bytes(&mut c), value(&mut c, trail), alert().len());
    let memory = own_kb(gate);
    let many = wrong_passwords();
    let (threads, batch) = if many > 100_000 { (16, 480) } else { (4, 60) };
    let times: Mutex<[Vec<Times>; 4]> = Mutex::default();
    let left = Mutex::new(many);
    let began = Instant::now();
    std::thread::scope(|s| {
        for thread in 0..threads {
            let (at, times, left) = (&at, &times, &left);
            s.spawn(move || {
                let mut random = Random::new(thread);
                let mut own: [Vec<Times>; 4] = Default::default();
                loop {
                    let n = {
                        let mut left = left.lock().unwrap();
                        let n = batch.min(*left);
                        *left -= n;
                        n
                    };
                    if n == 0 {
                        break;
                    }
                    let names: Vec<usize> = (0..n).map(|_| random.below(4usize)).collect();
                    guess_at(at, &names, &mut own);
                }
                let mut all = times.lock().unwrap();
                all.iter_mut().zip(own).for_each(|(all, own)| all.extend(own));
            });
        }
        // A user with the right password can log on meanwhile, and an account with a limit is locked, once.
        for n in 0..12 {
            logon(&at).logoff().unwrap();
            assert_eq!(refusal(&at, "brief", "wrong"), 1017, "{n}");
        }
    });
    let seconds = began.elapsed().as_secs_f64();
    let times = times.into_inner().unwrap();
    expected.iter_mut().zip(&times).for_each(|(n, times)| *n = times.len() as u64);
    assert_eq!(expected.iter().sum::<u64>(), many as u64);
    let [patient, nobody, stale, shut] = NAMES.map(|name| failures(&mut c, name));
    assert_eq!([patient, nobody, stale, shut], [expected[0], expected[1], expected[2], expected[3]], "all are counted");
    let status = "select listagg(username || ' ' || account_status, ', ') within group (order by username) from dba_users \
                  where username in ('PATIENT', 'STALE', 'SHUT', 'BRIEF')";
    assert_eq!(value(&mut c, status), "BRIEF LOCKED(TIMED), PATIENT OPEN, SHUT LOCKED, STALE EXPIRED");
    NetSession::connect(&at, "patient", "Right1").unwrap().logoff().unwrap();
    assert_eq!(failures(&mut c, "patient"), 0, "the right password forgives them");
    // The log, the trail and the redo grow with time and not with the number of guesses.
    let minutes = seconds as usize / 60 + 2;
    let text = alert();
    let is_told = |line: &&str| line.contains(" refused: ") || line.contains("refused and not listed");
    let lines = text.lines().filter(is_told).count();
    assert!((1..=minutes * 21).contains(&lines), "{lines} lines in {minutes} minutes");
    let trail_rows = value(&mut c, trail).parse::<usize>().unwrap() - rows.parse::<usize>().unwrap();
    let redo = redo_bytes(&mut c) - redo;
    let grown = own_kb(gate).saturating_sub(memory);
    println!(
        "{many} wrong passwords in {seconds:.0} s, {:.0} a second; {lines} lines ({} bytes) of the log, {trail_rows} rows of the trail, \
         {redo} bytes of redo, {grown} KB of the listener process",
        many as f64 / seconds,
        text.len() - log,
    );
    tell("storm", &times);
}

/// Prints the differences of the answers for the names from those for a name that does not exist. Returns the largest
/// z.
fn tell(what: &str, times: &[Vec<Times>; 4]) -> f64 {
    let median = |mut all: Vec<u64>| {
        all.sort_unstable();
        all.get(all.len() / 2).map_or(0, |t| t / 1000)
    };
    let mut largest = 0.0f64;
    for (phase, of) in
        [("challenge", (|t: &Times| t.challenge) as fn(&Times) -> u64), ("refusal", |t: &Times| t.refusal)]
    {
        let all = times.each_ref().map(|times| times.iter().map(of).collect::<Vec<u64>>());
        for (name, own) in NAMES.iter().zip(&all) {
            let z = ranks_apart(own, &all[1]);
            let d = distributions_apart(own, &all[1]);
            println!("{what}, {phase}: {name:8} median {} us, z = {z:.2}, KS = {d:.2}", median(own.clone()));
            largest = largest.max(z.abs());
        }
    }
    largest
}

/// One guess after the other, as an attacker would measure: the names in random order.
#[test]
fn the_time_of_an_answer_says_nothing_of_a_name() {
    let (instance, at) = start(&[]);
    let mut c = sysdba(&instance);
    accounts(&mut c);
    let many = wrong_passwords().min(4000) / 50 * 4;
    let mut random = Random::new(1);
    let mut times: [Vec<Times>; 4] = Default::default();
    for _ in 0..many {
        let name = random.below(4usize);
        guess_at(&at, &[name], &mut times);
    }
    let largest = tell("alone", &times);
    // The short form has too few samples for a judgement, and only checks that all were answered.
    assert_eq!(times.iter().map(Vec::len).sum::<usize>(), many);
    assert!(wrong_passwords() < 100_000 || largest < 5.0, "a name is told from none: z = {largest:.1}");
}

#[test]
fn a_right_password_counts_behind_the_wrong_ones_that_wait_for_their_answers() {
    let (instance, at) = start(&[]);
    let mut c = sysdba(&instance);
    accounts(&mut c);
    // The interval grows with the number of recent refusals.
    guess_at(&at, &[1; 240], &mut Default::default());
    let mut waiting: Vec<Stranger> = (0..12).map(|_| Stranger::open(&at, "brief", Stage::Named).unwrap()).collect();
    waiting.iter_mut().for_each(|s| s.guess("brief").unwrap());
    assert_eq!(refusal(&at, "brief", "Right1"), 1017, "there is room for so many guesses before any is counted");
    let answers: Vec<u32> = waiting.iter_mut().map(|s| s.refusal().unwrap()).collect();
    assert_eq!(answers, [1017; 12]);
    assert_eq!(failures(&mut c, "brief"), 12);
}

#[test]
fn only_the_right_password_is_told_that_an_account_is_locked() {
    let (instance, at) = start(&[]);
    let mut c = sysdba(&instance);
    accounts(&mut c);
    // The wrong passwords that lock an account, and the next one, are answered like those for a name that does not
    // exist.
    assert_eq!((0..10).map(|_| refusal(&at, "brief", "wrong")).collect::<Vec<u32>>(), [1017; 10]);
    assert_eq!(refusal(&at, "nobody", "wrong"), 1017);
    assert_eq!([refusal(&at, "shut", "wrong"), refusal(&at, "shut", "Right1")], [1017, 28000]);
    assert_eq!(refusal(&at, "brief", "Right1"), 28000);
    assert_eq!(refusal(&at, "brief", "Right1"), 28000, "it does not count");
    // After further guesses on the locked account, the right password gets the same answer.
    assert_eq!([refusal(&at, "brief", "wrong"), refusal(&at, "brief", "Right1")], [1017; 2]);
    // The administrator sees the lock.
    let noted = "select listagg(return_code, ' ') within group (order by return_code) from unified_audit_trail \
                 where dbusername in ('BRIEF', 'SHUT')";
    assert_eq!(value(&mut c, noted), [["1017"; 10].as_slice(), &["28000"; 6]].concat().join(" "));
    c.execute("alter user brief account unlock", &[]).unwrap();
    assert_eq!(refusal(&at, "brief", "Right1"), 0);
}

#[test]
fn a_connection_may_fail_as_often_as_is_set() {
    let tries = |at: &NetAddress| {
        let mut s = Stranger::open(at, "u", Stage::Named).unwrap();
        let mut n = 0;
        loop {
            s.guess("u").unwrap();
            assert_eq!(s.refusal().unwrap(), 1017);
            n += 1;
            match s.name("u") {
                Ok(()) => {}
                Err(ClientError::Server(_)) => panic!("a name is challenged or the connection is gone"),
                Err(_) => return n,
            }
        }
    };
    let (_instance, at) = start(&[]);
    assert_eq!(tries(&at), 3);
    let (instance, at) = start(&[("sec_max_failed_login_attempts", "1")]);
    assert_eq!(tries(&at), 1);
    // Guesses of a client that does not wait for the answer count, too.
    for _ in 0..9 {
        let mut s = Stranger::open(&at, "u", Stage::Named).unwrap();
        s.guess("u").unwrap();
    }
    let mut c = sysdba(&instance);
    crate::unproved::until("all are counted", || failures(&mut c, "u") == 10);
    assert_eq!(refusal(&at, "u", "Tiger1"), 28000);
    assert_eq!(
        number(
            &c.query("select count(*) from dba_users where account_status = 'LOCKED(TIMED)'", &[])
                .unwrap()
                .all()
                .unwrap()
        ),
        1
    );
}
