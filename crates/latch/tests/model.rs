//! Model checking of the lock words with loom: every interleaving, and every value that a weak load may return.
//!
//! `src/word.rs` is compiled here several times, each time over loom's atomics and with the orderings of
//! `primitive.rs`, or with one of them weakened. The sound words must pass; each weakened one must fail, which shows
//! that the model would have found the mistake. One command runs both: `cargo test -p latch --features model --test
//! model`.

#![allow(dead_code)]

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
use loom::thread;

/// One copy of the words over loom, with the named orderings replaced.
macro_rules! words {
    ($module:ident, $($name:ident = $order:ident),*) => {
        #[path = "../src"]
        mod $module {
            pub mod primitive {
                pub use loom::sync::atomic::{AtomicU32, AtomicU64, fence};
                pub mod order {
                    #![allow(unused_imports)]
                    use super::super::super::sound_orders as sound;
                    pub use sound::*;
                    use loom::sync::atomic::Ordering;
                    $( pub const $name: Ordering = Ordering::$order; )*
                }
            }
            #[path = "word.rs"]
            pub mod word;
        }
    };
}

/// The orderings of `primitive.rs`, taken from that file.
mod sound_orders {
    pub use super::sound_primitive::order::*;
}
#[allow(unused_imports)]
#[path = "../src/primitive.rs"]
mod sound_primitive;

words!(sound,);
words!(weak_free_exclusive, FREE_EXCLUSIVE = Relaxed);
words!(weak_get_exclusive, GET_EXCLUSIVE = Relaxed);
words!(weak_get_shared, GET_SHARED = Relaxed);
words!(weak_free_shared, FREE_SHARED = Relaxed);
words!(weak_version_even, VERSION_EVEN = Relaxed);
words!(weak_read_begin, READ_BEGIN = Relaxed);
words!(weak_mutex_get, MUTEX_GET = Relaxed);
words!(weak_mutex_free, MUTEX_FREE_EXCLUSIVE = Relaxed);
words!(weak_life_linked, LIFE_LINKED = Relaxed);
words!(weak_life_begin, LIFE_BEGIN = Relaxed);
words!(weak_freed, FREED = AcqRel);
words!(weak_joined, JOINED = AcqRel);
words!(weak_design_put, DESIGN_PUT = Relaxed);
words!(weak_design_seen, DESIGN_SEEN = Relaxed);
words!(weak_left, LEFT = Relaxed);
words!(weak_left_seen, LEFT_SEEN = Relaxed);
words!(weak_reference_get, MUTEX_GET = Relaxed);
words!(weak_reference_free, MUTEX_FREE = Relaxed);

/// Runs a model with a bound on preemptions, which keeps each within seconds.
fn check(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = None;
    builder.check(model);
}

/// Two processes get a latch exclusively by trying until they have it, and change plain memory under it.
macro_rules! exclusive_model {
    ($words:ident) => {
        check(|| {
            let latch = Arc::new((($words::word::LatchWord(AtomicU32::new(0))), UnsafeCell::new(0u32)));
            let work = |latch: Arc<($words::word::LatchWord, UnsafeCell<u32>)>, number: u32| {
                while !latch.0.try_exclusive(number) {
                    thread::yield_now();
                }
                // SAFETY: the model itself checks that no other thread is in here.
                latch.1.with_mut(|data| unsafe { *data += 1 });
                latch.0.free_exclusive();
            };
            let other = thread::spawn({
                let latch = Arc::clone(&latch);
                move || work(latch, 2)
            });
            work(Arc::clone(&latch), 1);
            other.join().unwrap();
            while !latch.0.try_exclusive(3) {
                thread::yield_now();
            }
            // SAFETY: as above.
            latch.1.with(|data| assert_eq!(unsafe { *data }, 2));
        });
    };
}

