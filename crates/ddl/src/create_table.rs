//! CREATE TABLE, with its columns, constraints and rows.

use crate::columns;
use crate::constraint;
use crate::expression;
use crate::host::{Described, Parts};
use crate::partition_create;
use crate::partition_rows;
use crate::rows::{hash_cluster, key_of, row_table};
use crate::sequence;
use crate::validation::Subject;
use crate::work::{Target, Work, no_column};
use block::SegmentKind;
use dictionary::base::{Base, tab};
use dictionary::image::{cluster_columns, property};
use dictionary::rows::{blank, int};
use dictionary::*;
use sql::ast::{ColumnSpec, ConstraintKind, ConstraintSpec, CreateTable, Ident, Name, TableOrganization, Temporary};
use std::rc::Rc;
use txn::LockWait;
use types::{DataType, ObjectId, Ora, Rdba, Result, RowWriter, Value};

/// Rows that CREATE TABLE AS SELECT inserts at once.
const BATCH_ROWS: usize = 256;

pub fn create(work: &mut Work<'_>, create: &CreateTable) -> Result<()> {
    make(work, create).map(drop)
}

/// As [`create`]; returns the table.
pub fn make(work: &mut Work<'_>, create: &CreateTable) -> Result<ObjectId> {
    let target = work.target(&create.name)?;
    work.require(&target, Some(SystemPrivilege::CreateTable), SystemPrivilege::CreateAnyTable)?;
    work.require_new(&target, ObjectKind::Table)?;
    refuse_what_is_missing(create)?;
    // Names in the query belong to the session, even if the table is another user's; its rows are read in the same way.
    let described = match &create.as_query {
        Some(query) => Some(work.host.describe(query, None)?),
        None => None,
    };
    let columns = table_columns(work, create, target.owner, described.as_deref())?;
    let mut table = new_table(work, create, &target, columns)?;
    crate::lob_storage::check_all(work, &table, &create.lobs)?;
    let object = table.object;
    // Rows of a heap table are inserted before the dictionary has the table, so that other sessions can run DDL
    // meanwhile; nobody else sees the table yet.
    let early = match (&create.as_query, &described, &table.organization) {
        // Rows of a temporary table are inserted once the table exists.
        (Some(_), _, _) if table.temporary.is_some() => true,
        (Some(query), Some(described), Organization::Heap(segment)) => {
            work.hold_tablespace(segment.tablespace, enqueue::LockMode::Share)?;
            let loading = loading(create, &table);
            work.without_dd(&mut |work| insert_rows(work, query, described, &loading))?;
            work.require_owner(&target)?;
            work.require_new(&target, ObjectKind::Table)?;
            true
        }
        _ => false,
    };
    let data = table.heap().map(|segment| segment.data_object);
    let data = match &table.organization {
        Organization::HashCluster { cluster, .. } => Some(cluster.segment.data_object),
        _ => data,
    };
    work.insert_object(object, data, &target, ObjectKind::Table)?;
    if table.temporary.is_some() {
        work.mark_temporary(object)?;
    }
    make_identity(work, create, &target, &mut table)?;
    insert_tab(work, &table)?;
    // The rows of a query are there already, with their LOBs.
    if create.as_query.is_none() {
        create.lobs.iter().try_for_each(|lob| crate::lob_storage::set(work, &mut table, lob))?;
    }
    // Rows of an index-organised table are in its key; everything else sees them once they exist.
    if table.options.index_organized {
        add_row_key(work, create, &mut table)?;
    }
    if let (Some(query), Some(described), false) = (&create.as_query, &described, early) {
        insert_rows(work, query, described, &loading(create, &table))?;
    }
    add_constraints(work, create, &mut table)?;
    // Last, because keys make columns NOT NULL.
    columns::insert(work, object, &table.columns)?;
    Ok(object)
}

/// The table as CREATE TABLE AS SELECT fills it: the columns of its primary key accept no NULL.
fn loading(create: &CreateTable, table: &TableDef) -> TableDef {
    let mut table = table.clone();
    for spec in create.constraints.iter().filter(|spec| spec.state.enabled) {
        let ConstraintKind::PrimaryKey { columns, using: _ } = &spec.kind else { continue };
        for column in table.columns.iter_mut().filter(|have| columns.iter().any(|c| c.name == have.name)) {
            column.nullable = false;
        }
    }
    table
}

