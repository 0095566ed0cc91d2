//! The sessions of a cell: prepared, started together, and timed call by call.
//!
//! A session belongs to any engine; this file knows only that it performs operations.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::time::Instant;

use crate::error::LabError;
use crate::window::Call;

/// A session of an engine that has prepared its worker.
pub trait Session: Send {
    /// Performs operations, and returns when they are done.
    ///
    /// # Errors
    /// The engine's error.
    fn work(&mut self, operations: u64) -> Result<(), LabError>;

    /// Makes the engine's counters of this session's work visible, where the engine delays them.
    ///
    /// # Errors
    /// The engine's error.
    fn settle(&mut self) -> Result<(), LabError> {
        Ok(())
    }

    /// Processor seconds and voluntary switches of the work that this program's threads have done for the engine so
    /// far; zeros where the engine has processes of its own.
    fn used(&self) -> Usage {
        Usage::default()
    }

    /// Ends the session.
    ///
    /// # Errors
    /// The engine's error.
    fn end(self: Box<Self>) -> Result<(), LabError>;
}

/// Processor time and voluntary context switches.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    pub cpu_s: f64,
    pub switches: f64,
}

impl Usage {
    pub fn plus(self, other: Usage) -> Usage {
        Usage { cpu_s: self.cpu_s + other.cpu_s, switches: self.switches + other.switches }
    }

    /// The difference of two readings.
    pub fn since(self, before: Usage) -> Usage {
        Usage { cpu_s: (self.cpu_s - before.cpu_s).max(0.0), switches: (self.switches - before.switches).max(0.0) }
    }
}

/// The sessions of a cell in threads of their own, which wait for the common start.
pub struct Crew {
    threads: Vec<std::thread::JoinHandle<()>>,
    receiver: mpsc::Receiver<Outcome>,
    barrier: Arc<Barrier>,
    ended: Arc<AtomicU32>,
}

type Outcome = Result<(Box<dyn Session>, Vec<Call>), LabError>;

/// The sessions of a cell.
pub type Sessions = Vec<Box<dyn Session>>;

impl Crew {
    /// Moves the sessions into threads. `calls` has the number of operations of each call of a session.
    pub fn of(sessions: Sessions, calls: &[u64]) -> Crew {
        let barrier = Arc::new(Barrier::new(sessions.len() + 1));
        let ended = Arc::new(AtomicU32::new(0));
        let (sender, receiver) = mpsc::channel();
        let origin = Instant::now();
        let threads = sessions
            .into_iter()
            .map(|session| {
                let (barrier, ended, sender) = (Arc::clone(&barrier), Arc::clone(&ended), sender.clone());
                let calls = calls.to_vec();
                std::thread::spawn(move || {
                    barrier.wait();
                    let outcome = perform(session, calls, origin);
                    ended.fetch_add(1, Ordering::SeqCst);
                    // The receiver is dropped only when the run has failed.
                    let _ = sender.send(outcome);
                })
            })
            .collect();
        Crew { threads, receiver, barrier, ended }
    }

    pub fn start(&self) {
        self.barrier.wait();
    }

    /// The number of sessions that have ended their calls.
    pub fn ended(&self) -> &AtomicU32 {
        &self.ended
    }

    /// Waits for all sessions; returns them with their calls.
    ///
    /// # Errors
    /// The error of a session.
    pub fn done(self) -> Result<(Sessions, Vec<Vec<Call>>), LabError> {
        let (mut sessions, mut calls) = (Vec::new(), Vec::new());
        let mut failure = None;
        for outcome in self.receiver {
            match outcome {
                Ok((session, of_session)) => {
                    sessions.push(session);
                    calls.push(of_session);
                }
                Err(e) => failure = Some(e),
            }
        }
        for thread in self.threads {
            thread.join().map_err(|_| LabError::new("a worker's thread panicked".into()))?;
        }
        failure.map_or(Ok((sessions, calls)), Err)
    }
}

/// The workers read the clock, not the thread that starts them, which may return from the barrier only after they have
/// ended.
fn perform(mut session: Box<dyn Session>, calls: Vec<u64>, origin: Instant) -> Outcome {
    let mut done = Vec::with_capacity(calls.len());
    for operations in calls {
        let from_s = origin.elapsed().as_secs_f64();
        session.work(operations)?;
        done.push(Call { from_s, to_s: origin.elapsed().as_secs_f64(), operations });
    }
    Ok((session, done))
}

/// Target duration of a worker's call; with long cells the calls are longer and their number is limited. The operations
/// of calls cut by the ends of the common window, and the overhead of the calls themselves, are then a small part.
pub const CALL_S: f64 = 0.02;
const CALLS: u64 = 64;

/// The number of operations in each call of a session. All are multiples of `portion`; `rate` is that of one session
/// alone.
pub fn calls(iterations: u64, portion: u64, rate: f64) -> Vec<u64> {
    let each = (iterations / CALLS).max((rate * CALL_S) as u64).max(1).next_multiple_of(portion);
    let mut out = vec![each; (iterations / each) as usize];
    out.extend(Some(iterations % each).filter(|rest| *rest > 0));
    out
}

/// Operations a second, by the fastest of three runs that are long enough to take a twentieth of a second. `run`
/// performs the given number of operations and returns the seconds. The fastest counts because a single run may wait
/// for a core longer than it works: the rate of a short one was a hundred times too low on a busy machine, and so were
/// the lengths of all its cells.
pub fn rate_of(run: &mut dyn FnMut(u64) -> Result<f64, LabError>) -> Result<f64, LabError> {
    rate_from(200, run)
}

/// As [`rate_of`], with the number of operations of the first run.
pub fn rate_from(first: u64, run: &mut dyn FnMut(u64) -> Result<f64, LabError>) -> Result<f64, LabError> {
    let mut iterations = first;
    loop {
        let mut fastest = run(iterations)?;
        for _ in 0..2 {
            if fastest > 0.05 {
                fastest = fastest.min(run(iterations)?);
            }
        }
        if fastest > 0.05 || iterations >= 100_000_000 {
            return Ok(iterations as f64 / fastest.max(1e-9));
        }
        iterations *= 4;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_waited_for_a_core_does_not_set_the_rate() {
        // A million operations a second; every other run waits for a tenth of a second.
        let mut runs = 0;
        let rate = rate_of(&mut |iterations| {
            runs += 1;
            Ok(iterations as f64 / 1e6 + if runs % 2 == 1 { 0.1 } else { 0.0 })
        });
        assert!((rate.unwrap() - 1e6).abs() < 1.0);
    }

    #[test]
    fn a_session_does_its_operations_in_calls_of_a_fiftieth_of_a_second_or_more() {
        // A second's worth: fifty calls. A hundred seconds' worth: sixty-four.
        assert_eq!(calls(100_000, 1, 100_000.0), vec![2000; 50]);
        assert_eq!(calls(10_000_000, 1, 100_000.0), vec![156_250; 64]);
        assert_eq!(calls(300, 1, 100_000.0), [300]);
        assert_eq!(calls(5, 1, 0.0), [1; 5]);
        assert_eq!(calls(5000, 1, 100_000.0), [2000, 2000, 1000]);
        // Portions stay whole.
        assert_eq!(calls(5 * 32768, 32768, 100_000.0), [32768; 5]);
    }
}
