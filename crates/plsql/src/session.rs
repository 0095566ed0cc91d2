//! The face that sessions and DDL use.

use crate::datum::Datum;
use crate::world::{ColumnInfo, World};
use std::marker::PhantomData;
use std::rc::Rc;
use types::{DataType, Result, Value};

/// What PL/SQL keeps for a session: compiled units, package state, open static cursors, DBMS_OUTPUT, the random generator.
///
/// One per server process. All methods take `&self`: PL/SQL calls SQL, which calls PL/SQL functions.
pub struct Plsql<C> {
    _cursor: PhantomData<C>,
}

/// A compiled anonymous block.
pub struct Block {
    binds: Vec<String>,
}

impl Block {
    /// The bind variables in the order of their first use, in upper case.
    pub fn binds(&self) -> &[String] {
        &self.binds
    }
}

/// A stored or packaged function as SQL calls it.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    pub owner: String,
    pub package: Option<String>,
    pub name: String,
    /// Good until the session ends.
    pub handle: u64,
    pub arg_types: Vec<DataType>,
    pub arg_names: Vec<String>,
    /// How many of the arguments have no default.
    pub required: usize,
    pub ty: DataType,
    pub deterministic: bool,
}

/// One line of USER_ERRORS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileError {
    pub line: u32,
    pub column: u32,
    /// `PLS-00201: identifier 'X' must be declared`, `PL/SQL: Statement ignored`.
    pub text: String,
}

impl<C: 'static> Plsql<C> {
    /// `seed` starts DBMS_RANDOM.
    pub fn new(seed: u64) -> Plsql<C> {
        let _ = seed;
        Plsql { _cursor: PhantomData }
    }

    /// Compiles an anonymous block. The same text compiles once: later calls give the same block back until the dictionary changes.
    ///
    /// # Errors
    /// ORA-06550 with the line and column of each error.
    pub fn compile_block<W: World<Cursor = C>>(&self, w: &mut W, text: &str) -> Result<Rc<Block>> {
        let _ = (w, text);
        todo!()
    }

    /// Runs a block. `binds` are in the order of [`Block::binds`], changed in place; a cursor variable comes back as a cursor.
    /// The caller makes the savepoint of the call and rolls back to it when this fails.
    pub fn run_block<W: World<Cursor = C>>(&self, w: &mut W, block: &Rc<Block>, binds: &mut [Datum]) -> Result<()> {
        let _ = (w, block, binds);
        todo!()
    }

    /// Resolves `[owner.][package.]name` for SQL; `None` when there is no such function with so many arguments.
    pub fn function<W: World<Cursor = C>>(&self, w: &mut W, path: &[String], args: usize) -> Result<Option<Function>> {
        let _ = (w, path, args);
        todo!()
    }

    /// Calls a function that [`Plsql::function`] gave.
    pub fn call<W: World<Cursor = C>>(&self, w: &mut W, handle: u64, args: &[Value]) -> Result<Value> {
        let _ = (w, handle, args);
        todo!()
    }

    /// Compiles a stored unit to see its errors: what CREATE and ALTER … COMPILE need. `source` begins at the word PROCEDURE, FUNCTION,
    /// PACKAGE, TYPE or TRIGGER. An error here is the dictionary's, not the unit's.
    pub fn check<W: World<Cursor = C>>(&self, w: &mut W, owner: &str, source: &str) -> Result<Vec<CompileError>> {
        let _ = (w, owner, source);
        todo!()
    }

    /// Takes up to `max` finished lines of DBMS_OUTPUT.
    pub fn take_output(&self, max: usize) -> Vec<String> {
        let _ = max;
        todo!()
    }

    /// DBMS_OUTPUT.ENABLE with a limit in bytes (`None`: unlimited) or DISABLE.
    pub fn set_output(&self, enabled: bool, limit: Option<usize>) {
        let _ = (enabled, limit);
        todo!()
    }

    /// The columns of a cursor that a block left in a bind.
    pub fn cursor_columns<W: World<Cursor = C>>(&self, w: &mut W, cursor: &Datum) -> Result<Vec<ColumnInfo>> {
        let _ = (w, cursor);
        todo!()
    }

    /// Fetches from a cursor that a block left in a bind.
    pub fn cursor_fetch<W: World<Cursor = C>>(&self, w: &mut W, cursor: &Datum, row: &mut Vec<Value>) -> Result<bool> {
        let _ = (w, cursor, row);
        todo!()
    }

    /// Closes every open cursor and forgets package state: DBMS_SESSION.RESET_PACKAGE and the end of a session.
    pub fn reset(&self) {
        todo!()
    }
}
