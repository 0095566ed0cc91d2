//! Free locks and resources: in the chains, in the pool, and after a death on the way between them.

use super::*;
use crate::config::{CHAINS_MOST, chains_for};
use latch::LatchName;
use testing::Random;

/// Names that hash to one chain.
fn of_one_chain(e: &Enqueues, count: usize) -> Vec<u64> {
    let at = e.chain_of(EnqueueType::Tx, 0, 0);
    (0..).filter(|id| e.chain_of(EnqueueType::Tx, *id, 0) == at).take(count).collect()
}

fn pool_gets(all: &Processes) -> u64 {
    all.latch_counts(LatchName::Enqueues).gets
}

fn take(e: &Enqueues, p: &Process, ids: &[u64]) -> Vec<LockId> {
    ids.iter().map(|id| get(e, p, *id, LockMode::Exclusive, Timeout::NoWait).unwrap()).collect()
}

#[test]
fn chains_are_as_many_as_processes_and_processors_ask_for() {
    assert_eq!([chains_for(10, 2), chains_for(1000, 2), chains_for(100, 64)], [64, 1024, 1024]);
    assert_eq!([chains_for(60_000, 64), chains_for(10, u32::MAX)], [CHAINS_MOST; 2]);
    for processes in [50, 520, 10_006] {
        let config = EnqueueConfig::for_processes(processes);
        assert!(config.chains >= processes, "{config:?}");
    }
}

/// A small instance on a large machine has many chains, and few slots for each without the minimum.
#[test]
fn each_chain_may_have_batches_of_eight() {
    let small = EnqueueConfig { processes: 20, resources: 2048, locks: 4096, chains: 1024, holders: 2 };
    let config = small.with_stock();
    let (all, layout) = instance(20, |b| EnqueueLayout::reserve(b, &config));
    let e = Enqueues::create(all, &layout);
    let p = attach(all, "p");
    let ids = of_one_chain(&e, 16);
    let _ = take(&e, &p, &ids);
    assert_eq!(pool_gets(all), 2, "sixteen locks in batches of eight");
    assert_eq!((e.usage().0.limit, e.usage().1.limit), (32_768, 32_768));
}

#[test]
fn the_latch_of_the_pool_is_got_once_a_batch() {
    let (all, e) = setup_with(4, 1024, 1024, 4);
    let p = attach(all, "p");
    let one = get(&e, &p, 1, LockMode::Exclusive, Timeout::NoWait).unwrap();
    e.release(&p, one);
    assert_eq!(pool_gets(all), 1, "a lock and a resource come together");
    for _ in 0..100 {
        let one = get(&e, &p, 1, LockMode::Exclusive, Timeout::NoWait).unwrap();
        e.release(&p, one);
    }
    assert_eq!(pool_gets(all), 1, "the chain has what it needs");
    let ids = of_one_chain(&e, 160);
    let locks = take(&e, &p, &ids);
    let taken = pool_gets(all);
    assert!((160 / 16 - 1..=160 / 16 + 1).contains(&taken), "{taken} gets for 160 locks in batches of 16");
    locks.iter().for_each(|lock| e.release(&p, *lock));
    let given = pool_gets(all) - taken;
    assert!((160 / 16 - 2..=160 / 16).contains(&given), "{given} gets for 160 locks given back");
    assert_invariants(&e);
}

/// At any number of locks of a chain, gets and releases that vary by less than a batch do not move a batch each time.
#[test]
fn getting_and_releasing_around_any_number_leaves_the_pool_alone() {
    let (all, e) = setup_with(4, 1024, 1024, 4);
    let p = attach(all, "p");
    let ids = of_one_chain(&e, 80);
    for id in &ids[..64] {
        let _ = get(&e, &p, *id, LockMode::Exclusive, Timeout::NoWait).unwrap();
        let before = pool_gets(all);
        for _ in 0..50 {
            take(&e, &p, &ids[64..76]).iter().for_each(|lock| e.release(&p, *lock));
        }
        let gets = pool_gets(all) - before;
        assert!(gets <= 2, "{gets} gets for 600 locks taken and given back");
    }
}

