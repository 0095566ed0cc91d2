//! Cleaning up behind dead processes.

use std::fmt;
use std::sync::Arc;

use wait::Stat;

use crate::slots::{ProcessSlot, ProcessState};
use crate::{Process, Processes};

/// When a hook runs: state objects go children first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CleanupOrder {
    /// Buffer pins and block changes in the middle of being published.
    Pins,
    /// What a session was building for others: result cache objects.
    Builds,
    /// The transaction, rolled back.
    Transaction,
    /// Enqueues: released after the transaction they protect.
    Enqueues,
    /// Cursors, jobs, and all else of a session.
    Session,
}

/// What a crate does when a process leaves the instance of its own accord.
#[derive(Clone)]
pub(crate) struct LeaveHook(Arc<dyn Fn(&Process) + Send + Sync>);

impl fmt::Debug for LeaveHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LeaveHook")
    }
}

type HookFn = Box<dyn Fn(&Process, u32) + Send + Sync>;

/// What a crate does when a process has died: with PMON's process, and the number of the dead one.
pub(crate) struct Hook {
    order: CleanupOrder,
    name: &'static str,
    run: HookFn,
}

impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.order, self.name)
    }
}

/// What cleaning up behind one process came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// Words put back from micro-undo.
    pub words: u32,
    /// Latches and mutexes freed.
    pub latches: u32,
}

impl Processes {
    /// Registers what to do when a process has died. Done by the supervisor, before it forks; the hooks of one order run as
    /// registered.
    ///
    /// # Panics
    /// Another thread panicked in here.
    pub fn on_death(
        &self,
        order: CleanupOrder,
        name: &'static str,
        run: impl Fn(&Process, u32) + Send + Sync + 'static,
    ) {
        let mut hooks = self.hooks.lock().expect("no panic under this lock");
        let at = hooks.partition_point(|h| h.order <= order);
        hooks.insert(at, Arc::new(Hook { order, name, run: Box::new(run) }));
    }

    /// Registers what to do when a process leaves of its own accord, before its slot can be another's. Done before the supervisor
    /// forks. For what a process keeps between its calls without anybody having to ask for it back; `run` must not wait.
    ///
    /// # Panics
    /// Another thread panicked in here.
    pub fn on_leave(&self, run: impl Fn(&Process) + Send + Sync + 'static) {
        self.leave_hooks.lock().expect("no panic under this lock").push(LeaveHook(Arc::new(run)));
    }

    /// Runs what was registered for a process that leaves.
    pub(crate) fn leave(&self, p: &Process) {
        let hooks = match self.leave_hooks.lock() {
            Ok(hooks) => hooks.clone(),
            Err(_) => return, // a panic is under way already
        };
        hooks.iter().for_each(|hook| (hook.0)(p));
    }

    /// Cleans up behind a process that is dead: changes back, latches free, hooks, statistics, slot free.
    ///
    /// `by` is PMON, the only one that cleans up. `None` when the slot is free, or belongs to `by`, or is being cleaned up already.
    /// Latches: none held on entry or return.
    ///
    /// # Panics
    /// A hook panics.
    pub fn cleanup(&'static self, by: &Process, dead: u32) -> Option<Cleaned> {
        let slot = self.slot(dead)?;
        if dead == by.number() {
            return None;
        }
        let claimed = slot.to(ProcessState::Active, ProcessState::Cleaning)
            || slot.to(ProcessState::Starting, ProcessState::Cleaning);
        if !claimed {
            return None;
        }
        by.client.set_watch({
            let own = by.number();
            move || self.free_behind_the_dead(own)
        });
        let (words, latches) = self.put_right(dead);
        by.cleaning.set(true);
        for hook in self.hooks() {
            (hook.run)(by, dead);
        }
        by.cleaning.set(false);
        self.stats[dead as usize - 1].set(Stat::LogonsCurrent, 0);
        self.fold(by, dead);
        by.count(Stat::DeadProcessesCleanedUp, 1);
        by.count(Stat::UserLogoutsCumulative, 1);
        by.count(Stat::MicroUndoWordsRolledBack, u64::from(words));
        slot.to(ProcessState::Cleaning, ProcessState::Free);
        Some(Cleaned { words, latches })
    }

    fn hooks(&self) -> Vec<Arc<Hook>> {
        self.hooks.lock().expect("no panic under this lock").clone()
    }

    /// Frees the latches and pins of all dead processes, for the cleaner that waits for a buffer in the middle of a hook.
    pub(crate) fn free_pins_behind_the_dead(&self, by: &Process) {
        let dead = |(number, slot): &(u32, &ProcessSlot)| {
            *number != by.number() && slot.state().0 != ProcessState::Cleaning && !slot.is_alive()
        };
        for (number, _) in self.live().filter(dead) {
            self.put_right(number);
            for hook in self.hooks().iter().filter(|h| h.order == CleanupOrder::Pins) {
                (hook.run)(by, number);
            }
        }
    }

    /// Puts the changes of a dead process back and frees what it held; the words and the latches. Doing it again does nothing.
    fn put_right(&self, dead: u32) -> (u32, u32) {
        let words = self.undo[dead as usize - 1].roll_back(self.sga);
        let (base, end) = (self.sga.base_address() as u64, self.sga.base_address() as u64 + self.sga.len_bytes());
        let inside = |at: u64, len: usize| at >= base && at.checked_add(len as u64).is_some_and(|e| e <= end);
        let alive = |number: u32| self.slot(number).is_some_and(ProcessSlot::is_alive);
        let known = latch::Known { is_shared: &inside, is_alive: &alive };
        (words, self.domain.recover(dead, known).freed)
    }

    /// Frees what all dead processes hold. For the cleaner that waits for a latch: its holder may have died after the one
    /// that is being cleaned up behind, and nobody else would free it. The rest of the cleaning comes when its turn comes.
    fn free_behind_the_dead(&self, own: u32) {
        let dead = |(number, slot): &(u32, &ProcessSlot)| *number != own && !slot.is_alive();
        for (number, _) in self.live().filter(dead) {
            self.put_right(number);
        }
    }

    /// Cleans up behind every process that the operating system no longer has; returns how many.
    pub fn sweep(&'static self, by: &Process) -> u32 {
        let gone: Vec<u32> = self
            .live()
            .filter(|(_, slot)| {
                let (state, os_pid) = slot.state();
                state != ProcessState::Cleaning && !os::process::is_running(os_pid)
            })
            .map(|(number, _)| number)
            .collect();
        gone.into_iter().filter(|number| self.cleanup(by, *number).is_some()).count() as u32
    }
}
