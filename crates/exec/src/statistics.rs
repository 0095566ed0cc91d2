//! A cursor's place in the library cache, and what statements count: executions, parse calls and rows, kept in the session and added
//! to the shared cursors from time to time, so that an execution writes nothing shared.
//!
//! Elapsed time: the first executions of a statement in a session are all timed, then one in sixty-four, which counts for all of them: two
//! readings of the clock at each of millions of executions would be felt. [`Timing`] says when none is, or all are. Processor time is the elapsed time by the share of the
//! processor that the session has had over its last seconds of work.
//!
//! Blocks: what the session has got and read between the beginning of an execution and its end, less what other statements were told of
//! meanwhile, so that a loop over rows is not charged with what its body reads. Of cursors that are open side by side and end in another
//! order than they began, one may be charged with what another got before it.
//!
//! A block of PL/SQL is charged with all that happens while it runs, and so is the block around it. It is always timed: what a client calls
//! by the processor's clock, too, a block inside another by the share. Blocks that run for long are told of while they do.

use crate::ctx::{ExecCtx, SessionState};
use library_cache::{Content, CursorSlot, Delta, Digest, Env, Handle, LibraryCache, OuterBlock, Statement};
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

/// Which executions of a statement are timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// So many at first.
    first: u64,
    /// Then those whose number has none of these bits.
    mask: u64,
}

impl Timing {
    /// None: ELAPSED_TIME and CPU_TIME stay as they are.
    pub const OFF: Timing = Timing { first: 0, mask: u64::MAX };
    /// Each of the first, then one in sixty-four, which stands for all.
    pub const SAMPLED: Timing = Timing { first: 32, mask: 63 };
    /// Each.
    pub const ALL: Timing = Timing { first: 0, mask: 0 };
}

/// Which time an execution runs: the second time counts as no execution of its own, and so do those of an array behind the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Run {
    First,
    Again,
}

/// Executions of a statement after which it is told within a call.
const TOLD_EVERY: u64 = 1024;
/// Time between two tellings of what runs for long.
const PROGRESS_NS: u64 = 1_000_000_000;
/// Busy time over which the share of the processor is measured.
const SHARE_NS: u64 = 2_000_000;

struct Figure {
    handle: Handle,
    delta: Delta,
    /// Executions so far, told or not.
    seen: u64,
    /// When the execution began that is being timed, and for how many it stands; 0 for none.
    started_ns: u64,
    stands_for: u64,
    elapsed_ns: u64,
    /// Blocks got and read when the execution began, less those that statements were told of; `None` outside of an execution.
    base: Option<Blocks>,
    /// The shared entry has given way to another statement.
    stale: bool,
}

/// Blocks got and blocks read, and microseconds of waits of the class User I/O.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Blocks {
    gets: u64,
    reads: u64,
    io_us: u64,
}

impl Blocks {
    /// Those of a session so far.
    #[inline]
    fn of(p: &Process) -> Blocks {
        let line = p.stats();
        let (gets, reads) = (line.get(Stat::SessionLogicalReads), line.get(Stat::PhysicalReads));
        Blocks { gets, reads, io_us: p.user_io_us() }
    }

    /// What is left without others; nothing where these are more.
    #[inline]
    fn less(self, other: Blocks) -> Blocks {
        Blocks {
            gets: self.gets.saturating_sub(other.gets),
            reads: self.reads.saturating_sub(other.reads),
            io_us: self.io_us.saturating_sub(other.io_us),
        }
    }
}

impl Figure {
    fn new(handle: Handle) -> Figure {
        Figure {
            handle,
            delta: Delta::default(),
            seen: 0,
            started_ns: 0,
            stands_for: 0,
            elapsed_ns: 0,
            base: None,
            stale: false,
        }
    }

    #[inline]
    fn executed(&mut self, run: Run, timing: Timing) {
        self.delta.executions += u64::from(run == Run::First);
        self.seen += 1;
        if self.seen <= timing.first || self.seen & timing.mask == 0 {
            self.stands_for = if self.seen <= timing.first { 1 } else { timing.mask + 1 };
            self.started_ns = os::clock::now_ns();
        }
    }

