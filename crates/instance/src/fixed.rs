//! The interface of the V$ and X$ tables, and of the function that makes them for a session.
//!
//! This file and [`crate::instance`] are one thought and import each other: the instance keeps the function that makes
//! the tables, and the tables look at the instance.

use crate::instance::Instance;
use dictionary::{FixedCatalog, FixedId};
use exec::FixedTable;
use params::SessionParams;
use process::Process;
use std::cell::RefCell;
use std::rc::Rc;

/// The V$ and X$ tables of a session. `views` implements this trait.
pub trait FixedTables {
    /// Their names and columns.
    fn catalog(&self) -> Rc<dyn FixedCatalog>;
    /// The table with this number.
    fn table(&self, id: FixedId) -> &dyn FixedTable;
}

/// The parts of a session that its fixed tables read.
#[derive(Clone)]
pub struct SessionFace {
    pub instance: &'static Instance,
    /// The process of the session.
    pub p: Rc<Process>,
    pub params: Rc<RefCell<SessionParams>>,
}

/// Makes the fixed tables of a session.
pub type MakeFixedTables = fn(SessionFace) -> Rc<dyn FixedTables>;
