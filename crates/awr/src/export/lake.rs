//! Folders of files: a folder for each table, in it folders for run, instance and day, in these the files.
//!
//! A file is written beside its place under a name that readers ignore, synced, and renamed: a reader finds it complete
//! or not at all, even after a crash (invariant 7). An existing file is never changed; the parts exported before are
//! skipped ([`Lake::ranges`]).

use super::field::{Column, Field, VERSION, wrong};
use super::writer::{Form, Writer};
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

/// The place of a file below its table: keys and values, a folder each.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Part(Vec<(&'static str, String)>);

impl Part {
    /// The part of a run of an instance on a day (`YYYY-MM-DD`).
    pub fn of_day(run: &str, instance: &str, day: &str) -> Part {
        Part(vec![("run", plain(run)), ("instance", plain(instance)), ("day", plain(day))])
    }

    /// The part of an instance as a whole.
    pub fn of_instance(instance: &str) -> Part {
        Part(vec![("instance", plain(instance))])
    }

    fn folder(&self) -> PathBuf {
        self.0.iter().map(|(key, value)| format!("{key}={value}")).collect()
    }

    fn keys(&self) -> String {
        let keys: Vec<String> = self.0.iter().map(|(key, _)| types::escape::json(key)).collect();
        keys.join(", ")
    }
}

/// Replaces by `-` every character that folder names may not contain everywhere.
fn plain(value: &str) -> String {
    let keep = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '@');
    let name: String = value.chars().map(|c| if keep(c) { c } else { '-' }).collect();
    if name.trim_matches('.').is_empty() { format!("-{name}") } else { name }
}

/// Takes a row.
pub type Take<'a> = dyn FnMut(Vec<Field>) -> io::Result<()> + 'a;

/// Passes rows to a [`Take`].
pub type Fill<'a, E> = dyn FnMut(&mut Take<'_>) -> Result<(), E> + 'a;

/// The folder of the exports.
pub struct Lake {
    root: PathBuf,
    form: Form,
    files: u64,
    rows: u64,
}

impl Lake {
    /// Opens a folder; creates it if necessary.
    ///
    /// # Errors
    /// Those of the file system, and a folder of another version.
    pub fn open(root: &Path, form: Form) -> io::Result<Lake> {
        let lake = Lake { root: root.to_path_buf(), form, files: 0, rows: 0 };
        let marker = root.join("_latchwork_export.json");
        let text = format!("{{\"format\": \"latchwork export\", \"version\": {VERSION}}}\n");
        match fs::read_to_string(&marker) {
            Ok(found) if found == text => {}
            Ok(found) => {
                return Err(wrong(format!(
                    "{} is of another version than {VERSION}: {}",
                    root.display(),
                    found.trim()
                )));
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => whole_text(&marker, &text)?,
            Err(e) => return Err(e),
        }
        Ok(lake)
    }

    /// The number of files and rows written.
    pub fn written(&self) -> (u64, u64) {
        (self.files, self.rows)
    }

    /// The number ranges of the existing files `PREFIX-FROM-TO` of a part.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn ranges(&self, table: &str, part: &Part, prefix: &str) -> io::Result<Vec<(i64, i64)>> {
        let folder = self.root.join(table).join(part.folder());
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(e) => return Err(e),
        };
        let mut found = Vec::new();
        for entry in entries {
            let name = entry?.file_name();
            let Some(stem) = name.to_str().and_then(|n| n.strip_suffix(&format!(".{}", self.form.extension()))) else {
                continue;
            };
            let range = stem.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('-')?.split_once('-'));
            if let Some((Ok(from), Ok(to))) = range.map(|(from, to)| (from.parse(), to.parse())) {
                found.push((from, to));
            }
        }
        Ok(found)
    }

    fn place(&self, table: &str, part: &Part, name: &str) -> PathBuf {
        self.root.join(table).join(part.folder()).join(format!("{name}.{}", self.form.extension()))
    }

    /// Writes a file of rows and the schema of its columns; replaces a file of that name. `fill` passes the rows to its
    /// argument; without rows no file is made.
    ///
    /// # Errors
    /// Those of the file system and of `fill`; then no new file exists.
    pub fn put<E: From<io::Error>>(
        &mut self,
        table: &str,
        part: &Part,
        name: &str,
        columns: &[Column],
        fill: &mut Fill<'_, E>,
    ) -> Result<u64, E> {
        self.schema(table, part, columns)?;
        let place = self.place(table, part, name);
        let mut failed = None;
        let form = self.form;
        let made = whole(&place, |file| {
            let mut writer = Writer::new(form, columns.to_vec(), BufWriter::with_capacity(1 << 16, file))?;
            if let Err(e) = fill(&mut |row| writer.row(row)) {
                failed = Some(e);
                return Err(wrong("rows ended early"));
            }
            let (sink, rows) = writer.finish()?;
            Ok((sink.into_inner().map_err(io::IntoInnerError::into_error)?, rows))
        });
        match (made, failed) {
            (Ok(rows), _) => {
                (self.files, self.rows) = (self.files + u64::from(rows > 0), self.rows + rows);
                Ok(rows)
            }
            (Err(_), Some(e)) => Err(e),
            (Err(e), None) => Err(E::from(io::Error::new(e.kind(), format!("{}: {e}", place.display())))),
        }
    }

    /// Writes `_schema.json` of a table unless it has these contents already.
    fn schema(&self, table: &str, part: &Part, columns: &[Column]) -> io::Result<()> {
        let column =
            |c: &Column| format!("    {{\"name\": {}, \"type\": \"{}\"}}", types::escape::json(&c.name), c.kind.name());
        let columns: Vec<String> = columns.iter().map(column).collect();
        let text = format!(
            "{{\n  \"table\": {},\n  \"version\": {VERSION},\n  \"partitioned_by\": [{}],\n  \"columns\": [\n{}\n  ]\n}}\n",
            types::escape::json(table),
            part.keys(),
            columns.join(",\n")
        );
        let place = self.root.join(table).join("_schema.json");
        if fs::read_to_string(&place).is_ok_and(|found| found == text) {
            return Ok(());
        }
        whole_text(&place, &text)
    }
}

fn whole_text(place: &Path, text: &str) -> io::Result<()> {
    whole(place, |mut file| {
        io::Write::write_all(&mut file, text.as_bytes())?;
        Ok((file, 1))
    })
    .map(|_| ())
}

/// Writes a file under another name, syncs it and renames it; removes a file without rows.
fn whole(place: &Path, fill: impl FnOnce(File) -> io::Result<(File, u64)>) -> io::Result<u64> {
    let (Some(folder), Some(name)) = (place.parent(), place.file_name().and_then(|n| n.to_str())) else {
        return Err(wrong(format!("{} is no place for a file", place.display())));
    };
    fs::create_dir_all(folder)?;
    let making = folder.join(format!(".{name}.{}.making", std::process::id()));
    let made = File::create(&making).and_then(fill).and_then(|(file, rows)| {
        if rows > 0 {
            file.sync_all()?;
            fs::rename(&making, place)?;
            File::open(folder)?.sync_all()?;
        }
        Ok(rows)
    });
    if !matches!(made, Ok(1..)) {
        let _ = fs::remove_file(&making);
    }
    made
}
