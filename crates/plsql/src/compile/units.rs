//! The units, interfaces and blocks that a session has compiled.

use super::question::Questions;
use super::scope::{Interface, ObjectSym};
use crate::code::{Compiled, HostTypes};
use crate::datum::CollKind;
use crate::ty::{CollTy, Ty};
use crate::world::{StoredUnit, World};
use sql::plsql::ast::UnitKind;
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use types::{Lineage, TypeDef, TypeId, TypeShape};

/// Owner and name of a unit.
pub(super) type Key = (String, String);

/// The asking user by [`World::identity`], the schema, and the name.
///
/// Lengths of texts without a unit are in bytes or in characters by the session's setting at that time.
type InterfaceKey = (u128, u64, Option<String>, String, String);

/// Owner and name of a unit, and the length semantics.
type ShownKey = (String, String, u64);

/// The interface of a name, with the questions that found it.
type KnownInterface = (Option<Shown>, Rc<Questions>);

/// The identity and the settings for which a block was compiled.
type BlockOf = (u128, [u64; 3]);

/// The compiled blocks of a text.
type ByIdentity = Vec<(BlockOf, HostTypes, Rc<Compiled>)>;

/// The owner of the unit with a name, and its interface.
#[derive(Clone)]
pub(super) struct Shown {
    pub(super) owner: String,
    pub(super) name: String,
    pub(super) interface: Interface,
}

/// The units compiled in this process, valid for one dictionary epoch.
#[derive(Default)]
pub struct Units {
    pub(super) interfaces: RefCell<HashMap<InterfaceKey, KnownInterface>>,
    /// Interfaces of units by owner, name and length semantics: all users get the same one, with the same types.
    pub(super) shown: RefCell<HashMap<ShownKey, (Interface, Rc<Questions>)>>,
    pub(super) compiled: RefCell<HashMap<Key, Rc<Compiled>>>,
    /// Triggers by their numbers, and those with errors found in this call.
    pub(super) triggers: RefCell<HashMap<u32, Rc<Compiled>>>,
    pub(super) failed_triggers: RefCell<HashSet<u32>>,
    /// Units with errors found in this call. Without this list, units that call one another would each be compiled
    /// again for each order in which they can be named.
    pub(super) failed: RefCell<HashMap<Key, Failed>>,
    /// Anonymous blocks by their text, each with the identity it was compiled for.
    blocks: RefCell<HashMap<String, ByIdentity>>,
    pub(super) in_progress: RefCell<HashSet<Key>>,
    pub(super) compiling: RefCell<HashSet<Key>>,
    /// The unit that CREATE compiles: it replaces the stored one with its name.
    pub(super) creating: RefCell<Option<StoredUnit>>,
    /// Types of collections that SQL knows by number, after their first use.
    pub(super) types: RefCell<HashMap<TypeId, Rc<TypeDef>>>,
    /// The methods of object types, after their first use.
    pub(super) objects: RefCell<HashMap<TypeId, Rc<ObjectSym>>>,
    /// The questions of each unit that is being compiled, innermost last.
    pub(super) questions: RefCell<Vec<Questions>>,
    /// The last image read, kept for its memory.
    pub(super) image: RefCell<Vec<u8>>,
    epoch: Cell<u64>,
}

/// A unit with errors.
#[derive(Clone, Copy)]
pub(super) struct Failed {
    /// Its specification, or its body.
    pub(super) kind: UnitKind,
    /// It has errors even without its body.
    pub(super) alone: bool,
}

/// Largest number of blocks by text; beyond it the store is emptied.
const BLOCKS_MAX: usize = 200;

/// Identities for which the blocks of one text are kept.
const IDENTITIES_MAX: usize = 8;

