//! Definitions of tables, indexes and clusters.

use super::numbers::{as_text_digits, segment_header};
use super::picture::Image;
use super::property;
use crate::base::*;
use crate::rows::{Row, as_i64, as_optional_text, as_text, as_u32, int, type_of_columns};
use crate::*;
use std::rc::Rc;
use types::{ObjectId, Ora, Result, Value};

impl Image {
    /// The definition of a base table, with its indexes.
    ///
    /// # Errors
    /// ORA-00600 for an index whose rows cannot be decoded.
    pub fn base_table(&self, base: Base) -> Result<Rc<TableDef>> {
        let table = base.table();
        if let Some(def) = self.made.borrow().tables.get(&table.object.0) {
            return Ok(def.clone());
        }
        let indexes = if base.indexes().is_empty() { Vec::new() } else { self.indexes(table.object)?.0 };
        let segment = SegmentRef {
            tablespace: 0,
            header: self.moment.header(base),
            data_object: table.object,
            pctfree: BASE_PCTFREE,
            initrans: 1,
        };
        let mut columns = base.columns();
        let statistics = self.with_own_statistics(table.name, &mut columns);
        let def = Rc::new(TableDef {
            object: table.object,
            owner_id: UserId::SYS,
            owner: "SYS".into(),
            name: table.name.into(),
            columns,
            organization: Organization::Heap(segment),
            indexes,
            lobs: Vec::new(),
            constraints: Vec::new(),
            referenced_by: Vec::new(),
            triggers: Vec::new(),
            statistics,
            temporary: (base == Base::PlanTable).then_some(TemporaryKind::PreserveRows),
            options: TableOptions { degree: 1, logging: true, ..TableOptions::default() },
            epoch: self.epoch(),
        });
        self.checked()?;
        self.made.borrow_mut().tables.insert(table.object.0, def.clone());
        Ok(def)
    }

    /// The table with this number.
    pub fn table(&self, object: ObjectId) -> Result<Option<Rc<TableDef>>> {
        if let Some(base) = Base::of_object(object) {
            return Ok(Some(self.base_table(base)?));
        }
        if let Some(def) = self.made.borrow().tables.get(&object.0) {
            return Ok(Some(def.clone()));
        }
        let def = self.object(object).filter(|def| def.kind == ObjectKind::Table);
        let row = def.and_then(|_| self.rows(Base::Tab, tab::OBJ, object.0).pop());
        let Some((def, row)) = def.zip(row) else { return self.checked().map(|()| None) };
        let table = Rc::new(self.make_table(def, &row)?);
        self.checked()?;
        let mut made = self.made.borrow_mut();
        made.index_tables.extend(table.indexes.iter().map(|index| (index.object.0, object.0)));
        made.tables.insert(object.0, table.clone());
        drop(made);
        Ok(Some(table))
    }

    fn make_table(&self, def: &ObjectDef, row: &Row) -> Result<TableDef> {
        let bits = as_i64(&row[tab::PROPERTY]).unwrap_or(0);
        let on = |bit| bits & bit != 0;
        let columns = self.columns(def.object)?;
        let segment = SegmentRef {
            tablespace: as_u32(&row[tab::TS]),
            header: segment_header(row, tab::FILE, tab::BLOCK),
            data_object: ObjectId(as_u32(&row[tab::DATAOBJ])),
            pctfree: as_u32(&row[tab::PCTFREE]) as u8,
            initrans: as_u32(&row[tab::INITRANS]) as u8,
        };
        let (mut indexes, lobs) = self.indexes(def.object)?;
        let cluster = as_u32(&row[tab::BOBJ]);
        let organization = if cluster != 0 {
            let missing = || Ora::internal(format_args!("[cluster {cluster}]"));
            let cluster = self.cluster(ObjectId(cluster))?.ok_or_else(missing)?;
            // CLUCOLS holds the positions of the cluster key's columns in the table, four decimal digits each, from 1.
            let key_positions = as_text_digits(&row[tab::CLUCOLS]);
            Organization::HashCluster { cluster, key_positions }
        } else if on(property::TAB_INDEX_ORGANIZED) {
            let rows = indexes.iter().find(|index| index.kind == IndexKind::IotTop);
            Organization::Index(rows.map_or(segment, |index| index.segment))
        } else if on(property::TAB_PARTITIONED) {
            Organization::Partitioned(Rc::new(self.partitioning(def.object)?))
        } else {
            Organization::Heap(segment)
        };
        if let Organization::Partitioned(of) = &organization {
            indexes.iter_mut().try_for_each(|index| self.add_local(index, of))?;
        }
        let temporary = match (on(property::TAB_TEMPORARY), on(property::TAB_PRESERVE_ROWS)) {
            (false, _) => None,
            (true, false) => Some(TemporaryKind::DeleteRows),
            (true, true) => Some(TemporaryKind::PreserveRows),
        };
        Ok(TableDef {
            object: def.object,
            owner_id: def.owner_id,
            owner: self.user_name(def.owner_id),
            name: def.name.clone(),
            indexes,
            lobs,
            constraints: self.constraints(def.object),
            referenced_by: self.referenced_by(def.object),
            triggers: if on(property::TAB_TRIGGERS) { self.triggers(def.object, &columns) } else { Vec::new() },
            statistics: as_i64(&row[tab::ROWCNT]).map(|rows| TableStatistics {
                rows: rows as u64,
                blocks: as_i64(&row[tab::BLKCNT]).unwrap_or(0) as u64,
                average_row_bytes: as_u32(&row[tab::AVGRLN]),
                groups: self.group_statistics(def.object),
            }),
            columns,
            organization,
            temporary,
            options: TableOptions {
                result_cache_force: on(property::TAB_RESULT_CACHE_FORCE),
                cache: on(property::TAB_CACHE),
                read_only: on(property::TAB_READ_ONLY),
                degree: as_u32(&row[tab::DEGREE]).max(1),
                logging: !on(property::TAB_NOLOGGING),
                minimize_records: on(property::TAB_MINIMIZE_RECORDS),
                row_movement: on(property::TAB_ROW_MOVEMENT),
                index_organized: on(property::TAB_INDEX_ORGANIZED),
                materialized: on(property::TAB_MATERIALIZED),
            },
            epoch: self.epoch(),
        })
    }

