//! Sessions that parse, execute, invalidate, purge and die at any point; the properties of the cache are checked all
//! the time.
//!
//! The plan of a cursor names its statement: a session that finds a child and sees it unchanged afterwards must find
//! the plan of its own statement. While a cursor is pinned, its child is not reused.

use std::sync::atomic::Ordering;
use std::time::Duration;

use latch::Generation;
use library_cache::{
    AreaCounts, Config, Content, Delta, Design, Digest, Edition, Env, Handle, Layout, LibraryCache, LineCounts,
    Namespace, Object, Statement,
};
use process::{Process, Processes};
use testing::Random;

const DESIGNS: [Design; 4] = [Design::Latch, Design::Pins, Design::Mutex, Design::Versioned];
const STATEMENTS: u64 = 40;

struct Fixture {
    all: &'static Processes,
    cache: &'static LibraryCache,
}

/// Fewer slots than statements, so that evictions happen all the time.
fn fixture(design: Design) -> Fixture {
    let config = Config { design, latches: 3, ..Config::new(24, 16) };
    let (all, layout) = testing::instance_of(16, Generation::default(), |b| Layout::reserve(b, &config));
    let cache: &'static LibraryCache = Box::leak(Box::new(LibraryCache::create(all, &layout, &config)));
    cache.register();
    Fixture { all, cache }
}

fn digest(n: u64) -> Digest {
    let mut bytes = [1; 16];
    bytes[8..].copy_from_slice(&(n * 0x1234_5679).to_le_bytes());
    Digest(bytes)
}

/// Images from empty to longer than allowed.
fn image_of(n: u64) -> Vec<u8> {
    vec![n as u8; n as usize * 160]
}

/// The code of an object, for given NLS settings.
fn code_of(n: u64, nls: u64) -> Vec<u8> {
    vec![0x80 | (n as u8) << 1 | nls as u8; 1 + n as usize * 160]
}

impl Fixture {
    fn handle(&self, p: &Process, n: u64, env: &Env<'_>) -> Handle {
        self.cache.parse(p, digest(n), env).unwrap_or_else(|| self.load(p, n, env, None))
    }

    fn load(&self, p: &Process, n: u64, env: &Env<'_>, stale: Option<Edition>) -> Handle {
        let of = Statement { digest: digest(n), text: &format!("statement {n}"), command: 3 };
        let (plan, image) = ([n as u8; 40], image_of(n));
        let depends = [n as u32];
        let content =
            Content { plan: &plan, plan_hash: n as u32, image: &image, depends: &depends, ..Content::default() };
        self.cache.load_instead(p, &of, env, &content, stale)
    }

    /// Returns the number of executions that were certainly counted.
    fn step(&self, p: &Process, random: u64) -> u64 {
        let n = (random >> 8) % STATEMENTS;
        match random % 64 {
            0 => {
                self.cache.invalidate(p, &[n as u32]);
                0
            }
            1 => {
                self.cache.purge(p, digest(n));
                0
            }
            7 => {
                // The session cannot use the child, and loads it again.
                let env = Env { user: 0, schema: "S", optimizer: 0, nls: 0, auth: 0, binds: 0 };
                let handle = self.handle(p, n, &env);
                if let Some(edition) = self.cache.image(handle, &mut Vec::new()) {
                    self.load(p, n, &env, Some(edition));
                }
                0
            }
            2 if (random >> 20).is_multiple_of(8) => {
                self.cache.flush(p);
                0
            }
            4 => {
                self.cache.invalidate_objects(p, &[n as u32 + 1000]);
                0
            }
            5 | 6 => {
                let name = format!("object {n}");
                let namespace = [Namespace::TableProcedure, Namespace::Body][n as usize % 2];
                let number = n as u32 + 1000;
                let object = Object { digest: digest(n), namespace, type_code: 2, owner: "S", name: &name, number };
                self.cache.touch(p, &object);
                0
            }
            9 | 10 => {
                self.unit(p, n, random);
                0
            }
            8 => {
                let env = Env { user: 0, schema: "S", optimizer: 0, nls: 0, auth: 0, binds: 0 };
                let handle = self.handle(p, n, &env);
                let lines =
                    vec![(LineCounts { starts: 1, ..Default::default() }, AreaCounts::default()); 1 + n as usize % 3];
                self.cache.add_run(p, handle, n as u32, &lines);
                0
            }
            3 => {
                self.cache.mark_hot(p, digest(n));
                self.cache.unmark_hot(p, digest(n));
                0
            }
            _ => self.execute(p, n, random),
        }
    }

