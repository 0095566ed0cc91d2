//! The look-ups of a plan, and whether they would have the same answers now.
//!
//! A plan is determined by its text and by the names and privileges of a session (P23). The compiler asks only the
//! dictionary and the host, so the plan stays valid as long as every answer is the same. This covers cases that a list
//! of objects does not: a private table that hides a synonym, a revoked privilege, a disabled role.
//!
//! An answer has a number for the state of a definition instead of the definition ([`dictionary::States`]).

use crate::ir::HostFunction;
use crate::services::{Functions, TextOwner};
use dictionary::{
    Catalog, IndexDef, ObjectName, ObjectPrivilege, ProcedureDef, Resolved, SequenceDef, States, TableDef, UserId,
    ViewDef,
};
use std::cell::RefCell;
use std::rc::Rc;
use types::image::Image;
use types::{DataType, ObjectId, Ora, Result};

/// The resolver of a question: 0 is the statement's own; others are owners of views, in the order in which they were
/// first asked.
type Side = u32;

/// A question and its answer.
#[derive(Clone, Debug, PartialEq, Image)]
pub enum Lookup {
    /// The names as an owner sees them: begins another side.
    Owner {
        side: Side,
        owner: UserId,
    },
    Relation {
        side: Side,
        schema: Option<String>,
        name: String,
        state: Option<u64>,
    },
    Sequence {
        side: Side,
        schema: Option<String>,
        name: String,
        state: Option<u64>,
    },
    Unit {
        side: Side,
        schema: Option<String>,
        name: String,
        state: Option<u64>,
    },
    Table {
        object: ObjectId,
        state: Option<u64>,
    },
    Index {
        object: ObjectId,
        state: Option<u64>,
    },
    Allowed {
        side: Side,
        object: ObjectId,
        owner: UserId,
        privilege: u8,
        column: Option<usize>,
        answer: bool,
    },
    OwnName {
        side: Side,
        name: String,
        answer: bool,
    },
    Function {
        text_owner: Option<TextOwner>,
        path: Vec<String>,
        args: Vec<DataType>,
        found: Option<Box<HostFunction>>,
    },
}

/// Beyond this number, a look-up is compared with its predecessor only.
const COMPARED_MOST: usize = 64;

/// Collects look-ups.
pub struct Notes<'a> {
    lookups: RefCell<Vec<Lookup>>,
    sides: std::cell::Cell<Side>,
    states: &'a RefCell<States>,
}

impl<'a> Notes<'a> {
    pub fn new(states: &'a RefCell<States>) -> Notes<'a> {
        Notes { lookups: RefCell::default(), sides: std::cell::Cell::new(0), states }
    }

    fn note(&self, lookup: Lookup) {
        let mut all = self.lookups.borrow_mut();
        let from = if all.len() > COMPARED_MOST { all.len() - 1 } else { 0 };
        if !all[from..].contains(&lookup) {
            all.push(lookup);
        }
    }

    /// All look-ups, each once.
    pub fn into_lookups(self) -> Vec<Lookup> {
        self.lookups.into_inner()
    }
}

/// A catalog that notes its look-ups.
pub struct Noting<'a> {
    names: Inner<'a>,
    side: Side,
    notes: &'a Notes<'a>,
}

