//! The bounds of the listener process: how often an address is accepted, and how long refusals of passwords wait.

use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

/// Refusals of passwords are answered together at the end of an interval. The interval grows with the number of
/// refusals in this minute or the previous one: from that many refusals on, that long.
const INTERVALS: [(u64, Duration); 3] =
    [(0, Duration::from_millis(50)), (200, Duration::from_millis(250)), (2000, Duration::from_secs(1))];

/// The numbers of recently refused passwords, by minute.
#[derive(Debug, Default)]
pub(super) struct Lately {
    minute: u64,
    now: u64,
    before: u64,
}

impl Lately {
    /// Adds refusals of a minute, and returns the length of the next interval.
    pub(super) fn add(&mut self, minute: u64, refusals: u64) -> Duration {
        if minute != self.minute {
            self.before = if minute == self.minute + 1 { self.now } else { 0 };
            (self.minute, self.now) = (minute, 0);
        }
        self.now += refusals;
        let all = self.now.max(self.before);
        INTERVALS.iter().rev().find(|(from, _)| all >= *from).map_or(INTERVALS[0].1, |(_, interval)| *interval)
    }
}

pub(super) fn minute() -> u64 {
    os::clock::wall_ns() / 60_000_000_000
}

/// The rate of an address: a second's worth of connections at once, then one in turn.
#[derive(Debug)]
pub(super) struct Rate {
    /// Connections per second; 0 for no limit.
    a_second: u32,
    left: f64,
    at: Instant,
    pub(super) paused_until: Option<Instant>,
}

impl Rate {
    pub(super) fn new(a_second: u32) -> Rate {
        Rate { a_second, left: a_second.into(), at: Instant::now(), paused_until: None }
    }

    /// Whether one more connection may be accepted now; otherwise a pause begins.
    pub(super) fn take(&mut self, now: Instant) -> bool {
        if self.a_second == 0 {
            return true;
        }
        let most = f64::from(self.a_second);
        let came = now.saturating_duration_since(self.at).as_secs_f64() * most;
        (self.left, self.at) = ((self.left + came).min(most), now);
        let is_there = self.left >= 1.0;
        match is_there {
            true => self.left -= 1.0,
            false => self.paused_until = Some(now + Duration::from_secs_f64((1.0 - self.left) / most)),
        }
        is_there
    }

    /// Returns a unit that was not used.
    pub(super) fn give_back(&mut self) {
        self.left += 1.0;
    }
}

/// The origin by which connections are counted: an IPv4 address, or a network of 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Address {
    V4(u32),
    V6(u64),
}

impl Address {
    pub(super) fn of(socket: &SocketAddr) -> Address {
        match socket.ip().to_canonical() {
            IpAddr::V4(ip) => Address::V4(ip.to_bits()),
            IpAddr::V6(ip) => Address::V6((ip.to_bits() >> 64) as u64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_admits_a_seconds_worth_and_then_one_in_turn() {
        let mut rate = Rate::new(10);
        let began = rate.at;
        let at = |millis| began + Duration::from_millis(millis);
        assert_eq!((0..20).filter(|_| rate.take(at(0))).count(), 10);
        assert_eq!(rate.paused_until, Some(at(100)));
        assert!(!rate.take(at(50)) && rate.take(at(101)) && !rate.take(at(102)));
        rate.give_back();
        assert!(rate.take(at(103)));
        assert_eq!((0..100).filter(|_| rate.take(at(60_000))).count(), 10, "nothing is saved for later");
        assert!((0..1000).all(|_| Rate::new(0).take(began)));
    }
}
