//! The designs of a word, and the names by which they are asked for.

use crate::error::Error;

/// The sleep of a process whose spin for a latch was in vain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sleep {
    /// Up to 8i: sleep for 10, 10, 20, 20, 40, … ms up to a limit, spin again, sleep again. The releaser posts no one.
    BackOff {
        /// The longest sleep in milliseconds (`_max_exponential_sleep`).
        longest_ms: u32,
    },
    /// 9.2 and later: join the list, sleep until posted, try once, sleep again. The first in the list is posted.
    Post,
}

/// The wait of a process whose spin for a mutex was in vain (`_mutex_wait_scheme`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// 0: yield; after 99 yields sleep for 1 ms.
    Yield,
    /// 1: sleep for a fixed time.
    Fixed {
        /// `_mutex_wait_time` in milliseconds.
        ms: u32,
    },
    /// 2: yield twice, then sleep for 1, 2, 4, … ms up to a limit.
    Exponential {
        /// The longest sleep in milliseconds.
        longest_ms: u32,
    },
}

/// How the processes get a word, and how they wait for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Design {
    /// A latch without shared gets.
    Exclusive {
        /// Looks at the word before the process sleeps.
        spins: u32,
        /// The sleep algorithm.
        sleep: Sleep,
    },
    /// A latch with shared gets: a count, an exclusive holder and a mark that keeps new shared holders out. A shared
    /// get that meets an exclusive holder or the mark sleeps at once; an exclusive get spins.
    Shared {
        /// Looks of an exclusive get (twice `_spin_count`).
        spins: u32,
    },
    /// A mutex inside the object: spin, wait for a time, spin again; no list, no post.
    Mutex {
        /// `_mutex_spin_count`.
        spins: u32,
        /// The wait.
        scheme: Scheme,
    },
    /// Copies of the object, each with its mutex. A reader gets the one of its session, a writer all in turn.
    HotCopies {
        /// The number of copies.
        copies: u32,
        /// `_mutex_spin_count`.
        spins: u32,
        /// The wait.
        scheme: Scheme,
    },
    /// Latchwork's versioned read: version, data, version; a read that a writer disturbed is repeated, and after
    /// `tries` repeats the latch is got shared. Writers get the latch exclusively.
    Versioned {
        /// Repeats before the latch is got.
        tries: u32,
        /// Looks of an exclusive get, and looks at an odd version.
        spins: u32,
    },
}

impl Design {
    /// The latch of 8i.
    pub const LATCH_8I: Self = Self::Exclusive { spins: 2_000, sleep: Sleep::BackOff { longest_ms: 2_000 } };
    /// The exclusive latch of 9.2 and later.
    pub const EXCLUSIVE: Self = Self::Exclusive { spins: 20_000, sleep: Sleep::Post };
    /// The shared latch of 9.2 and later.
    pub const SHARED: Self = Self::Shared { spins: 4_000 };
    /// The mutex with scheme 2.
    pub const MUTEX: Self = Self::Mutex { spins: 255, scheme: Scheme::Exponential { longest_ms: 10 } };
    /// The versioned read.
    pub const VERSIONED: Self = Self::Versioned { tries: 8, spins: 4_000 };

    /// The names that [`Design::named`] takes.
    pub const NAMES: &'static str =
        "latch-8i, exclusive, shared, mutex-0, mutex-1, mutex-2 (or mutex), hot-copies-K, versioned";

    /// The design of this name.
    ///
    /// # Errors
    /// The names there are, when there is none of this name.
    pub fn named(name: &str) -> Result<Self, Error> {
        let unknown = || Error::new(format!("there is no design '{name}'; the designs are {}", Self::NAMES));
        Ok(match name {
            "latch-8i" => Self::LATCH_8I,
            "exclusive" => Self::EXCLUSIVE,
            "shared" => Self::SHARED,
            "mutex-0" => Self::Mutex { spins: 255, scheme: Scheme::Yield },
            "mutex-1" => Self::Mutex { spins: 255, scheme: Scheme::Fixed { ms: 10 } },
            "mutex" | "mutex-2" => Self::MUTEX,
            "versioned" => Self::VERSIONED,
            _ => {
                let copies = name.strip_prefix("hot-copies-").and_then(|k| k.parse().ok()).ok_or_else(unknown)?;
                if !(1..=1024).contains(&copies) {
                    return Err(Error::new(format!("design '{name}': copies are 1 to 1024")));
                }
                Self::HotCopies { copies, spins: 255, scheme: Scheme::Exponential { longest_ms: 10 } }
            }
        })
    }

    /// The hand-over curve of a machine that this design uses.
    #[must_use]
    pub fn curve(self) -> &'static str {
        match self {
            Self::Exclusive { .. } => "exclusive",
            Self::Shared { .. } | Self::Versioned { .. } => "shared",
            Self::Mutex { .. } | Self::HotCopies { .. } => "mutex",
        }
    }

    /// The words of an object.
    pub(crate) fn words(self) -> u32 {
        match self {
            Self::HotCopies { copies, .. } => copies.max(1),
            _ => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_name_is_a_design_and_others_are_refused() {
        for name in ["latch-8i", "exclusive", "shared", "mutex-0", "mutex-1", "mutex-2", "mutex", "versioned"] {
            assert!(Design::named(name).is_ok(), "{name}");
        }
        assert_eq!(Design::named("hot-copies-8").unwrap().words(), 8);
        for name in ["hot-copies-0", "hot-copies-1025", "hot-copies-x", "ticket", ""] {
            let error = Design::named(name).unwrap_err().to_string();
            assert!(error.contains(&format!("'{name}'")), "{error}");
        }
    }
}
