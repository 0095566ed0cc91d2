//! A cursor's place in the library cache, and the figures of statements: executions, parse calls, rows. Figures are
//! counted in the session and added to the shared cursors from time to time, so that an execution writes nothing
//! shared.
//!
//! # Time
//!
//! The clocks measure a call's elapsed time and processor time when it begins and ends, and once a second while it
//! lasts. This time is divided among the statements that ran in the call; the rest is the time of PL/SQL and of the
//! call itself. So the times of a session's statements never add up to more than the session's time. A *segment* is a
//! stretch in which one cursor runs: from the beginning of an execution or a fetch until it ends, or until PL/SQL
//! leaves the open query. A timed segment reads the time-stamp counter at both ends. Timed are the first segments of a
//! cursor in a call, all segments of a cursor whose segments are long, and one in sixty-four short segments on average,
//! chosen at random. An untimed segment is charged the processor time of a typical timed one; waits and time without a
//! processor are left out of that. See decision 15.
//!
//! The time and the blocks of a statement do not include those of statements that run inside it.
//!
//! # Blocks
//!
//! A statement is charged the blocks that the session got and read between the beginning and the end of an execution,
//! less the blocks charged to other statements meanwhile; so a loop over rows is not charged for the reads of its body.
//! When cursors are open side by side and end in another order than they began, one of them may be charged within a
//! call for blocks that another got before.
//!
//! A PL/SQL block is charged for everything that happens while it runs, and so is the block around it. The figures of a
//! long execution are reported while it runs.

use crate::ctx::{ExecCtx, Rights, SessionState};
use library_cache::{
    AreaCounts, Candidates, Content, CursorSlot, Delta, Digest, Edition, Env, Fit, Handle, LibraryCache, LineCounts,
    Mismatch, OuterBlock, Sharing, Statement,
};
use md5::Digest as _;
use plan::BindType;
use process::Process;
use std::hash::{Hash, Hasher};
use wait::Stat;

/// Statements in a session's list before the list is cleared.
const STATEMENTS_MOST: usize = 4096;

/// MD5 of a statement's text followed by a NUL.
pub fn digest(text: &str) -> Digest {
    let mut hasher = md5::Md5::new();
    hasher.update(text.as_bytes());
    hasher.update([0]);
    Digest(hasher.finalize().into())
}

/// The choice of the segments of a statement that are timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// No segments: ELAPSED_TIME and CPU_TIME do not change.
    Off,
    /// Long segments, and a sample of the short ones.
    Sampled,
    /// All segments.
    All,
}

/// Whether an execution counts. A restart does not, nor do the executions of an array after the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Run {
    First,
    Again,
}

/// Executions of a statement after which its figures are reported within a call.
const TOLD_EVERY: u64 = 1024;
/// Time between two reports of a long execution.
const PROGRESS_NS: u64 = 1_000_000_000;
/// Segments of a cursor at the beginning of a call that are all timed.
const FIRST: u32 = 32;
/// Average number of short segments for one that is timed; a power of two.
const ONE_IN: u32 = 64;
/// All segments are timed if they take longer on average.
const SHORT_NS: f64 = 4_000.0;
/// Longest time used as that of a typical segment: a longer one was most likely without a processor for a while.
const TYPICAL_MOST_NS: f64 = 50_000.0;
/// Ticks of a nanosecond, before a call has measured it.
const TICKS_A_NS: f64 = 2.5;
/// No figure: no statement is running.
const NOBODY: u32 = u32::MAX;

/// A length of time.
#[derive(Clone, Copy, Debug, Default)]
struct Span {
    /// Ticks of the time-stamp counter.
    ticks: u64,
    /// Nanoseconds of waits among them.
    waited_ns: u64,
}

impl Span {
    fn add(&mut self, ticks: u64, waited_ns: u64) {
        self.ticks += ticks;
        self.waited_ns += waited_ns;
    }
}

struct Figure {
    handle: Handle,
    delta: Delta,
    /// Segments that were timed.
    timed: Span,
    /// Untimed segments: estimated ticks of processor time, and nanoseconds of their waits.
    estimated: f64,
    estimated_waited_ns: u64,
    /// Executions of a block, with everything that ran inside.
    inclusive: Span,
    /// Fractions of a microsecond left over from the last report.
    elapsed_ns: f64,
    cpu_ns: f64,
    /// Blocks charged to the session when the execution began, or its part in this call, less those charged to
    /// statements by then; `None` outside an execution.
    base: Option<Blocks>,
    /// Number of the session's execution that `base` belongs to.
    began: u64,
    /// Whether the figure is in the list of figures to report.
    is_noted: bool,
    /// Whether the shared cursor has been replaced by another statement's.
    stale: bool,
}

/// Blocks got and blocks read, and microseconds of waits of the classes of [`wait::CHARGED`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Blocks {
    gets: u64,
    reads: u64,
    waits_us: [u64; wait::CHARGED.len()],
}

impl Blocks {
    /// The totals of a session up to now.
    #[inline]
    fn of(p: &Process) -> Blocks {
        let line = p.stats();
        let (gets, reads) = (line.get(Stat::SessionLogicalReads), line.get(Stat::PhysicalReads));
        Blocks { gets, reads, waits_us: p.charged_us() }
    }

