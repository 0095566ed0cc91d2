//! MMNL: samples the sessions that are active, once a second or as often as it is told, computes the metrics of each interval, and plays
//! gets of blocks on a list, to tell what other sizes of the cache would have read.
//!
//! It runs no SQL: what is kept of the history on disk is saved with the snapshots, by whoever takes them.

use session::Instance;
use session::ash::Sampler;
use session::metrics::Meter;
use types::Result;
use wait::Event;

/// Runs MMNL until it is asked to end.
///
/// # Errors
/// ORA-00020 when there is no room for it.
pub fn mmnl(instance: &'static Instance) -> Result<()> {
    let p = instance.attach_background("MMNL")?;
    let slot = p.number() as usize - 1;
    let mut sampler = Sampler::new(instance);
    let mut meter = Meter::default();
    while !instance.state().is_asked_to_end(slot) {
        let posts = p.posts();
        let time = sampler.round(instance, &p).min(meter.round(instance, &p));
        crate::idle(&p, Event::RdbmsIpcMessage, posts, time);
    }
    Ok(())
}
