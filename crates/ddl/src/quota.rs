//! Quotas: the tablespaces in which a user may make segments, and their limits.
//!
//! A quota is checked when a segment is made; of the partitions of one statement, each is counted for the next. The
//! later growth of a segment is not counted against it.

use crate::work::Work;
use block::segment::UNIT_BLOCKS;
use datafile::Contents;
use dictionary::base::{Base, tsq};
use dictionary::rows::{as_i64, as_u32, int};
use dictionary::*;
use sql::ast::Ident;
use types::{Ora, Rdba, Result};

/// MAXBLOCKS of UNLIMITED.
const UNLIMITED: i64 = -1;

/// Whether `owner` may make a segment in the tablespace.
///
/// # Errors
/// ORA-00959, ORA-02195, ORA-01542; ORA-01950 without a quota, ORA-01536 when it is used up.
pub fn check(work: &mut Work<'_>, number: u32, owner: UserId) -> Result<()> {
    let control = work.control()?;
    let Some(entry) = control.tablespace(number) else {
        return Err(Ora::with(959, &[&number]));
    };
    match entry.contents {
        Contents::Permanent => {}
        Contents::Temporary => return Err(Ora::with(2195, &[&"PERMANENT", &"TEMPORARY"])),
        Contents::Undo => return Err(Ora::new(30022)),
    }
    if entry.is_offline {
        return Err(Ora::with(1542, &[&entry.name]));
    }
    if entry.is_read_only {
        return Err(Ora::from_text(
            types::Facility::Ora,
            1647,
            format!("tablespace '{}' is read-only, cannot allocate space in it", entry.name),
        ));
    }
    if owner.0 < 100 {
        return Ok(());
    }
    let parts = work.host.parts();
    // A role with UNLIMITED TABLESPACE counts like a direct grant: an owner's space must not depend on the user that is
    // logged on.
    let granted = parts.dict.names(&Principal::owner(owner))?.image().grantees(owner);
    let who = Principal { roles: granted.into(), ..Principal::owner(owner) };
    if parts.dict.names(&who)?.has(SystemPrivilege::UnlimitedTablespace) {
        return Ok(());
    }
    let rows = work.select(Base::Tsq, &move |row| row_is(row, number, owner))?;
    match rows.first().and_then(|row| as_i64(&row[tsq::MAXBLOCKS])) {
        None | Some(0) => Err(Ora::with(1950, &[&entry.name])),
        Some(UNLIMITED) => Ok(()),
        Some(most) => {
            let used = match work.reserved.get(&(number, owner)) {
                Some(used) => *used,
                None => used_blocks(work, number, owner)?,
            };
            if used < most as u64 { Ok(()) } else { Err(Ora::with(1536, &[&entry.name])) }
        }
    }
}

/// Checks the quota for one of several segments that a statement makes, and counts its first extent for the next.
///
/// # Errors
/// As [`check`].
pub fn reserve(work: &mut Work<'_>, number: u32, owner: UserId) -> Result<()> {
    check(work, number, owner)?;
    let used = match work.reserved.get(&(number, owner)) {
        Some(used) => *used,
        None => used_blocks(work, number, owner)?,
    };
    work.reserved.insert((number, owner), used + u64::from(UNIT_BLOCKS));
    Ok(())
}

fn row_is(row: &[types::Value], tablespace: u32, owner: UserId) -> bool {
    as_u32(&row[tsq::TS]) == tablespace && as_u32(&row[tsq::USER]) == owner.0
}

/// Blocks of all segments of `owner` in the tablespace.
fn used_blocks(work: &mut Work<'_>, tablespace: u32, owner: UserId) -> Result<u64> {
    let mut headers: Vec<Rdba> = Vec::new();
    let objects: Vec<(ObjectKind, types::ObjectId)> =
        work.image.objects_of(owner).iter().map(|o| (o.kind, o.object)).collect();
    for (kind, object) in objects {
        let in_it = |s: &SegmentRef| s.tablespace == tablespace && !s.header.is_none();
        if kind == ObjectKind::Table
            && let Some(table) = work.image.table(object)?
            && let Some(of) = table.partitioning()
        {
            headers.extend(of.partitions.iter().map(|p| p.segment).filter(in_it).map(|s| s.header));
        }
        if kind == ObjectKind::Index
            && let Some(local) = work.image.index(object)?.and_then(|index| index.local.clone())
        {
            headers.extend(local.iter().map(|part| part.segment).filter(in_it).map(|s| s.header));
        }
        if kind == ObjectKind::Table
            && let Some(table) = work.image.table(object)?
        {
            headers.extend(table.lobs.iter().map(|lob| lob.segment).filter(in_it).map(|s| s.header));
        }
        let segment = match kind {
            ObjectKind::Table => work.image.table(object)?.and_then(|t| match &t.organization {
                Organization::Heap(segment) | Organization::Index(segment) => Some(*segment),
                _ => None,
            }),
            ObjectKind::Index => work.image.index(object)?.map(|i| i.segment),
            ObjectKind::Cluster => work.image.cluster(object)?.map(|c| c.segment),
            _ => None,
        };
        headers.extend(segment.filter(|s| s.tablespace == tablespace && !s.header.is_none()).map(|s| s.header));
    }
    let parts = work.host.parts();
    let segments = parts.storage.heap.transactions().space();
    let mut blocks = 0;
    for header in headers {
        blocks += segments.extents(parts.p, header)?.iter().map(|e| u64::from(e.blocks)).sum::<u64>();
    }
    Ok(blocks)
}

