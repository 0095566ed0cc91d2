//! Records of latch gets, as the instance gives them, made into the calls of a trace.

use std::collections::BTreeMap;

use latch_simulator::trace::{Header, Latch, TracedGet};
use latch_simulator::{Design, Trace};

/// The most latches of a trace; children beyond share the last ones.
const LATCHES_MAX: usize = 4_000;
/// A hold or a gap that is longer than this many times the median of its kind was interrupted by the scheduler.
const INTERRUPTED: f64 = 50.0;
/// Shorter times were not interrupted.
const INTERRUPTED_NS: f64 = 20_000.0;

/// The kind of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Call,
    Get,
    End,
}

/// A latch or a mutex: name, and child or number of the mutex.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Object {
    pub name: String,
    pub number: u64,
    pub is_mutex: bool,
}

/// The manner of a get, as far as designs differ in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    Exclusive,
    Shared,
    /// A versioned read: no hold.
    Read,
}

/// A record.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    pub sid: u64,
    pub kind: Kind,
    pub object: Object,
    pub place: u16,
    pub manner: Manner,
    /// The get changes what the latch protects.
    pub changes: bool,
    pub begin_ns: f64,
    pub length_ns: f64,
    pub spun: bool,
    pub slept: bool,
    pub other: bool,
}

/// A sampled call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Call {
    /// Gets in the order of their begins.
    pub gets: Vec<Got>,
    pub tail_ns: f64,
}

/// A get of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Got {
    pub object: Object,
    pub place: u16,
    pub manner: Manner,
    pub changes: bool,
    pub gap_ns: f64,
    pub hold_ns: f64,
    pub other: bool,
}

/// The whole calls among the records of one or more sessions. A call without an end is skipped: its session was killed,
/// its ring was full, or the recording ended in it.
pub fn calls(records: &[Record]) -> Vec<Call> {
    let mut out = Vec::new();
    let mut open: BTreeMap<u64, Vec<&Record>> = BTreeMap::new();
    for record in records {
        match record.kind {
            Kind::Call => {
                open.insert(record.sid, Vec::new());
            }
            Kind::Get => {
                open.entry(record.sid).and_modify(|gets| gets.push(record));
            }
            Kind::End => out.extend(open.remove(&record.sid).map(|gets| call(gets, record.length_ns))),
        }
    }
    out
}

/// A trace has no hold within a hold: the outer one ends where the inner begins, and the time after the inner one is
/// added to it. The sums of holds and gaps stay those of the call.
fn call(mut gets: Vec<&Record>, length_ns: f64) -> Call {
    gets.sort_by(|a, b| a.begin_ns.total_cmp(&b.begin_ns));
    let mut out = Call::default();
    let mut ends: Vec<(usize, f64)> = Vec::new();
    let mut now = 0.0f64;
    for get in gets {
        let end = get.begin_ns + get.length_ns;
        while ends.last().is_some_and(|(_, end)| *end <= get.begin_ns) {
            ends.pop();
        }
        for (outer, outer_end) in &ends {
            let within = (end.min(*outer_end) - get.begin_ns).max(0.0);
            // Only the innermost hold around this one still has this time.
            if ends.last().map(|(at, _)| at) == Some(outer) {
                let hold: &mut f64 = &mut out.gets[*outer].hold_ns;
                *hold = (*hold - within).max(0.0);
            }
        }
        out.gets.push(Got {
            object: get.object.clone(),
            place: get.place,
            manner: get.manner,
            changes: get.changes,
            gap_ns: if ends.is_empty() { (get.begin_ns - now).max(0.0) } else { 0.0 },
            hold_ns: get.length_ns,
            other: get.other,
        });
        ends.push((out.gets.len() - 1, end));
        now = now.max(end);
    }
    out.tail_ns = (length_ns - now).max(0.0);
    out
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(0.0)
}

/// Replaces times that the scheduler has interrupted by the median of their kind; returns how many. The simulator has a
/// scheduler of its own.
fn mend(times: &mut [(usize, &mut f64)]) -> usize {
    let mut kinds: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    times.iter().for_each(|(kind, time)| kinds.entry(*kind).or_default().push(**time));
    let medians: BTreeMap<usize, f64> = kinds.into_iter().map(|(kind, times)| (kind, median(times))).collect();
    let mut mended = 0;
    for (kind, time) in times {
        if **time > INTERRUPTED_NS.max(INTERRUPTED * medians[&*kind]) {
            **time = medians[&*kind];
            mended += 1;
        }
    }
    mended
}

