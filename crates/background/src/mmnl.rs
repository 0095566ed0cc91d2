//! MMNL: samples the sessions that are active, once a second or as often as it is told, computes the metrics of each
//! interval, and plays gets of blocks on a list, to tell what other sizes of the cache would have read. It also asks
//! sessions in long calls to tell what their statements have done so far.
//!
//! It runs no SQL: what is kept of the history on disk is saved with the snapshots, by whoever takes them.

use instance::Instance;
use monitor::ash::Sampler;
use monitor::metrics::Meter;
use process::SessionStatus;
use std::time::Duration;
use types::Result;
use wait::Event;

/// How often a session in a long call is asked what its statements have done so far.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// Asks the sessions that have been in a call for a while.
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
/// ORA-00020 when there is no room for it.
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