    /// The difference, at least zero.
    #[inline]
    fn less(self, other: Blocks) -> Blocks {
        Blocks {
            gets: self.gets.saturating_sub(other.gets),
            reads: self.reads.saturating_sub(other.reads),
            waits_us: std::array::from_fn(|n| self.waits_us[n].saturating_sub(other.waits_us[n])),
        }
    }

    /// The sum of both.
    #[inline]
    fn and(self, other: Blocks) -> Blocks {
        Blocks {
            gets: self.gets + other.gets,
            reads: self.reads + other.reads,
            waits_us: std::array::from_fn(|n| self.waits_us[n] + other.waits_us[n]),
        }
    }
}

impl Figure {
    fn new(handle: Handle) -> Figure {
        Figure {
            handle,
            delta: Delta::default(),
            timed: Span::default(),
            estimated: 0.0,
            estimated_waited_ns: 0,
            inclusive: Span::default(),
            elapsed_ns: 0.0,
            cpu_ns: 0.0,
            base: None,
            began: 0,
            is_noted: false,
            stale: false,
        }
    }

    /// Charges the blocks since `base`, and adds them to `told`, which other statements subtract.
    #[inline]
    fn settle(&mut self, now: Blocks, told: &mut Blocks) {
        if let Some(base) = self.base.take() {
            let own = now.less(base.and(*told));
            self.delta.buffer_gets += own.gets;
            self.delta.disk_reads += own.reads;
            self.delta.add_waits(own.waits_us);
            *told = told.and(own);
        }
    }

    /// Adds the counts to the shared cursor and resets them.
    fn tell(&mut self, p: &Process, library: &LibraryCache) {
        let whole = |ns: &mut f64| {
            let us = (*ns / 1000.0).floor().max(0.0);
            *ns -= us * 1000.0;
            us as u64
        };
        self.delta.elapsed_us += whole(&mut self.elapsed_ns);
        self.delta.cpu_us += whole(&mut self.cpu_ns);
        if self.delta != Delta::default() {
            self.stale |= !library.add(p, self.handle, &self.delta);
            self.delta = Delta::default();
        }
    }
}

/// The clocks of the call in progress.
struct Meter {
    /// When the call began, or the part of it whose time is not divided yet; 0 outside a call.
    began_ns: u64,
    /// Processor time of the process when time was last divided; 0 before the first time.
    cpu_ns: u64,
    /// The figure whose segment is running: its position in the list, or [`NOBODY`].
    current: u32,
    /// Counter and waits at the last switch of segments.
    mark: Span,
    /// Time outside of all statements.
    rest: Span,
    /// Ticks of a nanosecond, as measured in the last part of a call that was long enough.
    ticks_a_ns: f64,
    /// Number of the call.
    call: u64,
    /// State of the random numbers.
    lot: u32,
}

impl Default for Meter {
    fn default() -> Meter {
        Meter {
            began_ns: 0,
            cpu_ns: 0,
            current: NOBODY,
            mark: Span::default(),
            rest: Span::default(),
            ticks_a_ns: TICKS_A_NS,
            call: 0,
            lot: 0x9e37_79b9,
        }
    }
}

/// How the time of a part of a call is divided.
struct Share {
    ns_a_tick: f64,
    /// Processor nanoseconds for each nanosecond without a wait.
    processor: f64,
    /// Elapsed nanoseconds for each estimated tick.
    estimate: f64,
}

impl Share {
    /// `elapsed` and `used` are nanoseconds by the clock and of a processor.
    fn of(figures: &[Figure], noted: &[u32], rest: Span, elapsed: f64, used: f64) -> Share {
        let (mut ticks, mut waited) = (rest.ticks as f64, rest.waited_ns as f64);
        let (mut estimated, mut estimated_waited) = (0.0, 0.0);
        for f in noted.iter().filter_map(|at| figures.get(*at as usize)) {
            ticks += f.timed.ticks as f64;
            waited += (f.timed.waited_ns + f.estimated_waited_ns) as f64;
            estimated += f.estimated;
            estimated_waited += f.estimated_waited_ns as f64;
        }
        let ns_a_tick = if ticks > 0.0 { elapsed / ticks } else { 0.0 };
        let busy = (elapsed - waited).max(0.0);
        let used = used.min(busy);
        let processor = if busy > 0.0 { used / busy } else { 0.0 };
        let wanted = if processor > 0.0 { ns_a_tick / processor } else { ns_a_tick };
        // Untimed segments are counted in the time outside of all statements.
        let left = (rest.ticks as f64 * ns_a_tick - rest.waited_ns as f64 - estimated_waited).max(0.0);
        let estimate = if estimated * wanted > left { left / estimated } else { wanted };
        Share { ns_a_tick, processor, estimate }
    }