    /// Links a unit, and loads its code when it is missing or of no use.
    fn unit(&self, p: &Process, n: u64, random: u64) {
        let (name, number) = (format!("object {n}"), n as u32 + 1000);
        let namespace = [Namespace::TableProcedure, Namespace::Body][n as usize % 2];
        let object = Object { digest: digest(n), namespace, type_code: 9, owner: "S", name: &name, number };
        let nls = random >> 24 & 1;
        let env = Env { user: n as u32, schema: "S", optimizer: 0, nls, auth: 0, binds: 0 };
        let code = code_of(n, nls);
        let mut image = Vec::new();
        let edition = self.cache.touch_code(p, &object, &env).and_then(|handle| self.cache.image(handle, &mut image));
        if edition.is_some() {
            assert!(image == code, "an image of {} bytes is not the code of object {n}", image.len());
        }
        if edition.is_none() || (random >> 26).is_multiple_of(4) {
            self.cache.load_code(p, &object, &env, &code, edition);
        }
    }

    fn execute(&self, p: &Process, n: u64, random: u64) -> u64 {
        let env = Env {
            user: (random >> 24) as u32 % 2,
            schema: "S",
            optimizer: 0,
            nls: 0,
            auth: 0,
            binds: (random >> 30) % 3,
        };
        let handle = self.handle(p, n, &env);
        if handle == Handle::NONE {
            return 0;
        }
        let slot = self.cache.open(p, handle);
        let before = self.cache.in_force();
        // Some cursors are blocks.
        let outer = (random >> 46 & 3 == 0).then(|| self.cache.pin_block(p, &slot, handle));
        if outer.is_none() {
            self.cache.pin(p, &slot, handle);
        }
        let pinned_by = self.cache.design();
        // Unknown when the design was switched in between.
        let is_counted = self.cache.in_force().epoch() == before.epoch() && pinned_by != Design::Versioned;
        let found = self.cache.identify(handle);
        if let Some((found, _)) = found {
            assert_eq!(found, digest(n));
        }
        let mut image = Vec::new();
        if let Some(edition) = self.cache.image(handle, &mut image) {
            assert!(image == image_of(n), "an image of {} bytes is not that of statement {n}", image.len());
            self.cache.set_known(edition, 7);
        }
        if random >> 40 & 15 == 0 {
            std::thread::yield_now();
        }
        // A pinned child stays, except in the design without pins. It stays whatever design is in force by now.
        if is_counted && found.is_some() {
            assert!(self.cache.identify(handle).is_some(), "a pinned child went");
        }
        let counted = self.cache.add(p, handle, &Delta { executions: 1, ..Delta::default() });
        match outer {
            Some(outer) => self.cache.unpin_block(p, &slot, outer),
            None => self.cache.unpin(p, &slot),
        }
        u64::from(counted)
    }

    /// Checks that every plan belongs to its statement.
    fn check_rows(&self) {
        for row in self.cache.statements() {
            // A process that died while loading a child again leaves it invalid and without a plan.
            for child in row.children.iter().filter(|child| child.status == "VALID" || !child.plan.is_empty()) {
                let n = u64::from(child.plan_hash);
                assert_eq!(row.text, format!("statement {n}"));
                assert_eq!(child.plan, [n as u8; 40]);
            }
        }
        for row in self.cache.rows().iter().filter(|row| row.namespace != Namespace::SqlArea) {
            assert_eq!(row.text, format!("object {}", row.object - 1000));
            assert_eq!((row.digest, row.loads > 0), (digest(u64::from(row.object) - 1000), true));
        }
    }
}

