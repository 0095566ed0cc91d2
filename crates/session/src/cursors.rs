//! The cursors that a session keeps: open ones of PL/SQL, closed ones of statements and of blocks.
//!
//! [`crate::kept`] and [`crate::blocks`] say when they are used again.

use crate::identity::Identity;
use exec::{BindType, BlockCursor, Cursor};
use net::StatementKind;
use plsql::HostTypes;
use std::hash::{Hash, Hasher};
use std::rc::Rc;
use types::ObjectId;

/// The caller of a statement; cursors of different callers differ in their binds.
#[derive(Clone, Debug, PartialEq)]
pub enum Asker {
    /// A client. The types of its binds are compared separately.
    Client,
    /// PL/SQL: whether binds are one for each name or one for each place, and their declared types.
    PlSql { by_name: bool, types: Vec<BindType> },
}

/// An SQL cursor of PL/SQL.
pub struct SqlCursor {
    pub(crate) cursor: Cursor,
    /// The cursor's bind for each placeholder.
    pub(crate) places: Vec<usize>,
    /// The identity that opened the cursor, and the name of its schema. Names and privileges of this identity count
    /// wherever the cursor is executed and fetched from (invariant 12).
    pub(crate) identity: Identity,
    pub(crate) schema: Rc<str>,
    /// The key under which the closed cursor is kept.
    pub(crate) asker: Asker,
    /// The statement changes the audit trail: each execution is always noted there.
    pub(crate) changes_trail: bool,
    /// The dictionary's epoch in which the cursor was found to have the columns that its caller needs, and the mark of
    /// these columns.
    pub(crate) has_columns: (u64, u64),
}

impl SqlCursor {
    /// A cursor of the client that PL/SQL uses.
    pub fn of_client(cursor: Cursor, identity: Identity, schema: Rc<str>) -> SqlCursor {
        SqlCursor::new(cursor, Asker::Client, identity, schema)
    }

    pub fn columns(&self) -> &[exec::Column] {
        self.cursor.columns()
    }

    pub(crate) fn new(cursor: Cursor, asker: Asker, identity: Identity, schema: Rc<str>) -> SqlCursor {
        let places = match asker {
            Asker::PlSql { by_name: true, .. } => {
                let names = cursor.binds();
                let place = |n: usize| names.iter().position(|name| *name == format!("B{n}"));
                (1..=names.len()).filter_map(place).collect()
            }
            _ => (0..cursor.binds().len()).collect(),
        };
        let kind = net::StatementKind(cursor.kind().command() as u16);
        let changes_trail = changes_trail(kind, cursor.dependencies());
        SqlCursor { cursor, places, identity, schema, asker, changes_trail, has_columns: (u64::MAX, 0) }
    }
}

/// Parse calls of a text after which its cursor is kept.
const PARSES: u8 = 3;
/// Texts whose parse calls are counted; one more takes the place of another.
const COUNTED: usize = 1024;

/// A closed cursor in the session cursor cache (invariant 13).
pub(crate) struct Kept {
    /// The tick of its last use.
    pub(crate) at: u64,
    pub(crate) cursor: Cursor,
    pub(crate) identity: Identity,
    pub(crate) asker: Asker,
}

/// The closed cursors of a session, the one used last at the end, and the parse calls of texts.
#[derive(Default)]
pub struct KeptCursors {
    pub(crate) list: Vec<Kept>,
    pub(crate) counts: Vec<(u64, u8)>,
}

fn number_of(text: &str) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

impl KeptCursors {
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// The tick of the least recently used one.
    pub fn oldest(&self) -> Option<u64> {
        self.list.first().map(|kept| kept.at)
    }

    /// Closes the least recently used one.
    pub fn close_oldest(&mut self) {
        if !self.list.is_empty() {
            self.list.remove(0);
        }
    }

    /// Closes all kept cursors.
    pub fn close_all(&mut self) {
        self.list.clear();
    }

    /// Counts a parse call that found nothing kept.
    pub fn count_parse(&mut self, text: &str) {
        self.counts.resize(COUNTED, (0, 0));
        let number = number_of(text);
        let count = &mut self.counts[number as usize % COUNTED];
        let parses = if count.0 == number { count.1.saturating_add(1) } else { 1 };
        *count = (number, parses);
    }

    /// Whether a text has been parsed so often that it is kept.
    pub fn is_worth_it(&self, text: &str) -> bool {
        let number = number_of(text);
        self.counts.get(number as usize % COUNTED).is_some_and(|count| count.0 == number && count.1 >= PARSES)
    }

    pub(crate) fn take(
        &mut self,
        text: &str,
        identity: Identity,
        asker: &Asker,
        takes: impl Fn(&Cursor) -> bool,
    ) -> Option<Cursor> {
        let is_it = |kept: &Kept| {
            let is_asked = kept.cursor.text() == text && kept.identity == identity && kept.asker == *asker;
            is_asked && takes(&kept.cursor)
        };
        let at = self.list.iter().position(is_it)?;
        Some(self.list.remove(at).cursor)
    }
}

/// A block with its cursor.
pub struct OpenBlock {
    pub block: Rc<plsql::Block>,
    pub cursor: BlockCursor,
    pub(crate) types: HostTypes,
    pub(crate) identity: Identity,
    pub(crate) has_begun: bool,
}

/// A session's blocks.
#[derive(Default)]
pub struct Blocks {
    /// Running blocks of EXECUTE IMMEDIATE, each inside the one before it (invariant 5).
    pub(crate) running: Vec<OpenBlock>,
    /// Closed blocks with the tick of their last use, the one used last at the end.
    pub(crate) kept: Vec<(u64, OpenBlock)>,
    /// Room for the image of a shared cursor.
    pub(crate) image: Vec<u8>,
}

impl Blocks {
    /// The number of kept blocks.
    pub fn kept(&self) -> usize {
        self.kept.len()
    }

    /// The tick of the least recently used one.
    pub fn oldest(&self) -> Option<u64> {
        self.kept.first().map(|(at, _)| *at)
    }

    /// Closes the least recently used one.
    pub fn close_oldest(&mut self) {
        if !self.kept.is_empty() {
            self.kept.remove(0);
        }
    }

    /// Closes all kept blocks.
    pub fn close_kept(&mut self) {
        self.kept.clear();
    }

    pub(crate) fn place(&self, identity: Identity, text: &str, types: Option<&HostTypes>) -> Option<usize> {
        let is_it = |open: &OpenBlock| types.is_none_or(|types| open.types == *types);
        let same = |open: &OpenBlock| open.cursor.text() == text && open.identity == identity && is_it(open);
        self.kept.iter().position(|(_, open)| same(open))
    }

    /// The kind of the kept block with this text.
    pub fn kind_of(&self, identity: Identity, text: &str) -> Option<StatementKind> {
        let (_, open) = &self.kept[self.place(identity, text, None)?];
        Some(StatementKind(open.cursor.command() as u16))
    }
}

/// Whether a statement changes the audit trail.
pub(crate) fn changes_trail(kind: StatementKind, objects: &[ObjectId]) -> bool {
    let trail = dictionary::Base::Aud.table().object;
    kind != StatementKind::SELECT && objects.contains(&trail)
}
