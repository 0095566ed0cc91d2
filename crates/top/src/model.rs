//! The meaning of the samples: differences, rates and averages over a window, and a history for the chart.
//!
//! The model is a pure function of its snapshots (invariant 2): no clock, no instance. It keeps two rings. The
//! *history* has a small point for each interval and covers an hour at one point per second. The *ticks* have the
//! activity and the counts of each interval, cover the longest window, and are bounded in entries as well as in number.
//! The average active sessions of users come from DB time, which is exact; the probes distribute DB time over wait
//! classes, because a wait in progress is in no counter yet. Those of background processes come from the probes.

use std::collections::{BTreeMap, VecDeque};

use crate::sample::*;

/// Wait classes in stacking order, `CPU` at the bottom: name and letter.
pub const CLASSES: [(&str, char); 11] = [
    ("CPU", 'C'),
    ("Scheduler", 'S'),
    ("User I/O", 'U'),
    ("System I/O", 'Y'),
    ("Commit", 'M'),
    ("Concurrency", 'X'),
    ("Application", 'A'),
    ("Configuration", 'G'),
    ("Administrative", 'D'),
    ("Network", 'N'),
    ("Other", 'O'),
];

/// The index of a class in [`CLASSES`]; an unknown class is `Other`.
pub fn class_of(name: &str) -> usize {
    CLASSES.iter().position(|(n, _)| *n == name).unwrap_or(CLASSES.len() - 1)
}

/// Largest number of chart points, of ticks, and of entries in all ticks.
const HISTORY_MAX: usize = 3600;
const TICKS_MAX: usize = 600;
const ENTRIES_MAX: usize = 100_000;
const NAMES_MAX: usize = 4000;
/// A detail is dropped when it has not been read for this time.
const DETAIL_LASTS_US: u64 = 30_000_000;

/// Active sessions by class, users' and background processes'.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Load {
    pub users: [f64; CLASSES.len()],
    pub background: [f64; CLASSES.len()],
}

impl Load {
    /// Scales users' load to their DB time in `seconds`; without a probe of an active session the time is short calls.
    fn of_time(mut self, db_time_us: u64, seconds: f64) -> Load {
        if db_time_us == 0 || seconds <= 0.0 {
            return self;
        }
        let busy = db_time_us as f64 / 1e6 / seconds;
        let met: f64 = self.users.iter().sum();
        if met > 0.0 {
            self.users.iter_mut().for_each(|n| *n *= busy / met);
        } else {
            self.users[0] = busy;
        }
        self
    }

    /// Load by class, with or without background processes.
    pub fn by_class(&self, background: bool) -> [f64; CLASSES.len()] {
        let mut all = self.users;
        if background {
            for (sum, more) in all.iter_mut().zip(self.background) {
                *sum += more;
            }
        }
        all
    }
}

/// One interval in the chart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    pub wall_ms: u64,
    pub seconds: f64,
    /// `None` while the instance was away.
    pub load: Option<Load>,
}

/// The activity and counts of one interval.
#[derive(Clone, Debug, Default)]
pub struct Tick {
    pub seconds: f64,
    pub probes: usize,
    /// Each activity with the number of probes that saw it.
    pub activity: Vec<(Active, u64)>,
    pub holds: Vec<(Hold, u64)>,
    pub db_time_us: u64,
    pub db_cpu_us: u64,
    pub events: Vec<EventCount>,
    pub latches: Vec<LatchCount>,
    pub mutexes: Vec<MutexCount>,
    pub statements: Vec<StatementCount>,
    pub figures: Vec<(String, u64)>,
}

impl Tick {
    fn entries(&self) -> usize {
        let counted = self.events.len() + self.latches.len() + self.mutexes.len() + self.statements.len();
        self.activity.len() + self.holds.len() + counted + self.figures.len()
    }
}

