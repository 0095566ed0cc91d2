//! Ctrl-C: the first one asks a run to stop after the current cell, so that the results so far are written; the second
//! one ends the program.
//!
//! Instances end with the program in either case: their supervisors see the end of a pipe.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use os::signal::{SIGINT, SIGTERM};

/// Whether a run is to stop. All clones share one state.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    asked: Arc<AtomicBool>,
}

impl Stop {
    /// A stop that is set by the signals of the terminal, until the program ends.
    pub fn on_signals() -> Stop {
        let stop = Stop::default();
        let seen = stop.clone();
        let signals = [SIGINT, SIGTERM];
        signals.into_iter().for_each(os::signal::flag_on);
        std::thread::spawn(move || {
            loop {
                std::thread::sleep(Duration::from_millis(50));
                let arrived: u32 = signals.into_iter().map(os::signal::take_flag).sum();
                if arrived == 0 {
                    continue;
                }
                if seen.is_asked() || arrived > 1 {
                    std::process::exit(130);
                }
                seen.ask();
                eprintln!(
                    "\nStopping after the current cell; the results so far are written. Ctrl-C again stops at once."
                );
            }
        });
        stop
    }

    /// Requests the stop.
    pub fn ask(&self) {
        self.asked.store(true, Ordering::Relaxed);
    }

    pub fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }
}
