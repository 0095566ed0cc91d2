//! Writes that a process starts together and then waits for: `io_uring`.
//!
//! A ring belongs to the process that made it and must not be used by its children. Writes come from private memory of
//! the process, never from shared memory, so the kernel may still be writing when the process is killed: the pages stay
//! until the write has ended.
//!
//! **Death with writes in flight.** The kernel ends a killed process before the device has ended its writes: a late
//! write could overwrite what another process has written to the same place since. The kernel keeps the open file
//! description of a write until the write has ended. So each [`RingFile`] is a description of its own, which no other
//! process has, with a lock on a byte of the file that stands for its process. The lock goes with the description.
//! [`File::is_being_written`](crate::file::File::is_being_written) asks for such locks; the process that continues the
//! work of a dead one waits for them first. (`io_submit` waits at the exit of its process; `io_uring` does not.)

use std::fs::File as StdFile;
use std::os::fd::AsRawFd;
use std::path::PathBuf;

use io_uring::{IoUring, opcode, types};

use crate::{OsError, OsResult};

/// The most writes in flight.
const ENTRIES: usize = 128;

/// A file of one process for its ring: see [`File::for_ring`](crate::file::File::for_ring).
#[derive(Debug)]
pub struct RingFile {
    inner: StdFile,
    path: PathBuf,
    /// Bytes written begin at a multiple of this in memory.
    memory: usize,
}

impl RingFile {
    /// Wraps an open file description that belongs to this process alone and has its lock.
    pub(crate) fn of(inner: StdFile, path: PathBuf, memory: usize) -> Self {
        Self { inner, path, memory }
    }

    /// Whether these bytes lie in memory so that they can be written.
    #[must_use]
    pub fn takes(&self, bytes: &[u8]) -> bool {
        bytes.as_ptr().addr().is_multiple_of(self.memory)
    }
}

/// One write of a list.
#[derive(Clone, Copy, Debug)]
pub struct RingWrite<'a> {
    /// The file.
    pub file: &'a RingFile,
    /// The bytes: see [`RingFile::takes`].
    pub bytes: &'a [u8],
    /// The place in the file.
    pub position: u64,
}

/// A ring of this process.
pub struct Ring {
    ring: IoUring,
}

impl Ring {
    /// A ring of this process.
    ///
    /// # Errors
    /// The kernel, its settings or the container have no `io_uring`, or none with writes.
    pub fn new() -> OsResult<Self> {
        let failed = |e| OsError::from_io("io_uring_setup", "", e);
        // The memory of the ring does not exist in a child.
        let ring = IoUring::builder().dontfork().build(ENTRIES as u32).map_err(failed)?;
        let mut probe = io_uring::Probe::new();
        ring.submitter().register_probe(&mut probe).map_err(failed)?;
        if !probe.is_supported(opcode::Write::CODE) {
            return Err(OsError::from_errno("io_uring_register", "IORING_OP_WRITE", libc::ENOSYS));
        }
        Ok(Self { ring })
    }

    /// Writes all of a list; the result has one entry for each write, in order. `submitted` is called once, when as
    /// many as possible have begun. No write of the list is in flight any more when the function returns.
    pub fn write_all(&mut self, writes: &[RingWrite<'_>], submitted: &mut dyn FnMut()) -> Vec<OsResult<()>> {
        let mut results: Vec<OsResult<()>> = writes.iter().map(|_| Ok(())).collect();
        let mut written = vec![0; writes.len()];
        // The last entry of the vector begins first.
        let is_made = |w: &RingWrite<'_>| !w.bytes.is_empty() && !crate::injection::loses(&w.file.path);
        let mut waiting: Vec<usize> = (0..writes.len()).rev().filter(|n| is_made(&writes[*n])).collect();
        let mut flight = Flight { ring: &mut self.ring, writes: 0 };
        let mut submitted = Some(submitted);
        while flight.writes > 0 || !waiting.is_empty() {
            while flight.writes < ENTRIES
                && let Some(n) = waiting.pop()
            {
                flight.begin(n, &writes[n], written[n]);
            }
            if let Some(submitted) = submitted.take() {
                flight.enter(0);
                submitted();
            }
            flight.enter(1);
            while let Some((n, result)) = flight.ended() {
                let write = &writes[n];
                match result {
                    Ok(bytes) if bytes > 0 && written[n] + bytes < write.bytes.len() => {
                        written[n] += bytes;
                        waiting.push(n);
                    }
                    Ok(bytes) if bytes > 0 => {}
                    Ok(_) => results[n] = Err(write.failed(libc::EIO)),
                    Err(libc::EINTR | libc::EAGAIN) => waiting.push(n),
                    Err(errno) => results[n] = Err(write.failed(errno)),
                }
            }
        }
        results
    }
}

impl RingWrite<'_> {
    fn failed(&self, errno: i32) -> OsError {
        let what = format!("{}, {} bytes at {}", self.file.path.display(), self.bytes.len(), self.position);
        OsError::from_errno("io_uring write", what, errno)
    }
}

/// The writes in flight. Dropping it waits for them: the kernel reads memory that its owner may use again afterwards.
struct Flight<'a> {
    ring: &'a mut IoUring,
    writes: usize,
}

