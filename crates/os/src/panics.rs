//! Panics that are no death.
//!
//! A panic ends a process of an instance where it happens: the panic hook never returns. Code that reads what may be
//! damaged, such as redo from a file, runs where a panic is an error like any other; the hook asks [`is_caught`].

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// Runs `body`; `None` when it panicked. It must hold nothing that other processes share, and what it changed is worth
/// nothing.
pub fn caught<R>(body: impl FnOnce() -> R) -> Option<R> {
    DEPTH.set(DEPTH.get() + 1);
    let result = catch_unwind(AssertUnwindSafe(body)).ok();
    DEPTH.set(DEPTH.get() - 1);
    result
}

/// Whether a panic of this thread would be caught by [`caught`].
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
