//! Records of latch gets, as the instance gives them, made into the calls of a trace.
//!
//! Three things are taken out of the recorded times, each by what is known of it and none by the size of a time: holds
//! within holds, the time in which the scheduler ran another process, and the stamps.

use std::collections::BTreeMap;

use latch_simulator::trace::{Header, LATCHES_MAX, Latch, TracedGet};
use latch_simulator::{Design, Trace};

use super::stamps::Overhead;

/// Stamps may be longer than the times that they are taken from, by this share of all times.
const LEFT_IN_MOST: f64 = 0.05;
/// By this share where their sum is fitted to the counted time of a call: then they are only at the wrong places.
const LEFT_IN_MOST_OF_FITTED: f64 = 0.15;
/// Stamps in calls cost at most so many times as much as measured, and at least one part in so many. What is beyond
/// this is no cost of stamps: the recorded calls are not those that were counted.
const STAMPS_MOST: f64 = 1.5;

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
    /// A versioned read.
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
    /// A versioned read or a reference: no hold, and one stamp.
    pub is_touch: bool,
    /// Whether another session was the last holder, where it is known.
    pub other: Option<bool>,
    /// Of the end of a call: how often the scheduler ran another process in it.
    pub preempted: u64,
}

/// A sampled call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Call {
    /// Gets in the order of their begins.
    pub gets: Vec<Got>,
    pub tail_ns: f64,
    pub preempted: u64,
}

impl Call {
    /// Nanoseconds of the stamps of this call.
    pub fn stamps_ns(&self, of: &Overhead) -> f64 {
        let get = |get: &Got| if get.is_touch { of.touch_ns } else { of.gap_ns + of.hold_ns };
        of.call_ns + self.gets.iter().map(get).sum::<f64>()
    }
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
    pub is_touch: bool,
    /// The get of the same call in whose hold this one began.
    pub within: Option<usize>,
    pub other: Option<bool>,
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
            Kind::End => out.extend(open.remove(&record.sid).map(|gets| call(gets, record))),
        }
    }
    out
}

/// A trace has no hold within a hold: the outer one ends where the inner begins, and the time after the inner one is
/// added to it. The sums of holds and gaps stay those of the call.
fn call(mut gets: Vec<&Record>, end: &Record) -> Call {
    gets.sort_by(|a, b| a.begin_ns.total_cmp(&b.begin_ns));
    let mut out = Call { preempted: end.preempted, ..Call::default() };
    let mut ends: Vec<(usize, f64)> = Vec::new();
    let mut now = 0.0f64;
    for get in gets {
        let end = get.begin_ns + get.length_ns;
        while ends.last().is_some_and(|(_, end)| *end <= get.begin_ns) {
            ends.pop();
        }
        // Only the innermost hold around this one still has this time.
        let within = ends.last().map(|(outer, outer_end)| {
            out.gets[*outer].hold_ns -= end.min(*outer_end) - get.begin_ns;
            *outer
        });
        out.gets.push(Got {
            object: get.object.clone(),
            place: get.place,
            manner: get.manner,
            changes: get.changes,
            gap_ns: if within.is_none() { get.begin_ns - now } else { 0.0 },
            hold_ns: get.length_ns,
            is_touch: get.is_touch,
            within,
            other: get.other,
        });
        ends.push((out.gets.len() - 1, end));
        now = now.max(end);
    }
    out.tail_ns = end.length_ns - now;
    out
}

/// Kinds of times: before a get at a place, of a hold of an object, after the last hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Time {
    Gap(u16),
    Hold(usize),
    Tail,
}

/// Calls whose objects have numbers.
struct Calls<'c> {
    calls: &'c mut [Call],
    numbers: &'c BTreeMap<Object, usize>,
}