/// Makes the sequence of the identity column, if there is one, and sets its NEXTVAL as the column's default.
fn make_identity(work: &mut Work<'_>, create: &CreateTable, target: &Target, table: &mut TableDef) -> Result<()> {
    let identity = |spec: &ColumnSpec| spec.identity.clone();
    let Some((at, spec, wanted)) = create.columns.iter().enumerate().find_map(|(i, s)| Some((i, s, identity(s)?)))
    else {
        return Ok(());
    };
    let owner = (target.owner, target.owner_name.as_str());
    identify(work, owner, table.object, (spec, &wanted), &mut table.columns[at])
}

/// Makes the sequence of an identity column, and sets its NEXTVAL as the column's default.
pub fn identify(
    work: &mut Work<'_>,
    (owner, owner_name): (UserId, &str),
    table: ObjectId,
    (spec, wanted): (&ColumnSpec, &sql::ast::Identity),
    column: &mut ColumnDef,
) -> Result<()> {
    let pos = spec.name.pos.0;
    let name = format!("ISEQ$$_{}", table.0);
    let sql::ast::Identity { always, on_null, options } = wanted;
    if !column.data_type.is_numeric() {
        return Err(Ora::new(30675).at(pos));
    }
    let of_sequence = Target { owner, owner_name: owner_name.to_owned(), name, pos };
    let sequence = sequence::create_for(work, &of_sequence, options)?;
    column.default_text = Some(format!("\"{}\".\"{}\".nextval", of_sequence.owner_name, of_sequence.name));
    column.default_on_null = *on_null;
    column.identity = Some(Identity { sequence, always: *always, on_null: *on_null });
    Ok(())
}

/// Refuses unsupported clauses with the proper error (L6).
fn refuse_what_is_missing(create: &CreateTable) -> Result<()> {
    let CreateTable {
        name: _,
        temporary,
        columns,
        constraints: _,
        organization,
        options,
        lobs: _,
        partitioning,
        as_query,
        pos: _,
    } = create;
    let pos = create.pos.0;
    if let Some(by) = partitioning {
        if temporary.is_some() {
            return Err(Ora::new(14451).at(by.pos.0));
        }
        // The partitions of an interval would have to be made while the rows are loaded.
        let by_interval =
            matches!(by.method, sql::ast::PartitionMethod::Range { interval: Some(_), store_in: _, partitions: _ });
        if !matches!(*organization, TableOrganization::Heap) || by_interval && as_query.is_some() {
            return Err(Ora::unsupported().at(by.pos.0));
        }
    }
    // A row too long for its leaf would need a second segment.
    if let Some(pos) = options.overflow {
        return Err(Ora::unsupported().at(pos.0));
    }
    if temporary.as_ref().is_some_and(|t| t.private) || matches!(*organization, TableOrganization::External(_)) {
        return Err(Ora::unsupported().at(pos));
    }
    if temporary.is_some() && !matches!(*organization, TableOrganization::Heap) {
        return Err(Ora::new(14451).at(pos));
    }
    if as_query.is_some() {
        refuse_beside_query(create)?;
    }
    let mut identities = columns.iter().filter(|column| column.identity.is_some());
    match (identities.next(), identities.next()) {
        (_, Some(second)) => Err(Ora::new(30669).at(second.name.pos.0)),
        (Some(column), _) if as_query.is_some() => Err(Ora::unsupported().at(column.name.pos.0)),
        _ => Ok(()),
    }
}

/// Foreign keys and computed columns are not allowed with CREATE TABLE AS SELECT.
fn refuse_beside_query(create: &CreateTable) -> Result<()> {
    if let Some(expr) = create.columns.iter().find_map(|column| column.generated.as_ref()) {
        return Err(Ora::unsupported().at(expr.pos.0));
    }
    match constraints_of(create).find(|spec| matches!(spec.kind, ConstraintKind::References { .. })) {
        Some(spec) => Err(Ora::new(2440).at(spec.pos.0)),
        None => Ok(()),
    }
}

