//! ALTER TABLE on partitions. The caller has locked the table.
//!
//! Rows that change their partition are copied into new segments, and the old ones are dropped after the commit, as
//! MOVE of a table does: a query that began earlier reads the old segment, or ends with ORA-08103, and misses no row.
//! An index over changed rows is filled again (UPDATE INDEXES) or becomes unusable.

use crate::index;
use crate::index_rows::{flags_of, set_flags};
use crate::partition_bounds::KeyColumns;
use crate::partition_create::described;
use crate::partition_index;
use crate::partition_interval;
use crate::partition_rows::{self, NewPartition};
use crate::rows;
use crate::work::{Target, Work, by};
use dictionary::base::{Base, obj, tabpart};
use dictionary::image::property;
use dictionary::rows::{as_i64, int, text};
use dictionary::*;
use heap::HeapTable;
use sql::ast::{
    Ident, PartitionAction, PartitionRef, PartitionSpec, PartitionUpkeep, PartitionValues, SegmentOptions,
    WhichPartition,
};
use std::rc::Rc;
use types::{Ora, Result};

pub fn act(
    work: &mut Work<'_>,
    table: &mut TableDef,
    action: &PartitionAction,
    target: &Target,
    pos: u32,
) -> Result<()> {
    // Beside ALTER, as for the whole table.
    if matches!(action, PartitionAction::Drop(..) | PartitionAction::Truncate { .. }) {
        work.require(target, None, SystemPrivilege::DropAnyTable)?;
    }
    let of = table.partitioning().ok_or_else(|| Ora::new(14501).at(pos))?.clone();
    match action {
        PartitionAction::Add(spec, upkeep) => add(work, table, &of, spec, *upkeep),
        PartitionAction::Drop(partitions, upkeep) => drop_partitions(work, table, &of, partitions, *upkeep),
        PartitionAction::Truncate { partitions, cascade, upkeep } => {
            if *cascade {
                return Err(Ora::unsupported().at(pos));
            }
            truncate(work, table, &of, partitions, *upkeep)
        }
        PartitionAction::Rename { from, to } => rename(work, table, &of, from, to),
        PartitionAction::Move { partition, options, upkeep } => {
            move_partition(work, table, &of, partition, options, *upkeep)
        }
        PartitionAction::Split { partition, at, into, upkeep } => {
            let place = place_of(work, table, &of, partition)?;
            partition_interval::require_ranges(&of, &[place], partition.pos.0)?;
            let halves = halves(work, table, &of, place, at, partition.pos.0)?;
            let [first, second] = &halves;
            let two = [(into.first(), first), (into.get(1), second)];
            let described = into.iter().any(|spec| spec.values != PartitionValues::None);
            if described || !into.is_empty() && into.len() != 2 {
                return Err(Ora::unsupported().at(pos));
            }
            let new = two.into_iter().map(|(spec, bound)| made(work, table, &of, spec, bound, place)).collect();
            replace(work, table, &of, &[place], new, *upkeep, pos)
        }
        PartitionAction::Merge { partitions, into, upkeep } => {
            merge(work, table, &of, partitions, into.as_ref(), *upkeep, pos)
        }
        PartitionAction::Coalesce(upkeep) => coalesce(work, table, &of, *upkeep, pos),
        PartitionAction::SetInterval(width) => {
            let new = partition_interval::set_interval(work, table, &of, width.as_ref(), pos)?;
            table.organization = Organization::Partitioned(Rc::new(new));
            Ok(())
        }
        PartitionAction::LocalIndexes { partition, rebuild } => local_indexes(work, table, &of, partition, *rebuild),
        // `partition_exchange` does it.
        PartitionAction::Exchange { .. } | PartitionAction::Other => Err(Ora::unsupported().at(pos)),
    }
}

/// The position of the partition that a clause names. ORA-02149.
pub fn place_of(work: &mut Work<'_>, table: &TableDef, of: &Partitioning, named: &PartitionRef) -> Result<usize> {
    // No table has subpartitions.
    let PartitionRef { subpartition: _, which, pos } = named;
    let place = match which {
        WhichPartition::Name(name) => of.place_of_name(&name.name),
        WhichPartition::For(values) => {
            let key = KeyColumns { all: &table.columns, key: &of.columns }.named(work, values, pos.0)?;
            of.place_of_key(&key)
        }
    };
    place.ok_or_else(|| Ora::new(2149).at(pos.0))
}

