//! Cleaning up after dead processes.

use crate::dying::{Cleaned, Dying, Stage};
use crate::registry::{CleanupOrder, Hook, LeaveHook};
use std::sync::Arc;
use std::time::Duration;

use wait::Stat;

use crate::slots::{Owner, ProcessSlot, ProcessState};
use crate::{Process, Processes};

/// Interval at which a cleaner with long work looks for processes that have died since.
const LOOK: Duration = Duration::from_millis(50);

/// The most rollbacks that the cleaner has begun at a time, nested.
const DEPTH_MAX: u32 = 3;

impl Processes {
    /// Registers a hook for the death of a process. Called by the supervisor before it forks. Hooks of one order run in
    /// the order of registration.
    ///
    /// # Panics
    /// Another thread panicked under the lock of the list.
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

    /// Registers a function that runs when a process leaves in order, before its slot can be taken again. Called before
    /// the supervisor forks. For resources that a process keeps between its calls and that no other process requests
    /// back; `run` must not wait.
    ///
    /// # Panics
    /// Another thread panicked under the lock of the list.
    pub fn on_leave(&self, run: impl Fn(&Process) + Send + Sync + 'static) {
        self.leave_hooks.lock().expect("no panic under this lock").push(LeaveHook(Arc::new(run)));
    }

    /// Runs the registered functions for a process that leaves.
    pub(crate) fn leave(&self, p: &Process) {
        let hooks = match self.leave_hooks.lock() {
            Ok(hooks) => hooks.clone(),
            Err(_) => return, // a panic is under way already
        };
        hooks.iter().for_each(|hook| (hook.0)(p));
    }

    /// Cleans up after a dead process, as [`Self::cleanup_all`] does. `None` when the slot has another owner now,
    /// belongs to `by`, or is being cleaned up already.
    ///
    /// # Panics
    /// A hook panics.
    pub fn cleanup(&'static self, by: &Process, dead: Owner) -> Option<Cleaned> {
        self.cleanup_all(by, &[dead])
            .into_iter()
            .find(|(number, _)| *number == dead.number())
            .map(|(_, cleaned)| cleaned)
    }

    /// Cleans up after dead processes, and after those that die during it. First the changes of all are rolled back and
    /// the latches and pins of all are freed. Then, for each in turn, the other hooks run, the statistics move and the
    /// slot becomes free. So no session waits for a latch until the transaction of another dead process is rolled back.
    ///
    /// `by` is PMON, the only process that cleans up. Latches: none held on entry or return.
    ///
    /// # Panics
    /// A hook panics.
    pub fn cleanup_all(&'static self, by: &Process, dead: &[Owner]) -> Vec<(u32, Cleaned)> {
        let own = by.number();
        by.client.set_watch(move || self.free_behind_the_dead(own));
        by.cleaning.set(true);
        dead.iter().for_each(|owner| self.take_over(own, *owner));
        let mut done = Vec::new();
        loop {
            self.free_pins(by);
            let Some(next) = self.next_dying(own) else { return done };
            self.finish(by, next);
            done.push((next.number, next.cleaned));
        }
    }

    /// Takes the slot of a dead process, rolls its changes back and frees its latches. The rest of the clean-up comes
    /// later.
    fn take_over(&self, by: u32, dead: Owner) {
        let number = dead.number();
        if number == by || !self.slot(number).is_some_and(|slot| slot.take_from(dead)) {
            return;
        }
        let (words, latches) = self.put_right(number);
        let dying = Dying { by, number, stage: Stage::Right, cleaned: Cleaned { words, latches } };
        self.dying.lock().expect("no panic under this lock").push(dying);
    }

    /// Frees the pins of the dead processes whose latches are free. A hook may call this again while it waits.
    fn free_pins(&self, by: &Process) {
        while let Some(number) = self.next_pinned(by.number()) {
            self.run_hooks(by, number, |order| order == CleanupOrder::Pins);
        }
    }

    fn next_pinned(&self, by: u32) -> Option<u32> {
        let mut dying = self.dying.lock().expect("no panic under this lock");
        let next = dying.iter_mut().find(|d| d.by == by && d.stage == Stage::Right)?;
        next.stage = Stage::Unpinned;
        Some(next.number)
    }

    fn next_dying(&self, by: u32) -> Option<Dying> {
        let mut dying = self.dying.lock().expect("no panic under this lock");
        let at = dying.iter().position(|d| d.by == by)?;
        Some(dying.remove(at))
    }

