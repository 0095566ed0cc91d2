//! Folders of tests.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A new, empty folder among the system's temporary files; removed with its contents when the last clone is dropped.
#[derive(Clone, Debug)]
pub struct Folder(Arc<Owned>);

#[derive(Debug)]
struct Owned(PathBuf);

impl Folder {
    /// Makes a folder whose path contains `name`. Every folder has a path of its own.
    ///
    /// # Panics
    /// It cannot be made.
    #[must_use]
    pub fn new(name: &str) -> Folder {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let unique = format!("latchwork-{name}-{}-{}", os::process::own_id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(unique);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a temporary folder");
        Folder(Arc::new(Owned(path)))
    }

    /// Copies its files, not its folders, to a new folder.
    ///
    /// # Panics
    /// A file cannot be copied.
    #[must_use]
    pub fn copy(&self, name: &str) -> Folder {
        let to = Folder::new(name);
        for entry in std::fs::read_dir(self).expect("the folder").flatten().filter(|entry| entry.path().is_file()) {
            std::fs::copy(entry.path(), to.join(entry.file_name())).expect("a copy");
        }
        to
    }
}

impl Deref for Folder {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0.0
    }
}

impl AsRef<Path> for Folder {
    fn as_ref(&self) -> &Path {
        &self.0.0
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::Folder;

    #[test]
    fn folders_are_apart_and_go_with_their_value() {
        let (one, other) = (Folder::new("test"), Folder::new("test"));
        assert_ne!(*one, *other);
        std::fs::write(one.join("f"), "x").unwrap();
        let copy = one.copy("copy");
        assert_eq!(std::fs::read(copy.join("f")).unwrap(), b"x");
        let (path, again) = (one.to_path_buf(), one.clone());
        drop(one);
        assert!(path.exists());
        drop(again);
        assert!(!path.exists() && other.exists() && copy.exists());
    }
}