/// The positions of several partitions, each once.
fn places_of(work: &mut Work<'_>, table: &TableDef, of: &Partitioning, named: &[PartitionRef]) -> Result<Vec<usize>> {
    let mut places = named.iter().map(|one| place_of(work, table, of, one)).collect::<Result<Vec<_>>>()?;
    places.sort_unstable();
    places.dedup();
    Ok(places)
}

/// The heap of a partition.
pub fn heap_of(table: &TableDef, p: &PartitionDef) -> HeapTable {
    let s = &p.segment;
    HeapTable {
        object: table.object,
        data_object: s.data_object,
        header: s.header,
        pctfree: s.pctfree,
        initrans: s.initrans,
    }
}

pub fn has_rows(work: &mut Work<'_>, heap: &HeapTable) -> Result<bool> {
    let mut found = false;
    rows::scan_partition(work, heap, &mut |_, _| {
        found = true;
        Ok(false)
    })?;
    Ok(found)
}

/// ORA-02266 when foreign keys of other tables refer to the rows.
fn require_unreferenced(table: &TableDef, pos: u32) -> Result<()> {
    let foreign = table.referenced_by.iter().any(|r| r.enabled && r.from_table != table.object);
    if foreign { Err(Ora::new(2266).at(pos)) } else { Ok(()) }
}

/// The definition with other partitions.
fn with_partitions(table: &TableDef, of: &Partitioning, partitions: Vec<PartitionDef>) -> TableDef {
    let new = of.with(partitions);
    TableDef { organization: Organization::Partitioned(Rc::new(new)), ..table.clone() }
}

/// Fills the indexes over all partitions again, or makes them unusable, after rows have got other addresses.
pub fn keep_global(work: &mut Work<'_>, new: &TableDef, upkeep: PartitionUpkeep) -> Result<()> {
    let PartitionUpkeep { update_indexes } = upkeep;
    for index in new.indexes.iter().filter(|index| index.local.is_none()) {
        if update_indexes && index.is_usable() {
            index::refill(work, new, index, index.segment.tablespace, &Ora::new(1452))?;
        } else {
            set_flags(work, index.object, flags_of(index) | property::IND_UNUSABLE)?;
        }
    }
    Ok(())
}

/// Adds a partition to each local index; empty, filled from the rows, or unusable.
pub fn add_local(work: &mut Work<'_>, table: &TableDef, p: &PartitionDef, filled: Option<bool>) -> Result<()> {
    for index in table.indexes.iter().filter(|index| index.local.is_some()) {
        let mut part = partition_rows::make_index_partition(work, p, None)?;
        match filled {
            None => {}
            Some(true) => {
                let duplicate = index.unique.then_some(&Ora::new(1452)).cloned();
                index::fill_partition(work, &heap_of(table, p), index, &part.segment, duplicate.as_ref())?;
            }
            Some(false) => part.unusable = true,
        }
        partition_rows::enter_index_partition(work, index, &part, p.object)?;
    }
    Ok(())
}

/// Removes the partition at a position from the table and its local indexes.
fn remove(work: &mut Work<'_>, table: &TableDef, of: &Partitioning, place: usize) -> Result<()> {
    for local in table.indexes.iter().filter_map(|index| index.local.clone()) {
        partition_rows::remove_index_partition(work, &local[place])?;
    }
    partition_rows::remove(work, &of.partitions[place])
}

/// A partition to be made in the place of another one.
pub fn made(
    work: &mut Work<'_>,
    table: &TableDef,
    of: &Partitioning,
    spec: Option<&PartitionSpec>,
    (bound, high_value): &(PartitionBound, String),
    like: usize,
) -> Result<NewPartition> {
    let like = &of.partitions[like].segment;
    let options = SegmentOptions {
        pctfree: Some(like.pctfree.into()),
        initrans: Some(like.initrans.into()),
        ..SegmentOptions::default()
    };
    let own = spec.is_some_and(|spec| spec.options.tablespace.is_some());
    let no_name = PartitionSpec {
        name: None,
        values: PartitionValues::None,
        options: SegmentOptions::default(),
        pos: sql::ast::Pos(0),
    };
    let bound = (bound.clone(), high_value.clone());
    let mut new = described(work, spec.unwrap_or(&no_name), bound, table.owner_id, &options)?;
    if !own {
        new.tablespace = like.tablespace;
    }
    Ok(new)
}