    #[inline]
    fn ended(&mut self) {
        if self.started_ns != 0 {
            self.elapsed_ns += (os::clock::now_ns() - self.started_ns) * self.stands_for;
            self.started_ns = 0;
        }
    }

    /// Adds what has been counted to the shared entry.
    fn tell(&mut self, library: &LibraryCache, share: u64) {
        let us = self.elapsed_ns / 1000;
        self.elapsed_ns %= 1000;
        self.delta.elapsed_us += us;
        self.delta.cpu_us += us * share / 1000;
        if self.delta != Delta::default() {
            self.stale |= !library.add(self.handle, &self.delta);
            self.delta = Delta::default();
        }
    }
}

/// The share of a processor that the session has.
#[derive(Default)]
struct Meter {
    /// Since when the session is busy and that is not in `busy_ns`; 0 while it is idle.
    since_ns: u64,
    busy_ns: u64,
    /// Processor time of the process when `busy_ns` was 0.
    cpu_ns: u64,
    /// Busy time and processor time so far, the past counting less and less.
    all_busy_ns: u64,
    all_cpu_ns: u64,
}

/// Busy time after which the past counts half.
const PAST_NS: u64 = 4_000_000_000;

impl Meter {
    fn read(&mut self) -> u64 {
        if self.since_ns != 0 {
            let now = os::clock::now_ns();
            self.busy_ns += now - self.since_ns;
            self.since_ns = now;
            if self.busy_ns >= SHARE_NS {
                let cpu = os::clock::thread_cpu_ns();
                self.all_cpu_ns += cpu - self.cpu_ns;
                self.all_busy_ns += self.busy_ns;
                if self.all_busy_ns > PAST_NS {
                    self.all_busy_ns /= 2;
                    self.all_cpu_ns /= 2;
                }
                self.cpu_ns = cpu;
                self.busy_ns = 0;
            }
        }
        self.share()
    }

    /// As it was read last.
    fn share(&self) -> u64 {
        (self.all_cpu_ns * 1000).checked_div(self.all_busy_ns).map_or(1000, |share| share.min(1000))
    }
}

/// A block that runs, and what it was told of so far.
struct Running {
    handle: Handle,
    /// The execution itself, until it has been told.
    executions: u64,
    /// Since when it is to be charged; 0 where nothing is timed.
    since_ns: u64,
    /// The same by the clock of the processor; 0 where the share of it must do.
    since_cpu_ns: u64,
    base: Blocks,
}

impl Running {
    /// What is to be told now; the rest begins here.
    fn so_far(&mut self, p: &Process, share: u64) -> Delta {
        let blocks = Blocks::of(p);
        let own = blocks.less(std::mem::replace(&mut self.base, blocks));
        let mut delta = Delta {
            executions: std::mem::take(&mut self.executions),
            buffer_gets: own.gets,
            disk_reads: own.reads,
            user_io_us: own.io_us,
            ..Delta::default()
        };
        if self.since_ns != 0 {
            let now = os::clock::now_ns();
            // To the nearest microsecond.
            delta.elapsed_us = (now - self.since_ns + 500) / 1000;
            self.since_ns = now;
            delta.cpu_us = delta.elapsed_us * share / 1000;
            if self.since_cpu_ns != 0 {
                let cpu = os::clock::thread_cpu_ns();
                delta.cpu_us = (cpu.saturating_sub(self.since_cpu_ns) + 500) / 1000;
                self.since_cpu_ns = cpu;
            }
        }
        delta
    }
}

/// A session's figures by statement.
#[derive(Default)]
pub struct Figures {
    list: Vec<Figure>,
    /// Grows when the list starts anew: indexes into it are then void.
    generation: u32,
    meter: Meter,
    /// Blocks that statements of the session have been told of.
    told: Blocks,
    /// Blocks of PL/SQL that run, each inside the one before it.
    running: Vec<Running>,
    /// When [`Figures::progress`] has something to tell again.
    progress_ns: u64,
}

impl Figures {
    fn slot(&mut self, key: &StatementKey) -> Option<&mut Figure> {
        if key.generation != self.generation + 1 {
            return None;
        }
        self.list.get_mut(key.index as usize).filter(|f| !f.stale)
    }

