//! A cursor's place in the library cache, and what statements count: executions, parse calls and rows, kept in the
//! session and added to the shared cursors from time to time, so that an execution writes nothing shared.
//!
//! # Time
//!
//! A call's elapsed time and processor time are measured by the clocks when it begins and when it ends, and once a
//! second while it lasts. The statements that ran in it share that time; what none of them takes is the time of PL/SQL
//! and of the call itself. So the times of the statements of a session never add up to more than the session had. A
//! *segment* is a stretch in which one cursor runs: from the beginning of its execution, or of a fetch, until it ends
//! or PL/SQL leaves the open query alone. A segment that is timed reads the time-stamp counter at both ends. The first
//! segments of a cursor in a call are all timed, and all of one whose segments are long; of short ones in a loop one in
//! sixty-four on average, at random, is timed, and the others are taken to need as much processor time as the timed
//! ones, without what a timed one waited or stood without a processor. See decision 15.
//!
//! A statement's time is without that of statements that run inside it, and so are its blocks.
//!
//! # Blocks
//!
//! What the session has got and read between the beginning of an execution and its end, less what other statements were
//! told of meanwhile, so that a loop over rows is not charged with what its body reads. Of cursors that are open side
//! by side and end in another order than they began, one may be charged with what another got before it, in one call.
//!
//! A block of PL/SQL is charged with all that happens while it runs, and so is the block around it. What runs for long
//! is told of while it does.

use crate::ctx::{ExecCtx, Rights, SessionState};
use library_cache::{
    AreaCounts, Content, CursorSlot, Delta, Digest, Edition, Env, Fit, Handle, Kin, LibraryCache, LineCounts, Mismatch,
    OuterBlock, Sharing, Statement,
};
use md5::Digest as _;
use plan::BindType;
use process::Process;
use std::hash::{Hash, Hasher};
use wait::Stat;

/// Statements a session keeps figures of before it starts anew.
const STATEMENTS_MOST: usize = 4096;

/// MD5 of a statement's text and a NUL.
pub fn digest(text: &str) -> Digest {
    let mut hasher = md5::Md5::new();
    hasher.update(text.as_bytes());
    hasher.update([0]);
    Digest(hasher.finalize().into())
}

/// The choice of the segments of a statement that are timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// None: ELAPSED_TIME and CPU_TIME stay as they are.
    Off,
    /// Long ones, and some of the short ones, which stand for all.
    Sampled,
    /// Each.
    All,
}

/// Which time an execution runs: the second time counts as no execution of its own, and so do those of an array behind
/// the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Run {
    First,
    Again,
}

/// Executions of a statement after which it is told within a call.
const TOLD_EVERY: u64 = 1024;
/// Time between two tellings of what runs for long.
const PROGRESS_NS: u64 = 1_000_000_000;
/// Segments of a cursor that are all timed at the beginning of a call.
const FIRST: u32 = 32;
/// On average one in so many short segments is timed; a power of two.
const ONE_IN: u32 = 64;
/// Segments that take longer on average are all timed.
const SHORT_NS: f64 = 4_000.0;
/// No segment stands for others with more than this: what took longer stood without a processor, most likely.
const TYPICAL_MOST_NS: f64 = 50_000.0;
/// Ticks of a nanosecond until a call has measured it.
const TICKS_A_NS: f64 = 2.5;
/// No figure: what runs is no statement.
const NOBODY: u32 = u32::MAX;

/// A length of time.
#[derive(Clone, Copy, Debug, Default)]
struct Span {
    /// By the time-stamp counter.
    ticks: u64,
    /// Nanoseconds of it in waits.
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
    /// Segments that were not: ticks of a processor that they are taken to need, and nanoseconds of their waits.
    estimated: f64,
    estimated_waited_ns: u64,
    /// Executions of a block, with all that ran in them.
    inclusive: Span,
    /// Parts of a microsecond that are left of what was told.
    elapsed_ns: f64,
    cpu_ns: f64,
    /// Blocks got and read when the execution, or its part in this call, began, less those that statements were told
    /// of; `None` outside of an execution.
    base: Option<Blocks>,
    /// Which of the executions of the session it is that `base` belongs to.
    began: u64,
    /// It stands in the list of what is to be told.
    is_noted: bool,
    /// The shared entry has given way to another statement.
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
    /// Those of a session so far.
    #[inline]
    fn of(p: &Process) -> Blocks {
        let line = p.stats();
        let (gets, reads) = (line.get(Stat::SessionLogicalReads), line.get(Stat::PhysicalReads));
        Blocks { gets, reads, waits_us: p.charged_us() }
    }

