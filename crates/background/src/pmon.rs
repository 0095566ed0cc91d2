//! PMON: cleans up behind dead processes.
//!
//! The supervisor collects ended children, reports the dead and posts PMON. PMON also checks at intervals whether the
//! process of each slot still exists, so a lost report costs seconds only.

use instance::Instance;
use process::{Owner, Process, SessionStatus};
use std::time::{Duration, Instant};
use types::Result;
use wait::Event;

/// Longest sleep of PMON; a post ends it.
const SLEEP: Duration = Duration::from_secs(3);

/// Longest sleep while a session holds switched designs or records: the end of a session in order posts nobody.
const HELD_LOOK: Duration = Duration::from_millis(200);

/// The pause after a failed try to put designs back; it doubles with each further one.
const PUT_BACK_PAUSE: Duration = Duration::from_secs(1);
const PUT_BACK_PAUSE_MAX: Duration = Duration::from_secs(60);

/// The time for which the process of a killed session may stay stopped by a signal.
const STOPPED_LIMIT: Duration = Duration::from_secs(1);

/// Runs PMON until it is asked to end and no dead process is left to clean up. `log` writes to the alert log.
pub fn pmon(instance: &'static Instance, log: &dyn Fn(&str)) -> Result<()> {
    let p = instance.attach_background("PMON")?;
    let slot = p.number() as usize - 1;
    instance.state().set_pmon(slot);
    instance.storage().redo.become_pmon(&p);
    let (mut swept, mut told, mut stopped) = (Instant::now(), String::new(), Stopped::default());
    let mut put_back = PutBack::default();
    loop {
        let posts = p.posts();
        // The request to end is read before the search for the dead: it is made after all other processes have ended.
        let asked = instance.state().is_asked_to_end(slot);
        clean_dead(instance, &p);
        stopped.end(instance, log);
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
        // Behind the clean-up: the process that holds switched designs may have been inside a structure.
        put_back.run(instance, &p, log);
        instance.end_abandoned_recording(&p);
        instance.end_round(&p);
        let mut sleep = if stopped.seen.is_empty() { SLEEP } else { STOPPED_LIMIT };
        if instance.state().design_holder().is_some() || instance.state().recording_session().is_some() {
            sleep = HELD_LOOK;
        }
        crate::idle(&p, Event::PmonTimer, posts, sleep);
    }
}

/// Putting designs back behind their holder. A process that is stopped inside a structure makes each try fail, and a
/// try keeps other processes out of the structure, so the tries become rare.
#[derive(Default)]
struct PutBack {
    /// The holder behind which the last try has failed, the next try, and the pause before it.
    failed: Option<((u32, u64), Instant, Duration)>,
    told: String,
}

impl PutBack {
    fn run(&mut self, instance: &Instance, p: &Process, log: &dyn Fn(&str)) {
        let Some(holder) = instance.state().design_holder() else {
            *self = PutBack::default();
            return;
        };
        self.failed = self.failed.filter(|(of, ..)| *of == holder);
        if self.failed.is_some_and(|(_, next, _)| Instant::now() < next) {
            return;
        }
        if let Err(e) = instance.restore_designs(p) {
            crate::tell_once(log, &mut self.told, "PMON will put designs back later", &e);
            let pause = self.failed.map_or(PUT_BACK_PAUSE, |(.., pause)| (pause * 2).min(PUT_BACK_PAUSE_MAX));
            self.failed = Some((holder, Instant::now() + pause, pause));
        }
    }
}

/// Processes of killed sessions that were found stopped, with the time. They cannot end by themselves, and other
/// sessions wait for their locks (invariant 2).
#[derive(Default)]
struct Stopped {
    seen: Vec<(Owner, Instant)>,
}

impl Stopped {
    /// Kills the processes that have been stopped for too long; their locks are freed after the supervisor has seen
    /// them end.
    fn end(&mut self, instance: &'static Instance, log: &dyn Fn(&str)) {
        let all = instance.processes();
        let killed = all.live().filter(|(number, slot)| {
            !slot.is_background() && all.session(*number).is_some_and(|s| s.status() == SessionStatus::Killed)
        });
        let now: Vec<Owner> = killed.filter_map(|(number, _)| all.owner(number)).filter(is_stopped).collect();
        self.seen.retain(|(owner, _)| now.contains(owner));
        for owner in now {
            match self.seen.iter().find(|(seen, _)| *seen == owner) {
                None => self.seen.push((owner, Instant::now())),
                // A stopped process keeps its process id: the signal reaches no other process.
                Some((_, since)) if since.elapsed() >= STOPPED_LIMIT && is_stopped(&owner) => {
                    log(&format!("Killing the stopped process of session {} (pid {})", owner.number(), owner.os_pid()));
                    let _ = os::process::kill(owner.os_pid(), os::signal::SIGKILL);
                }
                Some(_) => {}
            }
        }
    }
}

fn is_stopped(owner: &Owner) -> bool {
    os::process::run_state(owner.os_pid()) == Some('T')
}

/// Cleans up behind the processes that the supervisor reported, and behind those that PMON found (invariant 1).
fn clean_dead(instance: &'static Instance, p: &Process) {
    let dead: Vec<Owner> = instance.state().dead().collect();
    instance.processes().cleanup_all(p, &dead);
    dead.iter().for_each(|owner| instance.state().clear_dead(*owner));
}