impl Calls<'_> {
    /// The times of a call by kind. The gap of a get within a hold is no time: it is in that hold.
    fn times<'t>(call: &'t mut Call, numbers: &BTreeMap<Object, usize>) -> Vec<(Time, &'t mut f64)> {
        let mut out = Vec::with_capacity(call.gets.len() * 2 + 1);
        for get in &mut call.gets {
            if get.within.is_none() {
                out.push((Time::Gap(get.place), &mut get.gap_ns));
            }
            out.push((Time::Hold(numbers[&get.object]), &mut get.hold_ns));
        }
        out.push((Time::Tail, &mut call.tail_ns));
        out
    }

    /// Replaces the times in which the scheduler ran another process: in a call that it interrupted once, the longest
    /// one, by the mean of the same time in calls that have gets at the same places and were not interrupted. The
    /// simulator has a scheduler of its own. Returns the times replaced, and those that stay because every such call
    /// was interrupted.
    ///
    /// To leave these calls out was rejected: a long call is interrupted more often, and the others would be too short.
    /// So was the mean over all calls, which is that of short ones. A call that was interrupted more than once has
    /// worked for a time slice in between, and a time that is longer than a switch can explain is work: both stay.
    fn mend(&mut self, switch_ns: f64) -> (usize, usize) {
        let places = |call: &Call| call.gets.iter().map(|get| get.place).collect::<Vec<u16>>();
        let mut means: BTreeMap<Vec<u16>, Vec<(f64, f64)>> = BTreeMap::new();
        for call in self.calls.iter_mut().filter(|call| call.preempted == 0) {
            let of_call = means.entry(places(call)).or_default();
            let times = Self::times(call, self.numbers);
            of_call.resize(of_call.len().max(times.len()), (0.0, 0.0));
            for (of, (_, time)) in of_call.iter_mut().zip(times) {
                *of = (of.0 + *time, of.1 + 1.0);
            }
        }
        let (mut mended, mut left) = (0, 0);
        for call in self.calls.iter_mut().filter(|call| call.preempted > 0) {
            let of_call = means.get(&places(call)).filter(|_| call.preempted == 1);
            let mut times: Vec<(usize, &mut f64)> =
                Self::times(call, self.numbers).into_iter().map(|(_, time)| time).enumerate().collect();
            times.sort_by(|a, b| b.1.total_cmp(a.1));
            for (at, time) in times.into_iter().take(1) {
                match of_call.and_then(|means| means.get(at)).map(|(sum, count)| sum / count) {
                    Some(mean) if *time > mean + switch_ns => left += 1,
                    Some(mean) if mean < *time => (*time, mended) = (mean, mended + 1),
                    // A time below the mean was hardly interrupted.
                    Some(_) => {}
                    None => left += 1,
                }
            }
        }
        (mended, left)
    }

    /// The factor on the stamps with which the mean of the calls is the time of a call that was counted without a
    /// recording: a stamp costs more or less beside the work of these calls than beside that of the measurement.
    fn stamps_factor(&self, of: &Overhead, counted_ns: f64) -> f64 {
        let (mut recorded, mut stamps) = (0.0, 0.0);
        for call in self.calls.iter() {
            recorded += call.tail_ns + call.gets.iter().map(|get| get.gap_ns + get.hold_ns).sum::<f64>();
            stamps += call.stamps_ns(of);
        }
        let factor = (recorded - counted_ns * self.calls.len() as f64) / stamps.max(1.0);
        factor.clamp(1.0 / STAMPS_MOST, STAMPS_MOST)
    }

    /// Takes the stamps out of the times. What a stamp is longer than its time is taken from the next time of the same
    /// kind, so that the means are right where times are as short as the step of the clock. Returns what is left of it
    /// at the end, as a share of all times.
    fn settle(&mut self, of: &Overhead) -> f64 {
        let (mut owed, mut sum): (BTreeMap<Time, f64>, f64) = (BTreeMap::new(), 0.0);
        for call in self.calls.iter_mut() {
            call.tail_ns -= of.call_ns;
            for at in 0..call.gets.len() {
                let get = &mut call.gets[at];
                let before = if get.is_touch { of.touch_ns } else { of.gap_ns };
                get.hold_ns -= if get.is_touch { 0.0 } else { of.hold_ns };
                // A get within a hold has its first stamp in that hold.
                match get.within {
                    None => get.gap_ns -= before,
                    Some(outer) => call.gets[outer].hold_ns -= before,
                }
            }
            for (kind, time) in Self::times(call, self.numbers) {
                let owed = owed.entry(kind).or_default();
                let rest = *time - *owed;
                (*time, *owed) = (rest.max(0.0), (-rest).max(0.0));
                sum += *time;
            }
        }
        owed.values().sum::<f64>() / sum.max(1.0)
    }
}

