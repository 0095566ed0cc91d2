//! A small instance in this process: real files, buffer cache, transactions and heaps, and a catalog kept in a map.
#![allow(dead_code)]

use block::SegmentKind;
use btree::Btree;
use buffer_cache::BufferCache;
use cluster::{Clusters, Geometry};
use datafile::{CreateDatabase, DataFiles, tablespace};
use dictionary::*;
use exec::work_area::{WorkAreaLayout, WorkAreas};
use exec::*;
use heap::Heap;
use library_cache::LibraryCache;
use process::{Process, Processes};
use result_cache::ResultCache;
use sql::ast::{self, ConstraintKind, Ddl, Statement, TableOrganization};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use testing::Folder;
use testing::storage::{Storage, StorageSpec};
use txn::CommitHook;
use types::{DataType, Date, Nls, Number, ObjectId, Ora, Result, Scn, Timestamp, Value};

const BLOCK: usize = 8192;

/// The shared structures of a test instance, and the directory of its files.
pub struct Instance {
    pub all: &'static Processes,
    pub shared: Shared,
    cache: &'static Arc<BufferCache>,
    next_object: AtomicU32,
    directory: Folder,
}

fn leak<T>(x: T) -> &'static T {
    Box::leak(Box::new(x))
}

impl Instance {
    pub fn new() -> Instance {
        Instance::with_blocks(2000)
    }

    /// An instance with a buffer cache of this many blocks.
    pub fn with_blocks(blocks: usize) -> Instance {
        let directory = Folder::new("exec");
        let results = result_cache::Config {
            max_size_bytes: 1 << 20,
            max_result_percent: 50,
            timeout_ms: 1000,
            design: result_cache::Design::Versioned,
            processes: 16,
        };
        let files = DataFiles::create(&directory, &CreateDatabase::usual("TEST", 1, BLOCK)).expect("data files");
        let layers = [Heap::register_apply, Clusters::register_apply, Btree::register_apply];
        let spec = StorageSpec::new(16, blocks, BLOCK, &layers);
        let (storage, (library, result_layout, areas, servers)) = Storage::create(files, spec, |b| {
            (
                library_cache::Layout::reserve(b, &library_cache::Config::new(1000, 16)),
                result_cache::Layout::reserve(b, &results),
                WorkAreaLayout::reserve(b, 16),
                ::parallel::Layout::reserve(b, 0),
            )
        });
        let Storage { all, cache, enqueues, txns } = storage;
        let (cache, enqueues, txns) = (leak(cache), leak(enqueues), leak(txns));
        let heap = leak(Heap::new(txns));
        let clusters = leak(Clusters::new(heap));
        let btree = leak(Btree::new(txns));
        let library = leak(LibraryCache::create(all, &library, &library_cache::Config::new(1000, 16)));
        let results = leak(ResultCache::create(all, &result_layout, &results));
        let areas = leak(WorkAreas::create(all.sga(), &areas));
        let servers = leak(::parallel::Servers::create(all.sga(), &servers));
        let shared = Shared { txns, heap, clusters, btree, enqueues, library, results, areas, servers };
        Instance { all, shared, cache, next_object: AtomicU32::new(100), directory }
    }

    pub fn object(&self) -> ObjectId {
        ObjectId(self.next_object.fetch_add(1, Ordering::Relaxed))
    }
}

/// The dictionary of all sessions of a test.
#[derive(Default)]
pub struct Names {
    relations: RefCell<HashMap<String, Resolved>>,
    clusters: RefCell<HashMap<String, Rc<ClusterDef>>>,
    sequences: RefCell<HashMap<String, (Rc<SequenceDef>, i64)>>,
    epoch: Cell<u64>,
}

impl Names {
    /// Number and segment of a heap table, to share it with another thread.
    pub fn heap_of(&self, name: &str) -> (ObjectId, SegmentRef) {
        match &self.relations.borrow()[name] {
            Resolved::Table(t) => (t.object, *t.heap().expect("a heap")),
            _ => panic!("{name} is no table"),
        }
    }

