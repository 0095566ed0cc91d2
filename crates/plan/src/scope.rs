//! Name resolution: what a name in a statement stands for.
//!
//! The compiler keeps a stack of query blocks. A name is looked for in the innermost block first; found further out it
//! makes every block in between correlated, which is noted register by register, so that a subquery knows exactly which
//! values it depends on. Columns get registers when they are first used: what nobody names is never decoded.

use crate::Functions;
use crate::ir::*;
use crate::logical::{LogicalQuery, LogicalSub, Rel};
use crate::typing::*;
use dictionary::{Catalog, FixedId, TableDef};
use sql::ast;
use std::collections::BTreeSet;
use std::rc::Rc;
use types::{DataType, ObjectId, Ora, Result};

/// The object number of DUAL.
const DUAL: ObjectId = ObjectId(142);

/// An index into [`Compiler::items`].
pub type ItemId = usize;

/// A row source of some FROM clause.
pub struct Item {
    pub alias: String,
    /// The table's owner, when the item is a table without an alias: `owner.table.column` may be written.
    pub schema: Option<String>,
    pub kind: ItemKind,
    pub columns: Vec<ItemColumn>,
    pub rowid: Option<Reg>,
}

impl Item {
    /// The columns that `*` stands for, in its order.
    pub fn starred(&self) -> Vec<usize> {
        let mut list: Vec<usize> = (0..self.columns.len()).filter(|at| self.columns[*at].is_starred()).collect();
        if let ItemKind::Table(table) = &self.kind {
            list.sort_by_key(|at| table.columns[*at].moved);
        }
        list
    }
}

pub enum ItemKind {
    Table(Rc<TableDef>),
    Fixed {
        table: Rc<TableDef>,
        handle: FixedId,
    },
    Dual,
    /// A view or subquery with a plan of its own. Its columns are projected when they are used.
    Derived {
        /// Taken out while it is rewritten or planned.
        rel: Option<Box<Rel>>,
        out: Vec<Expr>,
        lateral: Vec<Reg>,
    },
    /// A view whose row sources became part of the block; its columns are expressions over them. Its rows are those of
    /// the table that is given: its only one, or the first that is key-preserved.
    Merged(Option<ItemId>),
    Cte {
        id: usize,
    },
    Elements {
        value: Expr,
        objects: bool,
    },
}

pub struct ItemColumn {
    pub name: String,
    pub ty: DataType,
    pub nullable: bool,
    /// What the name stands for, once it was used.
    pub value: Option<Expr>,
    /// The right side of a USING or NATURAL join: reached by a qualified name only.
    pub hidden: bool,
    /// Named explicitly only: `*`, NATURAL and PIVOT pass it over.
    pub invisible: bool,
    /// A column of the table that was dropped: it keeps its place and has no name.
    pub dropped: bool,
    /// Part of a join by USING or NATURAL: the error for naming it with a qualifier.
    pub joined_by: Option<u32>,
    /// What it is called for without a qualifier, where that is not its own value: after an outer join that of the row
    /// that is there.
    pub joined: Option<Expr>,
}

impl ItemColumn {
    /// Whether the column can be named without a qualifier.
    pub fn is_named(&self) -> bool {
        !self.hidden && !self.dropped
    }

    /// Whether `*` stands for the column, too.
    pub fn is_starred(&self) -> bool {
        self.is_named() && !self.invisible
    }
}

/// The clause being resolved; it decides what may occur there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Clause {
    From,
    Where,
    StartWith,
    ConnectBy,
    GroupBy,
    Having,
    Select,
    OrderBy,
    Dml,
}

/// What CONNECT BY adds to a block.
#[derive(Default)]
pub struct ConnectScope {
    pub level: Reg,
    /// CONNECT BY NOCYCLE.
    pub nocycle: bool,
    pub rownum: Option<Reg>,
    pub is_leaf: Option<Reg>,
    pub is_cycle: Option<Reg>,
    /// Registers of the row and of its parent.
    pub prior: Vec<(Reg, Reg)>,
    pub roots: Vec<(Expr, Reg)>,
    pub paths: Vec<(Expr, Expr, Reg)>,
    pub uses_prior: bool,
    /// PRIOR stands for something that differs from one evaluation to the next.
    pub prior_varies: bool,
    /// PRIOR occurs outside the CONNECT BY condition.
    pub prior_wanted: bool,
}

