//! A text file in place of the log's part of the control file, changed under a lock that ends with its process.

use os::file::{File, OpenMode};
use process::Process;
use redo::{CheckpointEntry, Control, IncarnationEntry, LogControl, LogGroupEntry, LoggedEntry};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use types::{Result, Scn};

/// The number of every database of these tests.
pub const DATABASE: u64 = 77;

pub struct Kept {
    directory: PathBuf,
    sync: bool,
}

impl Kept {
    /// Stores the log's part of a new database.
    pub fn create(directory: &Path, is: &LogControl, sync: bool) -> Kept {
        let kept = Kept::open(directory, sync);
        kept.write(is);
        kept
    }

    pub fn open(directory: &Path, sync: bool) -> Kept {
        Kept { directory: directory.to_owned(), sync }
    }

    fn write(&self, is: &LogControl) {
        let new = self.directory.join("kept.new");
        std::fs::write(&new, print(is)).unwrap();
        std::fs::rename(new, self.directory.join("kept")).unwrap();
    }

    fn changed(&self, f: &mut dyn FnMut(&mut LogControl) -> Result<()>) -> Result<()> {
        let lock = File::open(&self.directory.join("kept.lock"), OpenMode::OpenOrCreate).unwrap();
        while !lock.try_lock().unwrap() {
            os::clock::sleep(Duration::from_micros(50));
        }
        let old = read(&self.directory);
        let mut new = old.clone();
        f(&mut new)?;
        if new != old {
            self.write(&new);
        }
        Ok(())
    }
}

fn print(is: &LogControl) -> String {
    let (c, i) = (&is.checkpoint, &is.incarnation);
    let mut text = format!(
        "{} {} {} {} {} {} {} {}\n",
        is.scn.0,
        c.rba,
        c.scn.0,
        c.time_s,
        i.number,
        i.resetlogs_scn.0,
        i.resetlogs_time_s,
        u8::from(is.archivelog)
    );
    for l in &is.logs {
        let numbers = [l.group.into(), l.sequence.into(), l.start, l.first_scn.0, l.first_time_s.into(), l.bytes];
        writeln!(text, "log {} {} {}", join(&numbers), u8::from(l.archived), l.name).unwrap();
    }
    for l in &is.logged {
        let [sequence, incarnation] = [l.sequence, l.incarnation].map(u64::from);
        let [first_s, next_s, completed_s] = [l.first_time_s, l.next_time_s, l.completed_s].map(u64::from);
        let numbers =
            [sequence, incarnation, l.start, l.end, l.first_scn.0, first_s, l.next_scn.0, next_s, completed_s];
        writeln!(text, "logged {} {}", join(&numbers), l.name).unwrap();
    }
    text
}

fn join(numbers: &[u64]) -> String {
    numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(" ")
}

/// The part stored in a directory.
pub fn read(directory: &Path) -> LogControl {
    let text = std::fs::read_to_string(directory.join("kept")).unwrap();
    let mut is = LogControl::default();
    for line in text.lines() {
        let (kind, rest) = line.split_once(' ').unwrap();
        let mut words = rest.split(' ');
        let mut next = || words.next().unwrap().parse::<u64>().unwrap();
        match kind {
            "log" => {
                let [group, sequence] = [(); 2].map(|()| next() as u32);
                let (start, first_scn, first_time_s) = (next(), Scn(next()), next() as u32);
                let (bytes, archived) = (next(), next() == 1);
                let name = words.next().unwrap().to_owned();
                is.logs.push(LogGroupEntry { group, sequence, start, first_scn, first_time_s, bytes, archived, name });
            }
            "logged" => {
                let [sequence, incarnation] = [(); 2].map(|()| next() as u32);
                let (start, end, first_scn, first_time_s) = (next(), next(), Scn(next()), next() as u32);
                let (next_scn, next_time_s, completed_s) = (Scn(next()), next() as u32, next() as u32);
                let name = words.next().unwrap().to_owned();
                let times = LoggedEntry { first_time_s, next_time_s, completed_s, ..LoggedEntry::default() };
                is.logged.push(LoggedEntry { sequence, incarnation, start, end, first_scn, next_scn, name, ..times });
            }
            scn => {
                is.scn = Scn(scn.parse().unwrap());
                is.checkpoint = CheckpointEntry { rba: next(), scn: Scn(next()), time_s: next() as u32 };
                let (number, resetlogs_scn) = (next() as u32, Scn(next()));
                is.incarnation = IncarnationEntry { number, resetlogs_scn, resetlogs_time_s: next() as u32 };
                is.archivelog = next() == 1;
            }
        }
    }
    is
}

impl Control for Kept {
    fn read(&self) -> Result<LogControl> {
        Ok(read(&self.directory))
    }

    fn change(&self, _: &Process, f: &mut dyn FnMut(&mut LogControl) -> Result<()>) -> Result<()> {
        self.changed(f)
    }

    fn checkpointed(&self, _: &Process, done: &CheckpointEntry) -> Result<()> {
        self.changed(&mut |is| {
            if done.rba >= is.checkpoint.rba {
                is.checkpoint = *done;
            }
            Ok(())
        })
    }

    fn directory(&self) -> &Path {
        &self.directory
    }

    fn database(&self) -> u64 {
        DATABASE
    }

    fn disk_sync(&self) -> bool {
        self.sync
    }
}
