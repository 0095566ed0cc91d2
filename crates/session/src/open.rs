//! The open cursors of a session's client.

use crate::composite_text;
use crate::core::Core;
use crate::held::Held;
use crate::identity::Identity;
use crate::source::Source;
use net::StatementKind;
use net::local::{self, Direction, Failure};
use std::collections::HashMap;
use types::Value;

/// An open query.
pub(crate) struct Open {
    pub(crate) source: Source,
    pub(crate) row: Vec<Value>,
    /// Rows sent so far.
    pub(crate) rows: u64,
    /// `row` has been fetched and not yet sent.
    pub(crate) ahead: bool,
    pub(crate) identity: Identity,
    /// All fetched rows, for a scrollable query.
    pub(crate) scroll: Option<Box<exec::Scroll>>,
    /// A nested cursor that PL/SQL does not hold: it is closed after its last row.
    pub(crate) of_row: bool,
    /// The client's number of the statement; the cursor is held for the statement's next execution.
    pub(crate) statement: Option<u16>,
    /// Rows have objects or collections. Packets of the local protocol have their texts; a sink cannot take them.
    pub(crate) has_objects: bool,
}

impl Open {
    pub(crate) fn new(source: Source, identity: Identity) -> Open {
        Open {
            source,
            row: Vec::new(),
            rows: 0,
            ahead: false,
            identity,
            scroll: None,
            of_row: false,
            statement: None,
            has_objects: false,
        }
    }
}

/// The cursors of a session's client, and other state between its calls.
#[derive(Default)]
pub struct Calls {
    pub(crate) open: HashMap<u32, Open>,
    pub(crate) next: u32,
    /// The number of open cursors that PL/SQL may hold too; PL/SQL counts them.
    pub(crate) shared: usize,
    /// Nested cursors: the number of the outer query, and the number of the cursor in its rows.
    pub(crate) nested: Vec<(u32, u32)>,
    pub(crate) debug: admin::oradebug::Debug,
    /// The directions of the last block's binds, in the order of the call.
    pub(crate) directions: Vec<Direction>,
    /// The last row changed by the last DML statement.
    pub(crate) last_row: Option<types::Rowid>,
    pub(crate) held: Held,
}

impl Calls {
    /// The last row that the statement executed last has changed; `None` for a statement that changed no row.
    pub fn last_row(&self) -> Option<types::Rowid> {
        self.last_row
    }

    /// The directions of the binds of the block that ran last, by their places in the call. They follow from the
    /// block's code, not from the client's declarations.
    pub fn directions(&self) -> &[Direction] {
        &self.directions
    }
}

/// The outcome of a call.
pub(crate) struct Outcome {
    pub(crate) kind: StatementKind,
    pub(crate) rows: u64,
    pub(crate) warning: Option<Failure>,
    pub(crate) out: Vec<(u16, Value)>,
    /// Cursors left in binds, with their columns; see [`local::Done`].
    pub(crate) cursors: Vec<(u32, Vec<local::Column>)>,
    pub(crate) results: Vec<u32>,
    pub(crate) tables: Vec<(u16, Vec<Value>)>,
}

impl Outcome {
    pub(crate) fn of(kind: StatementKind) -> Outcome {
        let (out, cursors, results, tables) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Outcome { kind, rows: 0, warning: None, out, cursors, results, tables }
    }
}

/// The description of a column in a packet.
pub(crate) fn wire_column(c: &exec::Column, core: &Core, nls: &types::Nls) -> local::Column {
    local::Column {
        name: c.name.clone(),
        data_type: c.ty,
        nullable: c.nullable,
        display_size: c.ty.display_size(nls),
        nested: match c.ty {
            types::DataType::Named(_) => composite_text::attributes(c.ty, core, nls),
            _ => c.nested.iter().map(|c| wire_column(c, core, nls)).collect(),
        },
    }
}
