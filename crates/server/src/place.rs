//! The database directory: who owns it, and the throw-away kind.
//!
//! The lock file carries the supervisor's process id. Its lock, which the kernel drops with the last process of the
//! instance that holds it, says whether an instance lives here; the number alone would lie after a crash.

use os::OsError;
use os::file::{File, OpenMode};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The lock file's name.
const LOCK_NAME: &str = "latchwork.pid";

/// Bytes of the lock file: the process id, right-aligned, and a line end.
const LOCK_LEN: usize = 12;

/// How long a start waits for the processes of a killed instance to be gone.
const DYING_LIMIT: Duration = Duration::from_secs(10);

/// A locked database directory.
pub struct Place {
    dir: PathBuf,
    /// Held for its lock.
    lock: File,
    ephemeral: bool,
}

/// Why a directory could not be had.
#[derive(Debug)]
pub enum PlaceError {
    /// Another instance has it.
    InUse(i32),
    Os(OsError),
    Io(String),
}

impl std::fmt::Display for PlaceError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            PlaceError::InUse(pid) => write!(
                f,
                "ORA-01081: cannot start already-running ORACLE - shut it down first\nprocess {pid} has the directory"
            ),
            PlaceError::Os(e) => write!(f, "ORA-01565: error in identifying file\n{e}"),
            PlaceError::Io(e) => write!(f, "ORA-01565: error in identifying file\n{e}"),
        }
    }
}

impl From<OsError> for PlaceError {
    fn from(e: OsError) -> Self {
        PlaceError::Os(e)
    }
}

impl Place {
    /// Takes `dir`, making it when it is missing.
    pub fn take(dir: &Path) -> Result<Place, PlaceError> {
        std::fs::create_dir_all(dir).map_err(|e| PlaceError::Io(format!("{}: {e}", dir.display())))?;
        let dir = dir.canonicalize().map_err(|e| PlaceError::Io(format!("{}: {e}", dir.display())))?;
        Self::lock(dir, false)
    }

    /// Makes and takes a new directory under the system's temporary directory.
    pub fn take_temporary() -> Result<Place, PlaceError> {
        let base = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|d| d.is_dir());
        let shm = Some(PathBuf::from("/dev/shm")).filter(|d| d.is_dir());
        let base = base.or(shm).unwrap_or_else(std::env::temp_dir);
        for n in 0..1000 {
            let dir = base.join(format!("latchwork-{}-{n}", os::process::own_id()));
            match make_private(&dir) {
                Ok(()) => return Self::lock(dir, true),
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(PlaceError::Io(format!("{}: {e}", dir.display()))),
            }
        }
        Err(PlaceError::Io(format!("{}: no free name", base.display())))
    }

    fn lock(dir: PathBuf, ephemeral: bool) -> Result<Place, PlaceError> {
        let path = dir.join(LOCK_NAME);
        let lock = File::open(&path, OpenMode::OpenOrCreate)?;
        let started = Instant::now();
        while !lock.try_lock()? {
            // The processes of a killed instance hold the lock until the kernel has taken their memory apart.
            let holder = read_pid(&lock);
            if lives(holder) || started.elapsed() > DYING_LIMIT {
                return Err(PlaceError::InUse(holder));
            }
            os::clock::sleep(Duration::from_millis(5));
        }
        let text = format!("{:>1$}\n", os::process::own_id(), LOCK_LEN - 1);
        lock.write_at(text.as_bytes(), 0)?;
        Ok(Place { dir, lock, ephemeral })
    }

    /// The directory, as an absolute path.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Whether the directory goes away with the instance.
    pub fn is_ephemeral(&self) -> bool {
        self.ephemeral
    }

    /// Gives the directory back: removes a temporary one.
    pub fn release(self) {
        if self.ephemeral {
            // What cannot be removed is left to the system's cleaning of temporary files.
            let _ = std::fs::remove_dir_all(&self.dir);
        }
        drop(self.lock);
    }
}

fn make_private(dir: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new().mode(0o700).create(dir)
}

fn read_pid(lock: &File) -> i32 {
    let mut text = [0; LOCK_LEN];
    let len = lock.read_some_at(&mut text, 0).unwrap_or(0);
    String::from_utf8_lossy(&text[..len]).trim().parse().unwrap_or(0)
}

/// Whether the process runs; one that is being taken apart has no command line any more.
fn lives(pid: i32) -> bool {
    std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| !line.is_empty())
}

/// The supervisor's process id of the instance that lives in `dir`; `None` when none does.
pub fn running(dir: &Path) -> Result<Option<i32>, PlaceError> {
    let path = dir.join(LOCK_NAME);
    if !path.is_file() {
        return Ok(None);
    }
    let lock = File::open(&path, OpenMode::Read)?;
    if lock.try_lock()? {
        return Ok(None);
    }
    Ok(Some(read_pid(&lock)).filter(|p| *p > 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_has_one_owner_and_a_temporary_one_goes_away() {
        let place = Place::take_temporary().unwrap();
        let dir = place.dir().to_path_buf();
        // The lock belongs to the open file, so a second open of this process is as foreign as another process's.
        assert!(matches!(Place::take(&dir), Err(PlaceError::InUse(p)) if p == os::process::own_id()));
        assert_eq!(running(&dir).unwrap(), Some(os::process::own_id()));
        // The holder of the lock that is written there is gone: its lock is waited for.
        place.lock.write_at(format!("{:>1$}\n", i32::MAX, LOCK_LEN - 1).as_bytes(), 0).unwrap();
        let again = std::thread::scope(|scope| {
            let waits = scope.spawn(|| Place::take(&dir));
            os::clock::sleep(Duration::from_millis(30));
            drop(place.lock);
            waits.join().unwrap().unwrap()
        });
        let place = Place { ephemeral: true, ..again };
        place.release();
        assert!(!dir.exists());
        assert_eq!(running(&dir).unwrap(), None);
    }
}
