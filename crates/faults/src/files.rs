//! The faults of files as `os` asks for them.
//!
//! They are given to `os` when the first of them is armed. Until then a write asks nothing of this crate.

use std::path::Path;

use os::OsResult;
use os::injection::{FileFaults, FileJournal};

use crate::power::Journaled;
use crate::{device, disk, power};

#[derive(Debug)]
struct Files;

/// Lets `os` ask the faults of this crate.
pub(crate) fn inject() {
    os::injection::inject(&Files);
}

impl FileFaults for Files {
    fn before_growth(&self, call: &'static str, path: &Path, from: &dyn Fn() -> u64, to: u64) -> OsResult<()> {
        disk::before_growth(call, path, from, to)
    }

    fn loses(&self, path: &Path) -> bool {
        device::loses(path)
    }

    fn before_sync(&self, path: &Path) -> OsResult<()> {
        device::before_sync(path)
    }

    fn journal(&self) -> Option<&dyn FileJournal> {
        power::is_armed().then_some(&Journaled)
    }
}

#[cfg(test)]
mod tests {
    use os::file::{File, OpenMode};
    use os::process::{self, Ended, Fork};

    use crate::common::{DEVICE_FAILS_FILE, DISK_FULL_FILE};

    use super::*;

    /// Runs `body` in a child with a directory of its own, since a fault stays armed; true when it returns true.
    fn in_child(name: &str, body: impl FnOnce(&Path) -> bool) -> bool {
        let dir = std::env::temp_dir().join(format!("lw-faults-{name}-{}", process::own_id()));
        std::fs::create_dir_all(&dir).unwrap();
        let ended = match process::fork().unwrap() {
            Fork::Child => {
                let held = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| body(&dir))).unwrap_or(false);
                process::exit_now(i32::from(!held))
            }
            Fork::Parent(pid) => process::wait(pid).unwrap(),
        };
        std::fs::remove_dir_all(&dir).unwrap();
        ended == Ended::Exited(0)
    }

    #[test]
    fn a_file_on_a_full_disk_is_overwritten_and_does_not_grow() {
        assert!(in_child("full", |dir| {
            crate::arm_full_disk(dir).unwrap();
            let file = File::open(&dir.join("f"), OpenMode::CreateNew).unwrap();
            file.write_at(&[1; 100], 0).unwrap();
            std::fs::write(dir.join(DISK_FULL_FILE), "").unwrap();
            let full = |result: OsResult<()>| result.is_err_and(|e| e.is_full());
            let refused = [file.write_at(&[2; 2], 99), file.write_list_at(&[&[2], &[2]], 99), file.allocate(101)];
            let none_grew = refused.into_iter().all(full) && file.len_bytes().unwrap() == 100;
            file.write_at(&[3; 100], 0).unwrap();
            std::fs::remove_file(dir.join(DISK_FULL_FILE)).unwrap();
            file.write_at(&[4; 2], 99).unwrap();
            none_grew && file.len_bytes().unwrap() == 101
        }));
    }

    #[test]
    fn a_failing_device_loses_the_writes_of_one_file_and_reports_it_once() {
        assert!(in_child("device", |dir| {
            crate::arm_failing_device(dir).unwrap();
            let open = |name| File::open(&dir.join(name), OpenMode::CreateNew).unwrap();
            let (lost, kept) = (open("lost"), open("kept"));
            std::fs::write(dir.join(DEVICE_FAILS_FILE), "lost\n").unwrap();
            for file in [&lost, &kept] {
                file.write_at(&[1; 10], 0).unwrap();
                file.write_list_at(&[&[2; 5], &[3; 5]], 10).unwrap();
            }
            let lens = (lost.len_bytes().unwrap(), kept.len_bytes().unwrap());
            let reported = kept.sync().is_ok() && lost.sync().is_err() && lost.sync().is_ok();
            lost.write_at(&[1; 10], 0).unwrap();
            lens == (0, 20) && reported && lost.len_bytes().unwrap() == 10
        }));
    }
}