fn table_columns(
    work: &mut Work<'_>,
    create: &CreateTable,
    owner: UserId,
    query: Option<&[Described]>,
) -> Result<Vec<ColumnDef>> {
    let columns = match query {
        None => plain_columns(work, create, owner)?,
        Some(query) => columns_of_query(create, query)?,
    };
    let positions = create.columns.iter().map(|spec| spec.name.pos.0).chain(std::iter::repeat(create.name.pos.0));
    columns::check_names(columns.iter().map(|column| column.name.as_str()).zip(positions))?;
    for spec in &create.columns {
        if let Some(default) = &spec.default {
            let column = columns.iter().find(|column| column.name == spec.name.name);
            let ty = column.map_or(DataType::Null, |column| column.data_type);
            expression::check_default(work, owner, &columns, &default.expr, &ty)?;
        }
        for constraint in &spec.constraints {
            expression::check_inline(&columns, &spec.name.name, constraint)?;
        }
    }
    let longs = columns.iter().filter(|column| matches!(column.data_type, DataType::Long | DataType::LongRaw));
    if longs.count() > 1 { Err(Ora::new(1754)) } else { Ok(columns) }
}

/// The columns as listed. Computed columns are resolved last, when the others are known.
fn plain_columns(work: &mut Work<'_>, create: &CreateTable, owner: UserId) -> Result<Vec<ColumnDef>> {
    let mut columns = Vec::new();
    for spec in &create.columns {
        columns.push(match &spec.generated {
            Some(_) => columns::definition(spec, columns::column_type(work, spec)?.unwrap_or(DataType::NUMBER))?,
            None => plain_column(work, create, spec)?,
        });
    }
    for (i, spec) in create.columns.iter().enumerate() {
        let Some(expr) = &spec.generated else { continue };
        if !matches!(create.organization, TableOrganization::Heap) {
            return Err(Ora::unsupported().at(expr.pos.0));
        }
        let given = spec.ty.as_ref().map(|_| columns[i].data_type);
        expression::check_computed(work, owner, &columns, expr, given.as_ref(), 54002)?;
        if spec.ty.is_none() {
            columns[i].data_type = crate::one_row::type_of(work, owner, &columns, expr)?;
        }
    }
    Ok(columns)
}

fn plain_column(work: &Work<'_>, create: &CreateTable, spec: &ColumnSpec) -> Result<ColumnDef> {
    let data_type = match columns::column_type(work, spec)? {
        Some(data_type) => data_type,
        None => referenced_type(work, create, spec)?,
    };
    columns::definition(spec, data_type)
}

/// The type of a foreign key's column, taken from the parent's key if it has none. ORA-02263 otherwise.
fn referenced_type(work: &Work<'_>, create: &CreateTable, spec: &ColumnSpec) -> Result<DataType> {
    let missing = || Ora::new(2263).at(spec.name.pos.0);
    let inline = spec.constraints.iter().find_map(|constraint| match &constraint.kind {
        ConstraintKind::References { columns: _, table, referenced, on_delete: _ } => {
            Some((table, referenced.first(), 0))
        }
        _ => None, // not a clause: other constraints give no type
    });
    let outer = create.constraints.iter().find_map(|constraint| match &constraint.kind {
        ConstraintKind::References { columns, table, referenced, on_delete: _ } => {
            let at = columns.iter().position(|column| column.name == spec.name.name)?;
            Some((table, referenced.get(at), at))
        }
        _ => None, // not a clause: other constraints give no type
    });
    let (parent, column, at): (&Name, Option<&Ident>, usize) = inline.or(outer).ok_or_else(missing)?;
    let target = work.target(parent)?;
    let object = work.existing(&target, ObjectKind::Table, 942)?;
    let parent = work.existing_table(object)?;
    let position = match column {
        Some(column) => parent.column(&column.name).map(|(at, _)| at).ok_or_else(|| no_column(column))?,
        None => parent
            .constraints
            .iter()
            .find_map(|constraint| match &constraint.kind {
                ConstraintKindDef::PrimaryKey { columns, .. } => columns.get(at).copied(),
                _ => None,
            })
            .ok_or_else(|| Ora::new(2268).at(target.pos))?,
    };
    Ok(parent.columns[position].data_type)
}

