//! The estimates for other sizes of the cache, against an exact list of the same gets.

mod common;
use buffer_cache::{ADVICE_PRESENT, ADVICE_SIZES, GetKind};
use cache_advice::{Following, Reused, Simulator};
use common::*;
use datafile::tablespace::USERS;
use process::Process;
use testing::Random;
use types::Rdba;

/// Reads a block, and plays the notes at intervals.
fn get(db: &Db, p: &Process, sim: &mut Simulator, nth: usize, at: Rdba) {
    value(db, p, at, GetKind::Consistent);
    if nth.is_multiple_of(100) {
        db.cache.advise(sim, Following::On);
    }
}

fn since(now: Reused, before: Reused) -> Reused {
    Reused { gets: now.gets - before.gets, misses: std::array::from_fn(|n| now.misses[n] - before.misses[n]), ..now }
}

#[test]
fn a_loop_fits_into_a_size_or_it_does_not() {
    for design in DESIGNS {
        let db = database(design, 100);
        let p = testing::attach(db.all, "t");
        let at = loose_blocks(50);
        db.cache.in_group(&p, &scn, &mut |g| at.iter().take(10).try_for_each(|a| make_block(g, *a, 5))).unwrap();
        let mut sim = Simulator::default();
        db.cache.advise(&mut sim, Following::On);
        let mut run = |rounds: usize| {
            for nth in 0..rounds * at.len() {
                get(&db, &p, &mut sim, nth, at[nth % at.len()]);
            }
            db.cache.advise(&mut sim, Following::On);
            db.cache.advice()
        };
        let warm = run(2);
        let added = since(run(10), warm);
        assert_eq!(added.gets, 500, "{design:?}: every block is followed in so small a cache");
        // Forty-nine others are got between two gets of a block.
        let want: [u64; ADVICE_SIZES] = std::array::from_fn(|n| if n < 4 { 500 } else { 0 });
        assert_eq!(added.misses, want, "{design:?}");
        for without in [Following::Off, Following::Ready] {
            let next = db.cache.advise(&mut sim, without);
            let before = db.cache.advice();
            at.iter().for_each(|a| assert_eq!(value(&db, &p, *a, GetKind::Consistent) % 5, 0));
            assert!(next >= std::time::Duration::from_secs(1));
            assert_eq!(db.cache.advice(), before, "{design:?}: nothing is noted while it is {without:?}");
            assert_eq!(db.cache.advise(&mut sim, without), next);
            assert_eq!(db.cache.advice(), before, "{design:?}: nothing is played either");
            // Back on, it begins with the contents of the cache: the first gets are no misses.
            db.cache.advise(&mut sim, Following::On);
            at.iter().for_each(|a| assert_eq!(value(&db, &p, *a, GetKind::Consistent) % 5, 0));
            db.cache.advise(&mut sim, Following::On);
            let added = since(db.cache.advice(), before);
            assert_eq!((added.gets, added.misses[ADVICE_PRESENT]), (50, 0), "{design:?} after {without:?}");
        }
    }
}

#[test]
fn a_sample_of_blocks_tells_what_all_of_them_would() {
    let mut spec = small_database();
    tablespace(&mut spec, USERS).bytes = 1100 * BLOCK as u64;
    let buffers = 512;
    let db = database_of(&spec, buffer_cache::ChainDesign::Versioned, buffers);
    let p = testing::attach(db.all, "t");
    let at = loose_blocks(1000);
    for chunk in at.chunks(10) {
        db.cache.in_group(&p, &scn, &mut |g| chunk.iter().try_for_each(|a| make_block(g, *a, 5))).unwrap();
    }
    let (mut sim, mut random) = (Simulator::default(), Random::new(12));
    db.cache.advise(&mut sim, Following::On);
    let (mut exact, mut misses, mut gets) = (Vec::<usize>::new(), [0u64; ADVICE_SIZES], 0u64);
    let mut before = Reused::default();
    for nth in 0..24_000 {
        let share = random.unit();
        // A few blocks are got often, many seldom.
        let block = ((share * share) * at.len() as f64) as usize;
        get(&db, &p, &mut sim, nth, at[block]);
        let place = exact.iter().rposition(|b| *b == block);
        let distance = place.map(|place| exact.len() - 1 - place);
        if let Some(place) = place {
            exact.remove(place);
        }
        exact.push(block);
        if nth == 4000 {
            db.cache.advise(&mut sim, Following::On);
            before = db.cache.advice();
        }
        if nth > 4000 {
            gets += 1;
            (0..ADVICE_SIZES)
                .filter(|n| distance.is_none_or(|d| d >= buffers * (n + 1) / 10))
                .for_each(|n| misses[n] += 1);
        }
    }
    db.cache.advise(&mut sim, Following::On);
    let added = since(db.cache.advice(), before);
    let share = |misses: u64, gets: u64| misses as f64 / gets as f64;
    for (n, (seen, exact)) in added.misses.iter().zip(&misses).enumerate() {
        let (seen, true_one) = (share(*seen, added.gets), share(*exact, gets));
        assert!((seen - true_one).abs() < 0.06, "{} tenths: {seen:.3}, exactly {true_one:.3}", n + 1);
    }
    assert!(added.misses.is_sorted_by(|a, b| a >= b) && added.misses[ADVICE_PRESENT] > 0);
}
