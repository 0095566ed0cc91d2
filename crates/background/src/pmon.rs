//! PMON: cleans up behind dead processes.
//!
//! The supervisor, which collects ended children, says who died and posts. Now and then PMON also looks by itself
//! whether a slot's process still exists, so that a lost word costs seconds and not for ever.

use process::{Owner, Process};
use session::Instance;
use std::time::{Duration, Instant};
use types::Result;
use wait::Event;

/// How long PMON sleeps unless it is posted.
const SLEEP: Duration = Duration::from_secs(3);

/// Runs PMON until it is asked to end and nothing is left to clean. `log` writes to the alert log.
pub fn pmon(instance: &'static Instance, log: &dyn Fn(&str)) -> Result<()> {
    let p = instance.attach_background("PMON")?;
    let slot = p.number() as usize - 1;
    instance.state().set_pmon(slot);
    instance.storage().redo.become_pmon(&p);
    let (mut swept, mut told) = (Instant::now(), String::new());
    loop {
        let posts = p.posts();
        // What is asked is read before the dead are looked for: whoever asks has seen all others end before.
        let asked = instance.state().is_asked_to_end(slot);
        clean_dead(instance, &p);
        if asked {
            return Ok(());
        }
        if swept.elapsed() >= SLEEP {
            instance.processes().sweep(&p);
            match instance.retry_rollbacks(&p) {
                Ok(()) => told.clear(),
                Err(e) => crate::tell_once(log, &mut told, "PMON will retry", &e),
            }
            swept = Instant::now();
        }
        instance.end_round(&p);
        crate::idle(&p, Event::PmonTimer, posts, SLEEP);
    }
}

/// Cleans up behind the processes that the supervisor saw end, and behind those found dead by the way.
fn clean_dead(instance: &'static Instance, p: &Process) {
    let dead: Vec<Owner> = instance.state().dead().collect();
    instance.processes().cleanup_all(p, &dead);
    dead.iter().for_each(|owner| instance.state().clear_dead(*owner));
}