fn add(
    work: &mut Work<'_>,
    table: &mut TableDef,
    of: &Partitioning,
    spec: &PartitionSpec,
    upkeep: PartitionUpkeep,
) -> Result<()> {
    let pos = spec.pos.0;
    if of.interval.is_some() {
        return Err(Ora::new(14760).at(pos));
    }
    let key = KeyColumns { all: &table.columns, key: &of.columns };
    let bound = match of.method {
        PartitionMethod::Hash => return add_hash(work, table, of, spec, upkeep),
        PartitionMethod::Range => {
            let bound = key.bound(work, &spec.values, true, pos)?;
            let last = of.partitions.last().map(|p| &p.bound);
            if let (Some(PartitionBound::Below(last)), PartitionBound::Below(new)) = (last, &bound.0)
                && new <= last
            {
                return Err(Ora::new(14074).at(pos));
            }
            bound
        }
        PartitionMethod::List => {
            if of.partitions.iter().any(|p| p.bound == PartitionBound::Default) {
                return Err(Ora::new(14323).at(pos));
            }
            let bound = key.bound(work, &spec.values, false, pos)?;
            require_new_keys(of, &bound, &[], pos)?;
            bound
        }
    };
    let new = made(work, table, of, Some(spec), &bound, of.partitions.len() - 1)?;
    require_new_name(of, new.name.as_deref(), &[], 14013, pos)?;
    if of.partitions.len() >= PARTITIONS_MAX {
        return Err(Ora::new(14152).at(pos));
    }
    let p = partition_rows::make(work, new)?;
    let rows = work.select_by(Base::Tabpart, by(tabpart::BO, table.object))?;
    let last = rows.iter().filter_map(|row| as_i64(&row[tabpart::PART])).max().unwrap_or(0);
    partition_rows::enter(work, table, last as usize + 1, &p)?;
    add_local(work, table, &p, None)?;
    let all = of.partitions.iter().cloned().chain([p]).collect();
    *table = with_partitions(table, of, all);
    Ok(())
}

/// Adds a hash partition. It takes rows of one other: the one whose number is its own without the highest bit.
fn add_hash(
    work: &mut Work<'_>,
    table: &mut TableDef,
    of: &Partitioning,
    spec: &PartitionSpec,
    upkeep: PartitionUpkeep,
) -> Result<()> {
    let pos = spec.pos.0;
    if spec.values != PartitionValues::None {
        return Err(Ora::new(14261).at(pos));
    }
    if of.partitions.len() >= PARTITIONS_MAX {
        return Err(Ora::new(14152).at(pos));
    }
    let place = sharing(of.partitions.len());
    let bound = (PartitionBound::Hash, String::new());
    let same = made(work, table, of, None, &bound, place).map(|new| named_as(new, &of.partitions[place]));
    let added = made(work, table, of, Some(spec), &bound, place);
    let new = same.and_then(|same| Ok(vec![same, added?]));
    replace(work, table, of, &[place], new, upkeep, pos)
}

/// Removes the last hash partition, whose rows go where they were before it was added.
fn coalesce(
    work: &mut Work<'_>,
    table: &mut TableDef,
    of: &Partitioning,
    upkeep: PartitionUpkeep,
    pos: u32,
) -> Result<()> {
    if of.method != PartitionMethod::Hash {
        return Err(Ora::new(14259).at(pos));
    }
    let Some(last) = of.partitions.len().checked_sub(1).filter(|last| *last > 0) else {
        return Err(Ora::new(14285).at(pos));
    };
    let place = sharing(last);
    let bound = (PartitionBound::Hash, String::new());
    let new = made(work, table, of, None, &bound, place).map(|new| vec![named_as(new, &of.partitions[place])]);
    replace(work, table, of, &[place, last], new, upkeep, pos)
}

/// The position of the hash partition that has the rows of number `n` while there is no such partition.
fn sharing(n: usize) -> usize {
    n - (1 << n.ilog2())
}

fn named_as(new: NewPartition, p: &PartitionDef) -> NewPartition {
    NewPartition { name: Some(p.name.clone()), ..new }
}