    /// Adds the table `name (n number, v varchar2(20))` over an existing segment.
    pub fn add_heap(&self, name: &str, object: ObjectId, segment: SegmentRef) {
        let text = types::DataType::Varchar2 { len: 20, unit: types::LenUnit::Byte };
        let columns = vec![ColumnDef::new("N", types::DataType::NUMBER), ColumnDef::new("V", text)];
        let table = table_def(object, name, columns, Organization::Heap(segment), Vec::new());
        self.relations.borrow_mut().insert(name.into(), Resolved::Table(Rc::new(table)));
    }
}

fn table_def(
    object: ObjectId,
    name: &str,
    columns: Vec<ColumnDef>,
    organization: Organization,
    constraints: Vec<ConstraintDef>,
) -> TableDef {
    TableDef {
        object,
        owner_id: UserId(10),
        owner: "SCOTT".into(),
        name: name.into(),
        columns,
        organization,
        indexes: Vec::new(),
        lobs: Vec::new(),
        constraints,
        referenced_by: Vec::new(),
        triggers: Vec::new(),
        statistics: None,
        temporary: None,
        options: TableOptions::default(),
        epoch: 0,
    }
}

fn add_constraint(table: &mut TableDef, name: String, kind: ConstraintKindDef) -> u32 {
    let id = 1000 + table.constraints.len() as u32;
    table.constraints.push(ConstraintDef {
        id,
        name,
        generated: false,
        kind,
        enabled: true,
        validated: true,
        deferrable: false,
        initially_deferred: false,
        rely: false,
    });
    id
}

/// The catalog of a test: every object belongs to SCOTT.
pub struct MapCatalog(pub Rc<Names>);

impl Catalog for MapCatalog {
    fn user(&self) -> (UserId, String) {
        (UserId(10), "SCOTT".into())
    }
    fn schema(&self) -> (UserId, String) {
        self.user()
    }
    fn relation(&self, _schema: Option<&str>, name: &str) -> Result<Option<Resolved>> {
        Ok(self.0.relations.borrow().get(name).cloned())
    }
    fn sequence(&self, _schema: Option<&str>, name: &str) -> Result<Option<Rc<SequenceDef>>> {
        Ok(self.0.sequences.borrow().get(name).map(|(s, _)| s.clone()))
    }
    fn unit(&self, _schema: Option<&str>, _name: &str) -> Result<Option<Rc<ProcedureDef>>> {
        Ok(None)
    }
    fn table_by_id(&self, object: ObjectId) -> Result<Option<Rc<TableDef>>> {
        Ok(self.0.relations.borrow().values().find_map(|r| match r {
            Resolved::Table(t) if t.object == object => Some(t.clone()),
            _ => None,
        }))
    }
    fn index_by_id(&self, object: ObjectId) -> Result<Option<Rc<IndexDef>>> {
        let relations = self.0.relations.borrow();
        let of = |r: &Resolved| match r {
            Resolved::Table(t) => t.indexes.iter().find(|index| index.object == object).cloned(),
            _ => None,
        };
        Ok(relations.values().find_map(of))
    }
    fn sequence_by_id(&self, object: ObjectId) -> Result<Option<Rc<SequenceDef>>> {
        let sequences = self.0.sequences.borrow();
        Ok(sequences.values().find(|(s, _)| s.object == object).map(|(s, _)| s.clone()))
    }
    fn allowed(&self, _object: ObjectId, _owner: UserId, _privilege: ObjectPrivilege) -> Result<bool> {
        Ok(true)
    }
    fn as_owner(&self, _owner: UserId) -> Result<Box<dyn Catalog + '_>> {
        Ok(Box::new(MapCatalog(self.0.clone())))
    }
    fn epoch(&self) -> u64 {
        self.0.epoch.get()
    }
}

/// A fixed table that counts how often it is opened: one row, one column.
pub struct Ticks(pub Cell<i64>);

struct TickScan(Option<i64>);