#[test]
fn one_session_finds_its_own_entries() {
    for design in DESIGNS {
        let f = fixture(design);
        let p = testing::attach(f.all, "test");
        let mut random = Random::new(5);
        for n in 0..10_000 {
            f.step(&p, random.next());
            if n % 500 == 0 {
                f.cache.assert_invariants().unwrap_or_else(|e| panic!("{design:?}: {e}"));
                f.check_rows();
            }
        }
    }
}

#[test]
fn concurrent_sessions_leave_a_consistent_cache() {
    for design in DESIGNS {
        let f = fixture(design);
        let counted: u64 = testing::run_threads(f.all, 4, |p, n| {
            let mut random = Random::new(n as u64);
            (0..6_000).map(|_| f.step(p, random.next())).sum::<u64>()
        })
        .into_iter()
        .sum();
        assert!(counted > 10_000, "{design:?}: {counted}");
        f.cache.assert_invariants().unwrap_or_else(|e| panic!("{design:?}: {e}"));
        f.check_rows();
        assert!(f.cache.open_cursors().is_empty());
    }
}

/// More cursors than a process has entries for figures, so that entries are replaced while a reader adds all up.
#[test]
fn figures_are_all_counted_and_never_seen_to_fall() {
    const CURSORS: u64 = 20;
    const TURNS: u64 = 20_000;
    for design in DESIGNS {
        let f = fixture(design);
        let env = Env { user: 1, schema: "S", optimizer: 0, nls: 0, auth: 0, binds: 0 };
        let total = || f.cache.statements().map(|row| row.figures().executions).sum::<u64>();
        let ended = std::sync::atomic::AtomicU64::new(0);
        testing::run_threads(f.all, 4, |p, thread| {
            if thread == 0 {
                let mut last = 0;
                while ended.load(Ordering::SeqCst) < 3 {
                    let now = total();
                    assert!(now >= last && now <= 3 * TURNS, "{design:?}: {now} executions behind {last}");
                    last = now;
                }
                return;
            }
            let handles: Vec<Handle> = (0..CURSORS).map(|n| f.handle(p, n, &env)).collect();
            let turn = |n: u64| handles[(n * 7 % CURSORS) as usize];
            let counted = (0..TURNS).filter(|n| f.cache.add(p, turn(*n), &Delta { executions: 1, ..Delta::default() }));
            let counted = counted.count() as u64;
            ended.fetch_add(1, Ordering::SeqCst);
            assert_eq!(counted, TURNS, "{design:?}");
        });
        assert_eq!(total(), 3 * TURNS, "{design:?}");
    }
}

#[test]
fn executions_of_one_hot_cursor_are_all_counted() {
    for design in DESIGNS {
        let f = fixture(design);
        let each = 4_000;
        testing::run_threads(f.all, 4, |p, _| {
            let env = Env { user: 1, schema: "S", optimizer: 0, nls: 0, auth: 0, binds: 0 };
            let handle = f.handle(p, 1, &env);
            let slot = f.cache.open(p, handle);
            for _ in 0..each {
                f.cache.pin(p, &slot, handle);
                f.cache.add(p, handle, &Delta { executions: 1, ..Delta::default() });
                f.cache.unpin(p, &slot);
            }
        });
        let row = f.cache.statement(digest(1)).unwrap();
        assert_eq!(row.figures().executions, 4 * each, "{design:?}");
        let pins = f.cache.mutex_gets()[3];
        let expected = if matches!(design, Design::Pins | Design::Mutex) { 4 * each } else { 0 };
        assert_eq!(pins, expected, "{design:?}");
        f.cache.assert_invariants().unwrap();
    }
}

