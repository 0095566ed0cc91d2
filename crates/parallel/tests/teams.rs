//! Coordinators and servers in threads of one process, each with a process slot of its own.

use parallel::{Came, Found, Layout, Servers};
use process::{CleanupOrder, Processes};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

fn servers(count: usize) -> (&'static Processes, &'static Servers) {
    let (all, layout) = testing::instance(16, |b| Layout::reserve(b, count));
    let servers: &'static Servers = Box::leak(Box::new(Servers::create(all.sga(), &layout)));
    all.on_death(CleanupOrder::Builds, "servers", move |p, dead| servers.abandon_all(p, dead));
    (all, servers)
}

const GRANULES: u64 = 200;

/// A server that returns each granule it gets, in messages three times as long as the ring, until `end`.
fn serve(all: &'static Processes, servers: &'static Servers, n: u32, end: &AtomicBool) {
    let p = testing::attach(all, "server");
    servers.attached(&p, n);
    while !end.load(Ordering::Relaxed) {
        let found = servers.wait_for_work(&p, n, Duration::from_millis(20), &|| end.load(Ordering::Relaxed));
        let Found::Work(work) = found else { continue };
        let mut job = Vec::new();
        let run = work.receive(&p, &mut job).and_then(|()| {
            let leader = u32::from(job[0]);
            while let Some(granule) = work.next_granule(leader, GRANULES)? {
                let mut message = granule.to_le_bytes().to_vec();
                message.resize(8 + job[1] as usize * 1000, n as u8);
                work.send(&p, &message)?;
            }
            work.send(&p, b"end")
        });
        work.end();
        if let Err(e) = run {
            assert!(e.is(1013), "{e}");
        }
    }
}

fn with_servers(count: usize, body: impl FnOnce(&'static Processes, &'static Servers)) {
    let (all, servers) = servers(count);
    let end = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for n in 0..count as u32 {
            let end = &end;
            scope.spawn(move || serve(all, servers, n, end));
        }
        while servers.list().len() < count {
            std::thread::yield_now();
        }
        let body = std::panic::AssertUnwindSafe(|| body(all, servers));
        let done = std::panic::catch_unwind(body);
        end.store(true, Ordering::Relaxed);
        if let Err(panic) = done {
            std::panic::resume_unwind(panic);
        }
    });
}

#[test]
fn every_granule_is_given_out_once() {
    with_servers(3, |all, servers| {
        let p = testing::attach(all, "coordinator");
        for size in [0u8, 1, 200] {
            let mut team = servers.take(&p, 3).unwrap();
            assert_eq!(team.len(), 3);
            for place in 0..3 {
                team.send(&p, place, &[team.leader() as u8, size], &mut || Ok(())).unwrap();
            }
            let (mut seen, mut message) = ([0u32; GRANULES as usize], Vec::new());
            loop {
                match team.receive(&p, &mut message, &mut || Ok(())).unwrap() {
                    Came::Message(place) if message == b"end" => team.has_ended(place),
                    Came::Message(place) => {
                        let (granule, rest) = message.split_first_chunk::<8>().unwrap();
                        seen[u64::from_le_bytes(*granule) as usize] += 1;
                        assert_eq!(rest, vec![team.server(place) as u8; usize::from(size) * 1000]);
                    }
                    Came::Nothing => break,
                    other => panic!("{other:?}"),
                }
            }
            assert_eq!(seen, [1; GRANULES as usize]);
            team.release(&p);
            assert!(servers.list().iter().all(|seen| seen.coordinator.is_none()));
        }
        assert_eq!(servers.counts().teams, 3);
    });
}

#[test]
fn abandoned_servers_are_free_again_and_take_nothing_of_the_next_query() {
    with_servers(2, |all, servers| {
        let p = testing::attach(all, "coordinator");
        let mut message = Vec::new();
        for _ in 0..50 {
            // The second coordinator may have to wait for the servers of the first.
            let team = loop {
                if let Some(team) = servers.take(&p, 2) {
                    break team;
                }
                std::thread::yield_now();
            };
            let mut team = team;
            for place in 0..team.len() {
                team.send(&p, place, &[team.leader() as u8, 100], &mut || Ok(())).unwrap();
            }
            let came = team.receive(&p, &mut message, &mut || Ok(())).unwrap();
            assert!(matches!(came, Came::Message(_)));
            // A granule of this execution, not of an earlier one.
            assert!(u64::from_le_bytes(message[..8].try_into().unwrap()) < 4, "{:?}", &message[..8]);
            team.release(&p);
        }
    });
}

#[test]
fn a_coordinator_shares_the_servers_with_others() {
    with_servers(2, |all, servers| {
        let p = testing::attach(all, "one");
        let q = testing::attach(all, "other");
        let one = servers.take(&p, 2).unwrap();
        assert!(servers.take(&q, 2).is_none());
        servers.set_limit(1);
        // The coordinator dies and PMON's hook runs.
        servers.abandon_all(&q, p.number());
        drop(one);
        let other = loop {
            if let Some(team) = servers.take(&q, 2) {
                break team;
            }
            std::thread::yield_now();
        };
        assert_eq!(other.len(), 1);
        other.release(&q);
    });
}

#[test]
fn a_server_that_dies_is_noticed_and_one_that_cannot_start_is_left_out() {
    let (all, servers) = servers(2);
    let woken: &'static AtomicU64 = Box::leak(Box::default());
    servers.set_wake(|| {
        woken.fetch_add(1, Ordering::Relaxed);
    });
    let p = testing::attach(all, "coordinator");
    assert!(servers.take(&p, 1).is_none(), "nobody forks servers");
    servers.set_forks();
    let mut team = servers.take(&p, 2).unwrap();
    assert_eq!((team.len(), woken.load(Ordering::Relaxed)), (2, 2));
    assert_eq!([servers.take_wanted(), servers.take_wanted(), servers.take_wanted()], [Some(0), Some(1), None]);
    let mut message = Vec::new();
    let mut next = |team: &mut parallel::Team| team.receive(&p, &mut message, &mut || Ok(())).unwrap();
    servers.not_forked(all, 1);
    assert_eq!(next(&mut team), Came::Refused(1));
    let server = testing::attach(all, "server");
    servers.attached(&server, 0);
    servers.ended(all, 0, false);
    assert_eq!(next(&mut team), Came::Died(0));
    assert_eq!(next(&mut team), Came::Nothing);
    team.release(&p);
    assert_eq!((servers.counts().cleaned, servers.list().len()), (1, 0));
    // Both can be started again.
    assert_eq!(servers.take(&p, 2).unwrap().len(), 2);
}