    /// What is left without others; nothing where these are more.
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

    /// Charges it with the blocks since `base`; the others are told so.
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

    /// Adds what has been counted to the shared entry.
    fn tell(&mut self, library: &LibraryCache) {
        let whole = |ns: &mut f64| {
            let us = (*ns / 1000.0).floor().max(0.0);
            *ns -= us * 1000.0;
            us as u64
        };
        self.delta.elapsed_us += whole(&mut self.elapsed_ns);
        self.delta.cpu_us += whole(&mut self.cpu_ns);
        if self.delta != Delta::default() {
            self.stale |= !library.add(self.handle, &self.delta);
            self.delta = Delta::default();
        }
    }
}

/// The clocks of the call in progress.
struct Meter {
    /// When the call, or the part of it that has not been shared out, began; 0 outside of a call.
    began_ns: u64,
    /// Processor time of the process when time was shared out last; 0 before the first time.
    cpu_ns: u64,
    /// Whose segment runs: a place in the list, or nobody's.
    current: u32,
    /// Counter and waits when that was settled last.
    mark: Span,
    /// Time that belongs to no statement.
    rest: Span,
    /// As the longest part of a call that was looked at last says.
    ticks_a_ns: f64,
    /// Which call it is.
    call: u64,
    /// For what is drawn by lot.
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

/// How the time of a part of a call is shared out.
struct Share {
    ns_a_tick: f64,
    /// Of a nanosecond in which the session did not wait, the part that it had a processor.
    processor: f64,
    /// Elapsed nanoseconds for a tick of what was estimated.
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
        // Segments that were not timed are part of the time that belongs to no statement.
        let left = (rest.ticks as f64 * ns_a_tick - rest.waited_ns as f64 - estimated_waited).max(0.0);
        let estimate = if estimated * wanted > left { left / estimated } else { wanted };
        Share { ns_a_tick, processor, estimate }
    }

    /// Gives a figure its own.
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

/// A block that runs, and what it was told of so far.
struct Running {
    /// Where it counts.
    key: StatementKey,
    handle: Handle,
    since: Span,
    base: Blocks,
}

/// A session's figures by statement.
#[derive(Default)]
pub struct Figures {
    list: Vec<Figure>,
    /// Places in the list of those that have something to tell.
    noted: Vec<u32>,
    /// Grows when the list starts anew: indexes into it are then void.
    generation: u32,
    meter: Meter,
    /// Blocks that statements of the session have been told of.
    told: Blocks,
    /// Executions so far, and how many of them have a base.
    executions: u64,
    open: u32,
    /// Blocks of PL/SQL that run, each inside the one before it.
    running: Vec<Running>,
    /// When [`Figures::progress`] has something to tell again.
    progress_ns: u64,
}

impl Figures {
    /// A figure that is about to change.
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

    /// Says that a call begins.
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

    /// Whose segment runs from now on; gives whose ran before.
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

    /// A number below `2 * ONE_IN`, one after another as if drawn by lot.
    fn draw(&mut self) -> u32 {
        let lot = &mut self.meter.lot;
        *lot ^= *lot << 13;
        *lot ^= *lot >> 17;
        *lot ^= *lot << 5;
        *lot & (2 * ONE_IN - 1)
    }

    /// Shares out the time since the call began, or since this was done last.
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

    /// Charges statements that are open with their blocks: the one that began last first, since it may run inside the
    /// others.
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