/// Columns of CREATE TABLE AS SELECT: types from the query, names from the column list if there is one.
fn columns_of_query(create: &CreateTable, query: &[Described]) -> Result<Vec<ColumnDef>> {
    if !create.columns.is_empty() && create.columns.len() != query.len() {
        return Err(Ora::new(1730).at(create.name.pos.0));
    }
    if let Some(typed) = create.columns.iter().find_map(|spec| spec.ty.as_ref()) {
        return Err(Ora::new(1773).at(typed.pos.0));
    }
    let mut columns = Vec::new();
    for (i, described) in query.iter().enumerate() {
        let data_type = stored_type(&described.data_type)?;
        let mut column = match create.columns.get(i) {
            Some(spec) => columns::definition(spec, data_type)?,
            None => {
                let name = described.name.clone().ok_or_else(|| Ora::new(998).at(create.name.pos.0))?;
                ColumnDef::new(name, data_type)
            }
        };
        // NOT NULL is taken over from the query's plain columns.
        column.nullable &= described.nullable;
        columns.push(column);
    }
    Ok(columns)
}

/// The column type for a query's expression. ORA-01723 for a type of length zero.
fn stored_type(ty: &DataType) -> Result<DataType> {
    match *ty {
        DataType::Null
        | DataType::Varchar2 { len: 0, .. }
        | DataType::Char { len: 0, .. }
        | DataType::Raw { len: 0 } => Err(Ora::new(1723)),
        DataType::Varchar2 { len, unit } => Ok(DataType::Varchar2 { len: len.min(4000), unit }),
        DataType::Boolean | DataType::PlsInteger | DataType::Cursor => Err(Ora::new(902)),
        DataType::Long | DataType::LongRaw => Err(Ora::new(997)),
        DataType::Named(_) => Err(Ora::unsupported()),
        other => Ok(other),
    }
}

fn new_table(work: &mut Work<'_>, create: &CreateTable, target: &Target, columns: Vec<ColumnDef>) -> Result<TableDef> {
    let object = work.new_object();
    let options = &create.options;
    let organization = match &create.organization {
        // Refused unless the table is a heap.
        _ if create.partitioning.is_some() => {
            let by = create.partitioning.as_deref().ok_or_else(|| Ora::internal("[no partitions]"))?;
            let of = partition_create::partitioning(work, by, &columns, (target.owner, options))?;
            Organization::Partitioned(Rc::new(of))
        }
        TableOrganization::Cluster { cluster, columns: keys } => in_cluster(work, cluster, keys, &columns)?,
        // not a clause: the kinds are distinguished below
        organization => {
            let temporary = create.temporary.is_some();
            let tablespace = match temporary {
                true => work.temporary_tablespace(options.tablespace.as_ref())?,
                false => work.tablespace(options.tablespace.as_ref(), target.owner)?,
            };
            // An index-organised table has only the segment of its key, which is made with the key; a temporary table
            // has one in each session.
            let index_organized = matches!(organization, TableOrganization::Index);
            let (header, data_object) = match index_organized || temporary {
                true => (Rdba::NONE, ObjectId(0)),
                false => (work.make_segment(tablespace, SegmentKind::Table, object)?, object),
            };
            let segment = SegmentRef {
                tablespace,
                header,
                data_object,
                pctfree: options.pctfree.unwrap_or(10) as u8,
                initrans: options.initrans.unwrap_or(1).clamp(1, 255) as u8,
            };
            match organization {
                TableOrganization::Index => Organization::Index(segment),
                // not a clause: external tables are refused, those in clusters are handled above
                _ => Organization::Heap(segment),
            }
        }
    };
    Ok(TableDef {
        object,
        owner_id: target.owner,
        owner: target.owner_name.clone(),
        name: target.name.clone(),
        columns,
        options: TableOptions {
            result_cache_force: options.result_cache_force == Some(true),
            cache: options.cache == Some(true),
            read_only: false,
            degree: options.parallel.map_or(1, degree_of),
            logging: options.logging != Some(false) && create.temporary.is_none(),
            minimize_records: false,
            row_movement: options.row_movement == Some(true),
            index_organized: matches!(organization, Organization::Index(_)),
            materialized: false,
        },
        organization,
        indexes: Vec::new(),
        lobs: Vec::new(),
        constraints: Vec::new(),
        referenced_by: Vec::new(),
        triggers: Vec::new(),
        statistics: None,
        // PRIVATE is refused.
        temporary: create.temporary.as_ref().map(|Temporary { private: _, preserve }| match preserve {
            true => TemporaryKind::PreserveRows,
            false => TemporaryKind::DeleteRows,
        }),
        epoch: 0,
    })
}

