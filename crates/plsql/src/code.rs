//! Compiled units and blocks.

use crate::op::{Pool, Proc};
use crate::ty::HostType;
use exec::RowOf;
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use types::image::{self, Image};
use types::{ObjectId, TypeId};

/// The owner of a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    pub name: Rc<str>,
    /// [`crate::World::owner_number`].
    pub number: u32,
}

/// The resolution of an external: a subprogram of a unit, or a package's state.
#[derive(Debug)]
pub struct Link {
    pub unit: Rc<Compiled>,
    pub at: u32,
    /// The dictionary epoch of the resolution.
    pub epoch: u64,
}

/// The names and privileges with which a unit runs.
#[derive(Debug)]
pub enum Rights {
    /// The caller's: an anonymous block, a built-in unit.
    Callers,
    /// Its owner's.
    Definers(Owner),
    /// The caller's, which the owner must be allowed to use.
    Invokers(Owner),
}

/// The use of a host bind by a block's code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, types::image::Image)]
pub struct BindUse {
    /// Its value is read.
    pub is_read: bool,
    /// It is assigned: a target of an assignment, or an argument of an OUT parameter.
    pub is_written: bool,
}

/// The use of a column of a trigger's row by its code: a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowUse {
    pub of: RowOf,
    /// The position of the column in the table.
    pub column: u16,
    pub is_read: bool,
    pub is_written: bool,
    /// It is an argument of a stored subprogram. A statement expects it to be assigned, because the parameter may
    /// become one of mode OUT without a change of the trigger.
    pub is_passed: bool,
}

impl Image for RowUse {
    fn put(&self, w: &mut image::Writer) {
        (self.of == RowOf::New).put(w);
        self.column.put(w);
        (self.is_read, self.is_written, self.is_passed).put(w);
    }
    fn take(r: &mut image::Reader<'_>) -> Result<RowUse, image::Damaged> {
        let of = if bool::take(r)? { RowOf::New } else { RowOf::Old };
        let column = u16::take(r)?;
        let (is_read, is_written, is_passed) = Image::take(r)?;
        Ok(RowUse { of, column, is_read, is_written, is_passed })
    }
}

/// Names of a block's binds, with their types if known.
pub type HostTypes = Rc<[(String, HostType)]>;

/// A compiled unit.
#[derive(Debug)]
pub struct Compiled {
    pub owner: String,
    pub rights: Rights,
    /// Empty for an anonymous block.
    pub name: String,
    pub pool: Pool,
    pub procs: Vec<Rc<Proc>>,
    /// The block's body, a package's initialisation, a subprogram's own code.
    pub main: u32,
    /// Subprograms by name and overload.
    pub exports: HashMap<(String, u32), u32>,
    pub package_slots: u32,
    /// The number that is published while a subprogram runs, by its index in `procs`; 0 for subprograms that count as
    /// their callers.
    pub told_as: Vec<u64>,
    /// Host binds of a block.
    pub binds: Vec<String>,
    /// The use of each of them by the block.
    pub bind_uses: Vec<BindUse>,
    /// The objects that its static statements read.
    pub depends: Vec<ObjectId>,
    /// Units whose functions its static statements call.
    pub calls: Vec<(String, String)>,
    /// The resolutions of externals; filled at their first use.
    pub links: RefCell<Vec<Option<Link>>>,
    /// The methods of objects of subtypes, by external and type; filled at their first call.
    pub(crate) dispatched: RefCell<HashMap<(u32, TypeId), Link>>,
    /// Open cursors of the static statements, taken while they run.
    pub(crate) statements: RefCell<Vec<Option<Box<dyn Any>>>>,
    /// The last statement of each dynamic statement, taken while it runs.
    pub(crate) dynamics: RefCell<Vec<Option<Box<dyn Any>>>>,
    /// The source: an unchanged package keeps its state.
    pub source: String,
    /// The times of definition: ALTER PACKAGE … COMPILE discards the state of an unchanged package, too.
    pub defined: [u64; 2],
    /// A hash of the variables of a package and their types (`compile::shape`).
    pub layout: u64,
    /// A hash of the unit's interface.
    pub shown: u64,
    /// The package has variables, cursors, or constants that are no literals. A session loses nothing when a package
    /// without state is replaced.
    pub has_state: bool,
    /// The columns of a trigger's rows that it uses, in the order of its parameters.
    pub rows: Vec<RowUse>,
    /// A trigger asks for the columns that an UPDATE sets.
    pub asks_columns: bool,
    /// The call in which the session last reported that it runs the unit ([`crate::World::unit_runs`]).
    pub(crate) runs_in: Cell<u64>,
}

impl Compiled {
    /// Takes a statement's open cursor.
    #[inline]
    pub fn take_statement(&self, sql: u32) -> Option<Box<dyn Any>> {
        self.statements.borrow_mut()[sql as usize].take()
    }

    /// Puts a statement's cursor back.
    pub fn give_statement(&self, sql: u32, cursor: Box<dyn Any>) {
        self.statements.borrow_mut()[sql as usize] = Some(cursor);
    }

    /// Takes the last statement of a dynamic statement.
    #[inline]
    pub fn take_dynamic(&self, dynamic: u32) -> Option<Box<dyn Any>> {
        self.dynamics.borrow_mut().get_mut(dynamic as usize)?.take()
    }

    /// Puts the last statement of a dynamic statement back, and returns the one found there, which an inner run of the
    /// same statement has left.
    pub fn give_dynamic(&self, dynamic: u32, ran: Box<dyn Any>) -> Option<Box<dyn Any>> {
        let mut all = self.dynamics.borrow_mut();
        if all.len() <= dynamic as usize {
            all.resize_with(dynamic as usize + 1, || None);
        }
        all[dynamic as usize].replace(ran)
    }

    /// The unit's name in the form of error stacks.
    pub fn qualified(&self) -> String {
        match self.name.as_str() {
            "" => String::new(),
            name => format!("{}.{name}", self.owner),
        }
    }
}

/// A compiled anonymous block.
pub struct Block {
    pub(crate) unit: Rc<Compiled>,
    /// The dictionary epoch for which it is valid.
    pub(crate) epoch: u64,
    /// The identity and the settings for which it was compiled.
    pub(crate) identity: u128,
    pub(crate) settings: [u64; 3],
}

impl Block {
    /// The bind variables in the order of their first use, in upper case.
    pub fn binds(&self) -> &[String] {
        &self.unit.binds
    }

    /// The block's uses of each of them.
    pub fn bind_uses(&self) -> &[BindUse] {
        &self.unit.bind_uses
    }

    /// The tables and views that its static SQL reads or changes.
    pub fn reads(&self) -> &[ObjectId] {
        &self.unit.depends
    }

    /// Owner and name of the stored units that it calls or names; the owner of a built-in unit is empty.
    pub fn units(&self) -> impl Iterator<Item = (&str, &str)> {
        let named = self.unit.pool.externals.iter().map(|e| (e.owner.as_str(), e.name.as_str()));
        named.chain(self.unit.calls.iter().map(|(owner, name)| (owner.as_str(), name.as_str())))
    }
}