/// A writer and two readers that hold the latch shared.
macro_rules! shared_model {
    ($words:ident) => {
        check(|| {
            let latch = Arc::new((($words::word::LatchWord(AtomicU32::new(0))), UnsafeCell::new([0u32; 2])));
            let reader = thread::spawn({
                let latch = Arc::clone(&latch);
                move || {
                    if latch.0.try_shared() {
                        // SAFETY: the model itself checks that no writer is in here.
                        latch.1.with(|data| unsafe { assert_eq!((*data)[0], (*data)[1]) });
                        latch.0.free_shared();
                    }
                }
            });
            let writer = thread::spawn({
                let latch = Arc::clone(&latch);
                move || {
                    if latch.0.try_exclusive(1) {
                        // SAFETY: as above.
                        latch.1.with_mut(|data| unsafe { *data = [7, 7] });
                        latch.0.free_exclusive();
                    }
                }
            });
            if latch.0.try_shared() {
                // SAFETY: as above.
                latch.1.with(|data| unsafe { assert_eq!((*data)[0], (*data)[1]) });
                latch.0.free_shared();
            }
            reader.join().unwrap();
            writer.join().unwrap();
        });
    };
}

/// An exclusive requester stops new shared gets; the last reader lets it in.
macro_rules! blocking_model {
    ($words:ident) => {
        check(|| {
            let latch = Arc::new($words::word::LatchWord(AtomicU32::new(0)));
            let reader = thread::spawn({
                let latch = Arc::clone(&latch);
                move || {
                    if latch.try_shared() {
                        latch.free_shared();
                    }
                }
            });
            while !latch.try_exclusive(1) {
                latch.block();
                thread::yield_now();
            }
            assert!(!latch.try_shared(), "held exclusively");
            latch.free_exclusive();
            reader.join().unwrap();
            assert_eq!(latch.peek(), 0, "nothing is left of the blocking mark");
        });
    };
}

/// A versioned write of two words, and a reader that accepts its values when the version did not change.
///
/// The writer runs in the first thread: loom remembers only the last access to a word when it looks for interleavings,
/// and a writer that loads its own version first would hide the reader's load.
macro_rules! versioned_model {
    ($words:ident) => {
        check(|| {
            let shared =
                Arc::new(($words::word::VersionWord(AtomicU64::new(0)), [AtomicU64::new(0), AtomicU64::new(0)]));
            let reader = thread::spawn({
                let shared = Arc::clone(&shared);
                move || {
                    let before = shared.0.read_begin();
                    if before % 2 == 0 {
                        let seen = [shared.1[0].load(Ordering::Relaxed), shared.1[1].load(Ordering::Relaxed)];
                        if shared.0.read_check(before) {
                            assert_eq!(seen[0], seen[1], "torn");
                            assert_eq!(seen[0] == 7, before == 2, "the data are of another version");
                        }
                    }
                }
            });
            shared.0.write_begin();
            shared.1[0].store(7, Ordering::Relaxed);
            shared.1[1].store(7, Ordering::Relaxed);
            shared.0.write_end();
            reader.join().unwrap();
        });
    };
}

/// Two processes get a mutex, one exclusively and one shared.
macro_rules! mutex_model {
    ($words:ident) => {
        check(|| {
            let mutex = Arc::new((($words::word::MutexWord(AtomicU64::new(0))), UnsafeCell::new(0u32)));
            let writer = thread::spawn({
                let mutex = Arc::clone(&mutex);
                move || {
                    if mutex.0.try_exclusive(1) {
                        // SAFETY: the model itself checks that no other thread is in here.
                        mutex.1.with_mut(|data| unsafe { *data += 1 });
                        mutex.0.free_exclusive();
                    }
                }
            });
            if mutex.0.try_shared() {
                // SAFETY: as above.
                mutex.1.with(|data| unsafe { assert!(*data < 2) });
                mutex.0.free_shared();
            }
            if mutex.0.try_exclusive(2) {
                // SAFETY: as above.
                mutex.1.with_mut(|data| unsafe { *data += 1 });
                mutex.0.free_exclusive();
            }
            writer.join().unwrap();
        });
    };
}