    /// The columns of a table, cluster or view, in order.
    pub fn columns(&self, object: ObjectId) -> Result<Vec<ColumnDef>> {
        let mut rows = self.rows(Base::Col, col::OBJ, object.0);
        rows.sort_by_key(|row| as_i64(&row[col::COL]));
        let column = |row: &Row| {
            let statistics = self.column_statistics(object, as_u32(&row[col::COL])).cloned();
            Ok(ColumnDef { statistics, ..make_column(row)? })
        };
        rows.iter().map(column).collect()
    }

    /// The indexes of a table, and the segments of its LOB columns.
    fn indexes(&self, table: ObjectId) -> Result<(Vec<Rc<IndexDef>>, Vec<LobDef>)> {
        let (mut list, mut lobs) = (Vec::new(), Vec::new());
        for row in self.rows(Base::Ind, ind::BO, table.0) {
            let object = ObjectId(as_u32(&row[ind::OBJ]));
            let Some(def) = self.object(object) else { continue };
            let index = self.make_index(def, &row)?;
            if as_i64(&row[ind::TYPE]) != Some(property::IND_TYPE_LOB) {
                list.push(Rc::new(index));
                continue;
            }
            let Some(IndexKey::Column(column)) = index.columns.first().map(|c| c.key.clone()) else {
                return Err(Ora::internal(format_args!("[LOB {object}]")));
            };
            let bits = as_i64(&row[ind::PROPERTY]).unwrap_or(0);
            let in_row = bits & property::IND_LOB_NOT_IN_ROW == 0;
            lobs.push(LobDef { object, name: index.name, column, segment: index.segment, in_row });
        }
        list.sort_by_key(|index| index.object);
        lobs.sort_by_key(|lob| lob.column);
        Ok((list, lobs))
    }

    fn make_index(&self, def: &ObjectDef, row: &Row) -> Result<IndexDef> {
        let bits = as_i64(&row[ind::PROPERTY]).unwrap_or(0);
        let flags = as_i64(&row[ind::FLAGS]).unwrap_or(0);
        let mut columns = self.rows(Base::Icol, icol::OBJ, def.object.0);
        columns.sort_by_key(|row| as_i64(&row[icol::POS]));
        let columns = columns.iter().map(make_index_column).collect::<Result<_>>()?;
        let kind = match as_i64(&row[ind::TYPE]) {
            Some(2) => IndexKind::Bitmap,
            Some(4) => IndexKind::IotTop,
            _ if bits & property::IND_FUNCTION_BASED != 0 => IndexKind::FunctionBased,
            _ if bits & property::IND_REVERSE != 0 => IndexKind::Reverse,
            _ => IndexKind::Normal,
        };
        Ok(IndexDef {
            object: def.object,
            owner_id: def.owner_id,
            owner: self.user_name(def.owner_id),
            name: def.name.clone(),
            table: ObjectId(as_u32(&row[ind::BO])),
            segment: SegmentRef {
                tablespace: as_u32(&row[ind::TS]),
                header: segment_header(row, ind::FILE, ind::BLOCK),
                data_object: ObjectId(as_u32(&row[ind::DATAOBJ])),
                pctfree: as_u32(&row[ind::PCTFREE]) as u8,
                initrans: as_u32(&row[ind::INITRANS]) as u8,
            },
            unique: bits & property::IND_UNIQUE != 0,
            columns,
            invisible: flags & property::IND_INVISIBLE != 0,
            unusable: flags & property::IND_UNUSABLE != 0,
            building: flags & property::IND_BUILDING != 0,
            disabled: flags & property::IND_DISABLED != 0,
            of_key: bits & property::IND_OF_KEY != 0,
            kind,
            local: None,
            statistics: as_i64(&row[ind::DISTKEY]).map(|distinct| IndexStatistics {
                distinct_keys: distinct as u64,
                leaf_blocks: as_i64(&row[ind::LEAFCNT]).unwrap_or(0) as u64,
                levels: as_u32(&row[ind::BLEVEL]),
                rows: as_i64(&row[ind::ROWCNT]).unwrap_or(0) as u64,
                clustering_factor: as_i64(&row[ind::CLUFAC]).unwrap_or(0) as u64,
            }),
        })
    }

