//! Sweeps: independent work on threads, and shares of it for other machines.

use std::fmt;
use std::str::FromStr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::Error;

/// One of `of` shares of a sweep, as a launcher gives them out: `--shard 2/8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// From 1.
    pub number: u32,
    /// Shares in all.
    pub of: u32,
}

impl Shard {
    /// Everything.
    pub const WHOLE: Self = Self { number: 1, of: 1 };

    /// Whether the piece of work of this index, from 0, belongs to the share.
    #[must_use]
    pub fn has(self, index: usize) -> bool {
        index % self.of as usize == self.number as usize - 1
    }
}

impl FromStr for Shard {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let parts = text.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
        match parts {
            Some((number, of)) if 1 <= number && number <= of && of <= 1_000_000 => Ok(Self { number, of }),
            _ => Err(Error::new(format!("shard '{text}': expected i/n with i in 1 to n"))),
        }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

/// Runs `work` for 0 to `len - 1` on up to `threads` threads; the results are in the order of the indices, whatever
/// thread computed them.
pub fn in_parallel<T: Send>(len: usize, threads: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let threads = threads.clamp(1, len.max(1));
    if threads == 1 {
        return (0..len).map(work).collect();
    }
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(len)));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed); // no data is passed by it
                    if index >= len {
                        return;
                    }
                    let result = work(index);
                    done.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((index, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_divide_the_work_without_rest_or_overlap() {
        for of in 1..7 {
            for index in 0..50 {
                let having = (1..=of).filter(|number| Shard { number: *number, of }.has(index)).count();
                assert_eq!(having, 1, "{index} of {of}");
            }
        }
        assert_eq!("2/8".parse::<Shard>().unwrap(), Shard { number: 2, of: 8 });
        assert_eq!(Shard::WHOLE.to_string(), "1/1");
        for text in ["", "3", "0/2", "3/2", "1/0", "a/b", "1/2/3", "-1/2"] {
            assert!(text.parse::<Shard>().unwrap_err().to_string().contains(&format!("'{text}'")));
        }
    }

    #[test]
    fn results_are_in_order_whatever_the_threads() {
        for threads in [1, 2, 5, 100] {
            assert_eq!(in_parallel(37, threads, |n| n * n), (0..37).map(|n| n * n).collect::<Vec<_>>());
        }
        assert!(in_parallel(0, 4, |n| n).is_empty());
    }
}