/// The cluster of a table. ORA-00943, ORA-01753, ORA-25136.
fn in_cluster(work: &mut Work<'_>, name: &Name, keys: &[Ident], columns: &[ColumnDef]) -> Result<Organization> {
    let target = work.target(name)?;
    let object = work.existing(&target, ObjectKind::Cluster, 943)?;
    work.require(&target, None, SystemPrivilege::CreateAnyCluster)?;
    let cluster = work.image.cluster(object)?.ok_or_else(|| Ora::new(943).at(target.pos))?;
    if !cluster.tables.is_empty() {
        return Err(Ora::new(25136).at(target.pos));
    }
    if keys.len() != cluster.columns.len() {
        return Err(Ora::new(1753).at(target.pos));
    }
    let mut key_positions = Vec::new();
    for (key, clustered) in keys.iter().zip(&cluster.columns) {
        let at = columns.iter().position(|column| column.name == key.name).ok_or_else(|| no_column(key))?;
        if columns[at].data_type != clustered.data_type {
            return Err(Ora::new(1753).at(key.pos.0));
        }
        key_positions.push(at);
    }
    work.lock(object)?;
    work.touch(object);
    Ok(Organization::HashCluster { cluster, key_positions })
}

fn insert_tab(work: &mut Work<'_>, table: &TableDef) -> Result<()> {
    let mut row = blank(Base::Tab);
    row[tab::OBJ] = int(table.object.0);
    row[tab::COLS] = int(table.columns.len() as i64);
    row[tab::DEGREE] = int(table.options.degree);
    row[tab::PROPERTY] = int(bits(table));
    if table.columns.iter().any(|column| column.virtual_text.is_some()) {
        row[tab::FLAGS] = int(dictionary::image::property::HAS_VIRTUALS);
    }
    let segment = match &table.organization {
        Organization::Heap(segment) | Organization::Index(segment) => *segment,
        Organization::HashCluster { cluster, key_positions } => {
            row[tab::BOBJ] = int(cluster.object.0);
            row[tab::CLUCOLS] = cluster_columns(key_positions);
            cluster.segment
        }
        Organization::Fixed(_) => return Err(Ora::internal("[a fixed table is not created]")),
        Organization::Partitioned(of) => {
            let first = of.partitions.first().ok_or_else(|| Ora::internal("[no partitions]"))?.segment;
            partition_rows::enter_table(work, table, of, first.tablespace)?;
            partition_rows::no_segment(first.tablespace, first.pctfree, first.initrans)
        }
    };
    set_segment(&mut row, &segment);
    row[tab::PCTFREE] = int(segment.pctfree);
    row[tab::INITRANS] = int(segment.initrans);
    work.change().insert(Base::Tab, &row)
}

/// Sets the columns of TAB$ for the segment.
pub fn set_segment(row: &mut [Value], segment: &SegmentRef) {
    row[tab::DATAOBJ] = int(segment.data_object.0);
    row[tab::TS] = int(segment.tablespace);
    row[tab::FILE] = int(segment.header.file());
    row[tab::BLOCK] = int(segment.header.block());
}

/// PROPERTY of TAB$.
pub fn bits(table: &TableDef) -> i64 {
    let all = [
        (table.temporary.is_some(), property::TAB_TEMPORARY),
        (table.temporary == Some(TemporaryKind::PreserveRows), property::TAB_PRESERVE_ROWS),
        (table.options.index_organized, property::TAB_INDEX_ORGANIZED),
        (table.options.cache, property::TAB_CACHE),
        (table.options.read_only, property::TAB_READ_ONLY),
        (table.options.result_cache_force, property::TAB_RESULT_CACHE_FORCE),
        (!table.options.logging, property::TAB_NOLOGGING),
        (table.options.minimize_records, property::TAB_MINIMIZE_RECORDS),
        (table.options.row_movement, property::TAB_ROW_MOVEMENT),
        (!table.triggers.is_empty(), property::TAB_TRIGGERS),
        (table.partitioning().is_some(), property::TAB_PARTITIONED),
        (table.options.materialized, property::TAB_MATERIALIZED),
    ];
    all.iter().filter(|(on, _)| *on).map(|(_, bit)| bit).sum()
}

