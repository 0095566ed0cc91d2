//! Interruptible sorting.

use crate::Result;
use std::cmp::Ordering;

/// Most items sorted or merged between two checks.
const RUN: usize = 1 << 16;

/// Sorts stably and calls `check` between steps that each sort or merge at most 65,536 items. If `check` fails, the
/// items are lost.
///
/// Rejected: a comparison that remembers a cancellation and treats all items as equal from then on. The sort of the
/// standard library may panic on an inconsistent order.
///
/// # Errors
/// Those of `check`.
pub fn sort_checked<T>(
    items: &mut Vec<T>,
    compare: impl Fn(&T, &T) -> Ordering,
    check: &mut dyn FnMut() -> Result<()>,
) -> Result<()> {
    if items.len() <= RUN {
        items.sort_by(compare);
        return Ok(());
    }
    let mut runs = Vec::with_capacity(items.len().div_ceil(RUN));
    let mut rest = std::mem::take(items).into_iter();
    loop {
        let mut run: Vec<T> = rest.by_ref().take(RUN).collect();
        if run.is_empty() {
            break;
        }
        check()?;
        run.sort_by(&compare);
        runs.push(run);
    }
    drop(rest);
    while runs.len() > 1 {
        let mut merged = Vec::with_capacity(runs.len().div_ceil(2));
        let mut pairs = runs.into_iter();
        while let Some(first) = pairs.next() {
            merged.push(match pairs.next() {
                Some(second) => merge(first, second, &compare, check)?,
                None => first,
            });
        }
        runs = merged;
    }
    *items = runs.pop().unwrap_or_default();
    Ok(())
}

fn merge<T>(
    mut first: Vec<T>,
    second: Vec<T>,
    compare: &impl Fn(&T, &T) -> Ordering,
    check: &mut dyn FnMut() -> Result<()>,
) -> Result<Vec<T>> {
    check()?;
    if let (Some(a), Some(b)) = (first.last(), second.first())
        && compare(a, b).is_le()
    {
        first.extend(second);
        return Ok(first);
    }
    let mut merged = Vec::with_capacity(first.len() + second.len());
    let (mut first, mut second) = (first.into_iter(), second.into_iter());
    while let (Some(a), Some(b)) = (first.as_slice().first(), second.as_slice().first()) {
        // The earlier of two equal items comes first.
        let next = if compare(b, a).is_lt() { second.next() } else { first.next() };
        merged.extend(next);
        if merged.len().is_multiple_of(RUN) {
            check()?;
        }
    }
    merged.extend(first);
    merged.extend(second);
    Ok(merged)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ora;
    use std::cell::Cell;
    use testing::Random;

    /// Numbers in random order, each with its position.
    fn items(n: usize, distinct: u64) -> Vec<(u64, usize)> {
        let mut random = Random::new(88);
        (0..n).map(|place| (random.below(distinct), place)).collect()
    }

    fn by_number(a: &(u64, usize), b: &(u64, usize)) -> Ordering {
        a.0.cmp(&b.0)
    }

    #[test]
    fn it_sorts_as_the_standard_library_does() {
        for (n, distinct) in [(0, 9), (1, 9), (RUN, 1000), (RUN + 1, 1000), (5 * RUN + 17, 1000), (3 * RUN, 1 << 60)] {
            let (mut sorted, mut expected) = (items(n, distinct), items(n, distinct));
            sort_checked(&mut sorted, by_number, &mut || Ok(())).unwrap();
            expected.sort_by(by_number);
            assert_eq!(sorted, expected, "{n} items");
        }
    }

    #[test]
    fn the_work_between_two_checks_is_bounded() {
        let (since, most) = (Cell::new(0usize), Cell::new(0usize));
        let compare = |a: &(u64, usize), b: &(u64, usize)| {
            since.set(since.get() + 1);
            most.set(most.get().max(since.get()));
            by_number(a, b)
        };
        let mut check = || {
            since.set(0);
            Ok(())
        };
        sort_checked(&mut items(9 * RUN, 1 << 60), compare, &mut check).unwrap();
        assert!(most.get() <= RUN * 20, "{} comparisons without a check", most.get());
    }

    #[test]
    fn a_check_that_fails_ends_it() {
        for fails_at in [1, 5, 9, 12, 20] {
            let mut calls = 0;
            let mut check = || {
                calls += 1;
                if calls == fails_at { Err(Ora::new(1013)) } else { Ok(()) }
            };
            let ended = sort_checked(&mut items(8 * RUN, 1 << 60), by_number, &mut check);
            assert!(ended.unwrap_err().is(1013));
            assert_eq!(calls, fails_at);
        }
    }
}