    /// Says that a call begins.
    pub fn begin_call(&mut self) {
        if self.meter.cpu_ns == 0 {
            self.meter.cpu_ns = os::clock::thread_cpu_ns();
        }
        self.meter.since_ns = os::clock::now_ns();
    }

    /// Adds what has been counted so far to the shared entries, in the middle of a call; once a second, however often it is asked.
    pub fn progress(&mut self, p: &Process, library: &LibraryCache) {
        let now = os::clock::now_ns();
        if now < self.progress_ns {
            return;
        }
        self.progress_ns = now + PROGRESS_NS;
        let share = self.meter.read();
        for figure in &mut self.list {
            figure.tell(library, share);
        }
        for block in &mut self.running {
            let delta = block.so_far(p, share);
            library.add(block.handle, &delta);
        }
    }

    /// Adds everything counted to the shared entries. To be called at the end of a call, and before the session ends.
    pub fn flush(&mut self, _p: &Process, library: &LibraryCache) {
        let share = self.meter.read();
        self.meter.since_ns = 0;
        for f in &mut self.list {
            // What a client does between two fetches is not the statement's time.
            f.ended();
            f.tell(library, share);
        }
        if self.list.len() >= STATEMENTS_MOST {
            self.list.clear();
            self.generation += 1;
        }
    }
}

/// Where a cursor counts.
#[derive(Clone, Copy, Debug, Default)]
struct StatementKey {
    index: u32,
    /// The list's generation plus one; 0 is nowhere yet.
    generation: u32,
}

/// A cursor's place in the library cache: the shared cursor it found or loaded, the word that shows it to others, and where its
/// figures are.
#[derive(Default)]
pub struct Place {
    handle: Option<Handle>,
    slot: CursorSlot,
    key: StatementKey,
}

/// What makes the cursors of a statement differ, as the session is now.
fn env_of<'a>(session: &'a SessionState, binds: &[BindType]) -> Env<'a> {
    Env {
        user: session.parsing_user,
        schema: &session.schema,
        optimizer: session.options.optimizer,
        nls: session.nls_fingerprint(),
        binds: bind_signature(binds),
    }
}

/// A number for the types of binds, by what they are compared as; 0 while one of them is not known.
fn bind_signature(binds: &[BindType]) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    for bind in binds {
        match bind {
            Some(ty) => (plan::class(ty) as u8).hash(&mut hasher),
            None => return 0,
        }
    }
    if binds.is_empty() { 0 } else { hasher.finish() | 1 }
}

impl Place {
    /// Looks a statement up; a soft parse when it is found, otherwise the cursor is to be compiled and [`Place::load`]ed. A
    /// statement without a text is not shared.
    pub fn parse(text: &str, binds: &[BindType], cx: &mut ExecCtx<'_>) -> Place {
        let mut place = Place::default();
        if !text.is_empty() {
            place.handle = cx.shared.library.parse(cx.p, digest(text), &env_of(cx.session, binds));
            place.open(cx);
        }
        place
    }

    /// Whether there is a shared cursor.
    pub fn is_found(&self) -> bool {
        self.handle.is_some()
    }

    /// Puts a compiled statement into the library cache; a hard parse.
    pub fn load(&mut self, text: &str, command: u32, binds: &[BindType], content: &Content<'_>, cx: &mut ExecCtx<'_>) {
        if text.is_empty() {
            return;
        }
        cx.p.count(Stat::ParseCountHard, 1);
        let slot = cx.p.session();
        let (module, action) = (slot.module.get(), slot.action.get());
        let mode = cx.session.options.optimizer_mode;
        let content = Content { module: &module, action: &action, mode, ..*content };
        let of = Statement { digest: digest(text), text: &sql::mask_passwords(text), command };
        self.handle = Some(cx.shared.library.load(cx.p, &of, &env_of(cx.session, binds), &content));
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
                let env = env_of(cx.session, &[]);
                let load = || {
                    let of = Statement { digest, text: &sql::mask_passwords(text), command };
                    library.load(cx.p, &of, &env, &Content::default())
                };
                self.handle = Some(library.parse(cx.p, digest, &env).unwrap_or_else(load));
                self.open(cx);
            }
            let figures = &mut cx.session.figures;
            if figures.list.len() >= 2 * STATEMENTS_MOST {
                figures.flush(cx.p, cx.shared.library);
            }
            self.key = StatementKey { index: figures.list.len() as u32, generation: figures.generation + 1 };
            let handle = self.handle.unwrap_or(Handle::NONE);
            figures.list.push(Figure::new(handle));
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

