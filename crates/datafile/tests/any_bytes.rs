//! A database with damaged control file or data files is opened or refused, and nothing panics (R4).
//!
//! `LATCHWORK_FUZZ=n` runs n times as many cases.

use block::Image;
use datafile::{ControlFile, CreateDatabase, DataFiles};
use std::path::{Path, PathBuf};
use testing::{Folder, Random};
use types::Rdba;

const CASES: u64 = 300;

/// Opens the database as an instance does and looks at the first blocks of every file.
fn open(dir: &Path) -> bool {
    let Ok((files, control)) = DataFiles::open(dir) else { return false };
    let mut image = Image::new(files.block_size());
    let mut sound = true;
    for entry in &control.files {
        for n in [0, 1, 2, entry.blocks.saturating_sub(1), entry.blocks, u32::MAX >> 10] {
            sound &= files.read_block(Rdba::new(entry.file, n), image.bytes_mut()).is_ok() || n >= entry.blocks;
        }
        let _ = files.blocks(entry.file);
    }
    sound
}

/// Replaces a number in the text of a control file and corrects its checksum.
fn change_number(text: &str, r: &mut Random) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.pop();
    let n = 1 + r.below(lines.len() as u64 - 1) as usize;
    let mut words: Vec<String> = lines[n].split(' ').map(str::to_owned).collect();
    let w = r.below(words.len() as u64) as usize;
    let values = [
        "0",
        "1",
        "-1",
        "4294967295",
        "4294967296",
        "18446744073709551615",
        "99999999999999999999999",
        "",
        "x",
        "../x",
    ];
    words[w] = values[r.below(values.len() as u64) as usize].into();
    lines[n] = words.join(" ");
    if r.below(5) == 0 {
        lines.remove(n);
    }
    lines.join("\n") + "\n"
}

#[test]
fn damaged_files_open_or_are_refused() {
    let times = std::env::var("LATCHWORK_FUZZ").ok().and_then(|v| v.parse::<u64>().ok()).unwrap_or(1);
    let folder = Folder::new("datafile-any");
    let dir = &*folder;
    std::fs::create_dir_all(dir).unwrap();
    DataFiles::create(dir, &CreateDatabase::usual("FUZZ", 5, 2048)).unwrap();
    assert!(open(dir));
    let names: Vec<PathBuf> =
        std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).filter(|p| p.is_file()).collect();
    let sound: Vec<Vec<u8>> = names.iter().map(|p| std::fs::read(p).unwrap()).collect();
    let control = dir.join("control");
    let (mut opened, mut refused) = (0, 0);
    for seed in 0..CASES * times {
        let mut r = Random::new(seed);
        let n = r.below(names.len() as u64) as usize;
        let path = if r.below(2) == 0 { &control } else { &names[n] };
        let mut bytes = std::fs::read(path).unwrap();
        if path == &control && r.below(2) == 0 {
            let text = change_number(&String::from_utf8(bytes).unwrap(), &mut r);
            bytes = ControlFile::with_checksum(&text).into_bytes();
        } else {
            // The first blocks of a data file; the later ones belong to no segment yet.
            let len = bytes.len().min(6 * 2048) as u64;
            for _ in 0..=r.below(5) {
                let at = r.below(len) as usize;
                bytes[at] ^= 1 << r.below(8);
            }
            if path != &control && r.below(2) == 0 {
                bytes.chunks_exact_mut(2048).take(3).for_each(block::seal);
            }
            if r.below(6) == 0 {
                bytes.truncate(r.below(len) as usize);
            }
        }
        std::fs::write(path, &bytes).unwrap();
        if open(dir) {
            opened += 1
        } else {
            refused += 1
        }
        for (path, bytes) in names.iter().zip(&sound) {
            std::fs::write(path, bytes).unwrap();
        }
    }
    assert!(opened > 0 && refused > 0, "{opened} {refused}");
}
