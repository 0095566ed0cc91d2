//! Instances for tests: an SGA with processes and the areas that the test reserves, in memory of this process.

use std::time::{Duration, Instant};

use latch::Generation;
use os::process::{Ended, Fork};
use sga::{LargePages, SgaBuilder};

use crate::Random;
use process::{Attach, Process, ProcessConfig, ProcessLayout, Processes};

/// Makes an SGA for `processes` processes and the areas of `reserve`. Kept until the test process ends.
///
/// # Panics
/// The memory cannot be allocated.
pub fn instance<L>(processes: u32, reserve: impl FnOnce(&mut SgaBuilder) -> L) -> (&'static Processes, L) {
    instance_of(processes, Generation::default(), reserve)
}

/// As [`instance`], in a generation.
///
/// # Panics
/// The memory cannot be allocated.
pub fn instance_of<L>(
    processes: u32,
    generation: Generation,
    reserve: impl FnOnce(&mut SgaBuilder) -> L,
) -> (&'static Processes, L) {
    let mut b = SgaBuilder::new();
    let layout = ProcessLayout::reserve(&mut b, &ProcessConfig { processes, generation });
    let more = reserve(&mut b);
    let sga = b.create(LargePages::False).expect("memory for a test's SGA");
    (Processes::create(sga, &layout), more)
}

/// Attaches the calling thread to a test's instance.
///
/// # Panics
/// All slots are taken.
#[must_use]
pub fn attach(all: &'static Processes, name: &str) -> Process {
    all.attach(&Attach { program: name, ..Attach::default() }).expect("a free process slot")
}

/// Runs `body` in `count` threads at once, each as a separate process of the instance, and waits for all.
///
/// # Panics
/// A thread panics.
pub fn run_threads<R: Send>(
    all: &'static Processes,
    count: usize,
    body: impl Fn(&Process, usize) -> R + Sync,
) -> Vec<R> {
    std::thread::scope(|scope| {
        let body = &body;
        let threads: Vec<_> = (0..count).map(|n| scope.spawn(move || body(&attach(all, "test"), n))).collect();
        threads.into_iter().map(|t| t.join().expect("a test thread does not panic")).collect()
    })
}

/// The counts of [`kill_children`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Kills {
    /// Children killed.
    pub killed: u64,
    /// Of these, those with words to roll back.
    pub in_a_section: u64,
    /// Of these, those that held a latch.
    pub holding: u64,
}

/// The least number of kills of [`kill_children`], and the most additional time for them.
const KILLS_LEAST: u64 = 60;
const KILLS_LIMIT: Duration = Duration::from_secs(60);

/// Keeps `children` forked processes running `body` (which gets a seed and loops for ever). Kills one after the other
/// at random moments and cleans up after each with the calling thread's process, until `time` is over, and until
/// [`KILLS_LEAST`] kills on a busy machine.
///
/// # Panics
/// A child exits, cleaning up takes longer than 20 seconds, or [`KILLS_LEAST`] kills take longer than a
/// minute.
pub fn kill_children(by: &Process, children: usize, time: Duration, seed: u64, body: impl Fn(&Process, u64)) -> Kills {
    let mut random = Random::new(seed);
    let parent = os::process::own_id();
    let start = |seed: u64| match os::process::fork().expect("a child") {
        Fork::Parent(child) => child,
        Fork::Child => {
            // A panic in here must not run the parent's test harness.
            if !os::process::die_with_parent(parent, os::signal::SIGKILL) {
                os::process::exit_now(0);
            }
            let run = std::panic::AssertUnwindSafe(|| body(&attach(by.all(), "child"), seed));
            let _ = std::panic::catch_unwind(run);
            os::process::exit_now(1);
        }
    };
    let mut kills = Kills::default();
    let mut running: Vec<i32> = (0..children).map(|_| start(random.next())).collect();
    let end = Instant::now() + time;
    while Instant::now() < end || kills.killed < KILLS_LEAST {
        assert!(Instant::now() < end + KILLS_LIMIT, "{kills:?} in {time:?} and a minute");
        os::clock::sleep(Duration::from_nanos(random.below(1_000_000)));
        // One at a time as a rule, sometimes several, so that the cleaner meets the holds of another dead process.
        let victims = if random.one_in(4) { 1 + random.below(running.len()) } else { 1 };
        running.rotate_left(random.below(children));
        reap(by, running.drain(..victims).collect(), &mut kills);
        running.extend((0..victims).map(|_| start(random.next())));
    }
    reap(by, running, &mut kills);
    kills
}

