//! Machine files and traces: what is read back, and what is refused with which words.

use latch_simulator::trace::{Counted, Header, Latch, TracedGet, Window};
use latch_simulator::{Design, Machine, SHIPPED, Trace};

const MACHINE: &str = "name = \"m\"\nsource = \"s\"\n[shape]\ncores = 4\n[transfer_ns]\ndie = 50\n";

#[test]
fn shipped_machines_are_read_and_written_back() {
    assert!(SHIPPED.len() >= 10);
    for (name, text) in SHIPPED {
        let machine = Machine::parse(text).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(Machine::parse(&machine.to_text()).unwrap(), machine, "{name}");
        assert!(!machine.source.is_empty(), "{name} states its source");
        // A machine of the literature has the distances that its shape has, but for what its file says is unknown.
        let unknown = machine.distances(machine.cpus()).into_iter().filter(|d| machine.transfer(*d).is_none()).count();
        let expected = match *name {
            "this-machine" | "power7" => 1,
            _ => 0,
        };
        assert_eq!(unknown, expected, "{name}");
    }
}

#[test]
fn a_malformed_machine_file_is_refused_with_its_line() {
    for (wrong, says) in [
        ("", "name is missing"),
        ("name = \"m\"", "source is missing"),
        ("name = \"m\"\nsource = \"s\"", "shape.cores is missing"),
        ("name = \"m\nsource = \"s\"", "line 1: name: the text does not end in a quote"),
        ("name = m", "line 1: name: 'm' is no number"),
        ("[shape", "line 1: a section is [name]"),
        ("cores 4", "line 1: expected key = value"),
        (&format!("{MACHINE}die = 3"), "line 7: transfer_ns.die is given already in line 6"),
        (&format!("{MACHINE}far = 3"), "line 7: transfer_ns.far is not known"),
        (&format!("{MACHINE}smt = -3"), "line 7: transfer_ns.smt = -3: expected 0 to"),
        (&format!("{MACHINE}smt = 1e99"), "expected 0 to"),
        (&format!("{MACHINE}smt = inf"), "'inf' is no number"),
        (&format!("{MACHINE}smt = [1]"), "line 7: transfer_ns.smt: expected a number"),
        (&format!("{MACHINE}[processor]\nturbo = []"), "line 8: processor.turbo: the list is empty"),
        (&format!("{MACHINE}[processor]\nturbo = [1, 0]"), "line 8: processor.turbo: 0 is not in"),
        (&format!("{MACHINE}[processor]\nturbo = [1"), "the list does not end in ]"),
        (&format!("{MACHINE}[processor]\nturbo = 1"), "expected a list of numbers"),
        (&MACHINE.replace("cores = 4", "cores = 1.5"), "expected a whole number"),
        (&MACHINE.replace("cores = 4", "cores = 0"), "expected 1 to 1024"),
        (&MACHINE.replace("cores = 4", "cores = 1024\nthreads = 16"), "16384 processors; at most 4096"),
        (&format!("{MACHINE}{}", "#\n".repeat(10_001)), "more than 10000 lines"),
    ] {
        let error = Machine::parse(wrong).unwrap_err().to_string();
        assert!(error.contains(says), "{error}\nis not\n{says}");
    }
}

#[test]
fn processors_are_used_cores_first_and_their_distances_follow_the_shape() {
    use latch_simulator::Distance::{Die, Other, Own, Smt, Socket};
    let text = "name = \"m\"\nsource = \"s\"\n[shape]\nsockets = 2\ndies = 2\ncores = 3\nthreads = 2\n";
    let machine = Machine::parse(text).unwrap();
    assert_eq!(machine.cpus(), 24);
    let from_first: Vec<_> = (0..24).map(|b| machine.distance(0, b)).collect();
    let (die, socket, other) = ([Own, Die, Die], [Socket; 3], [Other; 6]);
    assert_eq!(from_first[..12], [&die[..], &socket, &other].concat());
    assert_eq!(from_first[12..], [&[Smt, Die, Die][..], &socket, &other].concat());
    assert_eq!(machine.distances(3), [Die]);
    assert_eq!(machine.distances(7), [Die, Socket, Other]);
    assert_eq!(machine.distances(24), [Smt, Die, Socket, Other]);
}

