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

/// Time limit of a start for programs that read the stopped database.
const READING_LIMIT: Duration = Duration::from_secs(20);

/// A locked database directory.
pub struct Directory {
    dir: PathBuf,
    /// Held for its lock.
    lock: File,
    ephemeral: bool,
    /// This process has made the directory.
    is_made: bool,
    /// It has made it, and there was nothing in it but the lock file when the lock was taken.
    is_new: bool,
}

/// The reason why a directory is not available.
#[derive(Debug)]
pub enum DirectoryError {
    /// Another instance uses it.
    InUse(i32),
    /// Programs read the stopped database: forks.
    Read(PathBuf),
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
            DirectoryError::Read(dir) => write!(
                f,
                "ORA-01081: cannot start already-running ORACLE - shut it down first\nthe database in {} is being copied: repeat the command when the copy is complete",
                dir.display()
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
        if let Some(above) = dir.parent().filter(|above| !above.as_os_str().is_empty()) {
            make_private(above, true).map_err(failed)?;
        }
        let is_made = match make_private(dir, false) {
            Ok(()) => true,
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists && dir.is_dir() => false,
            Err(e) => return Err(failed(e)),
        };
        let dir = dir.canonicalize().map_err(failed)?;
        refuse_foreign(&dir)?;
        close_to_others(&dir)?;
        let locked = Self::lock(dir, false)?;
        let mut there = std::fs::read_dir(&locked.dir).map_err(|e| failed_in(&locked.dir, &e))?;
        let is_new = is_made && there.all(|e| e.is_ok_and(|e| e.file_name() == LOCK_NAME));
        Ok(Directory { is_made, is_new, ..locked })
    }