/// An object of the row cache or the result cache is freed and reused while a reader without a latch copies its two
/// words.
macro_rules! life_model {
    ($words:ident) => {
        check(|| {
            use $words::word::LifeWord;
            let first = 4 | LifeWord::LINKED;
            let shared = Arc::new((LifeWord(AtomicU64::new(first)), [AtomicU64::new(1), AtomicU64::new(1)]));
            let reader = thread::spawn({
                let shared = Arc::clone(&shared);
                move || {
                    let life = shared.0.read_begin();
                    if LifeWord::mark_of(life) == LifeWord::LINKED {
                        let seen = [shared.1[0].load(Ordering::Relaxed), shared.1[1].load(Ordering::Relaxed)];
                        if shared.0.read_check(life) {
                            let expected = if life == first { 1 } else { 2 };
                            assert_eq!(seen, [expected; 2], "words of another life");
                        }
                    }
                }
            });
            shared.0.change(LifeWord::NONE);
            LifeWord::ended();
            shared.1[0].store(2, Ordering::Relaxed);
            shared.1[1].store(2, Ordering::Relaxed);
            shared.0.change(LifeWord::LINKED);
            reader.join().unwrap();
        });
    };
}

/// The number of steps into a reference and out of it; the process dies after each of them in turn.
const STEPS: u32 = 6;

/// Cursor pins: one process dies on its way, one adds and ends a reference, and PMON sets the count from the notes of
/// both.
macro_rules! reference_model {
    ($words:ident) => {
        for dies_after in 0..STEPS {
            check(move || {
                use $words::word::{FREEING, HELD, MutexWord, STAGE, TRYING};
                // The mutex; the notes of the dying one and of the living one.
                let shared = Arc::new((MutexWord(AtomicU64::new(0)), [AtomicU64::new(0), AtomicU64::new(0)]));
                let dying = thread::spawn({
                    let shared = Arc::clone(&shared);
                    move || {
                        let note = &shared.1[0];
                        let steps: [&dyn Fn(); STEPS as usize] = [
                            &|| note.store(TRYING, Ordering::Relaxed),
                            &|| assert!(shared.0.try_shared()),
                            &|| note.store(HELD, $words::primitive::order::NOTED),
                            &|| note.store(FREEING, Ordering::Relaxed),
                            &|| shared.0.free_shared(),
                            &|| note.store(0, $words::primitive::order::NOTED),
                        ];
                        steps.iter().take(dies_after as usize).for_each(|step| step());
                    }
                });
                dying.join().unwrap();
                let living = thread::spawn({
                    let shared = Arc::clone(&shared);
                    move || {
                        if shared.0.try_reference(&shared.1[1], 0) {
                            shared.0.end_reference(&shared.1[1]);
                        }
                    }
                });
                let stage = |n: usize| shared.1[n].load(Ordering::Acquire) & STAGE;
                // As PMON does it: one certain reference is removed; when one is in doubt, all are counted.
                match stage(0) {
                    0 => {}
                    HELD => shared.0.free_shared(),
                    _ => {
                        let mut certain = || match stage(1) {
                            0 => Some(0),
                            HELD => Some(1),
                            _ => None,
                        };
                        while !shared.0.try_settle(&mut certain) {
                            thread::yield_now();
                        }
                    }
                }
                living.join().unwrap();
                assert_eq!(shared.0.peek(), 0, "a reference too many or too few: died after {dies_after} steps");
            });
        }
    };
}

#[test]
fn an_exclusive_latch_lets_one_in_and_hands_its_data_on() {
    exclusive_model!(sound);
}

#[test]
#[should_panic]
fn without_release_at_the_free_the_next_holder_misses_data() {
    exclusive_model!(weak_free_exclusive);
}

#[test]
#[should_panic]
fn without_acquire_at_the_get_the_holder_misses_data() {
    exclusive_model!(weak_get_exclusive);
}

#[test]
fn a_shared_latch_keeps_writers_and_readers_apart() {
    shared_model!(sound);
}

#[test]
#[should_panic]
fn without_acquire_at_a_shared_get_the_reader_misses_data() {
    shared_model!(weak_get_shared);
}

#[test]
#[should_panic]
fn without_release_at_a_shared_free_the_writer_meets_a_reader() {
    shared_model!(weak_free_shared);
}

#[test]
fn a_blocking_requester_gets_in_and_leaves_no_mark() {
    blocking_model!(sound);
}

#[test]
fn a_versioned_reader_never_believes_torn_data() {
    versioned_model!(sound);
}

#[test]
#[should_panic]
fn without_release_at_the_even_version_data_are_missed() {
    versioned_model!(weak_version_even);
}

#[test]
#[should_panic]
fn without_acquire_at_the_first_look_data_are_missed() {
    versioned_model!(weak_read_begin);
}

