//! Gets of each design, sharing, hot copies, eviction: figures that do not depend on the machine.

use latch::{Generation, LatchName};
use library_cache::{
    Adaptive, AreaCounts, Config, Content, Delta, Design, Digest, Env, Fit, Handle, Layout, LeftOut, LibraryCache,
    LineCounts, LineFigures, Mismatch, Namespace, Object, Refused, Sharing, Statement,
};
use process::{Process, Processes};

const DESIGNS: [Design; 4] = [Design::Latch, Design::Pins, Design::Mutex, Design::Versioned];

struct Fixture {
    all: &'static Processes,
    cache: &'static LibraryCache,
}

fn fixture(design: Design, entries: u32) -> Fixture {
    let config = Config { design, ..Config::new(entries, 8) };
    let (all, layout) = testing::instance_of(8, Generation::default(), |b| Layout::reserve(b, &config));
    let cache: &'static LibraryCache = Box::leak(Box::new(LibraryCache::create(all, &layout, &config)));
    cache.register();
    Fixture { all, cache }
}

fn digest(n: u32) -> Digest {
    let mut bytes = [7; 16];
    bytes[8..12].copy_from_slice(&n.to_le_bytes());
    bytes[12..].copy_from_slice(&n.wrapping_mul(0x9e37_79b9).to_le_bytes());
    Digest(bytes)
}

fn env(user: u32) -> Env<'static> {
    Env { user, schema: "SCOTT", optimizer: 1, nls: 2, auth: 0, binds: 0 }
}

impl Fixture {
    /// Parses statement `n`, loading it when it is not there; true for a soft parse.
    fn parse(&self, p: &Process, n: u32, env: &Env<'_>) -> (Handle, bool) {
        if let Some(handle) = self.cache.parse(p, digest(n), env) {
            return (handle, true);
        }
        let text = format!("select {n} from dual");
        let content = Content { plan: b"rows", plan_hash: n, depends: &[n, 1], ..Content::default() };
        let of = Statement { digest: digest(n), text: &text, command: 3 };
        (self.cache.load(p, &of, env, &content), false)
    }

    fn latch_gets(&self, name: LatchName) -> u64 {
        self.all.latch_counts(name).gets
    }

    /// Gets of `library cache`, of `library cache pin`, and of the mutexes: library cache, parents, hash tables, pins.
    fn gets(&self) -> [u64; 6] {
        let [library, parents, tables, pins] = self.cache.mutex_gets();
        let (cache, pin) = (self.latch_gets(LatchName::LibraryCache), self.latch_gets(LatchName::LibraryCachePin));
        [cache, pin, library, parents, tables, pins]
    }

    fn namespace(&self) -> library_cache::NamespaceRow {
        self.cache.namespaces()[Namespace::SqlArea as usize]
    }
}

#[test]
fn soft_parses_and_executions_make_exactly_the_gets_of_their_design() {
    let expected = [
        (Design::Latch, [2, 0, 0, 0, 0, 0], [0, 2, 0, 0, 0, 0]),
        (Design::Pins, [2, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 1]),
        (Design::Mutex, [0, 0, 2, 1, 1, 0], [0, 0, 0, 0, 0, 1]),
        (Design::Versioned, [1, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0]),
    ];
    for (design, soft_parse, execution) in expected {
        let f = fixture(design, 64);
        let p = testing::attach(f.all, "test");
        assert!(!f.parse(&p, 5, &env(1)).1);
        let before = f.gets();
        for _ in 0..100 {
            assert!(f.parse(&p, 5, &env(1)).1);
        }
        let after = f.gets();
        assert_eq!(std::array::from_fn::<_, 6, _>(|n| after[n] - before[n]), soft_parse.map(|n| n * 100), "{design:?}");
        let (handle, _) = f.parse(&p, 5, &env(1));
        let slot = f.cache.open(&p, handle);
        let before = f.gets();
        for _ in 0..100 {
            f.cache.pin(&p, &slot, handle);
            f.cache.unpin(&p, &slot);
        }
        let after = f.gets();
        assert_eq!(std::array::from_fn::<_, 6, _>(|n| after[n] - before[n]), execution.map(|n| n * 100), "{design:?}");
        let row = f.namespace();
        assert_eq!((row.gets, row.get_hits, row.pins, row.pin_hits), (102, 101, 100, 100), "{design:?}");
        f.cache.assert_invariants().unwrap();
    }
}