    /// What the block at a place has done so far is told; the rest begins here.
    fn so_far(&mut self, at: usize, p: &Process) {
        let (now, blocks) = (Figures::now(p), Blocks::of(p));
        let Some(block) = self.running.get_mut(at) else { return };
        let since = std::mem::replace(&mut block.since, now);
        let own = blocks.less(std::mem::replace(&mut block.base, blocks));
        if block.key.generation != self.generation + 1 {
            // The list has started anew.
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

    fn tell_noted(&mut self, library: &LibraryCache) {
        for at in self.noted.drain(..) {
            if let Some(figure) = self.list.get_mut(at as usize) {
                figure.is_noted = false;
                figure.tell(library);
            }
        }
    }

    /// Adds what has been counted so far to the shared entries, in the middle of a call; once a second, however often
    /// it is asked.
    pub fn progress(&mut self, p: &Process, library: &LibraryCache) {
        let now = os::clock::now_ns();
        if now < self.progress_ns {
            return;
        }
        self.tell_so_far(p, library);
    }

    /// As [`Figures::progress`], now: somebody has asked for it.
    #[cold]
    pub fn tell_so_far(&mut self, p: &Process, library: &LibraryCache) {
        self.progress_ns = os::clock::now_ns() + PROGRESS_NS;
        self.settle_open(p, true);
        self.share_out(p);
        self.tell_noted(library);
    }

    /// Adds everything counted to the shared entries. To be called at the end of a call, and before the session ends.
    pub fn flush(&mut self, p: &Process, library: &LibraryCache) {
        if self.open > 0 {
            self.settle_open(p, false);
        }
        self.share_out(p);
        self.tell_noted(library);
        // The client's time between two fetches is not the statement's.
        self.meter.began_ns = 0;
        self.meter.current = NOBODY;
        if self.list.len() >= STATEMENTS_MOST {
            self.start_anew();
        }
    }

    /// Processor time of the thread at the end of the call, when it was told last.
    pub fn cpu_ns(&self) -> u64 {
        self.meter.cpu_ns
    }

    /// Forgets statements: there are too many of them. All has been told.
    fn start_anew(&mut self) {
        self.list.clear();
        self.noted.clear();
        self.open = 0;
        self.meter.current = NOBODY;
        self.generation += 1;
    }

    /// A place for a statement.
    fn add(&mut self, handle: Handle, p: &Process, library: &LibraryCache) -> StatementKey {
        if self.list.len() >= 2 * STATEMENTS_MOST {
            self.settle_open(p, false);
            self.share_out(p);
            self.tell_noted(library);
            self.start_anew();
        }
        let key = StatementKey { index: self.list.len() as u32, generation: self.generation + 1 };
        self.list.push(Figure::new(handle));
        key
    }
}

/// Where a cursor counts.
#[derive(Clone, Copy, Debug, Default)]
struct StatementKey {
    index: u32,
    /// The list's generation plus one; 0 is nowhere yet.
    generation: u32,
}

/// A cursor's place in the library cache: the shared cursor it found or loaded, the word that shows it to others, and
/// where its figures are.
#[derive(Default)]
pub struct Place {
    handle: Option<Handle>,
    /// Of the text, when it has been worked out.
    digest: Option<Digest>,
    /// The shared cursor as it was found, when its image was read.
    edition: Option<Edition>,
    /// What was found is of no use: another takes its place.
    is_stale: bool,
    /// Shared cursors of others, where there is none of the session's own.
    kin: Kin,
    /// Why none of them would do: bits of [`Mismatch`].
    refused: u64,
    slot: CursorSlot,
    key: StatementKey,
    segment: Segment,
}

/// The segment of a cursor that runs or ran last, and what its segments are like.
#[derive(Default)]
struct Segment {
    runs: bool,
    is_timed: bool,
    /// Segments up to the next one that is timed, that one counted; 1 and 0: the next.
    left: u32,
    /// Segments that were not timed and have not been charged.
    untimed: u32,
    /// Segments of this call that were timed.
    seen: u32,
    call: u64,
    /// Whose segment it interrupts.
    outer: u32,
    /// What the figure had when it began.
    from: Span,
    /// Ticks of a short segment, and of any.
    typical: f32,
    mean: f32,
}

/// What makes the cursors of a statement differ, as the session is now. `auth` is a number for its rights.
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

/// A number for rights beyond the user's own.
fn number_of(rights: &Rights) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    rights.hash(&mut hasher);
    hasher.finish()
}

/// A number for the types of binds; 0 while one of them is not known.
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
    /// Looks a statement up; a soft parse when it is found, otherwise the cursor is to be compiled and
    /// [`Place::load`]ed. A statement without a text is not shared.
    pub fn parse(text: &str, rights: &Rights, binds: &[BindType], cx: &mut ExecCtx<'_>) -> Place {
        Place::parse_for(text, rights, binds, None, cx)
    }

