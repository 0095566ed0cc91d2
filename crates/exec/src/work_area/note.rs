//! Counting a work area: in memory, in one pass, in more, and with the other targets.

use super::areas::{
    BYTES, CLASSES, ESTIMATE, ESTIMATES, FACTORS, MULTIPASS, ONEPASS, SINCE, TARGET, WorkAreas, add_own, class_of,
    limit_of, read,
};
use super::way::Way;
use crate::ctx::ExecCtx;
use std::sync::atomic::Ordering;
use wait::Stat;

impl WorkAreas {
    /// Counts a work area: the bytes that would keep it in memory, and the number of passes of its rows through
    /// temporary space. `go_on` returns how it continues without memory, and the bytes of its rows when written; it is
    /// called for large work areas, and where operations are counted.
    #[inline]
    pub(crate) fn note(&self, cx: &ExecCtx<'_>, need: u64, passes: u32, go_on: impl FnOnce() -> (Way, u64)) {
        if cx.session.noted.is_on() {
            let way = go_on();
            let limit = cx.session.options.spill_bytes as u64;
            cx.session.noted.area(need, passes, way.0, way.1, limit);
            return self.count(cx, need, passes, || way);
        }
        self.count(cx, need, passes, go_on);
    }

    #[inline]
    fn count(&self, cx: &ExecCtx<'_>, need: u64, passes: u32, go_on: impl FnOnce() -> (Way, u64)) {
        let (line, class) = (self.line(cx.p), class_of(need));
        add_own(&line[class], 1);
        add_own(&line[BYTES], need);
        if !cx.session.options.work_area_auto {
            self.leave_out(class, need);
        }
        if passes == 0 && !self.is_large(need) {
            cx.p.count(Stat::WorkareaOptimal, 1);
            return;
        }
        self.note_large(cx, need, passes, class, go_on());
    }

    /// Counts a work area of a manual size among those left out of the estimates.
    #[cold]
    fn leave_out(&self, class: usize, need: u64) {
        self.words[SINCE + class].fetch_add(1, Ordering::Relaxed);
        self.words[SINCE + CLASSES].fetch_add(need, Ordering::Relaxed);
    }

    #[cold]
    fn note_large(&self, cx: &ExecCtx<'_>, need: u64, passes: u32, class: usize, (way, written): (Way, u64)) {
        let stat = match passes {
            0 => Stat::WorkareaOptimal,
            1 => Stat::WorkareaOnepass,
            _ => Stat::WorkareaMultipass,
        };
        cx.p.count(stat, 1);
        if passes > 0 {
            let of = if passes == 1 { ONEPASS } else { MULTIPASS };
            self.words[of + class].fetch_add(1, Ordering::Relaxed);
        }
        self.estimate(cx, way, need, written, Some(class));
    }

    /// Adds bytes that are known only after [`WorkAreas::note`] of a work area with this need.
    #[cold]
    pub(crate) fn note_more(&self, cx: &ExecCtx<'_>, way: Way, need: u64, written: u64) {
        self.estimate(cx, way, need, written, None);
    }

    fn estimate(&self, cx: &ExecCtx<'_>, way: Way, need: u64, written: u64, class: Option<usize>) {
        let target = read(&self.words[TARGET]);
        if target == 0 || !cx.session.options.work_area_auto {
            return;
        }
        for (n, factor) in FACTORS.iter().enumerate() {
            let (passes, bytes) = way.passes(need, written, limit_of((target as f64 * factor) as u64));
            let words = &self.words[ESTIMATES + n * ESTIMATE..][..ESTIMATE];
            if passes > 0 {
                words[0].fetch_add(2 * bytes, Ordering::Relaxed);
            }
            if let (Some(class), true) = (class, passes > 0) {
                let of = if passes == 1 { 1 } else { 1 + CLASSES };
                words[of + class].fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}