    /// Creates and locks a new directory under the system's temporary directory.
    pub fn take_temporary() -> Result<Directory, DirectoryError> {
        let base = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|d| d.is_dir());
        let shm = Some(PathBuf::from("/dev/shm")).filter(|d| d.is_dir());
        let base = base.or(shm).unwrap_or_else(std::env::temp_dir);
        remove_unfinished(&base);
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
        let mut lock = File::open(&path, OpenMode::OpenOrCreate)?;
        let started = Instant::now();
        loop {
            if lock.try_lock()? {
                // The holder before may have removed the file.
                if lock.is_in_place()? {
                    break;
                }
                lock = File::open(&path, OpenMode::OpenOrCreate)?;
                continue;
            }
            // Through a descriptor of its own: a lock that this process has kept would keep other starts out.
            let is_read = File::open(&path, OpenMode::Read).and_then(|other| other.try_lock_shared()).unwrap_or(false);
            if is_read && started.elapsed() > READING_LIMIT {
                return Err(DirectoryError::Read(dir));
            }
            // The processes of a killed instance hold the lock until the kernel has freed their memory.
            let holder = read_pid(&lock);
            if !is_read && (lives(holder) || started.elapsed() > DYING_LIMIT) {
                return Err(DirectoryError::InUse(holder));
            }
            os::clock::sleep(Duration::from_millis(5));
        }
        let text = format!("{:>1$}\n", os::process::own_id(), LOCK_LEN - 1);
        lock.write_at(text.as_bytes(), 0)?;
        Ok(Directory { dir, lock, ephemeral, is_made: ephemeral, is_new: ephemeral })
    }

    /// The directory, as an absolute path.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Whether the directory is removed with the instance.
    pub fn is_ephemeral(&self) -> bool {
        self.ephemeral
    }

    /// Whether this process has made the directory and found it empty.
    pub fn is_new(&self) -> bool {
        self.is_new
    }

    /// Removes the directory if this process has made it and it has nothing but the lock file, then releases it.
    pub fn give_up(self) {
        if self.is_made {
            // Other files keep the directory in place, with a lock file that the next program makes again.
            let _ = (os::file::remove(&self.dir.join(LOCK_NAME)), std::fs::remove_dir(&self.dir));
        }
        drop(self.lock);
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

/// Removes the temporary directories of forks that were killed while they were copied.
fn remove_unfinished(base: &Path) {
    let Ok(entries) = std::fs::read_dir(base) else { return };
    for entry in entries.flatten().filter(|e| e.file_name().to_string_lossy().starts_with("latchwork-")) {
        let dir = entry.path();
        if !recovery::is_unfinished(&dir) {
            continue;
        }
        let Ok(lock) = File::open(&dir.join(LOCK_NAME), OpenMode::Read) else { continue };
        // The fork may have been completed before its lock was free.
        if lock.try_lock().unwrap_or(false) && recovery::is_unfinished(&dir) {
            // Files that cannot be removed are left to the system's cleaning of temporary files.
            let _ = recovery::clear_fork(&dir);
            let _ = (os::file::remove(&dir.join(LOCK_NAME)), std::fs::remove_dir(&dir));
        }
    }
}

fn failed_in(dir: &Path, e: &std::io::Error) -> DirectoryError {
    DirectoryError::Io(format!("{}: {e}", dir.display()))
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
    /// No instance runs there, and none starts while this lock lives. Several programs may have it. `None` for a
    /// directory without a lock file, in which no instance has run.
    Stopped(#[allow(dead_code)] Option<File>),
}

/// Keeps instances out of `dir` while no instance runs there.
pub fn read_only(dir: &Path) -> Result<Reading, DirectoryError> {
    let path = dir.join(LOCK_NAME);
    if !os::file::exists(&path) {
        return Ok(Reading::Stopped(None));
    }
    let lock = File::open(&path, OpenMode::Read)?;
    let started = Instant::now();
    loop {
        if lock.try_lock_shared()? {
            return Ok(Reading::Stopped(Some(lock)));
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
        assert!(!again.is_made);
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

    /// The number in the lock file is that of a process that lives and has nothing to do with the readers.
    #[test]
    fn a_start_waits_for_readers_of_the_stopped_database() {
        let place = Directory::take_temporary().unwrap();
        let dir = place.dir().to_path_buf();
        drop(place.lock);
        let reader = read_only(&dir).unwrap();
        let again = std::thread::scope(|scope| {
            let waits = scope.spawn(|| Directory::take(&dir));
            os::clock::sleep(Duration::from_millis(30));
            drop(reader);
            waits.join().unwrap()
        });
        let again = again.unwrap_or_else(|e| panic!("{e}"));
        Directory { ephemeral: true, ..again }.release();
    }

    #[test]
    fn a_directory_without_a_lock_file_is_read_without_a_lock() {
        let place = Directory::take_temporary().unwrap();
        let dir = place.dir().to_path_buf();
        os::file::remove(&dir.join(LOCK_NAME)).unwrap();
        assert!(matches!(read_only(&dir), Ok(Reading::Stopped(None))));
        assert!(!dir.join(LOCK_NAME).exists());
        place.release();
    }

    #[test]
    fn a_directory_is_given_up_by_the_process_that_has_made_it() {
        let base = Directory::take_temporary().unwrap();
        let dir = base.dir().join("a/b");
        Directory::take(&dir).unwrap().give_up();
        assert!(!dir.exists() && dir.parent().unwrap().exists());
        std::fs::create_dir(&dir).unwrap();
        Directory::take(&dir).unwrap().give_up();
        assert!(dir.exists());
        base.release();
    }

    #[test]
    fn directories_of_killed_forks_are_removed_and_those_of_living_ones_stay() {
        let base = Directory::take_temporary().unwrap();
        for name in ["latchwork-1-0", "latchwork-1-1", "latchwork-1-2"] {
            let dir = base.dir().join(name);
            std::fs::create_dir(&dir).unwrap();
            std::fs::write(dir.join(LOCK_NAME), "").unwrap();
            std::fs::write(dir.join("system01.dbf"), "").unwrap();
            std::fs::write(dir.join(recovery::FORK_MARK), "/parent\nsystem01.dbf\n").unwrap();
        }
        let path = |n: u32| base.dir().join(format!("latchwork-1-{n}"));
        (0..2).for_each(|n| std::fs::write(path(n).join(recovery::FORK_UNFINISHED), "").unwrap());
        let living = File::open(&path(1).join(LOCK_NAME), OpenMode::Read).unwrap();
        assert!(living.try_lock().unwrap());
        remove_unfinished(base.dir());
        assert_eq!([0, 1, 2].map(|n| path(n).exists()), [false, true, true]);
        base.release();
    }
}