    /// As [`Place::parse`], for values of binds with these selectivities.
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
            match cx.shared.library.parse_or_kin(cx.p, digest, &env, selectivities) {
                Ok(handle) => place.handle = Some(handle),
                Err(kin) => place.kin = kin,
            }
            place.open(cx);
        }
        place
    }

    /// The same shared cursor, to be loaded again as it is now: it was made without the values of its binds.
    pub fn again(&self, cx: &ExecCtx<'_>) -> Place {
        let edition = self.handle.map(|handle| cx.shared.library.edition_of(handle));
        Place { handle: self.handle, digest: self.digest, edition, is_stale: edition.is_some(), ..Place::default() }
    }

    /// Whether another session has loaded the shared cursor again.
    pub fn is_loaded_again(&self, cx: &ExecCtx<'_>) -> bool {
        let now = self.handle.map(|handle| cx.shared.library.edition_of(handle));
        self.edition.is_some() && now != self.edition
    }

    /// How the shared cursor is shared by values of binds.
    pub fn sharing(&self, cx: &ExecCtx<'_>) -> Sharing {
        self.handle.map_or(Sharing::Plain, |handle| cx.shared.library.sharing(handle))
    }

    /// Whether the shared cursor may be executed with values of these selectivities.
    pub fn fits<S: AsRef<[f64]>>(&self, selectivities: impl FnOnce() -> S, cx: &ExecCtx<'_>) -> bool {
        self.handle.is_none_or(|handle| cx.shared.library.fit(handle, selectivities) == Fit::Shared)
    }

    /// The corrections that an execution has found for a shared cursor of the statement, for the next planning.
    pub fn corrections(&self, text: &str, binds: &[BindType], cx: &ExecCtx<'_>) -> Vec<plan::Correction> {
        if text.is_empty() {
            return Vec::new();
        }
        let env = env_of(cx.session, number_of(&cx.host.rights()), binds);
        let found = cx.shared.library.corrections(cx.p, self.digest_of(text), &env);
        found.into_iter().map(|(scan, factor)| plan::Correction { scan, factor }).collect()
    }

    /// Puts the shared cursor out of use, with what an execution has found out about its estimates. False: there is
    /// none.
    pub fn correct(&self, found: &[plan::Correction], cx: &ExecCtx<'_>) -> bool {
        let found: Vec<(u64, f64)> = found.iter().map(|c| (c.scan, c.factor)).collect();
        self.handle.is_some_and(|handle| cx.shared.library.correct(cx.p, handle, &found))
    }

    /// Tells the shared cursor of executions by bucket, and of the last one's values, rows and buffer gets.
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

    /// Whether an image of the cursor would be left out again, so that it need not be made.
    pub fn refuses_image(&self, cx: &ExecCtx<'_>) -> bool {
        !self.is_stale && self.handle.is_some_and(|handle| cx.shared.library.left_out(handle).is_some())
    }

    /// The shared cursor as it was when its image was read or it was loaded.
    pub fn edition(&self) -> Option<Edition> {
        self.edition
    }

    /// The shared cursor; none where there was no room.
    #[inline]
    pub fn handle(&self) -> Handle {
        self.handle.unwrap_or(Handle::NONE)
    }

    /// Shared cursors for other users, schemas or rights, which the session may try.
    pub fn kin(&self) -> Kin {
        self.kin
    }

    /// Says that one of [`Place::kin`] means the same to the session.
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

    /// Notes why one of [`Place::kin`] does not.
    pub fn refuse_kin(&mut self, why: Mismatch) {
        self.refused |= 1 << why as u64;
    }

    /// The epoch of the dictionary, if the image has been found good in it.
    pub fn known_epoch(&self, now: u64, cx: &ExecCtx<'_>) -> Option<u64> {
        let number = dictionary::DictionaryShared::number_of(now)?;
        let edition = self.edition?;
        cx.shared.library.is_known(edition, number).then_some(now)
    }

    /// Notes for all sessions that the image is good in the dictionary of an epoch.
    pub fn set_known(&self, epoch: u64, cx: &ExecCtx<'_>) {
        if let (Some(edition), Some(number)) = (self.edition, dictionary::DictionaryShared::number_of(epoch)) {
            cx.shared.library.set_known(edition, number);
        }
    }

    /// Says that the names of the shared cursor do not mean any more what they did.
    pub fn set_stale(&mut self) {
        self.is_stale = true;
    }

    /// Puts a compiled statement into the library cache; a hard parse.
    pub fn load(&mut self, text: &str, command: u32, binds: &[BindType], content: &Content<'_>, cx: &mut ExecCtx<'_>) {
        if text.is_empty() {
            return;
        }
        // A plan for the first values of the binds belongs to the parse before.
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

    /// The shared cursor's statement and number.
    pub fn identify(&self, library: &LibraryCache) -> Option<(Digest, u64)> {
        library.identify(self.handle?)
    }

    /// Adds what the operations of an execution did to the figures of the shared cursor.
    pub fn add_run(&self, plan_hash: u32, lines: &[(LineCounts, AreaCounts)], cx: &ExecCtx<'_>) {
        if let Some(handle) = self.handle {
            cx.shared.library.add_run(cx.p, handle, plan_hash, lines);
        }
    }

    /// Makes the shared cursor invalid: the dictionary has changed while it was compiled.
    pub fn invalidate(&self, cx: &ExecCtx<'_>) {
        if let Some(handle) = self.handle {
            cx.shared.library.invalidate_cursor(cx.p, handle);
        }
    }

    /// Whether the shared cursor still has the plan that it was found or loaded with, and nothing made it invalid.
    pub fn has_valid_plan(&self, cx: &ExecCtx<'_>) -> bool {
        self.edition.is_some_and(|edition| cx.shared.library.is_valid_edition(edition))
    }

    /// Whether the shared cursor is still there and not out of date.
    pub fn is_valid(&self, cx: &ExecCtx<'_>) -> bool {
        self.handle.is_some_and(|handle| cx.shared.library.is_valid(cx.p, handle))
    }

    /// Says that the cursor is closed and kept, or used again.
    pub fn keep(&self, kept: bool) {
        self.slot.keep(kept);
    }

    /// Counts in the session's list; finds the shared cursor again when it has gone.
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

    /// Counts an execution and pins the shared cursor for it. A client's is told at once, so that it counts whatever
    /// becomes of the session.
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

    /// Tells of a statement that a call executes again and again.
    #[cold]
    fn tell(&self, cx: &mut ExecCtx<'_>) {
        let library = cx.shared.library;
        if let Some(figure) = cx.session.figures.slot(&self.key) {
            figure.tell(library);
        }
    }

    /// A segment begins; nothing where one runs.
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
            // Nothing was charged between the calls.
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

    /// The segment that runs ends.
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
        // Time is shared out in the middle of long ones, which begin at nothing then.
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

    /// Charges the statement with segments that were not timed.
    fn charge(&mut self, figures: &mut Figures) {
        let untimed = std::mem::take(&mut self.segment.untimed);
        let typical = self.segment.typical;
        if untimed > 0
            && let Some(figure) = figures.slot(&self.key)
        {
            figure.estimated += f64::from(untimed) * f64::from(typical);
        }
    }

    /// Ends the pin of an execution.
    #[inline]
    pub fn finished(&mut self, cx: &mut ExecCtx<'_>) {
        self.leave(cx);
        cx.shared.library.unpin(cx.p, &self.slot);
    }

    /// Says that PL/SQL leaves the open query alone, or goes on with it.
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

    /// Counts a fetch of a client, with the rows that were sent to it.
    pub fn fetched(&mut self, rows: u64, cx: &mut ExecCtx<'_>) {
        if let Some(figure) = cx.session.figures.slot(&self.key) {
            figure.delta.rows_processed += rows;
            figure.delta.fetches += 1;
        }
    }

    /// Begins the execution of a block of PL/SQL: counts and pins it.
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

    /// Ends it. Oracle counts a row for each execution that did not fail.
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

    /// Counts rows and fetches, and what the execution took.
    #[inline]
    pub fn processed(&mut self, rows: u64, fetches: u64, cx: &mut ExecCtx<'_>) {
        if let Some(figure) = cx.session.figures.slot(&self.key) {
            figure.delta.rows_processed += rows;
            figure.delta.fetches += fetches;
        }
        self.took(cx);
    }

    /// Counts the time and the blocks of an execution, also of one that failed.
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
