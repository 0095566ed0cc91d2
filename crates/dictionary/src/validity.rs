//! STATUS of units and views: the objects that a change may invalidate, and the results of compiling them again.
//!
//! The dictionary keeps no rows of dependencies, but rows of words (`words`). The candidates of a change are the valid
//! units and views whose text refers by name to a changed object or to another candidate. These are more than Oracle's
//! dependents; DDL compiles the candidates after its commit, and those without errors become valid again (D13).

use crate::base::{Base, error, obj, source, syn, view, word};
use crate::change::{By, Change};
use crate::image::Image;
use crate::rows::{Row, as_i64, as_text, as_u32, blank, int, text};
use crate::shared::DictionaryShared;
use crate::words::{is_part, noted};
use crate::{ObjectDef, ObjectKind, UserId};
use process::Process;
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, HashSet};
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
    /// refers to one of these objects, or to an object found before, as [`Reference`] says. Columns added to a table in
    /// `grown` invalidate units, but not views.
    pub fn dependents_of(&self, changed: &[ObjectId], grown: &[ObjectId]) -> Vec<ObjectId> {
        let references = |list: &[ObjectId]| -> Vec<Reference> {
            let named = list.iter().filter_map(|object| self.object(*object)).filter(|def| names_something(def.kind));
            named.map(|def| self.reference(def)).collect()
        };
        // The references that invalidate units and views, and those that invalidate units only.
        let (mut to_all, mut to_units) = (references(changed), references(grown));
        if to_all.is_empty() && to_units.is_empty() {
            return Vec::new();
        }
        let own: HashSet<ObjectId> = changed.iter().chain(grown).copied().collect();
        let (mut found, mut synonyms) = (Vec::new(), HashSet::new());
        let mut texts = Texts::default();
        while !to_all.is_empty() || !to_units.is_empty() {
            let mut follow = |to: &[Reference]| {
                let named = to.iter().flat_map(|to| self.synonyms_of(to));
                let new = named.filter(|def| !own.contains(&def.object) && synonyms.insert(def.object));
                new.map(|def| self.reference(&def)).collect::<Vec<_>>()
            };
            let mut next = follow(&to_all);
            let next_to_units = follow(&to_units);
            for def in self.with_words_of(to_all.iter().chain(&to_units), WITH_TEXT) {
                if !def.valid || own.contains(&def.object) || found.contains(&def.object) {
                    continue;
                }
                let text = texts.of(self, &def);
                let refers = |to: &[Reference]| to.iter().any(|to| to.is_in(text, def.owner_id));
                if refers(&to_all) || (def.kind != ObjectKind::View && refers(&to_units)) {
                    found.push(def.object);
                    if names_something(def.kind) {
                        next.push(self.reference(&def));
                    }
                }
            }
            (to_all, to_units) = (next, next_to_units);
        }
        found
    }

    /// The objects of these kinds whose text has the name of one of the references as a word, by their numbers; all of
    /// these kinds if there is a name that no row of WORD$ has.
    fn with_words_of<'r>(&self, to: impl Iterator<Item = &'r Reference>, kinds: &[ObjectKind]) -> Vec<ObjectDef> {
        let mut objects = BTreeSet::new();
        for reference in to {
            let Some(name) = noted(&reference.names[0]) else { return self.objects_of_kinds(kinds) };
            let rows = self.find_rows(Base::Word, &[word::WORD], &[text(name)]);
            objects.extend(rows.iter().map(|row| as_u32(&row[word::OBJ])));
        }
        let defs = objects.into_iter().filter_map(|object| self.object(ObjectId(object)));
        defs.filter(|def| kinds.contains(&def.kind)).cloned().collect()
    }

    fn reference(&self, def: &ObjectDef) -> Reference {
        let owner = self.user_name(def.owner_id);
        Reference { owner_id: def.owner_id, names: [def.name.clone(), owner] }
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

    /// The synonyms for an object, of all owners.
    fn synonyms_of(&self, to: &Reference) -> Vec<ObjectDef> {
        let [name, owner] = &to.names;
        let rows = self.find_rows(Base::Syn, &[syn::NAME], &[text(name)]);
        let rows = rows.iter().filter(|row| as_text(&row[syn::OWNER]) == owner && as_text(&row[syn::NODE]).is_empty());
        rows.filter_map(|row| self.object(ObjectId(as_u32(&row[syn::OBJ]))).cloned()).collect()
    }
}

impl Image {
    /// The functions, procedures and packages whose text refers to an object or to a synonym for it, directly or by
    /// other units. Package bodies are not included.
    pub fn units_naming(&self, object: ObjectId) -> Vec<ObjectId> {
        const UNITS: &[ObjectKind] = &[ObjectKind::Procedure, ObjectKind::Function, ObjectKind::Package];
        let mut texts = Texts::default();
        let (mut found, mut at) = (vec![object], 0);
        while let Some(def) = found.get(at).and_then(|object| self.object(*object)) {
            let to = self.reference(def);
            let synonyms = self.synonyms_of(&to);
            let to: Vec<Reference> = synonyms.iter().map(|synonym| self.reference(synonym)).chain([to]).collect();
            for unit in self.with_words_of(to.iter(), UNITS) {
                if found.contains(&unit.object) {
                    continue;
                }
                let text = texts.of(self, &unit);
                if to.iter().any(|to| to.is_in(text, unit.owner_id)) {
                    found.push(unit.object);
                }
            }
            at += 1;
        }
        found.remove(0);
        found
    }
}

/// Texts that were read.
#[derive(Default)]
struct Texts(HashMap<ObjectId, String>);

impl Texts {
    fn of(&mut self, image: &Image, def: &ObjectDef) -> &str {
        self.0.entry(def.object).or_insert_with(|| image.text_of(def))
    }
}

/// An object that texts refer to: by its name alone in the schema of its owner, and everywhere if it belongs to SYS or
/// is a public synonym; elsewhere by the names of the owner and the object. A text that has these words for another
/// reason is taken to refer to the object, too.
struct Reference {
    owner_id: UserId,
    /// The object's name, and its owner's.
    names: [String; 2],
}

impl Reference {
    /// True when a text in the schema of `reader` refers to the object.
    fn is_in(&self, text: &str, reader: UserId) -> bool {
        let by_name = reader == self.owner_id || matches!(self.owner_id, UserId::SYS | UserId::PUBLIC);
        mentions(text, &self.names[..1]) && (by_name || mentions(text, &self.names[1..]))
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
    &[View, Procedure, Function, Package, PackageBody, Type, TypeBody, Trigger]
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