#[test]
fn a_mutex_keeps_holders_apart() {
    mutex_model!(sound);
}

#[test]
#[should_panic]
fn without_acquire_at_the_get_a_mutex_holder_misses_data() {
    mutex_model!(weak_mutex_get);
}

#[test]
#[should_panic]
fn without_release_at_the_free_a_mutex_holder_misses_data() {
    mutex_model!(weak_mutex_free);
}

#[test]
fn a_reader_without_a_latch_copies_the_words_of_one_life() {
    life_model!(sound);
}

#[test]
#[should_panic]
fn without_release_at_the_link_words_of_a_life_are_missed() {
    life_model!(weak_life_linked);
}

#[test]
#[should_panic]
fn without_acquire_at_the_first_look_words_of_a_life_are_missed() {
    life_model!(weak_life_begin);
}

#[test]
fn pins_behind_a_dead_process_are_counted_right() {
    reference_model!(sound);
}

#[test]
#[should_panic]
fn without_release_at_the_count_a_pin_is_taken_for_none() {
    reference_model!(weak_reference_get);
}

#[test]
#[should_panic]
fn without_release_at_the_end_of_a_pin_it_is_counted_again() {
    reference_model!(weak_reference_free);
}

/// A commit and a cached row or result. The commit is announced, its SCN becomes visible, and then the changed objects
/// are marked as out of date. A reader takes its snapshot, looks for announced commits, and then at the marks.
/// `row_cache::commit` and `result_cache::depend` use this order, with these orderings or stronger ones.
mod commits {
    use loom::sync::Arc;
    use loom::sync::atomic::{AtomicU64, Ordering};
    use loom::thread;

    fn model(announced_first: bool, see: Ordering) {
        super::check(move || {
            // Commits announced; the SCN; the SCN since which the object is out of date. The cached object was built at
            // SCN 1.
            let shared = Arc::new([AtomicU64::new(0), AtomicU64::new(1), AtomicU64::new(0)]);
            let commit = thread::spawn({
                let shared = Arc::clone(&shared);
                move || {
                    let announce = || shared[0].store(1, Ordering::Release);
                    if announced_first {
                        announce();
                    }
                    shared[1].store(2, Ordering::Release);
                    if !announced_first {
                        announce();
                    }
                    shared[2].store(2, Ordering::Release);
                    shared[0].store(0, Ordering::Release);
                }
            });
            let snapshot = shared[1].load(see);
            let is_used = shared[0].load(Ordering::Acquire) == 0 && shared[2].load(Ordering::Acquire) <= 1;
            assert!(!(is_used && snapshot >= 2), "what was cached before a commit is used beside it");
            commit.join().unwrap();
        });
    }

    #[test]
    fn nothing_of_before_a_commit_is_used_by_who_sees_it() {
        model(true, Ordering::Acquire);
    }

    #[test]
    #[should_panic]
    fn an_announcement_behind_the_scn_is_too_late() {
        model(false, Ordering::Acquire);
    }

    #[test]
    #[should_panic]
    fn without_acquire_at_the_snapshot_the_announcement_is_missed() {
        model(true, Ordering::Relaxed);
    }
}

/// The fences of a version, removed one at a time: loom has no relaxed fence, so these copies omit them.
mod without_fences {
    use loom::sync::Arc;
    use loom::sync::atomic::{AtomicU64, Ordering, fence};
    use loom::thread;

    fn model(writer_fence: bool, reader_fence: bool) {
        super::check(move || {
            let shared = Arc::new((AtomicU64::new(0), [AtomicU64::new(0), AtomicU64::new(0)]));
            let writer = thread::spawn({
                let shared = Arc::clone(&shared);
                move || {
                    shared.0.store(1, Ordering::Relaxed);
                    if writer_fence {
                        fence(Ordering::Release);
                    }
                    shared.1[0].store(7, Ordering::Relaxed);
                    shared.1[1].store(7, Ordering::Relaxed);
                    shared.0.store(2, Ordering::Release);
                }
            });
            let before = shared.0.load(Ordering::Acquire);
            let seen = [shared.1[0].load(Ordering::Relaxed), shared.1[1].load(Ordering::Relaxed)];
            if reader_fence {
                fence(Ordering::Acquire);
            }
            if before.is_multiple_of(2) && shared.0.load(Ordering::Relaxed) == before {
                assert_eq!(seen[0], seen[1], "torn");
            }
            writer.join().unwrap();
        });
    }

