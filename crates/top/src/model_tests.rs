//! Tests of the model on hand-made samples.

use crate::model::*;
use crate::sample::*;

fn snapshot(seconds: u64) -> Snapshot {
    Snapshot {
        wall_ms: 1_700_000_000_000 + seconds * 1000,
        clock_us: 5_000_000 + seconds * 1_000_000,
        facts: Facts { started: "2026-01-01 00:00:00".into(), ..Facts::default() },
        ..Snapshot::default()
    }
}

fn active(sid: u64, event: &str, class: &str) -> Active {
    Active {
        sid,
        serial: 1,
        event: event.into(),
        class: class.into(),
        sql_id: format!("sql{sid}"),
        ..Active::default()
    }
}

fn latch(gets: u64, misses: u64) -> LatchCount {
    LatchCount { name: "cache buffers chains".into(), gets, misses, ..LatchCount::default() }
}

fn session(sid: u64, blocker: Option<u64>) -> Session {
    Session { sid, serial: 1, blocker, ..Session::default() }
}

#[test]
fn the_first_snapshot_is_only_a_beginning() {
    let mut model = Model::default();
    let mut first = snapshot(0);
    first.latches = vec![latch(1_000_000, 5000)];
    model.push(first);
    assert!(!model.has_ticks());
    assert_eq!(model.window(10.0).latches.len(), 0);
    assert_eq!(model.history().len(), 0);
}

#[test]
fn active_sessions_are_averaged_over_the_probes() {
    let mut model = Model::default();
    model.push(snapshot(0));
    let mut next = snapshot(1);
    let cpu = active(9, "", "CPU");
    let lock = active(10, "enq: TX - row lock contention", "Application");
    let dbw = Active { background: true, ..active(2, "db file parallel write", "System I/O") };
    next.probes = vec![
        Probe { active: vec![cpu.clone(), lock.clone()], holds: vec![] },
        Probe { active: vec![lock.clone(), dbw], holds: vec![] },
        Probe { active: vec![lock.clone()], holds: vec![] },
        Probe { active: vec![cpu, lock], holds: vec![] },
    ];
    model.push(next);
    let load = model.history().next_back().unwrap().load.unwrap();
    assert_eq!(load.users[class_of("CPU")], 0.5);
    assert_eq!(load.users[class_of("Application")], 1.0);
    assert_eq!(load.by_class(false).iter().sum::<f64>(), 1.5);
    assert_eq!(load.by_class(true)[class_of("System I/O")], 0.25);
    let window = model.window(1.0);
    let by_event = window.by(|a| Some(a.event.clone()));
    assert_eq!(by_event[0], ("enq: TX - row lock contention".to_string(), 4));
}

#[test]
fn a_window_adds_up_the_last_intervals_and_no_more() {
    let mut model = Model::default();
    for second in 0..=20 {
        let mut s = snapshot(second);
        s.latches = vec![latch(second * 100, if second > 15 { second } else { 15 })];
        model.push(s);
    }
    let w = model.window(5.0);
    assert_eq!((w.seconds, w.latches["cache buffers chains"].gets), (5.0, 500));
    assert_eq!(w.rate(500), 100.0);
    assert_eq!(model.window(1000.0).seconds, 20.0);
    assert_eq!(model.window(0.0).seconds, 1.0, "one interval at least");
}

#[test]
fn counters_beyond_32_bits_and_counters_that_begin_again() {
    let mut model = Model::default();
    let mut s = snapshot(0);
    s.latches = vec![latch((1 << 33) - 5, 0)];
    model.push(s);
    let mut s = snapshot(1);
    s.latches = vec![latch((1 << 33) + 5, 0)];
    model.push(s);
    assert_eq!(model.window(1.0).latches["cache buffers chains"].gets, 10);
    // Another instance answers: no difference between the two is shown.
    let mut s = snapshot(2);
    s.facts.started = "2026-01-02 00:00:00".into();
    s.latches = vec![latch(3, 0)];
    model.push(s);
    assert!(!model.has_ticks());
    assert_eq!(model.history().len(), 1, "the chart goes on");
}

#[test]
fn memory_is_bounded_in_time_and_in_entries() {
    let mut model = Model::default();
    for second in 0..5000 {
        let mut s = snapshot(second);
        s.texts = vec![(format!("id{second}"), "select".into())];
        let crowd = |sid| active(sid + second * 1000, "latch free", "Other");
        // The last minutes have more entries than are kept.
        let crowded = if second >= 4700 { 400 } else { 0 };
        s.probes = vec![Probe { active: (0..crowded).map(crowd).collect(), holds: vec![] }];
        model.push(s);
    }
    assert_eq!(model.history().len(), 3600);
    let w = model.window(1e9);
    assert!(w.activity.len() <= 100_000 && w.activity.len() > 90_000, "{}", w.activity.len());
    assert_eq!((model.text("id0"), model.text("id4999")), ("", "select"));
}

