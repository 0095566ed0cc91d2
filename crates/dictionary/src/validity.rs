//! STATUS of units and views: the objects that a change may invalidate, and the results of compiling them again.
//!
//! The dictionary keeps no rows of dependencies. The candidates of a change are the valid units and views whose text
//! contains the name of a changed object or of another candidate. These are more than Oracle's dependents; DDL compiles
//! the candidates after its commit, and those without errors become valid again (D13).

use crate::base::{Base, error, obj, source, syn, view};
use crate::change::{By, Change};
use crate::image::Image;
use crate::rows::{Row, as_i64, as_text, as_u32, blank, int, text};
use crate::shared::DictionaryShared;
use crate::{ObjectDef, ObjectKind, UserId};
use process::Process;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use txn::{CommitHook, Txn};
use types::{ObjectId, Result, Value};

/// VALID in STATUS of OBJ$.
pub const VALID: i64 = 1;
/// Compiled, with errors.
pub const WITH_ERRORS: i64 = 3;
/// An object named in its text has changed since it was compiled.
pub const STALE: i64 = 5;

/// A line of USER_ERRORS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorLine {
    pub line: u32,
    pub column: u32,
    pub text: String,
}

/// The result of compiling a unit or view: no errors, or the errors for USER_ERRORS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub object: ObjectId,
    /// The epoch at which it was compiled.
    pub epoch: u64,
    pub errors: Vec<ErrorLine>,
}

/// The verdicts of a session that are not stored yet.
pub type Verdicts = Rc<RefCell<Vec<Verdict>>>;

/// True when a text contains one of the names as a word.
fn mentions(text: &str, names: &[String]) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '#');
    let (plain, odd): (Vec<&String>, Vec<&String>) = names.iter().partition(|name| {
        let mut parts = name.chars();
        name.is_ascii() && parts.all(is_part)
    });
    text.split(|c: char| !is_part(c)).any(|word| plain.iter().any(|name| name.eq_ignore_ascii_case(word)))
        || (!odd.is_empty() && {
            let upper = text.to_uppercase();
            odd.iter().any(|name| upper.contains(&name.to_uppercase()))
        })
}

impl Image {
    /// The valid units and views that a change of `changed` may invalidate, in order of their dependencies: their text
    /// contains the name of one of these objects, of a synonym for it, or of an object found before. Columns added to a
    /// table in `grown` invalidate units, but not views.
    pub fn hurt_by(&self, changed: &[ObjectId], grown: &[ObjectId]) -> Vec<ObjectId> {
        let names_of = |list: &[ObjectId]| -> Vec<String> {
            let named = list.iter().filter_map(|object| self.object(*object)).filter(|def| names_something(def.kind));
            named.map(|def| def.name.clone()).collect()
        };
        // The names that invalidate units and views, and those that invalidate units only.
        let (mut names, mut of_grown) = (names_of(changed), names_of(grown));
        if names.is_empty() && of_grown.is_empty() {
            return Vec::new();
        }
        let own: HashSet<ObjectId> = changed.iter().chain(grown).copied().collect();
        let candidates = self.objects_of_kinds(WITH_TEXT).into_iter();
        let candidates = candidates.filter(|def| def.valid && !own.contains(&def.object));
        let mut left: Vec<(ObjectDef, String)> = candidates.map(|def| (def.clone(), self.text_of(&def))).collect();
        let (mut found, mut synonyms) = (Vec::new(), HashSet::new());
        while !names.is_empty() || !of_grown.is_empty() {
            let mut follow = |names: &[String]| {
                let named = names.iter().flat_map(|name| self.synonyms_for(name));
                let new = named.filter(|def| !own.contains(&def.object) && synonyms.insert(def.object));
                new.map(|def| def.name).collect::<Vec<_>>()
            };
            let mut next = follow(&names);
            let next_of_grown = follow(&of_grown);
            left.retain(|(def, text)| {
                let is_hurt = mentions(text, &names) || (def.kind != ObjectKind::View && mentions(text, &of_grown));
                if is_hurt {
                    found.push(def.object);
                    if names_something(def.kind) {
                        next.push(def.name.clone());
                    }
                }
                !is_hurt
            });
            (names, of_grown) = (next, next_of_grown);
        }
        found
    }

