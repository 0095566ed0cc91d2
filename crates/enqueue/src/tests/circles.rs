//! Circles of waits: which circles exist, how many locks a search reads, and its result compared with an exhaustive
//! search.

use super::*;
use crate::deadlock::Wait;
use crate::enqueues::LockId;
use testing::Random;

/// The requests and owners that block a request, by the rule, lock by lock.
fn blockers(e: &Enqueues, lock: u32) -> Vec<u32> {
    let (slot, resource) = (e.lock(lock), e.resource_of(lock));
    let mode = slot.requested();
    let owned = e.walk(&resource.owners).chain(e.walk(&resource.converters));
    let mut found: Vec<u32> = owned.filter(|n| *n != lock && !e.lock(*n).held().goes_with(mode)).collect();
    let before = |n: &u32| *n != lock;
    found.extend(e.walk(&resource.converters).take_while(before));
    if slot.held() == LockMode::None {
        found.extend(e.walk(&resource.waiters).take_while(before));
    }
    found
}

fn process_of(e: &Enqueues, lock: u32) -> u32 {
    e.lock(lock).process.load(Ordering::Relaxed)
}

/// The request of a process, found among all its locks; 0 for none.
fn request_of(e: &Enqueues, process: u32) -> u32 {
    e.own(process).find(|n| e.lock(*n).requested() != LockMode::None).unwrap_or(0)
}

/// The number of waits of the shortest circle from `lock` back to its process, searched by levels.
fn shortest_circle(e: &Enqueues, lock: u32) -> Option<usize> {
    let start = process_of(e, lock);
    let (mut level, mut seen) = (vec![lock], vec![lock]);
    for length in 1.. {
        let mut next = Vec::new();
        for process in level.iter().flat_map(|n| blockers(e, *n)).map(|n| process_of(e, n)) {
            let request = request_of(e, process);
            if process == start {
                return Some(length);
            }
            if request != 0 && !seen.contains(&request) {
                seen.push(request);
                next.push(request);
            }
        }
        if next.is_empty() {
            return None;
        }
        level = next;
    }
    None
}

fn assert_is_circle(e: &Enqueues, circle: &[Wait]) {
    for (n, wait) in circle.iter().enumerate() {
        let next = circle[(n + 1) % circle.len()];
        assert!(blockers(e, wait.lock).contains(&wait.by), "{wait:?} of {circle:?}");
        assert_eq!(process_of(e, wait.by), next.process);
        assert_eq!(request_of(e, wait.process), wait.lock);
    }
    assert!(e.is_real(circle));
}

#[test]
fn a_search_finds_what_a_look_at_everything_finds() {
    let (all, e) = setup(12, 64);
    let sessions: Vec<_> = (0..10).map(|_| attach(all, "session")).collect();
    let (mut circles, mut waits, mut by_queue) = (0, 0, 0);
    for seed in 0..150 {
        let mut random = Random::new(seed);
        for _ in 0..60 {
            let p = &sessions[random.below(sessions.len())];
            let mine: Vec<u32> = e.own(p.number()).collect();
            let request = request_of(&e, p.number());
            if request != 0 {
                if random.one_in(6) {
                    assert!(e.withdraw(p, e.resource_of(request), request));
                }
            } else if random.one_in(3) && !mine.is_empty() {
                e.release(p, LockId(mine[random.below(mine.len())]));
            } else {
                let (lock, granted) = ask(&e, p, random.below(5), random.of(&LockMode::ALL[1..]));
                if !granted {
                    // The wait that closes a circle.
                    waits += 1;
                    let shortest = shortest_circle(&e, lock);
                    let found = e.circle(lock);
                    assert_eq!(found.as_ref().map(Vec::len), shortest, "seed {seed}");
                    if let Some(circle) = found {
                        circles += 1;
                        assert!(e.is_waited_for(p.number()), "seed {seed}: nothing is missed");
                        assert_is_circle(&e, &circle);
                        by_queue += usize::from(circle.iter().any(|w| e.lock(w.by).held() == LockMode::None));
                        assert!(e.is_deadlocked(p, lock));
                        assert_eq!(request_of(&e, p.number()), 0, "the request is taken back");
                    }
                }
            }
            assert_invariants(&e);
            for p in &sessions {
                let request = request_of(&e, p.number());
                if request != 0 {
                    assert_eq!(e.circle(request).map(|c| c.len()), None, "seed {seed}: no circle is left");
                    let first = blockers(&e, request)[0];
                    assert_eq!(e.blocker_of(request), process_of(&e, first));
                }
            }
        }
        sessions.iter().for_each(|p| e.release_all(p, p.number()));
    }
    assert!(circles > 100 && waits > 1000 && by_queue > 10, "{circles} of {waits}, {by_queue} by queue");
}

