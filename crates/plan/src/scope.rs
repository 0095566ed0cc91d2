//! Name resolution: the meaning of the names in a statement.
//!
//! The compiler keeps a stack of query blocks. A name is looked up in the innermost block first. A name found further
//! out makes every block in between correlated; this is recorded register by register, so that a subquery has exactly
//! the values it depends on (P4). Columns get registers when they are first used, so that unused columns are never
//! decoded (P2).

use crate::block_names::{ItemId, QueryBlocks};
use crate::ir::*;
use crate::logical::{LogicalQuery, LogicalSub, Rel};
use crate::physical::cost::IN_SCAN;
use crate::physical::degree::Parallel;
use crate::physical::state::{Peeks, Sampling, Sizes};
use crate::rewrite::switches::RewritesOff;
use crate::services::Functions;
use crate::typing::*;
use dictionary::{Catalog, FixedId, TableDef};
use sql::ast;
use std::collections::BTreeSet;
use std::rc::Rc;
use types::{DataType, ObjectId, Ora, Result};

/// The object number of DUAL.
const DUAL: ObjectId = ObjectId(142);

/// A row source of some FROM clause.
pub struct Item {
    pub alias: String,
    /// The table's owner, if the item is a table without an alias, for names of the form `owner.table.column`.
    pub schema: Option<String>,
    pub kind: ItemKind,
    pub columns: Vec<ItemColumn>,
    pub rowid: Option<Reg>,
}

impl Item {
    /// The columns that `*` selects, in order.
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
        /// `None` while it is rewritten or planned.
        rel: Option<Box<Rel>>,
        out: Vec<Expr>,
        lateral: Vec<Reg>,
    },
    /// A view merged into the block; its columns are expressions over the block's row sources. The given item is the
    /// table whose rows are the view's rows: the only table, or the first key-preserved one.
    Merged(Option<ItemId>),
    Cte {
        id: usize,
    },
    Elements {
        value: Expr,
        shape: ElementShape,
    },
}

pub struct ItemColumn {
    pub name: String,
    pub ty: DataType,
    pub nullable: bool,
    /// The value of the column, once it was used.
    pub value: Option<Expr>,
    /// The right side's column of a USING or NATURAL join, which needs a qualifier.
    pub hidden: bool,
    /// Must be named explicitly: `*`, NATURAL and PIVOT skip it.
    pub invisible: bool,
    /// A dropped column of the table: it keeps its position and has no name.
    pub dropped: bool,
    /// Joined by USING or NATURAL: the error for naming it with a qualifier.
    pub joined_by: Option<u32>,
    /// The value of the unqualified name, if it differs from the column's own value: after an outer join, that of the
    /// side with a row.
    pub joined: Option<Expr>,
}

impl ItemColumn {
    /// Whether the column can be named without a qualifier.
    pub fn is_named(&self) -> bool {
        !self.hidden && !self.dropped
    }

    /// Whether `*` selects the column.
    pub fn is_starred(&self) -> bool {
        self.is_named() && !self.invisible
    }
}

/// The clause being resolved, which decides what is allowed.
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

/// The additions of CONNECT BY to a block.
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
    /// Whether an operand of PRIOR may differ between evaluations.
    pub prior_varies: bool,
    /// PRIOR occurs outside the CONNECT BY condition.
    pub prior_wanted: bool,
}

/// One query block while it is resolved.
pub struct Block {
    pub items: Vec<ItemId>,
    /// Names are looked up from this item on: an ON clause sees its own join only.
    pub first_visible: usize,
    /// Whether enclosing blocks are invisible: for views, and for inline views without LATERAL.
    pub opaque: bool,
    pub clause: Clause,
    pub rownum: Option<Reg>,
    pub connect: Option<ConnectScope>,
    pub aggs: Vec<Agg>,
    pub windows: Vec<WindowFunc>,
    pub in_aggregate: bool,
    /// Inside an aggregate that is the argument of another one.
    pub in_nested: bool,
    /// Whether the aggregate being resolved contains another one.
    pub found_nested: bool,
    pub has_group_by: bool,
    /// Aggregates over aggregates: `MAX(COUNT(*))`.
    pub nested: Vec<Agg>,
    pub in_window: bool,
    /// Values without a register that are named above the grouping, if there is one: columns of DUAL, and constants of
    /// merged views.
    pub fixed: Vec<(Expr, u32)>,
    /// Aliases of the select list, visible in ORDER BY.
    pub aliases: Vec<(String, Expr)>,
    /// Registers of enclosing blocks that this block, or one inside it, reads.
    pub outer: BTreeSet<Reg>,
    /// Positions of columns in the text, for errors found later.
    pub places: Vec<(Reg, u32)>,
    /// Number of the query block; 0: none of its own.
    pub query_block: crate::block_names::BlockId,
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
    /// Runs once, and is read by id.
    Shared(usize),
    /// Expanded again at each use.
    Inline(Rc<ast::Query>, Vec<ast::Ident>),
    /// Names itself, and is compiled at each use.
    Recursive(Rc<ast::Cte>),
    /// The query inside its own recursive branch: the rows of a level, and the register of the parent's state.
    Pump(usize, Reg),
}