/// A trace of that many calls with two gets each.
pub fn trace(calls: u32) -> Trace {
    let latch = |name: &str, design: &str| Latch {
        design: Design::named(design).unwrap(),
        design_name: design.into(),
        name: name.into(),
    };
    let header = Header {
        name: "a test".into(),
        sessions: 2,
        call_ns: Some(3_000.0),
        overhead_ns: (20.0, 10.0),
        transfer_ns: Some(50.0),
        own_ns: Some(4.0),
        cpus: Some(4),
        beyond: 0.01,
        latches: vec![latch("Result Cache: RC Latch", "exclusive"), latch("row cache objects", "mutex-2")],
        counted: vec![
            Counted { sessions: 1, rate: 330_000.0, miss_rate: 0.0, sleep_rate: 0.0, cpu_ns: 3_000.0 },
            Counted { sessions: 2, rate: 640_000.0, miss_rate: 0.05, sleep_rate: 0.001, cpu_ns: 3_100.0 },
        ],
        windows: vec![Window {
            sessions: 1,
            calls: calls.into(),
            missing: 2,
            recorded_ns: 2_900.0,
            counted_ns: 3_000.5,
            stamps_ns: 60.0,
            miss_rate: 0.0,
        }],
    };
    let mut trace = Trace { header, ..Trace::default() };
    for n in 0..calls {
        trace.first.push(trace.gets.len() as u32);
        trace.tails_ns.push(f64::from(200 + n % 7));
        for latch in 0..2 {
            let other = [Some(true), Some(false), None][n as usize % 3];
            let hold_ns = f64::from(110 + n % 5) + if other == Some(true) { 100.0 } else { 0.0 };
            let gap_ns = f64::from(250 + n * 7_919 % 1_501) + 0.5;
            trace.gets.push(TracedGet { latch, place: 7 + latch, write: n % 10 == 0, gap_ns, hold_ns, other });
        }
    }
    trace
}

#[test]
fn a_trace_is_read_back_as_it_was_written() {
    let trace = trace(100);
    assert_eq!(Trace::parse(&trace.to_text()).unwrap(), trace);
    let again = Trace::parse(&trace.to_text().replace("\ncall ", "\n\n# a comment\ncall ")).unwrap();
    assert_eq!(again, trace);
}

#[test]
fn a_malformed_trace_is_refused_with_its_line() {
    let good = trace(2).to_text();
    for (wrong, says) in [
        (String::new(), "the trace is empty"),
        ("latch-trace 2".into(), "line 1: 'latch-trace 2' is not 'latch-trace 1'"),
        ("latch-trace 1".into(), "no call"),
        (good.replace("calls 2", "calls 3"), "the header states 3 calls and 4 gets; the trace has 2 and 4"),
        (good.replace("gets 4", "gets 5"), "states 2 calls and 5 gets"),
        (good.replace("calls 2", "calls 99999999999"), "is not in 1 to 50000000"),
        (good.replace("calls 2", "calls -1"), "'-1' is no whole number"),
        (good.replace("calls 2\n", ""), "no 'calls' or no 'gets' before the first call"),
        (good.replace("sessions 2", ""), "'sessions' is missing"),
        (good.replace("sessions 2", "sessions 0"), "0 is not in 1 to"),
        (good.replace("latch 1 mutex-2 row cache objects", ""), "a get of latch 1; the header declares 1"),
        (good.replace("latch 1 mutex-2", "latch 1 queue"), "there is no design 'queue'"),
        (good.replace("latch 1 mutex-2", "latch 7 mutex-2"), "the next number is 1"),
        (good.replace("get 0 7 w 250.5", "get 0 7 w -1"), "a time of -1 ns"),
        (good.replace("get 0 7 w 250.5", "get 0 7 w nan"), "'nan' is no number"),
        (good.replace("get 0 7 w 250.5", "get 0 7 w 1e11"), "expected 0 to 10000000000"),
        (good.replace("get 0 7 w", "get 0 7 x"), "mode 'x' is neither r nor w"),
        (good.replace("get 0 7 w", "get 0 x w"), "'x' is no place number"),
        (good.replace("get 0 7 w", "get -1 7 w"), "'-1' is no latch number"),
        (good.replace("210 other", "210"), "a get is: latch, place, r or w, gap, hold, same, other or unknown"),
        (good.replace("210 other", "210 mine"), "'mine' is none of same, other, unknown"),
        (good.replace("name a test", "nom a test"), "line 2: 'nom a test' is not understood"),
        (good.replace("counted 1 330000", "counted 1 -330000"), "a rate above zero"),
        (good.replace("window 1 2 2 2900", "window 1 2 2 0"), "window: times above zero"),
        (good.replace("beyond 0.01", "beyond 1.01"), "beyond: a share of 1.01"),
        (good.replace("cpus 4", "cpus 0"), "0 is not in 1 to"),
        (good.replace("window 1 2 2", "window 1 2 -2"), "'-2' is no whole number"),
        (good.replace("call 200", "call"), "'' is no number"),
        (good.replace("call 200\n", ""), "a get before the first call"),
    ] {
        assert_ne!(wrong, good, "the text that should be replaced for '{says}' is not there");
        let error = Trace::parse(&wrong).unwrap_err().to_string();
        assert!(error.contains(says), "{error}\nis not\n{says}");
    }
    let idle = "latch-trace 1\nsessions 1\ncalls 1\ngets 1\nlatch 0 exclusive a\ncall 0\nget 0 0 r 0 0 same\n";
    assert!(Trace::parse(idle).unwrap_err().to_string().contains("a call takes no time"));
}