    /// Adds a figure's share to it.
    fn give(&self, f: &mut Figure) {
        for span in [std::mem::take(&mut f.timed), std::mem::take(&mut f.inclusive)] {
            let elapsed = span.ticks as f64 * self.ns_a_tick;
            f.elapsed_ns += elapsed;
            f.cpu_ns += (elapsed - span.waited_ns as f64).max(0.0) * self.processor;
        }
        let busy = std::mem::take(&mut f.estimated) * self.estimate;
        f.elapsed_ns += busy + std::mem::take(&mut f.estimated_waited_ns) as f64;
        f.cpu_ns += busy * self.processor;
    }
}

/// A running block, and the totals up to which it is charged.
struct Running {
    /// The figure of the block.
    key: StatementKey,
    handle: Handle,
    since: Span,
    base: Blocks,
}

/// A session's figures by statement.
#[derive(Default)]
pub struct Figures {
    list: Vec<Figure>,
    /// Positions of the figures to report.
    noted: Vec<u32>,
    /// Incremented when the list is cleared, which makes positions in it invalid.
    generation: u32,
    meter: Meter,
    /// Blocks charged to statements of the session.
    told: Blocks,
    /// Number of executions so far, and of those with a base.
    executions: u64,
    open: u32,
    /// Running PL/SQL blocks, the innermost last.
    running: Vec<Running>,
    /// When [`Figures::progress`] next reports.
    progress_ns: u64,
}

impl Figures {
    /// A figure to be changed; it is put into the list of figures to report.
    #[inline]
    fn slot(&mut self, key: &StatementKey) -> Option<&mut Figure> {
        if key.generation != self.generation + 1 {
            return None;
        }
        let figure = self.list.get_mut(key.index as usize).filter(|f| !f.stale)?;
        if !figure.is_noted {
            figure.is_noted = true;
            self.noted.push(key.index);
        }
        Some(figure)
    }

    fn now(p: &Process) -> Span {
        Span { ticks: os::cpu::ticks(), waited_ns: p.waited_ns() }
    }

    /// Begins a call.
    pub fn begin_call(&mut self, p: &Process) {
        let meter = &mut self.meter;
        meter.began_ns = os::clock::now_ns();
        if meter.cpu_ns == 0 {
            meter.cpu_ns = os::clock::thread_cpu_ns();
            p.note_cpu(meter.began_ns, meter.cpu_ns);
        }
        meter.call += 1;
        meter.current = NOBODY;
        meter.rest = Span::default();
        meter.mark = Figures::now(p);
        self.progress_ns = meter.began_ns + PROGRESS_NS;
    }

    /// Switches to the segment of figure `to`; returns the figure that was running.
    fn switch(&mut self, p: &Process, to: u32) -> u32 {
        let now = Figures::now(p);
        let ticks = now.ticks.saturating_sub(self.meter.mark.ticks);
        let waited = now.waited_ns.saturating_sub(self.meter.mark.waited_ns);
        self.meter.mark = now;
        let before = std::mem::replace(&mut self.meter.current, to);
        match self.list.get_mut(before as usize) {
            Some(figure) => {
                if !figure.is_noted {
                    figure.is_noted = true;
                    self.noted.push(before);
                }
                figure.timed.add(ticks, waited);
            }
            None => self.meter.rest.add(ticks, waited),
        }
        before
    }

    /// A pseudo-random number below `2 * ONE_IN`.
    fn draw(&mut self) -> u32 {
        let lot = &mut self.meter.lot;
        *lot ^= *lot << 13;
        *lot ^= *lot >> 17;
        *lot ^= *lot << 5;
        *lot & (2 * ONE_IN - 1)
    }

    /// Divides the time since the call began, or since the last division.
    fn share_out(&mut self, p: &Process) {
        if self.meter.began_ns == 0 {
            return;
        }
        let current = self.meter.current;
        self.switch(p, current);
        for at in 0..self.running.len() {
            self.so_far(at, p);
        }
        let (now, cpu) = (os::clock::now_ns(), os::clock::thread_cpu_ns());
        let elapsed = now.saturating_sub(self.meter.began_ns) as f64;
        let used = cpu.saturating_sub(self.meter.cpu_ns) as f64;
        (self.meter.began_ns, self.meter.cpu_ns) = (now, cpu);
        p.note_cpu(now, cpu);
        let rest = std::mem::take(&mut self.meter.rest);
        let share = Share::of(&self.list, &self.noted, rest, elapsed, used);
        if elapsed > 50_000.0 && share.ns_a_tick > 0.0 {
            self.meter.ticks_a_ns = 1.0 / share.ns_a_tick;
        }
        for at in &self.noted {
            if let Some(figure) = self.list.get_mut(*at as usize) {
                share.give(figure);
            }
        }
    }

    /// Charges blocks to the open statements, the one that began last first, because it may run inside the others.
    fn settle_open(&mut self, p: &Process, goes_on: bool) {
        let now = Blocks::of(p);
        let mut open: Vec<usize> = (0..self.list.len()).filter(|at| self.list[*at].base.is_some()).collect();
        open.sort_unstable_by_key(|at| std::cmp::Reverse(self.list[*at].began));
        for at in &open {
            let figure = &mut self.list[*at];
            figure.settle(now, &mut self.told);
            if !figure.is_noted {
                figure.is_noted = true;
                self.noted.push(*at as u32);
            }
        }
        if goes_on {
            let base = now.less(self.told);
            open.into_iter().for_each(|at| self.list[at].base = Some(base));
        } else {
            self.open = 0;
        }
    }