/// The parameters of the instance that tell the design of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// `_mutex_wait_scheme`.
    pub mutex_scheme: u32,
    /// Latches sleep by the clock.
    pub back_off: bool,
}

/// A trace, and how it was made.
#[derive(Debug)]
pub struct Made {
    pub trace: Trace,
    /// Mean time of a call, by part.
    pub means_ns: Vec<f64>,
    /// Times in which the scheduler ran another process: replaced, and left as they were.
    pub mended: usize,
    pub unmended: usize,
    /// Gets of latches beyond those that a trace can have. Their time counts as work without a latch.
    pub beyond: usize,
    /// Calls of no time, of an instance that answers faster than its clock. They have a nanosecond in the trace.
    pub timeless: usize,
    /// The stamps that were taken out.
    pub overhead: Overhead,
}

/// The calls as a trace, part by part; `header` gets the latches. `switch_ns` is the longest time that another process
/// has a processor for when it is taken away once. `alone_ns` is the counted time of a call of the first part, where
/// that is one session: the stamps are scaled to it.
///
/// # Errors
/// A design that the simulator does not know; times that are shorter than the stamps in them.
pub fn trace(
    mut header: Header,
    mut parts: Vec<Vec<Call>>,
    waiting: Waiting,
    (overhead, switch_ns): (&Overhead, f64),
    alone_ns: Option<f64>,
) -> Result<Made, String> {
    let mut found: BTreeMap<Object, (usize, [bool; 3])> = BTreeMap::new();
    for get in parts.iter().flatten().flat_map(|call| &call.gets) {
        let (count, manners) = found.entry(get.object.clone()).or_default();
        *count += 1;
        manners[get.manner as usize] = true;
    }
    // Those with the most gets come first: what is beyond the most latches of a trace is hardly got.
    let mut objects: Vec<(Object, (usize, [bool; 3]))> = found.into_iter().collect();
    objects.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
    let numbers: BTreeMap<Object, usize> =
        objects.iter().zip(0..).map(|((object, _), n)| (object.clone(), n)).collect();
    let (mut mended, mut unmended, mut left_in) = (0, 0, 0.0f64);
    let mut overhead = *overhead;
    for (n, part) in parts.iter_mut().enumerate() {
        let mut calls = Calls { calls: part, numbers: &numbers };
        let (replaced, left) = calls.mend(switch_ns);
        (mended, unmended) = (mended + replaced, unmended + left);
        if let Some(counted_ns) = alone_ns.filter(|_| n == 0) {
            overhead = overhead.times(calls.stamps_factor(&overhead, counted_ns));
        }
        left_in = left_in.max(calls.settle(&overhead));
    }
    let most = if alone_ns.is_some() { LEFT_IN_MOST_OF_FITTED } else { LEFT_IN_MOST };
    if left_in > most {
        return Err(format!(
            "the stamps of a recording take more time than the recording has, by {:.0} % of it; at most {:.0} % makes \
             a trace. Measured were {:.0} ns of a call, {:.0} ns before a get, {:.0} ns in its hold",
            left_in * 100.0,
            most * 100.0,
            overhead.call_ns,
            overhead.gap_ns,
            overhead.hold_ns
        ));
    }
    for (object, (_, manners)) in objects.iter().take(LATCHES_MAX) {
        header.latches.push(latch(object, *manners, waiting)?);
    }
    let mut made = Made {
        trace: Trace { header, ..Trace::default() },
        means_ns: Vec::new(),
        mended,
        unmended,
        beyond: 0,
        timeless: 0,
        overhead,
    };
    for part in parts {
        let (calls, mut sum) = (part.len() as f64, 0.0);
        for call in part {
            sum += call.tail_ns + call.gets.iter().map(|get| get.gap_ns + get.hold_ns).sum::<f64>();
            made.add(call, &numbers);
        }
        made.means_ns.push(if calls > 0.0 { sum / calls } else { 0.0 });
    }
    let gets = made.beyond + made.trace.gets.len();
    made.trace.header.beyond = made.beyond as f64 / gets.max(1) as f64;
    Ok(made)
}