/// One query block while it is resolved.
pub struct Block {
    pub items: Vec<ItemId>,
    /// Names are looked for from this item on: an ON clause sees its own join only.
    pub first_visible: usize,
    /// Blocks further out are not visible: views, and inline views without LATERAL.
    pub opaque: bool,
    pub clause: Clause,
    pub rownum: Option<Reg>,
    pub connect: Option<ConnectScope>,
    pub aggs: Vec<Agg>,
    pub windows: Vec<WindowFunc>,
    pub in_aggregate: bool,
    /// Inside an aggregate that is the argument of another.
    pub in_nested: bool,
    /// Whether the aggregate being resolved has another in its argument.
    pub found_nested: bool,
    pub has_group_by: bool,
    /// Aggregates over aggregates: `MAX(COUNT(*))`.
    pub nested: Vec<Agg>,
    pub in_window: bool,
    /// Columns without a register that were named above the grouping, if there is one: those of DUAL, and constants of
    /// merged views.
    pub fixed: Vec<(Expr, u32)>,
    /// ORDER BY sees the select list's aliases.
    pub aliases: Vec<(String, Expr)>,
    /// Registers of blocks further out that this one, or one inside it, reads.
    pub outer: BTreeSet<Reg>,
    /// Where columns were named, for errors found later.
    pub places: Vec<(Reg, u32)>,
    /// The query block; 0 for none of its own.
    pub query_block: crate::blocks::BlockId,
}

impl Block {
    pub fn new(opaque: bool) -> Block {
        Block {
            items: Vec::new(),
            first_visible: 0,
            opaque,
            clause: Clause::From,
            rownum: None,
            connect: None,
            aggs: Vec::new(),
            windows: Vec::new(),
            in_aggregate: false,
            in_nested: false,
            found_nested: false,
            has_group_by: false,
            nested: Vec::new(),
            in_window: false,
            fixed: Vec::new(),
            aliases: Vec::new(),
            outer: BTreeSet::new(),
            places: Vec::new(),
            query_block: 0,
        }
    }
}

/// A WITH query in scope.
pub struct CteScope {
    pub name: String,
    pub columns: Vec<Column>,
    pub kind: CteKind,
}

pub enum CteKind {
    /// Run once, read by id.
    Shared(usize),
    /// Written out again at each use.
    Inline(Rc<ast::Query>, Vec<ast::Ident>),
}