#[test]
fn what_lies_with_the_chains_is_found_before_a_request_fails() {
    let (all, e) = setup_with(4, 128, 96, 4);
    let p = attach(all, "p");
    for round in 0..3 {
        // The locks return to every chain and stay there.
        let all_over: Vec<u64> = (1000..1090).collect();
        take(&e, &p, &all_over).iter().for_each(|lock| e.release(&p, *lock));
        assert!(e.chains.iter().all(|chain| !e.locks.of_chain(&chain.locks).is_empty()));
        // One chain gets all 96 resources.
        let ids = of_one_chain(&e, 97);
        let _ = take(&e, &p, &ids[..96]);
        let more = get(&e, &p, ids[96], LockMode::Exclusive, Timeout::NoWait);
        assert_eq!(more, Err(EnqueueError::OutOfResources(96)), "round {round}");
        assert_invariants(&e);
        e.release_all(&p, p.number());
        assert_invariants(&e);
    }
    // Also all locks: a resource may have many owners, and owners many resources.
    let others: Vec<_> = (0..2).map(|_| attach(all, "other")).collect();
    let ids = of_one_chain(&e, 64);
    for other in &others {
        for id in &ids {
            let _ = get(&e, other, *id, LockMode::Share, Timeout::NoWait).unwrap();
        }
    }
    assert_eq!(get(&e, &p, 7, LockMode::Share, Timeout::NoWait), Err(EnqueueError::OutOfLocks));
    assert_eq!((e.usage().0.now, e.usage().0.most, e.usage().1.now), (128, 128, 64));
    e.note_usage();
    others.iter().for_each(|p| e.release_all(p, p.number()));
    assert_eq!((e.usage().0.now, e.usage().0.most, e.usage().0.limit), (0, 128, 128));
    assert_eq!((e.usage().1.most, e.usage().1.limit), (64, 96));
    assert_invariants(&e);
}

#[test]
fn sessions_that_take_the_last_locks_from_one_another_lose_none() {
    let (all, e) = setup_with(8, 64, 64, 4);
    let refused = run_threads(all, 4, |p, me| {
        let mut random = Random::new(me as u64);
        let (mut held, mut refused) = (Vec::new(), 0);
        for _ in 0..3000 {
            if held.len() < 30 && random.one_in(2) {
                match get(&e, p, random.next() | 1, LockMode::Exclusive, Timeout::NoWait) {
                    Ok(lock) => held.push(lock),
                    Err(EnqueueError::OutOfLocks | EnqueueError::OutOfResources(64)) => refused += 1,
                    Err(other) => panic!("{other:?}"),
                }
            } else if !held.is_empty() {
                e.release(p, held.swap_remove(random.below(held.len())));
            }
        }
        held.into_iter().for_each(|lock| e.release(p, lock));
        refused
    });
    assert_invariants(&e);
    assert!(e.locks().is_empty(), "refused {refused:?}");
}

/// A death at each step of moving batches: to a chain, back to the pool, and all of them when there is no room.
#[test]
fn a_process_killed_while_it_moves_free_locks_loses_none() {
    let (all, e) = setup_with(4, 64, 64, 4);
    let pmon = attach(all, "pmon");
    type Body<'a> = &'a dyn Fn(&Process, &dyn Fn());
    let ids = of_one_chain(&e, 65);
    let bodies: [(&str, Body<'_>, u64); 3] = [
        (
            "fetch batches",
            &|p, arm| {
                arm();
                let _ = take(&e, p, &ids[..9]);
            },
            9,
        ),
        (
            "give batches back",
            &|p, arm| {
                let locks = take(&e, p, &ids[..12]);
                arm();
                locks.iter().for_each(|lock| e.release(p, *lock));
            },
            12,
        ),
        (
            "gather what lies with the chains",
            &|p, arm| {
                let all_over: Vec<u64> = (1000..1056).collect();
                take(&e, p, &all_over).iter().for_each(|lock| e.release(p, *lock));
                let pooled = e.locks.of_pool().len();
                let lying = e.locks.of_chain(&e.chains[e.chain_of(EnqueueType::Tx, 0, 0)].locks).len();
                assert!(pooled + lying < 60, "something lies with other chains");
                let _ = take(&e, p, &ids[..pooled + lying]);
                arm();
                let _ = take(&e, p, &ids[pooled + lying..64]);
                assert!(get(&e, p, ids[64], LockMode::Share, Timeout::NoWait).is_err());
            },
            20,
        ),
    ];
    for (what, body, steps) in bodies {
        let look = || {
            assert_invariants(&e);
            assert!(e.locks().is_empty(), "{what}: {:?}", e.locks());
        };
        let killed = kill_at_every_step(&pmon, EVERY_STEP, || (), |p, arm| body(p, arm), look);
        assert!(killed > steps, "{what}: {killed}");
    }
}
