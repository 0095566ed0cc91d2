//! JSON_TABLE: rows from a document.
//!
//! Each level of columns has a path, which selects the values that its rows stand for. The rows of a nested level are
//! joined to the row around them as by an outer join; the rows of nested levels beside one another follow one another,
//! and the columns of the others are NULL. Rows are made one by one (J5): only the selected nodes of each level are
//! kept.

use crate::document::{Document, NodeId, Syntax};
use crate::function::{Compiled, Function};
use crate::path::{Path, Scratch, parse};
use types::image::Image;
use types::{Nls, Number, Result, Value};

/// Deepest nesting of levels.
pub const TABLE_NESTING_MAX: u32 = 64;

/// The definition of a table.
#[derive(Clone, Debug, PartialEq, Image)]
pub struct Table {
    /// ERROR ON ERROR: text that is not JSON is an error; otherwise it has no rows.
    pub error: bool,
    pub level: Level,
    /// The number of columns of all levels.
    pub columns: u16,
    /// Names of the PASSING clause.
    pub variables: Vec<String>,
}

/// A path with columns.
#[derive(Clone, Debug, PartialEq, Image)]
pub struct Level {
    pub path: String,
    pub columns: Columns,
    pub nested: Vec<Level>,
}

/// Columns with their positions in the row.
pub type Columns = Vec<(u16, Column)>;

#[derive(Clone, Debug, PartialEq, Image)]
pub enum Column {
    /// FOR ORDINALITY
    Ordinality,
    Function(Function),
}

impl Table {
    /// Parses all paths.
    ///
    /// # Errors
    /// ORA-40597 for a wrong path.
    pub fn rows(&self) -> Result<TableRows> {
        let mut rows = TableRows {
            error: self.error,
            document: Document::default(),
            levels: Vec::new(),
            places: vec![(0, 0); usize::from(self.columns)],
            scratch: Scratch::default(),
            variables: self.variables.clone(),
            values: Vec::new(),
        };
        rows.add(&self.level)?;
        Ok(rows)
    }
}

#[derive(Debug)]
enum Source {
    Ordinality,
    Function(Box<Compiled>),
}

/// A level while its rows are made.
#[derive(Debug)]
struct State {
    path: Path,
    columns: Vec<Source>,
    nested: Vec<usize>,
    nodes: Vec<NodeId>,
    /// The number of nodes taken; the present row stands for the last of them.
    taken: usize,
    /// Whether the level has a present row.
    is_active: bool,
    /// The nested level whose rows are being made; `None` before and after them.
    child: Option<usize>,
    /// Whether the present node had a row of a nested level.
    had_child: bool,
}

/// The rows of one document after the other.
#[derive(Debug)]
pub struct TableRows {
    error: bool,
    document: Document,
    levels: Vec<State>,
    /// The level of each column, and its position there.
    places: Vec<(usize, usize)>,
    scratch: Scratch,
    variables: Vec<String>,
    /// The values of the variables for the present document.
    values: Vec<Value>,
}

impl TableRows {
    fn add(&mut self, level: &Level) -> Result<usize> {
        let number = self.levels.len();
        let mut columns = Vec::with_capacity(level.columns.len());
        for (position, column) in &level.columns {
            if let Some(place) = self.places.get_mut(usize::from(*position)) {
                *place = (number, columns.len());
            }
            columns.push(match column {
                Column::Ordinality => Source::Ordinality,
                Column::Function(function) => Source::Function(Box::new(Compiled::new(function.clone())?)),
            });
        }
        self.levels.push(State {
            path: parse(&level.path, &self.variables)?,
            columns,
            nested: Vec::new(),
            nodes: Vec::new(),
            taken: 0,
            is_active: false,
            child: None,
            had_child: false,
        });
        for nested in &level.nested {
            let child = self.add(nested)?;
            self.levels[number].nested.push(child);
        }
        Ok(number)
    }

    /// Begins with the rows of a document; `None` stands for NULL, which has no rows. `values` are those of PASSING.
    ///
    /// # Errors
    /// ORA-40441 with ERROR ON ERROR.
    pub fn open(&mut self, text: Option<&str>, values: &[Value]) -> Result<()> {
        self.values.clear();
        self.values.extend_from_slice(values);
        // A statement may have left the rows of the document before in the middle.
        for level in &mut self.levels {
            level.nodes.clear();
            (level.taken, level.child, level.is_active) = (0, None, false);
        }
        let Some(text) = text else { return Ok(()) };
        match self.document.parse(text, Syntax::default()) {
            Ok(()) => self.start(0, self.document.root())?,
            Err(e) if self.error => return Err(e),
            Err(_) => {}
        }
        Ok(())
    }

    fn start(&mut self, level: usize, root: NodeId) -> Result<()> {
        let state = &mut self.levels[level];
        state.nodes.clear();
        (state.taken, state.child, state.is_active) = (0, None, false);
        state.path.nodes(&self.document, root, &self.values, &mut self.scratch, &mut state.nodes)
    }

    /// Moves to the next row; false after the last one.
    ///
    /// # Errors
    /// ORA-40444 if a path selects too many values.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<bool> {
        self.advance(0)
    }

    /// The next row of a level. Levels are nested at most [`TABLE_NESTING_MAX`] times.
    fn advance(&mut self, level: usize) -> Result<bool> {
        loop {
            let state = &mut self.levels[level];
            let Some(at) = state.child else {
                let Some(&node) = state.nodes.get(state.taken) else {
                    state.is_active = false;
                    return Ok(false);
                };
                state.taken += 1;
                state.is_active = true;
                if state.nested.is_empty() {
                    return Ok(true);
                }
                state.child = Some(0);
                state.had_child = false;
                for at in 0..self.levels[level].nested.len() {
                    let child = self.levels[level].nested[at];
                    self.start(child, node)?;
                }
                continue;
            };
            match state.nested.get(at).copied() {
                Some(child) => {
                    if self.advance(child)? {
                        self.levels[level].had_child = true;
                        return Ok(true);
                    }
                    self.levels[level].child = Some(at + 1);
                }
                None => {
                    state.child = None;
                    if !state.had_child {
                        return Ok(true);
                    }
                }
            }
        }
    }

    /// The value of a column in the present row.
    ///
    /// # Errors
    /// Those of the column's ON ERROR and ON EMPTY clauses.
    pub fn column(&mut self, position: u16, nls: &Nls, out: &mut Value) -> Result<()> {
        let (level, at) = self.places.get(usize::from(position)).copied().unwrap_or_default();
        let state = &mut self.levels[level];
        let node = state.taken.checked_sub(1).and_then(|last| state.nodes.get(last));
        let (Some(&node), true) = (node, state.is_active) else {
            *out = Value::Null;
            return Ok(());
        };
        match &mut state.columns[at] {
            Source::Ordinality => {
                *out = Value::Number(Number::from_u64(state.taken as u64));
                Ok(())
            }
            Source::Function(function) => function.evaluate(&self.document, node, &self.values, nls, out),
        }
    }
}