    /// Charges the running block at a position for its work so far.
    fn so_far(&mut self, at: usize, p: &Process) {
        let (now, blocks) = (Figures::now(p), Blocks::of(p));
        let Some(block) = self.running.get_mut(at) else { return };
        let since = std::mem::replace(&mut block.since, now);
        let own = blocks.less(std::mem::replace(&mut block.base, blocks));
        if block.key.generation != self.generation + 1 {
            // The list was cleared meanwhile.
            block.key = StatementKey { index: self.list.len() as u32, generation: self.generation + 1 };
            self.list.push(Figure::new(block.handle));
        }
        let key = block.key;
        let Some(figure) = self.slot(&key) else { return };
        let ticks = now.ticks.saturating_sub(since.ticks);
        figure.inclusive.add(ticks, now.waited_ns.saturating_sub(since.waited_ns));
        figure.delta.buffer_gets += own.gets;
        figure.delta.disk_reads += own.reads;
        figure.delta.add_waits(own.waits_us);
    }

    fn tell_noted(&mut self, p: &Process, library: &LibraryCache) {
        for at in self.noted.drain(..) {
            if let Some(figure) = self.list.get_mut(at as usize) {
                figure.is_noted = false;
                figure.tell(p, library);
            }
        }
    }

    /// Adds the counts to the shared cursors in the middle of a call, at most once a second.
    pub fn progress(&mut self, p: &Process, library: &LibraryCache) {
        let now = os::clock::now_ns();
        if now < self.progress_ns {
            return;
        }
        self.tell_so_far(p, library);
    }

    /// As [`Figures::progress`], at once, because another session has asked for it.
    #[cold]
    pub fn tell_so_far(&mut self, p: &Process, library: &LibraryCache) {
        self.progress_ns = os::clock::now_ns() + PROGRESS_NS;
        self.settle_open(p, true);
        self.share_out(p);
        self.tell_noted(p, library);
    }

    /// Adds all counts to the shared cursors. Must be called at the end of a call and before the session ends.
    pub fn flush(&mut self, p: &Process, library: &LibraryCache) {
        if self.open > 0 {
            self.settle_open(p, false);
        }
        self.share_out(p);
        self.tell_noted(p, library);
        // The client's time between two fetches does not belong to the statement.
        self.meter.began_ns = 0;
        self.meter.current = NOBODY;
        if self.list.len() >= STATEMENTS_MOST {
            self.start_anew();
        }
    }

    /// Processor time of the thread when it was last measured.
    pub fn cpu_ns(&self) -> u64 {
        self.meter.cpu_ns
    }

    /// Clears the list, which has too many statements. All figures must have been reported.
    fn start_anew(&mut self) {
        self.list.clear();
        self.noted.clear();
        self.open = 0;
        self.meter.current = NOBODY;
        self.generation += 1;
    }

    /// Adds a statement to the list.
    fn add(&mut self, handle: Handle, p: &Process, library: &LibraryCache) -> StatementKey {
        if self.list.len() >= 2 * STATEMENTS_MOST {
            self.settle_open(p, false);
            self.share_out(p);
            self.tell_noted(p, library);
            self.start_anew();
        }
        let key = StatementKey { index: self.list.len() as u32, generation: self.generation + 1 };
        self.list.push(Figure::new(handle));
        key
    }
}

/// The figure of a cursor.
#[derive(Clone, Copy, Debug, Default)]
struct StatementKey {
    index: u32,
    /// The list's generation plus one; 0: no figure yet.
    generation: u32,
}

/// A cursor's place in the library cache: the shared cursor it found or loaded, the slot that shows it to other
/// sessions, and the position of its figure.
#[derive(Default)]
pub struct Place {
    handle: Option<Handle>,
    /// Digest of the text, once computed.
    digest: Option<Digest>,
    /// The version of the shared cursor whose image was read.
    edition: Option<Edition>,
    /// The shared cursor found is unusable and will be replaced.
    is_stale: bool,
    /// Shared cursors of others, if the session has none of its own.
    candidates: Candidates,
    /// Why the session cannot use them: bits of [`Mismatch`].
    refused: u64,
    slot: CursorSlot,
    key: StatementKey,
    segment: Segment,
}

/// The current or last segment of a cursor, and averages over its segments.
#[derive(Default)]
struct Segment {
    runs: bool,
    is_timed: bool,
    /// Number of segments until the next timed one, inclusive; 1 and 0: the next segment is timed.
    left: u32,
    /// Untimed segments that are not charged yet.
    untimed: u32,
    /// Timed segments of this call.
    seen: u32,
    call: u64,
    /// The figure whose segment this one interrupts.
    outer: u32,
    /// The figure's time when the segment began.
    from: Span,
    /// Average ticks of a short segment, and of all segments.
    typical: f32,
    mean: f32,
}

