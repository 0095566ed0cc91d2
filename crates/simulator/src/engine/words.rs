//! The rules of the words: tries, spins, lists, hand-overs, versions.

use super::Simulation;
use super::state::{Handover, NONE, Phase};
use crate::design::{Design, Scheme, Sleep};
use crate::random::Stream;
use crate::tree::NEVER;
use crate::workload::ps;

/// Yields of scheme 0 before it sleeps, as in Latchwork's mutexes.
const YIELDS: u32 = 100;

impl Simulation<'_> {
    /// The end of a gap: a get begins.
    #[inline]
    pub(super) fn begin_get(&mut self, s: u32) {
        let session = &mut self.sessions[s as usize];
        (session.missed, session.sleeps, session.wait_ps, session.tries) = (false, 0, 0, 0);
        let word = &self.words[session.word as usize];
        let spins = match word.design {
            Design::Exclusive { spins, .. } | Design::Shared { spins } | Design::Mutex { spins, .. } => spins,
            Design::HotCopies { copies, spins, .. } => {
                // A reader takes the copy of its session, a writer begins with the first.
                let copy = if session.write { session.copy } else { s % copies.max(1) };
                session.word = self.first_word[usize::from(session.latch)] + copy;
                spins
            }
            Design::Versioned { spins, .. } => spins,
        };
        session.spin_left = (f64::from(spins) * self.times.spin) as u64;
        if !session.write && matches!(word.design, Design::Versioned { .. }) {
            self.begin_read(s);
        } else {
            self.request(s);
        }
    }

    /// True when the get of a session is one among several holders.
    #[inline]
    fn is_shared(&self, s: u32) -> bool {
        let session = &self.sessions[s as usize];
        !session.write
            && matches!(self.words[session.word as usize].design, Design::Shared { .. } | Design::Versioned { .. })
    }

    /// Asks for the line of the word with an atomic operation.
    #[inline]
    pub(super) fn request(&mut self, s: u32) {
        let (cpu, w) = (self.sessions[s as usize].cpu, self.sessions[s as usize].word as usize);
        if self.words[w].handover.is_some() {
            self.barge(cpu, w);
        }
        let is_shared = self.is_shared(s);
        let cost = self.line_cost(w, cpu);
        let word = &mut self.words[w];
        let mut at = word.free_at.max(self.now) + cost;
        if is_shared && word.free_at > self.now {
            // Another process changes the count between this one's look and its exchange: it tries again at once.
            self.sessions[s as usize].missed = true;
            at += self.times.transfer[0];
        }
        (word.free_at, word.owner) = (at, cpu);
        self.enter(s, Phase::Try, at);
    }

    #[inline]
    fn line_cost(&self, w: usize, cpu: u32) -> u64 {
        match self.words[w].owner {
            NONE => self.times.transfer[0],
            owner => self.transfer(owner, cpu),
        }
    }

    /// The processor that has just freed the word finds it free in its own cache: it gets it before the spinner that
    /// the line is on its way to, and the spinner spins on.
    fn barge(&mut self, cpu: u32, w: usize) {
        let Some(handover) = self.words[w].handover.filter(|h| h.from == cpu && self.now < h.until) else { return };
        let word = &mut self.words[w];
        word.handover = None;
        (word.free_at, word.owner) = (self.now, cpu);
        let left = self.sessions[handover.winner as usize].spin_left;
        self.join_spinners(handover.winner, left);
    }

    fn join_spinners(&mut self, s: u32, left: u64) {
        let word = &mut self.words[self.sessions[s as usize].word as usize];
        self.sessions[s as usize].place = word.spinners.len() as u32;
        word.spinners.push(s);
        self.enter(s, Phase::Spin, self.now.saturating_add(left));
    }

    pub(super) fn leave_spinners(&mut self, s: u32) {
        let (w, place) = (self.sessions[s as usize].word, self.sessions[s as usize].place as usize);
        let spinners = &mut self.words[w as usize].spinners;
        debug_assert_eq!(spinners[place], s);
        spinners.swap_remove(place);
        if let Some(moved) = spinners.get(place) {
            self.sessions[*moved as usize].place = place as u32;
        }
    }

    /// The line has come: the try succeeds or fails.
    #[inline]
    pub(super) fn tried(&mut self, s: u32) {
        let word = &self.words[self.sessions[s as usize].word as usize];
        let is_free = if self.is_shared(s) {
            word.holder == NONE && !word.blocking && word.handover.is_none()
        } else {
            word.is_free()
        };
        if is_free { self.acquire(s) } else { self.miss(s) }
    }

    fn miss(&mut self, s: u32) {
        let shared = self.is_shared(s);
        let session = &mut self.sessions[s as usize];
        session.missed = true;
        let left = session.spin_left;
        match self.words[session.word as usize].design {
            Design::Exclusive { sleep: Sleep::Post, .. } | Design::Shared { .. } | Design::Versioned { .. }
                if session.listed || shared =>
            {
                self.join_list(s);
            }
            _ => self.join_spinners(s, left),
        }
    }

    /// The end of the spin limit.
    pub(super) fn end_spin(&mut self, s: u32) {
        self.leave_spinners(s);
        match self.words[self.sessions[s as usize].word as usize].design {
            Design::Exclusive { sleep: Sleep::BackOff { longest_ms }, .. } => self.back_off(s, longest_ms),
            Design::Mutex { scheme, .. } | Design::HotCopies { scheme, .. } => self.wait_for_mutex(s, scheme),
            _ => self.join_list(s),
        }
    }

    /// Sleeps until posted. The place in the list is that of the first sleep of the get.
    fn join_list(&mut self, s: u32) {
        let session = &mut self.sessions[s as usize];
        let word = &mut self.words[session.word as usize];
        if !session.listed {
            session.listed = true;
            word.waiters.push_back(s);
        }
        session.posted = false;
        session.sleeps += 1;
        session.waits_since = self.now;
        // An exclusive requester that shared holders keep out lets no further ones in.
        word.blocking |= word.shared > 0 && session.write;
        self.sleep(s, Phase::Listed, NEVER);
    }

    /// 8i: 10, 10, 20, 20, 40, … ms.
    fn back_off(&mut self, s: u32, longest_ms: u32) {
        let session = &mut self.sessions[s as usize];
        let ms = 1u32.checked_shl(session.sleeps / 2).unwrap_or(u32::MAX).saturating_mul(10).min(longest_ms.max(1));
        session.sleeps += 1;
        self.sleep_for(s, f64::from(ms) * 1e3);
    }

    fn wait_for_mutex(&mut self, s: u32, scheme: Scheme) {
        let session = &mut self.sessions[s as usize];
        let sleeps = session.sleeps;
        session.sleeps += 1;
        session.waits_since = self.now;
        let sleep_ms = match scheme {
            Scheme::Yield if sleeps % YIELDS != YIELDS - 1 => None,
            Scheme::Yield => Some(1),
            Scheme::Fixed { ms } => Some(ms.max(1)),
            Scheme::Exponential { .. } if sleeps < 2 => None,
            Scheme::Exponential { longest_ms } => {
                Some(1u32.checked_shl((sleeps - 2).min(31)).unwrap_or(u32::MAX).min(longest_ms.max(1)))
            }
        };
        match sleep_ms {
            Some(ms) => self.sleep_for(s, f64::from(ms) * 1e3),
            None if self.give_way(s) => {}
            None => self.enter(s, Phase::Yield, self.now + self.times.yielded),
        }
    }

    fn sleep_for(&mut self, s: u32, us: f64) {
        let session = &mut self.sessions[s as usize];
        session.waits_since = self.now;
        let draw = self.draws.unit(s, Stream::Timer, session.timers);
        session.timers += 1;
        // A half to one and a half of the mean lateness.
        let late = self.times.scheduler.late_us(us) * (0.5 + draw);
        self.sleep(s, Phase::Timer, self.now + ps((us + late) * 1e3));
    }

    /// After a sleep or a yield: the whole spin again, but only one try for a latch with a list.
    pub(super) fn try_again(&mut self, s: u32) {
        let session = &mut self.sessions[s as usize];
        if session.waits_since != NEVER {
            session.wait_ps += self.now - session.waits_since;
            session.waits_since = NEVER;
        }
        let spins = match self.words[session.word as usize].design {
            Design::Exclusive { spins, .. } | Design::Mutex { spins, .. } | Design::HotCopies { spins, .. } => spins,
            Design::Shared { spins } | Design::Versioned { spins, .. } => spins,
        };
        session.spin_left = (f64::from(spins) * self.times.spin) as u64;
        self.request(s);
    }

    /// A spinner has got the word that was handed over to it.
    pub(super) fn granted(&mut self, s: u32) {
        self.words[self.sessions[s as usize].word as usize].handover = None;
        self.acquire(s);
    }

    #[inline]
    fn acquire(&mut self, s: u32) {
        let shared = self.is_shared(s);
        let session = &mut self.sessions[s as usize];
        let (w, cpu, work) = (session.word as usize, session.cpu, session.hold_ps);
        if session.listed {
            session.listed = false;
            let waiters = &mut self.words[w].waiters;
            if let Some(at) = waiters.iter().position(|other| *other == s) {
                waiters.remove(at);
            }
        }
        self.count(s);
        let word = &mut self.words[w];
        let data_at = word.data_at;
        let moves = if shared {
            word.shared += 1;
            let known = data_at == NONE || word.has_copy(cpu);
            word.add_copy(cpu);
            !known
        } else {
            word.holder = s;
            word.blocking = false;
            word.version += 1;
            word.data_at = cpu;
            word.only_copy(cpu);
            data_at != NONE && data_at != cpu
        };
        let extra = if moves { self.data_cost(w, data_at, cpu) } else { 0 };
        self.compute(s, Phase::Hold, extra, work);
    }

    /// The move of the protected data from the processor that changed them last.
    #[inline]
    fn data_cost(&self, w: usize, from: u32, cpu: u32) -> u64 {
        let lines = self.workload.lines(self.words[w].latch);
        (self.transfer(from, cpu) as f64 * lines) as u64
    }

    /// Counts a get that has succeeded.
    #[inline]
    fn count(&mut self, s: u32) {
        let session = &self.sessions[s as usize];
        let counts = &mut self.figures.latches[usize::from(session.latch)];
        counts.gets += 1;
        if session.missed {
            counts.misses += 1;
            counts.spin_gets += u64::from(session.sleeps == 0);
            counts.sleeps += u64::from(session.sleeps);
            counts.wait_ps += session.wait_ps;
        }
    }

    /// The end of a hold: the release waits for the line.
    #[inline]
    pub(super) fn end_hold(&mut self, s: u32) {
        let (cpu, w) = (self.sessions[s as usize].cpu, self.sessions[s as usize].word as usize);
        if self.is_shared(s) {
            let at = self.words[w].free_at.max(self.now) + self.line_cost(w, cpu);
            (self.words[w].free_at, self.words[w].owner) = (at, cpu);
            self.enter(s, Phase::Release, at);
        } else if self.words[w].free_at > self.now {
            // Behind the tries of others, as the holder's counters are.
            let at = self.words[w].free_at;
            self.enter(s, Phase::Release, at);
        } else {
            self.released(s);
        }
    }

    /// The word is freed.
    #[inline]
    pub(super) fn released(&mut self, s: u32) {
        let (cpu, w) = (self.sessions[s as usize].cpu, self.sessions[s as usize].word as usize);
        let mut extra = 0;
        if self.is_shared(s) {
            self.words[w].shared -= 1;
        } else {
            // A store: it does not wait, and the next request for the line does.
            extra = self.times.transfer[0];
            let cost = self.line_cost(w, cpu);
            let word = &mut self.words[w];
            (word.holder, word.blocking) = (NONE, false);
            word.version += 1;
            (word.free_at, word.owner) = (self.now + cost, cpu);
        }
        let mut posted = 0;
        if self.words[w].shared == 0 {
            if !self.words[w].spinners.is_empty() {
                self.hand_over(s, cpu, w);
            }
            posted = self.post_waiters(w);
        }
        if !self.words[w].waits_even.is_empty() && self.words[w].version.is_multiple_of(2) {
            self.wake_readers(w);
        }
        self.after_get(s, extra, posted);
    }

    fn after_get(&mut self, s: u32, extra: u64, posted: u64) {
        let session = &mut self.sessions[s as usize];
        if let Design::HotCopies { copies, .. } = self.words[session.word as usize].design
            && session.write
            && session.copy + 1 < copies
        {
            session.copy += 1;
            return self.begin_get(s);
        }
        if posted > 0 {
            self.enter(s, Phase::Post, self.now + extra + posted * self.times.post);
        } else {
            self.next(s, extra);
        }
    }

    /// Chooses one of the spinners at random; the word reaches it after H(k).
    fn hand_over(&mut self, releaser: u32, cpu: u32, w: usize) {
        let draw = self.sessions[releaser as usize].winners;
        self.sessions[releaser as usize].winners += 1;
        let k = self.words[w].spinners.len();
        let chosen = if k == 1 { 0 } else { self.draws.below(k as u64, releaser, Stream::Winner, draw) as usize };
        let winner = self.words[w].spinners[chosen];
        self.leave_spinners(winner);
        let (curve, known) = &self.curves[curve_of(self.words[w].design)];
        let at = self.now + curve[k.min(curve.len() - 1)];
        self.figures.handovers += 1;
        self.figures.handovers_beyond += u64::from(k >= *known);
        let to = self.sessions[winner as usize].cpu;
        let until = self.now + self.transfer(cpu, to);
        self.sessions[winner as usize].spin_left = self.sessions[winner as usize].at - self.now;
        let word = &mut self.words[w];
        word.handover = Some(Handover { winner, from: cpu, until });
        (word.free_at, word.owner) = (at, to);
        self.enter(winner, Phase::Grant, at);
    }

    /// Posts the first waiter, and if that is a shared one all shared ones before the first exclusive one. While the
    /// word is blocking only an exclusive one can get it.
    fn post_waiters(&mut self, w: usize) -> u64 {
        if self.words[w].waiters.is_empty() {
            return 0;
        }
        let blocking = self.words[w].blocking;
        let (mut posted, mut has_shared) = (0, false);
        for at in 0..self.words[w].waiters.len() {
            let waiter = self.words[w].waiters[at];
            let shared = self.is_shared(waiter);
            if blocking && shared {
                continue;
            }
            if !shared && has_shared {
                break;
            }
            has_shared = true;
            posted += u64::from(self.post(waiter, posted + 1));
            if !shared {
                break; // on its way already or not, it is the next
            }
        }
        posted
    }

    fn post(&mut self, waiter: u32, number: u64) -> bool {
        let session = &mut self.sessions[waiter as usize];
        if session.posted {
            return false;
        }
        session.posted = true;
        let wake = match self.times.wake_preempt {
            _ if self.idle > 0 => self.times.wake_idle,
            Some(wake) => wake,
            None => self.times.wake_busy,
        };
        self.enter(waiter, Phase::Waking, self.now + number * self.times.post + wake);
        true
    }

    /// Begins a versioned read: the version, then the data.
    #[inline]
    pub(super) fn begin_read(&mut self, s: u32) {
        let session = &self.sessions[s as usize];
        let (w, cpu, work) = (session.word as usize, session.cpu, session.hold_ps);
        if self.words[w].version % 2 == 1 {
            let left = session.spin_left;
            self.sessions[s as usize].missed = true;
            self.words[w].waits_even.push(s);
            return self.enter(s, Phase::SpinOdd, self.now.saturating_add(left));
        }
        self.sessions[s as usize].version = self.words[w].version;
        // A line that no one has written since this processor's last read costs nothing.
        let (data_at, known) = (self.words[w].data_at, self.words[w].has_copy(cpu));
        let mut extra = 0;
        if data_at != NONE && !known {
            extra = self.transfer(data_at, cpu) + self.data_cost(w, data_at, cpu);
        }
        self.words[w].add_copy(cpu);
        self.compute(s, Phase::Read, extra, work);
    }

    /// The end of a versioned read: the version must be the same.
    #[inline]
    pub(super) fn end_read(&mut self, s: u32) {
        let session = &mut self.sessions[s as usize];
        let word = &self.words[session.word as usize];
        if word.version == session.version {
            self.count(s);
            return self.next(s, 0);
        }
        session.missed = true;
        session.tries += 1;
        let Design::Versioned { tries, .. } = word.design else { unreachable!("only versioned words are read so") };
        if session.tries > tries {
            return self.fall_back(s);
        }
        self.figures.repeats += 1;
        self.begin_read(s);
    }

    /// A reader has looked at an odd version for too long.
    pub(super) fn end_spin_odd(&mut self, s: u32) {
        self.leave_odd(s);
        self.fall_back(s);
    }

    pub(super) fn leave_odd(&mut self, s: u32) {
        let w = self.sessions[s as usize].word as usize;
        self.words[w].waits_even.retain(|other| *other != s);
    }

    fn fall_back(&mut self, s: u32) {
        self.figures.fallbacks += 1;
        self.request(s);
    }

    /// The version is even again: those that look at it read.
    fn wake_readers(&mut self, w: usize) {
        for s in std::mem::take(&mut self.words[w].waits_even) {
            let session = &mut self.sessions[s as usize];
            session.spin_left = session.at - self.now;
            self.begin_read(s);
        }
    }
}

fn curve_of(design: Design) -> usize {
    match design {
        Design::Exclusive { .. } => 0,
        Design::Shared { .. } | Design::Versioned { .. } => 1,
        Design::Mutex { .. } | Design::HotCopies { .. } => 2,
    }
}
