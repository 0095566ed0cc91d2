//! The entries of log groups in the SGA, and the files that a process has open.

use crate::file::room_of;
use os::blocks::BlockFile;
use os::file::File;
use sga::sga_struct;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

sga_struct! {
    /// One log group.
    pub struct Group {
        /// Its number; 0: the entry is free.
        pub(crate) number: AtomicU64,
        /// The sequence it holds; 0: never used.
        pub(crate) sequence: AtomicU64,
        /// The beginning and the end of its redo; the end is 0 while positions are given out in it.
        pub(crate) start: AtomicU64,
        pub(crate) end: AtomicU64,
        /// Size of the file, its header included.
        pub(crate) bytes: AtomicU64,
        pub(crate) archived: AtomicU64,
        pub(crate) first_scn: AtomicU64,
        pub(crate) first_time: AtomicU64,
        /// Number of files that have had this entry.
        pub(crate) generation: AtomicU64,
        /// The reach in its header: the file may have been written up to this distance from `start`.
        pub(crate) reach: AtomicU64,
        /// 1 while the file is written for the first time.
        pub(crate) fresh: AtomicU64,
        pub(crate) pad: [AtomicU64; 5],
    }
}

/// A log file that this process has open.
pub(crate) struct LogFile {
    /// For reading it and for its header.
    pub file: File,
    /// For its redo.
    pub blocks: BlockFile,
}

/// A file that this process has open, with the generation of its entry.
type Opened = Option<(u64, Arc<LogFile>)>;

/// The group entries, and the files that this process has open.
pub(crate) struct Groups {
    pub(crate) shared: &'static [Group],
    pub(crate) open: Mutex<Vec<Opened>>,
}

impl Groups {
    pub fn new(shared: &'static [Group]) -> Groups {
        Groups { shared, open: Mutex::new(vec![None; shared.len()]) }
    }

    pub fn at(&self, n: usize) -> &'static Group {
        &self.shared[n]
    }

    pub fn all(&self) -> impl Iterator<Item = (usize, &'static Group)> + use<> {
        self.shared.iter().enumerate().filter(|(_, g)| g.number.load(Ordering::Acquire) != 0)
    }

    /// The position up to which there is room in a group.
    pub fn limit(&self, n: usize) -> u64 {
        let g = self.at(n);
        g.start.load(Ordering::Relaxed) + room_of(g.bytes.load(Ordering::Relaxed))
    }

    /// Bytes of redo that fit into every group.
    pub fn smallest_room(&self) -> u64 {
        self.all().map(|(_, g)| room_of(g.bytes.load(Ordering::Relaxed))).min().unwrap_or(0)
    }
}
