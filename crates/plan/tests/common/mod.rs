//! A catalog of a few tables. BIG and SEEN have 100,000 rows, SMALL has ten; SEEN has column statistics.

use dictionary::*;
use std::rc::Rc;
use types::{DataType, LenUnit, ObjectId, Rdba, Result};

pub struct Tables;

fn segment(object: ObjectId) -> SegmentRef {
    SegmentRef { tablespace: 4, header: Rdba(1), data_object: object, pctfree: 10, initrans: 2 }
}

fn index(name: &str, unique: bool, columns: &[usize]) -> Rc<IndexDef> {
    let object = ObjectId(50);
    let key = |&c: &usize| IndexColumnDef { key: IndexKey::Column(c), descending: false };
    Rc::new(IndexDef {
        object,
        owner_id: UserId(10),
        owner: "SCOTT".into(),
        name: name.into(),
        table: ObjectId(1),
        segment: segment(object),
        unique,
        columns: columns.iter().map(key).collect(),
        invisible: false,
        unusable: false,
        building: false,
        disabled: false,
        of_key: false,
        kind: IndexKind::Normal,
        local: None,
        statistics: None,
    })
}

fn table(name: &str, rows: u64) -> TableDef {
    let text = |len| DataType::Varchar2 { len, unit: LenUnit::Byte };
    let columns = vec![
        ColumnDef { nullable: false, ..ColumnDef::new("ID", DataType::NUMBER) },
        ColumnDef::new("NAME", text(20)),
        ColumnDef::new("D", DataType::Date),
        ColumnDef::new("K", DataType::NUMBER),
    ];
    TableDef {
        object: ObjectId(1),
        owner_id: UserId(10),
        owner: "SCOTT".into(),
        name: name.into(),
        columns,
        organization: Organization::Heap(segment(ObjectId(1))),
        indexes: vec![index(&format!("{name}_PK"), true, &[0]), index(&format!("{name}_IX"), false, &[3, 2])],
        lobs: Vec::new(),
        constraints: Vec::new(),
        referenced_by: Vec::new(),
        triggers: Vec::new(),
        statistics: Some(TableStatistics::new(rows, rows / 50 + 1, 100)),
        temporary: None,
        options: TableOptions::default(),
        epoch: 0,
    }
}

impl Catalog for Tables {
    fn user(&self) -> (UserId, String) {
        (UserId(10), "SCOTT".into())
    }
    fn schema(&self) -> (UserId, String) {
        self.user()
    }
    fn relation(&self, schema: Option<&str>, name: &str) -> Result<Option<Resolved>> {
        if schema.is_some_and(|s| s != "SCOTT") {
            return Ok(None);
        }
        Ok(match name {
            "BIG" => Some(Resolved::Table(Rc::new(table("BIG", 100_000)))),
            "SEEN" => Some(Resolved::Table(Rc::new(analysed()))),
            "SMALL" => Some(Resolved::Table(Rc::new(table("SMALL", 10)))),
            "DEPT" => Some(Resolved::Table(Rc::new(dept()))),
            "EMP" => Some(Resolved::Table(Rc::new(emp(|_| {})))),
            "EMP_DISABLED" => Some(Resolved::Table(Rc::new(emp(|key| key.enabled = false)))),
            "EMP_NOVALIDATE" => Some(Resolved::Table(Rc::new(emp(|key| (key.validated, key.rely) = (false, true))))),
            "EMP_DEFERRABLE" => Some(Resolved::Table(Rc::new(emp(|key| key.deferrable = true)))),
            "V" => Some(Resolved::View(Rc::new(ViewDef {
                object: ObjectId(9),
                owner_id: UserId(10),
                owner: "SCOTT".into(),
                name: "V".into(),
                text: "select id, name n from big where k = 5".into(),
                columns: Vec::new(),
                types: Vec::new(),
                triggers: Vec::new(),
                read_only: false,
                check_option: false,
                bequeaths: false,
                catalog: false,
                valid: true,
                epoch: 0,
            }))),
            _ => None,
        })
    }
    fn sequence(&self, _schema: Option<&str>, _name: &str) -> Result<Option<Rc<SequenceDef>>> {
        Ok(None)
    }
    fn unit(&self, _schema: Option<&str>, _name: &str) -> Result<Option<Rc<ProcedureDef>>> {
        Ok(None)
    }
    fn table_by_id(&self, _object: ObjectId) -> Result<Option<Rc<TableDef>>> {
        Ok(None)
    }
    fn index_by_id(&self, _object: ObjectId) -> Result<Option<Rc<IndexDef>>> {
        Ok(None)
    }
    fn allowed(&self, _object: ObjectId, _owner: UserId, _privilege: ObjectPrivilege) -> Result<bool> {
        Ok(true)
    }
    fn as_owner(&self, _owner: UserId) -> Result<Box<dyn Catalog + '_>> {
        Ok(Box::new(Tables))
    }
    fn epoch(&self) -> u64 {
        1
    }
}

/// With statistics: ID ranges from 1 to 100,000, and K has a hundred values.
fn analysed() -> TableDef {
    let mut t = table("SEEN", 100_000);
    t.columns[0].statistics = Some(ColumnStatistics::new(100_000, 0, Some((1.0, 100_000.0))));
    t.columns[3].statistics = Some(ColumnStatistics::new(100, 0, Some((0.0, 99.0))));
    t
}

fn constraint(id: u32, kind: ConstraintKindDef) -> ConstraintDef {
    ConstraintDef {
        id,
        name: format!("C{id}"),
        generated: false,
        kind,
        enabled: true,
        validated: true,
        deferrable: false,
        initially_deferred: false,
        rely: false,
    }
}

/// A parent: ID is its primary key.
fn dept() -> TableDef {
    let mut t = table("DEPT", 10);
    t.object = ObjectId(20);
    t.constraints = vec![constraint(1, ConstraintKindDef::PrimaryKey { columns: vec![0], index: ObjectId(50) })];
    t
}

/// A child of DEPT through column K, with `change` applied to its foreign key.
fn emp(change: fn(&mut ConstraintDef)) -> TableDef {
    let mut t = table("EMP", 1000);
    t.object = ObjectId(21);
    let (columns, table) = (vec![3], ObjectId(20));
    let mut key =
        constraint(2, ConstraintKindDef::ForeignKey { columns, table, key: 1, on_delete: OnDeleteDef::Restrict });
    change(&mut key);
    t.constraints = vec![key];
    t
}
