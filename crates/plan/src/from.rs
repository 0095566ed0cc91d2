//! FROM: tables, views, subqueries and joins become a set of row sources and conditions.
//!
//! Inner joins and simple views are flattened into one set, so that the join order is free. The right side of an outer
//! join keeps its condition. A FULL join, and a join on the right side of an outer join, stay nested sets.

use crate::block_names::ItemId;
use crate::ir::*;
use crate::items::{item_column, table_item};
use crate::logical::{JoinSet, Link, Part, PartKind};
use crate::refusals::unsupported;
use crate::resolve::{Compiled, Queries};
use crate::scope::*;
use crate::typing::*;
use dictionary::{ObjectPrivilege, Organization, Resolved, TableDef, UserId, ViewDef};
use sql::ast::{self, ExprKind, JoinConstraint, TableRefKind};
use std::collections::BTreeSet;
use std::rc::Rc;
use types::{DataType, ObjectId, Ora, Result, Value};

/// Errors in a view's query that make the view invalid, independent of the statement that uses it.
const FAULTS_OF_VIEWS: [u32; 8] = [904, 918, 942, 980, 1730, 2289, 4063, 6575];

/// ORA-04063 for a view.
pub(crate) fn has_errors(view: &ViewDef) -> Ora {
    Ora::with(4063, &[&format_args!("view \"{}.{}\"", view.owner, view.name)])
}