/// All constraints, inline ones first.
fn constraints_of(create: &CreateTable) -> impl Iterator<Item = &ConstraintSpec> {
    let inline = create.columns.iter().flat_map(|column| &column.constraints);
    inline.chain(&create.constraints)
}

fn is_primary(spec: &ConstraintSpec) -> bool {
    matches!(spec.kind, ConstraintKind::PrimaryKey { .. })
}

/// Adds the primary key of an index-organised table, which has no rows yet. ORA-25175 without one.
fn add_row_key(work: &mut Work<'_>, create: &CreateTable, table: &mut TableDef) -> Result<()> {
    let key = constraints_of(create).find(|spec| is_primary(spec));
    let key = key.ok_or_else(|| Ora::new(25175).at(create.name.pos.0))?;
    constraint::add(work, &mut Subject { table, exists: false, filled: false }, key)
}

/// Adds inline and out-of-line constraints; keys before the foreign keys that may reference them.
fn add_constraints(work: &mut Work<'_>, create: &CreateTable, table: &mut TableDef) -> Result<()> {
    // Rows of a temporary table are inserted once the table exists.
    let filled = create.as_query.is_some() && table.temporary.is_none();
    let row_key = if table.options.index_organized { constraints_of(create).position(is_primary) } else { None };
    let mut on = Subject { table, exists: false, filled };
    add_not_nulls(work, create, &mut on)?;
    let rank = |spec: &ConstraintSpec| match spec.kind {
        ConstraintKind::PrimaryKey { columns: _, using: _ } => 0,
        ConstraintKind::References { columns: _, table: _, referenced: _, on_delete: _ } => 2,
        _ => 1, // not a clause: their order does not matter
    };
    for wanted in 0..3 {
        for (n, spec) in constraints_of(create).enumerate().filter(|(_, spec)| rank(spec) == wanted) {
            if row_key != Some(n) {
                constraint::add(work, &mut on, spec)?;
            }
        }
    }
    Ok(())
}

fn add_not_nulls(work: &mut Work<'_>, create: &CreateTable, on: &mut Subject<'_>) -> Result<()> {
    for (position, spec) in create.columns.iter().enumerate() {
        let not_null = spec.constraints.iter().find(|c| c.kind == ConstraintKind::NotNull);
        let nullable = spec.constraints.iter().any(|c| c.kind == ConstraintKind::Null);
        if not_null.is_some() && nullable {
            return Err(Ora::new(2258).at(spec.name.pos.0));
        }
        if let Some(not_null) = not_null {
            constraint::add_not_null(work, on, Some(not_null), position)?;
        }
    }
    let by_query = create.as_query.is_some() && create.columns.is_empty();
    let required: Vec<usize> = on
        .table
        .columns
        .iter()
        .enumerate()
        .filter(|(_, column)| by_query && !column.nullable)
        .map(|(i, _)| i)
        .collect();
    for column in required {
        constraint::add_not_null(work, on, None, column)?;
    }
    Ok(())
}

/// Inserts the query's rows; its columns are those of the table's definition.
fn insert_rows(work: &mut Work<'_>, query: &sql::ast::Query, described: &[Described], table: &TableDef) -> Result<()> {
    let mut load = Load::new(table);
    work.host.rows(query, Some(described), &mut |parts, row| load.add(parts, row))?;
    let mut parts = work.host.parts();
    load.flush(&mut parts)
}

/// Inserts the rows that the query has for the owner of the table.
pub fn insert_rows_as_owner(work: &mut Work<'_>, query: &sql::ast::Query, table: &TableDef) -> Result<()> {
    let mut load = Load::new(table);
    work.host.rows_as(table.owner_id, query, &mut |parts, row| load.add(parts, row))?;
    let mut parts = work.host.parts();
    load.flush(&mut parts)
}

