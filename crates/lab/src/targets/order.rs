//! The order of a run: rounds, in each round all cells in random order, and for each cell the engines in the order of a
//! Williams square.
//!
//! In a Williams square each engine comes equally often at each position, and equally often behind each other engine:
//! what an engine leaves behind in the caches of the processor meets all others alike. A cell's row of the square moves
//! on by one in each round. An order by chance was rejected: ten rounds are too few for it to be balanced.

use crate::run::shuffle;

/// A measurement: a cell of the run, by an engine that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub round: u32,
    pub cell: usize,
    pub engine: usize,
}

/// A row of the Williams square over `count` engines: their numbers in the order of the row. A square has `count` rows,
/// or twice as many where `count` is odd.
pub fn williams(count: usize, row: usize) -> Vec<usize> {
    if count == 0 {
        return Vec::new();
    }
    // 0, 1, n-1, 2, n-2, ...: the differences between neighbours are all different.
    let first = |at: usize| if at % 2 == 1 { at.div_ceil(2) } else { (count - at / 2) % count };
    let mut out: Vec<usize> = (0..count).map(|at| (first(at) + row) % count).collect();
    if count % 2 == 1 && (row / count) % 2 == 1 {
        out.reverse();
    }
    out
}

/// All measurements in their order. `engines` has for each cell the engines that have it.
pub fn steps(rounds: u32, engines: &[Vec<usize>], seed: u64) -> Vec<Step> {
    let mut out = Vec::new();
    for round in 1..=rounds {
        let mut cells: Vec<usize> = (0..engines.len()).collect();
        shuffle(&mut cells, seed.wrapping_mul(1_000_003).wrapping_add(u64::from(round)));
        for cell in cells {
            let own = &engines[cell];
            let row = round as usize - 1 + cell + seed as usize % 1000;
            out.extend(williams(own.len(), row).into_iter().map(|at| Step { round, cell, engine: own[at] }));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn in_a_williams_square_positions_and_predecessors_are_balanced() {
        for count in 1..=7 {
            let rows = if count % 2 == 0 { count } else { 2 * count };
            let (mut places, mut pairs) = (BTreeMap::new(), BTreeMap::new());
            for row in 0..rows {
                let order = williams(count, row);
                order.iter().enumerate().for_each(|(at, engine)| *places.entry((at, *engine)).or_insert(0) += 1);
                order.windows(2).for_each(|w| *pairs.entry((w[0], w[1])).or_insert(0) += 1);
            }
            assert_eq!(places.len(), count * count);
            assert!(places.values().all(|n| *n == rows / count), "{count}: {places:?}");
            assert_eq!(pairs.len(), count * (count - 1));
            assert!(pairs.values().all(|n| *n == rows / count), "{count}: {pairs:?}");
        }
    }

    #[test]
    fn a_seed_gives_one_order_and_every_measurement_once() {
        let engines = [vec![0, 1, 2], vec![0, 2], vec![1]];
        let of_seed = |seed| steps(10, &engines, seed);
        assert_eq!(of_seed(1), of_seed(1));
        assert_ne!(of_seed(1), of_seed(2));
        let all = of_seed(1);
        assert_eq!(all.len(), 10 * 6);
        for round in 1..=10u32 {
            let mut of_round: Vec<(usize, usize)> =
                all.iter().filter(|s| s.round == round).map(|s| (s.cell, s.engine)).collect();
            of_round.sort_unstable();
            assert_eq!(of_round, [(0, 0), (0, 1), (0, 2), (1, 0), (1, 2), (2, 1)]);
        }
        // Each engine is first equally often.
        let first_of = |round: u32| all.iter().find(|s| s.round == round && s.cell == 1).map(|s| s.engine);
        let firsts = |engine: usize| (1..=10).filter(|round| first_of(*round) == Some(engine)).count();
        assert_eq!((firsts(0), firsts(2)), (5, 5));
    }
}