/// Calls of one session with gaps of 100 ns, and after them calls of two sessions, whose gaps have moves of the word in
/// them, and whose holds have those of the data.
#[test]
fn a_workload_has_the_calls_of_one_session_alone_where_there_are_any() {
    let mut text = String::from("latch-trace 1\nsessions 1\ntransfer_ns 50\nlatch 0 exclusive a\n");
    text.push_str("window 1 40 0 150 150 0 0\nwindow 2 40 0 350 350 0 0.2\ncalls 80\ngets 80\n");
    (0..40).for_each(|_| text.push_str("call 10\nget 0 1 w 100 40 same\n"));
    (0..40).for_each(|_| text.push_str("call 10\nget 0 1 w 200 140 other\n"));
    let trace = Trace::parse(&text).unwrap();
    assert_eq!((trace.alone(), trace.hold_steps_ns()), (40, vec![Some(100.0)]));
    let workload = trace.workload();
    assert_eq!(
        (workload.means().gap_ns, workload.means().latches[0].hold_ns, workload.blocks()),
        (110.0, 40.0, Some(5))
    );
    assert_eq!(workload.scaling().unwrap().lines, 2.0, "moves of the data come from the calls of two sessions");
    // Windows that are not those of the calls tell nothing.
    let other = Trace::parse(&text.replace("window 2 40", "window 2 39")).unwrap();
    assert_eq!((other.alone(), other.workload().means().gap_ns), (0, 160.0));
}

#[test]
fn a_workload_is_without_stamps_and_moves_and_takes_the_counted_time() {
    let trace = trace(3_000);
    let steps = trace.hold_steps_ns();
    assert!(steps.iter().all(|step| (step.unwrap() - 100.0).abs() < 0.2), "{steps:?}");
    let means = trace.workload().means();
    // Two gets with two operations of 4 ns each are left to the simulation.
    assert!((means.call_ns() / 2_984.0 - 1.0).abs() < 1e-3, "{means:?}");
    // 110 to 114 less 10 for the stamps, and the move of two lines taken out.
    assert!(
        means.latches.iter().all(|of| (of.hold_ns - 102.0).abs() < 0.3 && (of.gets - 1.0).abs() < 1e-9),
        "{means:?}"
    );
    assert!(means.latches.iter().all(|of| (of.writes - 0.1).abs() < 1e-9));
}

#[cfg(feature = "parquet")]
mod parquet {
    use super::trace;
    use latch_simulator::parquet::{Table, Values, read_table, read_trace, write_table, write_trace};

    #[test]
    fn a_trace_is_read_back_from_parquet() {
        for calls in [1, 2, 9, 5_000] {
            let trace = trace(calls);
            assert_eq!(read_trace(&write_trace(&trace)).unwrap(), trace);
        }
    }

    fn table() -> Table {
        let ints = (0..100).map(|n| (n % 3 > 0).then_some(n << 40)).collect();
        let reals = (0..100).map(|n| (n < 50).then_some(f64::from(n) / 7.0)).collect();
        let texts = (0..100).map(|n| Some(format!("text {n}"))).collect();
        let columns = vec![
            ("i".to_owned(), Values::Int(ints)),
            ("r".to_owned(), Values::Real(reals)),
            ("t".to_owned(), Values::Text(texts)),
        ];
        Table { columns, metadata: vec![("key".into(), "value".into())] }
    }

    #[test]
    fn tables_keep_nulls_and_an_empty_one_is_a_file() {
        assert_eq!(read_table(&write_table(&table())).unwrap(), table());
        let empty = Table { columns: vec![("i".into(), Values::Int(Vec::new()))], metadata: Vec::new() };
        assert_eq!(read_table(&write_table(&empty)).unwrap(), empty);
    }

    #[test]
    fn no_damage_of_a_byte_and_no_cut_makes_the_reader_panic() {
        let good = write_trace(&trace(3));
        for len in 0..good.len() {
            assert!(read_trace(&good[..len]).is_err(), "cut at {len}");
        }
        let mut refused = 0;
        for at in 0..good.len() {
            for by in [1, 0x7f, 0x80, 0xff] {
                let mut bad = good.clone();
                bad[at] ^= by;
                refused += u32::from(read_trace(&bad).is_err());
            }
        }
        assert!(refused > good.len() as u32, "{refused} of {}", 4 * good.len());
    }

    #[test]
    fn a_file_that_is_no_trace_says_why() {
        let says = |bytes: &[u8], what: &str| {
            let error = read_trace(bytes).unwrap_err().to_string();
            assert!(error.contains(what), "{error}\nis not\n{what}");
        };
        says(b"hello", "is no Parquet");
        says(&write_table(&table()), "have no 'latch_simulator.header'");
        let mut file = read_table(&write_trace(&trace(2))).unwrap();
        file.columns.retain(|(name, _)| name != "hold_ns");
        says(&write_table(&file), "there is no column 'hold_ns'");
        let mut file = read_table(&write_trace(&trace(2))).unwrap();
        for (name, values) in &mut file.columns {
            match values {
                Values::Int(v) if name == "call" => v[4] = Some(7),
                _ => {}
            }
        }
        says(&write_table(&file), "row 4: call Some(7); expected 1");
        let mut file = read_table(&write_trace(&trace(2))).unwrap();
        for (_, values) in &mut file.columns {
            match values {
                Values::Int(v) => v.truncate(5),
                Values::Real(v) => v.truncate(5),
                Values::Text(v) => v.truncate(5),
            }
        }
        says(&write_table(&file), "the last call has no end");
    }
}