impl Units {
    /// Drops everything when the dictionary has changed.
    pub fn validate(&self, epoch: u64) {
        if self.epoch.replace(epoch) != epoch {
            self.interfaces.borrow_mut().clear();
            self.shown.borrow_mut().clear();
            self.types.borrow_mut().clear();
            self.objects.borrow_mut().clear();
            self.compiled.borrow_mut().clear();
            self.triggers.borrow_mut().clear();
            self.blocks.borrow_mut().clear();
        }
    }

    pub fn epoch(&self) -> u64 {
        self.epoch.get()
    }

    /// Drops every compiled unit, with its open cursors.
    pub fn forget(&self) {
        self.interfaces.borrow_mut().clear();
        self.shown.borrow_mut().clear();
        self.compiled.borrow_mut().clear();
        self.triggers.borrow_mut().clear();
        self.forget_failures();
        self.blocks.borrow_mut().clear();
    }

    /// Drops the list of units with errors: their next use compiles them again.
    pub fn forget_failures(&self) {
        if !self.failed.borrow().is_empty() {
            self.failed.borrow_mut().clear();
        }
        if !self.failed_triggers.borrow().is_empty() {
            self.failed_triggers.borrow_mut().clear();
        }
    }

    /// A type of a schema with its number, if SQL can use it: its elements are scalars.
    pub(super) fn catalogued(&self, unit: &StoredUnit, id: Option<TypeId>, ty: Ty) -> Ty {
        let Ty::Coll(c) = &ty else { return ty };
        let (Some(id), Some(element)) = (id.filter(|id| id.0 != 0), c.element.data_type()) else { return ty };
        let shape = match (c.info.kind, c.info.limit) {
            (CollKind::Varray, Some(limit)) => TypeShape::Varray { element, limit },
            (CollKind::Nested, _) => TypeShape::Table { element },
            _ => return ty,
        };
        let def =
            TypeDef { id, owner: unit.owner.clone(), name: unit.name.clone(), shape, lineage: Lineage::default() };
        self.types.borrow_mut().insert(id, Rc::new(def));
        let (element, info) = (c.element.clone(), c.info.clone());
        Ty::Coll(Rc::new(CollTy { element, info, is_host: false, id: Some(id) }))
    }

    pub(super) fn is_creating(&self, owner: &str, name: &str) -> bool {
        self.creating.borrow().as_ref().is_some_and(|unit| unit.owner == owner && unit.name == name)
    }

    /// Whether the unit is being compiled by an outer compilation.
    pub fn is_compiling(&self, owner: &str, name: &str) -> bool {
        self.compiling.borrow().iter().any(|(o, n)| o == owner && n == name)
    }

    /// Keeps a block for the identity in force.
    pub(super) fn note_block<W: World>(&self, w: &W, text: &str, types: &HostTypes, block: &Rc<Compiled>) {
        let mut blocks = self.blocks.borrow_mut();
        if blocks.len() >= BLOCKS_MAX {
            blocks.clear();
        }
        let kept = blocks.entry(text.to_string()).or_default();
        let now = (w.identity(), w.settings());
        kept.retain(|(identity, of, _)| (*identity, of) != (now, types));
        if kept.len() >= IDENTITIES_MAX {
            kept.remove(0);
        }
        kept.push((now, types.clone(), block.clone()));
    }

    /// The block compiled from this text for the identity in force, with binds of those types or of any.
    pub fn known_block<W: World>(&self, w: &W, text: &str, types: Option<&HostTypes>) -> Option<Rc<Compiled>> {
        let blocks = self.blocks.borrow();
        let now = (w.identity(), w.settings());
        let is_it = |of: &HostTypes| types.is_none_or(|types| types == of);
        let (_, _, block) = blocks.get(text)?.iter().find(|(identity, of, _)| *identity == now && is_it(of))?;
        Some(block.clone())
    }
}

/// The specification of a built-in package.
pub(super) fn built_in(name: &str, source: &str, kind: UnitKind) -> StoredUnit {
    let (owner, source) = (String::new(), source.to_string());
    StoredUnit { owner, name: name.into(), kind, source, settings: Rc::default() }
}
