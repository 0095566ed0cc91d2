//! `x$kkscol`: the columns of SYS's base tables, catalog views and V$ views, which have no rows in COL$. The columns of
//! `x$kkscol` are those of COL$.

use crate::column::{Row, Type, Type::*, n, t};
use dictionary::base::Base;
use dictionary::{ColumnDef, FixedCatalog, rows::type_columns};
use exec::{Cursor, ExecCtx};
use types::{DataType, Result, Value};

pub const COLUMNS: &[(&str, Type)] = &[
    ("TABLE_NAME", V(128)),
    ("NAME", V(128)),
    ("COL#", N),
    ("TYPE#", N),
    ("LENGTH", N),
    ("PRECISION#", N),
    ("SCALE", N),
    ("CHARSETFORM", N),
    ("CHARLENGTH", N),
    ("NULL$", N),
    ("DEFAULT$", V(4000)),
    ("VIRTUAL$", V(4000)),
    ("PROPERTY", N),
    ("SEQ#", N),
];

/// A row for each column. Catalog views that the user may not read are left out.
///
/// # Errors
/// ORA-01013 and the like: the call must end.
pub fn columns(cx: &mut ExecCtx<'_>, fixed: &dyn FixedCatalog) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let mut add = |table: &str, columns: &mut dyn Iterator<Item = (String, DataType)>| {
        for (at, (name, ty)) in columns.enumerate() {
            let mut row = vec![t(table), t(name), n(at as u64 + 1)];
            row.extend::<[Value; 6]>(type_columns(&ty));
            row.extend([n(0u64), Value::Null, Value::Null, n(0u64), Value::Null]);
            rows.push(row);
        }
    };
    let named = |column: ColumnDef| (column.name.to_string(), column.data_type);
    for base in Base::ALL {
        add(base.table().name, &mut base.columns().into_iter().map(named));
    }
    for name in fixed.names() {
        let Some(rest) = name.strip_prefix("V$") else { continue };
        for start in ["V", "GV"] {
            let columns = fixed.find(&format!("{start}${rest}")).map_or(&[][..], |(_, columns)| columns);
            add(&format!("{start}_${rest}"), &mut columns.iter().cloned().map(named));
        }
    }
    for (view, _) in dictionary::catalog_views() {
        cx.p.check_cancel()?;
        let described = match Cursor::describe(cx, &format!("select * from sys.\"{view}\""), &[]) {
            Err(e) if e.is(942) || e.is(1031) => continue,
            described => described?,
        };
        add(view, &mut described.columns.iter().map(|column| (column.name.clone(), column.ty)));
    }
    Ok(rows)
}