#[test]
fn children_differ_by_user_schema_settings_and_binds() {
    for design in DESIGNS {
        let f = fixture(design, 64);
        let p = testing::attach(f.all, "test");
        let all = [
            env(1),
            env(2),
            Env { schema: "OTHER", ..env(1) },
            Env { optimizer: 9, ..env(1) },
            Env { nls: 9, ..env(1) },
        ];
        let handles: Vec<_> = all.iter().map(|env| f.parse(&p, 5, env).0).collect();
        for (env, handle) in all.iter().zip(&handles) {
            assert_eq!(f.parse(&p, 5, env), (*handle, true));
        }
        let row = f.cache.statement(digest(5)).unwrap();
        let reasons: Vec<_> = row.children.iter().map(|c| (c.number, c.mismatch)).collect();
        assert_eq!(reasons, [(0, 0), (1, 1), (2, 3), (3, 6), (4, 12)], "{design:?}");
        assert_eq!((row.loads, row.text.as_str()), (5, "select 5 from dual"));
        // Binds of unknown type fit every child; once known, they fit only equal types.
        let typed = |binds| Env { binds, ..env(1) };
        assert_eq!(f.parse(&p, 5, &typed(77)), (handles[0], true));
        assert_eq!(f.parse(&p, 5, &typed(77)), (handles[0], true));
        assert!(!f.parse(&p, 5, &typed(78)).1);
        assert_eq!(f.cache.statement(digest(5)).unwrap().children.len(), 6);
        f.cache.assert_invariants().unwrap();
    }
}

#[test]
fn invalid_cursors_are_loaded_again_in_place_unless_pinned() {
    for design in DESIGNS {
        let f = fixture(design, 64);
        let p = testing::attach(f.all, "test");
        let (handle, _) = f.parse(&p, 5, &env(1));
        f.parse(&p, 6, &env(1));
        assert_eq!(f.cache.invalidate(&p, &[5, 99]), 1, "{design:?}");
        assert_eq!(f.parse(&p, 5, &env(1)), (handle, false));
        assert!(f.parse(&p, 6, &env(1)).1);
        assert_eq!(f.cache.invalidate(&p, &[1]), 2);
        let slot = f.cache.open(&p, handle);
        f.cache.pin(&p, &slot, handle);
        let (again, _) = f.parse(&p, 5, &env(1));
        // No load waits for an execution: a pinned cursor gets a sibling.
        assert_eq!(again == handle, design == Design::Versioned, "{design:?}");
        f.cache.unpin(&p, &slot);
        let row = f.cache.statement(digest(5)).unwrap();
        assert_eq!((row.loads, row.invalidations), (3, 2));
        assert_eq!(row.children.len(), if design == Design::Versioned { 1 } else { 2 });
        assert_eq!(f.namespace().invalidations, 3);
        f.cache.assert_invariants().unwrap();
    }
}

#[test]
fn the_oldest_are_evicted_and_the_kept_and_pinned_stay() {
    for design in DESIGNS {
        let f = fixture(design, 32);
        let p = testing::attach(f.all, "test");
        let (pinned, _) = f.parse(&p, 1, &env(1));
        let slot = f.cache.open(&p, pinned);
        f.cache.pin(&p, &slot, pinned);
        f.parse(&p, 2, &env(1));
        assert!(f.cache.set_kept(&p, digest(2), true));
        for n in 10..500 {
            let (handle, soft) = f.parse(&p, n, &env(n % 3));
            assert!(!soft && handle != Handle::NONE, "{design:?} {n}");
            assert!(f.cache.add(&p, handle, &Delta { executions: 1, ..Delta::default() }));
        }
        f.cache.assert_invariants().unwrap();
        assert!(f.parse(&p, 2, &env(1)).1, "{design:?}: a kept statement");
        if design != Design::Versioned {
            assert!(
                f.cache.add(&p, pinned, &Delta { executions: 1, ..Delta::default() }),
                "{design:?}: a pinned cursor"
            );
        }
        f.cache.unpin(&p, &slot);
        assert!(f.cache.flush(&p) > 20);
        assert_eq!(f.cache.statements().count(), 1);
        f.cache.assert_invariants().unwrap();
        // With all slots kept, further statements run unshared.
        for n in 1000..1100 {
            f.parse(&p, n, &env(1));
            f.cache.set_kept(&p, digest(n), true);
        }
        assert_eq!(f.parse(&p, 5000, &env(1)).0, Handle::NONE);
        assert!(f.cache.add(&p, Handle::NONE, &Delta::default()));
        f.cache.assert_invariants().unwrap();
    }
}