    /// The source text of a unit or view.
    fn text_of(&self, def: &ObjectDef) -> String {
        let pieces = |base, column, object| {
            let rows = self.rows_of(base, object, def.object);
            rows.iter().map(|row| as_text(&row[column])).collect::<Vec<_>>().join("\n")
        };
        match def.kind {
            ObjectKind::View => pieces(Base::View, view::TEXT, view::OBJ),
            _ => pieces(Base::Source, source::SOURCE, source::OBJ),
        }
    }

    /// The synonyms of all owners for objects with this name.
    fn synonyms_for(&self, name: &str) -> Vec<ObjectDef> {
        let rows = self.find_rows(Base::Syn, &[syn::NAME], &[text(name)]);
        rows.iter().filter_map(|row| self.object(ObjectId(as_u32(&row[syn::OBJ]))).cloned()).collect()
    }
}

impl Image {
    /// The functions, procedures and packages whose text refers to an object: by its name if they have the same owner,
    /// otherwise with the owner's name or by a synonym for it. Package bodies are not included.
    pub fn units_naming(&self, object: ObjectId) -> Vec<ObjectId> {
        use ObjectKind::{Function, Package, Procedure};
        let units = self.objects_of_kinds(&[Procedure, Function, Package]).into_iter();
        let units = units.filter(|unit| unit.object != object);
        let mut left: Vec<(ObjectDef, String)> = units.map(|unit| (unit.clone(), self.text_of(&unit))).collect();
        let (mut found, mut at) = (vec![object], 0);
        while let Some(def) = found.get(at).and_then(|object| self.object(*object)) {
            let synonyms = self.synonyms_of(def);
            left.retain(|(unit, text)| {
                let has = |names: &[String]| names.iter().all(|name| mentions(text, std::slice::from_ref(name)));
                let name = def.name.clone();
                let by_synonym = |(owner, name): &(UserId, String)| {
                    (*owner == unit.owner_id || *owner == UserId::PUBLIC) && has(std::slice::from_ref(name))
                };
                let named = match unit.owner_id == def.owner_id {
                    true => has(&[name]),
                    false => has(&[name, self.user_name(def.owner_id)]),
                };
                let names_it = named || synonyms.iter().any(by_synonym);
                if names_it {
                    found.push(unit.object);
                }
                !names_it
            });
            at += 1;
        }
        found.remove(0);
        found
    }

    /// Owner and name of the synonyms for an object.
    fn synonyms_of(&self, def: &ObjectDef) -> Vec<(UserId, String)> {
        let owner = self.user_name(def.owner_id);
        let leads = |synonym: &ObjectDef| self.synonym(synonym.object).is_some_and(|to| to.target_owner == owner);
        let synonyms = self.synonyms_for(&def.name).into_iter().filter(leads);
        synonyms.map(|synonym| (synonym.owner_id, synonym.name)).collect()
    }
}

/// True when a text can refer to objects of this kind.
fn names_something(kind: ObjectKind) -> bool {
    use ObjectKind::*;
    matches!(kind, Table | View | Sequence | Synonym | Procedure | Function | Package | Type)
}

/// The kinds of objects that have a source text.
const WITH_TEXT: &[ObjectKind] = {
    use ObjectKind::*;
    &[View, Procedure, Function, Package, PackageBody, Type, TypeBody]
};

fn error_line(row: &[Value]) -> ErrorLine {
    ErrorLine {
        line: as_u32(&row[error::LINE]),
        column: as_u32(&row[error::POSITION]),
        text: as_text(&row[error::TEXT]).to_owned(),
    }
}