impl Flight<'_> {
    /// Puts the rest of a write behind its first `done` bytes into the queue of the ring.
    fn begin(&mut self, n: usize, write: &RingWrite<'_>, done: usize) {
        let rest = &write.bytes[done..];
        // The kernel takes 32 bits; a longer write goes on as one that was cut short.
        let len = u32::try_from(rest.len()).unwrap_or(1 << 30);
        let entry = opcode::Write::new(types::Fd(write.file.inner.as_raw_fd()), rest.as_ptr(), len)
            .offset(write.position + done as u64)
            .build()
            .user_data(n as u64);
        // SAFETY: the descriptor and the bytes are borrowed by the caller of `write_all`, which does not return, and
        // does not unwind, before the write has ended: see `drop`.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        assert!(pushed.is_ok(), "the queue has room for all writes in flight");
        self.writes += 1;
    }

    /// Passes the queue to the kernel, and waits until `ended` writes have ended.
    fn enter(&mut self, ended: usize) {
        loop {
            match self.ring.submit_and_wait(ended).map_err(|e| e.raw_os_error().unwrap_or(0)) {
                Ok(_) if self.ring.submission().is_empty() => return,
                // The kernel is short of memory, or wants ended writes to be taken first.
                Ok(_) | Err(libc::EBUSY) if !self.ring.completion().is_empty() => return,
                Ok(_) | Err(libc::EBUSY | libc::EAGAIN | libc::ENOMEM) => {
                    crate::clock::sleep(std::time::Duration::from_millis(1));
                }
                Err(libc::EINTR) => {}
                // It is unknown what the kernel still does with memory of this process.
                Err(errno) => {
                    eprintln!("io_uring_enter: {}", std::io::Error::from_raw_os_error(errno));
                    std::process::abort();
                }
            }
        }
    }

    /// A write that has ended: its number, and the bytes written or the error number.
    fn ended(&mut self) -> Option<(usize, Result<usize, i32>)> {
        let entry = self.ring.completion().next()?;
        self.writes -= 1;
        Some((entry.user_data() as usize, usize::try_from(entry.result()).map_err(|_| -entry.result())))
    }
}

impl Drop for Flight<'_> {
    fn drop(&mut self) {
        while self.writes > 0 {
            self.enter(1);
            while self.ended().is_some() {}
        }
    }
}

impl std::fmt::Debug for Ring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ring").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::{File, OpenMode};
    use crate::process::{Ended, Fork};

    fn folder(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("lw-os-ring-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        dir
    }

    /// `None` where the kernel refuses rings: the fallback is tested where it is used.
    fn ring() -> Option<Ring> {
        Ring::new().ok()
    }

    #[test]
    fn more_writes_than_the_ring_has_room_for_are_all_written() {
        let Some(mut ring) = ring() else { return };
        let dir = folder("many");
        let file = File::open(&dir.join("f"), OpenMode::CreateNew).unwrap();
        let own = file.for_ring(7).unwrap();
        let bytes: Vec<u8> = (0..300u64 * 100).map(|n| n as u8).collect();
        for _ in 0..2 {
            let writes: Vec<RingWrite<'_>> = bytes
                .chunks(100)
                .enumerate()
                .map(|(n, bytes)| RingWrite { file: &own, bytes, position: n as u64 * 100 })
                .collect();
            let mut calls = 0;
            let results = ring.write_all(&writes, &mut || calls += 1);
            assert!(results.len() == 300 && results.iter().all(Result::is_ok) && calls == 1);
            let mut seen = vec![0; bytes.len()];
            file.read_at(&mut seen, 0).unwrap();
            assert_eq!(seen, bytes);
        }
        std::fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn a_write_cut_short_goes_on_and_each_failure_is_that_of_its_write() {
        const LIMIT: u64 = 64 << 10;
        if ring().is_none() {
            return;
        }
        let dir = folder("short");
        // A limit of the size of files cuts a write short, and the write of the rest fails.
        let child = match crate::process::fork().unwrap() {
            Fork::Parent(child) => child,
            Fork::Child => {
                let limit = rustix::process::Rlimit { current: Some(LIMIT), maximum: Some(LIMIT) };
                rustix::process::setrlimit(rustix::process::Resource::Fsize, limit).unwrap();
                crate::signal::ignore(libc::SIGXFSZ);
                let file = File::open(&dir.join("f"), OpenMode::CreateNew).unwrap();
                let own = file.for_ring(7).unwrap();
                let bytes = vec![5; 8192];
                let at = |position| RingWrite { file: &own, bytes: &bytes, position };
                let results = ring().unwrap().write_all(&[at(0), at(LIMIT - 4096), at(8192)], &mut || ());
                let errors: Vec<i32> = results.iter().map(|r| r.as_ref().err().map_or(0, OsError::errno)).collect();
                crate::process::exit_now(i32::from(errors != [0, libc::EFBIG, 0]))
            }
        };
        assert_eq!(crate::process::wait(child), Some(Ended::Exited(0)));
        let seen = std::fs::read(dir.join("f")).unwrap();
        assert_eq!((seen.len() as u64, &seen[..16384]), (LIMIT, &[5; 16384][..]), "the first half of the second write");
        assert_eq!(seen[LIMIT as usize - 4096..], [5; 4096]);
        std::fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn the_lock_of_a_process_lasts_as_long_as_its_description() {
        let dir = folder("lock");
        let file = File::open(&dir.join("f"), OpenMode::CreateNew).unwrap();
        let own = file.for_ring(3).unwrap();
        assert!(file.for_ring(3).is_err(), "one description a process");
        // Another reference to the description, as the kernel has one for a write.
        let of_kernel = own.inner.try_clone().unwrap();
        drop(own);
        assert!(file.is_being_written(3..4).unwrap() && file.is_being_written(0..u64::MAX).unwrap());
        assert!(!file.is_being_written(4..u64::MAX).unwrap() && !file.is_being_written(0..3).unwrap());
        let other = file.for_ring(4).unwrap();
        drop(of_kernel);
        // A child that another test has just forked may have copies.
        let is_free = |n| {
            crate::clock::sleep(std::time::Duration::from_millis(n));
            !file.is_being_written(3..4).unwrap()
        };
        assert!((0..100).any(is_free));
        assert!(file.is_being_written(4..5).unwrap());
        drop(other);
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
