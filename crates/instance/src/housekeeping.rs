//! The periodic work of SMON. Every few seconds SMON frees the blocks of dropped segments, drops indexes whose builders
//! died, and removes unfinished tablespaces and their files from the control file: tablespaces dropped by a session
//! that died after its commit, and tablespaces made by a session that died before its commit. Opening a database
//! removes these, too.
//!
//! Dropping is data definition and needs a host. The host of SMON has no queries and no compiler, because these
//! statements need neither (invariant 6).

use crate::caches::OnCommit;
use crate::instance::Instance;
use ddl::{Described, Host, Parts, SessionNames};
use dictionary::base::{Base, ind};
use dictionary::image::property;
use dictionary::rows::int;
use dictionary::{Dictionary, ErrorLine, NoFixedTables, SALT_BYTES, UserId};
use process::Process;
use sql::ast::{Query, StoredKind};
use std::rc::Rc;
use txn::{Txn, UndoRounds};
use types::{Date, Nls, ObjectId, Ora, Result, Value};

/// The state of SMON between two rounds.
#[derive(Debug, Default)]
pub struct Housekeeper {
    /// The dictionary's epoch and the control file's tablespaces at the last round that left nothing to do. A dead
    /// statement may have changed only one of the two.
    quiet: Option<(u64, Vec<u32>)>,
    undo: UndoRounds,
    /// The error of the last failed attempt to add undo segments; empty after a success.
    undo_error: String,
}

impl Housekeeper {
    /// Does one round. Returns lines for the alert log about dropped indexes of dead builders, removed tablespaces, and
    /// errors in adding undo segments. Failed work is tried again in a later round.
    pub fn round(&mut self, instance: &'static Instance, p: &Rc<Process>) -> Vec<String> {
        let dictionary = instance.storage().dictionary;
        faults::point("smon-round");
        let mut told = Vec::new();
        let made = instance.storage().txns.tend_undo_segments(p, &mut self.undo);
        told.extend(undo_news(made, &mut self.undo_error));
        let _ = dictionary.finish_all_drops(p);
        let Ok(control) = instance.storage().txns.cache().files().control() else { return told };
        let now = (dictionary.epoch(), control.tablespaces.iter().map(|t| t.number).collect());
        if self.quiet.as_ref() == Some(&now) {
            return told;
        }
        let gone = ddl::finish_drops(&mut Smon::new(instance, p));
        let files_done = matches!(&gone, Ok(Some(gone)) if gone.is_empty());
        told.extend(gone.ok().flatten().unwrap_or_default().iter().map(|name| files_gone(name)));
        match any_building(instance, p) {
            Ok(false) if files_done => self.quiet = Some(now),
            Ok(true) => {
                faults::point("smon-dropping-index");
                let dropped = ddl::drop_abandoned(&mut Smon::new(instance, p)).unwrap_or_default();
                told.extend(dropped.iter().map(|index| {
                    format!("index {index}, left by a session that ended while it was being built, has been dropped")
                }));
            }
            _ => {}
        }
        told
    }
}

/// The line for the alert log about an attempt to add undo segments: its error, unless the previous attempt failed with
/// the same error.
fn undo_news(made: Result<u16>, last_error: &mut String) -> Option<String> {
    match made {
        // Nothing was tried.
        Ok(0) => None,
        Ok(_) => {
            last_error.clear();
            None
        }
        Err(e) => {
            let text = e.to_string();
            let last = std::mem::replace(last_error, text.clone());
            (text != last).then(|| format!("no undo segment could be added: {text}"))
        }
    }
}

fn files_gone(name: &str) -> String {
    format!("tablespace {name}, which is being made or dropped by nobody, has left the control file with its files")
}

/// Removes tablespaces that the dictionary does not know from the control file, before the first session. Returns lines
/// for the alert log.
pub fn finish_drops(instance: &'static Instance, p: &Rc<Process>) -> Vec<String> {
    match ddl::finish_drops(&mut Smon::new(instance, p)) {
        Ok(gone) => gone.unwrap_or_default().iter().map(|name| files_gone(name)).collect(),
        Err(e) => vec![e.to_string()],
    }
}