    /// The index with this number, and its table.
    pub fn index(&self, object: ObjectId) -> Result<Option<Rc<IndexDef>>> {
        let known = self.made.borrow().index_tables.get(&object.0).copied();
        let of = || self.rows(Base::Ind, ind::OBJ, object.0).pop().map(|row| as_u32(&row[ind::BO]));
        let Some(table) = known.or_else(of) else { return self.checked().map(|()| None) };
        let table = self.table(ObjectId(table))?;
        Ok(table.and_then(|table| table.indexes.iter().find(|i| i.object == object).cloned()))
    }

    /// Tables with virtual columns, including the hidden ones for index expressions.
    pub fn tables_with_virtuals(&self) -> Vec<ObjectId> {
        let rows = self.find_rows(Base::Tab, &[tab::FLAGS], &[int(property::HAS_VIRTUALS)]);
        let mut tables: Vec<ObjectId> = rows.iter().map(|row| ObjectId(as_u32(&row[tab::OBJ]))).collect();
        tables.sort_unstable();
        tables
    }

    /// Indexes that are being built online, or were when their builder died.
    pub fn indexes_building(&self) -> Vec<ObjectId> {
        let rows = property::building_flags().flat_map(|flags| self.find_rows(Base::Ind, &[ind::FLAGS], &[int(flags)]));
        rows.map(|row| ObjectId(as_u32(&row[ind::OBJ]))).collect()
    }

    fn constraints(&self, table: ObjectId) -> Vec<ConstraintDef> {
        let mut list: Vec<ConstraintDef> =
            self.rows(Base::Cdef, cdef::OBJ, table.0).iter().filter_map(|row| self.make_constraint(row)).collect();
        list.sort_by_key(|constraint| constraint.id);
        list
    }

    fn make_constraint(&self, row: &Row) -> Option<ConstraintDef> {
        let id = as_u32(&row[cdef::CON]);
        let bits = as_i64(&row[cdef::DEFER]).unwrap_or(0);
        let columns = self.constraint_columns(id);
        let index = ObjectId(as_u32(&row[cdef::INDEX]));
        let kind = match as_i64(&row[cdef::TYPE])? {
            1 => ConstraintKindDef::Check { text: as_text(&row[cdef::CONDITION]).to_owned() },
            2 => ConstraintKindDef::PrimaryKey { columns, index },
            3 => ConstraintKindDef::Unique { columns, index },
            4 => ConstraintKindDef::ForeignKey {
                columns,
                table: ObjectId(as_u32(&row[cdef::ROBJ])),
                key: as_u32(&row[cdef::RCON]),
                on_delete: on_delete(row),
            },
            7 => ConstraintKindDef::NotNull { column: *columns.first()? },
            _ => return None,
        };
        Some(ConstraintDef {
            id,
            name: self.constraint_name(id),
            generated: bits & property::CON_GENERATED != 0,
            kind,
            enabled: bits & property::CON_DISABLED == 0,
            validated: bits & property::CON_VALIDATED != 0,
            deferrable: bits & property::CON_DEFERRABLE != 0,
            initially_deferred: bits & property::CON_INITIALLY_DEFERRED != 0,
            rely: bits & property::CON_RELY != 0,
        })
    }

