//! Requests to the supervisor about the listener, and the connections that the listener has counted.

use super::words::State;
use std::sync::atomic::Ordering;

types::numbered! {
    /// A request to the supervisor about the listener.
    #[derive(Debug, PartialEq, Eq)]
    pub enum ListenerWish: u32 {
        Start = 1,
        Stop = 2,
        /// Keeps the addresses and restarts everything else.
        Reload = 3,
    }
}

impl State {
    /// Stores a request; the caller then wakes the supervisor. Returns the number of the request; `None` while another
    /// one waits.
    pub fn ask_of_listener(&self, wish: ListenerWish) -> Option<u32> {
        let last = self.fixed.listener_wish.load(Ordering::Acquire);
        let number = (last >> 8).wrapping_add(1) & (u32::MAX >> 8);
        let next = number << 8 | wish.code();
        let is_free = last & 0xff == 0;
        let asks = || self.fixed.listener_wish.compare_exchange(last, next, Ordering::AcqRel, Ordering::Relaxed);
        (is_free && asks().is_ok()).then_some(number)
    }

    /// Takes the waiting request and its number. Only the supervisor calls this.
    pub fn take_listener_wish(&self) -> Option<(ListenerWish, u32)> {
        let asked = self.fixed.listener_wish.fetch_and(!0xff, Ordering::AcqRel);
        ListenerWish::from_code(asked & 0xff).map(|wish| (wish, asked >> 8))
    }

    /// Answers the request with this number.
    pub fn answer_listener_wish(&self, number: u32, is_done: bool) {
        self.fixed.listener_answer.store(number << 8 | if is_done { 1 } else { 2 }, Ordering::Release);
    }

    /// Whether the request with this number, or a later one, was fulfilled; `None` before the answer.
    pub fn listener_answer(&self, number: u32) -> Option<bool> {
        let answer = self.fixed.listener_answer.load(Ordering::Acquire);
        let is_behind = (answer >> 8).wrapping_sub(number) & (u32::MAX >> 8) < 1 << 16;
        (answer != 0 && is_behind).then_some(answer & 0xff == 1)
    }

    /// Notes that the listener begins now.
    pub fn listener_begins(&self) {
        self.fixed.listener_began_wall_ns.store(os::clock::wall_ns(), Ordering::Relaxed);
    }

    /// The time at which the listener began, in nanoseconds since 1970 UTC.
    pub fn listener_began_wall_ns(&self) -> u64 {
        self.fixed.listener_began_wall_ns.load(Ordering::Relaxed)
    }

    /// Counts a connection that got a server process or was refused. Only the listener process calls this.
    pub fn count_connection(&self, is_established: bool) {
        let counter = if is_established { &self.fixed.established } else { &self.fixed.refused };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// The numbers of connections that got a server process and of refused connections.
    pub fn connections(&self) -> (u64, u64) {
        (self.fixed.established.load(Ordering::Relaxed), self.fixed.refused.load(Ordering::Relaxed))
    }
}