    #[test]
    fn both_fences_together_are_enough() {
        model(true, true);
    }

    #[test]
    #[should_panic]
    fn without_the_writers_fence_data_are_torn() {
        model(false, true);
    }

    #[test]
    #[should_panic]
    fn without_the_readers_fence_data_are_torn() {
        model(true, false);
    }
}

/// A settled latch is freed while a process goes to sleep for it, without a barrier.
macro_rules! settled_model {
    ($words:ident) => {
        check(|| {
            use $words::word::{IdentityWord, SETTLED, SLEPT_ON};
            // Held at first. (word, marks, posted)
            let marks = IdentityWord(AtomicU32::new(SLEPT_ON | SETTLED));
            let latch = Arc::new((AtomicBool::new(true), marks, AtomicBool::new(false)));
            let releaser = thread::spawn({
                let latch = Arc::clone(&latch);
                move || {
                    latch.0.store(false, Ordering::Release);
                    if latch.1.may_have_waiters() && latch.1.has_waiters() {
                        latch.2.store(true, Ordering::Release);
                    }
                }
            });
            assert!(latch.1.join_waiters(), "no barrier is needed");
            let would_sleep = latch.0.load(Ordering::Relaxed);
            releaser.join().unwrap();
            assert!(!would_sleep || latch.2.load(Ordering::Acquire), "asleep, and nobody posts");
        });
    };
}

/// A latch is freed while its first waiter settles it and gets in or gives up, and a second one goes to sleep. The
/// barrier of the first interrupts the releaser before its step `at`: the waiter requests it and waits, the releaser
/// answers with a full fence.
fn settling_model(at: u32, barrier: bool) {
    check(move || {
        use sound::word::IdentityWord;
        // Held at first. (word, marks, posted, barrier asked for, barrier run)
        let marks = IdentityWord(AtomicU32::new(0));
        let flag = AtomicBool::new;
        let latch = Arc::new((flag(true), marks, flag(false), flag(!barrier), flag(!barrier)));
        let releaser = thread::spawn({
            let latch = Arc::clone(&latch);
            move || {
                let interrupted = |step: u32| {
                    if barrier && step == at {
                        while !latch.3.load(Ordering::Acquire) {
                            thread::yield_now();
                        }
                        fence(Ordering::SeqCst);
                        latch.4.store(true, Ordering::Release);
                    }
                };
                interrupted(0);
                latch.0.store(false, Ordering::Release);
                interrupted(1);
                let may = latch.1.may_have_waiters();
                interrupted(2);
                if may && latch.1.has_waiters() {
                    latch.2.store(true, Ordering::Release);
                }
                interrupted(3);
            }
        });
        assert!(!latch.1.join_waiters());
        latch.3.store(true, Ordering::Release);
        while !latch.4.load(Ordering::Acquire) {
            thread::yield_now();
        }
        latch.1.settle();
        latch.1.clear_waiters();
        assert!(latch.1.join_waiters());
        let would_sleep = latch.0.load(Ordering::Relaxed);
        releaser.join().unwrap();
        assert!(!would_sleep || latch.2.load(Ordering::Acquire), "asleep, and nobody posts");
    });
}

#[test]
fn a_waiter_of_a_settled_latch_is_posted_without_a_barrier() {
    settled_model!(sound);
}

#[test]
#[should_panic(expected = "asleep, and nobody posts")]
fn without_a_fence_behind_the_free_a_post_is_lost() {
    settled_model!(weak_freed);
}

#[test]
#[should_panic(expected = "asleep, and nobody posts")]
fn without_a_fence_behind_the_waiters_mark_a_post_is_lost() {
    settled_model!(weak_joined);
}

#[test]
fn one_barrier_settles_a_latch_wherever_it_meets_the_releaser() {
    (0..4).for_each(|at| settling_model(at, true));
}

#[test]
#[should_panic(expected = "asleep, and nobody posts")]
fn a_latch_that_is_settled_without_a_barrier_loses_a_post() {
    settling_model(0, false);
}