#[test]
fn sessions_take_copies_of_a_hot_statement_in_turn() {
    for design in DESIGNS {
        let f = fixture(design, 64);
        let sessions: Vec<Process> = (0..4).map(|_| testing::attach(f.all, "test")).collect();
        let (plain, _) = f.parse(&sessions[0], 5, &env(1));
        assert!(f.cache.mark_hot(&sessions[0], digest(5)));
        let handles: Vec<_> = sessions.iter().map(|p| f.parse(p, 5, &env(1)).0).collect();
        assert!(!handles.contains(&plain));
        assert!(handles[0] != handles[1] && handles[0] == handles[2] && handles[1] == handles[3], "{design:?}");
        let copies: Vec<_> = f.cache.statements().map(|row| (row.copy, row.hot)).collect();
        assert_eq!(copies.len(), 3);
        assert!(copies.iter().all(|(_, hot)| *hot));
        assert!(f.cache.unmark_hot(&sessions[0], digest(5)) && !f.cache.unmark_hot(&sessions[0], digest(5)));
        assert_eq!(f.cache.statements().count(), 0);
        f.cache.assert_invariants().unwrap();
    }
}

#[test]
fn open_and_kept_cursors_are_shown_with_their_executions() {
    for design in DESIGNS {
        let f = fixture(design, 64);
        let p = testing::attach(f.all, "test");
        let (handle, _) = f.parse(&p, 5, &env(1));
        let slot = f.cache.open(&p, handle);
        f.cache.pin(&p, &slot, handle);
        let users = || f.cache.statement(digest(5)).map(|row| (row.children[0].executing, row.children[0].opening));
        assert_eq!(users(), Some((1, 1)), "{design:?}");
        f.cache.unpin(&p, &slot);
        slot.keep(true);
        assert_eq!((users(), f.cache.cursor_counts(p.number())), (Some((0, 0)), (0, 1)));
        assert_eq!(f.cache.open_cursors()[0].text, "select 5 from dual");
        drop(slot);
        assert_eq!(f.cache.open_cursors().len(), 0);
    }
}

#[test]
fn the_current_cursor_is_the_running_statement_or_else_the_block() {
    for design in DESIGNS {
        let f = fixture(design, 64);
        let p = testing::attach(f.all, "test");
        let open = |n: u32| {
            let (handle, _) = f.parse(&p, n, &env(1));
            (f.cache.open(&p, handle), handle)
        };
        let ids = |found: Option<library_cache::SessionCursor>| found.map(|cursor| cursor.digest);
        let shown = || {
            let (now, before) = f.cache.session_cursors(p.sid());
            (ids(now), ids(before), ids(f.cache.top_cursor(p.sid())))
        };
        let of = |n: u32| Some(digest(n));
        f.cache.begin_call(&p);
        assert_eq!(shown(), (None, None, None), "{design:?}");
        let (block, query, update) = (open(1), open(2), open(3));
        let outer = f.cache.pin_block(&p, &block.0, block.1);
        assert_eq!(shown(), (of(1), None, of(1)), "{design:?}");
        let number = f.cache.session_cursors(p.sid()).0.expect("the block").execution;
        // A query that is open, but not fetched from.
        f.cache.pin(&p, &query.0, query.1);
        assert_eq!(shown(), (of(2), None, of(1)), "{design:?}");
        f.cache.pause(&p, &query.0);
        assert_eq!(shown(), (of(1), None, of(1)), "{design:?}");
        assert_eq!(f.cache.session_cursors(p.sid()).0.expect("the block").execution, number, "{design:?}");
        f.cache.pin(&p, &update.0, update.1);
        assert_eq!(shown(), (of(3), None, of(1)), "{design:?}");
        f.cache.unpin(&p, &update.0);
        assert_eq!(shown(), (of(1), of(3), of(1)), "{design:?}");
        f.cache.resume(&p, &query.0);
        assert_eq!(shown(), (of(2), of(3), of(1)), "{design:?}");
        f.cache.pause(&p, &query.0);
        // A block inside the first.
        let inner = open(4);
        let between = f.cache.pin_block(&p, &inner.0, inner.1);
        assert_eq!(shown(), (of(4), of(3), of(1)), "{design:?}");
        f.cache.unpin_block(&p, &inner.0, between);
        assert_eq!(shown(), (of(1), of(4), of(1)), "{design:?}");
        f.cache.unpin_block(&p, &block.0, outer);
        // The query is open but not current until the client fetches from it.
        f.cache.begin_call(&p);
        assert_eq!(shown(), (None, of(1), None), "{design:?}");
        f.cache.resume(&p, &query.0);
        assert_eq!(shown(), (of(2), of(1), of(2)), "{design:?}");
        f.cache.unpin(&p, &query.0);
        assert_eq!(shown(), (None, of(2), None), "{design:?}");
        f.cache.assert_invariants().expect("whole");
    }
}

fn emp() -> Object<'static> {
    let namespace = Namespace::TableProcedure;
    Object { digest: digest(9), namespace, type_code: 2, owner: "SCOTT", name: "EMP", number: 4711 }
}