impl FixedScan for TickScan {
    fn next(&mut self, _cx: &mut ExecCtx<'_>, row: &mut Row) -> Result<bool> {
        let Some(n) = self.0.take() else { return Ok(false) };
        row.resize(1, Value::Null);
        row[0] = Value::Number(Number::from(n));
        Ok(true)
    }
}

impl FixedTable for Ticks {
    fn open(&self, _cx: &mut ExecCtx<'_>) -> Result<Box<dyn FixedScan>> {
        self.0.set(self.0.get() + 1);
        Ok(Box::new(TickScan(Some(self.0.get()))))
    }
}

/// The host of a test: one fixed table `V$TICK(N)`, one function `TWICE(n)`.
pub struct TestHost {
    names: Rc<Names>,
    pub ticks: Ticks,
    pub calls: Cell<u32>,
    /// The call at which the test simulates a break; 0 for none.
    pub breaks_at: Cell<u32>,
}

impl Host for TestHost {
    fn epoch(&self) -> u64 {
        self.names.epoch.get()
    }
    fn catalog(&self) -> Result<Rc<dyn Catalog>> {
        Ok(Rc::new(MapCatalog(self.names.clone())))
    }
    fn fixed_table(&self, _id: FixedId) -> &dyn FixedTable {
        &self.ticks
    }
    fn function(
        &self,
        _cx: &mut ExecCtx<'_>,
        _eyes: Option<exec::TextOwner>,
        path: &[String],
        args: &[DataType],
    ) -> Result<Option<HostFunction>> {
        if path.last().is_none_or(|n| n != "TWICE") || args.len() != 1 {
            return Ok(None);
        }
        Ok(Some(HostFunction {
            invokers: false,
            caller: None,
            owner: "SCOTT".into(),
            package: None,
            name: "TWICE".into(),
            handle: 1,
            arg_types: vec![types::DataType::NUMBER],
            arg_names: vec!["N".into()],
            has_default: vec![false],
            omitted: Vec::new(),
            ty: types::DataType::NUMBER,
            deterministic: false,
            is_pipelined: false,
            dependencies: Vec::new(),
            nested: Vec::new(),
        }))
    }
    fn call(&self, cx: &mut ExecCtx<'_>, _function: &HostFunction, args: &[Value]) -> Result<Value> {
        self.calls.set(self.calls.get() + 1);
        if self.calls.get() == self.breaks_at.get() {
            assert!(cx.p.all().cancel(cx.p.sid(), cx.p.serial(), process::Cancel::Break));
        }
        match &args[0] {
            Value::Number(n) => Ok(Value::Number(n.add(n)?)),
            _ => Ok(Value::Null),
        }
    }
    fn sys_context(&self, _cx: &mut ExecCtx<'_>, namespace: &str, parameter: &str) -> Result<Value> {
        Ok(Value::text(format!("{namespace}.{parameter}")))
    }
    fn next_value(&self, _cx: &mut ExecCtx<'_>, sequence: &SequenceDef) -> Result<Number> {
        let mut all = self.names.sequences.borrow_mut();
        let (_, last) = all.get_mut(&sequence.name).expect("a sequence of the test");
        *last += 1;
        Ok(Number::from(*last))
    }
    fn now(&self) -> Timestamp {
        Timestamp::new(Date::from_ymd(2024, 2, 29).expect("a date"), 0)
    }
    fn sys_guid(&self) -> [u8; 16] {
        [7; 16]
    }
}

/// Notifies the result cache of commits, as an instance does.
pub struct Hook(pub &'static ResultCache);

impl CommitHook for Hook {
    fn before_visible(&self, p: &Process, objects: &[ObjectId]) -> Result<()> {
        self.0.before_visible(p, objects);
        Ok(())
    }
    fn after(&self, p: &Process, scn: Scn, objects: &[ObjectId]) {
        self.0.after(p, scn, objects);
    }
}

/// A session of a test.
pub struct Session<'i> {
    pub instance: &'i Instance,
    pub p: Process,
    pub state: SessionState,
    pub host: TestHost,
}