enum Inner<'a> {
    Of(&'a dyn Catalog),
    Owned(Box<dyn Catalog + 'a>),
}

impl<'a> Noting<'a> {
    pub fn new(names: &'a dyn Catalog, notes: &'a Notes<'a>) -> Noting<'a> {
        Noting { names: Inner::Of(names), side: 0, notes }
    }

    fn names(&self) -> &dyn Catalog {
        match &self.names {
            Inner::Of(names) => *names,
            Inner::Owned(names) => &**names,
        }
    }

    fn state(&self, resolved: &Resolved) -> u64 {
        self.notes.states.borrow_mut().of_resolved(resolved, self.names().epoch())
    }
}

impl Catalog for Noting<'_> {
    fn system_statistics(&self) -> dictionary::SystemStatistics {
        self.names().system_statistics()
    }

    fn user(&self) -> (UserId, String) {
        self.names().user()
    }

    fn schema(&self) -> (UserId, String) {
        self.names().schema()
    }

    fn relation(&self, schema: Option<&str>, name: &str) -> Result<Option<Resolved>> {
        let found = self.names().relation(schema, name)?;
        let state = found.as_ref().map(|found| self.state(found));
        self.notes.note(Lookup::Relation { side: self.side, schema: schema.map(Into::into), name: name.into(), state });
        Ok(found)
    }

    fn sequence(&self, schema: Option<&str>, name: &str) -> Result<Option<Rc<SequenceDef>>> {
        let found = self.names().sequence(schema, name)?;
        let state = found.as_ref().map(|found| self.state(&Resolved::Sequence(Rc::clone(found))));
        self.notes.note(Lookup::Sequence { side: self.side, schema: schema.map(Into::into), name: name.into(), state });
        Ok(found)
    }

    fn unit(&self, schema: Option<&str>, name: &str) -> Result<Option<Rc<ProcedureDef>>> {
        let found = self.names().unit(schema, name)?;
        let state = found.as_ref().map(|found| self.state(&Resolved::Unit(Rc::clone(found))));
        self.notes.note(Lookup::Unit { side: self.side, schema: schema.map(Into::into), name: name.into(), state });
        Ok(found)
    }

    fn table_by_id(&self, object: ObjectId) -> Result<Option<Rc<TableDef>>> {
        let found = self.names().table_by_id(object)?;
        let state = found.as_ref().map(|found| self.state(&Resolved::Table(Rc::clone(found))));
        self.notes.note(Lookup::Table { object, state });
        Ok(found)
    }

    fn index_by_id(&self, object: ObjectId) -> Result<Option<Rc<IndexDef>>> {
        let found = self.names().index_by_id(object)?;
        let epoch = self.names().epoch();
        let state = found.as_ref().map(|found| self.notes.states.borrow_mut().of_index(found, epoch));
        self.notes.note(Lookup::Index { object, state });
        Ok(found)
    }

    fn sequence_by_id(&self, object: ObjectId) -> Result<Option<Rc<SequenceDef>>> {
        self.names().sequence_by_id(object)
    }

    fn allowed(&self, object: ObjectId, owner: UserId, privilege: ObjectPrivilege) -> Result<bool> {
        let answer = self.names().allowed(object, owner, privilege)?;
        let (side, privilege) = (self.side, privilege as u8);
        self.notes.note(Lookup::Allowed { side, object, owner, privilege, column: None, answer });
        Ok(answer)
    }

    fn allowed_column(
        &self,
        object: ObjectId,
        owner: UserId,
        privilege: ObjectPrivilege,
        column: usize,
    ) -> Result<bool> {
        let answer = self.names().allowed_column(object, owner, privilege, column)?;
        let (side, privilege) = (self.side, privilege as u8);
        self.notes.note(Lookup::Allowed { side, object, owner, privilege, column: Some(column), answer });
        Ok(answer)
    }

    fn is_own_name(&self, name: &str) -> bool {
        let answer = self.names().is_own_name(name);
        self.notes.note(Lookup::OwnName { side: self.side, name: name.into(), answer });
        answer
    }

    fn as_owner(&self, owner: UserId) -> Result<Box<dyn Catalog + '_>> {
        let names = self.names().as_owner(owner)?;
        // Not compared with earlier ones, because sides are numbered.
        self.notes.lookups.borrow_mut().push(Lookup::Owner { side: self.side, owner });
        self.notes.sides.set(self.notes.sides.get() + 1);
        Ok(Box::new(Noting { names: Inner::Owned(names), side: self.notes.sides.get(), notes: self.notes }))
    }

    fn called(&self, object: ObjectId) -> Option<ObjectName> {
        self.names().called(object)
    }

    fn take_followed(&self) -> Vec<ObjectId> {
        self.names().take_followed()
    }

    fn view_compiled(&self, view: &ViewDef, error: Option<&Ora>) {
        self.names().view_compiled(view, error);
    }

    fn epoch(&self) -> u64 {
        self.names().epoch()
    }
}

/// Functions with noted look-ups.
pub struct NotingFunctions<'a> {
    pub functions: &'a dyn Functions,
    pub notes: &'a Notes<'a>,
}

impl Functions for NotingFunctions<'_> {
    /// Not noted: a plan that names a type of a schema has no image.
    fn type_def(&self, id: types::TypeId) -> Option<Rc<types::TypeDef>> {
        self.functions.type_def(id)
    }

    fn check_cancel(&self) -> Result<()> {
        self.functions.check_cancel()
    }

    fn function(
        &self,
        text_owner: Option<TextOwner>,
        path: &[String],
        args: &[DataType],
    ) -> Result<Option<HostFunction>> {
        let answer = self.functions.function(text_owner, path, args)?;
        let (path, args, found) = (path.to_vec(), args.to_vec(), answer.clone().map(Box::new));
        self.notes.note(Lookup::Function { text_owner, path, args, found });
        Ok(answer)
    }
}