/// The first and the latest reading of a detail.
#[derive(Clone, Debug)]
pub struct Kept {
    pub first: Found,
    pub first_us: u64,
    pub last: Found,
    pub last_us: u64,
}

impl Kept {
    /// Seconds between the two readings.
    pub fn seconds(&self) -> f64 {
        self.last_us.saturating_sub(self.first_us) as f64 / 1e6
    }
}

/// The data behind everything that is shown.
#[derive(Clone, Debug, Default)]
pub struct Model {
    previous: Option<Snapshot>,
    history: VecDeque<Point>,
    /// Points that have been dropped from the history.
    forgotten: u64,
    ticks: VecDeque<Tick>,
    entries: usize,
    texts: Names<String>,
    objects: Names<u64>,
    details: BTreeMap<Wanted, Kept>,
    /// The last figures of statements, which come and go in the readings.
    statements: BTreeMap<String, StatementCount>,
}

/// Names by key; beyond a number the oldest are dropped.
#[derive(Clone, Debug)]
struct Names<K: Ord + Clone> {
    by_key: BTreeMap<K, String>,
    order: VecDeque<K>,
}

impl<K: Ord + Clone> Default for Names<K> {
    fn default() -> Self {
        Names { by_key: BTreeMap::new(), order: VecDeque::new() }
    }
}

impl<K: Ord + Clone> Names<K> {
    fn put(&mut self, key: K, name: String) {
        if self.by_key.insert(key.clone(), name).is_none() {
            self.order.push_back(key);
        }
        if self.order.len() > NAMES_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.by_key.remove(&oldest);
        }
    }
}

/// Counts equal items.
fn counted<T: Ord>(items: impl Iterator<Item = T>) -> Vec<(T, u64)> {
    let mut counts = BTreeMap::new();
    for item in items {
        *counts.entry(item).or_insert(0) += 1;
    }
    counts.into_iter().collect()
}

impl Model {
    /// Adds the next snapshot.
    pub fn push(&mut self, mut now: Snapshot) {
        for (id, text) in now.texts.drain(..) {
            self.texts.put(id, text);
        }
        for (id, name) in now.objects.drain(..) {
            self.objects.put(id, name);
        }
        let before = self.previous.take();
        match before.filter(|before| before.facts.started == now.facts.started && before.clock_us < now.clock_us) {
            Some(before) => self.difference(&before, &now),
            None => self.begin(&now),
        }
        self.keep_details(&mut now);
        self.previous = Some(now);
    }

    /// Starts the counters again: with the first snapshot, and when another instance answers (invariant 3).
    fn begin(&mut self, now: &Snapshot) {
        self.ticks.clear();
        self.entries = 0;
        self.details.clear();
        self.statements = now.statements.iter().map(|s| (s.sql_id.clone(), s.clone())).collect();
    }

    fn difference(&mut self, before: &Snapshot, now: &Snapshot) {
        let tick = Tick {
            seconds: (now.clock_us - before.clock_us) as f64 / 1e6,
            probes: now.probes.len(),
            activity: counted(now.probes.iter().flat_map(|p| p.active.iter().cloned())),
            holds: counted(now.probes.iter().flat_map(|p| p.holds.iter().cloned())),
            db_time_us: now.db_time_us.saturating_sub(before.db_time_us),
            db_cpu_us: now.db_cpu_us.saturating_sub(before.db_cpu_us),
            events: events_since(&before.events, &now.events),
            latches: latches_since(&before.latches, &now.latches),
            mutexes: mutexes_since(&before.mutexes, &now.mutexes),
            statements: self.statements_since(&now.statements),
            figures: figures_since(&before.figures, &now.figures),
        };
        let load = load_of(&tick);
        self.point(Point { wall_ms: now.wall_ms, seconds: tick.seconds, load: Some(load) });
        self.entries += tick.entries();
        self.ticks.push_back(tick);
        while self.ticks.len() > TICKS_MAX || (self.entries > ENTRIES_MAX && self.ticks.len() > 1) {
            if let Some(oldest) = self.ticks.pop_front() {
                self.entries -= oldest.entries();
            }
        }
    }