impl<'i> Session<'i> {
    pub fn new(instance: &'i Instance, names: &Rc<Names>) -> Session<'i> {
        let p = testing::attach(instance.all, "session");
        let host =
            TestHost { names: names.clone(), ticks: Ticks(Cell::new(0)), calls: Cell::new(0), breaks_at: Cell::new(0) };
        Session { instance, p, state: SessionState::new("SCOTT", 10, Nls::default()), host }
    }

    pub fn cx(&mut self) -> ExecCtx<'_> {
        ExecCtx { p: &self.p, shared: &self.instance.shared, session: &mut self.state, host: &self.host }
    }

    /// Runs a statement and returns the rows of the query or of RETURNING.
    pub fn run(&mut self, text: &str) -> Result<Vec<Vec<Value>>> {
        self.run_with(text, &[]).map(|(rows, _)| rows)
    }

    /// As `run`, with binds; and the number of rows processed.
    pub fn run_with(&mut self, text: &str, binds: &[Value]) -> Result<(Vec<Vec<Value>>, u64)> {
        let statement = sql::parse_statement(text)?;
        match &statement {
            Statement::Ddl(ddl) => {
                self.ddl(ddl)?;
                return Ok((Vec::new(), 0));
            }
            Statement::Commit(_) => {
                let hook = Hook(self.instance.shared.results);
                self.instance.shared.txns.commit(&self.p, &mut self.state.txn, &hook)?;
                return Ok((Vec::new(), 0));
            }
            Statement::Rollback(_) => {
                self.instance.shared.txns.rollback(&self.p, &mut self.state.txn)?;
                return Ok((Vec::new(), 0));
            }
            _ => {}
        }
        let mut cx = self.cx();
        let types: Vec<BindType> = binds.iter().map(|v| (!v.is_null()).then(|| v.data_type())).collect();
        let cursor = Cursor::compile_parsed(&mut cx, text, Rc::new(statement), &types)?;
        Session::fetch_all(&mut cx, cursor, binds)
    }

    /// Runs a query with a plan that `alter` changes.
    pub fn run_altered(&mut self, text: &str, alter: &dyn Fn(&mut plan::Plan)) -> Result<Vec<Vec<Value>>> {
        let mut cx = self.cx();
        let cursor = Cursor::compile_altered(&mut cx, text, alter)?;
        Session::fetch_all(&mut cx, cursor, &[]).map(|(rows, _)| rows)
    }

    fn fetch_all(cx: &mut ExecCtx<'_>, mut cursor: Cursor, binds: &[Value]) -> Result<(Vec<Vec<Value>>, u64)> {
        cursor.bind(binds)?;
        if let Err(e) = cursor.execute(cx) {
            cursor.close(cx);
            return Err(e);
        }
        let mut rows = Vec::new();
        let mut row = Vec::new();
        let result = loop {
            match cursor.fetch(cx, &mut row) {
                Ok(true) => rows.push(row.clone()),
                Ok(false) => break Ok(()),
                Err(e) => break Err(e),
            }
        };
        let processed = cursor.rows_processed();
        cursor.close(cx);
        result.map(|()| (rows, processed))
    }

    /// Rows as texts joined by blanks, one a line.
    pub fn text(&mut self, statement: &str) -> String {
        match self.run(statement) {
            Ok(rows) => {
                let nls = &self.state.nls;
                let line = |row: &Vec<Value>| {
                    let value = |v: &Value| v.to_text(nls).expect("text").map_or("NULL".into(), |s| s.into_owned());
                    row.iter().map(value).collect::<Vec<_>>().join(" ")
                };
                rows.iter().map(line).collect::<Vec<_>>().join("\n")
            }
            Err(e) => match e.position() {
                Some(at) => format!("ORA-{:05} at {at}", e.code()),
                None => format!("ORA-{:05}", e.code()),
            },
        }
    }

