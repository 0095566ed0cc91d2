//! Recordings: a file of snapshots, one JSON object a line, under a line that names the format.
//!
//! Names and statement texts appear once, so a recording is read from its beginning. Each line is written whole; a
//! recording that ends in the middle of a line is valid up to that line.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;

use crate::sample::Snapshot;

const HEAD: &str = "{\"format\":\"latchwork-top-recording/1\"}";
/// The longest line that is read as a snapshot.
const LINE_MAX: u64 = 64 << 20;

/// Writes snapshots to a file.
pub struct Recorder {
    file: File,
    name: String,
}

impl Recorder {
    /// Creates the file, which must not exist.
    ///
    /// # Errors
    /// Those of the system, or that the file exists.
    pub fn create(path: &Path) -> Result<Recorder, String> {
        let name = path.display().to_string();
        let mut file = File::create_new(path).map_err(|e| format!("{name}: {e}"))?;
        writeln!(file, "{HEAD}").map_err(|e| format!("{name}: {e}"))?;
        Ok(Recorder { file, name })
    }

    /// Adds a snapshot.
    ///
    /// # Errors
    /// Those of the system, such as a full disk.
    pub fn write(&mut self, snapshot: &Snapshot) -> Result<(), String> {
        let mut line = serde_json::to_string(snapshot).map_err(|e| e.to_string())?;
        line.push('\n');
        self.file.write_all(line.as_bytes()).map_err(|e| format!("{}: {e}", self.name))
    }
}

/// Reads a recording.
///
/// # Errors
/// The file is no recording, or a line in its middle is damaged.
pub fn read(path: &Path) -> Result<Vec<Snapshot>, String> {
    let name = path.display();
    let file = File::open(path).map_err(|e| format!("{name}: {e}"))?;
    read_from(BufReader::new(file)).map_err(|e| format!("{name}: {e}"))
}

/// Reads the lines of a recording.
///
/// # Errors
/// As [`read`].
pub fn read_from(mut file: impl BufRead) -> Result<Vec<Snapshot>, String> {
    let mut line = String::new();
    let mut next = |line: &mut String| {
        line.clear();
        let mut part = std::io::Read::take(&mut file, LINE_MAX);
        part.read_line(line).map_err(|e| e.to_string())
    };
    next(&mut line)?;
    if line.trim_end() != HEAD {
        return Err("not a recording of latchwork top".into());
    }
    let mut snapshots = Vec::new();
    while next(&mut line)? > 0 {
        match serde_json::from_str(&line) {
            Ok(snapshot) => snapshots.push(snapshot),
            Err(_) if !line.ends_with('\n') => break,
            Err(e) => return Err(format!("line {}: {e}", snapshots.len() + 2)),
        }
    }
    Ok(snapshots)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_is_read_back_also_when_it_was_cut_off() {
        let path = std::env::temp_dir().join(format!("latchwork-top-record-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let snapshot = |n| Snapshot { clock_us: n, texts: vec![("a".into(), "x\ny".into())], ..Snapshot::default() };
        let mut recorder = Recorder::create(&path).unwrap();
        recorder.write(&snapshot(1)).unwrap();
        recorder.write(&snapshot(2)).unwrap();
        assert!(Recorder::create(&path).is_err(), "an older recording is not lost");
        assert_eq!(read(&path).unwrap(), [snapshot(1), snapshot(2)]);
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() - 9]).unwrap();
        assert_eq!(read(&path).unwrap(), [snapshot(1)]);
        let mut damaged = whole.clone();
        damaged[HEAD.len() + 4] = b'!';
        std::fs::write(&path, &damaged).unwrap();
        assert!(read(&path).unwrap_err().contains("line 2"));
        std::fs::write(&path, "{}\n").unwrap();
        assert!(read(&path).unwrap_err().contains("not a recording"));
        std::fs::remove_file(&path).unwrap();
    }
}