/// The state of one compilation.
pub struct Compiler<'c> {
    pub base: &'c dyn Catalog,
    /// Names as the owners of the views being expanded see them, innermost last.
    pub catalogs: Vec<Box<dyn Catalog + 'c>>,
    /// Whose text is compiled, outside of the statement's own: beside `catalogs`.
    pub eyes: Vec<crate::Eyes>,
    pub functions: &'c dyn Functions,
    pub variables: Option<&'c dyn crate::Variables>,
    /// Where the name stands that was found last to be a variable.
    pub named_variable: Option<u32>,
    pub regs: u32,
    pub items: Vec<Item>,
    pub blocks: Vec<Block>,
    /// The rows that the statement reads.
    pub rows: Option<Rel>,
    /// The expected rows of the WITH queries that are planned.
    pub cte_rows: Vec<f64>,
    pub sizes: crate::physical::Sizes,
    pub peeks: crate::physical::Peeks<'c>,
    pub sampling: crate::physical::Sampling<'c>,
    /// The cost of a block in a scan.
    pub in_scan: f64,
    pub corrections: &'c [crate::Correction],
    pub parallel: crate::Parallel,
    /// The hints that are about parallel execution of the whole statement.
    pub parallel_wish: crate::physical::parallel::Wish,
    /// Coordinators of the plan so far.
    pub coordinators: usize,
    pub notes: Vec<crate::Note>,
    /// How many join filters there are.
    pub filters: usize,
    /// The branches of an OR are being planned.
    pub expanding: bool,
    pub rewrites_off: crate::rewrite::RewritesOff,
    /// `_optimizer_join_elimination_enabled = FALSE`.
    pub keeps_joins: bool,
    /// How many views the rewrites have made.
    pub made_views: usize,
    /// Subqueries that columns of merged views are computed with: each expression that names such a column has them.
    pub column_subs: std::collections::HashSet<SubId>,
    pub query_blocks: crate::blocks::QueryBlocks,
    /// How many index joins have been planned.
    pub made_index_joins: usize,
    pub subs: Vec<LogicalSub>,
    pub ctes: Vec<LogicalQuery>,
    pub cte_scopes: Vec<CteScope>,
    /// The views that are being compiled, one in the other.
    pub views: Vec<types::ObjectId>,
    /// How many expressions have been resolved.
    pub resolved: u32,
    /// How deep set operations lie below one another in what has been planned of the query, those of its views
    /// included.
    pub set_depth: usize,
    pub binds: sql::Names,
    pub bind_types: &'c [Option<DataType>],
    pub sequences: Vec<Rc<SequenceRef>>,
    pub dependencies: Vec<types::ObjectId>,
    /// Owner and name of the stored units whose functions are called.
    pub units: Vec<(String, String)>,
    /// Objects a cached result depends on.
    pub cache_deps: Vec<types::ObjectId>,
    /// Something whose value changes by itself is read (fixed table, clock, sequence): counts occurrences.
    pub volatile: u32,
    /// Of those, the ones that differ within one execution: sequences, fixed tables, functions that are not
    /// deterministic.
    pub unstable: u32,
    /// A table (`force_results`), or every table (`all_force`), asks for RESULT_CACHE (MODE FORCE).
    pub force_results: bool,
    pub all_force: bool,
    pub result_cache: bool,
    pub no_result_cache: bool,
    /// BIND_AWARE and NO_BIND_AWARE.
    pub bind_aware: Option<bool>,
    pub counts_operations: bool,
    /// The moment that the tables being added are read as of, the moments so far, and which items have one.
    pub as_of: Option<usize>,
    /// Moment 0 is that of the whole statement.
    pub whole: bool,
    pub moments: Vec<Expr>,
    pub as_of_items: std::collections::HashMap<ItemId, usize>,
    /// VERSIONS BETWEEN of the table being added, and of which items.
    pub versions: Option<Versions>,
    pub version_items: std::collections::HashMap<ItemId, Versions>,
    /// The view that the statement changes rows through.
    pub through: Option<Rc<crate::updatable::Updatable>>,
    /// FROM is that of a query FOR UPDATE, or of a derived table in such a FROM: READ does not suffice.
    pub locking: bool,
    /// Items that may be changed and not read: columns of theirs may not be named.
    pub unreadable: Vec<ItemId>,
    /// Tables and views that the query reads through views.
    pub below_views: Vec<(types::ObjectId, dictionary::UserId)>,
    /// Registers of pseudo-columns.
    pub pseudos: std::collections::HashMap<ItemId, Vec<(Pseudo, Reg)>>,
    /// Whether a view is valid is told to the catalog: not where views are only looked at.
    pub tells_verdicts: bool,
    /// For each CURSOR(subquery) that is being resolved, the blocks around it and what it takes from them, by place.
    pub outer_names: Vec<(usize, Vec<(u32, Expr)>)>,
}