    fn ddl(&mut self, ddl: &Ddl) -> Result<()> {
        let names = self.host.names.clone();
        match ddl {
            Ddl::CreateTable(t) => {
                let table = self.table(t)?;
                names.relations.borrow_mut().insert(t.name.last().to_owned(), Resolved::Table(Rc::new(table)));
            }
            Ddl::CreateCluster(c) => {
                let def = self.cluster(c)?;
                names.clusters.borrow_mut().insert(c.name.last().to_owned(), Rc::new(def));
            }
            Ddl::CreateView(v) => {
                let def = ViewDef {
                    object: self.instance.object(),
                    owner_id: UserId(10),
                    owner: "SCOTT".into(),
                    name: v.name.last().into(),
                    text: v.text.clone(),
                    columns: v.columns.iter().map(|c| c.name.clone()).collect(),
                    types: Vec::new(),
                    triggers: Vec::new(),
                    read_only: v.read_only,
                    check_option: false,
                    bequeaths: false,
                    catalog: false,
                    valid: true,
                    epoch: 0,
                };
                names.relations.borrow_mut().insert(def.name.clone(), Resolved::View(Rc::new(def)));
            }
            Ddl::CreateSequence(s) => {
                let def = SequenceDef {
                    object: self.instance.object(),
                    owner_id: UserId(10),
                    owner: "SCOTT".into(),
                    name: s.name.last().into(),
                    increment: 1,
                    minimum: 1,
                    maximum: i128::MAX,
                    cycle: false,
                    order: false,
                    cache: 20,
                    start: 1,
                    flags: 0,
                    epoch: 0,
                };
                names.sequences.borrow_mut().insert(def.name.clone(), (Rc::new(def), 0));
            }
            Ddl::CreateIndex(i) => {
                let ast::IndexTarget::Table { table, columns } = &i.target else { return Err(Ora::unsupported()) };
                let mut def = match names.relations.borrow().get(table.last()) {
                    Some(Resolved::Table(t)) => (**t).clone(),
                    _ => return Err(Ora::new(942)),
                };
                let mut keys = Vec::new();
                for c in columns {
                    let ast::ExprKind::Name(n) = &c.expr.kind else { return Err(Ora::unsupported()) };
                    let at = def.columns.iter().position(|x| x.name == n.last()).ok_or_else(|| Ora::new(904))?;
                    keys.push((at, c.descending));
                }
                self.index(&mut def, i.name.last(), i.unique, &keys)?;
                names.relations.borrow_mut().insert(def.name.clone(), Resolved::Table(Rc::new(def)));
            }
            Ddl::Drop(d) if d.kind == ast::DropKind::Index => {
                for r in names.relations.borrow_mut().values_mut() {
                    if let Resolved::Table(t) = r
                        && t.indexes.iter().any(|i| i.name == d.name.last())
                    {
                        let mut def = (**t).clone();
                        def.indexes.retain(|i| i.name != d.name.last());
                        *t = Rc::new(def);
                    }
                }
            }
            Ddl::Drop(d) => {
                names.relations.borrow_mut().remove(d.name.last()).ok_or_else(|| Ora::new(942).at(d.name.pos.0))?;
            }
            _ => return Err(Ora::unsupported()),
        }
        names.epoch.set(names.epoch.get() + 1);
        Ok(())
    }

    fn segment(&self, kind: SegmentKind, object: ObjectId) -> Result<SegmentRef> {
        let scn = || self.instance.shared.txns.current_scn();
        let header =
            self.instance.shared.txns.space().create_segment(&self.p, tablespace::USERS, kind, object, &scn)?;
        Ok(SegmentRef { tablespace: tablespace::USERS, header, data_object: object, pctfree: 10, initrans: 2 })
    }

