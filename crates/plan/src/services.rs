//! The services that the compiler takes from its caller: functions, variables, samples, and records of what it used.

use crate::ir::HostFunction;
use dictionary::{ColumnUse, UserId};
use sql::ast;
use types::{DataType, ObjectId, Result};

/// The type of a bind, as far as the caller knows it; `None` is treated as VARCHAR2.
pub type BindType = Option<DataType>;

/// The owner of a view's or a table expression's text: its functions are resolved with the owner's names and
/// privileges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, types::image::Image)]
pub struct TextOwner {
    pub owner: UserId,
    /// BEQUEATH CURRENT_USER: functions with invoker's rights run for the user of the statement, not for the owner.
    pub bequeaths: bool,
    /// The text of a view: other users may call only functions that its owner may grant to them.
    pub view: bool,
    /// A catalog view: UID is the user whose privileges are in force, so that USER_ views inside a unit with definer's
    /// rights show the owner's objects.
    pub catalog: bool,
}

/// Statistics feedback: the factor between the actual and the estimated rows of a scan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Correction {
    /// [`scan_number`].
    pub scan: u64,
    pub factor: f64,
}

/// A number that identifies a table reference of a statement.
pub fn scan_number(alias: &str, table: types::ObjectId) -> u64 {
    use std::hash::{Hash, Hasher};
    let mut hasher = std::hash::DefaultHasher::new();
    (alias, table.0).hash(&mut hasher);
    hasher.finish()
}

/// Dynamic sampling: reads a sample of a table's rows.
pub trait Sampler {
    /// Statistics of a table and of the columns at these positions (ascending), from at most `blocks_most` of its
    /// blocks. `None`: the table cannot be sampled.
    ///
    /// # Errors
    /// Those of reading.
    fn sample(&self, table: &dictionary::TableDef, columns: &[usize], blocks_most: u64) -> Result<Option<Sampled>>;
}

/// Statistics of a table computed from a sample.
pub struct Sampled {
    pub table: dictionary::TableStatistics,
    /// Columns by position.
    pub columns: Vec<(usize, dictionary::ColumnStatistics)>,
}

/// First part of a path of [`Functions::function`] that names a type: its constructor over the attributes is found.
pub const TYPE: &str = "\0TYPE";
/// First part of a path that names a method of the type of the first argument, which is SELF.
pub const METHOD: &str = "\0METHOD";
/// A path of one part: a function of an object and NULL of a type, which returns the object if it is of the type, and
/// otherwise NULL. With a second, empty part, objects of subtypes are none of the type.
pub const TREAT: &str = "\0TREAT";

/// Stored functions, resolved by the host.
pub trait Functions {
    /// The function `[owner.][package.]name` whose parameters fit these argument types best, as visible to
    /// `text_owner`, or to the user of the statement without one. `None`: no such function (ORA-00904).
    fn function(
        &self,
        text_owner: Option<TextOwner>,
        path: &[String],
        args: &[DataType],
    ) -> Result<Option<HostFunction>>;

    /// The definition of a type that such a function returns or constructs.
    fn type_def(&self, _id: types::TypeId) -> Option<std::rc::Rc<types::TypeDef>> {
        None
    }

    /// Called during the search for a plan, which may take long.
    ///
    /// # Errors
    /// ORA-01013, ORA-00028: the statement must end.
    fn check_cancel(&self) -> Result<()> {
        Ok(())
    }
}

/// No stored functions.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFunctions;

impl Functions for NoFunctions {
    fn function(&self, _eyes: Option<TextOwner>, _path: &[String], _args: &[DataType]) -> Result<Option<HostFunction>> {
        Ok(None)
    }
}

/// Names in the statement's own text that are not columns: PL/SQL's variables. The text of a view or of a table's
/// expression has none (P13).
pub trait Variables {
    /// The variable, or part of one, whose name begins at `pos` with `path`. Subscripts and fields may follow; they
    /// belong to the variable. Columns and SQL's own functions are looked for first.
    ///
    /// # Errors
    /// An error if the name is not allowed in SQL.
    fn variable(&self, path: &[ast::Ident], pos: u32, asked: Asked) -> Result<Option<Variable>>;
}

/// No variables.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoVariables;

impl Variables for NoVariables {
    fn variable(&self, _path: &[ast::Ident], _pos: u32, _asked: Asked) -> Result<Option<Variable>> {
        Ok(None)
    }
}

/// The two times at which a name is looked up as a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Before stored functions are looked up, which declarations around the statement hide. `call`: arguments follow,
    /// so that only a variable with elements fits.
    BeforeFunctions { call: bool },
    /// Nothing else has the name.
    Last,
}

/// The meaning of a name of [`Variables`]. Equal names are one bind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    pub name: String,
    pub ty: DataType,
}

/// Receives the uses of columns in the predicates of a hard-parsed statement.
pub trait ColumnUses {
    /// A column, numbered from 1, is used in this way at least once.
    fn used(&self, table: ObjectId, column: u32, how: ColumnUse);
}