    fn point(&mut self, point: Point) {
        self.history.push_back(point);
        if self.history.len() > HISTORY_MAX {
            self.history.pop_front();
            self.forgotten += 1;
        }
    }

    /// Notes that the instance is away: the chart has a gap from here on.
    pub fn away(&mut self, wall_ms: u64) {
        let since = self.history.back().map_or(0, |point| point.wall_ms);
        if since > 0 && wall_ms > since {
            self.point(Point { wall_ms, seconds: (wall_ms - since) as f64 / 1000.0, load: None });
        }
    }

    /// The figures of statements since their last reading. A new statement counts from its next reading on, because its
    /// work may be older than this interval; if it was executed once, that execution is counted.
    fn statements_since(&mut self, now: &[StatementCount]) -> Vec<StatementCount> {
        let mut all = Vec::new();
        for s in now {
            let before = self.statements.insert(s.sql_id.clone(), s.clone());
            let before = match before {
                // Fewer executions than before: the cursor was aged out and loaded again.
                Some(before) if before.executions <= s.executions => before,
                _ if s.executions <= 1 => StatementCount::default(),
                _ => continue,
            };
            let since = StatementCount {
                sql_id: s.sql_id.clone(),
                executions: s.executions - before.executions.min(s.executions),
                elapsed_us: s.elapsed_us.saturating_sub(before.elapsed_us),
                cpu_us: s.cpu_us.saturating_sub(before.cpu_us),
                gets: s.gets.saturating_sub(before.gets),
                reads: s.reads.saturating_sub(before.reads),
                rows: s.rows.saturating_sub(before.rows),
            };
            if since.executions + since.elapsed_us + since.gets + since.rows > 0 {
                all.push(since);
            }
        }
        while self.statements.len() > NAMES_MAX {
            self.statements.pop_first();
        }
        all
    }

    fn keep_details(&mut self, now: &mut Snapshot) {
        for Detail { wanted, found } in now.details.drain(..) {
            let at = now.clock_us;
            let kept = self.details.entry(wanted).or_insert_with(|| Kept {
                first: found.clone(),
                first_us: at,
                last: found.clone(),
                last_us: at,
            });
            (kept.last, kept.last_us) = (found, at);
        }
        self.details.retain(|_, kept| now.clock_us.saturating_sub(kept.last_us) < DETAIL_LASTS_US);
    }

    /// The last snapshot.
    pub fn now(&self) -> Option<&Snapshot> {
        self.previous.as_ref()
    }

    /// The points of the chart, oldest first.
    #[cfg(test)]
    pub fn history(&self) -> impl DoubleEndedIterator<Item = &Point> + ExactSizeIterator {
        self.history.iter()
    }

    /// The last `most` groups of `per` points, oldest first: start time, and average load if there is any. Groups are
    /// counted from the first point ever, so new points do not shift them.
    pub fn columns(&self, per: usize, most: usize, background: bool) -> Vec<(u64, Option<[f64; CLASSES.len()]>)> {
        let mut columns: Vec<(u64, Option<[f64; CLASSES.len()]>)> = Vec::new();
        let mut group: Option<(u64, u64, f64, [f64; CLASSES.len()])> = None;
        let per = per.max(1) as u64;
        let close = |(_, began, seconds, sum): (u64, u64, f64, [f64; CLASSES.len()])| {
            (began, (seconds > 0.0).then(|| sum.map(|n| n / seconds)))
        };
        let first = (self.history.len() as u64 + self.forgotten).saturating_sub(per * most as u64) / per * per;
        let skip = first.saturating_sub(self.forgotten) as usize;
        for (at, point) in self.history.iter().enumerate().skip(skip) {
            let number = (at as u64 + self.forgotten) / per;
            if let Some(done) = group.take_if(|g| g.0 != number) {
                columns.push(close(done));
            }
            let g = group.get_or_insert((number, point.wall_ms, 0.0, [0.0; CLASSES.len()]));
            if let Some(load) = point.load {
                g.2 += point.seconds;
                for (sum, n) in g.3.iter_mut().zip(load.by_class(background)) {
                    *sum += n * point.seconds;
                }
            }
        }
        columns.extend(group.map(close));
        let more = columns.len().saturating_sub(most);
        columns.drain(..more);
        columns
    }