    /// Creates an index and fills it from the existing rows.
    fn index(&mut self, table: &mut TableDef, name: &str, unique: bool, keys: &[(usize, bool)]) -> Result<ObjectId> {
        let object = self.instance.object();
        let btree = self.instance.shared.btree;
        let header = btree.create(&self.p, tablespace::USERS, object)?;
        let segment =
            SegmentRef { tablespace: tablespace::USERS, header, data_object: object, pctfree: 10, initrans: 2 };
        if self.host.names.relations.borrow().contains_key(&table.name) {
            let columns: Vec<&str> = keys.iter().map(|(at, _)| table.columns[*at].name.as_str()).collect();
            let rows = self.run(&format!("select rowid, {} from {}", columns.join(", "), table.name))?;
            let index = btree.open(&self.p, header, table.heap().expect("a heap").data_object, unique)?;
            for row in rows {
                let Value::Rowid(rowid) = row[0] else { panic!("a rowid") };
                let mut key = Vec::new();
                for (v, (_, descending)) in row[1..].iter().zip(keys) {
                    let mut stored = Vec::new();
                    types::codec::encode(v, &mut stored);
                    types::codec::push_key_part((!v.is_null()).then_some(&stored[..]), *descending, &mut key);
                }
                if row[1..].iter().any(|v| !v.is_null()) {
                    btree.load(&self.p, &index, &key, rowid)?;
                }
            }
        }
        table.indexes.push(Rc::new(IndexDef {
            object,
            owner_id: UserId(10),
            owner: "SCOTT".into(),
            name: name.into(),
            table: table.object,
            segment,
            unique,
            columns: keys
                .iter()
                .map(|&(c, descending)| IndexColumnDef { key: IndexKey::Column(c), descending })
                .collect(),
            invisible: false,
            unusable: false,
            building: false,
            disabled: false,
            of_key: false,
            kind: IndexKind::Normal,
            local: None,
            statistics: None,
        }));
        Ok(object)
    }

    fn cluster(&mut self, c: &ast::CreateCluster) -> Result<ClusterDef> {
        let object = self.instance.object();
        let (hashkeys, size) = (c.hashkeys.unwrap_or(100), c.size_bytes.unwrap_or(200) as u32);
        let geometry = Geometry::new(hashkeys, size, BLOCK, 2)?;
        let header = self.instance.shared.clusters.create_segment(&self.p, tablespace::USERS, object, &geometry, 2)?;
        let columns = c.columns.iter().map(|(n, t)| Ok(ColumnDef::new(&*n.name, plan::data_type(t)?)));
        Ok(ClusterDef {
            object,
            owner_id: UserId(10),
            owner: "SCOTT".into(),
            name: c.name.last().into(),
            segment: SegmentRef {
                tablespace: tablespace::USERS,
                header,
                data_object: object,
                pctfree: 10,
                initrans: 2,
            },
            columns: columns.collect::<Result<_>>()?,
            hashkeys,
            size_bytes: size,
            hash_text: None,
            single_table: true,
            tables: Vec::new(),
            epoch: 0,
        })
    }