#[test]
fn two_that_convert_the_same_lock_wait_for_each_other() {
    let (all, e) = setup(4, 16);
    let (a, b) = (attach(all, "a"), attach(all, "b"));
    for p in [&a, &b] {
        assert!(ask(&e, p, 1, LockMode::Share).1);
    }
    let (of_a, _) = ask(&e, &a, 1, LockMode::Exclusive);
    assert!(!e.is_deadlocked(&a, of_a), "b may still release");
    let (of_b, _) = ask(&e, &b, 1, LockMode::Exclusive);
    assert!(e.is_deadlocked(&b, of_b));
    assert_eq!(e.take_graphs(&b)[0].iter().map(|w| w.process).collect::<Vec<_>>(), [b.number(), a.number()]);
    assert_eq!(e.held(&b, EnqueueType::Tx, 1, 0), LockMode::Share, "it keeps what it had");
    e.release_all(&b, b.number());
    assert_eq!(e.held(&a, EnqueueType::Tx, 1, 0), LockMode::Exclusive);
}

/// The owner waits for a process that is queued behind another request that cannot be granted.
#[test]
fn a_place_in_a_queue_is_waited_for_too() {
    let (all, e) = setup(8, 32);
    let (owner, strong, weak) = (attach(all, "owner"), attach(all, "strong"), attach(all, "weak"));
    assert!(ask(&e, &owner, 1, LockMode::Share).1);
    assert!(ask(&e, &weak, 2, LockMode::Exclusive).1);
    assert!(!ask(&e, &strong, 1, LockMode::Exclusive).1);
    let (behind, granted) = ask(&e, &weak, 1, LockMode::Share);
    assert!(!granted && !e.is_deadlocked(&weak, behind));
    let (last, _) = ask(&e, &owner, 2, LockMode::Exclusive);
    let circle = e.circle(last).expect("a circle");
    assert_eq!(circle.iter().map(|w| w.process).collect::<Vec<_>>(), [owner.number(), weak.number(), strong.number()]);
    assert!(e.is_deadlocked(&owner, last));
}

/// A circle is not real when one of its waits has ended and a new, identical wait has begun.
#[test]
fn a_wait_that_ended_and_began_again_is_another_one() {
    let (all, e) = setup(4, 16);
    let (a, b) = (attach(all, "a"), attach(all, "b"));
    assert!(ask(&e, &a, 1, LockMode::Exclusive).1 && ask(&e, &b, 2, LockMode::Exclusive).1);
    let (of_a, _) = ask(&e, &a, 2, LockMode::Exclusive);
    let (of_b, _) = ask(&e, &b, 1, LockMode::Exclusive);
    let circle = e.circle(of_b).expect("a circle");
    assert!(e.is_real(&circle));
    assert!(e.withdraw(&a, e.resource_of(of_a), of_a));
    assert!(!e.is_real(&circle), "a waits no longer");
    assert_eq!(ask(&e, &a, 2, LockMode::Exclusive), (of_a, false), "the same lock slot");
    assert!(!e.is_real(&circle), "a may have released and got again");
    assert!(e.circle(of_b).is_some_and(|circle| e.is_real(&circle)));
}

/// A queue of a thousand requests, with a wait for the last one: a search reads each request once or twice. The search
/// of each new waiter costs nothing, since nobody waits for it.
#[test]
fn a_search_looks_at_each_request_of_a_queue_once_or_twice() {
    const QUEUE: u32 = 1000;
    let (all, e) = setup(QUEUE + 8, 4 * QUEUE);
    let holder = attach(all, "holder");
    assert!(ask(&e, &holder, 1, LockMode::Exclusive).1);
    let queue: Vec<_> = (0..QUEUE).map(|_| attach(all, "waiter")).collect();
    for p in &queue {
        assert!(ask(&e, p, 2, LockMode::SubExclusive).1, "each owns the table");
        let (lock, granted) = ask(&e, p, 1, LockMode::Exclusive);
        assert!(!granted && !e.is_waited_for(p.number()));
        assert!(!e.is_deadlocked(p, lock));
    }
    let other = attach(all, "other");
    let last = &queue[QUEUE as usize - 1];
    let (table, _) = ask(&e, &other, 2, LockMode::Exclusive);
    assert!(e.is_waited_for(last.number()), "for the table");
    let request = request_of(&e, last.number());
    let (circle, looked_at) = e.circle_and_looks(request);
    assert!(circle.is_none());
    let queue_len = QUEUE as usize;
    // Each request of the queue, and from each the one before it, at which the walk stops.
    assert!((queue_len..2 * queue_len + 10).contains(&looked_at), "{looked_at} for {QUEUE} requests");
    // All of them are owners of the table, too.
    let most = 3 * queue_len + 10;
    let (circle, looked_at) = e.circle_and_looks(table);
    assert!(circle.is_none());
    assert!((queue_len..most).contains(&looked_at), "{looked_at} for {QUEUE} owners and requests");
    let (lock, _) = ask(&e, &holder, 2, LockMode::Exclusive);
    let (circle, looked_at) = e.circle_and_looks(lock);
    assert_eq!(circle.map(|c| c.len()), Some(2));
    assert!(looked_at < most, "{looked_at}");
    assert!(e.is_deadlocked(&holder, lock));
    assert_invariants(&e);
}