impl Compiler<'_> {
    /// The columns of TABLE(collection), and whether they are attributes of objects.
    ///
    /// # Errors
    /// ORA-22905 for an expression that is not a collection.
    fn element_columns(&mut self, ty: &DataType, pos: u32) -> Result<(bool, Vec<ItemColumn>)> {
        let def = |c: &mut Self, ty: &DataType| match ty {
            DataType::Named(id) => c.type_def(*id),
            _ => Ok(None),
        };
        let element = def(self, ty)?.and_then(|def| def.element()).ok_or_else(|| Ora::new(22905).at(pos))?;
        Ok(match def(self, &element)?.map(|def| def.shape.clone()) {
            Some(types::TypeShape::Object(attributes)) => {
                // After the attributes, without a name: the object itself, for VALUE.
                let mut object = item_column("", element, true);
                object.dropped = true;
                let attributes = attributes.iter().map(|a| item_column(&a.name, a.ty, true));
                (true, attributes.chain([object]).collect())
            }
            _ => (false, vec![item_column("COLUMN_VALUE", element, true)]),
        })
    }

    /// The value of a collection, of a document of JSON_TABLE or of XMLTABLE, and the columns of its elements.
    fn elements(&mut self, e: &ast::Expr) -> Result<(Expr, ElementShape, Vec<ItemColumn>)> {
        if let ExprKind::Call(call) = &e.kind
            && call.name.as_simple() == Some("JSON_TABLE")
            && let (Some(clauses), [input, passing @ ..]) = (&call.json, &call.args[..])
        {
            let (table, names) = self.json_table(clauses, e.pos.0)?;
            let columns = names.iter().map(|(name, ty)| item_column(name, *ty, true)).collect();
            return Ok((self.json_table_input(&input.value, passing)?, ElementShape::Json(Box::new(table)), columns));
        }
        if let ExprKind::Call(call) = &e.kind
            && call.name.as_simple() == Some("XMLTABLE")
            && let Some(clauses) = &call.xml
        {
            let (value, rows, names) = self.xml_table(call, clauses, e.pos.0)?;
            let columns = names.iter().map(|(name, ty)| item_column(name, *ty, true)).collect();
            return Ok((value, ElementShape::Xml(Box::new(rows)), columns));
        }
        crate::nested::check_places(e, true)?;
        self.in_collection = true;
        let value = self.expr(e);
        self.in_collection = false;
        let value = value?;
        let (objects, columns) = self.element_columns(&value.ty, e.pos.0)?;
        Ok((value, if objects { ElementShape::Objects } else { ElementShape::Values }, columns))
    }

    /// Adds one row source of FROM. `merge`: views may be merged into the block.
    pub fn from_item(&mut self, t: &ast::TableRef, set: &mut JoinSet, merge: bool) -> Result<()> {
        self.table_ref(t, set, merge)
    }

    /// Adds one row source. `merge` is false if an outer join may replace its rows by NULLs.
    fn table_ref(&mut self, t: &ast::TableRef, set: &mut JoinSet, merge: bool) -> Result<()> {
        let ast::TableRef { kind, pos: ast::Pos(pos) } = t;
        let pos = *pos;
        if os::stack::is_short() {
            return Err(Ora::with(4030, &[&"64", &"kxs-heap-c", &"join nesting"]).at(pos));
        }
        match kind {
            TableRefKind::Table(name) => self.table(name, set, merge, pos),
            TableRefKind::Subquery { query, restriction, lateral, as_of: Some(as_of), alias, pivot } => {
                let kind = TableRefKind::Subquery {
                    query: query.clone(),
                    restriction: *restriction,
                    lateral: *lateral,
                    as_of: None,
                    alias: alias.clone(),
                    pivot: pivot.clone(),
                };
                let plain = ast::TableRef { kind, pos: t.pos };
                self.within(as_of, pos, |c| c.table_ref(&plain, set, merge))
            }
            TableRefKind::Subquery { query, restriction, lateral, as_of: None, alias, pivot } => {
                if let Some(pivot) = pivot {
                    let kind = TableRefKind::Subquery {
                        query: query.clone(),
                        restriction: *restriction,
                        lateral: *lateral,
                        as_of: None,
                        alias: alias.clone(),
                        pivot: None,
                    };
                    return self.pivoted(&ast::TableRef { kind, pos: t.pos }, pivot, set, merge, pos);
                }
                let alias = alias.as_ref().map_or(String::new(), |a| a.name.clone());
                self.inline_view(query, *lateral, alias, &[], set, merge)
            }
            TableRefKind::Collection { expr, outer, alias } => {
                let (value, shape, columns) = self.elements(expr)?;
                let item = Item {
                    alias: alias.as_ref().map_or(String::new(), |a| a.name.clone()),
                    schema: None,
                    kind: ItemKind::Elements { value, shape },
                    columns,
                    rowid: None,
                };
                self.unstable += 1;
                self.volatile += 1;
                let id = self.add_item(item);
                let mut part = Part::inner(PartKind::Leaf(id));
                // Without another row source the mark has no effect: no row has to be preserved.
                if *outer && !set.parts.is_empty() {
                    part.link = Link::Left(Vec::new());
                }
                set.parts.push(part);
                Ok(())
            }
            TableRefKind::Join { kind, left, right, constraint } => {
                self.join(*kind, left, right, constraint, set, merge)
            }
        }
    }

    fn join(
        &mut self,
        kind: ast::JoinKind,
        left: &ast::TableRef,
        right: &ast::TableRef,
        constraint: &JoinConstraint,
        set: &mut JoinSet,
        merge: bool,
    ) -> Result<()> {
        let first = self.block().items.len();
        match kind {
            ast::JoinKind::Inner | ast::JoinKind::Cross => {
                self.table_ref(left, set, merge)?;
                let middle = self.block().items.len();
                self.table_ref(right, set, merge)?;
                let on = self.join_condition(kind, constraint, first, middle)?;
                set.conds.extend(on);
                Ok(())
            }
            ast::JoinKind::Left | ast::JoinKind::Right => {
                // The items keep the order of the text; only the roles of the sides are swapped.
                let left_outer = kind == ast::JoinKind::Left;
                let mut left_set = JoinSet::default();
                let mut right_set = JoinSet::default();
                self.table_ref(left, &mut left_set, merge && left_outer)?;
                let middle = self.block().items.len();
                self.table_ref(right, &mut right_set, merge && !left_outer)?;
                let on = self.join_condition(kind, constraint, first, middle)?;
                let (kept, optional) = if left_outer { (left_set, right_set) } else { (right_set, left_set) };
                set.parts.extend(kept.parts);
                set.conds.extend(kept.conds);
                set.hints.extend(kept.hints);
                set.parts.push(Part::optional(optional, on));
                Ok(())
            }
            ast::JoinKind::Full => {
                let mut left_set = JoinSet::default();
                let mut right_set = JoinSet::default();
                self.table_ref(left, &mut left_set, false)?;
                let middle = self.block().items.len();
                self.table_ref(right, &mut right_set, false)?;
                let on = self.join_condition(kind, constraint, first, middle)?;
                let kind = PartKind::Full(Box::new((left_set, right_set, on)));
                set.parts.push(Part::inner(kind));
                Ok(())
            }
            ast::JoinKind::CrossApply | ast::JoinKind::OuterApply => {
                self.table_ref(left, set, merge)?;
                let mut right_set = JoinSet::default();
                // A subquery here is LATERAL to the left side.
                if matches!(right.kind, TableRefKind::Subquery { .. }) {
                    let mut applied = right.clone();
                    if let TableRefKind::Subquery { query: _, restriction: _, lateral, as_of: _, alias: _, pivot: _ } =
                        &mut applied.kind
                    {
                        *lateral = true;
                    }
                    self.table_ref(&applied, &mut right_set, false)?;
                } else {
                    self.table_ref(right, &mut right_set, false)?;
                }
                if kind == ast::JoinKind::OuterApply {
                    set.parts.push(Part::optional(right_set, Vec::new()));
                } else {
                    set.parts.extend(right_set.parts);
                    set.conds.extend(right_set.conds);
                }
                Ok(())
            }
        }
    }

    /// The condition of a join whose items begin at `first`, and those of its right side at `middle`.
    fn join_condition(
        &mut self,
        kind: ast::JoinKind,
        constraint: &JoinConstraint,
        first: usize,
        middle: usize,
    ) -> Result<Vec<Expr>> {
        let mut conds = Vec::new();
        match constraint {
            JoinConstraint::None => {}
            JoinConstraint::On(e) => {
                let saved = std::mem::replace(&mut self.block().first_visible, first);
                let result = self.conditions(e, &mut conds);
                self.block().first_visible = saved;
                result?;
            }
            JoinConstraint::Using(columns) => {
                for c in columns {
                    conds.push(self.using_column(&c.name, c.pos.0, first, middle, (kind, 25154))?);
                }
            }
            JoinConstraint::Natural => {
                let items = self.block().items.clone();
                let mut names = Vec::new();
                for &left in &items[first..middle] {
                    for c in self.items[left].columns.iter().filter(|c| c.is_starred()) {
                        let same = |d: &ItemColumn| d.is_starred() && d.name == c.name;
                        let shared = items[middle..].iter().any(|&r| self.items[r].columns.iter().any(same));
                        if shared && !names.contains(&c.name) {
                            names.push(c.name.clone());
                        }
                    }
                }
                for name in names {
                    conds.push(self.using_column(&name, 0, first, middle, (kind, 25155))?);
                }
            }
        }
        Ok(conds)
    }

    /// The equality on a column that both sides share. From here on the unqualified name is one column: that of the
    /// left or the right side, or of whichever side has a row.
    fn using_column(
        &mut self,
        name: &str,
        pos: u32,
        first: usize,
        middle: usize,
        (kind, qualified): (ast::JoinKind, u32),
    ) -> Result<Expr> {
        let items = self.block().items.clone();
        let find = |c: &Compiler<'_>, ids: &[ItemId]| {
            let columns =
                ids.iter().flat_map(|&id| c.items[id].columns.iter().enumerate().map(move |(at, c)| (id, at, c)));
            let mut found = columns.filter(|(_, _, c)| c.is_named() && c.name == name).map(|(id, at, _)| (id, at));
            let first = found.next().ok_or_else(|| Ora::with(904, &[&format!("\"{name}\"")]).at(pos))?;
            if found.next().is_some() { Err(Ora::new(918).at(pos)) } else { Ok(first) }
        };
        let (li, lc) = find(self, &items[first..middle])?;
        let (ri, rc) = find(self, &items[middle..])?;
        let (a, b) = (self.joined_value(li, lc), self.joined_value(ri, rc));
        self.items[ri].columns[rc].hidden = true;
        let joined = match kind {
            ast::JoinKind::Right => Some(b.clone()),
            ast::JoinKind::Full => {
                let (both, ty) = unify(vec![a.clone(), b.clone()], &[pos, pos])?;
                Some(Expr::new(Node::Coalesce(both), ty))
            }
            ast::JoinKind::Inner
            | ast::JoinKind::Left
            | ast::JoinKind::Cross
            | ast::JoinKind::CrossApply
            | ast::JoinKind::OuterApply => None,
        };
        if joined.is_some() {
            self.items[li].columns[lc].joined = joined;
        }
        self.items[li].columns[lc].joined_by = Some(qualified);
        self.items[ri].columns[rc].joined_by = Some(qualified);
        compare(CmpOp::Eq, a, b, pos)
    }

    fn table(&mut self, t: &ast::TableName, set: &mut JoinSet, merge: bool, pos: u32) -> Result<()> {
        let ast::TableName { name: full, alias, partition, sample, as_of, versions, pivot } = t;
        if let Some(pivot) = pivot {
            let kind = TableRefKind::Table(ast::TableName { pivot: None, ..t.clone() });
            return self.pivoted(&ast::TableRef { kind, pos: ast::Pos(pos) }, pivot, set, merge, pos);
        }
        if let Some(versions) = versions {
            return self.table_versions(t, versions, set, merge, pos);
        }
        if let Some(as_of) = as_of {
            let plain = ast::TableName { as_of: None, ..t.clone() };
            return self.within(as_of, pos, |c| c.table(&plain, set, merge, pos));
        }
        if let Some(sample) = sample {
            let plain = ast::TableName { sample: None, ..t.clone() };
            return self.sampled(&plain, sample, set, merge, pos);
        }
        if full.link.is_some() {
            return Err(Ora::new(2019).at(pos));
        }
        let name = full.last();
        let alias = alias.as_ref().map_or_else(|| name.to_owned(), |a| a.name.clone());
        if let Some(simple) = t.name.as_simple()
            && let Some(cte) = self.cte_scopes.iter().rposition(|c| c.name == simple)
        {
            if self.as_of.is_some_and(|n| !self.whole || n > 0) {
                return Err(unsupported("AS OF", pos));
            }
            refuse_partition(partition.as_deref())?;
            return self.cte(cte, alias, set, merge);
        }
        let owner = t.name.qualifier();
        // Errors have the position of the object's own name, after its schema.
        let pos = t.name.parts.last().map_or(pos, |part| part.pos.0);
        if name == "DUAL" && owner.map_or_else(|| !self.catalog().is_own_name(name), |o| o == "SYS") {
            refuse_partition(partition.as_deref())?;
            self.dual(alias, set);
            return Ok(());
        }
        let resolved =
            self.catalog().relation(owner, name).map_err(|e| if e.position().is_none() { e.at(pos) } else { e })?;
        let own_clause = self.as_of.is_some_and(|n| !self.whole || n > 0);
        match resolved {
            Some(Resolved::Table(table)) => {
                self.check_read(table.object, table.owner_id, pos)?;
                // A fixed table has no past versions.
                if own_clause && table.is_fixed() {
                    return Err(unsupported("AS OF", pos));
                }
                if self.versions.is_some() && !matches!(table.organization, Organization::Heap(_)) {
                    let here = if table.is_fixed() { Ora::new(30051).at(pos) } else { unsupported("VERSIONS", pos) };
                    return Err(here);
                }
                // Rows of a temporary table are lost with their transaction, and so are their versions.
                if (self.as_of.is_some() || self.versions.is_some()) && table.temporary.is_some() {
                    return Err(Ora::new(14451).at(pos));
                }
                self.partition = match partition {
                    Some(partition) => Some(self.named_partition(&table, partition, pos)?),
                    None => None,
                };
                let done = self.table_item(table, alias, t.alias.is_none(), set, !merge);
                self.partition = None;
                done
            }
            Some(Resolved::View(_)) if self.versions.is_some() => Err(Ora::new(30051).at(pos)),
            Some(Resolved::View(view)) => {
                refuse_partition(partition.as_deref())?;
                self.check_read(view.object, view.owner_id, pos)?;
                self.view(&view, alias, t.alias.is_none(), set, merge, pos)
            }
            _ => Err(Ora::new(942).at(pos)),
        }
    }

    /// A table with SAMPLE: a condition on the addresses of its rows.
    fn sampled(
        &mut self,
        t: &ast::TableName,
        sample: &ast::Sample,
        set: &mut JoinSet,
        merge: bool,
        pos: u32,
    ) -> Result<()> {
        let ast::Sample { block, percent, seed } = sample;
        let mut literal = |e: &ast::Expr| match self.expr(e)?.node {
            Node::Const(Value::Number(n)) => Ok((n, e.pos.0)),
            _ => Err(Ora::new(1760).at(e.pos.0)),
        };
        let (percent, percent_pos) = literal(percent)?;
        let seed = seed.as_ref().map(|seed| literal(seed)).transpose()?;
        let least = types::Number::parse("0.000001").unwrap_or_default();
        if percent < least || percent >= types::Number::from_i64(100) {
            return Err(Ora::new(30562).at(percent_pos));
        }
        if let Some((seed, seed_pos)) = &seed
            && seed.as_i64().is_none_or(|seed| !(0..=i64::from(u32::MAX)).contains(&seed))
        {
            return Err(Ora::with(1428, &[seed]).at(*seed_pos));
        }
        // Below an outer join the sample is taken before the join.
        let mut own = JoinSet::default();
        self.table(t, if merge { &mut *set } else { &mut own }, merge, pos)?;
        let id = *self.block().items.last().ok_or_else(|| Ora::internal("SAMPLE without a table"))?;
        let Some(rowid) = self.rowid_value(id) else { return Err(Ora::new(1446).at(pos)) };
        let of = |n: types::Number| Expr::new(Node::Const(Value::Number(n)), number());
        let mut args = vec![rowid, of(percent), of(types::Number::from_i64(i64::from(*block)))];
        match seed {
            Some((seed, _)) => args.push(of(seed)),
            None => {
                self.volatile += 1;
                self.unstable += 1;
            }
        }
        let chosen = self.scalar_function(functions::SAMPLE, args, &[], pos)?;
        if merge {
            set.conds.push(chosen);
        } else {
            own.conds.push(chosen);
            set.parts.push(Part::inner(PartKind::Set(own)));
        }
        Ok(())
    }

    /// The partition that a clause behind the name of a table names.
    ///
    /// # Errors
    /// ORA-14501 for a table that is not partitioned, ORA-02149 for a partition that does not exist.
    pub(crate) fn named_partition(&mut self, table: &TableDef, named: &ast::PartitionRef, pos: u32) -> Result<Prune> {
        let Some(of) = table.partitioning() else {
            return Err(Ora::new(14501).at(pos)); // object is not partitioned
        };
        let ast::PartitionRef { subpartition, which, pos: place } = named;
        if *subpartition {
            return Err(Ora::new(14253).at(place.0));
        }
        match which {
            ast::WhichPartition::Name(name) => {
                let at = of.place_of_name(&name.name).ok_or_else(|| Ora::new(2149).at(name.pos.0))?;
                Ok(Prune { place: Some(at as u32), ..Prune::default() })
            }
            ast::WhichPartition::For(values) => {
                if values.len() != of.columns.len() {
                    return Err(Ora::new(14018).at(place.0));
                }
                let mut keys = Vec::new();
                for (value, column) in values.iter().zip(&of.columns) {
                    let ty = table.columns[*column].data_type;
                    self.blocks.push(crate::scope::Block::new(true));
                    let e = self.expr(value);
                    self.blocks.pop();
                    keys.push(Key::from(crate::typing::convert(e?, &ty, value.pos.0)?));
                }
                Ok(Prune { of: keys, ..Prune::default() })
            }
        }
    }

    /// Checks (ORA-01031) that the session may read a table or view in FROM; with FOR UPDATE that it may lock rows,
    /// with AS OF that it may use flashback.
    fn check_read(&mut self, object: ObjectId, owner: UserId, pos: u32) -> Result<()> {
        let read = if self.locking { ObjectPrivilege::Select } else { ObjectPrivilege::Read };
        self.check_privilege(object, owner, read, pos)?;
        let own_clause = self.as_of.is_some_and(|n| !self.whole || n > 0) || self.versions.is_some();
        if !self.catalogs.is_empty() {
            if !self.below_views.contains(&(object, owner)) {
                self.below_views.push((object, owner));
            }
        } else if own_clause {
            self.check_privilege(object, owner, ObjectPrivilege::Flashback, pos)?;
        }
        Ok(())
    }

    /// Adds a table. `optional`: an outer join may replace its row by NULLs.
    fn table_item(
        &mut self,
        table: Rc<TableDef>,
        alias: String,
        named: bool,
        set: &mut JoinSet,
        optional: bool,
    ) -> Result<()> {
        let schema = named.then(|| table.owner.clone());
        let virtuals = table.columns.iter().any(|c| c.virtual_text.is_some()).then(|| table.clone());
        let item = if let Organization::Fixed(handle) = table.organization {
            self.volatile += 1;
            self.unstable += 1;
            let columns = table.visible_columns().map(|(_, c)| item_column(&c.name, c.data_type, c.nullable)).collect();
            Item { alias, schema, kind: ItemKind::Fixed { table, handle }, columns, rowid: None }
        } else {
            self.depend(table.object);
            if !self.cache_deps.contains(&table.object) {
                self.cache_deps.push(table.object);
            }
            self.force_results |= table.options.result_cache_force;
            self.all_force &= table.options.result_cache_force;
            table_item(alias, schema, table)
        };
        let id = self.add_item(item);
        if let Some(partition) = self.partition.take() {
            self.partition_items.insert(id, partition);
        }
        if let Some(n) = self.as_of {
            self.as_of_items.insert(id, n);
            self.volatile += 1;
        }
        if let Some(versions) = self.versions.take() {
            self.version_items.insert(id, versions);
            self.volatile += 1;
        }
        if let Some(table) = virtuals {
            self.bind_virtuals(id, &table, optional)?;
        }
        set.parts.push(Part::inner(PartKind::Leaf(id)));
        Ok(())
    }

    /// A table with VERSIONS BETWEEN, read version by version.
    fn table_versions(
        &mut self,
        t: &ast::TableName,
        versions: &ast::Versions,
        set: &mut JoinSet,
        merge: bool,
        pos: u32,
    ) -> Result<()> {
        let is_cte = t.name.as_simple().is_some_and(|name| self.cte_scopes.iter().any(|c| c.name == name));
        let is_dual = t.name.last() == "DUAL" && t.name.qualifier().is_none_or(|o| o == "SYS");
        if is_cte || is_dual {
            return Err(Ora::new(30051).at(pos));
        }
        let ast::Versions { low, high, pos: at } = versions;
        if t.as_of.is_some() || self.as_of.is_some() {
            return Err(unsupported("VERSIONS", at.0));
        }
        let mut moment = |bound: &Option<ast::AsOf>| bound.as_ref().map(|b| self.moment(b, at.0)).transpose();
        let bounds = Versions { low: moment(low)?, high: moment(high)? };
        let plain = ast::TableName { versions: None, ..t.clone() };
        self.versions = Some(bounds);
        let done = self.table(&plain, set, merge, pos);
        self.versions = None;
        done
    }

    /// Compiles a part of FROM whose tables have an AS OF clause.
    fn within(&mut self, as_of: &ast::AsOf, pos: u32, part: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let n = self.moment(as_of, pos)?;
        let outer = self.as_of.replace(n);
        let done = part(self);
        self.as_of = outer;
        done
    }

    /// Adds an AS OF clause; its expression is evaluated once an execution and sees no columns.
    fn moment(&mut self, as_of: &ast::AsOf, pos: u32) -> Result<usize> {
        let (ast::AsOf::Scn(e) | ast::AsOf::Timestamp(e)) = as_of;
        self.blocks.push(Block::new(true));
        let value = self.expr(e);
        self.blocks.pop();
        let value = value?;
        let expr = match (as_of, class(&value.ty)) {
            (ast::AsOf::Scn(_), _) => convert(value, &types::DataType::NUMBER, e.pos.0)?,
            (ast::AsOf::Timestamp(_), Class::Timestamp | Class::Date) => value,
            (ast::AsOf::Timestamp(_), Class::Text) => convert(value, &types::DataType::TIMESTAMP_TZ, e.pos.0)?,
            _ => return Err(Ora::new(8186).at(pos)),
        };
        self.moments.push(expr);
        Ok(self.moments.len() - 1)
    }

    /// Expands a view into its query, with its owner's names and privileges.
    pub fn view(
        &mut self,
        view: &ViewDef,
        alias: String,
        named: bool,
        set: &mut JoinSet,
        merge: bool,
        pos: u32,
    ) -> Result<()> {
        self.depend(view.object);
        if !view.catalog && !self.cache_deps.contains(&view.object) {
            self.cache_deps.push(view.object);
        }
        if self.views.contains(&view.object) {
            return Err(Ora::new(1731).at(pos));
        }
        // An error inside a view has the position of the view in the statement.
        let query = sql::parse_query(&view.text).map_err(|e| e.at(pos))?;
        let saved_ctes = std::mem::take(&mut self.cte_scopes);
        let owner = if view.catalog { UserId::SYS } else { view.owner_id };
        let catalog = self.base.as_owner(owner)?;
        self.catalogs.push(catalog);
        self.text_owners.push(crate::services::TextOwner {
            owner,
            bequeaths: view.bequeaths,
            view: true,
            catalog: view.catalog,
        });
        self.views.push(view.object);
        let result = self.inline_view(&query, false, alias, &view.columns, set, merge);
        self.views.pop();
        self.text_owners.pop();
        self.catalogs.pop();
        self.cte_scopes = saved_ctes;
        if named && let Some(&id) = self.block().items.last() {
            self.items[id].schema = Some(view.owner.clone());
        }
        // An object of the view is gone, or its owner may not use it.
        let is_fault = |e: &Ora| !view.catalog && FAULTS_OF_VIEWS.iter().any(|code| e.is(*code));
        if result.as_ref().map_or_else(is_fault, |()| !view.valid) {
            self.view_compiled(view, result.as_ref().err());
        }
        result.map_err(|e| match e {
            e if is_fault(&e) => has_errors(view).at(pos),
            e => e.at(pos),
        })
    }

    fn dual(&mut self, alias: String, set: &mut JoinSet) {
        let mut column = item_column("DUMMY", text(1), true);
        column.value = Some(Expr::new(Node::Const(Value::Text("X".into())), column.ty));
        let item = Item { alias, schema: Some("SYS".into()), kind: ItemKind::Dual, columns: vec![column], rowid: None };
        let id = self.add_item(item);
        set.parts.push(Part::inner(PartKind::Leaf(id)));
    }

    fn cte(&mut self, index: usize, alias: String, set: &mut JoinSet, merge: bool) -> Result<()> {
        match &self.cte_scopes[index].kind {
            CteKind::Shared(id) => {
                let id = *id;
                let columns =
                    self.cte_scopes[index].columns.iter().map(|c| item_column(&c.name, c.ty, c.nullable)).collect();
                let item = Item { alias, schema: None, kind: ItemKind::Cte { id }, columns, rowid: None };
                let id = self.add_item(item);
                set.parts.push(Part::inner(PartKind::Leaf(id)));
                Ok(())
            }
            CteKind::Pump(id, state) => {
                let (id, state) = (*id, *state);
                let columns = &self.cte_scopes[index].columns;
                let mut columns: Vec<ItemColumn> =
                    columns.iter().map(|c| item_column(&c.name, c.ty, c.nullable)).collect();
                let mut hidden = item_column("", DataType::Raw { len: 2000 }, true);
                hidden.dropped = true;
                hidden.value = Some(Expr::new(Node::Reg(state), hidden.ty));
                columns.push(hidden);
                let item = Item { alias, schema: None, kind: ItemKind::Cte { id }, columns, rowid: None };
                let id = self.add_item(item);
                set.parts.push(Part::inner(PartKind::Leaf(id)));
                Ok(())
            }
            CteKind::Recursive(cte) => {
                let cte = cte.clone();
                let hidden = self.cte_scopes.split_off(index);
                let bound = self.recursive(&cte);
                self.cte_scopes.extend(hidden);
                let (rel, out, columns) = bound?;
                let columns = columns.iter().map(|c| item_column(&c.name, c.ty, c.nullable)).collect();
                let kind = ItemKind::Derived { rel: Some(Box::new(rel)), out, lateral: Vec::new() };
                let id = self.add_item(Item { alias, schema: None, kind, columns, rowid: None });
                set.parts.push(Part::inner(PartKind::Leaf(id)));
                Ok(())
            }
            CteKind::Inline(query, names) => {
                let (query, names) = (query.clone(), names.clone());
                let place = names.first().map_or(query.pos.0, |name| name.pos.0);
                let names: Vec<String> = names.into_iter().map(|i| i.name).collect();
                // A WITH query sees only the WITH queries before it.
                let hidden = self.cte_scopes.split_off(index);
                let result = self.inline_view(&query, false, alias, &names, set, merge);
                self.cte_scopes.extend(hidden);
                result.map_err(|e| if e.is(1730) { Ora::new(32038).at(place) } else { e })
            }
        }
    }

    /// Adds a query as a row source: merged into the block if it is a plain join, otherwise with a plan of its own.
    pub fn inline_view(
        &mut self,
        query: &ast::Query,
        lateral: bool,
        alias: String,
        names: &[String],
        set: &mut JoinSet,
        merge: bool,
    ) -> Result<()> {
        // A hint in the surrounding block may name the view as well.
        let is_kept = set.hints.iter().any(|h| h.name == "NO_MERGE" && h.args.contains(&alias));
        let compiled = self.inner_query(query, !lateral, merge && !lateral && !is_kept)?;
        let columns = match &compiled {
            Compiled::Open { columns, .. } | Compiled::Built { columns, .. } => columns,
        };
        if !names.is_empty() && names.len() != columns.len() {
            return Err(Ora::new(1730).at(query.pos.0));
        }
        let mut item_columns: Vec<ItemColumn> =
            columns.iter().map(|c| item_column(&c.name, c.ty, c.nullable)).collect();
        for (c, name) in item_columns.iter_mut().zip(names) {
            c.name.clone_from(name);
        }
        match compiled {
            Compiled::Open { set: inner, out, .. } => {
                for (c, e) in item_columns.iter_mut().zip(out) {
                    e.each_subquery(&mut |sub| _ = self.column_subs.insert(sub));
                    c.value = Some(e);
                }
                let kind = ItemKind::Merged(self.kept_table(&inner));
                let item = Item { alias, schema: None, kind, columns: item_columns, rowid: None };
                self.add_item(item);
                set.parts.extend(inner.parts);
                set.conds.extend(inner.conds);
                set.hints.extend(inner.hints);
                set.block = self.query_blocks.merged(set.block, inner.block);
            }
            Compiled::Built { rel, out, outer, .. } => {
                let lateral = if lateral { outer.into_iter().collect() } else { Vec::new() };
                let kind = ItemKind::Derived { rel: Some(Box::new(rel)), out, lateral };
                let id = self.add_item(Item { alias, schema: None, kind, columns: item_columns, rowid: None });
                set.parts.push(Part::inner(PartKind::Leaf(id)));
            }
        }
        Ok(())
    }

    /// Turns `(+)` into outer joins: conditions of WHERE with marked columns move to the outer joins of their row
    /// sources.
    pub fn plus_joins(&mut self, filter: &ast::Expr, set: &mut JoinSet) -> Result<()> {
        let mut conjuncts = Vec::new();
        split_and(filter, &mut conjuncts);
        let mut first = None;
        for e in conjuncts {
            let mut marked = Vec::new();
            marks(e, &mut marked);
            if marked.is_empty() {
                self.conditions(e, &mut set.conds)?;
                continue;
            }
            first.get_or_insert(e.pos.0);
            let mut on = Vec::new();
            self.conditions(e, &mut on)?;
            let mut owners = BTreeSet::new();
            for name in &marked {
                let value = self.expr(name)?;
                // A virtual column is an expression over columns of its table.
                let mut regs = Vec::new();
                self.expr_regs(&value, &mut |r| regs.push(r));
                if regs.is_empty() {
                    return Err(Ora::new(1416).at(e.pos.0));
                }
                for reg in regs {
                    match self.part_of(set, reg) {
                        Some(part) => owners.insert(part),
                        None => return Err(Ora::new(1705).at(e.pos.0)),
                    };
                }
            }
            if owners.len() != 1 {
                // ORA-01468: a predicate may reference only one outer-joined table
                return Err(Ora::new(1468).at(e.pos.0));
            }
            // Subqueries are searched for in the text: a column of a view may be a subquery.
            let mut queries = 0;
            crate::refs::each_query(e, &mut |_| queries += 1);
            if queries > 0 {
                return Err(Ora::new(1799).at(e.pos.0));
            }
            if matches!(e.kind, ExprKind::Binary { op: ast::BinaryOp::Or, left: _, right: _ }) {
                return Err(Ora::new(1719).at(e.pos.0));
            }
            let part = owners.into_iter().next().expect("one owner");
            match &mut set.parts[part].link {
                Link::Left(known) => known.extend(on),
                link => *link = Link::Left(on),
            }
        }
        match first {
            Some(pos) if self.has_ring(set) => Err(Ora::new(1416).at(pos)),
            _ => Ok(()),
        }
    }

    /// Whether optional parts of a set depend on one another in a cycle through their conditions.
    fn has_ring(&self, set: &JoinSet) -> bool {
        let mut waits: Vec<BTreeSet<usize>> = Vec::new();
        for (at, part) in set.parts.iter().enumerate() {
            let mut others = BTreeSet::new();
            if let Link::Left(on) = &part.link {
                for e in on {
                    self.expr_regs(e, &mut |reg| others.extend(self.part_of(set, reg).filter(|other| *other != at)));
                }
            }
            waits.push(others);
        }
        // Remove parts without dependencies until none is left.
        let mut left: BTreeSet<usize> = (0..waits.len()).collect();
        while let Some(free) = left.iter().copied().find(|at| waits[*at].is_disjoint(&left)) {
            left.remove(&free);
        }
        !left.is_empty()
    }

    /// The part of a set that owns a register.
    fn part_of(&self, set: &JoinSet, reg: Reg) -> Option<usize> {
        set.parts.iter().position(|p| match p.kind {
            PartKind::Leaf(id) => self.item_owns(id, reg),
            // A table with SAMPLE.
            PartKind::Set(ref own) => own.parts.len() == 1 && self.part_of(own, reg).is_some(),
            PartKind::Full(_) => false,
        })
    }
}

fn split_and<'a>(e: &'a ast::Expr, into: &mut Vec<&'a ast::Expr>) {
    match &e.kind {
        ExprKind::Binary { op: ast::BinaryOp::And, left, right } => {
            split_and(left, into);
            split_and(right, into);
        }
        // not a clause: any other expression is one condition
        _ => into.push(e),
    }
}

/// The columns marked `(+)` in a condition.
fn marks<'a>(e: &'a ast::Expr, into: &mut Vec<&'a ast::Expr>) {
    match &e.kind {
        ExprKind::OuterJoined(inner) => into.push(inner),
        // not a clause: `each_child` handles every kind
        _ => crate::refs::each_child(e, &mut |child| marks(child, into)),
    }
}

/// Only a table has partitions that a clause can name.
fn refuse_partition(partition: Option<&ast::PartitionRef>) -> Result<()> {
    partition.map_or(Ok(()), |partition| Err(Ora::new(14109).at(partition.pos.0)))
}