impl Change<'_> {
    /// Replaces the errors of an object.
    ///
    /// # Errors
    /// Those of changing rows.
    pub fn replace_errors(&mut self, object: ObjectId, errors: &[ErrorLine]) -> Result<()> {
        self.delete_by(Base::Error, By::new(error::OBJ, object.0))?;
        let row_of = |(i, found): (usize, &ErrorLine)| {
            let mut row = blank(Base::Error);
            row[error::OBJ] = int(object.0);
            row[error::SEQUENCE] = int(i as i64 + 1);
            row[error::LINE] = int(found.line);
            row[error::POSITION] = int(found.column);
            row[error::TEXT] = text(found.text.as_str());
            row
        };
        let rows: Vec<Row> = errors.iter().enumerate().map(row_of).collect();
        if rows.is_empty() { Ok(()) } else { self.insert_many(Base::Error, &rows) }
    }

    /// Stores STATUS and the errors of an object.
    ///
    /// # Errors
    /// Those of changing rows.
    pub fn store_verdict(&mut self, verdict: &Verdict) -> Result<()> {
        self.set_status(&[verdict.object], if verdict.errors.is_empty() { VALID } else { WITH_ERRORS })?;
        self.replace_errors(verdict.object, &verdict.errors)
    }

    /// Sets STATUS of objects, without their errors.
    ///
    /// # Errors
    /// Those of changing rows.
    pub fn set_status(&mut self, objects: &[ObjectId], status: i64) -> Result<()> {
        for object in objects {
            self.update_by(Base::Obj, By::new(obj::OBJ, object.0), &mut |row| row[obj::STATUS] = int(status))?;
        }
        Ok(())
    }
}

impl DictionaryShared {
    /// The verdicts that differ from the dictionary, the last one of each object. A verdict of another epoch must be
    /// made again by its caller.
    ///
    /// # Errors
    /// Those of reading.
    pub fn news(&self, p: &Process, verdicts: Vec<Verdict>) -> Result<Vec<Verdict>> {
        let mut latest: Vec<Verdict> = Vec::new();
        for verdict in verdicts {
            latest.retain(|other| other.object != verdict.object);
            latest.push(verdict);
        }
        if latest.is_empty() {
            return Ok(latest);
        }
        let mut status = HashMap::new();
        let mut stored: HashMap<u32, Vec<(i64, ErrorLine)>> = HashMap::new();
        for verdict in &latest {
            let object = verdict.object.0;
            self.scan_once_by(p, Base::Obj, &[obj::OBJ], &[int(object)], &mut |_, row| {
                status.insert(object, as_i64(&row[obj::STATUS]));
                Ok(())
            })?;
            self.scan_once_by(p, Base::Error, &[error::OBJ], &[int(object)], &mut |_, row| {
                let sequence = as_i64(&row[error::SEQUENCE]).unwrap_or(0);
                stored.entry(object).or_default().push((sequence, error_line(row)));
                Ok(())
            })?;
        }
        let mut is_news = |verdict: &Verdict| match status.get(&verdict.object.0) {
            None => false,
            Some(status) if verdict.errors.is_empty() => *status != Some(VALID),
            Some(status) => {
                let mut lines = stored.remove(&verdict.object.0).unwrap_or_default();
                lines.sort_by_key(|(sequence, _)| *sequence);
                *status != Some(WITH_ERRORS) || !lines.iter().map(|(_, line)| line).eq(&verdict.errors)
            }
        };
        Ok(latest.into_iter().filter(|verdict| is_news(verdict)).collect())
    }

    /// Stores verdicts and commits them, if the dictionary has not changed since they were made. The caller holds the
    /// DD enqueue, and rolls `txn` back when this fails.
    ///
    /// # Errors
    /// Those of changing rows and of the commit.
    pub fn store_verdicts(
        &self,
        p: &Process,
        txn: &mut Txn,
        hook: &dyn CommitHook,
        verdicts: &[Verdict],
    ) -> Result<()> {
        let epoch = self.epoch();
        let good = |verdict: &&Verdict| verdict.epoch == epoch && Self::is_settled(epoch);
        let mut change = Change::new(self, p, txn);
        let mut any = false;
        for verdict in verdicts.iter().filter(good) {
            change.store_verdict(verdict)?;
            any = true;
        }
        if any { change.commit(hook).map(drop) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::mentions;

    #[test]
    fn a_name_is_found_as_a_word() {
        let names = ["BASE_T".to_owned()];
        assert!(mentions("select * from x.base_t where 1 = 1", &names));
        assert!(mentions("select * from \"BASE_T\"", &names));
        assert!(!mentions("select base_t1, a_base_t from base_tt", &names));
        assert!(mentions("select * from \"a name\"", &["a name".to_owned()]));
        assert!(mentions("select * from größe", &["GRÖSSE".to_owned(), "GRÖßE".to_owned()]));
    }
}
