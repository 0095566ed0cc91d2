//! Panics that are caught.
//!
//! A panic ends a process of an instance at once: the panic hook does not return. Code that reads possibly damaged
//! data, such as redo from a file, runs where a panic is an ordinary error; the hook asks [`is_caught`].

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// Runs `body`; `None` when it panicked. `body` must hold nothing shared with other processes; data that it was
/// changing must be discarded.
pub fn caught<R>(body: impl FnOnce() -> R) -> Option<R> {
    DEPTH.set(DEPTH.get() + 1);
    let result = catch_unwind(AssertUnwindSafe(body)).ok();
    DEPTH.set(DEPTH.get() - 1);
    result
}

/// Whether [`caught`] would catch a panic of this thread.
#[must_use]
pub fn is_caught() -> bool {
    DEPTH.get() > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caught_panic_is_nothing() {
        assert!(!is_caught());
        assert_eq!(caught(is_caught), Some(true));
        assert_eq!(caught(|| assert!(!is_caught(), "on purpose")), None);
        assert!(!is_caught());
    }
}