#[test]
fn a_statement_counts_from_where_it_was_last_seen() {
    let statement = |executions, elapsed_us| StatementCount {
        sql_id: "a".into(),
        executions,
        elapsed_us,
        ..StatementCount::default()
    };
    let mut model = Model::default();
    model.push(snapshot(0));
    let mut push = |second, found: Option<StatementCount>| {
        let mut s = snapshot(second);
        s.statements = found.into_iter().collect();
        model.push(s);
        model.window(1.0).statements.get("a").map(|s| (s.executions, s.elapsed_us))
    };
    assert_eq!(push(1, Some(statement(900, 9000))), None, "what it did before nobody looked");
    assert_eq!(push(2, Some(statement(910, 9100))), Some((10, 100)));
    assert_eq!(push(3, None), None);
    assert_eq!(push(4, Some(statement(915, 9150))), Some((5, 50)), "over a reading it was not in");
    assert_eq!(push(5, Some(statement(1, 7))), Some((1, 7)), "aged out and loaded again");
}

#[test]
fn chains_begin_with_sessions_that_do_not_wait() {
    let sessions = [session(12, Some(30)), session(14, Some(12)), session(30, None), session(13, Some(30))];
    let chain: Vec<(u64, usize, usize)> =
        blocker_chains(&sessions).iter().map(|l| (l.sid, l.depth, l.behind)).collect();
    assert_eq!(chain, [(30, 0, 3), (12, 1, 1), (14, 2, 0), (13, 1, 0)]);
}

#[test]
fn a_cycle_of_waiters_is_listed_once() {
    let sessions = [session(1, Some(2)), session(2, Some(1)), session(3, Some(1))];
    let chain: Vec<(u64, usize)> = blocker_chains(&sessions).iter().map(|l| (l.sid, l.depth)).collect();
    assert_eq!(chain, [(1, 0), (2, 1), (3, 1)]);
    // A blocker whose session is gone is listed by its number.
    let chain = blocker_chains(&[session(5, Some(77))]);
    assert_eq!((chain[0].sid, chain[1].sid), (77, 5));
}

#[test]
fn a_hole_in_the_chart_where_the_instance_was_away() {
    let mut model = Model::default();
    model.push(snapshot(0));
    model.push(snapshot(1));
    model.away(1_700_000_004_000);
    let last = model.history().next_back().unwrap();
    assert_eq!((last.load, last.seconds), (None, 3.0));
}

#[test]
fn details_are_compared_with_their_first_reading() {
    let wanted = Wanted::Latch("cache buffers chains".into());
    let child = |gets, address: &str| ChildCount { child: 1, address: address.into(), gets, ..ChildCount::default() };
    let mut model = Model::default();
    for (second, gets) in [(0, 100), (1, 150), (2, 400)] {
        let mut s = snapshot(second);
        let children = vec![child(gets, "A"), child(9, if second == 0 { "B" } else { "C" })];
        s.details = vec![Detail { wanted: wanted.clone(), found: Found::Latch { children, places: vec![] } }];
        model.push(s);
    }
    let kept = model.detail(&wanted).unwrap();
    assert_eq!(kept.seconds(), 2.0);
    let (Found::Latch { children: first, .. }, Found::Latch { children: last, .. }) = (&kept.first, &kept.last) else {
        panic!("{kept:?}");
    };
    let since = children_since(first, last);
    assert_eq!((since[0].gets, since[1].gets), (300, 0), "one that came later has nothing to compare with");
    // No viewer wants the detail any more.
    model.push(snapshot(40));
    assert!(model.detail(&wanted).is_none());
}

#[test]
fn columns_of_the_chart_do_not_change_while_points_are_added() {
    let mut model = Model::default();
    model.push(snapshot(0));
    let mut before = Vec::new();
    for second in 1..=40 {
        let mut s = snapshot(second);
        let busy = vec![active(1, "", "CPU"); second as usize];
        s.probes = vec![Probe { active: busy, holds: vec![] }];
        model.push(s);
        let columns = model.columns(4, 5, false);
        assert!(columns.len() <= 5);
        for column in columns.iter().rev().skip(1) {
            assert!(
                second < 9 || before.is_empty() || before.contains(column) || columns.len() < 3,
                "{second}: {column:?}"
            );
        }
        before.extend(columns);
    }
    let last = model.columns(4, 5, false).pop().unwrap().1.unwrap();
    assert_eq!(last[0], 38.5, "the average of 37, 38, 39 and 40");
}