#[test]
fn objects_of_other_namespaces_are_got_pinned_and_loaded_again() {
    for design in DESIGNS {
        let f = fixture(design, 64);
        let p = testing::attach(f.all, "test");
        let touch = || f.cache.touch(&p, &emp());
        assert_eq!([touch(), touch(), touch()], [false, true, true]);
        assert_eq!(f.cache.invalidate(&p, &[4711]), 0);
        f.cache.invalidate_objects(&p, &[1, 4711]);
        let state = || f.cache.rows().iter().map(|row| (row.stale, row.loads, row.invalidations)).collect::<Vec<_>>();
        assert_eq!(state(), [(true, 1, 1)]);
        f.cache.invalidate_objects(&p, &[4711]);
        assert!(touch());
        assert_eq!(state(), [(false, 2, 1)]);
        let row = f.cache.namespaces()[Namespace::TableProcedure as usize];
        let figures = [row.gets, row.get_hits, row.pins, row.pin_hits, row.reloads, row.invalidations];
        assert_eq!(figures, [4, 3, 4, 2, 1, 1], "{design:?}");
        f.cache.assert_invariants().unwrap();
    }
}

#[test]
fn an_object_that_is_there_costs_exactly_the_gets_of_the_design() {
    let expected = [
        (Design::Latch, [1, 2, 0, 0, 0, 0]),
        (Design::Pins, [1, 2, 0, 0, 0, 0]),
        (Design::Mutex, [0, 0, 3, 0, 0, 0]),
        (Design::Versioned, [1, 0, 0, 0, 0, 0]),
    ];
    for (design, each) in expected {
        let f = fixture(design, 64);
        let p = testing::attach(f.all, "test");
        f.cache.touch(&p, &emp());
        let before = f.gets();
        (0..100).for_each(|_| assert!(f.cache.touch(&p, &emp())));
        let after = f.gets();
        assert_eq!(std::array::from_fn::<_, 6, _>(|n| after[n] - before[n]), each.map(|n| n * 100), "{design:?}");
    }
}

/// The content of an aware child for one predicate of each of these selectivities.
fn aware(share: &[f64], plan_hash: u32) -> Content<'_> {
    let adaptive = Adaptive { sharing: Sharing::Aware, selectivities: share, labels: "=X", ..Adaptive::default() };
    Content { plan: b"rows", plan_hash, adaptive, ..Content::default() }
}

#[test]
fn aware_children_replace_a_sensitive_one_and_merge_when_their_plans_are_equal() {
    for design in DESIGNS {
        let f = fixture(design, 64);
        let p = testing::attach(f.all, "test");
        let (e, of) = (env(1), Statement { digest: digest(9), text: "select 9", command: 3 });
        let sensitive = Adaptive { sharing: Sharing::Sensitive, selectivities: &[0.5], ..Adaptive::default() };
        let first = f.cache.load(&p, &of, &e, &Content { plan_hash: 1, adaptive: sensitive, ..Content::default() });
        assert_eq!(f.cache.fit(first, || vec![0.001]), Fit::Shared, "{design:?}: shared by all values");
        f.cache.note_executions(first, [3, 0, 0], (1, 5, 7));
        assert_eq!(f.cache.fit(first, || vec![0.001]), Fit::Shared, "{design:?}");
        f.cache.note_executions(first, [0, 0, 1], (2, 2_000_000, 7));
        assert_eq!(f.cache.fit(first, || vec![0.001]), Fit::Other, "{design:?}: executions differ");
        // The first child is not for particular values; the loaded one takes its place.
        assert_eq!(f.cache.parse_for(&p, of.digest, &e, Some(&[0.5])), None, "{design:?}");
        assert_eq!(f.cache.parse(&p, of.digest, &e), Some(first), "{design:?}");
        let high = f.cache.load(&p, &of, &e, &aware(&[0.5], 2));
        assert_eq!(f.cache.parse(&p, of.digest, &e), Some(high), "{design:?}");
        assert!(!f.cache.is_valid(&p, first), "{design:?}");
        for (share, expected) in [(0.5, Some(high)), (0.46, Some(high)), (0.44, None), (0.56, None)] {
            assert_eq!(f.cache.parse_for(&p, of.digest, &e, Some(&[share])), expected, "{design:?} {share}");
        }
        assert_eq!(f.cache.parse_for(&p, of.digest, &e, Some(&[0.5, 0.5])), None, "{design:?}: other predicates");
        // Another plan makes a second child; the same plan makes one child with both ranges.
        let low = f.cache.load(&p, &of, &e, &aware(&[0.01], 3));
        assert_eq!(f.cache.parse_for(&p, of.digest, &e, Some(&[0.5])), Some(high), "{design:?}");
        assert_eq!(f.cache.parse_for(&p, of.digest, &e, Some(&[0.01])), Some(low), "{design:?}");
        let both = f.cache.load(&p, &of, &e, &aware(&[0.8], 2));
        assert!(!f.cache.is_valid(&p, high) && f.cache.is_valid(&p, low), "{design:?}");
        for share in [0.46, 0.6, 0.87] {
            assert_eq!(f.cache.parse_for(&p, of.digest, &e, Some(&[share])), Some(both), "{design:?} {share}");
        }
        let rows = f.cache.statement(of.digest).expect("the statement").children;
        let shown: Vec<_> = rows.iter().map(|c| (c.is_shareable, c.sharing.is_aware, c.mismatch)).collect();
        let bit = |why: Mismatch| 1u64 << why as u64;
        let (began, range) = (bit(Mismatch::LoadOptimizerStats), bit(Mismatch::BindEquivFailure));
        let expected = [(false, false, 0), (false, true, began), (true, true, range), (true, true, range)];
        assert_eq!(shown, expected, "{design:?}");
        assert_eq!(rows[0].sharing.buckets, [3, 0, 1], "{design:?}");
        f.cache.assert_invariants().unwrap();
    }
}

