//! Backups of arbitrary bytes: each is restored or refused, without a panic.
//!
//! `LATCHWORK_FUZZ=n` runs n times as many cases.

use datafile::{CheckpointEntry, ControlFile, CreateDatabase, DataFiles, TablespaceSpec};
use recovery::{Backup, Manifest, Moment, Restore, Until, restore};
use redo::ApplyTable;
use std::path::Path;
use testing::{Folder, Random};
use types::Scn;

const CASES: u64 = 60;

fn copy_tree(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_tree(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// A number near the end of some range.
fn number(r: &mut Random) -> u64 {
    r.of(&[0, 1, 4095, 4096, 1 << 31, u64::from(u32::MAX), 1 << 60, u64::MAX - 1, u64::MAX])
}

/// Changes the contents of the manifest and corrects its checksum.
fn change_manifest(folder: &Path, r: &mut Random) {
    let mut m = Manifest::read(folder).unwrap();
    let n = number(r);
    let moment = Moment { rba: n, scn: Scn(number(r)), time_s: n as u32 };
    let at = r.below(m.files.len() as u64) as usize;
    let names = ["files/none", "/etc/passwd", "../control", "control", "files", ""];
    match r.below(9) {
        0 => m.begin = moment,
        1 => m.end = moment,
        2 => m.files[at].bytes = n,
        3 => m.files[at].sum = n,
        4 => m.files[at].file = n as u32,
        5 => m.files[at].name = names[r.below(6) as usize].into(),
        6 => m.files.truncate(at),
        7 => m.incarnation = n as u32,
        _ => m.database = n,
    }
    m.write(folder).unwrap();
}

/// Changes a word of the control file and corrects its checksum.
fn change_control(folder: &Path, r: &mut Random) {
    let text = std::fs::read_to_string(folder.join("control")).unwrap();
    let mut lines: Vec<String> = text.trim_end_matches('\0').lines().map(str::to_owned).collect();
    lines.pop();
    let n = 1 + r.below(lines.len() as u64 - 1) as usize;
    let mut words: Vec<String> = lines[n].split(' ').map(str::to_owned).collect();
    let w = r.below(words.len() as u64) as usize;
    words[w] = number(r).to_string();
    lines[n] = words.join(" ");
    let text = ControlFile::with_checksum(&(lines.join("\n") + "\n"));
    std::fs::write(folder.join("control"), text).unwrap();
}

fn change_bytes(folder: &Path, r: &mut Random) {
    let mut all = vec![folder.join("manifest"), folder.join("control")];
    all.extend(std::fs::read_dir(folder.join("files")).unwrap().map(|e| e.unwrap().path()));
    let path = &all[r.below(all.len() as u64) as usize];
    let mut bytes = std::fs::read(path).unwrap();
    for _ in 0..=r.below(4) {
        let at = r.below(bytes.len().min(20_000) as u64) as usize;
        bytes[at] ^= 1 << r.below(8);
    }
    if r.below(4) == 0 {
        bytes.truncate(r.below(bytes.len() as u64) as usize);
    }
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn any_backup_is_restored_or_refused() {
    let times = std::env::var("LATCHWORK_FUZZ").ok().and_then(|v| v.parse::<u64>().ok()).unwrap_or(1);
    let base = Folder::new("any-backup");
    let (source, sound) = (base.join("db"), base.join("sound"));
    std::fs::create_dir_all(&source).unwrap();
    let mut spec = CreateDatabase::usual("FUZZ", 5, 2048);
    spec.tablespaces.iter_mut().for_each(|t| t.bytes = 100_000);
    let files = DataFiles::create(&source, &spec).unwrap();
    let mut backup = Backup::begin(&files, &sound).unwrap();
    backup.copy_files(&mut |_, _, _| {}).unwrap();
    backup.finish(Moment::default(), &mut |_, _, _| {}).unwrap();
    let (mut restored, mut refused) = (0, 0);
    for seed in 0..CASES * times {
        let mut r = Random::new(seed);
        let (folder, to) = (base.join("folder"), base.join("to"));
        copy_tree(&sound, &folder);
        match seed % 4 {
            0 if seed == 0 => {}
            0 | 1 => change_manifest(&folder, &mut r),
            2 => change_control(&folder, &mut r),
            _ => change_bytes(&folder, &mut r),
        }
        let until = match r.below(3) {
            0 => Until::Scn(Scn(number(&mut r))),
            1 => Until::Time(number(&mut r) as u32),
            _ => Until::End,
        };
        let apply = ApplyTable::new();
        let redo = [source.clone()];
        let it = Restore { from: &folder, to: &to, redo: &redo, until, apply: &apply, frames_max: 64, now_s: 7 };
        match restore(&it, &mut |_| {}) {
            // A restored directory should open as a database.
            Ok(_) => restored += u64::from(DataFiles::open(&to).is_ok()),
            Err(_) => refused += 1,
        }
        for dir in [&folder, &to] {
            let _ = std::fs::remove_dir_all(dir);
        }
    }
    assert!(restored > 0 && refused > 0, "{restored} {refused}");
}

#[test]
fn a_file_made_while_the_others_were_copied_needs_no_copy_and_an_older_one_does() {
    let base = Folder::new("late-file");
    let (source, folder) = (base.join("db"), base.join("folder"));
    std::fs::create_dir_all(&source).unwrap();
    let spec = CreateDatabase::usual("LATE", 5, 2048);
    let files = DataFiles::create(&source, &spec).unwrap();
    let mut control = ControlFile::read(&source).unwrap();
    control.checkpoint = CheckpointEntry { rba: 8192, scn: Scn(7), time_s: 7 };
    control.write(&source).unwrap();
    let mut backup = Backup::begin(&files, &folder).unwrap();
    backup.copy_files(&mut |_, _, _| {}).unwrap();
    files.add_file(&TablespaceSpec { file_name: "late.dbf".into(), ..spec.tablespaces[2].clone() }).unwrap();
    let mut control = ControlFile::read(&source).unwrap();
    control.files[4].created_rba = 8192;
    control.write(&source).unwrap();
    backup.finish(Moment { rba: 8192, scn: Scn(7), time_s: 7 }, &mut |_, _, _| {}).unwrap();
    let apply = ApplyTable::new();
    let go = |to: &Path| {
        let redo = [base.join("nowhere")];
        let it = Restore { from: &folder, to, redo: &redo, until: Until::End, apply: &apply, frames_max: 64, now_s: 7 };
        restore(&it, &mut |_| {})
    };
    go(&base.join("one")).unwrap();
    assert!(DataFiles::open(&base.join("one")).unwrap().0.blocks(5).is_ok());
    let mut manifest = Manifest::read(&folder).unwrap();
    manifest.files.pop();
    manifest.write(&folder).unwrap();
    assert!(go(&base.join("two")).err().is_some_and(|e| e.is(19870)), "USERS has no copy");
}