impl Compiler<'_> {
    /// Tells the catalog how compiling a view went.
    pub fn view_compiled(&self, view: &dictionary::ViewDef, error: Option<&Ora>) {
        if self.tells_verdicts {
            self.base.view_compiled(view, error);
        }
    }

    pub fn new_reg(&mut self) -> Reg {
        self.regs += 1;
        self.regs - 1
    }

    /// Names as the current view's owner, or the session, sees them.
    pub fn catalog(&self) -> &dyn Catalog {
        self.catalogs.last().map_or(self.base, |c| &**c)
    }

    pub fn block(&mut self) -> &mut Block {
        self.blocks.last_mut().expect("a query block is being resolved")
    }

    /// The expression of column `column` of an item, giving it a register at its first use.
    pub fn column_value(&mut self, item: ItemId, column: usize) -> Expr {
        if let Some(value) = &self.items[item].columns[column].value {
            return value.clone();
        }
        let reg = self.new_reg();
        let c = &mut self.items[item].columns[column];
        let value = Expr::new(Node::Reg(reg), c.ty);
        c.value = Some(value.clone());
        value
    }

    /// What a column named without a qualifier stands for.
    pub fn joined_value(&mut self, item: ItemId, column: usize) -> Expr {
        self.items[item].columns[column].joined.clone().unwrap_or_else(|| self.column_value(item, column))
    }

    /// The ROWID of an item that is a table, or of the only table under a merged view.
    pub fn rowid_value(&mut self, item: ItemId) -> Option<Expr> {
        let mut ty = DataType::Rowid;
        match &self.items[item].kind {
            ItemKind::Table(table) if table.options.index_organized => ty = DataType::Urowid,
            ItemKind::Table(_) => {}
            ItemKind::Merged(Some(table)) => return self.rowid_value(*table),
            // Its one row is never read from a block; the place is that of the first row of the table's first block.
            ItemKind::Dual => {
                let rowid = types::Rowid { obj: DUAL, rdba: types::Rdba::new(1, 1), slot: 0 };
                return Some(Expr::new(Node::Const(types::Value::Rowid(rowid)), DataType::Rowid));
            }
            _ => return None,
        }
        let reg = match self.items[item].rowid {
            Some(reg) => reg,
            None => {
                let reg = self.new_reg();
                self.items[item].rowid = Some(reg);
                reg
            }
        };
        Some(Expr::new(Node::Reg(reg), ty))
    }

    /// A pseudo-column of a table, giving it a register at its first use.
    fn pseudo_value(&mut self, item: ItemId, pseudo: Pseudo) -> Expr {
        // It is looked up by the row's address, and what it says changes when other rows of the block do.
        if pseudo == Pseudo::RowScn {
            self.rowid_value(item);
        }
        self.volatile += 1;
        let known = self.pseudos.get(&item).and_then(|list| list.iter().find(|(p, _)| *p == pseudo));
        let reg = match known {
            Some((_, reg)) => *reg,
            None => {
                let reg = self.new_reg();
                self.pseudos.entry(item).or_default().push((pseudo, reg));
                reg
            }
        };
        Expr::new(Node::Reg(reg), pseudo.data_type())
    }

    /// Finds a column by name. `qualifier` is the part before the dot, `schema` the one before that.
    ///
    /// # Errors
    /// ORA-00918 when several row sources of one block have it.
    pub fn find_column(
        &mut self,
        schema: Option<&str>,
        qualifier: Option<&str>,
        name: &str,
        pos: u32,
    ) -> Result<Option<Expr>> {
        for depth in (0..self.blocks.len()).rev() {
            if let Some((item, column)) = self.find_in_block(depth, schema, qualifier, name, pos)? {
                if self.unreadable.contains(&item) {
                    return Err(Ora::new(1031).at(pos));
                }
                let value = match column {
                    Some(column) => self.joined_value(item, column),
                    None => match Pseudo::named(name) {
                        Some(pseudo) => self.pseudo_value(item, pseudo),
                        None => self.rowid_value(item).ok_or_else(|| Ora::new(1445).at(pos))?,
                    },
                };
                self.note_use(depth, &value, pos);
                return Ok(Some(value));
            }
            if self.blocks[depth].opaque {
                break;
            }
        }
        Ok(None)
    }

    /// The item and column of a name in one block; a column of `None` is ROWID.
    fn find_in_block(
        &self,
        depth: usize,
        schema: Option<&str>,
        qualifier: Option<&str>,
        name: &str,
        pos: u32,
    ) -> Result<Option<(ItemId, Option<usize>)>> {
        let block = &self.blocks[depth];
        let mut found: Option<(ItemId, Option<usize>)> = None;
        for &id in &block.items[block.first_visible.min(block.items.len())..] {
            let item = &self.items[id];
            if let Some(q) = qualifier {
                if item.alias != q {
                    continue;
                }
                if let Some(s) = schema
                    && item.schema.as_deref() != Some(s)
                {
                    continue;
                }
            }
            let mut hit = None;
            for (i, c) in item.columns.iter().enumerate() {
                if c.name == name && !c.dropped && (qualifier.is_some() || !c.hidden) {
                    if hit.is_some() {
                        return Err(ambiguous(name, pos));
                    }
                    if let (Some(_), Some(code)) = (qualifier, c.joined_by) {
                        return Err(Ora::new(code).at(pos));
                    }
                    hit = Some(Some(i));
                }
            }
            let has_rowid = matches!(item.kind, ItemKind::Table(_) | ItemKind::Dual | ItemKind::Merged(Some(_)));
            if hit.is_none() && name == "ROWID" && has_rowid {
                hit = Some(None);
            }
            if hit.is_none()
                && let Some(pseudo) = Pseudo::named(name)
                && matches!(item.kind, ItemKind::Table(_))
                && (pseudo == Pseudo::RowScn || self.version_items.contains_key(&id))
            {
                hit = Some(None);
            }
            if let Some(column) = hit {
                if found.is_some() {
                    return Err(ambiguous(name, pos));
                }
                found = Some((id, column));
            }
        }
        Ok(found)
    }

    /// Notes that the current block reads `value`, which belongs to the block at `depth`.
    pub fn note_use(&mut self, depth: usize, value: &Expr, pos: u32) {
        let mut regs = Vec::new();
        self.expr_regs(value, &mut |r| regs.push(r));
        let top = self.blocks.len() - 1;
        for (around, names) in self.outer_names.iter_mut().filter(|(around, _)| depth < *around) {
            debug_assert!(*around <= top);
            names.push((pos, value.clone()));
        }
        for block in &mut self.blocks[depth + 1..=top] {
            block.outer.extend(regs.iter().copied());
        }
        if depth == top {
            let block = self.block();
            if regs.is_empty()
                && !block.in_aggregate
                && matches!(block.clause, Clause::Select | Clause::Having | Clause::OrderBy)
            {
                block.fixed.push((value.clone(), pos));
            }
            for r in regs {
                block.places.push((r, pos));
            }
        }
    }

    /// Calls `f` with each register that `e` reads, those its subqueries take from outside included.
    pub fn expr_regs(&self, e: &Expr, f: &mut dyn FnMut(Reg)) {
        e.walk(&mut |e| match &e.node {
            Node::Reg(r) => f(*r),
            Node::Scalar(s) | Node::Exists(s) | Node::InSub { sub: s, .. } | Node::Quantified { sub: s, .. } => {
                self.subs[*s].outer.iter().for_each(|&r| f(r))
            }
            _ => {}
        });
    }

    /// Where register `reg` was last named in the current block.
    pub fn place_of(&mut self, reg: Reg) -> Option<u32> {
        self.block().places.iter().rev().find(|(r, _)| *r == reg).map(|(_, pos)| *pos)
    }

    /// ROWNUM of the current block.
    pub fn rownum(&mut self) -> Expr {
        let in_connect = self.block().clause == Clause::ConnectBy;
        let known = match (&self.block().connect, in_connect) {
            (Some(c), true) => c.rownum,
            _ => self.block().rownum,
        };
        let reg = match known {
            Some(reg) => reg,
            None => {
                let reg = self.new_reg();
                let block = self.block();
                match (&mut block.connect, in_connect) {
                    (Some(c), true) => c.rownum = Some(reg),
                    _ => block.rownum = Some(reg),
                }
                reg
            }
        };
        Expr::new(Node::Reg(reg), number())
    }

    /// Notes a dependency on an object of the dictionary.
    pub fn depend(&mut self, object: types::ObjectId) {
        if !self.dependencies.contains(&object) {
            self.dependencies.push(object);
        }
    }

    /// Whether two expressions are the same for Oracle: by their texts, so a bind's name that stands again is the same
    /// bind, though a client may give each place a value of its own.
    pub fn is_same(&self, a: &Expr, b: &Expr) -> bool {
        let is_again = || self.binds.all().iter().any(|name| sql::is_place(name));
        a == b || is_again() && self.by_names(a.clone()) == self.by_names(b.clone())
    }

    fn by_names(&self, mut e: Expr) -> Expr {
        if let Node::Bind(at) = &mut e.node {
            let name = self.binds.all().get(*at).map_or("", |place| sql::name_of_place(place));
            // Mostly the place where it stands first has its name; an indicator may have taken it.
            let is_it = |place: &String| sql::name_of_place(place) == name;
            let first = self.binds.find(name).or_else(|| self.binds.all().iter().position(is_it));
            *at = first.unwrap_or(*at);
        }
        e.for_each_child_mut(&mut |child| {
            let taken = std::mem::replace(child, Expr::new(Node::Const(types::Value::Null), DataType::NUMBER));
            *child = self.by_names(taken);
        });
        e
    }

    /// The number of a bind variable: its place in the text, where that is known.
    pub fn bind(&mut self, name: &str) -> Expr {
        let index = self.binds.number(name);
        let ty = self.bind_types.get(index).copied().flatten().unwrap_or_else(|| text(4000));
        Expr::new(Node::Bind(index), ty)
    }
}

impl Compiler<'_> {
    /// A name of the statement's own text that is neither a column nor a function of SQL.
    pub fn variable(&mut self, path: &[ast::Ident], pos: u32, asked: crate::Asked) -> Result<Option<Expr>> {
        let Some(variables) = self.variables.filter(|_| self.eyes.is_empty() && self.catalogs.is_empty()) else {
            return Ok(None);
        };
        let Some(found) = variables.variable(path, pos, asked)? else { return Ok(None) };
        self.named_variable = Some(pos);
        Ok(Some(Expr::new(Node::Bind(self.binds.number(&found.name)), found.ty)))
    }
}

fn ambiguous(name: &str, pos: u32) -> Ora {
    let _ = name;
    Ora::new(918).at(pos)
}

/// The name of a column as ORA-00904 shows it.
pub fn quoted_path(parts: &[ast::Ident]) -> String {
    parts.iter().map(|p| format!("\"{}\"", p.name)).collect::<Vec<_>>().join(".")
}

/// ORA-00904: invalid identifier.
pub fn invalid_identifier(name: &ast::Name) -> Ora {
    Ora::with(904, &[&quoted_path(&name.parts)]).at(name.pos.0)
}
