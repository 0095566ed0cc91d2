//! Files that users read and write through SQL.
//!
//! A directory is opened once, and its files are opened relative to it without following links, so neither `..` nor a
//! symbolic link leads out of it, even while another process changes names.

use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags};
use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The use of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Read,
    /// An existing file is emptied.
    Write,
    Append,
}

/// An open directory.
#[derive(Debug)]
pub struct Directory(OwnedFd);

/// Whether a text names a file of the directory itself.
fn require_plain(name: &str) -> Result<()> {
    let is_plain = !matches!(name, "" | "." | "..") && !name.contains(['/', '\0']);
    if is_plain { Ok(()) } else { Err(Error::from(ErrorKind::InvalidInput)) }
}

impl Directory {
    /// Opens a directory; `None` unless it is one of `roots` or below one of them, after links.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn open(path: &Path, roots: &[PathBuf]) -> Result<Option<Directory>> {
        let fd = rustix::fs::open(path, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let real = std::fs::read_link(format!("/proc/self/fd/{}", fd.as_raw_fd()))?;
        let is_allowed =
            roots.iter().filter_map(|root| std::fs::canonicalize(root).ok()).any(|root| real.starts_with(root));
        Ok(is_allowed.then_some(Directory(fd)))
    }

    /// Opens a regular file, which is created for writing.
    ///
    /// # Errors
    /// `InvalidInput` for a name that is a path, or of something else than a file; those of the operating system.
    pub fn file(&self, name: &str, access: Access) -> Result<File> {
        require_plain(name)?;
        let file = self.open_file(name, access)?;
        if access == Access::Write {
            file.set_len(0)?;
        }
        Ok(file)
    }

    /// Opens a file to write a copy of `source` to it.
    ///
    /// # Errors
    /// As [`Directory::file`]; `AlreadyExists` for `source` itself, also under another name.
    pub fn copy(&self, name: &str, source: &File) -> Result<File> {
        require_plain(name)?;
        let file = self.open_file(name, Access::Write)?;
        let (a, b) = (file.metadata()?, source.metadata()?);
        if (a.dev(), a.ino()) == (b.dev(), b.ino()) {
            return Err(Error::from(ErrorKind::AlreadyExists));
        }
        file.set_len(0)?;
        Ok(file)
    }

    fn open_file(&self, name: &str, access: Access) -> Result<File> {
        let how = match access {
            Access::Read => OFlags::RDONLY,
            // Emptied later, once it is known to be a file.
            Access::Write => OFlags::WRONLY | OFlags::CREATE,
            Access::Append => OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND,
        };
        // Without NONBLOCK the open of a pipe would wait for its other end.
        let flags = how | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = File::from(rustix::fs::openat(&self.0, name, flags, Mode::from_raw_mode(0o640))?);
        if !file.metadata()?.is_file() {
            return Err(Error::from(ErrorKind::InvalidInput));
        }
        Ok(file)
    }

    /// Removes a file.
    ///
    /// # Errors
    /// As [`Directory::file`].
    pub fn remove(&self, name: &str) -> Result<()> {
        require_plain(name)?;
        Ok(rustix::fs::unlinkat(&self.0, name, AtFlags::empty())?)
    }

    /// Moves a file; an existing one stays unless it is to be overwritten.
    ///
    /// # Errors
    /// As [`Directory::file`].
    pub fn rename(&self, name: &str, to: &Directory, new: &str, overwrites: bool) -> Result<()> {
        require_plain(name)?;
        require_plain(new)?;
        let flags = if overwrites { RenameFlags::empty() } else { RenameFlags::NOREPLACE };
        Ok(rustix::fs::renameat_with(&self.0, name, &to.0, new, flags)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_leads_out_of_the_directory() {
        let root = std::env::temp_dir().join(format!("user_files_{}", std::process::id()));
        let (inside, outside) = (root.join("in"), root.join("out"));
        std::fs::create_dir_all(&inside).unwrap();
        std::fs::create_dir_all(&outside).unwrap();
        std::fs::write(outside.join("secret"), "s").unwrap();
        std::os::unix::fs::symlink(outside.join("secret"), inside.join("link")).unwrap();
        std::os::unix::fs::symlink(&outside, inside.join("way")).unwrap();
        let roots = [inside.clone()];
        let directory = Directory::open(&inside, &roots).unwrap().expect("allowed");
        for name in ["link", "../out/secret", "way/secret", "..", ".", "", "a\0b"] {
            assert!(directory.file(name, Access::Read).is_err(), "{name}");
            assert!(directory.file(name, Access::Write).is_err(), "{name}");
        }
        assert!(Directory::open(&inside.join("way"), &roots).unwrap().is_none());
        assert!(Directory::open(&inside.join(".."), &roots).unwrap().is_none());
        assert!(Directory::open(&inside, &[]).unwrap().is_none());
        assert!(directory.file("way", Access::Read).is_err());
        directory.file("new", Access::Write).unwrap();
        directory.rename("new", &directory, "other", false).unwrap();
        directory.file("new", Access::Write).unwrap();
        assert!(directory.rename("new", &directory, "other", false).is_err());
        directory.rename("new", &directory, "other", true).unwrap();
        // A copy onto itself is refused before the file is emptied, also under the name of a link.
        std::fs::write(inside.join("other"), "o").unwrap();
        std::fs::hard_link(inside.join("other"), inside.join("same")).unwrap();
        let source = directory.file("other", Access::Read).unwrap();
        assert!(directory.copy("other", &source).is_err() && directory.copy("same", &source).is_err());
        assert_eq!(std::fs::read_to_string(inside.join("other")).unwrap(), "o");
        directory.copy("another", &source).unwrap();
        directory.remove("other").unwrap();
        assert_eq!(std::fs::read_to_string(outside.join("secret")).unwrap(), "s");
        std::fs::remove_dir_all(&root).unwrap();
    }
}
