//! Checking a database that no instance has open.
//!
//! First the files are read from end to end: headers, every block's checksum and address, the bitmaps against the
//! extents of all segments, and the extents against their space maps. Then this process opens the database read-only
//! and walks the objects of the dictionary: rows and their columns, trees, every index against its table in both
//! directions, clusters, undo segments, constraints. Nothing is written (R1). A fault does not end the walk: only the
//! checks that depend on the damaged part are left out (R3).
#![forbid(unsafe_code)]

mod files;
mod lobs;
mod objects;
mod report;
mod undo;

pub use report::{Counts, Finding, Progress, Report};

use datafile::{ControlFile, DataFiles};
use instance::Instance;
use params::{InitParams, Param};
use session::Session;
use std::path::Path;
use std::rc::Rc;
use types::Result;

/// Size of the buffer cache of the check.
const CACHE_BYTES: &str = "64M";

/// Checks the database in `dir`.
///
/// # Errors
/// The check cannot run: ORA-00205 for the control file, ORA-01113 when the database was not closed cleanly.
pub fn verify(dir: &Path, progress: &mut dyn FnMut(&Progress)) -> Result<Report> {
    let (files, control) = DataFiles::open_read_only(dir)?;
    control.require_dictionary(dictionary::base::Base::shape())?;
    // Before recovery the blocks on disk are of different moments (R2).
    if !control.clean {
        return Err(types::Ora::with(1113, &[&1]));
    }
    let mut report = Report { database: control.name.clone(), control: control.clone(), ..Report::default() };
    let space = files::check(&files, &control, &mut report, progress);
    drop(files);
    if let Err(e) = walk(dir, &control, &space, &mut report, progress) {
        report.fault(None, "dictionary", format!("the database cannot be opened: {e}"));
    }
    Ok(report)
}

/// Checks the objects of the dictionary.
fn walk(
    dir: &Path,
    control: &ControlFile,
    space: &files::Space,
    report: &mut Report,
    progress: &mut dyn FnMut(&Progress),
) -> Result<()> {
    let mut init = InitParams::default();
    init.set("processes", "20")?;
    init.set("db_cache_size", CACHE_BYTES)?;
    init.set(Param::UseLargePages.name(), "FALSE")?;
    let instance = Instance::open_read_only(dir, &init)?;
    let mut session = Session::in_process(instance)?;
    let storage = instance.storage();
    let p = Rc::new(instance.attach_background("verify")?);
    let image = storage.dictionary.picture(&p);
    undo::check(&p, storage, space, report);
    undo::check_tablespaces(storage, &image, control, report);
    let mut walk = objects::Walk { p: &p, storage, image: &image, space, control, report };
    let tables = walk.tables(progress);
    walk.orphans(&tables);
    walk.constraints(&mut session, &tables, progress);
    if let Err(e) = image.checked() {
        report.fault(None, "dictionary", format!("it cannot be read: {e}"));
    }
    session.end();
    Ok(())
}