    /// Whether two snapshots of one instance can be compared.
    pub fn has_ticks(&self) -> bool {
        !self.ticks.is_empty()
    }

    /// The first characters of a statement.
    pub fn text(&self, sql_id: &str) -> &str {
        self.texts.by_key.get(sql_id).map_or("", String::as_str)
    }

    /// The name of an object, or its number.
    pub fn object(&self, id: u64) -> String {
        self.objects.by_key.get(&id).cloned().unwrap_or_else(|| format!("#{id}"))
    }

    /// The detail that was read for viewers of one target.
    pub fn detail(&self, wanted: &Wanted) -> Option<&Kept> {
        self.details.get(wanted)
    }

    /// A session by number and serial number, or by number alone when the serial number is 0.
    pub fn session(&self, sid: u64, serial: u64) -> Option<&Session> {
        let sessions = &self.previous.as_ref()?.sessions;
        sessions.iter().find(|s| s.sid == sid && (serial == 0 || s.serial == serial))
    }

    /// The sums of the last ticks within `seconds`; at least one tick if there is one.
    pub fn window(&self, seconds: f64) -> Window {
        let mut w = Window::default();
        for tick in self.ticks.iter().rev() {
            // Half a tick of tolerance: a late interval must not exclude the last one.
            if w.seconds > 0.0 && w.seconds + tick.seconds / 2.0 > seconds {
                break;
            }
            w.add(tick);
        }
        w
    }
}

fn load_of(tick: &Tick) -> Load {
    let mut load = Load::default();
    for (active, times) in &tick.activity {
        let side = if active.background { &mut load.background } else { &mut load.users };
        side[class_of(&active.class)] += *times as f64 / tick.probes.max(1) as f64;
    }
    load.of_time(tick.db_time_us, tick.seconds)
}

/// Pairs items with the previous ones of the same name; a new item starts at zero.
fn since<T: Default + Clone, K: Ord>(
    before: &[T],
    now: &[T],
    key: impl Fn(&T) -> K,
    less: impl Fn(&T, &T) -> Option<T>,
) -> Vec<T> {
    let old: BTreeMap<K, &T> = before.iter().map(|item| (key(item), item)).collect();
    let nothing = T::default();
    now.iter().filter_map(|item| less(item, old.get(&key(item)).copied().unwrap_or(&nothing))).collect()
}

/// The increases of events; events without new waits are left out.
pub fn events_since(before: &[EventCount], now: &[EventCount]) -> Vec<EventCount> {
    since(
        before,
        now,
        |e| e.name.clone(),
        |n, b| {
            let d = EventCount {
                name: n.name.clone(),
                class: n.class.clone(),
                waits: n.waits.saturating_sub(b.waits),
                time_us: n.time_us.saturating_sub(b.time_us),
                waits_fg: n.waits_fg.saturating_sub(b.waits_fg),
                time_us_fg: n.time_us_fg.saturating_sub(b.time_us_fg),
            };
            (d.waits + d.time_us > 0).then_some(d)
        },
    )
}