/// MODIFY PARTITION … [REBUILD] UNUSABLE LOCAL INDEXES.
fn local_indexes(
    work: &mut Work<'_>,
    table: &TableDef,
    of: &Partitioning,
    named: &PartitionRef,
    rebuild: bool,
) -> Result<()> {
    let place = place_of(work, table, of, named)?;
    for index in table.indexes.iter().filter(|index| index.local.is_some()) {
        let Some(part) = index.local.as_ref().map(|local| local[place].clone()) else { continue };
        match rebuild {
            true if part.unusable => {
                let rows = of.heap_table(table.object, place);
                partition_index::refill(work, &rows, index, &part, part.segment.tablespace)?;
            }
            true => {}
            false => partition_rows::set_unusable(work, &part)?,
        }
    }
    Ok(())
}

/// ORA-14312 for a value that another partition has.
fn require_new_keys(of: &Partitioning, bound: &(PartitionBound, String), except: &[usize], pos: u32) -> Result<()> {
    let PartitionBound::Keys(keys) = &bound.0 else { return Ok(()) };
    let others = of.partitions.iter().enumerate().filter(|(place, _)| !except.contains(place));
    for (_, p) in others {
        if let PartitionBound::Keys(have) = &p.bound
            && keys.iter().any(|key| have.contains(key))
        {
            return Err(Ora::with(14312, &[&bound.1, &p.name]).at(pos));
        }
    }
    Ok(())
}

fn require_new_name(of: &Partitioning, name: Option<&str>, except: &[usize], error: u32, pos: u32) -> Result<()> {
    let taken = |(place, p): (usize, &PartitionDef)| !except.contains(&place) && Some(p.name.as_str()) == name;
    if of.partitions.iter().enumerate().any(taken) { Err(Ora::new(error).at(pos)) } else { Ok(()) }
}

fn drop_partitions(
    work: &mut Work<'_>,
    table: &mut TableDef,
    of: &Partitioning,
    named: &[PartitionRef],
    upkeep: PartitionUpkeep,
) -> Result<()> {
    let pos = named.first().map_or(0, |one| one.pos.0);
    if of.method == PartitionMethod::Hash {
        return Err(Ora::new(14255).at(pos));
    }
    let places = places_of(work, table, of, named)?;
    partition_interval::require_transition(of, &places, pos)?;
    if places.len() >= of.partitions.len() {
        return Err(Ora::new(14083).at(pos));
    }
    let mut had_rows = false;
    for place in &places {
        had_rows |= has_rows(work, &of.heap_table(table.object, *place))?;
    }
    if had_rows {
        require_unreferenced(table, pos)?;
    }
    for place in &places {
        remove(work, table, of, *place)?;
    }
    let kept = of.partitions.iter().enumerate().filter(|(place, _)| !places.contains(place));
    *table = with_partitions(table, of, kept.map(|(_, p)| p.clone()).collect());
    if had_rows { keep_global(work, table, upkeep) } else { Ok(()) }
}

fn truncate(
    work: &mut Work<'_>,
    table: &mut TableDef,
    of: &Partitioning,
    named: &[PartitionRef],
    upkeep: PartitionUpkeep,
) -> Result<()> {
    let places = places_of(work, table, of, named)?;
    require_unreferenced(table, named.first().map_or(0, |one| one.pos.0))?;
    let (mut partitions, mut had_rows) = (of.partitions.clone(), false);
    for place in places {
        let p = &mut partitions[place];
        had_rows |= has_rows(work, &of.heap_table(table.object, place))?;
        let segment = partition_rows::new_segment(work, p, p.segment.tablespace)?;
        partition_rows::moved(work, p, &segment)?;
        work.drop_segment_later(p.segment.header)?;
        p.segment = segment;
        for local in table.indexes.iter().filter_map(|index| index.local.clone()) {
            partition_rows::empty_tree(work, &local[place])?;
        }
    }
    *table = with_partitions(table, of, partitions);
    if had_rows { keep_global(work, table, upkeep) } else { Ok(()) }
}

fn rename(work: &mut Work<'_>, table: &mut TableDef, of: &Partitioning, from: &PartitionRef, to: &Ident) -> Result<()> {
    let place = place_of(work, table, of, from)?;
    if of.partitions[place].name == to.name {
        return Err(Ora::new(14081).at(to.pos.0));
    }
    require_new_name(of, Some(&to.name), &[], 14082, to.pos.0)?;
    let object = of.partitions[place].object;
    work.change().update_by(Base::Tabpart, by(tabpart::OBJ, object), &mut |row| {
        row[tabpart::NAME] = text(to.name.as_str());
    })?;
    work.update_object(object, &mut |row| row[obj::SUBNAME] = text(to.name.as_str()))?;
    let mut partitions = of.partitions.clone();
    partitions[place].name.clone_from(&to.name);
    *table = with_partitions(table, of, partitions);
    Ok(())
}