/// The properties of the session that distinguish child cursors. `auth`: fingerprint of its rights.
fn env_of<'a>(session: &'a SessionState, auth: u64, binds: &[BindType]) -> Env<'a> {
    Env {
        user: session.parsing_user,
        schema: &session.schema,
        optimizer: session.options.optimizer,
        nls: session.nls_fingerprint(),
        auth,
        binds: bind_signature(binds),
    }
}

/// A fingerprint of the rights beyond the user's own.
fn number_of(rights: &Rights) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    rights.hash(&mut hasher);
    hasher.finish()
}

/// A fingerprint of the types of binds; 0 if one of them is unknown.
fn bind_signature(binds: &[BindType]) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    for bind in binds {
        match bind {
            Some(ty) => ty.hash(&mut hasher),
            None => return 0,
        }
    }
    if binds.is_empty() { 0 } else { hasher.finish() | 1 }
}

impl Place {
    /// Looks a statement up. If found, this is a soft parse; otherwise the caller compiles the cursor and calls
    /// [`Place::load`]. A statement without a text is not shared.
    pub fn parse(text: &str, rights: &Rights, binds: &[BindType], cx: &mut ExecCtx<'_>) -> Place {
        Place::parse_for(text, rights, binds, None, cx)
    }

    /// As [`Place::parse`], for bind values with these selectivities.
    pub fn parse_for(
        text: &str,
        rights: &Rights,
        binds: &[BindType],
        selectivities: Option<&[f64]>,
        cx: &mut ExecCtx<'_>,
    ) -> Place {
        let mut place = Place::default();
        if !text.is_empty() {
            let (digest, auth) = (digest(text), number_of(rights));
            place.digest = Some(digest);
            let env = env_of(cx.session, auth, binds);
            match cx.shared.library.parse_or_candidates(cx.p, digest, &env, selectivities) {
                Ok(handle) => place.handle = Some(handle),
                Err(candidates) => place.candidates = candidates,
            }
            place.open(cx);
        }
        place
    }

    /// The same shared cursor, to be loaded again with a plan for the values of its binds.
    pub fn again(&self, cx: &ExecCtx<'_>) -> Place {
        let edition = self.handle.map(|handle| cx.shared.library.edition_of(handle));
        Place { handle: self.handle, digest: self.digest, edition, is_stale: edition.is_some(), ..Place::default() }
    }

    /// Whether another session has reloaded the shared cursor.
    pub fn is_loaded_again(&self, cx: &ExecCtx<'_>) -> bool {
        let now = self.handle.map(|handle| cx.shared.library.edition_of(handle));
        self.edition.is_some() && now != self.edition
    }

    /// How the shared cursor is shared among bind values.
    pub fn sharing(&self, cx: &ExecCtx<'_>) -> Sharing {
        self.handle.map_or(Sharing::Plain, |handle| cx.shared.library.sharing(handle))
    }

    /// Whether the shared cursor may be executed with bind values of these selectivities.
    pub fn fits<S: AsRef<[f64]>>(&self, selectivities: impl FnOnce() -> S, cx: &ExecCtx<'_>) -> bool {
        self.handle.is_none_or(|handle| cx.shared.library.fit(handle, selectivities) == Fit::Shared)
    }

    /// Corrections of estimates that an execution found for the statement, for the next parse.
    pub fn corrections(&self, text: &str, binds: &[BindType], cx: &ExecCtx<'_>) -> Vec<plan::Correction> {
        if text.is_empty() {
            return Vec::new();
        }
        let env = env_of(cx.session, number_of(&cx.host.rights()), binds);
        let found = cx.shared.library.corrections(cx.p, self.digest_of(text), &env);
        found.into_iter().map(|(scan, factor)| plan::Correction { scan, factor }).collect()
    }

    /// Retires the shared cursor, together with the corrections that an execution found. False if there is no shared
    /// cursor.
    pub fn correct(&self, found: &[plan::Correction], cx: &ExecCtx<'_>) -> bool {
        let found: Vec<(u64, f64)> = found.iter().map(|c| (c.scan, c.factor)).collect();
        self.handle.is_some_and(|handle| cx.shared.library.correct(cx.p, handle, &found))
    }

    /// Reports executions by bucket to the shared cursor, and the last one's values, rows and buffer gets.
    pub fn note_executions(&self, buckets: [u64; 3], last: (u64, u64, u64), cx: &ExecCtx<'_>) {
        if let Some(handle) = self.handle {
            cx.shared.library.note_executions(handle, buckets, last);
        }
    }

    /// Whether there is a shared cursor.
    pub fn is_found(&self) -> bool {
        self.handle.is_some()
    }

    /// The digest of the text.
    pub fn digest_of(&self, text: &str) -> Digest {
        self.digest.unwrap_or_else(|| digest(text))
    }

    /// Copies the image of the shared cursor; false when there is none.
    pub fn image(&mut self, out: &mut Vec<u8>, cx: &ExecCtx<'_>) -> bool {
        self.edition = self.handle.and_then(|handle| cx.shared.library.image(handle, out));
        self.edition.is_some()
    }