/// The rows being loaded into a new table.
struct Load<'t> {
    table: &'t TableDef,
    bytes: Vec<u8>,
    ends: Vec<u32>,
    cluster: Option<cluster::HashCluster>,
    value: Value,
}

impl<'t> Load<'t> {
    fn new(table: &'t TableDef) -> Load<'t> {
        Load { table, bytes: Vec::new(), ends: Vec::new(), cluster: None, value: Value::Null }
    }

    fn add(&mut self, parts: &mut Parts<'_>, row: &[Value]) -> Result<()> {
        let table = self.table;
        let mut writer = RowWriter::new(&mut self.bytes, table.columns.len());
        for (value, column) in row.iter().zip(&table.columns) {
            self.value.set(value);
            let name = || format!("\"{}\".\"{}\".\"{}\"", table.owner, table.name, column.name);
            column.data_type.assign(&mut self.value, parts.nls, &name())?;
            if self.value.is_null() && !column.nullable {
                return Err(Ora::with(1400, &[&name()]));
            }
            writer.value(&self.value);
        }
        self.ends.push(self.bytes.len() as u32);
        if self.ends.len() >= BATCH_ROWS { self.flush(parts) } else { Ok(()) }
    }

    fn flush(&mut self, parts: &mut Parts<'_>) -> Result<()> {
        if let Some(of) = self.table.partitioning() {
            let (mut from, mut key) = (0, Vec::new());
            for end in &self.ends {
                let row = &self.bytes[from..*end as usize];
                let heap = of.heap_table(self.table.object, of.place_of_row(row, &mut key)?);
                parts.storage.heap.insert(parts.p, parts.txn, &heap, row)?;
                from = *end as usize;
            }
        } else if let Some(heap) = self.table.heap_table() {
            let mut rowids = Vec::new();
            parts.storage.heap.insert_many(parts.p, parts.txn, &heap, &self.bytes, &self.ends, &mut rowids)?;
        } else if let (Some(rows), Some(index)) = (row_table(parts, self.table)?, self.table.row_index()) {
            let (mut from, mut key) = (0, Vec::new());
            for end in &self.ends {
                let row = &self.bytes[from..*end as usize];
                key.clear();
                key_of(index, row, &mut key)?;
                let done = parts.storage.trees.insert_row(parts.p, parts.txn, &rows, &key, row, LockWait::NoWait)?;
                if done != btree::Inserted::Done {
                    return Err(Ora::with(1, &[&index.owner, &index.name]));
                }
                from = *end as usize;
            }
        } else {
            if self.cluster.is_none() {
                self.cluster = hash_cluster(parts, self.table)?;
            }
            let Some(cluster) = &self.cluster else {
                return Err(Ora::new(1702));
            };
            let mut from = 0;
            for end in &self.ends {
                let row = &self.bytes[from..*end as usize];
                parts.storage.clusters.insert(parts.p, parts.txn, cluster, row)?;
                from = *end as usize;
            }
        }
        self.bytes.clear();
        self.ends.clear();
        Ok(())
    }
}

/// Makes a new empty segment for an existing table, and stores it in TAB$: TRUNCATE and MOVE.
pub fn new_segment(work: &mut Work<'_>, table: &TableDef, tablespace: u32) -> Result<(Rc<TableDef>, Rdba)> {
    let Organization::Heap(old) = &table.organization else {
        return Err(Ora::new(1702));
    };
    let data_object = work.new_object();
    let header = work.make_segment(tablespace, SegmentKind::Table, data_object)?;
    let segment = SegmentRef { tablespace, header, data_object, ..*old };
    let object: ObjectId = table.object;
    work.change().update_by(Base::Tab, crate::work::by(tab::OBJ, object), &mut |row| set_segment(row, &segment))?;
    work.update_object(object, &mut |row| row[dictionary::base::obj::DATAOBJ] = int(data_object.0))?;
    let mut new = table.clone();
    let old_header = old.header;
    new.organization = Organization::Heap(segment);
    Ok((Rc::new(new), old_header))
}

/// The degree of PARALLEL: the given number, or 0 without one.
pub(crate) fn degree_of(written: u32) -> u32 {
    if written == 0 { plan::DEFAULT_DEGREE } else { written }
}