fn latches_since(before: &[LatchCount], now: &[LatchCount]) -> Vec<LatchCount> {
    since(
        before,
        now,
        |l| l.name.clone(),
        |n, b| {
            let d = LatchCount {
                name: n.name.clone(),
                gets: n.gets.saturating_sub(b.gets),
                misses: n.misses.saturating_sub(b.misses),
                sleeps: n.sleeps.saturating_sub(b.sleeps),
                spin_gets: n.spin_gets.saturating_sub(b.spin_gets),
                immediate_gets: n.immediate_gets.saturating_sub(b.immediate_gets),
                immediate_misses: n.immediate_misses.saturating_sub(b.immediate_misses),
                wait_us: n.wait_us.saturating_sub(b.wait_us),
            };
            (d.gets + d.misses + d.sleeps + d.immediate_gets + d.immediate_misses + d.wait_us > 0).then_some(d)
        },
    )
}

fn mutexes_since(before: &[MutexCount], now: &[MutexCount]) -> Vec<MutexCount> {
    since(
        before,
        now,
        |m| (m.kind.clone(), m.place.clone()),
        |n, b| {
            let d = MutexCount {
                kind: n.kind.clone(),
                place: n.place.clone(),
                sleeps: n.sleeps.saturating_sub(b.sleeps),
                wait_us: n.wait_us.saturating_sub(b.wait_us),
            };
            (d.sleeps + d.wait_us > 0).then_some(d)
        },
    )
}

/// The children of a latch with gets since the first reading.
pub fn children_since(before: &[ChildCount], now: &[ChildCount]) -> Vec<ChildCount> {
    since(
        before,
        now,
        |c| c.address.clone(),
        |n, b| {
            // A child missing from the first reading has no figure to compare with.
            let seen = !b.address.is_empty();
            let less = |n: u64, b: u64| if seen { n.saturating_sub(b) } else { 0 };
            Some(ChildCount {
                child: n.child,
                address: n.address.clone(),
                gets: less(n.gets, b.gets),
                misses: less(n.misses, b.misses),
                sleeps: less(n.sleeps, b.sleeps),
                spin_gets: less(n.spin_gets, b.spin_gets),
                wait_us: less(n.wait_us, b.wait_us),
            })
        },
    )
}

fn figures_since(before: &[(String, u64)], now: &[(String, u64)]) -> Vec<(String, u64)> {
    since(before, now, |(name, _)| name.clone(), |n, b| Some((n.0.clone(), n.1.saturating_sub(b.1))))
}

/// Sums over the last ticks.
#[derive(Clone, Debug, Default)]
pub struct Window {
    pub seconds: f64,
    pub probes: u64,
    pub activity: BTreeMap<Active, u64>,
    pub holds: BTreeMap<Hold, u64>,
    pub db_time_us: u64,
    pub db_cpu_us: u64,
    pub events: BTreeMap<String, EventCount>,
    pub latches: BTreeMap<String, LatchCount>,
    pub mutexes: BTreeMap<(String, String), MutexCount>,
    pub statements: BTreeMap<String, StatementCount>,
    pub figures: BTreeMap<String, u64>,
}

impl Window {
    fn add(&mut self, tick: &Tick) {
        self.seconds += tick.seconds;
        self.probes += tick.probes as u64;
        self.db_time_us += tick.db_time_us;
        self.db_cpu_us += tick.db_cpu_us;
        for (active, times) in &tick.activity {
            *self.activity.entry(active.clone()).or_insert(0) += times;
        }
        for (hold, times) in &tick.holds {
            *self.holds.entry(hold.clone()).or_insert(0) += times;
        }
        for e in &tick.events {
            let sum = self.events.entry(e.name.clone()).or_insert_with(|| EventCount {
                name: e.name.clone(),
                class: e.class.clone(),
                ..EventCount::default()
            });
            sum.waits += e.waits;
            sum.time_us += e.time_us;
            sum.waits_fg += e.waits_fg;
            sum.time_us_fg += e.time_us_fg;
        }
        for l in &tick.latches {
            let sum = self.latches.entry(l.name.clone()).or_default();
            sum.gets += l.gets;
            sum.misses += l.misses;
            sum.sleeps += l.sleeps;
            sum.spin_gets += l.spin_gets;
            sum.immediate_gets += l.immediate_gets;
            sum.immediate_misses += l.immediate_misses;
            sum.wait_us += l.wait_us;
        }
        for m in &tick.mutexes {
            let sum = self.mutexes.entry((m.kind.clone(), m.place.clone())).or_default();
            sum.sleeps += m.sleeps;
            sum.wait_us += m.wait_us;
        }
        for s in &tick.statements {
            let sum = self.statements.entry(s.sql_id.clone()).or_default();
            sum.executions += s.executions;
            sum.elapsed_us += s.elapsed_us;
            sum.cpu_us += s.cpu_us;
            sum.gets += s.gets;
            sum.reads += s.reads;
            sum.rows += s.rows;
        }
        for (name, n) in &tick.figures {
            *self.figures.entry(name.clone()).or_insert(0) += n;
        }
    }