/// Sets a quota: `UNLIMITED`, or bytes as written. Quota 0 removes it.
///
/// # Errors
/// ORA-00959; ORA-30041 for a tablespace of temporary data or undo; ORA-02187.
pub fn set(work: &mut Work<'_>, user: UserId, name: &Ident, quota: &str) -> Result<()> {
    let number = work.tablespace_number(name)?;
    let control = work.control()?;
    if control.tablespace(number).is_some_and(|t| t.contents != Contents::Permanent) {
        return Err(Ora::from_text(types::Facility::Ora, 30041, "Cannot grant quota on the tablespace").at(name.pos.0));
    }
    let most = match quota {
        "UNLIMITED" => UNLIMITED,
        text => {
            let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
            let shift = match text[digits.len()..].trim() {
                "" => 0,
                "K" => 10,
                "M" => 20,
                "G" => 30,
                "T" => 40,
                _ => return Err(Ora::new(2187).at(name.pos.0)),
            };
            let bytes = digits.trim().parse::<u64>().ok().and_then(|n| n.checked_mul(1 << shift));
            let bytes = bytes.ok_or_else(|| Ora::new(2187).at(name.pos.0))?;
            i64::try_from(bytes.div_ceil(control.block_size as u64)).map_err(|_| Ora::new(2187))?
        }
    };
    work.change().delete(Base::Tsq, &move |row| row_is(row, number, user))?;
    if most != 0 {
        work.change().insert(Base::Tsq, &[int(number), int(user.0), int(most)])?;
    }
    Ok(())
}

/// The number of a tablespace that is suitable as a user's default, permanent or temporary.
///
/// # Errors
/// ORA-00959; ORA-12910 and ORA-10615 for a tablespace of the wrong kind.
pub fn default_for_user(work: &mut Work<'_>, name: &Ident, temporary: bool) -> Result<u32> {
    let number = work.tablespace_number(name)?;
    let contents = work.control()?.tablespace(number).map(|t| t.contents);
    match (contents, temporary) {
        (Some(Contents::Temporary), true) | (Some(Contents::Permanent), false) => Ok(number),
        (Some(Contents::Undo), _) => {
            let text = "cannot specify undo tablespace as default tablespace";
            Err(Ora::from_text(types::Facility::Ora, 30033, text).at(name.pos.0))
        }
        (_, true) => Err(Ora::new(10615).at(name.pos.0)),
        (_, false) => Err(Ora::new(12910).at(name.pos.0)),
    }
}

/// The default tablespaces of new users.
pub fn defaults(work: &mut Work<'_>) -> Result<(u32, Option<u32>)> {
    let data = work.property("DEFAULT_PERMANENT_TABLESPACE")?;
    let temp = work.property("DEFAULT_TEMP_TABLESPACE")?;
    Ok((work.image.tablespace_named(&data).unwrap_or(0), work.image.tablespace_named(&temp)))
}

impl Work<'_> {
    /// The tablespace of a clause, or the owner's default, for a new segment of that owner. ORA-00959 for one that does
    /// not exist, ORA-02195 for one of temporary data or undo, ORA-01542 for one that is offline, ORA-01950 and
    /// ORA-01536 by the quota.
    pub fn tablespace(&mut self, given: Option<&Ident>, owner: UserId) -> Result<u32> {
        let number = match given {
            Some(name) => self.tablespace_number(name)?,
            None => self.image.user(owner).map_or(0, |user| user.default_tablespace),
        };
        check(self, number, owner).map_err(|e| given.map_or(e.clone(), |name| e.at(name.pos.0)))?;
        Ok(number)
    }

    /// The temporary tablespace of a clause, or the database's. ORA-00959, ORA-02195.
    pub fn temporary_tablespace(&mut self, given: Option<&Ident>) -> Result<u32> {
        match given {
            Some(name) => default_for_user(self, name, true).map_err(|e| {
                if e.is(10615) { Ora::with(2195, &[&"TEMPORARY", &"PERMANENT"]).at(name.pos.0) } else { e }
            }),
            None => Ok(defaults(self)?.1.unwrap_or(0)),
        }
    }
}