    /// Whether the library cache would again refuse an image of the cursor.
    pub fn refuses_image(&self, cx: &ExecCtx<'_>) -> bool {
        !self.is_stale && self.handle.is_some_and(|handle| cx.shared.library.left_out(handle).is_some())
    }

    /// The version of the shared cursor whose image was read, or that was loaded.
    pub fn edition(&self) -> Option<Edition> {
        self.edition
    }

    /// The shared cursor; [`Handle::NONE`] if there was no room.
    #[inline]
    pub fn handle(&self) -> Handle {
        self.handle.unwrap_or(Handle::NONE)
    }

    /// Shared cursors for other users, schemas or rights, which the session may try.
    pub fn candidates(&self) -> Candidates {
        self.candidates
    }

    /// Records that one of [`Place::candidates`] is valid for the session, which then uses it.
    pub fn take_kin(
        &mut self,
        (text, binds): (&str, &[BindType]),
        (handle, edition): (Handle, Edition),
        cx: &mut ExecCtx<'_>,
    ) {
        let digest = self.digest_of(text);
        let env = env_of(cx.session, number_of(&cx.host.rights()), binds);
        cx.shared.library.take_kin(cx.p, digest, handle, &env);
        (self.handle, self.edition) = (Some(handle), Some(edition));
        self.open(cx);
    }

    /// Records why one of [`Place::candidates`] is not.
    pub fn refuse_kin(&mut self, why: Mismatch) {
        self.refused |= 1 << why as u64;
    }

    /// The dictionary epoch, if the image is known to be valid in it.
    pub fn known_epoch(&self, now: u64, cx: &ExecCtx<'_>) -> Option<u64> {
        let number = dictionary::DictionaryShared::number_of(now)?;
        let edition = self.edition?;
        cx.shared.library.is_known(edition, number).then_some(now)
    }

    /// Notes for all sessions that the image is valid at an epoch of the dictionary.
    pub fn set_known(&self, epoch: u64, cx: &ExecCtx<'_>) {
        if let (Some(edition), Some(number)) = (self.edition, dictionary::DictionaryShared::number_of(epoch)) {
            cx.shared.library.set_known(edition, number);
        }
    }

    /// Records that names of the shared cursor have changed their meaning.
    pub fn set_stale(&mut self) {
        self.is_stale = true;
    }

    /// Puts a compiled statement into the library cache; a hard parse.
    pub fn load(&mut self, text: &str, command: u32, binds: &[BindType], content: &Content<'_>, cx: &mut ExecCtx<'_>) {
        if text.is_empty() {
            return;
        }
        // A plan for the first values of the binds belongs to the earlier parse.
        cx.p.count(Stat::ParseCountHard, u64::from(!content.adaptive.is_first));
        let slot = cx.p.session();
        let (module, action) = (slot.module.get(), slot.action.get());
        let mode = cx.session.options.optimizer_mode;
        let content = Content { module: &module, action: &action, mode, refused: self.refused, ..*content };
        let of = Statement { digest: self.digest_of(text), text: &sql::mask_passwords(text), command };
        let auth = number_of(&cx.host.rights());
        let stale = self.edition.filter(|_| self.is_stale);
        let env = env_of(cx.session, auth, binds);
        let library = cx.shared.library;
        let handle = library.load_instead(cx.p, &of, &env, &content, stale);
        (self.handle, self.edition, self.is_stale) = (Some(handle), Some(library.edition_of(handle)), false);
        self.open(cx);
    }

    fn open(&mut self, cx: &mut ExecCtx<'_>) {
        if let Some(handle) = self.handle {
            self.slot = CursorSlot::default();
            self.slot = cx.shared.library.open(cx.p, handle);
        }
    }

    /// The digest of the statement, and the number of the child cursor.
    pub fn identify(&self, library: &LibraryCache) -> Option<(Digest, u64)> {
        library.identify(self.handle?)
    }

    /// Adds the figures of an execution's operations to the shared cursor.
    pub fn add_run(&self, plan_hash: u32, lines: &[(LineCounts, AreaCounts)], cx: &ExecCtx<'_>) {
        if let Some(handle) = self.handle {
            cx.shared.library.add_run(cx.p, handle, plan_hash, lines);
        }
    }

    /// Makes the shared cursor invalid, because the dictionary changed during the compilation.
    pub fn invalidate(&self, cx: &ExecCtx<'_>) {
        if let Some(handle) = self.handle {
            cx.shared.library.invalidate_cursor(cx.p, handle);
        }
    }

    /// Whether the shared cursor is valid and still has the plan that was found or loaded.
    pub fn has_valid_plan(&self, cx: &ExecCtx<'_>) -> bool {
        self.edition.is_some_and(|edition| cx.shared.library.is_valid_edition(edition))
    }

    /// Whether the shared cursor still exists and is valid.
    pub fn is_valid(&self, cx: &ExecCtx<'_>) -> bool {
        self.handle.is_some_and(|handle| cx.shared.library.is_valid(cx.p, handle))
    }

    /// Records that the session keeps the closed cursor, or uses it again.
    pub fn keep(&self, kept: bool) {
        self.slot.keep(kept);
    }