#[test]
fn a_soft_parse_returns_children_of_other_users_when_there_is_no_own_one() {
    for design in DESIGNS {
        let f = fixture(design, 64);
        let p = testing::attach(f.all, "test");
        let (one, _) = f.parse(&p, 5, &env(1));
        let other = Env { schema: "OTHER", auth: 9, ..env(2) };
        let (two, _) = f.parse(&p, 5, &other);
        f.parse(&p, 5, &Env { nls: 9, ..env(1) });
        assert_eq!(f.cache.parse_or_candidates(&p, digest(5), &env(1), None).ok(), Some(one), "{design:?}: its own");
        let before = (f.gets(), f.namespace());
        let candidates = f.cache.parse_or_candidates(&p, digest(5), &env(3), None).expect_err("no own one");
        assert_eq!(candidates.handles().len(), 2, "{design:?}: not the one of another language");
        assert!(candidates.handles().contains(&one) && candidates.handles().contains(&two), "{design:?}");
        let after = (f.gets(), f.namespace());
        f.parse(&p, 5, &env(1));
        let own = f.gets();
        let of_soft_parse = |from: [u64; 6], to: [u64; 6]| std::array::from_fn::<u64, 6, _>(|n| to[n] - from[n]);
        assert_eq!(of_soft_parse(before.0, after.0), of_soft_parse(after.0, own), "{design:?}: gets of a soft parse");
        assert_eq!((after.1.gets - before.1.gets, after.1.get_hits - before.1.get_hits), (1, 0), "{design:?}");
        // The first session that takes the child and knows the types of its binds stores them.
        f.cache.take_kin(&p, digest(5), one, &Env { binds: 77, ..env(3) });
        assert_eq!(f.namespace().get_hits - after.1.get_hits, 2, "{design:?}: that of the own one, and this");
        assert_eq!(f.cache.parse(&p, digest(5), &Env { binds: 78, ..env(1) }), None, "{design:?}");
        // The session could use none of them and gives its reasons.
        let of = Statement { digest: digest(5), text: "select 5 from dual", command: 3 };
        let refused = 1 << Mismatch::Translation as u64;
        f.cache.load(&p, &of, &env(3), &Content { refused, ..Content::default() });
        let rows = f.cache.statement(digest(5)).expect("the statement").children;
        let reason = rows.iter().find(|c| c.user == 3).map(|c| c.mismatch);
        assert_eq!(reason, Some(refused), "{design:?}");
        // The number of offered children is limited.
        for user in 10..20 {
            f.parse(&p, 5, &env(user));
        }
        let candidates = f.cache.parse_or_candidates(&p, digest(5), &env(99), None).expect_err("no own one");
        assert_eq!(candidates.handles().len(), library_cache::CANDIDATES_MOST, "{design:?}");
        // A child that is out of date is not offered.
        assert!(f.cache.invalidate(&p, &[5]) > 0, "{design:?}");
        let left = f.cache.parse_or_candidates(&p, digest(5), &env(99), None).expect_err("no own one");
        assert!(!left.handles().contains(&one) && !left.handles().contains(&two), "{design:?}");
        f.cache.assert_invariants().unwrap();
    }
}

