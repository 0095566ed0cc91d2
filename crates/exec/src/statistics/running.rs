//! Executions of a cursor: counted, timed, and charged to its statement.

use super::figure::Blocks;
use super::figures::{Figures, NOBODY, Running, Timing};
use super::place::{Place, digest, env_of, number_of};
use crate::ctx::ExecCtx;
use library_cache::{Content, Delta, Handle, OuterBlock, Statement};

/// Whether an execution counts. A restart does not, nor do the executions of an array after the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Run {
    First,
    Again,
}

/// Executions of a statement after which its figures are reported within a call.
const TOLD_EVERY: u64 = 1024;
/// Segments of a cursor at the beginning of a call that are all timed.
const FIRST: u32 = 32;
/// All segments are timed if they take longer on average.
const SHORT_NS: f64 = 4_000.0;
/// Longest time used as that of a typical segment: a longer one was most likely without a processor for a while.
const TYPICAL_MOST_NS: f64 = 50_000.0;

impl Place {
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
