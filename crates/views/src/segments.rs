//! Figures by segment: `v$segstat`, `v$segment_statistics`, `v$segstat_name`.
//!
//! Figures belong to the data object of a segment. They begin anew when a segment is moved, truncated or rebuilt, and
//! those of a dropped segment are not shown.

use dictionary::ObjectKind;
use dictionary::base::{Base, obj, user};
use dictionary::rows::{as_text, as_u32};
use process::SegmentStat;
use std::collections::HashMap;
use types::{Result, Value};

use crate::column::{Row, Type, Type::*, n, t, yes};
use crate::source::Source;
use crate::space::{known, present};

pub const SEGSTAT: &[(&str, Type)] = &[
    ("TS#", N),
    ("OBJ#", N),
    ("DATAOBJ#", N),
    ("STATISTIC_NAME", V(64)),
    ("STATISTIC#", N),
    ("VALUE", N),
    ("CON_ID", N),
];

pub const SEGMENT_STATISTICS: &[(&str, Type)] = &[
    ("OWNER", V(128)),
    ("OBJECT_NAME", V(128)),
    ("SUBOBJECT_NAME", V(128)),
    ("TABLESPACE_NAME", V(30)),
    ("TS#", N),
    ("OBJ#", N),
    ("DATAOBJ#", N),
    ("OBJECT_TYPE", V(18)),
    ("STATISTIC_NAME", V(64)),
    ("STATISTIC#", N),
    ("VALUE", N),
    ("CON_ID", N),
];

pub const SEGSTAT_NAME: &[(&str, Type)] = &[("STATISTIC#", N), ("NAME", V(64)), ("SAMPLED", V(3)), ("CON_ID", N)];

/// A segment with figures.
struct Counted {
    tablespace: u32,
    object: u32,
    data: u32,
    figures: process::SegmentFigures,
}

fn counted(s: &Source<'_>) -> Result<Vec<Counted>> {
    let cache = s.shared.txns.cache();
    let mut figures = cache.segment_statistics().figures();
    let mut all = Vec::new();
    for k in known(s)?.iter().filter(|k| k.object > 0) {
        let Some(data) = present(s.shared.txns.space().object(s.p, k.header))? else { continue };
        if let Some(figures) = figures.remove(&data) {
            all.push(Counted { tablespace: k.tablespace, object: k.object, data: data.0, figures });
        }
    }
    Ok(all)
}

fn figures(of: &Counted) -> impl Iterator<Item = (&'static str, u32, u64)> {
    SegmentStat::ALL.iter().map(|(stat, number, name, _)| (*name, *number, of.figures[*stat as usize]))
}

pub fn segstat(s: &Source<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for c in counted(s)? {
        rows.extend(figures(&c).map(|(name, number, value)| {
            vec![n(c.tablespace), n(c.object), n(c.data), t(name), n(number), n(value), n(0u32)]
        }));
    }
    Ok(rows)
}

/// Owner, name and type of objects, and the names of users.
type Names = (HashMap<u32, (u32, String, u32)>, HashMap<u32, String>);

fn names(s: &Source<'_>) -> Result<Names> {
    let dictionary = s.instance.storage().dictionary;
    let (mut objects, mut users) = (HashMap::new(), HashMap::new());
    for base in Base::ALL {
        let table = base.table();
        objects.insert(table.object.0, (0, table.name.to_owned(), ObjectKind::Table as u32));
    }
    dictionary.scan_once(s.p, Base::Obj, &mut |_, row| {
        let named = (as_u32(&row[obj::OWNER]), as_text(&row[obj::NAME]).to_owned(), as_u32(&row[obj::TYPE]));
        objects.insert(as_u32(&row[obj::OBJ]), named);
        Ok(())
    })?;
    dictionary.scan_once(s.p, Base::User, &mut |_, row| {
        users.insert(as_u32(&row[user::USER]), as_text(&row[user::NAME]).to_owned());
        Ok(())
    })?;
    Ok((objects, users))
}

pub fn segment_statistics(s: &Source<'_>) -> Result<Vec<Row>> {
    let ((objects, users), control) = (names(s)?, crate::space::control(s)?);
    let mut rows = Vec::new();
    for c in counted(s)? {
        let Some((owner, name, kind)) = objects.get(&c.object) else { continue };
        let owner = users.get(owner).map_or("SYS", String::as_str);
        let kind = u8::try_from(*kind).ok().and_then(ObjectKind::from_code).map_or("", ObjectKind::name);
        let tablespace = control.tablespace(c.tablespace).map_or("", |of| of.name.as_str());
        rows.extend(figures(&c).map(|(statistic, number, value)| {
            let place =
                [t(owner), t(name), Value::Null, t(tablespace), n(c.tablespace), n(c.object), n(c.data), t(kind)];
            place.into_iter().chain([t(statistic), n(number), n(value), n(0u32)]).collect()
        }));
    }
    Ok(rows)
}

pub fn segstat_name(_: &Source<'_>) -> Result<Vec<Row>> {
    let row =
        |(_, number, name, sampled): &(SegmentStat, u32, &str, bool)| vec![n(*number), t(name), yes(*sampled), n(0u32)];
    Ok(SegmentStat::ALL.iter().map(row).collect())
}