#[test]
fn corrections_last_until_their_objects_change() {
    for design in DESIGNS {
        let f = fixture(design, 64);
        let p = testing::attach(f.all, "test");
        let (first, _) = f.parse(&p, 4, &env(1));
        let (other, _) = f.parse(&p, 5, &env(1));
        assert!(f.cache.corrections(&p, digest(4), &env(1)).is_empty(), "{design:?}");
        assert!(f.cache.correct(&p, first, &[(11, 50.0), (12, 0.02)]), "{design:?}");
        assert!(!f.cache.correct(&p, first, &[(11, 3.0)]), "{design:?}: it is out of use");
        assert_eq!(f.cache.parse(&p, digest(4), &env(1)), None, "{design:?}");
        assert_eq!(f.cache.corrections(&p, digest(4), &env(1)), [(11, 50.0), (12, 0.02)], "{design:?}");
        assert!(f.cache.corrections(&p, digest(4), &env(2)).is_empty(), "{design:?}: another user's");
        assert!(f.cache.corrections(&p, digest(5), &env(1)).is_empty(), "{design:?}");
        let adaptive = Adaptive { is_corrected: true, ..Adaptive::default() };
        let of = Statement { digest: digest(4), text: "select 4 from dual", command: 3 };
        let content = Content { plan_hash: 4, depends: &[4], adaptive, ..Content::default() };
        let second = f.cache.load(&p, &of, &env(1), &content);
        assert_eq!(f.cache.parse(&p, digest(4), &env(1)), Some(second), "{design:?}");
        let rows = f.cache.statement(digest(4)).expect("the statement").children;
        let shown: Vec<_> = rows.iter().map(|c| (c.is_shareable, c.sharing.is_reoptimizable, c.mismatch)).collect();
        assert_eq!(shown, [(false, true, 0), (true, false, 1 << Mismatch::UseFeedbackStats as u64)], "{design:?}");
        assert_eq!(f.cache.invalidate(&p, &[4]), 2, "{design:?}: the one out of use, too");
        assert!(f.cache.corrections(&p, digest(4), &env(1)).is_empty(), "{design:?}");
        assert!(f.cache.is_valid(&p, other), "{design:?}");
        f.cache.assert_invariants().unwrap();
    }
}

/// The figures of the operations of statement `n`.
fn run_of(f: &Fixture, n: u32) -> Vec<LineFigures> {
    f.cache.statement(digest(n)).map_or(Vec::new(), |row| row.children[0].run.clone())
}

#[test]
fn figures_of_operations_are_last_and_total_and_go_with_the_plan() {
    for design in DESIGNS {
        let f = fixture(design, 64);
        let p = testing::attach(f.all, "test");
        let (handle, _) = f.parse(&p, 5, &env(1));
        assert!(run_of(&f, 5).is_empty());
        let counts = |starts, rows| LineCounts { starts, rows, ..LineCounts::default() };
        let sort = AreaCounts { optimal_bytes: 100, last_bytes: 100, optimal: 1, ..AreaCounts::default() };
        f.cache.add_run(&p, handle, 5, &[(counts(1, 7), AreaCounts::default()), (counts(1, 40), sort)]);
        f.cache.add_run(&p, handle, 5, &[(counts(1, 2), AreaCounts::default()), (counts(3, 10), sort)]);
        // Figures for another plan, or with another number of operations.
        f.cache.add_run(&p, handle, 6, &[(counts(9, 9), sort), (counts(9, 9), sort)]);
        f.cache.add_run(&p, handle, 5, &[(counts(9, 9), sort)]);
        let run = run_of(&f, 5);
        assert_eq!(run.len(), 2);
        assert_eq!((run[0].executions, run[0].total, run[0].last), (2, counts(2, 9), counts(1, 2)), "{design:?}");
        assert_eq!((run[1].total, run[1].last, run[1].area.optimal), (counts(4, 50), counts(3, 10), 2));
        f.cache.assert_invariants().unwrap();
        // The load after a change of the object frees the old plan's figures.
        f.cache.invalidate(&p, &[5]);
        let (again, soft) = f.parse(&p, 5, &env(1));
        assert!(!soft);
        assert!(run_of(&f, 5).is_empty(), "{design:?}");
        f.cache.add_run(&p, again, 5, &[(counts(1, 1), sort)]);
        assert_eq!(run_of(&f, 5).len(), 1);
        f.cache.assert_invariants().unwrap();
        f.cache.purge(&p, digest(5));
        f.cache.assert_invariants().unwrap();
        // The child is gone: nothing is written.
        f.cache.add_run(&p, again, 5, &[(counts(1, 1), sort)]);
        assert!(run_of(&f, 5).is_empty());
    }
}

#[test]
fn figures_without_room_are_not_kept() {
    let f = fixture(Design::Versioned, 16);
    let p = testing::attach(f.all, "test");
    let (handle, _) = f.parse(&p, 5, &env(1));
    // One cursor has an eighth of the chunks at most.
    let lines = vec![(LineCounts::default(), AreaCounts::default()); 17];
    f.cache.add_run(&p, handle, 5, &lines);
    assert!(run_of(&f, 5).is_empty());
    f.cache.add_run(&p, handle, 5, &lines[..16]);
    assert_eq!(run_of(&f, 5).len(), 16);
    f.cache.assert_invariants().unwrap();
}

