//! Items of a block: what its FROM clause, or the changed table, gives names to.

use crate::block_names::ItemId;
use crate::ir::*;
use crate::scope::*;
use dictionary::TableDef;
use std::rc::Rc;

impl Compiler<'_> {
    /// Adds an item to the current block.
    pub fn add_item(&mut self, item: Item) -> ItemId {
        let id = self.items.len();
        self.items.push(item);
        let block = self.block().query_block;
        self.query_blocks.note_item(id, block);
        self.block().items.push(id);
        id
    }

    /// Pushes a block with one item, whose columns are the registers `regs`.
    pub fn push_row_block(
        &mut self,
        table: &Rc<TableDef>,
        alias: &str,
        regs: &[Reg],
        rowid: Option<Reg>,
        clause: Clause,
    ) {
        let mut item = table_item(alias.to_owned(), Some(table.owner.clone()), table.clone());
        for (c, &r) in item.columns.iter_mut().zip(regs) {
            c.value = Some(Expr::new(Node::Reg(r), c.ty));
        }
        item.rowid = rowid;
        self.blocks.push(Block::new(true));
        self.block().clause = clause;
        self.add_item(item);
    }
}

pub fn item_column(name: &str, ty: types::DataType, nullable: bool) -> ItemColumn {
    ItemColumn {
        name: name.to_owned(),
        ty,
        nullable,
        value: None,
        hidden: false,
        invisible: false,
        dropped: false,
        joined_by: None,
        joined: None,
    }
}

pub fn table_item(alias: String, schema: Option<String>, table: Rc<TableDef>) -> Item {
    let columns = table
        .columns
        .iter()
        .map(|c| ItemColumn {
            invisible: c.invisible,
            dropped: c.hidden,
            ..item_column(&c.name, c.data_type, c.nullable)
        })
        .collect();
    Item { alias, schema, kind: ItemKind::Table(table), columns, rowid: None }
}
