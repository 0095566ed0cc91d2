//! MMNL: samples the active sessions, once a second or at the interval that is set, computes the metrics of each
//! interval, and replays sampled block gets on a model list, to estimate the reads of other cache sizes. It also asks
//! sessions in long calls to report the statistics of their statements.
//!
//! It runs no SQL (invariant 8): MMON saves the history on disk with the snapshots.

use instance::Instance;
use monitor::ash::Sampler;
use monitor::metrics::Meter;
use process::SessionStatus;
use std::time::Duration;
use types::Result;
use wait::Event;

/// The interval at which a session in a long call is asked for the statistics of its statements.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// Asks the sessions whose call began more than [`TELL_EVERY`] ago.
fn ask_to_tell(instance: &Instance, now: u64) {
    let all = instance.processes();
    for session in all.live().filter_map(|(number, _)| all.session(number)) {
        let is_long = session.last_call_ns() + TELL_EVERY.as_nanos() as u64 <= now;
        if is_long && !session.is_background() && session.status() == SessionStatus::Active {
            session.ask_to_tell();
        }
    }
}

/// Runs MMNL until it is asked to end.
///
/// # Errors
/// ORA-00020 when there is no process slot.
pub fn mmnl(instance: &'static Instance) -> Result<()> {
    let p = instance.attach_background("MMNL")?;
    let slot = p.number() as usize - 1;
    let mut sampler = Sampler::new(instance);
    let mut meter = Meter::default();
    let mut asked_ns = 0;
    while !instance.state().is_asked_to_end(slot) {
        let posts = p.posts();
        let time = sampler.round(instance, &p).min(meter.round(instance, &p)).min(TELL_EVERY);
        let now = os::clock::coarse_ns();
        if now - asked_ns >= TELL_EVERY.as_nanos() as u64 {
            ask_to_tell(instance, now);
            asked_ns = now;
        }
        crate::idle(&p, Event::RdbmsIpcMessage, posts, time);
    }
    Ok(())
}
