//! The coordinator's side.

use crate::ring::Ring;
use crate::servers::Servers;
use crate::slot::{
    COORDINATOR, EXECUTION, GRANULES_MAX, LOOK_EVERY, Life, SERVER, State, Word, note_waiting, wake_if_waiting,
};
use process::Process;
use std::sync::atomic::Ordering;
use types::Result;
use wait::Event;

/// The servers of one execution. Must be freed by [`Team::release`]; a dropped team is abandoned only by the clean-up
/// of the process.
#[derive(Debug)]
pub struct Team {
    servers: &'static Servers,
    execution: u64,
    coordinator: u32,
    members: Vec<Member>,
    /// The member to look at first.
    next: usize,
}

#[derive(Debug)]
struct Member {
    server: u32,
    has_ended: bool,
    /// The part of a message received so far.
    part: Vec<u8>,
}

/// Events that a coordinator waits for; numbers are positions in the team.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Came {
    Message(usize),
    /// The server could not start.
    Refused(usize),
    Died(usize),
    /// All servers have ended.
    Nothing,
}

impl Servers {
    /// Takes up to `wanted` servers for an execution; `None` if none is available. Servers that are not running are
    /// started.
    pub fn take(&'static self, p: &Process, wanted: usize) -> Option<Team> {
        if wanted == 0 || self.limit() == 0 {
            return None;
        }
        let execution = (self.control.executions.fetch_add(1, Ordering::Relaxed) + 1) & EXECUTION;
        let mut team = Team { servers: self, execution, coordinator: p.number(), members: Vec::new(), next: 0 };
        // Running servers come first.
        let ways: &[bool] = if self.forks() { &[true, false] } else { &[true] };
        for &is_live in ways {
            for server in 0..self.limit() as u32 {
                if team.members.len() < wanted && (self.slot(server).life().0 == Life::Live) == is_live {
                    team.take_server(server);
                }
            }
        }
        if team.members.is_empty() {
            return None;
        }
        faults::point("px-preparing");
        for place in 0..team.members.len() {
            team.prepare(p, place, wanted);
        }
        faults::point("px-taken");
        self.control.sessions.fetch_add(team.members.len() as u64, Ordering::Relaxed);
        self.control.teams.fetch_add(1, Ordering::Relaxed);
        let busy = self.slots.iter().filter(|slot| slot.work().state != State::Nobodys).count();
        self.control.highwater.fetch_max(busy as u64, Ordering::Relaxed);
        Some(team)
    }
}

impl Team {
    fn word(&self, state: State) -> Word {
        Word { state, coordinator: self.coordinator, execution: self.execution }
    }

    fn take_server(&mut self, server: u32) {
        if self.servers.slot(server).turn_work(Word::NOBODYS, self.word(State::Preparing)) {
            self.members.push(Member { server, has_ended: false, part: Vec::new() });
        }
    }

    /// Empties the rings of a newly taken server and lets it begin.
    fn prepare(&mut self, p: &Process, place: usize, wanted: usize) {
        let server = self.members[place].server;
        let slot = self.servers.slot(server);
        self.servers.ring_to(server).empty();
        self.servers.ring_from(server).empty();
        slot.waits.iter().for_each(|waits| waits.store(0, Ordering::Relaxed));
        slot.granule.store(self.execution << 24, Ordering::Relaxed);
        let about = [self.members.len(), wanted, place + 1].map(|n| n.min(0xffff) as u64);
        slot.about.store(about[0] | about[1] << 16 | about[2] << 32, Ordering::Relaxed);
        slot.turn_work(self.word(State::Preparing), self.word(State::Taken));
        match slot.life() {
            // It ended meanwhile, or was never running.
            (Life::Free, _) => {
                slot.turn_life(Life::Free, Life::Wanted);
                if let Some(wake) = self.servers.wake.get() {
                    wake();
                }
            }
            (Life::Live, number) => p.all().post(number),
            (Life::Wanted | Life::Starting, _) => {}
        }
    }

    /// The number of servers.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Always false: a team has at least one server.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The number of the server that gives out the granules.
    pub fn leader(&self) -> u32 {
        self.members[0].server
    }

    /// The number of the server at a position of the team.
    pub fn server(&self, place: usize) -> u32 {
        self.members[place].server
    }

    /// Records that a server has sent its last message.
    pub fn has_ended(&mut self, place: usize) {
        self.members[place].has_ended = true;
    }