/// The protocol between freeing a latch and going to sleep: a waiter sets its bit and reads the word again; a releaser
/// frees the word and reads the bit. The asymmetric barrier is modelled as a full fence on both sides.
mod sleeping {
    use loom::sync::Arc;
    use loom::sync::atomic::{AtomicBool, Ordering, fence};
    use loom::thread;

    fn model(barrier: bool) {
        super::check(move || {
            // Held at first. (word, waiters bit, posted)
            let latch = Arc::new((AtomicBool::new(true), AtomicBool::new(false), AtomicBool::new(false)));
            let releaser = thread::spawn({
                let latch = Arc::clone(&latch);
                move || {
                    latch.0.store(false, Ordering::Release);
                    if barrier {
                        fence(Ordering::SeqCst);
                    }
                    if latch.1.load(Ordering::Relaxed) {
                        latch.2.store(true, Ordering::Release);
                    }
                }
            });
            latch.1.store(true, Ordering::Relaxed);
            if barrier {
                fence(Ordering::SeqCst);
            }
            let would_sleep = latch.0.load(Ordering::Relaxed);
            releaser.join().unwrap();
            assert!(!would_sleep || latch.2.load(Ordering::Acquire), "asleep, and nobody posts");
        });
    }

    #[test]
    fn a_post_is_never_lost() {
        model(true);
    }

    #[test]
    #[should_panic]
    fn without_the_barrier_a_post_is_lost() {
        model(false);
    }
}

/// The steps of a process at which the barrier of a switch may meet it.
const DESIGN_STEPS: u32 = 10;

/// A process that enters a structure twice, and a switch to another design that is alone in the structure between
/// closing and opening its word. The barrier of the switch meets the process at one of its steps, and is a full fence
/// there; elsewhere the process runs no fence. `$step` beyond the last one: no barrier.
macro_rules! design_model {
    ($words:ident, $step:expr, $waits:expr) => {{
        let (step, waits) = ($step, $waits);
        check(move || {
            use $words::word::{ForceWord, Mark};
            const FORMER: u64 = 1;
            const CLOSED: u64 = 2;
            const NEXT: u64 = 3;
            let barrier = step < DESIGN_STEPS;
            let flag = AtomicBool::new;
            let (word, mark) = (ForceWord(AtomicU64::new(FORMER)), Mark(AtomicU64::new(0)));
            // (word, mark, data, barrier asked for, barrier run)
            let all = Arc::new((word, mark, UnsafeCell::new(0u32), flag(!barrier), flag(!barrier)));
            let process = thread::spawn({
                let all = Arc::clone(&all);
                move || {
                    let interrupted = |at: u32| {
                        if at == step {
                            while !all.3.load(Ordering::Acquire) {
                                thread::yield_now();
                            }
                            fence(Ordering::SeqCst);
                            all.4.store(true, Ordering::Release);
                        }
                    };
                    for entry in 0..2 {
                        let first = entry * DESIGN_STEPS / 2;
                        interrupted(first);
                        let seen = all.0.now();
                        interrupted(first + 1);
                        if seen != CLOSED {
                            all.1.note(seen);
                            interrupted(first + 2);
                            if all.0.now() == seen {
                                interrupted(first + 3);
                                // SAFETY: the model itself checks that the switch is not in here.
                                all.2.with_mut(|data| unsafe { *data += 1 });
                            } else {
                                interrupted(first + 3);
                            }
                            interrupted(first + 4);
                            all.1.leave();
                        } else {
                            (2..5).for_each(|at| interrupted(first + at));
                        }
                    }
                }
            });
            assert!(all.0.change(FORMER, CLOSED));
            all.3.store(true, Ordering::Release);
            while !all.4.load(Ordering::Acquire) {
                thread::yield_now();
            }
            while waits && all.1.seen() != 0 {
                thread::yield_now();
            }
            // SAFETY: as above.
            all.2.with_mut(|data| unsafe { *data += 1 });
            assert!(all.0.change(CLOSED, NEXT));
            process.join().unwrap();
        });
    }};
}

