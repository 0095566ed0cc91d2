//! Futexes on words that several processes share: the shared, not the private, form (invariant 4).

use rustix::thread::futex;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// The reason why [`wait`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// [`wake`] was called, or the word had changed already, or a signal arrived: read the word again.
    Look,
    /// The time was up.
    TimedOut,
}

/// Sleeps while `word` holds `expected`, until a [`wake`] or until `timeout` has passed. May return early without a
/// reason.
pub fn wait(word: &AtomicU32, expected: u32, timeout: Option<Duration>) -> Woken {
    let spec = timeout.map(crate::clock::timespec_of);
    match futex::wait(word, futex::Flags::empty(), expected, spec.as_ref()) {
        Err(rustix::io::Errno::TIMEDOUT) => Woken::TimedOut,
        _ => Woken::Look,
    }
}

/// Wakes up to `count` sleepers on `word`; returns how many were woken.
pub fn wake(word: &AtomicU32, count: u32) -> u32 {
    // The kernel takes a signed number.
    let count = count.min(i32::MAX.unsigned_abs());
    futex::wake(word, futex::Flags::empty(), count).map_or(0, |woken| woken as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::Ordering;

    #[test]
    fn a_wait_times_out_and_a_changed_word_is_not_waited_on() {
        let word = AtomicU32::new(7);
        assert_eq!(wait(&word, 7, Some(Duration::from_millis(1))), Woken::TimedOut);
        assert_eq!(wait(&word, 8, None), Woken::Look);
    }

    #[test]
    fn a_sleeper_is_woken() {
        let word = Arc::new(AtomicU32::new(0));
        let sleeper = std::thread::spawn({
            let word = Arc::clone(&word);
            move || {
                while word.load(Ordering::Acquire) == 0 {
                    wait(&word, 0, Some(Duration::from_secs(5)));
                }
            }
        });
        word.store(1, Ordering::Release);
        wake(&word, 1);
        sleeper.join().unwrap();
    }
}