    /// Counts in the cursor's figure; finds the shared cursor again if it is gone.
    fn with(&mut self, text: &str, command: u32, cx: &mut ExecCtx<'_>, f: impl FnOnce(&mut Delta)) {
        if cx.session.figures.slot(&self.key).is_none() {
            let was_stale = self.key.generation == cx.session.figures.generation + 1;
            if was_stale || self.handle.is_none() {
                let digest = digest(text);
                let library = cx.shared.library;
                let env = env_of(cx.session, number_of(&cx.host.rights()), &[]);
                let load = || {
                    let of = Statement { digest, text: &sql::mask_passwords(text), command };
                    library.load(cx.p, &of, &env, &Content::default())
                };
                self.handle = Some(library.parse(cx.p, digest, &env).unwrap_or_else(load));
                self.open(cx);
            }
            let handle = self.handle.unwrap_or(Handle::NONE);
            self.key = cx.session.figures.add(handle, cx.p, cx.shared.library);
        }
        if let Some(figure) = cx.session.figures.slot(&self.key) {
            f(&mut figure.delta);
        }
    }

    /// Counts a parse call.
    pub fn parsed(&mut self, text: &str, command: u32, cx: &mut ExecCtx<'_>) {
        if !text.is_empty() {
            self.with(text, command, cx, |d| d.parse_calls += 1);
        }
    }

    /// Counts an execution and pins the shared cursor for it. An execution outside of PL/SQL is reported at once, so
    /// that it counts even if the session dies.
    #[inline]
    pub fn executed(&mut self, text: &str, command: u32, run: Run, cx: &mut ExecCtx<'_>) {
        if cx.session.figures.slot(&self.key).is_none() {
            if text.is_empty() {
                return;
            }
            self.with(text, command, cx, |_| {});
        }
        if let Some(handle) = self.handle {
            cx.shared.library.pin(cx.p, &self.slot, handle);
        }
        let is_first = run == Run::First;
        let figures = &mut cx.session.figures;
        let base = Blocks::of(cx.p).less(figures.told);
        figures.executions += 1;
        let (began, is_clients) = (figures.executions, is_first && figures.running.is_empty());
        let Some(figure) = figures.slot(&self.key) else { return };
        let was_open = figure.base.replace(base).is_some();
        figure.began = began;
        figure.delta.executions += u64::from(is_first);
        let is_due = is_clients || figure.delta.executions >= TOLD_EVERY;
        figures.open += u32::from(!was_open);
        if is_due {
            self.tell(cx);
        }
        self.enter(cx);
    }

    /// Reports the counts of a statement that is executed often within a call.
    #[cold]
    fn tell(&self, cx: &mut ExecCtx<'_>) {
        let library = cx.shared.library;
        if let Some(figure) = cx.session.figures.slot(&self.key) {
            figure.tell(cx.p, library);
        }
    }

    /// Begins a segment; does nothing if one is running.
    #[inline]
    pub fn enter(&mut self, cx: &mut ExecCtx<'_>) {
        let meter = &mut cx.session.figures.meter;
        let segment = &mut self.segment;
        if segment.runs {
            return;
        }
        segment.runs = true;
        if segment.left > 1 && segment.call == meter.call && meter.current == NOBODY {
            segment.left -= 1;
            segment.untimed += 1;
            let waited = cx.p.waited_ns();
            if waited != meter.mark.waited_ns {
                meter.rest.waited_ns += waited.saturating_sub(meter.mark.waited_ns);
                meter.mark.waited_ns = waited;
            }
            return;
        }
        self.enter_timed(cx);
    }

    #[inline(never)]
    fn enter_timed(&mut self, cx: &mut ExecCtx<'_>) {
        let figures = &mut cx.session.figures;
        let is_new = self.segment.call != figures.meter.call;
        if is_new {
            self.charge(figures);
            let segment = &mut self.segment;
            (segment.call, segment.seen) = (figures.meter.call, 0);
            // A cursor that stayed open between two calls has no base: `flush` removed it.
            let base = Blocks::of(cx.p).less(figures.told);
            if let Some(figure) = figures.slot(&self.key)
                && figure.base.is_none()
            {
                figure.base = Some(base);
                figures.open += 1;
            }
        }
        if cx.session.options.timing == Timing::Off || self.key.generation != figures.generation + 1 {
            self.segment.left = FIRST;
            return;
        }
        self.segment.is_timed = true;
        self.segment.outer = figures.switch(cx.p, self.key.index);
        self.segment.from = figures.list[self.key.index as usize].timed;
    }

    /// Ends the running segment.
    #[inline]
    pub fn leave(&mut self, cx: &mut ExecCtx<'_>) {
        if !std::mem::take(&mut self.segment.runs) {
            return;
        }
        if self.segment.is_timed {
            return self.leave_timed(cx);
        }
        let figures = &mut cx.session.figures;
        let waited = cx.p.waited_ns();
        let before = std::mem::replace(&mut figures.meter.mark.waited_ns, waited);
        if waited != before
            && let Some(figure) = figures.slot(&self.key)
        {
            figure.estimated_waited_ns += waited.saturating_sub(before);
        }
    }

