//! The database directory: its lock, and throw-away directories.
//!
//! The lock file has the supervisor's process id. The lock, which the kernel releases with the last process of the
//! instance that holds it, shows whether an instance lives here (invariant 4); the number alone would be wrong after a
//! crash.

use os::OsError;
use os::file::{File, OpenMode};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The folder of the listener's certificate below the database directory, unless `wallet_root` names another one. It
/// may be created before the database.
pub(crate) const WALLET_NAME: &str = "wallet";

/// The lock file's name.
const LOCK_NAME: &str = "latchwork.pid";

/// Bytes of the lock file: the process id, right-aligned, and a line end.
const LOCK_LEN: usize = 12;

/// Time limit of a start for the processes of a killed instance to end.
const DYING_LIMIT: Duration = Duration::from_secs(10);

/// A locked database directory.
pub struct Directory {
    dir: PathBuf,
    /// Held for its lock.
    lock: File,
    ephemeral: bool,
}

/// The reason why a directory is not available.
#[derive(Debug)]
pub enum DirectoryError {
    /// Another instance uses it.
    InUse(i32),
    Os(OsError),
    Io(String),
    /// It has files that are not of a database.
    Foreign(String),
}

impl std::fmt::Display for DirectoryError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            DirectoryError::InUse(pid) => write!(
                f,
                "ORA-01081: cannot start already-running ORACLE - shut it down first\nprocess {pid} uses the directory"
            ),
            DirectoryError::Os(e) => write!(f, "ORA-01565: error in identifying file\n{e}"),
            DirectoryError::Io(e) => write!(f, "ORA-01565: error in identifying file\n{e}"),
            DirectoryError::Foreign(e) => write!(f, "ORA-01501: CREATE DATABASE failed\n{e}"),
        }
    }
}

impl From<OsError> for DirectoryError {
    fn from(e: OsError) -> Self {
        DirectoryError::Os(e)
    }
}

impl Directory {
    /// Locks `dir`, creating it if necessary.
    pub fn take(dir: &Path) -> Result<Directory, DirectoryError> {
        let failed = |e: std::io::Error| DirectoryError::Io(format!("{}: {e}", dir.display()));
        make_private(dir, true).map_err(failed)?;
        let dir = dir.canonicalize().map_err(failed)?;
        refuse_foreign(&dir)?;
        close_to_others(&dir)?;
        Self::lock(dir, false)
    }

    /// Creates and locks a new directory under the system's temporary directory.
    pub fn take_temporary() -> Result<Directory, DirectoryError> {
        let base = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|d| d.is_dir());
        let shm = Some(PathBuf::from("/dev/shm")).filter(|d| d.is_dir());
        let base = base.or(shm).unwrap_or_else(std::env::temp_dir);
        for n in 0..1000 {
            let dir = base.join(format!("latchwork-{}-{n}", os::process::own_id()));
            match make_private(&dir, false) {
                Ok(()) => return Self::lock(dir, true),
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(DirectoryError::Io(format!("{}: {e}", dir.display()))),
            }
        }
        Err(DirectoryError::Io(format!("{}: no free name", base.display())))
    }

    fn lock(dir: PathBuf, ephemeral: bool) -> Result<Directory, DirectoryError> {
        let path = dir.join(LOCK_NAME);
        let lock = File::open(&path, OpenMode::OpenOrCreate)?;
        let started = Instant::now();
        while !lock.try_lock()? {
            // The processes of a killed instance hold the lock until the kernel has freed their memory.
            let holder = read_pid(&lock);
            if lives(holder) || started.elapsed() > DYING_LIMIT {
                return Err(DirectoryError::InUse(holder));
            }
            os::clock::sleep(Duration::from_millis(5));
        }
        let text = format!("{:>1$}\n", os::process::own_id(), LOCK_LEN - 1);
        lock.write_at(text.as_bytes(), 0)?;
        Ok(Directory { dir, lock, ephemeral })
    }

    /// The directory, as an absolute path.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Whether the directory is removed with the instance.
    pub fn is_ephemeral(&self) -> bool {
        self.ephemeral
    }

    /// Releases the directory; removes a temporary one.
    pub fn release(self) {
        if self.ephemeral {
            // Files that cannot be removed are left to the system's cleaning of temporary files.
            let _ = std::fs::remove_dir_all(&self.dir);
        }
        drop(self.lock);
    }
}

fn make_private(dir: &Path, recursive: bool) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new().mode(0o700).recursive(recursive).create(dir)
}

/// Names that only a database directory has; the parameter file marks a directory with other files for a new database.
const OWN_NAMES: [&str; 2] = [LOCK_NAME, "init.ora"];