/// The state of one compilation.
pub struct Compiler<'c> {
    pub base: &'c dyn Catalog,
    /// The catalogs of the owners of the views being expanded, innermost last.
    pub catalogs: Vec<Box<dyn Catalog + 'c>>,
    /// The owners of the texts being compiled, parallel to `catalogs`.
    pub text_owners: Vec<crate::services::TextOwner>,
    pub functions: &'c dyn Functions,
    pub variables: Option<&'c dyn crate::services::Variables>,
    /// Position of the last name that was found to be a variable.
    pub named_variable: Option<u32>,
    pub regs: u32,
    pub items: Vec<Item>,
    pub blocks: Vec<Block>,
    /// The tree of the rows that the statement reads.
    pub rows: Option<Rel>,
    /// Estimated rows of the planned WITH queries.
    pub cte_rows: Vec<f64>,
    pub sizes: crate::physical::state::Sizes,
    pub peeks: crate::physical::state::Peeks<'c>,
    pub sampling: crate::physical::state::Sampling<'c>,
    /// Cost of a block in a full scan.
    pub in_scan: f64,
    pub corrections: &'c [crate::services::Correction],
    pub parallel: crate::Parallel,
    /// Parallel hints for the whole statement.
    pub parallel_wish: crate::physical::degree::Wish,
    /// Number of coordinators in the plan so far.
    pub coordinators: usize,
    pub notes: Vec<crate::Note>,
    /// Number of join filters so far.
    pub filters: usize,
    /// Whether branches of an OR are being planned.
    pub expanding: bool,
    pub rewrites_off: crate::rewrite::switches::RewritesOff,
    /// `_optimizer_join_elimination_enabled = FALSE`.
    pub keeps_joins: bool,
    /// Number of views made by rewrites.
    pub made_views: usize,
    /// Subqueries in the columns of merged views: every expression that names such a column contains them.
    pub column_subs: std::collections::HashSet<SubId>,
    pub query_blocks: crate::block_names::QueryBlocks,
    /// Number of index joins planned.
    pub made_index_joins: usize,
    pub subs: Vec<LogicalSub>,
    pub ctes: Vec<LogicalQuery>,
    pub cte_scopes: Vec<CteScope>,
    /// The views being compiled, innermost last.
    pub views: Vec<types::ObjectId>,
    /// Number of expressions resolved.
    pub resolved: u32,
    /// Nesting depth of set operations in the query as planned so far, including its views.
    pub set_depth: usize,
    pub binds: sql::Names,
    pub bind_types: &'c [Option<DataType>],
    pub sequences: Vec<Rc<SequenceRef>>,
    pub dependencies: Vec<types::ObjectId>,
    /// Owners and names of the stored units whose functions are called.
    pub units: Vec<(String, String)>,
    /// Objects that a cached result depends on.
    pub cache_deps: Vec<types::ObjectId>,
    /// Number of reads of values that change by themselves (fixed table, clock, sequence).
    pub volatile: u32,
    /// Those among them that may differ within one execution: sequences, fixed tables, non-deterministic functions.
    pub unstable: u32,
    /// Whether a table (`force_results`), or every table (`all_force`), has RESULT_CACHE (MODE FORCE).
    pub force_results: bool,
    pub all_force: bool,
    pub result_cache: bool,
    pub no_result_cache: bool,
    /// BIND_AWARE and NO_BIND_AWARE.
    pub bind_aware: Option<bool>,
    pub counts_operations: bool,
    /// AS OF: the clause for the tables being added, all clauses so far, and the items with one.
    pub as_of: Option<usize>,
    /// Whether clause 0 applies to the whole statement.
    pub whole: bool,
    pub moments: Vec<Expr>,
    pub as_of_items: std::collections::HashMap<ItemId, usize>,
    /// VERSIONS BETWEEN for the table being added, and the items with one.
    pub versions: Option<Versions>,
    pub version_items: std::collections::HashMap<ItemId, Versions>,
    /// `PARTITION (p)` for the table being added, and the items with one.
    pub partition: Option<Prune>,
    pub partition_items: std::collections::HashMap<ItemId, Prune>,
    /// The view that the statement changes rows through.
    pub through: Option<Rc<crate::through::Updatable>>,
    /// Whether FROM belongs to a query FOR UPDATE, or to a derived table in it: READ does not suffice.
    pub locking: bool,
    /// Items that the session may change but not read: their columns must not be named.
    pub unreadable: Vec<ItemId>,
    /// Tables and views that the query reads through views.
    pub below_views: Vec<(types::ObjectId, dictionary::UserId)>,
    /// Registers of pseudo-columns.
    pub pseudos: std::collections::HashMap<ItemId, Vec<(Pseudo, Reg)>>,
    /// Whether the catalog is told if a view compiles; not when views are only examined.
    pub tells_verdicts: bool,
    /// Inside CAST(COLLECT(…) AS type): the type, and that of its elements.
    pub collects: Option<(DataType, DataType)>,
    /// The number of times that columns of recursive WITH queries have widened.
    pub widenings: usize,
    /// For each CURSOR(subquery) being resolved: the number of enclosing blocks, and the outer values by position.
    pub outer_names: Vec<(usize, Vec<(u32, Expr)>)>,
    /// The expression of TABLE() is being resolved.
    pub in_collection: bool,
}