    /// Counts an execution and pins the shared cursor for it.
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
        let timing = cx.session.options.timing;
        let base = Blocks::of(cx.p).less(cx.session.figures.told);
        let Some(figure) = cx.session.figures.slot(&self.key) else { return };
        figure.executed(run, timing);
        figure.base = Some(base);
        if figure.delta.executions >= TOLD_EVERY || run == Run::Again && figure.seen.is_multiple_of(TOLD_EVERY) {
            self.tell(cx);
        }
    }

    /// Tells of a statement that a call executes again and again.
    #[cold]
    fn tell(&self, cx: &mut ExecCtx<'_>) {
        let share = cx.session.figures.meter.read();
        let library = cx.shared.library;
        if let Some(figure) = cx.session.figures.slot(&self.key) {
            figure.tell(library, share);
        }
    }

    /// Ends the pin of an execution.
    #[inline]
    pub fn finished(&self, cx: &ExecCtx<'_>) {
        cx.shared.library.unpin(cx.p, &self.slot);
    }

    /// Says that PL/SQL leaves the open query alone, or goes on with it.
    #[inline]
    pub fn pause(&self, paused: bool, cx: &ExecCtx<'_>) {
        let library = cx.shared.library;
        if paused { library.pause(cx.p, &self.slot) } else { library.resume(cx.p, &self.slot) }
    }

    /// Begins the execution of a block of PL/SQL: counts and pins it.
    pub fn block_begins(&mut self, text: &str, command: u32, cx: &mut ExecCtx<'_>) -> OuterBlock {
        self.with(text, command, cx, |_| {});
        let handle = self.handle.unwrap_or(Handle::NONE);
        let outer = cx.shared.library.pin_block(cx.p, &self.slot, handle);
        let is_timed = cx.session.options.timing != Timing::OFF;
        let figures = &mut cx.session.figures;
        let is_outermost = figures.running.is_empty();
        figures.running.push(Running {
            handle,
            executions: 1,
            since_ns: if is_timed { os::clock::now_ns() } else { 0 },
            since_cpu_ns: if is_timed && is_outermost { os::clock::thread_cpu_ns() } else { 0 },
            base: Blocks::of(cx.p),
        });
        outer
    }

    /// Ends it. Oracle counts a row for each execution that did not fail.
    pub fn block_ends(&mut self, text: &str, command: u32, outer: OuterBlock, rows: u64, cx: &mut ExecCtx<'_>) {
        let share = cx.session.figures.meter.share();
        if let Some(mut running) = cx.session.figures.running.pop() {
            let delta = Delta { rows_processed: rows, ..running.so_far(cx.p, share) };
            self.with(text, command, cx, |all| all.add(&delta));
        }
        cx.shared.library.unpin_block(cx.p, &self.slot, outer);
        if cx.session.figures.slot(&self.key).is_some_and(|figure| figure.delta.executions >= TOLD_EVERY) {
            self.tell(cx);
        }
    }

    /// Counts rows fetched or changed, and what the execution took.
    #[inline]
    pub fn processed(&mut self, rows: u64, cx: &mut ExecCtx<'_>) {
        if let Some(figure) = cx.session.figures.slot(&self.key) {
            figure.delta.rows_processed += rows;
            figure.delta.fetches += 1;
        }
        self.took(cx);
    }

    /// Counts the time and the blocks of an execution, also of one that failed.
    #[inline]
    pub fn took(&mut self, cx: &mut ExecCtx<'_>) {
        let now = Blocks::of(cx.p).less(cx.session.figures.told);
        let Some(figure) = cx.session.figures.slot(&self.key) else { return };
        figure.ended();
        if let Some(base) = figure.base.take() {
            let own = now.less(base);
            figure.delta.buffer_gets += own.gets;
            figure.delta.disk_reads += own.reads;
            figure.delta.user_io_us += own.io_us;
            let told = &mut cx.session.figures.told;
            (told.gets, told.reads, told.io_us) =
                (told.gets + own.gets, told.reads + own.reads, told.io_us + own.io_us);
        }
    }
}