#[test]
fn sessions_that_are_killed_anywhere_leave_a_whole_cache_and_no_pins() {
    let seconds = std::env::var("LATCHWORK_KILL_SECONDS").ok().and_then(|s| s.parse().ok()).unwrap_or(4);
    for (seed, design) in DESIGNS.into_iter().enumerate() {
        let f = fixture(design);
        let by = testing::attach(f.all, "PMON");
        let time = Duration::from_secs(seconds) / DESIGNS.len() as u32;
        let kills = testing::kill_children(&by, 4, time, seed as u64 * 31 + 3, |p, seed| {
            let mut random = Random::new(seed);
            loop {
                f.step(p, random.next());
            }
        });
        assert!(kills.killed > 5, "{kills:?}");
        f.cache.assert_invariants().unwrap_or_else(|e| panic!("{design:?}: {e}; {kills:?}"));
        f.check_rows();
        assert!(f.cache.open_cursors().is_empty());
        // Nothing stays held.
        let mut random = Random::new(99);
        for _ in 0..2_000 {
            f.step(&by, random.next());
        }
        f.cache.assert_invariants().unwrap_or_else(|e| panic!("{design:?}: {e}"));
        f.cache.flush(&by);
        assert_eq!(f.cache.statements().count(), 0, "{design:?}: nothing is pinned any more");
    }
}