/// The session's handles of the looked-up functions, in order. The function numbers of an image are positions in this
/// list.
pub fn handles(lookups: &[Lookup]) -> Vec<u64> {
    let handle = |lookup: &Lookup| match lookup {
        Lookup::Function { found: Some(found), .. } => Some(found.handle),
        _ => None,
    };
    lookups.iter().filter_map(handle).collect()
}

/// Repeats the look-ups of all functions. `None` if one of them resolves to another function now.
///
/// # Errors
/// Those of the look-ups.
pub fn find_functions(lookups: &[Lookup], functions: &dyn Functions) -> Result<Option<Vec<u64>>> {
    let mut handles = Vec::new();
    for lookup in lookups {
        let Lookup::Function { text_owner, path, args, found } = lookup else { continue };
        let now = functions.function(*text_owner, path, args)?;
        match (found, now) {
            (None, None) => {}
            (Some(then), Some(now)) => {
                handles.push(now.handle);
                if **then != (HostFunction { handle: then.handle, ..now }) {
                    return Ok(None);
                }
            }
            _ => return Ok(None),
        }
    }
    Ok(Some(handles))
}

/// The first look-up whose answer has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Difference {
    /// A name resolves to another object, or to none.
    Name,
    /// A privilege was granted or revoked.
    Privilege,
}

/// Whether all names have the same meaning and the same privileges. Functions are checked separately.
///
/// # Errors
/// Those of the look-ups.
pub fn is_same(lookups: &[Lookup], names: &dyn Catalog, states: &RefCell<States>) -> Result<bool> {
    difference(lookups, names, states).map(|difference| difference.is_none())
}

/// As [`is_same`], with the kind of difference. The names may be those of another user than the first one.
///
/// # Errors
/// Those of the look-ups.
pub fn difference(lookups: &[Lookup], names: &dyn Catalog, states: &RefCell<States>) -> Result<Option<Difference>> {
    // An owner's names are borrowed from the side that asked for them, so sides are visited depth first.
    let mut at = Visit { lookups, states, epoch: names.epoch() };
    at.visit(0, names)
}

struct Visit<'a> {
    lookups: &'a [Lookup],
    states: &'a RefCell<States>,
    epoch: u64,
}

impl Visit<'_> {
    fn visit(&mut self, of: Side, names: &dyn Catalog) -> Result<Option<Difference>> {
        let mut opened = 0;
        for lookup in self.lookups {
            if let Lookup::Owner { side, owner } = lookup {
                opened += 1;
                if *side == of
                    && let Some(difference) = self.visit(opened, &*names.as_owner(*owner)?)?
                {
                    return Ok(Some(difference));
                }
            } else if !self.answer_is_same(of, lookup, names)? {
                let is_privilege = matches!(lookup, Lookup::Allowed { .. });
                return Ok(Some(if is_privilege { Difference::Privilege } else { Difference::Name }));
            }
        }
        Ok(None)
    }

    fn answer_is_same(&self, of: Side, lookup: &Lookup, names: &dyn Catalog) -> Result<bool> {
        let resolved = |now: Option<Resolved>| now.map(|now| self.states.borrow_mut().of_resolved(&now, self.epoch));
        Ok(match lookup {
            Lookup::Relation { side, schema, name, state } if *side == of => {
                *state == resolved(names.relation(schema.as_deref(), name)?)
            }
            Lookup::Sequence { side, schema, name, state } if *side == of => {
                *state == resolved(names.sequence(schema.as_deref(), name)?.map(Resolved::Sequence))
            }
            Lookup::Unit { side, schema, name, state } if *side == of => {
                *state == resolved(names.unit(schema.as_deref(), name)?.map(Resolved::Unit))
            }
            Lookup::Allowed { side, object, owner, privilege, column, answer } if *side == of => {
                let Some(privilege) = ObjectPrivilege::from_code(*privilege) else { return Ok(false) };
                *answer
                    == match column {
                        None => names.allowed(*object, *owner, privilege)?,
                        Some(column) => names.allowed_column(*object, *owner, privilege, *column)?,
                    }
            }
            Lookup::OwnName { side, name, answer } if *side == of => *answer == names.is_own_name(name),
            // The answer is the same for every user.
            Lookup::Table { object, state } if of == 0 => {
                *state == resolved(names.table_by_id(*object)?.map(Resolved::Table))
            }
            Lookup::Index { object, state } if of == 0 => {
                let now = names.index_by_id(*object)?;
                *state == now.map(|now| self.states.borrow_mut().of_index(&now, self.epoch))
            }
            _ => true,
        })
    }
}