impl<'c> Compiler<'c> {
    /// A compiler in its initial state. `scn`: the SCN that every table without an AS OF clause is read as of.
    pub fn new(
        catalog: &'c dyn Catalog,
        functions: &'c dyn Functions,
        names: Vec<String>,
        binds: &'c [Option<DataType>],
        scn: Option<Expr>,
    ) -> Compiler<'c> {
        Compiler {
            base: catalog,
            catalogs: Vec::new(),
            text_owners: Vec::new(),
            functions,
            variables: None,
            named_variable: None,
            regs: 0,
            items: Vec::new(),
            blocks: Vec::new(),
            rows: None,
            cte_rows: Vec::new(),
            sizes: Sizes::default(),
            peeks: Peeks::default(),
            sampling: Sampling::default(),
            in_scan: catalog.system_statistics().scan_share().unwrap_or(IN_SCAN),
            corrections: &[],
            notes: Vec::new(),
            parallel: Parallel::default(),
            parallel_wish: Default::default(),
            coordinators: 0,
            rewrites_off: RewritesOff::default(),
            keeps_joins: false,
            made_views: 0,
            column_subs: std::collections::HashSet::new(),
            query_blocks: QueryBlocks::default(),
            made_index_joins: 0,
            filters: 0,
            expanding: false,
            subs: Vec::new(),
            ctes: Vec::new(),
            collects: None,
            widenings: 0,
            cte_scopes: Vec::new(),
            views: Vec::new(),
            resolved: 0,
            set_depth: 0,
            binds: names.into(),
            bind_types: binds,
            sequences: Vec::new(),
            dependencies: Vec::new(),
            units: Vec::new(),
            cache_deps: Vec::new(),
            volatile: 0,
            unstable: 0,
            force_results: false,
            all_force: true,
            result_cache: false,
            no_result_cache: false,
            bind_aware: None,
            counts_operations: false,
            as_of: scn.is_some().then_some(0),
            whole: scn.is_some(),
            moments: scn.into_iter().collect(),
            as_of_items: std::collections::HashMap::new(),
            versions: None,
            version_items: std::collections::HashMap::new(),
            partition: None,
            partition_items: std::collections::HashMap::new(),
            through: None,
            locking: false,
            unreadable: Vec::new(),
            below_views: Vec::new(),
            pseudos: std::collections::HashMap::new(),
            tells_verdicts: true,
            outer_names: Vec::new(),
            in_collection: false,
        }
    }
}