/// Kills these children at any point of their work, and then cleans up after one after the other.
fn reap(by: &Process, children: Vec<i32>, kills: &mut Kills) {
    for child in &children {
        let _ = os::process::kill(*child, os::signal::SIGKILL);
    }
    for child in &children {
        let how = os::process::wait(*child);
        assert_eq!(how, Some(Ended::Killed(os::signal::SIGKILL)), "a child ends by being killed only");
    }
    children.into_iter().for_each(|child| clean(by, child, kills));
}

fn clean(by: &Process, child: i32, kills: &mut Kills) {
    kills.killed += 1;
    while let Some(owner) = by.all().owner_by_os_pid(child) {
        let started = Instant::now();
        if let Some(cleaned) = by.all().cleanup(by, owner) {
            kills.in_a_section += u64::from(cleaned.words > 0);
            kills.holding += u64::from(cleaned.latches > 0);
        }
        assert!(started.elapsed() < Duration::from_secs(60), "cleaning up hangs");
    }
}

/// The crash points of [`kill_at_every_step`]: before each change of a word under a latch, and before and after the end
/// of each section.
pub const EVERY_STEP: &str = "undo-*";

/// Runs `body` in one forked process after the other, each killed one step later than the one before, until one of them
/// completes. A step is a pass of one of the crash points `places`. Returns the number of killed processes.
///
/// For each process: `before` runs in this process, `body` in the child, clean-up and then `check` in this process.
/// `body` calls its second argument at the point from which the steps are counted.
///
/// # Panics
/// A child ends in another way, or `check` panics; the message then names the step.
pub fn kill_at_every_step(
    by: &Process,
    places: &str,
    mut before: impl FnMut(),
    body: impl Fn(&Process, &dyn Fn()),
    mut check: impl FnMut(),
) -> u64 {
    let (all, parent) = (by.all(), os::process::own_id());
    let dir = std::env::temp_dir();
    for step in 1.. {
        before();
        let child = match os::process::fork().expect("a child") {
            Fork::Parent(child) => child,
            Fork::Child => {
                if !os::process::die_with_parent(parent, os::signal::SIGKILL) {
                    os::process::exit_now(0);
                }
                let arm = || faults::arm_points_quietly(&format!("{places}:{step}:process"), &dir).expect("a plan");
                let run = std::panic::AssertUnwindSafe(|| {
                    let p = std::mem::ManuallyDrop::new(attach(all, "child"));
                    body(&p, &arm);
                });
                // A panic in here must not run the parent's test harness.
                os::process::exit_now(if std::panic::catch_unwind(run).is_ok() { 0 } else { 101 });
            }
        };
        let how = os::process::wait(child);
        let owner = all.owner_by_os_pid(child).expect("the child's slot is its own");
        assert!(all.cleanup(by, owner).is_some(), "step {step}");
        let said = Said(step);
        check();
        std::mem::forget(said);
        match how {
            Some(Ended::Exited(0)) => return step - 1,
            how => assert_eq!(how, Some(Ended::Killed(os::signal::SIGKILL)), "step {step}"),
        }
    }
    0
}

/// Prints the step at which a check failed.
struct Said(u64);

impl Drop for Said {
    fn drop(&mut self) {
        eprintln!("the process was killed at step {}", self.0);
    }
}