fn move_partition(
    work: &mut Work<'_>,
    table: &mut TableDef,
    of: &Partitioning,
    named: &PartitionRef,
    options: &SegmentOptions,
    upkeep: PartitionUpkeep,
) -> Result<()> {
    let place = place_of(work, table, of, named)?;
    if options.pctfree.is_some() || options.initrans.is_some() {
        return Err(Ora::unsupported().at(named.pos.0));
    }
    let mut partitions = of.partitions.clone();
    let p = &mut partitions[place];
    let tablespace = match &options.tablespace {
        Some(_) => work.tablespace(options.tablespace.as_ref(), table.owner_id)?,
        None => p.segment.tablespace,
    };
    let had_rows = has_rows(work, &heap_of(table, p))?;
    let segment = partition_rows::new_segment(work, p, tablespace)?;
    let old = p.clone();
    p.segment = segment;
    let to = heap_of(table, p);
    rows::distribute(work, &[heap_of(table, &old)], &mut |_| Ok(to))?;
    faults::point("ddl-rows-moved");
    partition_rows::moved(work, p, &segment)?;
    work.drop_segment_later(old.segment.header)?;
    for index in table.indexes.iter().filter(|index| index.local.is_some()) {
        let Some(part) = index.local.as_ref().map(|local| local[place].clone()) else { continue };
        if (upkeep.update_indexes || !had_rows) && !part.unusable {
            partition_index::refill(work, &to, index, &part, part.segment.tablespace)?;
        } else {
            partition_rows::set_unusable(work, &part)?;
        }
    }
    *table = with_partitions(table, of, partitions);
    if had_rows { keep_global(work, table, upkeep) } else { Ok(()) }
}

/// The bounds of the two partitions that SPLIT makes of one.
///
/// # Errors
/// ORA-14080, ORA-14255, ORA-14312, ORA-14313.
fn halves(
    work: &mut Work<'_>,
    table: &TableDef,
    of: &Partitioning,
    place: usize,
    at: &PartitionValues,
    pos: u32,
) -> Result<[(PartitionBound, String); 2]> {
    let p = &of.partitions[place];
    let key = KeyColumns { all: &table.columns, key: &of.columns };
    match (of.method, at) {
        (PartitionMethod::Range, PartitionValues::LessThan(values)) => {
            let first = key.less_than(work, values, pos)?;
            let below = place.checked_sub(1).map(|before| &of.partitions[before].bound);
            let (PartitionBound::Below(new), PartitionBound::Below(upper)) = (&first.0, &p.bound) else {
                return Err(Ora::new(14080).at(pos));
            };
            let too_low = matches!(below, Some(PartitionBound::Below(lower)) if new <= lower);
            if too_low || new >= upper {
                return Err(Ora::new(14080).at(pos));
            }
            Ok([first, (p.bound.clone(), p.high_value.clone())])
        }
        (PartitionMethod::List, PartitionValues::List(values)) => {
            let first = key.listed(work, values, pos)?;
            let PartitionBound::Keys(given) = &first.0 else { return Err(Ora::new(14319).at(pos)) };
            let PartitionBound::Keys(have) = &p.bound else {
                require_new_keys(of, &first, &[place], pos)?;
                return Ok([first, (PartitionBound::Default, "DEFAULT".into())]);
            };
            if given.iter().any(|key| !have.contains(key)) || given.len() == have.len() {
                return Err(Ora::with(14313, &[&first.1, &p.name]).at(pos));
            }
            let texts = crate::partition_bounds::texts_of(&p.high_value);
            let rest = || have.iter().zip(&texts).filter(|(key, _)| !given.contains(key));
            let keys = rest().map(|(key, _)| key.clone()).collect();
            let high = rest().map(|(_, text)| *text).collect::<Vec<_>>().join(", ");
            Ok([first, (PartitionBound::Keys(keys), high)])
        }
        (PartitionMethod::Hash, _) => Err(Ora::new(14255).at(pos)),
        _ => Err(Ora::unsupported().at(pos)),
    }
}