/// The parameters of the instance that tell the design of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// `_mutex_wait_scheme`.
    pub mutex_scheme: u32,
    /// Latches sleep by the clock.
    pub back_off: bool,
}

/// The calls as a trace; `header` gets the latches. Returns the number of times that were interrupted, too.
///
/// # Errors
/// A design that the simulator does not know.
pub fn trace(mut header: Header, mut calls: Vec<Call>, waiting: Waiting) -> Result<(Trace, usize), String> {
    let mut objects: BTreeMap<Object, (usize, [bool; 3])> = BTreeMap::new();
    for get in calls.iter().flat_map(|call| &call.gets) {
        let next = objects.len().min(LATCHES_MAX - 1);
        let (_, manners) = objects.entry(get.object.clone()).or_insert((next, [false; 3]));
        manners[get.manner as usize] = true;
    }
    let latches = objects.values().map(|(at, _)| at + 1).max().unwrap_or(0);
    header.latches =
        vec![Latch { design: Design::EXCLUSIVE, design_name: String::new(), name: String::new() }; latches];
    for (object, (at, [_, shared, read])) in &objects {
        let design_name = match () {
            () if object.is_mutex => format!("mutex-{}", waiting.mutex_scheme),
            () if *read => "versioned".into(),
            () if *shared => "shared".into(),
            () if waiting.back_off => "latch-8i".into(),
            () => "exclusive".into(),
        };
        let design = Design::named(&design_name).map_err(|e| e.to_string())?;
        let name = match (object.is_mutex, object.number) {
            (true, n) => format!("{} {n:06x}", object.name),
            (false, 0) => object.name.clone(),
            (false, child) => format!("{} {child}", object.name),
        };
        header.latches[*at] = Latch { design, design_name, name };
    }
    let index = |object: &Object| objects[object].0;
    let mut holds: Vec<(usize, &mut f64)> = Vec::new();
    let mut gaps: Vec<(usize, &mut f64)> = Vec::new();
    for call in &mut calls {
        for get in &mut call.gets {
            holds.push((index(&get.object), &mut get.hold_ns));
            gaps.push((get.place.into(), &mut get.gap_ns));
        }
        gaps.push((usize::from(u16::MAX) + 1, &mut call.tail_ns));
    }
    let interrupted = mend(&mut holds) + mend(&mut gaps);
    let mut trace = Trace { header, ..Trace::default() };
    for call in calls {
        // A call of no time is an instance that answers faster than its clock.
        let is_empty = call.tail_ns < 1.0 && call.gets.iter().all(|get| get.gap_ns + get.hold_ns < 1.0);
        trace.first.push(trace.gets.len() as u32);
        trace.tails_ns.push(if is_empty { 1.0 } else { call.tail_ns });
        for get in call.gets {
            let latch = index(&get.object);
            // Where gets are shared, an exclusive one is a change.
            let writes = match trace.header.latches[latch].design {
                Design::Shared { .. } | Design::Versioned { .. } => get.manner == Manner::Exclusive,
                _ => get.changes,
            };
            trace.gets.push(TracedGet {
                latch: latch as u16,
                place: get.place,
                write: writes,
                gap_ns: get.gap_ns,
                hold_ns: get.hold_ns,
                other: get.other,
            });
        }
    }
    Ok((trace, interrupted))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(sid: u64, kind: Kind, begin_ns: f64, length_ns: f64) -> Record {
        Record {
            sid,
            kind,
            object: Object { name: "RC Latch".into(), number: 0, is_mutex: false },
            place: 3,
            manner: Manner::Exclusive,
            changes: false,
            begin_ns,
            length_ns,
            spun: false,
            slept: false,
            other: false,
        }
    }

    #[test]
    fn calls_of_several_sessions_are_told_apart_and_those_without_an_end_are_skipped() {
        use Kind::{Call, End, Get};
        let records = [
            record(1, Get, 5.0, 1.0), // of a call that began before the ring did
            record(1, Call, 0.0, 0.0),
            record(2, Call, 0.0, 0.0),
            record(1, Get, 10.0, 5.0),
            record(2, Get, 7.0, 2.0),
            record(1, End, 0.0, 100.0),
            record(2, Call, 0.0, 0.0), // the session was killed in its call; the next one has its slot
            record(2, End, 0.0, 50.0),
            record(1, Call, 0.0, 0.0),
        ];
        let calls = calls(&records);
        assert_eq!(calls.len(), 2);
        assert_eq!((calls[0].gets.len(), calls[0].gets[0].gap_ns, calls[0].tail_ns), (1, 10.0, 85.0));
        assert_eq!((calls[1].gets.len(), calls[1].tail_ns), (0, 50.0));
    }

    #[test]
    fn a_hold_within_a_hold_is_counted_once() {
        use Kind::{Call, End, Get};
        let records = [
            record(1, Call, 0.0, 0.0),
            record(1, Get, 20.0, 10.0), // the innermost ends first
            record(1, Get, 15.0, 30.0),
            record(1, Get, 10.0, 50.0),
            record(1, Get, 70.0, 5.0),
            record(1, End, 0.0, 100.0),
        ];
        let call = &calls(&records)[0];
        let times: Vec<(f64, f64)> = call.gets.iter().map(|get| (get.gap_ns, get.hold_ns)).collect();
        assert_eq!(times, [(10.0, 20.0), (0.0, 20.0), (0.0, 10.0), (10.0, 5.0)]);
        assert_eq!(call.tail_ns, 25.0);
        let sum: f64 = times.iter().map(|(gap, hold)| gap + hold).sum();
        assert_eq!(sum + call.tail_ns, 100.0);
    }

    #[test]
    fn designs_follow_the_manner_of_the_gets() {
        let of = |name: &str, number, is_mutex, manner| Got {
            object: Object { name: name.into(), number, is_mutex },
            place: 1,
            manner,
            changes: false,
            gap_ns: 100.0,
            hold_ns: 40.0,
            other: false,
        };
        let gets = vec![
            of("a", 0, false, Manner::Exclusive),
            of("b", 2, false, Manner::Exclusive),
            of("b", 2, false, Manner::Shared),
            of("c", 0, false, Manner::Read),
            of("d", 255, true, Manner::Exclusive),
        ];
        let header = Header { sessions: 1, ..Header::default() };
        let calls = vec![Call { gets, tail_ns: 10.0 }, Call { gets: Vec::new(), tail_ns: 0.0 }];
        let names = |waiting| {
            let (trace, _) = trace(header.clone(), calls.clone(), waiting).unwrap();
            assert!(Trace::parse(&trace.to_text()).is_ok());
            let mut of: Vec<_> = trace.header.latches.iter().map(|l| (l.name.clone(), l.design_name.clone())).collect();
            of.sort();
            (of, trace.gets.iter().map(|get| get.write).collect::<Vec<_>>())
        };
        let (latches, writes) = names(Waiting { mutex_scheme: 2, back_off: false });
        let pair = |name: &str, design: &str| (name.to_owned(), design.to_owned());
        let expected =
            [pair("a", "exclusive"), pair("b 2", "shared"), pair("c", "versioned"), pair("d 0000ff", "mutex-2")];
        assert_eq!(latches, expected);
        assert_eq!(writes, [false, true, false, false, false]);
        let (latches, _) = names(Waiting { mutex_scheme: 0, back_off: true });
        assert_eq!(latches[0], pair("a", "latch-8i"));
        assert_eq!(latches[3], pair("d 0000ff", "mutex-0"));
    }

    #[test]
    fn an_interrupted_time_gives_way_to_the_median() {
        let mut times = vec![100.0; 9];
        times.push(3e6);
        let mut kinds: Vec<(usize, &mut f64)> = times.iter_mut().map(|time| (1, time)).collect();
        assert_eq!(mend(&mut kinds), 1);
        assert_eq!(times, [100.0; 10]);
        let mut long = [3e6; 3];
        let mut kinds: Vec<(usize, &mut f64)> = long.iter_mut().map(|time| (1, time)).collect();
        assert_eq!(mend(&mut kinds), 0, "scans that all take milliseconds were not interrupted");
    }
}