/// A latch of a trace, with the design that its gets show.
fn latch(object: &Object, [_, shared, read]: [bool; 3], waiting: Waiting) -> Result<Latch, String> {
    let design_name = match () {
        () if object.is_mutex => format!("mutex-{}", waiting.mutex_scheme),
        () if read => "versioned".into(),
        () if shared => "shared".into(),
        () if waiting.back_off => "latch-8i".into(),
        () => "exclusive".into(),
    };
    let design = Design::named(&design_name).map_err(|e| e.to_string())?;
    let name = match (object.is_mutex, object.number) {
        (true, n) => format!("{} {n:06x}", object.name),
        (false, 0) => object.name.clone(),
        (false, child) => format!("{} {child}", object.name),
    };
    Ok(Latch { design, design_name, name })
}

impl Made {
    fn add(&mut self, call: Call, numbers: &BTreeMap<Object, usize>) {
        let trace = &mut self.trace;
        trace.first.push(trace.gets.len() as u32);
        let is_empty = call.tail_ns < 1.0 && call.gets.iter().all(|get| get.gap_ns + get.hold_ns < 1.0);
        let mut work = 0.0;
        for get in call.gets {
            let latch = numbers[&get.object];
            let Some(known) = trace.header.latches.get(latch) else {
                work += get.gap_ns + get.hold_ns;
                self.beyond += 1;
                continue;
            };
            // Where gets are shared, an exclusive one is a change.
            let write = match known.design {
                Design::Shared { .. } | Design::Versioned { .. } => get.manner == Manner::Exclusive,
                _ => get.changes,
            };
            trace.gets.push(TracedGet {
                latch: latch as u16,
                place: get.place,
                write,
                gap_ns: get.gap_ns + std::mem::take(&mut work),
                hold_ns: get.hold_ns,
                other: get.other,
            });
        }
        self.timeless += usize::from(is_empty);
        trace.tails_ns.push(if is_empty { 1.0 } else { call.tail_ns + work });
    }
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
            is_touch: false,
            other: None,
            preempted: 0,
        }
    }

    fn got(name: &str, number: u64, manner: Manner) -> Got {
        Got {
            object: Object { name: name.into(), number, is_mutex: false },
            place: 1,
            manner,
            changes: false,
            gap_ns: 100.0,
            hold_ns: 40.0,
            is_touch: false,
            within: None,
            other: Some(false),
        }
    }

    const SWITCH_NS: f64 = 1e7;

    const WAITING: Waiting = Waiting { mutex_scheme: 2, back_off: false };

    fn made(calls: Vec<Call>, overhead: Overhead) -> Made {
        let header = Header { sessions: 1, ..Header::default() };
        trace(header, vec![calls], WAITING, (&overhead, SWITCH_NS), None).unwrap()
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
        let mut mutex = got("d", 255, Manner::Exclusive);
        mutex.object.is_mutex = true;
        let gets = vec![
            got("a", 0, Manner::Exclusive),
            got("b", 2, Manner::Exclusive),
            got("b", 2, Manner::Shared),
            got("c", 0, Manner::Read),
            mutex,
        ];
        let header = Header { sessions: 1, ..Header::default() };
        let calls = vec![Call { gets, tail_ns: 10.0, preempted: 0 }, Call::default()];
        let names = |waiting| {
            let trace = trace(header.clone(), vec![calls.clone()], waiting, (&Overhead::default(), SWITCH_NS), None)
                .unwrap()
                .trace;
            assert!(Trace::parse(&trace.to_text()).is_ok());
            let mut of: Vec<_> = trace.header.latches.iter().map(|l| (l.name.clone(), l.design_name.clone())).collect();
            of.sort();
            (of, trace.gets.iter().map(|get| get.write).collect::<Vec<_>>())
        };
        let (latches, writes) = names(WAITING);
        let pair = |name: &str, design: &str| (name.to_owned(), design.to_owned());
        let expected =
            [pair("a", "exclusive"), pair("b 2", "shared"), pair("c", "versioned"), pair("d 0000ff", "mutex-2")];
        assert_eq!(latches, expected);
        assert_eq!(writes, [false, true, false, false, false]);
        let (latches, _) = names(Waiting { mutex_scheme: 0, back_off: true });
        assert_eq!(latches[0], pair("a", "latch-8i"));
        assert_eq!(latches[3], pair("d 0000ff", "mutex-0"));
    }

    /// A call with one gap and one hold, and the number of interruptions.
    fn interrupted(gap_ns: f64, hold_ns: f64, preempted: u64) -> Call {
        let get = Got { gap_ns, hold_ns, ..got("a", 0, Manner::Exclusive) };
        Call { gets: vec![get], tail_ns: 10.0, preempted }
    }

    #[test]
    fn the_times_of_interrupted_calls_give_way_to_the_mean_and_long_ones_stay() {
        // A scan of three milliseconds among short calls is no interruption, however long it is.
        let calls = vec![
            interrupted(100.0, 40.0, 0),
            interrupted(300.0, 40.0, 0),
            interrupted(3e6, 40.0, 0),
            interrupted(200.0, 5e6, 1),
            interrupted(9e6, 40.0, 1),
            interrupted(9e6, 40.0, 0),
        ];
        let made = made(calls, Overhead::default());
        assert_eq!((made.mended, made.unmended), (2, 0));
        let mean = (100.0 + 300.0 + 3e6 + 9e6) / 4.0;
        let gaps: Vec<f64> = made.trace.gets.iter().map(|get| get.gap_ns).collect();
        assert_eq!(gaps, [100.0, 300.0, 3e6, 200.0, mean, 9e6]);
        assert!(made.trace.gets.iter().all(|get| get.hold_ns == 40.0), "{:?}", made.trace.gets);
    }

    #[test]
    fn a_long_call_that_was_interrupted_does_not_become_a_short_one() {
        // Short calls with a get, and long ones without, each of which was interrupted.
        let mut calls = vec![interrupted(100.0, 40.0, 0); 9];
        calls.push(Call { gets: Vec::new(), tail_ns: 7e7, preempted: 3 });
        let made = made(calls, Overhead::default());
        assert_eq!((made.mended, made.unmended, made.trace.tails_ns[9]), (0, 1, 7e7));
        // The same beside short calls without a get: a switch does not take 70 ms, and a call of three is long.
        let mut calls = vec![Call { tail_ns: 100.0, ..Call::default() }; 9];
        calls.push(Call { gets: Vec::new(), tail_ns: 7e7, preempted: 1 });
        calls.push(Call { gets: Vec::new(), tail_ns: 9e6, preempted: 3 });
        calls.push(Call { gets: Vec::new(), tail_ns: 9e6, preempted: 1 });
        let made = self::made(calls, Overhead::default());
        assert_eq!((made.mended, made.unmended, &made.trace.tails_ns[9..]), (1, 2, &[7e7, 9e6, 100.0][..]));
    }

    #[test]
    fn what_was_always_interrupted_stays_and_is_told() {
        let made = made(vec![interrupted(100.0, 5e6, 1), interrupted(100.0, 4e6, 1)], Overhead::default());
        assert_eq!((made.mended, made.unmended), (0, 2));
        assert_eq!(made.means_ns, [4_500_110.0]);
    }

    #[test]
    fn stamps_of_inner_gets_are_taken_out_of_the_outer_hold() {
        use Kind::{Call, End, Get};
        // A hold of 100 ns with one of 20 ns in its middle, 100 ns before and after; stamps add 40 ns to the time
        // before a get, 20 ns to its hold, and 10 ns to the call.
        let mut inner = record(1, Get, 230.0, 40.0);
        inner.object.number = 2;
        let records = [record(1, Call, 0.0, 0.0), inner, record(1, Get, 140.0, 180.0), record(1, End, 0.0, 430.0)];
        let overhead = Overhead { call_ns: 10.0, gap_ns: 40.0, hold_ns: 20.0, touch_ns: 30.0 };
        let calls = |records: &[Record]| made(super::calls(records), overhead);
        let two = calls(&records);
        let times = |made: &Made| made.trace.gets.iter().map(|get| (get.gap_ns, get.hold_ns)).collect::<Vec<_>>();
        assert_eq!(times(&two), [(100.0, 80.0), (0.0, 20.0)]);
        assert_eq!((two.trace.tails_ns[0], two.means_ns[0]), (100.0, 300.0));
        // A versioned read in the hold has one stamp.
        let read = Record { is_touch: true, length_ns: 0.0, ..records[1].clone() };
        let records = [records[0].clone(), read, record(1, Get, 140.0, 150.0), record(1, End, 0.0, 400.0)];
        assert_eq!(times(&calls(&records)), [(100.0, 100.0), (0.0, 0.0)]);
    }

    #[test]
    fn stamps_are_scaled_to_the_counted_time_of_a_call_of_one_session() {
        let call = Call { tail_ns: 30.0, ..interrupted(160.0, 110.0, 0) };
        let calls = || vec![vec![call.clone(); 9], vec![call.clone(); 9]];
        let overhead = Overhead { call_ns: 10.0, gap_ns: 20.0, hold_ns: 20.0, touch_ns: 0.0 };
        let fitted = |counted_ns: f64| {
            let header = Header { sessions: 1, ..Header::default() };
            let made = trace(header, calls(), WAITING, (&overhead, SWITCH_NS), Some(counted_ns)).unwrap();
            (made.overhead.call_ns, made.means_ns)
        };
        // The calls take 300 ns with their stamps, which were measured to be 50 ns.
        assert_eq!(fitted(240.0), (12.0, vec![240.0, 240.0]), "stamps are longer than measured");
        assert_eq!(fitted(260.0), (8.0, vec![260.0, 260.0]), "and shorter");
        assert_eq!(fitted(100.0), (15.0, vec![225.0, 225.0]), "what stamps do not explain stays");
        assert!((fitted(400.0).0 - 10.0 / 1.5).abs() < 1e-9);
    }

    #[test]
    fn stamps_longer_than_a_time_are_taken_from_the_next_of_its_kind() {
        let of = |holds: &[f64]| holds.iter().map(|hold_ns| interrupted(100.0, *hold_ns, 0)).collect::<Vec<_>>();
        let overhead = Overhead { hold_ns: 25.0, ..Overhead::default() };
        let made = made(of(&[20.0, 30.0, 20.0, 40.0]), overhead);
        let holds: Vec<f64> = made.trace.gets.iter().map(|get| get.hold_ns).collect();
        assert_eq!(holds, [0.0, 0.0, 0.0, 10.0], "the mean is 2.5");
        let header = Header { sessions: 1, ..Header::default() };
        let long = Overhead { gap_ns: 140.0, ..overhead };
        let error = trace(header, vec![of(&[20.0; 9])], WAITING, (&long, SWITCH_NS), None).unwrap_err();
        assert!(error.contains("the stamps of a recording take more time"), "{error}");
    }

    #[test]
    fn latches_beyond_the_most_are_work_and_are_counted() {
        let mut calls: Vec<super::Call> = Vec::new();
        for n in 0..LATCHES_MAX as u64 + 900 {
            // The first ones are got once, all others twice.
            let gets = (0..1 + u64::from(n >= 900)).map(|_| got("cache buffers chains", n + 1, Manner::Exclusive));
            calls.push(super::Call { gets: gets.collect(), tail_ns: 10.0, preempted: 0 });
        }
        let made = made(calls, Overhead::default());
        assert_eq!((made.trace.header.latches.len(), made.beyond), (LATCHES_MAX, 900));
        let share = 900.0 / (900.0 + 2.0 * LATCHES_MAX as f64);
        assert!((made.trace.header.beyond - share).abs() < 1e-9, "a forecast knows it");
        let mut gets = vec![0; LATCHES_MAX];
        made.trace.gets.iter().for_each(|get| gets[usize::from(get.latch)] += 1);
        assert!(gets.iter().all(|count| *count == 2), "no latch has the gets of others");
        assert_eq!(made.trace.tails_ns[0], 150.0, "the time is there");
        assert!(Trace::parse(&made.trace.to_text()).is_ok());
    }

    #[test]
    fn parts_have_means_of_their_own() {
        let header = Header { sessions: 1, ..Header::default() };
        let parts = vec![vec![interrupted(100.0, 40.0, 0)], Vec::new(), vec![interrupted(200.0, 50.0, 0); 2]];
        let made = trace(header, parts, WAITING, (&Overhead::default(), SWITCH_NS), None).unwrap();
        assert_eq!(made.means_ns, [150.0, 0.0, 260.0]);
        assert_eq!(made.trace.tails_ns.len(), 3);
    }
}
