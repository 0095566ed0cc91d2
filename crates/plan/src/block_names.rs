//! The names of query blocks while a statement is compiled, and the hints that name them.

use sql::ast;
use std::collections::HashMap;

/// Number of a row source among those of the statement.
pub type ItemId = usize;

/// Number of a block; 0 is none.
pub type BlockId = u32;

/// The blocks of a statement while it is compiled.
#[derive(Default)]
pub struct QueryBlocks {
    /// By number, from 1 on.
    names: Vec<String>,
    /// The rank of each SELECT of the statement's own text, by its position.
    pub(crate) ranks: HashMap<u32, usize>,
    pub(crate) numbered: usize,
    /// Hints that name a block, in the order of the text.
    pub(crate) hints: Vec<(String, ast::Hint)>,
    /// The block whose text contains each item of a FROM clause.
    of_item: HashMap<ItemId, BlockId>,
    /// The block whose joins are planned.
    pub planned: BlockId,
    /// The block of a statement that changes rows, if it is one.
    pub change: BlockId,
}

impl QueryBlocks {
    /// Numbers the blocks of the statement's own text, in the order of the text.
    pub fn number(&mut self, statement: &ast::Statement) {
        let mut places = Vec::new();
        if let ast::Statement::Query(query) = statement {
            crate::refs::each_select(query, &mut |select| places.push(select.pos.0));
        }
        places.sort_unstable();
        places.dedup();
        self.numbered = places.len();
        self.ranks = places.into_iter().enumerate().map(|(rank, place)| (place, rank + 1)).collect();
    }

    pub(crate) fn add(&mut self, name: String) -> BlockId {
        if let Some(at) = self.names.iter().position(|known| *known == name) {
            return at as BlockId + 1;
        }
        self.names.push(name);
        self.names.len() as BlockId
    }

    pub fn name(&self, block: BlockId) -> &str {
        (block as usize).checked_sub(1).and_then(|at| self.names.get(at)).map_or("", String::as_str)
    }

    /// The block whose text contains an item.
    pub fn of_item(&self, id: ItemId) -> BlockId {
        self.of_item.get(&id).copied().unwrap_or(0)
    }

    pub fn note_item(&mut self, id: ItemId, block: BlockId) {
        self.of_item.insert(id, block);
    }

    /// The block that a rewrite makes of two blocks.
    pub fn merged(&mut self, outer: BlockId, inner: BlockId) -> BlockId {
        if inner == 0 || outer == 0 || outer == inner {
            return if outer == 0 { inner } else { outer };
        }
        let both = format!("{}\0{}", self.name(outer), self.name(inner));
        let hash = both.bytes().fold(0x811c_9dc5u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        self.add(format!("SEL${hash:08X}"))
    }

    /// All names, by number.
    pub fn into_names(self) -> Vec<String> {
        self.names
    }

    /// The hints for a block, with its name removed.
    pub(crate) fn hints_for(&self, block: BlockId) -> impl Iterator<Item = ast::Hint> + '_ {
        let name = self.name(block);
        self.hints.iter().filter(move |(of, _)| of == name).map(|(_, hint)| hint.clone())
    }
}
