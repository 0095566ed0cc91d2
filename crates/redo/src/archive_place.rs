//! The directory and the names of archived copies.

use std::path::PathBuf;

/// The directory and the names of archived copies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchivePlace {
    /// The directory: relative to the database directory, or an absolute path.
    pub directory: PathBuf,
    /// The name, with `%t` thread, `%s` sequence, `%r` incarnation, `%d` database; capitals fill with zeros.
    pub format: String,
}

impl Default for ArchivePlace {
    fn default() -> Self {
        ArchivePlace { directory: "archive".into(), format: "arch_%t_%s_%r.arc".into() }
    }
}

impl ArchivePlace {
    /// The file of a sequence.
    pub fn file(&self, sequence: u32, incarnation: u32, database: u64) -> PathBuf {
        let mut name = String::new();
        let mut chars = self.format.chars();
        while let Some(c) = chars.next() {
            match (c, c == '%') {
                (_, true) => match chars.next() {
                    Some('t') => name.push('1'),
                    Some('T') => name.push_str("0001"),
                    Some('s') => name.push_str(&sequence.to_string()),
                    Some('S') => name.push_str(&format!("{sequence:010}")),
                    Some('r' | 'R') => name.push_str(&incarnation.to_string()),
                    Some('d' | 'D') => name.push_str(&format!("{database:x}")),
                    Some(other) => name.push(other),
                    None => {}
                },
                (c, _) => name.push(c),
            }
        }
        self.directory.join(name)
    }
}

/// Returns the present place of archived copies.
pub type FindArchivePlace = Box<dyn Fn() -> ArchivePlace + Send + Sync>;