    fn referenced_by(&self, table: ObjectId) -> Vec<ForeignKeyTo> {
        let mut list = Vec::new();
        for row in self.rows(Base::Cdef, cdef::ROBJ, table.0) {
            if as_i64(&row[cdef::TYPE]) == Some(4) {
                list.push(ForeignKeyTo {
                    key: as_u32(&row[cdef::RCON]),
                    from_table: ObjectId(as_u32(&row[cdef::OBJ])),
                    constraint: as_u32(&row[cdef::CON]),
                    on_delete: on_delete(&row),
                    enabled: as_i64(&row[cdef::DEFER]).unwrap_or(0) & property::CON_DISABLED == 0,
                });
            }
        }
        list.sort_by_key(|key| (key.from_table, key.constraint));
        list
    }

    pub fn cluster(&self, object: ObjectId) -> Result<Option<Rc<ClusterDef>>> {
        if let Some(def) = self.made.borrow().clusters.get(&object.0) {
            return Ok(Some(def.clone()));
        }
        let def = self.object(object).filter(|def| def.kind == ObjectKind::Cluster);
        let row = def.and_then(|_| self.rows(Base::Clu, clu::OBJ, object.0).pop());
        let Some((def, row)) = def.zip(row) else { return self.checked().map(|()| None) };
        let tables = self.rows(Base::Tab, tab::BOBJ, object.0);
        let mut tables: Vec<ObjectId> = tables.iter().map(|row| ObjectId(as_u32(&row[tab::OBJ]))).collect();
        tables.sort_unstable();
        let cluster = Rc::new(ClusterDef {
            object,
            owner_id: def.owner_id,
            owner: self.user_name(def.owner_id),
            name: def.name.clone(),
            segment: SegmentRef {
                tablespace: as_u32(&row[clu::TS]),
                header: segment_header(&row, clu::FILE, clu::BLOCK),
                data_object: ObjectId(as_u32(&row[clu::DATAOBJ])),
                pctfree: as_u32(&row[clu::PCTFREE]) as u8,
                initrans: as_u32(&row[clu::INITRANS]) as u8,
            },
            columns: self.columns(object)?,
            hashkeys: as_i64(&row[clu::HASHKEYS]).unwrap_or(0) as u64,
            size_bytes: as_u32(&row[clu::SIZE]),
            hash_text: as_optional_text(&row[clu::HASHFUNC]),
            single_table: as_i64(&row[clu::FLAGS]) == Some(1),
            tables,
            epoch: self.epoch(),
        });
        self.checked()?;
        self.made.borrow_mut().clusters.insert(object.0, cluster.clone());
        Ok(Some(cluster))
    }
}

fn on_delete(row: &Row) -> OnDeleteDef {
    match as_i64(&row[cdef::REFACT]) {
        Some(1) => OnDeleteDef::Cascade,
        Some(2) => OnDeleteDef::SetNull,
        _ => OnDeleteDef::Restrict,
    }
}

fn make_column(row: &Row) -> Result<ColumnDef> {
    let bits = as_i64(&row[col::PROPERTY]).unwrap_or(0);
    let on = |bit| bits & bit != 0;
    let ty: Vec<Value> = [col::TYPE, col::LENGTH, col::PRECISION, col::SCALE, col::CHARSETFORM, col::CHARLENGTH]
        .iter()
        .map(|at| row[*at].clone())
        .collect();
    Ok(ColumnDef {
        name: as_text(&row[col::NAME]).to_owned(),
        data_type: type_of_columns(&ty)?,
        nullable: as_i64(&row[col::NULLS]).unwrap_or(0) == 0,
        default_text: as_optional_text(&row[col::DEFAULT]),
        default_on_null: on(property::COL_DEFAULT_ON_NULL),
        virtual_text: as_optional_text(&row[col::VIRTUAL]),
        identity: as_i64(&row[col::SEQ]).map(|sequence| Identity {
            sequence: ObjectId(sequence as u32),
            always: on(property::COL_IDENTITY_ALWAYS),
            on_null: on(property::COL_IDENTITY_ON_NULL),
        }),
        hidden: on(property::COL_HIDDEN),
        invisible: on(property::COL_INVISIBLE),
        moved: (bits >> property::COL_MOVED_SHIFT) as u16,
        statistics: None,
    })
}

fn make_index_column(row: &Row) -> Result<IndexColumnDef> {
    let descending = as_i64(&row[icol::DESCENDING]) == Some(1);
    let key = match as_u32(&row[icol::COL]) {
        0 => {
            let ty: Vec<Value> =
                [icol::TYPE, icol::LENGTH, icol::PRECISION, icol::SCALE, icol::CHARSETFORM, icol::CHARLENGTH]
                    .iter()
                    .map(|at| row[*at].clone())
                    .collect();
            IndexKey::Expression { text: as_text(&row[icol::EXPR]).to_owned(), data_type: type_of_columns(&ty)? }
        }
        position => IndexKey::Column(position as usize - 1),
    };
    Ok(IndexColumnDef { key, descending })
}