impl Compiler<'_> {
    /// Tells the catalog whether a view compiled.
    pub fn view_compiled(&self, view: &dictionary::ViewDef, error: Option<&Ora>) {
        if self.tells_verdicts {
            self.base.view_compiled(view, error);
        }
    }

    pub fn new_reg(&mut self) -> Reg {
        self.regs += 1;
        self.regs - 1
    }

    /// The catalog of the current view's owner, or of the session.
    pub fn catalog(&self) -> &dyn Catalog {
        self.catalogs.last().map_or(self.base, |c| &**c)
    }

    pub fn block(&mut self) -> &mut Block {
        self.blocks.last_mut().expect("a query block is being resolved")
    }

    /// The expression of a column, which gets a register at its first use.
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

    /// The value of a column named without a qualifier.
    pub fn joined_value(&mut self, item: ItemId, column: usize) -> Expr {
        self.items[item].columns[column].joined.clone().unwrap_or_else(|| self.column_value(item, column))
    }

    /// The ROWID of an item that is a table, or of the key-preserved table of a merged view.
    pub fn rowid_value(&mut self, item: ItemId) -> Option<Expr> {
        let mut ty = DataType::Rowid;
        match &self.items[item].kind {
            ItemKind::Table(table) if table.options.index_organized => ty = DataType::Urowid,
            ItemKind::Table(_) => {}
            ItemKind::Merged(Some(table)) => return self.rowid_value(*table),
            // DUAL's row is never read from a block; its rowid is that of the first row in the table's first block.
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

    /// A pseudo-column of a table, which gets a register at its first use.
    fn pseudo_value(&mut self, item: ItemId, pseudo: Pseudo) -> Expr {
        // ORA_ROWSCN is looked up by the row's address, and changes when other rows of the block change.
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
    /// ORA-00918 if several row sources of one block have the column.
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

    /// The item and column of a name in one block; `None` as column is ROWID.
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

    /// Records that the current block reads `value` of the block at `depth`.
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

    /// Calls `f` with each register that `e` reads, including outer values of its subqueries.
    pub fn expr_regs(&self, e: &Expr, f: &mut dyn FnMut(Reg)) {
        e.walk(&mut |e| match &e.node {
            Node::Reg(r) => f(*r),
            Node::Scalar(s) | Node::Exists(s) | Node::InSub { sub: s, .. } | Node::Quantified { sub: s, .. } => {
                self.subs[*s].outer.iter().for_each(|&r| f(r))
            }
            _ => {}
        });
    }

    /// Whether `e` reads a register.
    pub fn reads_reg(&self, e: &Expr, reg: Reg) -> bool {
        let mut found = false;
        self.expr_regs(e, &mut |r| found |= r == reg);
        found
    }

    /// Whether a register holds a column, the rowid or a pseudocolumn of an item.
    pub fn item_owns(&self, id: ItemId, reg: Reg) -> bool {
        let item = &self.items[id];
        item.rowid == Some(reg)
            || self.pseudos.get(&id).is_some_and(|list| list.iter().any(|(_, r)| *r == reg))
            || item.columns.iter().any(|c| matches!(&c.value, Some(Expr { node: Node::Reg(r), .. }) if *r == reg))
    }

    /// Whether a column is computed from others of its row.
    pub fn is_virtual(&self, id: ItemId, column: usize) -> bool {
        matches!(&self.items[id].kind, ItemKind::Table(t) if t.columns[column].virtual_text.is_some())
    }

    /// The columns of an item that have registers.
    pub fn read_columns(&self, id: ItemId) -> ColumnMap {
        let columns = self.items[id].columns.iter().enumerate().filter(|(i, _)| !self.is_virtual(id, *i));
        let read = columns.filter_map(|(i, c)| match &c.value {
            Some(Expr { node: Node::Reg(r), .. }) => Some((i as u16, *r)),
            _ => None,
        });
        read.collect()
    }

    /// Position at which register `reg` was last named in the current block.
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

    /// Whether Oracle treats two expressions as equal, by their text: two binds of one name are equal, although a
    /// client may give each place a value of its own.
    pub fn is_same(&self, a: &Expr, b: &Expr) -> bool {
        let is_again = || self.binds.all().iter().any(|name| sql::is_place(name));
        a == b || is_again() && self.by_names(a.clone()) == self.by_names(b.clone())
    }

    fn by_names(&self, mut e: Expr) -> Expr {
        if let Node::Bind(at) = &mut e.node {
            let name = self.binds.all().get(*at).map_or("", |place| sql::name_of_place(place));
            // Usually the place has the name of its first occurrence; an indicator may have taken it.
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

    /// The number of a bind variable, which is its position in the text if known.
    pub fn bind(&mut self, name: &str) -> Expr {
        let index = self.binds.number(name);
        let ty = self.bind_types.get(index).copied().flatten().unwrap_or_else(|| text(4000));
        Expr::new(Node::Bind(index), ty)
    }
}

impl Compiler<'_> {
    /// The variable for a name of the statement's own text that is neither a column nor a function of SQL.
    pub fn variable(&mut self, path: &[ast::Ident], pos: u32, asked: crate::services::Asked) -> Result<Option<Expr>> {
        let Some(variables) = self.variables.filter(|_| self.text_owners.is_empty() && self.catalogs.is_empty()) else {
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