    fn finish(&self, by: &Process, dead: Dying) {
        let number = dead.number;
        self.run_hooks(by, number, |order| order != CleanupOrder::Pins);
        self.stats[number as usize - 1].clear_current();
        self.pga_line(number).clear();
        self.fold(by, number);
        by.count(Stat::DeadProcessesCleanedUp, 1);
        by.count(Stat::UserLogoutsCumulative, 1);
        by.count(Stat::MicroUndoWordsRolledBack, u64::from(dead.cleaned.words));
        self.free_slot(number, ProcessState::Cleaning);
    }

    fn run_hooks(&self, by: &Process, dead: u32, which: impl Fn(CleanupOrder) -> bool) {
        let hooks: Vec<_> = self.hooks.lock().expect("no panic under this lock").clone();
        hooks.iter().filter(|hook| which(hook.order)).for_each(|hook| (hook.run)(by, dead));
    }

    /// Frees the latches and pins of all dead processes. For the cleaner that waits for a buffer inside a hook.
    pub(crate) fn free_pins_behind_the_dead(&self, by: &Process) {
        by.looked.set(os::clock::now_ns());
        self.free_behind_the_dead(by.number());
        self.free_pins(by);
    }

    /// Cleans up after processes that have died since, at intervals. For the cleaner during long work without waits, so
    /// that the locks of one dead process do not wait for the rollback of another. Once it has interrupted
    /// [`DEPTH_MAX`] rollbacks, it frees latches and pins only.
    pub(crate) fn look_for_the_dead(&self, by: &Process) {
        let now = os::clock::now_ns();
        if now.saturating_sub(by.looked.get()) < LOOK.as_nanos() as u64 {
            return;
        }
        self.free_pins_behind_the_dead(by);
        let depth = by.depth.get();
        if depth < DEPTH_MAX {
            by.depth.set(depth + 1);
            while let Some(next) = self.next_dying(by.number()) {
                self.finish(by, next);
                self.free_pins(by);
            }
            by.depth.set(depth);
        }
    }

    /// Rolls the changes of a dead process back and frees its latches and mutexes; returns the numbers of words and of
    /// latches. Running it again has no effect.
    fn put_right(&self, dead: u32) -> (u32, u32) {
        let words = self.undo[dead as usize - 1].roll_back(self.sga);
        let (base, end) = (self.sga.base_address() as u64, self.sga.base_address() as u64 + self.sga.len_bytes());
        let inside = |at: u64, len: usize| at >= base && at.checked_add(len as u64).is_some_and(|e| e <= end);
        let alive = |number: u32| self.slot(number).is_some_and(ProcessSlot::is_alive);
        let known = latch::Known { is_shared: &inside, is_alive: &alive };
        (words, self.domain.recover(dead, known).freed)
    }

    /// Takes over all dead processes: rolls their changes back and frees their latches. For the cleaner that waits for
    /// a latch: its holder may have died after the process being cleaned up, and no other process would free it.
    fn free_behind_the_dead(&self, own: u32) {
        self.dead().for_each(|owner| self.take_over(own, owner));
    }

    /// The owners of slots whose processes no longer run. Each owner was read before the operating system was asked: if
    /// the slot still has that owner, the owner is dead.
    fn dead(&self) -> impl Iterator<Item = Owner> {
        self.owners().filter(|owner| !owner.is_claimed() && !os::process::is_running(owner.os_pid()))
    }

    /// Cleans up after every process that no longer runs; returns the number of them.
    pub fn sweep(&'static self, by: &Process) -> u32 {
        let gone: Vec<Owner> = self.dead().collect();
        self.cleanup_all(by, &gone).len() as u32
    }
}

impl Process {
    /// For loops that wait for something that another process owns without a latch, such as a pinned buffer; called in
    /// every turn. When this process is the cleaner, the owner may have died after the process being cleaned up, and no
    /// other process would free it. Latches: none held on entry or return.
    pub fn help_the_dead(&self) {
        if self.cleaning.get() {
            self.all.free_pins_behind_the_dead(self);
        }
    }

    /// For long loops without waits, called in every turn: a cleaner cleans up after processes that have died since, at
    /// most twenty times a second. The caller holds no latch, no pin and no borrow that a hook needs.
    pub fn look_for_the_dead(&self) {
        if self.cleaning.get() {
            self.all.look_for_the_dead(self);
        }
    }
}
