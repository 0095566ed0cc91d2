//! Processors, run queues, time slices. A processor is idle only when no session is ready (S4).

use super::Simulation;
use super::state::{NONE, On, Phase};
use crate::figures::State;
use crate::tree::NEVER;

impl Simulation<'_> {
    /// The key of a session in the tree: the end of its phase, or the end of its time slice if others are ready.
    #[inline]
    pub(super) fn set_key(&mut self, s: u32) {
        let session = &self.sessions[s as usize];
        let key = match session.on {
            On::Queue => NEVER,
            On::Nothing => session.at,
            On::Processor => {
                let cpu = &self.cpus[session.cpu as usize];
                if cpu.queue.is_empty() || !session.phase.is_preemptible() {
                    session.at
                } else {
                    session.at.min((cpu.slice_began + self.times.slice).max(self.now))
                }
            }
        };
        self.tree.set(s, key);
    }

    /// The end of a time slice: the first of the run queue runs.
    #[cold]
    pub(super) fn end_slice(&mut self, s: u32) {
        let cpu = self.sessions[s as usize].cpu;
        if self.cpus[cpu as usize].queue.is_empty() {
            self.cpus[cpu as usize].taken = false;
            return self.set_key(s); // the queue was stolen from since
        }
        let session = &mut self.sessions[s as usize];
        let (left, phase) = (session.at - self.now, session.phase);
        session.left = if phase.is_computing() { (left as f64 * session.speed) as u64 } else { left };
        session.then = phase;
        match phase {
            Phase::Spin => self.leave_spinners(s),
            Phase::SpinOdd => self.leave_odd(s),
            Phase::Hold => self.figures.preempted_holds += 1,
            _ => {}
        }
        let taken = std::mem::take(&mut self.cpus[cpu as usize].taken);
        self.account(s);
        self.ready(cpu, s, false);
        self.run_next(cpu);
        if taken {
            // It has not had its time: it goes on when the woken session sleeps again, or has had its own.
            let queue = &mut self.cpus[cpu as usize].queue;
            if let Some(at) = queue.iter().rposition(|other| *other == s) {
                queue.remove(at);
                queue.push_front(s);
            }
        }
    }

    /// The run of a session ends.
    fn account(&mut self, s: u32) {
        let session = &mut self.sessions[s as usize];
        session.used += self.now - session.ran_since;
    }

    /// Whether a woken session takes the processor of the running one: the scheduler does that for woken sessions, as
    /// long as they have not used more processor time than the running one. A sleep is worth one slice at most.
    fn takes(&mut self, cpu: u32, s: u32) -> bool {
        let running = self.cpus[cpu as usize].running;
        if self.times.wake_preempt.is_none() || running == NONE || self.cpus[cpu as usize].taken {
            return false;
        }
        let runner = &self.sessions[running as usize];
        let used = runner.used + (self.now - runner.ran_since);
        let session = &mut self.sessions[s as usize];
        session.used = session.used.max(used.saturating_sub(self.times.slice));
        session.used <= used
    }

    /// Puts a session into a run queue: at its end, or at its front, from where it takes the processor at once.
    fn ready(&mut self, cpu: u32, s: u32, takes: bool) {
        let now = self.now;
        let session = &mut self.sessions[s as usize];
        (session.on, session.cpu, session.at) = (On::Queue, cpu, NEVER);
        self.change_state(s, State::Ready);
        self.set_key(s);
        let queue = &mut self.cpus[cpu as usize];
        let was_empty = queue.queue.is_empty();
        if takes {
            queue.queue.push_front(s);
            queue.taken = true;
        } else {
            queue.queue.push_back(s);
        }
        // Slices that ended while no other session was ready had no effect.
        let (slice, running) = (self.times.slice, queue.running);
        if takes {
            queue.slice_began = now.saturating_sub(slice);
        } else if was_empty && now - queue.slice_began >= slice {
            queue.slice_began += (now - queue.slice_began) / slice * slice;
        }
        if (was_empty || takes) && running != NONE && running != s {
            self.set_key(running);
        }
    }

    /// Gives a yielding session's processor to the next; false when no other session is ready there.
    pub(super) fn give_way(&mut self, s: u32) -> bool {
        let cpu = self.sessions[s as usize].cpu;
        if self.cpus[cpu as usize].queue.is_empty() {
            return false;
        }
        self.sessions[s as usize].then = Phase::Try;
        self.cpus[cpu as usize].taken = false;
        self.account(s);
        self.ready(cpu, s, false);
        self.run_next(cpu);
        true
    }

    /// Takes a session off its processor, into a phase that ends at `at`.
    pub(super) fn sleep(&mut self, s: u32, phase: Phase, at: u64) {
        let cpu = self.sessions[s as usize].cpu;
        self.account(s);
        self.cpus[cpu as usize].taken = false;
        self.sessions[s as usize].on = On::Nothing;
        self.enter(s, phase, at);
        self.run_next(cpu);
    }

    /// Runs the first of the run queue, or of the longest other queue; the processor is idle when all are empty.
    fn run_next(&mut self, cpu: u32) {
        let from = if self.cpus[cpu as usize].queue.is_empty() {
            let longest = (0..self.cpus.len()).max_by_key(|n| (self.cpus[*n].queue.len(), usize::MAX - n));
            longest.unwrap_or(0)
        } else {
            cpu as usize
        };
        match self.cpus[from].queue.pop_front() {
            Some(s) => self.run_on(cpu, s),
            None => {
                debug_assert!(self.cpus.iter().all(|cpu| cpu.queue.is_empty()), "idle only when no session is ready");
                let idle = &mut self.cpus[cpu as usize];
                idle.running = NONE;
                self.figures.busy_ps += self.now - idle.busy_since;
                self.idle += 1;
                self.change_busy(cpu, -1);
            }
        }
    }

    fn run_on(&mut self, cpu: u32, s: u32) {
        let processor = &mut self.cpus[cpu as usize];
        (processor.running, processor.slice_began) = (s, self.now);
        let session = &mut self.sessions[s as usize];
        (session.on, session.cpu, session.ran_since) = (On::Processor, cpu, self.now);
        if self.times.switch > 0 {
            self.enter(s, Phase::Switch, self.now + self.times.switch);
        } else {
            self.resume(s);
        }
    }

    /// Brings a session to a processor: its last one if that is idle, another idle one, or the shortest run queue.
    pub(super) fn place(&mut self, s: u32) {
        let last = self.sessions[s as usize].cpu as usize;
        if self.idle == 0 {
            let others = (0..self.cpus.len()).min_by_key(|n| (self.cpus[*n].queue.len(), *n != last, *n));
            let cpu = others.unwrap_or(last) as u32;
            let takes = self.takes(cpu, s);
            return self.ready(cpu, s, takes);
        }
        let cpu = if self.cpus[last].running == NONE {
            last
        } else {
            let free = (0..self.cpus.len()).filter(|n| self.cpus[*n].running == NONE);
            // A core without a busy thread is better than the sibling of one, and a near core than a far one.
            let near = |n: usize| (self.busy[self.cpus[n].core as usize], self.distance(last as u32, n as u32), n);
            free.min_by_key(|n| near(*n)).unwrap_or(last)
        };
        self.idle -= 1;
        self.cpus[cpu].busy_since = self.now;
        self.change_busy(cpu as u32, 1);
        self.run_on(cpu as u32, s);
    }

    /// Changes the number of busy threads of a core; the computing of the others goes on at another speed.
    fn change_busy(&mut self, cpu: u32, by: i32) {
        let core = self.cpus[cpu as usize].core;
        let busy = &mut self.busy[core as usize];
        *busy = busy.saturating_add_signed(by);
        let speed = self.speeds[*busy as usize];
        let mut sibling = core;
        while (sibling as usize) < self.cpus.len() {
            let s = self.cpus[sibling as usize].running;
            if sibling != cpu && s != NONE {
                let session = &mut self.sessions[s as usize];
                if session.phase.is_computing() && session.speed != speed {
                    let left = (session.at - self.now) as f64 * session.speed / speed;
                    session.at = self.now + left as u64;
                    session.speed = speed;
                    self.set_key(s);
                }
            }
            sibling += self.cores;
        }
    }

    /// Goes on with what a session did before it was off the processor.
    pub(super) fn resume(&mut self, s: u32) {
        let session = &mut self.sessions[s as usize];
        if session.waits_since != NEVER {
            session.wait_ps += self.now - session.waits_since;
            session.waits_since = NEVER;
        }
        match session.then {
            phase @ (Phase::Gap | Phase::Tail | Phase::Hold | Phase::Read) => {
                let left = session.left;
                self.compute(s, phase, 0, left);
            }
            Phase::SpinOdd => {
                session.spin_left = session.left;
                self.begin_read(s);
            }
            Phase::Spin => {
                session.spin_left = session.left;
                self.request(s);
            }
            _ => self.try_again(s),
        }
    }

    /// The end of a timer or of a wake-up.
    pub(super) fn awake(&mut self, s: u32) {
        self.sessions[s as usize].then = Phase::Try;
        self.place(s);
    }

    /// The class of the distance of two processors: own, SMT, die, socket, other.
    #[inline]
    pub(super) fn distance(&self, a: u32, b: u32) -> usize {
        let (from, to) = (&self.cpus[a as usize], &self.cpus[b as usize]);
        match () {
            () if a == b => 0,
            () if from.core == to.core => 1,
            () if from.die == to.die => 2,
            () if from.socket == to.socket => 3,
            () => 4,
        }
    }

    #[inline]
    pub(super) fn transfer(&self, a: u32, b: u32) -> u64 {
        self.times.transfer[self.distance(a, b)]
    }
}