    #[inline(never)]
    fn leave_timed(&mut self, cx: &mut ExecCtx<'_>) {
        self.segment.is_timed = false;
        let all = cx.session.options.timing == Timing::All;
        let figures = &mut cx.session.figures;
        if self.key.generation != figures.generation + 1 {
            figures.meter.current = NOBODY;
            return;
        }
        figures.switch(cx.p, self.segment.outer);
        let timed = figures.list[self.key.index as usize].timed;
        let segment = &mut self.segment;
        // Dividing the time of a long segment resets the figure's time to zero.
        let ticks = timed.ticks.checked_sub(segment.from.ticks).unwrap_or(timed.ticks) as f32;
        let has_waited = timed.waited_ns != segment.from.waited_ns;
        let (a_ns, seen) = (figures.meter.ticks_a_ns, segment.seen);
        let short = ticks.min((TYPICAL_MOST_NS * a_ns) as f32);
        if segment.mean == 0.0 {
            (segment.typical, segment.mean) = (short, ticks);
        }
        segment.mean += (ticks - segment.mean) / 64.0;
        if !has_waited {
            segment.typical += (short - segment.typical) / 16.0;
        }
        segment.seen = seen.saturating_add(1);
        let always = all || has_waited || seen < FIRST || f64::from(segment.mean) > SHORT_NS * a_ns;
        segment.left = if always { 1 } else { figures.draw().max(1) };
        self.charge(figures);
    }

    /// Charges the statement for untimed segments.
    fn charge(&mut self, figures: &mut Figures) {
        let untimed = std::mem::take(&mut self.segment.untimed);
        let typical = self.segment.typical;
        if untimed > 0
            && let Some(figure) = figures.slot(&self.key)
        {
            figure.estimated += f64::from(untimed) * f64::from(typical);
        }
    }

    /// Ends an execution: its segment and its pin.
    #[inline]
    pub fn finished(&mut self, cx: &mut ExecCtx<'_>) {
        self.leave(cx);
        cx.shared.library.unpin(cx.p, &self.slot);
    }

    /// PL/SQL leaves the open query (`paused`) or returns to it.
    #[inline]
    pub fn pause(&mut self, paused: bool, cx: &mut ExecCtx<'_>) {
        let library = cx.shared.library;
        if paused {
            self.leave(cx);
            library.pause(cx.p, &self.slot);
        } else {
            library.resume(cx.p, &self.slot);
            self.enter(cx);
        }
    }

    /// Counts a client's fetch and the rows sent.
    pub fn fetched(&mut self, rows: u64, cx: &mut ExecCtx<'_>) {
        if let Some(figure) = cx.session.figures.slot(&self.key) {
            figure.delta.rows_processed += rows;
            figure.delta.fetches += 1;
        }
    }

    /// Begins the execution of a PL/SQL block: counts it and pins its shared cursor.
    pub fn block_begins(&mut self, text: &str, command: u32, cx: &mut ExecCtx<'_>) -> OuterBlock {
        let is_clients = cx.session.figures.running.is_empty();
        self.with(text, command, cx, |delta| delta.executions += 1);
        if is_clients {
            self.tell(cx);
        }
        let handle = self.handle.unwrap_or(Handle::NONE);
        let outer = cx.shared.library.pin_block(cx.p, &self.slot, handle);
        let running = Running { key: self.key, handle, since: Figures::now(cx.p), base: Blocks::of(cx.p) };
        cx.session.figures.running.push(running);
        outer
    }

    /// Ends the execution. As in Oracle, one that did not fail counts as one row.
    pub fn block_ends(&mut self, text: &str, command: u32, outer: OuterBlock, rows: u64, cx: &mut ExecCtx<'_>) {
        let figures = &mut cx.session.figures;
        if let Some(last) = figures.running.len().checked_sub(1) {
            figures.so_far(last, cx.p);
            if let Some(block) = figures.running.pop() {
                self.key = block.key;
            }
            self.with(text, command, cx, |all| all.rows_processed += rows);
        }
        cx.shared.library.unpin_block(cx.p, &self.slot, outer);
        if cx.session.figures.slot(&self.key).is_some_and(|figure| figure.delta.executions >= TOLD_EVERY) {
            self.tell(cx);
        }
    }

    /// Counts rows, fetches, time and blocks of an execution.
    #[inline]
    pub fn processed(&mut self, rows: u64, fetches: u64, cx: &mut ExecCtx<'_>) {
        if let Some(figure) = cx.session.figures.slot(&self.key) {
            figure.delta.rows_processed += rows;
            figure.delta.fetches += fetches;
        }
        self.took(cx);
    }

    /// Counts the time and the blocks of an execution, with or without an error.
    #[inline]
    pub fn took(&mut self, cx: &mut ExecCtx<'_>) {
        self.leave(cx);
        let figures = &mut cx.session.figures;
        let now = Blocks::of(cx.p);
        let mut told = figures.told;
        let Some(figure) = figures.slot(&self.key) else { return };
        if figure.base.is_some() {
            figure.settle(now, &mut told);
            figures.open -= 1;
            figures.told = told;
        }
    }
}