fn merge(
    work: &mut Work<'_>,
    table: &mut TableDef,
    of: &Partitioning,
    named: &[PartitionRef],
    into: Option<&PartitionSpec>,
    upkeep: PartitionUpkeep,
    pos: u32,
) -> Result<()> {
    if of.method == PartitionMethod::Hash {
        return Err(Ora::new(14255).at(pos));
    }
    let places = places_of(work, table, of, named)?;
    partition_interval::require_ranges(of, &places, pos)?;
    if places.len() < 2 || into.is_some_and(|spec| spec.values != PartitionValues::None) {
        return Err(Ora::unsupported().at(pos));
    }
    let last = *places.last().ok_or_else(|| Ora::internal("[no partitions]"))?;
    let bound = match of.method {
        PartitionMethod::Range => {
            if places.windows(2).any(|pair| pair[0] + 1 != pair[1]) {
                return Err(Ora::new(14274).at(pos));
            }
            (of.partitions[last].bound.clone(), of.partitions[last].high_value.clone())
        }
        _ => {
            let all: Vec<&PartitionDef> = places.iter().map(|place| &of.partitions[*place]).collect();
            let (mut keys, mut texts, mut default) = (Vec::new(), Vec::new(), false);
            for p in all {
                match &p.bound {
                    PartitionBound::Keys(have) => {
                        keys.extend(have.iter().cloned());
                        texts.push(p.high_value.as_str());
                    }
                    _ => default = true,
                }
            }
            match default {
                true => (PartitionBound::Default, "DEFAULT".into()),
                false => (PartitionBound::Keys(keys), texts.join(", ")),
            }
        }
    };
    let new = made(work, table, of, into, &bound, last);
    replace(work, table, of, &places, new.map(|new| vec![new]), upkeep, pos)
}

/// Replaces partitions by new ones, among which the rows are distributed.
fn replace(
    work: &mut Work<'_>,
    table: &mut TableDef,
    of: &Partitioning,
    places: &[usize],
    new: Result<Vec<NewPartition>>,
    upkeep: PartitionUpkeep,
    pos: u32,
) -> Result<()> {
    let new = new?;
    if let [first, second] = &new[..]
        && first.name.is_some()
        && first.name == second.name
    {
        return Err(Ora::new(14011).at(pos));
    }
    for one in &new {
        require_new_name(of, one.name.as_deref(), places, 14012, pos)?;
    }
    let new = new.into_iter().map(|new| partition_rows::make(work, new)).collect::<Result<Vec<_>>>()?;
    let mut all: Vec<PartitionDef> = Vec::new();
    // A hash partition keeps its number, and a further one comes last.
    let hash = of.method == PartitionMethod::Hash;
    let (here, last) = new.split_at(if hash { 1 } else { new.len() });
    let at = if hash { places.first() } else { places.last() };
    for (place, p) in of.partitions.iter().enumerate() {
        if Some(&place) == at {
            all.extend(here.iter().cloned());
        } else if !places.contains(&place) {
            all.push(p.clone());
        }
    }
    all.extend(last.iter().cloned());
    let changed = with_partitions(table, of, all);
    let to = changed.partitioning().ok_or_else(|| Ora::internal("[no partitions]"))?.clone();
    let from: Vec<HeapTable> = places.iter().map(|place| of.heap_table(table.object, *place)).collect();
    let (mut key, mut had_rows) = (Vec::new(), false);
    rows::distribute(work, &from, &mut |row| {
        had_rows = true;
        let heap = to.heap_table(table.object, to.place_of_row(row, &mut key)?);
        // An EXCHANGE without validation may have left rows here that belong elsewhere.
        let is_new = new.iter().any(|p| p.segment.data_object == heap.data_object);
        if is_new { Ok(heap) } else { Err(Ora::new(14099).at(pos)) }
    })?;
    faults::point("ddl-rows-moved");
    for place in places {
        remove(work, table, of, *place)?;
    }
    for p in &new {
        partition_rows::enter(work, table, 0, p)?;
        add_local(work, table, p, Some(upkeep.update_indexes || !had_rows))?;
    }
    for (place, p) in to.partitions.iter().enumerate() {
        let number = int(place as i64);
        work.change().update_by(Base::Tabpart, by(tabpart::OBJ, p.object), &mut |row| {
            row[tabpart::PART] = number.clone();
        })?;
    }
    *table = changed;
    if had_rows { keep_global(work, table, upkeep) } else { Ok(()) }
}
