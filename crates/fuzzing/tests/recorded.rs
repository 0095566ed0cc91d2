//! Recorded messages of drivers are replayed: truncated between and inside packets, and out of order.
//!
//! `LATCHWORK_FUZZ_CHANGES` sets the number of truncations and orders for each recording (0: a truncation at every
//! packet, and as many orders), `LATCHWORK_FUZZ_SEED` selects them.

use fastrand::Rng;
use fuzzing::recorded::{Recording, prepare, recordings};

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|v| v.parse().ok())
}

fn of_each(what: impl Fn(&Recording, &mut Rng, usize)) {
    prepare();
    let recordings = recordings();
    assert!(recordings.len() >= 4, "a recording of each driver");
    for recording in &recordings {
        let mut random = Rng::with_seed(number("LATCHWORK_FUZZ_SEED").unwrap_or(7));
        let times = match number("LATCHWORK_FUZZ_CHANGES") {
            None => 8,
            Some(0) => recording.len(),
            Some(n) => n as usize,
        };
        what(recording, &mut random, times);
    }
}

#[test]
fn conversations_are_said_again() {
    of_each(|recording, _, _| {
        let said = recording.say(&recording.whole());
        assert!(said + 2 >= recording.len(), "{}: over after {said} of {} packets", recording.name, recording.len());
    });
}

#[test]
fn conversations_are_cut_off() {
    of_each(|recording, random, times| {
        for n in 0..times {
            let at = if times >= recording.len() { n } else { random.usize(..recording.len()) };
            let said = recording.say(&recording.cut(at, n % 2 == 1));
            assert!(said + 2 >= at, "{}: over after {said} of {at} packets", recording.name);
        }
    });
}

#[test]
fn packets_come_out_of_order() {
    of_each(|recording, random, times| {
        for _ in 0..times {
            recording.say(&recording.disordered(random));
        }
    });
}
