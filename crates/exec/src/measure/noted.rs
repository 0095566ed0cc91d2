//! Figures that work areas and scans leave for the operation that runs them.

use super::reading::Reading;
use crate::work_area::Way;
use library_cache::AreaCounts;
use std::cell::{Cell, RefCell};

/// Figures of the work areas and scans of the running operation.
#[derive(Debug, Default)]
pub struct Noted {
    pub(super) is_on: Cell<bool>,
    pub(super) areas: RefCell<Vec<AreaCounts>>,
    /// Work of reading table rows by rowid.
    pub(super) by_rowid: Cell<Reading>,
    /// IN-list values searched in an index after the first one.
    pub(super) more_values: Cell<u64>,
}

impl Noted {
    /// Whether a counted operation is running.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.is_on.get()
    }

    /// Switches counting on or off and returns the earlier state.
    pub fn switch(&self, on: bool) -> bool {
        self.is_on.replace(on)
    }

    /// Notes that a scan continues with the next value of an IN list: INLIST ITERATOR restarts the operation below it.
    pub fn next_value(&self) {
        if self.is_on() {
            self.more_values.set(self.more_values.get() + 1);
        }
    }

    /// Notes a work area: the memory it needed, and how many passes through temporary space its rows made with this
    /// limit in bytes.
    #[cold]
    pub fn area(&self, need: u64, passes: u32, way: Way, written: u64, limit: u64) {
        let temporary = if passes > 0 { written } else { 0 };
        self.areas.borrow_mut().push(AreaCounts {
            optimal_bytes: need,
            onepass_bytes: way.onepass(need),
            last_bytes: if passes > 0 { need.min(limit) } else { need },
            last_passes: passes.into(),
            last_temporary_bytes: temporary,
            most_temporary_bytes: temporary,
            optimal: u64::from(passes == 0),
            onepass: u64::from(passes == 1),
            multipass: u64::from(passes > 1),
        });
    }
}