    /// The average number of sessions for a number of probes.
    pub fn average(&self, times: u64) -> f64 {
        times as f64 / self.probes.max(1) as f64
    }

    /// The rate per second.
    pub fn rate(&self, n: u64) -> f64 {
        if self.seconds > 0.0 { n as f64 / self.seconds } else { 0.0 }
    }

    /// A statistic's rate.
    pub fn figure(&self, name: &str) -> f64 {
        self.rate(self.figures.get(name).copied().unwrap_or(0))
    }

    /// Active sessions by class.
    pub fn load(&self) -> Load {
        let mut load = Load::default();
        for (active, times) in &self.activity {
            let side = if active.background { &mut load.background } else { &mut load.users };
            side[class_of(&active.class)] += self.average(*times);
        }
        load.of_time(self.db_time_us, self.seconds)
    }

    /// Activity summed by the value of `key`; `None` is left out. The busiest first.
    pub fn by<K: Ord + Clone>(&self, mut key: impl FnMut(&Active) -> Option<K>) -> Vec<(K, u64)> {
        let mut sums: BTreeMap<K, u64> = BTreeMap::new();
        for (active, times) in &self.activity {
            if let Some(key) = key(active) {
                *sums.entry(key).or_insert(0) += times;
            }
        }
        let mut all: Vec<(K, u64)> = sums.into_iter().collect();
        all.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
        all
    }
}

/// A session in a chain of blockers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    pub sid: u64,
    pub depth: usize,
    /// The number of sessions that wait for it, directly or through others.
    pub behind: usize,
}

/// Chains of sessions that wait for one another: first the sessions that do not wait, each followed by its waiters.
/// Sessions in a cycle come last; the cycle is cut at its lowest number.
pub fn blocker_chains(sessions: &[Session]) -> Vec<Link> {
    let waits: BTreeMap<u64, u64> = sessions.iter().filter_map(|s| Some((s.sid, s.blocker?))).collect();
    let mut waiters: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for (waiter, blocker) in &waits {
        waiters.entry(*blocker).or_default().push(*waiter);
    }
    let mut links = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    let mut roots: Vec<u64> = waiters.keys().copied().filter(|sid| !waits.contains_key(sid)).collect();
    roots.extend(waits.keys());
    for root in roots {
        if seen.contains(&root) {
            continue;
        }
        // Depth first, without recursion: a chain may be as long as the number of sessions.
        let mut stack = vec![(root, 0)];
        while let Some((sid, depth)) = stack.pop() {
            if !seen.insert(sid) {
                continue;
            }
            links.push(Link { sid, depth, behind: 0 });
            let behind = waiters.get(&sid).map_or(&[][..], Vec::as_slice);
            stack.extend(behind.iter().rev().map(|waiter| (*waiter, depth + 1)));
        }
    }
    for at in 0..links.len() {
        links[at].behind = links[at + 1..].iter().take_while(|l| l.depth > links[at].depth).count();
    }
    links
}