    fn table(&mut self, t: &ast::CreateTable) -> Result<TableDef> {
        let object = self.instance.object();
        let mut columns = Vec::new();
        let mut constraints = Vec::new();
        let mut next = 0;
        let mut constraint = |kind: ConstraintKindDef, name: Option<&ast::Ident>| {
            next += 1;
            constraints.push(ConstraintDef {
                id: next,
                name: name.map_or(format!("SYS_C{next}"), |n| n.name.clone()),
                generated: name.is_none(),
                kind,
                enabled: true,
                validated: true,
                deferrable: false,
                initially_deferred: false,
                rely: false,
            });
        };
        let mut keys: Vec<(String, Vec<String>, bool)> = Vec::new();
        let mut references = Vec::new();
        for c in &t.columns {
            let mut def = ColumnDef::new(&*c.name.name, plan::data_type(c.ty.as_ref().expect("a type"))?);
            def.default_text = c.default.as_ref().map(|d| d.text.clone());
            for k in &c.constraints {
                let name = k.name.as_ref().map_or(format!("SYS_C{}", self.instance.object().0), |n| n.name.clone());
                match &k.kind {
                    ConstraintKind::NotNull => def.nullable = false,
                    ConstraintKind::PrimaryKey { .. } | ConstraintKind::Unique { .. } => {
                        let primary = matches!(k.kind, ConstraintKind::PrimaryKey { .. });
                        def.nullable &= !primary;
                        keys.push((name, vec![c.name.name.clone()], primary));
                    }
                    ConstraintKind::Check { text, .. } => {
                        constraint(ConstraintKindDef::Check { text: text.clone() }, k.name.as_ref())
                    }
                    ConstraintKind::References { table, on_delete, .. } => {
                        references.push((name, vec![c.name.name.clone()], table.last().to_owned(), *on_delete))
                    }
                    ConstraintKind::Null => {}
                }
            }
            columns.push(def);
        }
        for k in &t.constraints {
            let name = k.name.as_ref().map_or(format!("SYS_C{}", self.instance.object().0), |n| n.name.clone());
            let idents = |list: &[ast::Ident]| list.iter().map(|c| c.name.clone()).collect::<Vec<_>>();
            match &k.kind {
                ConstraintKind::Check { text, .. } => {
                    constraint(ConstraintKindDef::Check { text: text.clone() }, k.name.as_ref())
                }
                ConstraintKind::PrimaryKey { columns, .. } => keys.push((name, idents(columns), true)),
                ConstraintKind::Unique { columns, .. } => keys.push((name, idents(columns), false)),
                ConstraintKind::References { columns, table, on_delete, .. } => {
                    references.push((name, idents(columns), table.last().to_owned(), *on_delete))
                }
                _ => {}
            }
        }
        let organization = match &t.organization {
            TableOrganization::Cluster { cluster, columns: key } => {
                let cluster = self.host.names.clusters.borrow()[cluster.last()].clone();
                let at = |k: &ast::Ident| columns.iter().position(|c| c.name == k.name).expect("a key column");
                Organization::HashCluster { cluster, key_positions: key.iter().map(at).collect() }
            }
            _ => Organization::Heap(self.segment(SegmentKind::Table, object)?),
        };
        let mut table = table_def(object, t.name.last(), columns, organization, constraints);
        let at =
            |table: &TableDef, name: &String| table.columns.iter().position(|c| c.name == *name).expect("a column");
        for (name, list, primary) in keys {
            let positions: Vec<usize> = list.iter().map(|c| at(&table, c)).collect();
            let pairs: Vec<(usize, bool)> = positions.iter().map(|&p| (p, false)).collect();
            let index = self.index(&mut table, &name, true, &pairs)?;
            let kind = match primary {
                true => ConstraintKindDef::PrimaryKey { columns: positions, index },
                false => ConstraintKindDef::Unique { columns: positions, index },
            };
            add_constraint(&mut table, name, kind);
        }
        for (name, list, parent, on_delete) in references {
            let positions: Vec<usize> = list.iter().map(|c| at(&table, c)).collect();
            let mut relations = self.host.names.relations.borrow_mut();
            let Some(Resolved::Table(p)) = relations.get_mut(&parent) else { return Err(Ora::new(942)) };
            let key =
                p.constraints.iter().find(|c| matches!(c.kind, ConstraintKindDef::PrimaryKey { .. })).map(|c| c.id);
            let key = key.ok_or_else(|| Ora::new(2268))?;
            let on_delete = match on_delete {
                ast::OnDelete::Restrict => OnDeleteDef::Restrict,
                ast::OnDelete::Cascade => OnDeleteDef::Cascade,
                ast::OnDelete::SetNull => OnDeleteDef::SetNull,
            };
            let kind = ConstraintKindDef::ForeignKey { columns: positions, table: p.object, key, on_delete };
            let id = add_constraint(&mut table, name, kind);
            let mut def = (**p).clone();
            def.referenced_by.push(ForeignKeyTo { key, from_table: object, constraint: id, on_delete, enabled: true });
            *p = Rc::new(def);
        }
        Ok(table)
    }

    /// Adds the fixed table `V$TICK(N)`.
    pub fn add_fixed(&mut self) {
        let columns = vec![ColumnDef::new("N", types::DataType::NUMBER)];
        let table = table_def(ObjectId(1), "V$TICK", columns, Organization::Fixed(FixedId(0)), Vec::new());
        self.host.names.relations.borrow_mut().insert("V$TICK".into(), Resolved::Table(Rc::new(table)));
    }
}