#[test]
fn a_unit_is_run_or_claimed_by_processes_and_never_both() {
    let f = fixture(Design::Versioned, 64);
    let [caller, other, definer] = [0; 3].map(|_| testing::attach(f.all, "test"));
    let now = std::time::Duration::ZERO;
    f.cache.run_unit(&caller, 1, now).unwrap();
    f.cache.run_unit(&other, 1, now).unwrap();
    assert!(!f.cache.claim_unit(&definer, 1), "two run it");
    assert_eq!(f.cache.await_claimed(&definer, 1, now), Err(Refused::TimedOut));
    f.cache.assert_invariants().unwrap();
    assert_eq!(f.cache.run_unit(&caller, 1, now), Ok(()), "who runs it goes on");
    f.cache.end_running(&caller);
    assert_eq!(f.cache.run_unit(&caller, 1, now), Err(Refused::TimedOut), "it is claimed");
    assert_eq!(f.cache.run_unit(&caller, 2, now), Ok(()), "another is not");
    f.cache.end_running(&other);
    assert!(f.cache.claim_unit(&definer, 1), "nobody runs it");
    assert!(!f.cache.claim_unit(&definer, 2));
    assert_eq!(f.cache.run_unit(&definer, 1, now), Ok(()), "one's own claim is not in the way");
    f.cache.end_claims(&definer);
    f.cache.assert_invariants().unwrap();
    assert_eq!(f.cache.run_unit(&other, 1, now), Ok(()));
    // A call with more units than the list holds seems to run some others as well.
    f.cache.end_running(&other);
    f.cache.end_running(&definer);
    (1000..1100).for_each(|unit| f.cache.run_unit(&other, unit, now).unwrap());
    let seems = |unit: u32| {
        let runs = !f.cache.claim_unit(&definer, unit);
        f.cache.end_claims(&definer);
        runs
    };
    assert!((1000..1100).all(seems));
    assert!((2000..3000).filter(|unit| seems(*unit)).count() < 100);
    // A claimed unit is not run, whether the list is full, becomes full, or the unit shares its bit with another.
    for (before, most) in [(62, 1), (63, 1), (70, 1000)] {
        f.cache.end_running(&other);
        (1000..1000 + before).for_each(|unit| f.cache.run_unit(&other, unit, now).unwrap());
        for unit in 2000..2000 + most {
            if f.cache.claim_unit(&definer, unit) {
                assert_eq!(f.cache.run_unit(&other, unit, now), Err(Refused::TimedOut), "{before}, {unit}");
                assert!(f.cache.claim_unit(&definer, unit), "its note is taken back");
            }
            f.cache.end_claims(&definer);
        }
    }
    f.cache.end_running(&other);
    // A statement claims no more units than its list holds.
    (200..300).for_each(|unit| assert!(f.cache.claim_unit(&definer, unit)));
    assert_eq!(f.cache.run_unit(&other, 299, now), Ok(()));
    assert!(f.cache.run_unit(&other, 220, now).is_err());
    f.cache.assert_invariants().unwrap();
    f.cache.end_claims(&definer);
    f.cache.assert_invariants().unwrap();
}

#[test]
fn a_cycle_of_waits_for_units_is_a_deadlock() {
    let f = fixture(Design::Versioned, 64);
    let [one, two] = [0; 2].map(|_| testing::attach(f.all, "test"));
    let f = &f;
    let long = std::time::Duration::from_secs(60);
    f.cache.run_unit(&one, 1, long).unwrap();
    f.cache.run_unit(&two, 2, long).unwrap();
    assert!(!f.cache.claim_unit(&one, 2) && !f.cache.claim_unit(&two, 1));
    // Each thread gives up what it has when its request has ended in either way.
    let ended = std::thread::scope(|scope| {
        let waits = [(one, 2), (two, 1)].map(|(p, wanted)| {
            scope.spawn(move || {
                let ended = f.cache.await_claimed(&p, wanted, long);
                f.cache.end_running(&p);
                f.cache.end_claims(&p);
                ended
            })
        });
        waits.map(|wait| wait.join().unwrap())
    });
    assert!(ended.contains(&Ok(())) && ended.contains(&Err(Refused::Deadlock)), "{ended:?}");
    f.cache.assert_invariants().unwrap();
}