/// As above, but the switch is late: a process that finds the word closed opens it with the former design at any
/// moment. A switch that goes on after that has no effect; by `$blind`, it stores its word nevertheless. The data are
/// those of the former design until the next one is in force.
macro_rules! late_switch_model {
    ($step:expr, $blind:expr) => {{
        let (step, blind) = ($step, $blind);
        check(move || {
            use sound::word::{ForceWord, Mark};
            const FORMER: u64 = 1;
            const CLOSED: u64 = 2;
            const NEXT: u64 = 3;
            const REOPENED: u64 = 4;
            let flag = AtomicBool::new;
            let (word, mark) = (ForceWord(AtomicU64::new(FORMER)), Mark(AtomicU64::new(0)));
            // (word, mark, data, barrier asked for, barrier run)
            let all = Arc::new((word, mark, UnsafeCell::new(0u32), flag(false), flag(false)));
            let process = thread::spawn({
                let all = Arc::clone(&all);
                move || {
                    let interrupted = |at: u32| {
                        if at == step {
                            while !all.3.load(Ordering::Acquire) {
                                thread::yield_now();
                            }
                            fence(Ordering::SeqCst);
                            all.4.store(true, Ordering::Release);
                        }
                    };
                    for entry in 0..2 {
                        let first = entry * DESIGN_STEPS / 2;
                        interrupted(first);
                        let mut seen = all.0.now();
                        if seen == CLOSED && all.0.change(CLOSED, REOPENED) {
                            seen = REOPENED;
                        }
                        interrupted(first + 1);
                        if seen == FORMER || seen == REOPENED {
                            all.1.note(seen);
                            interrupted(first + 2);
                            if all.0.now() == seen {
                                interrupted(first + 3);
                                // SAFETY: the model itself checks that the next design is not in force.
                                all.2.with_mut(|data| unsafe { *data += 1 });
                            } else {
                                interrupted(first + 3);
                            }
                            interrupted(first + 4);
                            all.1.leave();
                        } else {
                            (2..5).for_each(|at| interrupted(first + at));
                        }
                    }
                }
            });
            assert!(all.0.change(FORMER, CLOSED));
            all.3.store(true, Ordering::Release);
            while !all.4.load(Ordering::Acquire) {
                thread::yield_now();
            }
            while all.1.seen() != 0 {
                thread::yield_now();
            }
            if blind {
                all.0.put(NEXT);
            }
            if blind || all.0.change(CLOSED, NEXT) {
                // A process by the next design. SAFETY: as above.
                all.2.with_mut(|data| unsafe { *data += 1 });
            }
            process.join().unwrap();
        });
    }};
}

#[test]
fn a_switch_that_another_process_has_ended_puts_no_design_into_force() {
    (0..DESIGN_STEPS).for_each(|step| late_switch_model!(step, false));
}

#[test]
#[should_panic(expected = "Causality violation")]
fn a_late_switch_that_stores_its_word_blindly_meets_a_process_inside() {
    (0..DESIGN_STEPS).for_each(|step| late_switch_model!(step, true));
}

#[test]
fn a_switch_is_alone_in_a_closed_structure() {
    (0..DESIGN_STEPS).for_each(|step| design_model!(sound, step, true));
}

#[test]
#[should_panic(expected = "Causality violation")]
fn a_switch_that_does_not_wait_for_marks_meets_a_process_inside() {
    (0..DESIGN_STEPS).for_each(|step| design_model!(sound, step, false));
}

#[test]
#[should_panic(expected = "Causality violation")]
fn without_the_barrier_a_mark_is_missed() {
    design_model!(sound, DESIGN_STEPS, true);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn a_weak_store_of_the_design_lets_a_process_in_before_the_switch_is_over() {
    (0..DESIGN_STEPS).for_each(|step| design_model!(weak_design_put, step, true));
}

#[test]
#[should_panic(expected = "Causality violation")]
fn a_weak_load_of_the_design_lets_a_process_in_before_the_switch_is_over() {
    (0..DESIGN_STEPS).for_each(|step| design_model!(weak_design_seen, step, true));
}

#[test]
#[should_panic(expected = "Causality violation")]
fn a_weak_store_on_leaving_lets_the_switch_overtake_the_work_inside() {
    (0..DESIGN_STEPS).for_each(|step| design_model!(weak_left, step, true));
}

#[test]
#[should_panic(expected = "Causality violation")]
fn a_weak_look_at_a_mark_overtakes_the_work_inside() {
    (0..DESIGN_STEPS).for_each(|step| design_model!(weak_left_seen, step, true));
}
