//! SMON: housekeeping that no session waits for.

use instance::Instance;
use std::rc::Rc;
use std::time::Duration;
use types::Result;
use wait::Event;

/// Longest sleep of SMON; a post ends it.
const SLEEP: Duration = Duration::from_secs(3);

/// Runs SMON until it is asked to end. `log` writes to the alert log.
pub fn smon(instance: &'static Instance, log: &dyn Fn(&str)) -> Result<()> {
    let p = Rc::new(instance.attach_background("SMON")?);
    let slot = p.number() as usize - 1;
    let mut sampler = instance::ScnSampler::default();
    let mut housekeeper = instance::Housekeeper::default();
    while !instance.state().is_asked_to_end(slot) {
        let posts = p.posts();
        sampler.sample(instance, &p);
        for line in housekeeper.round(instance, &p) {
            log(&format!("SMON: {line}"));
        }
        for sniped in session::snipe_idle(instance, os::clock::now_ns()) {
            instance.wake_server(sniped);
        }
        if let Some(line) = session::unlisted_entry(instance, &p) {
            log(&line);
        }
        if let Some(line) = session::lost_audit_entry(instance) {
            log(&line);
        }
        instance.end_round(&p);
        crate::idle(&p, Event::SmonTimer, posts, SLEEP);
    }
    sampler.sample(instance, &p);
    sampler.save(instance, &p);
    Ok(())
}
