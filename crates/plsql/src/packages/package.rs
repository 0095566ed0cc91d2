//! The parts of a built-in package, all in its file: the specification in PL/SQL, the subprograms by name and overload,
//! and their bodies.

pub(super) use super::args::{Args, unquote};
pub(super) use crate::datum::{CollKind, Datum};
pub(super) use crate::machine::{Run, scalar};
pub(super) use types::{Number, Ora, Value};

use crate::datum::{Coll, CollData, CollInfo};
use crate::intmap::IntMap;
use crate::machine::Machine;
use crate::state::Plsql;
use crate::world::World;
use std::rc::Rc;
use types::Result;

/// A package as the compiler sees it.
pub(super) struct Package {
    pub(super) name: &'static str,
    pub(super) specification: &'static str,
    /// Name and overload of each subprogram, in the order of the bodies.
    pub(super) subprograms: &'static [(&'static str, u32)],
}

/// A call of a subprogram. OUT arguments are changed in place.
pub(super) struct Call<'c, W: World> {
    pub(super) s: &'c Plsql<W::Cursor>,
    pub(super) w: &'c mut W,
    pub(super) m: &'c mut Machine,
    pub(super) a: Args<'c>,
}

/// Runs PL/SQL for a package. Compiling needs the list of the packages, so its code is above theirs.
pub(crate) trait Blocks<W: World> {
    /// Compiles a block and returns the names of its binds.
    fn names_of_block(&self, w: &mut W, text: &str) -> Result<Vec<String>>;
    /// Runs a block with the values of its binds, and returns their values afterwards.
    fn run_text(&self, w: &mut W, text: &str, binds: Vec<(String, Datum)>) -> Result<Vec<(String, Datum)>>;
}

/// The body of a subprogram.
pub(super) type Body<W> = fn(&mut Call<'_, W>) -> Run<Datum>;

/// The results that a body may return: nothing, a scalar, or any content of a variable.
pub(super) trait Returned {
    fn datum(self) -> Datum;
}

impl Returned for () {
    fn datum(self) -> Datum {
        Datum::default()
    }
}

impl Returned for Value {
    fn datum(self) -> Datum {
        Datum::Val(self)
    }
}

impl Returned for Datum {
    fn datum(self) -> Datum {
        self
    }
}

/// Declares the package of a file: its name, its specification, and `name overload => body` for each subprogram.
macro_rules! package {
    ($name:literal, $specification:literal; $($subprogram:literal $overload:literal => $body:expr,)*) => {
        pub(super) const PACKAGE: Package = Package {
            name: $name,
            specification: $specification,
            subprograms: &[$(($subprogram, $overload)),*],
        };

        /// Runs the subprogram with that index.
        pub(super) fn perform<W: World>(at: usize, c: &mut Call<'_, W>) -> Run<Datum> {
            let bodies: &[Body<W>] = &[$({
                let body: Body<W> = |c| $body(c).map(Returned::datum);
                body
            }),*];
            match bodies.get(at) {
                Some(body) => body(c),
                None => Err(Ora::new(6508).into()),
            }
        }
    };
}
pub(super) use package;

pub(super) fn number(n: i64) -> Value {
    Value::Number(Number::from_i64(n))
}

/// A new number for a cursor or a file of the session. Code of other users in the session cannot guess it, so it uses
/// only the numbers that it was given.
pub(super) fn handle(is_taken: impl Fn(i64) -> bool) -> Result<i64> {
    loop {
        let bytes = os::random::bytes().map_err(|_| Ora::internal("random bytes"))?;
        let n = i64::from(i32::from_ne_bytes(bytes) & i32::MAX);
        if n > 0 && !is_taken(n) {
            return Ok(n);
        }
    }
}

/// The longest VARCHAR2 and RAW of PL/SQL, in bytes.
pub(super) const VALUE_MAX: usize = 32_767;

fn require_length(bytes: usize, otherwise: &str) -> Result<()> {
    if bytes > VALUE_MAX { Err(scalar::value_error(otherwise)) } else { Ok(()) }
}

/// A text as the result of a function.
///
/// # Errors
/// ORA-06502 for one that is longer than a VARCHAR2.
pub(super) fn limited_text(text: String) -> Run<Value> {
    require_length(text.len(), "character string buffer too small")?;
    Ok(Value::text(text))
}

/// Bytes as the result of a function.
///
/// # Errors
/// ORA-06502 for more than a RAW has.
pub(super) fn limited_raw(bytes: Vec<u8>) -> Run<Value> {
    require_length(bytes.len(), "raw variable length too long")?;
    Ok(Value::raw(bytes))
}

/// An index-by table with these elements from subscript 1 on.
pub(super) fn by_integer(items: impl Iterator<Item = Value>) -> Datum {
    let info = Rc::new(CollInfo { element: Datum::default(), limit: None, kind: CollKind::ByInteger });
    let map = IntMap::of(items.map(Datum::Val).collect());
    Datum::Coll(Some(Rc::new(Coll { info, data: CollData::ByInteger(map) })))
}