#[test]
fn an_image_that_was_left_out_is_made_again_when_room_has_come() {
    for design in DESIGNS {
        // 512 chunks of 248 bytes; an image takes an eighth of them at most.
        let f = fixture(design, 64);
        let p = testing::attach(f.all, "test");
        let load = |n: u32, bytes: usize| {
            let image = vec![n as u8; bytes];
            let of = Statement { digest: digest(n), text: "a statement", command: 3 };
            f.cache.load(&p, &of, &env(1), &Content { image: &image, ..Content::default() })
        };
        let has_image = |handle| f.cache.image(handle, &mut Vec::new()).is_some();
        let long = load(1, 64 * 248 + 1);
        assert_eq!((f.cache.left_out(long), has_image(long)), (Some(LeftOut::TooLong), false), "{design:?}");
        // Kept statements are not evicted: half an image has room beside them.
        let keep = |n: u32, bytes: usize| {
            load(n, bytes);
            assert!(f.cache.set_kept(&p, digest(n), true));
        };
        (10..17).for_each(|n| keep(n, 64 * 248));
        keep(17, 32 * 248);
        let refused = load(2, 64 * 248);
        assert_eq!((f.cache.left_out(refused), has_image(refused)), (Some(LeftOut::NoRoom), false), "{design:?}");
        let row = f.cache.statement(digest(2)).expect("it is there");
        assert_eq!(row.children.iter().map(|child| child.left_out).collect::<Vec<_>>(), [Some(LeftOut::NoRoom)]);
        // A child without an image is otherwise unchanged.
        assert_eq!(load(2, 0), refused, "{design:?}");
        assert_eq!(f.cache.left_out(refused), Some(LeftOut::NoRoom), "{design:?}");
        assert_eq!(f.cache.statement(digest(2)).expect("it is there").loads, 1, "{design:?}");
        // With the 32 chunks of a purged statement there is room.
        f.cache.purge(&p, digest(17));
        assert_eq!(f.cache.left_out(refused), None, "{design:?}");
        assert_eq!((load(2, 64 * 248), has_image(refused)), (refused, true), "{design:?}");
        assert_eq!(f.cache.left_out(refused), None, "{design:?}");
        let row = f.cache.statement(digest(2)).expect("it is there");
        assert_eq!(row.children.iter().map(|child| child.left_out).collect::<Vec<_>>(), [None]);
        // Once all room is taken again, as many chunks as the image takes must be freed for others first.
        f.cache.purge(&p, digest(2));
        keep(17, 32 * 248);
        keep(18, 32 * 248);
        let refused = load(3, 64 * 248);
        assert_eq!(f.cache.left_out(refused), Some(LeftOut::NoRoom), "{design:?}");
        for expected in [Some(LeftOut::NoRoom), None] {
            f.cache.purge(&p, digest(18));
            keep(18, 32 * 248);
            assert_eq!(f.cache.left_out(refused), expected, "{design:?}");
        }
        f.cache.assert_invariants().unwrap();
    }
}

/// A process moves the figures of cursors out of its ledger, and dies at each step of that.
#[test]
fn a_process_killed_at_any_step_of_a_move_loses_one_figure_at_most() {
    const MOST: u64 = 14;
    let f = fixture(Design::Versioned, 64);
    let by = testing::attach(f.all, "PMON");
    let handles: Vec<Handle> = (0..MOST as u32).map(|n| f.parse(&by, n, &env(1)).0).collect();
    let ten = Delta { executions: 10, fetches: 10, rows_processed: 10, buffer_gets: 10, ..Delta::default() };
    let figures = || -> Vec<[u64; 4]> {
        let of = |n| f.cache.statement(digest(n)).unwrap().children[0].figures;
        let all = (0..MOST as u32).map(of);
        all.map(|d| [d.executions, d.fetches, d.rows_processed, d.buffer_gets]).collect()
    };
    let before = std::cell::RefCell::new(figures());
    // A ledger has eight entries: the last additions move older ones.
    let body = |p: &Process, arm: &dyn Fn()| {
        let add = |some: &[Handle]| some.iter().for_each(|handle| assert!(f.cache.add(p, *handle, &ten)));
        add(&handles[..8]);
        arm();
        add(&handles[8..]);
    };
    let check = || {
        let now = figures();
        let mut lost = 0;
        for (n, (was, is)) in before.borrow().iter().zip(&now).enumerate() {
            for (was, is) in was.iter().zip(is) {
                assert!(*is <= was + 10, "cursor {n}: {was} became {is}");
                // The last additions may not have come.
                let least = if n < 8 { was + 10 } else { *was };
                lost += u32::from(*is < least);
            }
        }
        assert!(lost <= 1, "{lost} figures are lost");
        before.replace(now);
    };
    let killed = testing::kill_at_every_step(&by, "library-cache-ledger-*", || (), body, check);
    assert!(killed > 6 * 11, "{killed}");
    f.cache.assert_invariants().unwrap();
}