    /// Sends a message to the server at a position. The message is lost if the server has died or cannot start.
    ///
    /// # Errors
    /// Those of `check`, which is called while there is no room.
    pub fn send(
        &self,
        p: &Process,
        place: usize,
        mut rest: &[u8],
        check: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        let server = self.members[place].server;
        let (slot, ring) = (self.servers.slot(server), self.servers.ring_to(server));
        let wake = || {
            if let (Life::Live, number) = slot.life() {
                wake_if_waiting(p.all(), &slot.waits[SERVER], number);
            }
        };
        loop {
            if let Some(len) = ring.put(rest) {
                wake();
                rest = &rest[len..];
                if rest.is_empty() {
                    slot.messages[0].fetch_add(1, Ordering::Relaxed);
                    return Ok(());
                }
                continue;
            }
            let wait = p.wait(Event::PxDeqCreditSendBlkd, u64::from(server), 0, 0);
            note_waiting(&slot.waits[COORDINATOR]);
            let posts = p.posts();
            if !ring.has_room() && slot.work() == self.word(State::Taken) && !p.sleep(posts, Some(LOOK_EVERY)) {
                wait.timed_out();
            }
            drop(wait);
            check()?;
            if slot.work() != self.word(State::Taken) {
                return Ok(());
            }
        }
    }

    /// Waits for the next message from any server and puts it into `out`.
    ///
    /// # Errors
    /// Those of `check`, which is called while there is no message; ORA-00600 for an invalid message.
    pub fn receive(&mut self, p: &Process, out: &mut Vec<u8>, check: &mut dyn FnMut() -> Result<()>) -> Result<Came> {
        loop {
            if let Some(came) = self.look(p, out)? {
                return Ok(came);
            }
            let wait = p.wait(Event::PxDeqExecuteReply, LOOK_EVERY.as_millis() as u64 / 10, 0, 0);
            let posts = p.posts();
            let working = || self.members.iter().filter(|member| !member.has_ended);
            working().for_each(|member| note_waiting(&self.servers.slot(member.server).waits[COORDINATOR]));
            let taken = self.word(State::Taken);
            let has_news = working().any(|member| {
                self.servers.ring_from(member.server).has_some() || self.servers.slot(member.server).work() != taken
            });
            if !has_news && !p.sleep(posts, Some(LOOK_EVERY)) {
                wait.timed_out();
            }
            drop(wait);
            check()?;
        }
    }

    /// The next event; `None` if there is none yet.
    fn look(&mut self, p: &Process, out: &mut Vec<u8>) -> Result<Option<Came>> {
        let count = self.members.len();
        for turn in 0..count {
            let place = (self.next + turn) % count;
            if self.members[place].has_ended {
                continue;
            }
            // A dead server may have sent its last message before.
            let state = self.servers.slot(self.members[place].server).work().state;
            if self.take_message(p, place)? {
                self.next = place + 1;
                out.clear();
                std::mem::swap(out, &mut self.members[place].part);
                return Ok(Some(Came::Message(place)));
            }
            match state {
                State::Taken => {}
                State::Refused => {
                    self.members[place].has_ended = true;
                    return Ok(Some(Came::Refused(place)));
                }
                _ => {
                    self.members[place].has_ended = true;
                    return Ok(Some(Came::Died(place)));
                }
            }
        }
        Ok(self.members.iter().all(|member| member.has_ended).then_some(Came::Nothing))
    }

    fn take_message(&mut self, p: &Process, place: usize) -> Result<bool> {
        let member = &mut self.members[place];
        let slot = self.servers.slot(member.server);
        let ring: Ring = self.servers.ring_from(member.server);
        while let Some(is_last) = ring.take(&mut member.part)? {
            if let (Life::Live, number) = slot.life() {
                wake_if_waiting(p.all(), &slot.waits[SERVER], number);
            }
            if is_last {
                slot.messages[1].fetch_add(1, Ordering::Relaxed);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Frees the servers: together if all have ended, otherwise by abandoning them.
    pub fn release(self, p: &Process) {
        let all_ended = self.members.iter().all(|member| member.has_ended);
        for member in &self.members {
            let slot = self.servers.slot(member.server);
            let (taken, died, refused) = (self.word(State::Taken), self.word(State::Died), self.word(State::Refused));
            let gives = |word| slot.turn_work(word, Word::NOBODYS);
            if !(all_ended && (gives(taken) || gives(died) || gives(refused))) {
                self.servers.abandon(p, member.server, self.coordinator, self.execution);
            }
            faults::point("px-released");
        }
    }
}

const _: () = assert!(GRANULES_MAX < 1 << 24);