/// One operation of a process on the cache.
type Operation = (&'static str, fn(&Fixture, &Process, &dyn Fn()));

/// An environment whose executions are not blocks.
const PLAIN: u64 = 1 << 46;

const OPERATIONS: &[Operation] = &[
    ("a hard parse", |f, p, arm| {
        arm();
        f.execute(p, 20, PLAIN);
    }),
    ("a soft parse and an execution", |f, p, arm| {
        arm();
        f.execute(p, 1, PLAIN);
    }),
    ("a second child, as a block", |f, p, arm| {
        arm();
        f.execute(p, 1, 1 << 24);
    }),
    ("an invalidation and a parse", |f, p, arm| {
        arm();
        f.cache.invalidate(p, &[2]);
        f.execute(p, 2, PLAIN);
    }),
    ("an invalidation of a pinned cursor", |f, p, arm| {
        let env = Env { user: 0, schema: "S", optimizer: 0, nls: 0, auth: 0, binds: 0 };
        let handle = f.handle(p, 2, &env);
        let slot = f.cache.open(p, handle);
        arm();
        f.cache.pin(p, &slot, handle);
        f.cache.invalidate(p, &[2]);
        f.execute(p, 2, PLAIN);
        f.cache.unpin(p, &slot);
    }),
    ("statements that others have to go for", |f, p, arm| {
        (5..30).for_each(|n| _ = f.execute(p, n, PLAIN));
        arm();
        (30..33).for_each(|n| _ = f.execute(p, n, PLAIN));
    }),
    ("figures of operations, and the plan that they go with", |f, p, arm| {
        let env = Env { user: 0, schema: "S", optimizer: 0, nls: 0, auth: 0, binds: 0 };
        let handle = f.handle(p, 3, &env);
        arm();
        f.cache.add_run(p, handle, 3, &[(LineCounts::default(), AreaCounts::default()); 3]);
        f.cache.add_run(p, handle, 3, &[(LineCounts::default(), AreaCounts::default()); 3]);
        f.cache.invalidate(p, &[3]);
        f.execute(p, 3, PLAIN);
    }),
    ("a purge", |f, p, arm| {
        arm();
        f.cache.purge(p, digest(1));
    }),
    ("a flush", |f, p, arm| {
        arm();
        f.cache.flush(p);
    }),
    ("a hot statement", |f, p, arm| {
        arm();
        f.cache.mark_hot(p, digest(3));
        f.execute(p, 3, PLAIN);
        f.cache.unmark_hot(p, digest(3));
    }),
    ("an object, made stale and loaded again", |f, p, arm| {
        let object = Object {
            digest: digest(7),
            namespace: Namespace::Body,
            type_code: 2,
            owner: "S",
            name: "object 7",
            number: 1007,
        };
        arm();
        f.cache.touch(p, &object);
        f.cache.invalidate_objects(p, &[1007]);
        f.cache.touch(p, &object);
    }),
];

#[test]
fn a_process_killed_at_any_step_leaves_a_whole_cache_and_no_pins() {
    for design in DESIGNS {
        for (what, operation) in OPERATIONS {
            let f = fixture(design);
            let by = testing::attach(f.all, "PMON");
            let fill = || (0..5).for_each(|n| _ = f.execute(&by, n, PLAIN));
            let body = |p: &Process, arm: &dyn Fn()| operation(&f, p, arm);
            let check = || {
                f.cache.assert_invariants().unwrap_or_else(|e| panic!("{design:?}, {what}: {e}"));
                f.check_rows();
                assert!(f.cache.open_cursors().is_empty(), "{design:?}, {what}");
                (0..5).for_each(|n| assert_eq!(f.execute(&by, n, PLAIN), 1, "{design:?}, {what}: {n} runs"));
            };
            testing::kill_at_every_step(&by, testing::EVERY_STEP, fill, body, check);
            f.cache.flush(&by);
            assert_eq!(f.cache.statements().count(), 0, "{design:?}, {what}: nothing is pinned any more");
        }
    }
}

/// The least number of switches of a test.
const SWITCHES: u64 = 2_000;

#[test]
fn sessions_leave_a_consistent_cache_while_designs_are_switched() {
    let f = fixture(Design::Latch);
    let over = std::sync::atomic::AtomicU64::new(0);
    let counted = testing::run_threads(f.all, 4, |p, n| {
        let (mut random, mut counted, mut turns) = (Random::new(n as u64 + 5), 0u64, 0u64);
        while if n == 0 { turns < SWITCHES } else { over.load(Ordering::Acquire) == 0 || turns < 3_000 } {
            turns += 1;
            match n {
                0 => _ = f.cache.switch(p, DESIGNS[random.below(DESIGNS.len())]).unwrap(),
                _ => counted += f.step(p, random.next()),
            }
        }
        over.fetch_add(u64::from(n == 0), Ordering::Release);
        counted
    });
    assert!(counted.iter().sum::<u64>() > 3_000, "{counted:?}");
    f.cache.assert_invariants().unwrap();
    f.check_rows();
    assert!(f.cache.open_cursors().is_empty());
    let p = testing::attach(f.all, "test");
    for design in DESIGNS {
        f.cache.switch(&p, design).unwrap();
        (0..5).for_each(|n| assert_eq!(f.execute(&p, n, PLAIN), 1, "{design:?}: {n} runs"));
    }
    f.cache.flush(&p);
    assert_eq!(f.cache.statements().count(), 0, "nothing is pinned any more");
}

/// A pin of each design is ended in each other design, and keeps its child until then.
#[test]
fn a_pin_ends_by_the_design_that_began_it() {
    for from in DESIGNS {
        for to in DESIGNS {
            let f = fixture(from);
            let p = testing::attach(f.all, "test");
            let env = Env { user: 0, schema: "S", optimizer: 0, nls: 0, auth: 0, binds: 0 };
            let handle = f.handle(&p, 2, &env);
            let slot = f.cache.open(&p, handle);
            f.cache.pin(&p, &slot, handle);
            f.cache.switch(&p, to).unwrap();
            f.cache.purge(&p, digest(2));
            assert!(f.cache.identify(handle).is_some(), "{from:?} to {to:?}: a purge spares what is executed");
            f.cache.assert_invariants().unwrap_or_else(|e| panic!("{from:?} to {to:?}: {e}"));
            f.cache.unpin(&p, &slot);
            drop(slot);
            f.cache.flush(&p);
            assert_eq!(f.cache.statements().count(), 0, "{from:?} to {to:?}: nothing is pinned any more");
            f.cache.assert_invariants().unwrap_or_else(|e| panic!("{from:?} to {to:?}: {e}"));
        }
    }
}

/// The end of a pin under a latch is not final when its process is killed: until recovery the child counts as pinned
/// in the designs that do not get the latch, too.
#[test]
fn a_child_is_not_evicted_while_the_end_of_its_pin_may_be_rolled_back() {
    for to in [Design::Pins, Design::Mutex, Design::Versioned] {
        let f = fixture(Design::Latch);
        let by = testing::attach(f.all, "PMON");
        let env = Env { user: 0, schema: "S", optimizer: 0, nls: 0, auth: 0, binds: 0 };
        let handle = f.handle(&by, 2, &env);
        let child = match os::process::fork().expect("a child") {
            os::process::Fork::Parent(child) => child,
            os::process::Fork::Child => {
                let run = std::panic::AssertUnwindSafe(|| {
                    let p = std::mem::ManuallyDrop::new(testing::attach(f.all, "child"));
                    let slot = f.cache.open(&p, handle);
                    f.cache.pin(&p, &slot, handle);
                    f.cache.switch(&p, to).unwrap();
                    faults::arm_points_quietly("undo-end:1:process", &std::env::temp_dir()).expect("a plan");
                    f.cache.unpin(&p, &slot);
                });
                // A panic in here must not run the parent's test harness.
                let _ = std::panic::catch_unwind(run);
                os::process::exit_now(1);
            }
        };
        let killed = Some(os::process::Ended::Killed(os::signal::SIGKILL));
        assert_eq!(os::process::wait(child), killed, "{to:?}");
        f.cache.purge(&by, digest(2));
        assert!(f.cache.identify(handle).is_some(), "{to:?}: the pin is not over");
        let owner = f.all.owner_by_os_pid(child).expect("the child's slot is its own");
        assert!(f.all.cleanup(&by, owner).is_some());
        f.cache.assert_invariants().unwrap_or_else(|e| panic!("{to:?}: {e}"));
        f.cache.flush(&by);
        assert_eq!(f.cache.statements().count(), 0, "{to:?}: nothing is pinned any more");
    }
}

#[test]
fn sessions_that_are_killed_while_designs_are_switched_leave_no_pins() {
    let f = fixture(Design::Mutex);
    let by = testing::attach(f.all, "PMON");
    // One process at a time switches, as the parameter enqueue has it.
    let turn: &'static std::sync::atomic::AtomicU32 = &os::memory::shared_slice(1).unwrap()[0];
    f.all.on_death(process::CleanupOrder::Session, "turn", move |_, dead| {
        let _ = turn.compare_exchange(dead, 0, Ordering::AcqRel, Ordering::Relaxed);
    });
    let kills = testing::kill_children(&by, 4, Duration::from_millis(1000), 815, |p, seed| {
        let mut random = Random::new(seed);
        loop {
            f.step(p, random.next());
            if random.one_in(32) && turn.compare_exchange(0, p.number(), Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                f.cache.switch(p, DESIGNS[random.below(DESIGNS.len())]).unwrap();
                turn.store(0, Ordering::Release);
            }
        }
    });
    assert!(kills.killed > 5, "{kills:?}");
    f.cache.assert_invariants().unwrap_or_else(|e| panic!("{e}; {kills:?}"));
    f.check_rows();
    assert!(f.cache.open_cursors().is_empty());
    f.cache.flush(&by);
    assert_eq!(f.cache.statements().count(), 0, "nothing is pinned any more");
}

#[test]
fn a_process_killed_at_any_step_of_a_switch_leaves_one_design_or_the_other() {
    for from in DESIGNS {
        for to in DESIGNS {
            let f = fixture(from);
            let (by, what) = (testing::attach(f.all, "PMON"), format!("{from:?} to {to:?}"));
            let before = || _ = f.cache.switch(&by, from).unwrap();
            let body = |p: &Process, arm: &dyn Fn()| {
                let env = Env { user: 0, schema: "S", optimizer: 0, nls: 0, auth: 0, binds: 0 };
                let handle = f.handle(p, 1, &env);
                let slot = f.cache.open(p, handle);
                f.cache.pin(p, &slot, handle);
                arm();
                f.cache.switch(p, to).unwrap();
                f.cache.unpin(p, &slot);
            };
            let check = || {
                assert!([from, to].contains(&f.cache.design()), "{what}");
                f.cache.assert_invariants().unwrap_or_else(|e| panic!("{what}: {e}"));
                assert!(f.cache.open_cursors().is_empty(), "{what}");
                (0..5).for_each(|n| assert_eq!(f.execute(&by, n, PLAIN), 1, "{what}: {n} runs"));
            };
            assert!(testing::kill_at_every_step(&by, "switch-*", before, body, check) >= 3, "{what}");
        }
    }
}