/// Refuses a directory that has files but no database: its name is probably a typing error.
fn refuse_foreign(dir: &Path) -> Result<(), DirectoryError> {
    let failed = |e: std::io::Error| DirectoryError::Io(format!("{}: {e}", dir.display()));
    let mut foreign: Option<String> = None;
    for entry in std::fs::read_dir(dir).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name().to_string_lossy().into_owned();
        if OWN_NAMES.contains(&name.as_str()) || instance::DATABASE_NAMES.contains(&name.as_str()) {
            return Ok(());
        }
        let counts =
            !name.starts_with('.') && name != "lost+found" && name != crate::ALERT_LOG_NAME && name != WALLET_NAME;
        if counts && foreign.as_ref().is_none_or(|first| name < *first) {
            foreign = Some(name);
        }
    }
    let Some(name) = foreign else { return Ok(()) };
    Err(DirectoryError::Foreign(format!(
        "{}: the directory has no database and is not empty: it contains '{name}'. Choose an empty or a new directory, or put \
         a file init.ora into this one",
        dir.display()
    )))
}

/// Removes all permissions except the owner's: other users must neither read nor replace data, redo and traces.
fn close_to_others(dir: &Path) -> Result<(), DirectoryError> {
    use std::os::unix::fs::PermissionsExt;
    let failed = |e: std::io::Error| DirectoryError::Io(format!("{}: {e}", dir.display()));
    let mode = std::fs::metadata(dir).map_err(failed)?.permissions().mode();
    if mode & 0o077 == 0 {
        return Ok(());
    }
    std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o700)).map_err(|e| {
        let text =
            "other users can access the directory, and its mode cannot be changed: set it to 0700, or choose another";
        DirectoryError::Io(format!("{}: {text} ({e})", dir.display()))
    })
}

fn read_pid(lock: &File) -> i32 {
    let mut text = [0; LOCK_LEN];
    let len = lock.read_some_at(&mut text, 0).unwrap_or(0);
    String::from_utf8_lossy(&text[..len]).trim().parse().unwrap_or(0)
}

/// Whether the process runs; a process that is being dismantled has no command line any more.
fn lives(pid: i32) -> bool {
    std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| !line.is_empty())
}

/// The state of a database directory that is only read.
pub enum Reading {
    /// An instance runs there.
    Open,
    /// No instance runs there, and none starts while this lock lives. Several programs may have it.
    Stopped(#[allow(dead_code)] File),
}

/// Keeps instances out of `dir` while no instance runs there.
pub fn read_only(dir: &Path) -> Result<Reading, DirectoryError> {
    let lock = File::open(&dir.join(LOCK_NAME), OpenMode::OpenOrCreate)?;
    let started = Instant::now();
    loop {
        if lock.try_lock_shared()? {
            return Ok(Reading::Stopped(lock));
        }
        // A program that only looks takes the lock for a moment; the number is then of an earlier instance.
        if lives(read_pid(&lock)) || started.elapsed() > DYING_LIMIT {
            return Ok(Reading::Open);
        }
        os::clock::sleep(Duration::from_millis(1));
    }
}

/// The supervisor's process id of the instance in `dir`; `None` without an instance.
pub fn running(dir: &Path) -> Result<Option<i32>, DirectoryError> {
    let path = dir.join(LOCK_NAME);
    if !path.is_file() {
        return Ok(None);
    }
    let lock = File::open(&path, OpenMode::Read)?;
    // Readers of a stopped database have the lock together.
    if lock.try_lock_shared()? {
        return Ok(None);
    }
    Ok(Some(read_pid(&lock)).filter(|p| *p > 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_has_one_owner_and_a_temporary_one_is_removed() {
        let place = Directory::take_temporary().unwrap();
        let dir = place.dir().to_path_buf();
        // The lock belongs to the open file, so a second open by this process conflicts like one by another process.
        assert!(matches!(Directory::take(&dir), Err(DirectoryError::InUse(p)) if p == os::process::own_id()));
        assert_eq!(running(&dir).unwrap(), Some(os::process::own_id()));
        // The process in the lock file is gone: the start waits for its lock.
        place.lock.write_at(format!("{:>1$}\n", i32::MAX, LOCK_LEN - 1).as_bytes(), 0).unwrap();
        let again = std::thread::scope(|scope| {
            let waits = scope.spawn(|| Directory::take(&dir));
            os::clock::sleep(Duration::from_millis(30));
            drop(place.lock);
            waits.join().unwrap().unwrap()
        });
        let place = Directory { ephemeral: true, ..again };
        place.release();
        assert!(!dir.exists());
        assert_eq!(running(&dir).unwrap(), None);
    }

    #[test]
    fn readers_of_a_stopped_database_keep_instances_out_together() {
        let place = Directory::take_temporary().unwrap();
        let dir = place.dir().to_path_buf();
        assert!(matches!(read_only(&dir), Ok(Reading::Open)));
        drop(place.lock);
        let readers = [read_only(&dir), read_only(&dir)];
        assert!(readers.iter().all(|reader| matches!(reader, Ok(Reading::Stopped(_)))));
        assert_eq!(running(&dir).unwrap(), None);
        let lock = File::open(&dir.join(LOCK_NAME), OpenMode::Read).unwrap();
        assert!(!lock.try_lock().unwrap());
        drop(readers);
        assert!(lock.try_lock().unwrap());
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