fn any_building(instance: &Instance, p: &Process) -> Result<bool> {
    let mut found = false;
    for flags in property::building_flags() {
        instance.storage().dictionary.scan_once_by(p, Base::Ind, &[ind::FLAGS], &[int(flags)], &mut |_, _| {
            found = true;
            Ok(())
        })?;
    }
    Ok(found)
}

/// SMON as data definition sees it.
struct Smon<'a> {
    instance: &'static Instance,
    p: &'a Process,
    dict: Dictionary,
    txn: Txn,
    hook: OnCommit,
    nls: Nls,
}

impl<'a> Smon<'a> {
    fn new(instance: &'static Instance, p: &'a Rc<Process>) -> Smon<'a> {
        let dict = Dictionary::new(instance.storage().dictionary.clone(), Rc::new(NoFixedTables), p);
        Smon { instance, p, dict, txn: Txn::new(), hook: instance.on_commit(), nls: Nls::default() }
    }
}

/// The error of host functions that SMON's statements do not call.
fn not_smons<R>() -> Result<R> {
    Err(Ora::internal("[SMON has no statements]"))
}

impl Host for Smon<'_> {
    fn parts(&mut self) -> Parts<'_> {
        let storage = self.instance.storage();
        Parts {
            p: self.p,
            dict: &mut self.dict,
            txn: &mut self.txn,
            storage: ddl::Storage { heap: storage.heap, clusters: storage.clusters, trees: storage.btree },
            hook: &self.hook,
            nls: &self.nls,
        }
    }

    fn session(&self) -> SessionNames {
        SessionNames::owner(UserId::SYS)
    }

    fn now(&self) -> Date {
        let utc = (os::clock::wall_ns() / 1_000_000_000) as i64;
        Date::from_unix(utc + i64::from(os::clock::utc_offset_seconds(utc))).expect("a date of our time")
    }

    fn is_connected(&self, _user: UserId) -> bool {
        true
    }

    fn salt(&mut self) -> [u8; SALT_BYTES] {
        [0; SALT_BYTES]
    }

    fn describe(&mut self, _: &Query, _: Option<UserId>) -> Result<Vec<Described>> {
        not_smons()
    }

    fn used_objects(&mut self, _: &Query, _: UserId) -> Result<Vec<ObjectId>> {
        not_smons()
    }

    fn rows(
        &mut self,
        _: &Query,
        _: Option<&[Described]>,
        _: &mut dyn FnMut(&mut Parts<'_>, &[Value]) -> Result<()>,
    ) -> Result<()> {
        not_smons()
    }

    fn compile(&mut self, _: &str, _: &str, _: StoredKind, _: &str, _: &ddl::UnitSettings) -> Result<Vec<ErrorLine>> {
        not_smons()
    }

    fn changed(&mut self, objects: &[ObjectId]) {
        let scn = self.instance.storage().txns.current_scn();
        for object in objects {
            self.instance.caches().results.invalidate(self.p, *object, scn);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_adding_undo_segments_is_told_until_it_is_the_same_again() {
        let mut last = String::new();
        let full = || Err(Ora::with(30036, &[&8, &"UNDO"]));
        let first = undo_news(full(), &mut last).expect("news");
        assert!(first.contains("ORA-30036") && first.contains("UNDO"), "{first}");
        assert_eq!([undo_news(Ok(0), &mut last), undo_news(full(), &mut last)], [None, None]);
        assert!(undo_news(Err(Ora::new(1110)), &mut last).is_some(), "another error");
        assert!(undo_news(full(), &mut last).is_some());
        assert_eq!(undo_news(Ok(2), &mut last), None);
        assert!(undo_news(full(), &mut last).is_some(), "segments were added meanwhile");
    }
}
