//! The plan as rows, for `v$sql_plan`, PLAN_TABLE and DBMS_XPLAN.
//!
//! A row is an operation of the tree, numbered as printed (P26). Rows pass through the library cache as bytes, whose
//! format the library cache does not know. A predicate is omitted if it reads a value without a name, such as a column
//! of a fixed table.

use crate::ir::*;
use crate::physical::figures::costs;
use crate::physical::produced;
use crate::predicate::{Names, TEXT_MAX};
use crate::registers::ByWord;
use std::fmt::Write as _;
use types::{DataType, Value};

/// Processor cycles of the cost unit: processing a row of a scan, [`crate::physical::cost::PER_ROW`] of the unit, takes
/// about a hundred cycles.
const CYCLES: f64 = 50_000.0;
/// Seconds of the cost unit, as in Oracle since 11.2.0.2.
const SECONDS: f64 = 0.000_04;

/// One operation of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanRow {
    pub id: u32,
    /// The operation that reads its rows; `None` for the statement.
    pub parent: Option<u32>,
    pub depth: u32,
    /// Position among the operations of its parent, from 1.
    pub position: u32,
    pub operation: String,
    pub options: String,
    pub owner: String,
    pub object: String,
    pub object_type: String,
    /// The alias of a table and its query block: `"E"@"SEL$1"`.
    pub alias: String,
    /// The query block, for tables and for the topmost operation of a block.
    pub query_block: String,
    /// Estimated rows of one start, if known.
    pub cardinality: Option<u64>,
    /// Estimated bytes of these rows.
    pub bytes: Option<u64>,
    /// Cost in single-block reads, rounded up, and the part that is reads.
    pub cost: Option<u64>,
    pub io_cost: Option<u64>,
    /// Estimated processor cycles.
    pub cpu_cost: Option<u64>,
    /// Seconds, rounded up.
    pub time: Option<u64>,
    pub access: String,
    pub filter: String,
    /// The values that it returns to its parent.
    pub projection: String,
    /// OBJECT_NODE, OTHER_TAG and DISTRIBUTION of a parallel operation.
    pub node: String,
    pub tag: String,
    pub distribution: String,
    /// PARTITION_START and PARTITION_STOP.
    pub partitions: [String; 2],
    /// OTHER_XML of the first operation below the statement: notes on the plan's origin.
    pub other: String,
}

/// A plan's notes and outline as OTHER_XML; empty without any.
fn other_xml(notes: &[Note], outline: &[String]) -> String {
    let info = |note: &Note| match note {
        Note::DynamicSampling(level) => format!("<info type=\"dynamic_sampling\" note=\"y\">{level}</info>"),
        Note::StatisticsFeedback => "<info type=\"cardinality_feedback\" note=\"y\">yes</info>".to_owned(),
        Note::Degree(degree, because) => {
            format!(
                "<info type=\"dop\" note=\"y\">{degree}</info><info type=\"dop_reason\" note=\"y\">{because}</info>"
            )
        }
    };
    let notes: Vec<String> = notes.iter().map(info).collect();
    let of_notes: usize = notes.iter().map(String::len).sum();
    let of_hints: usize = outline.iter().map(|hint| BEFORE_HINT.len() + hint.len() + BEHIND_HINT.len()).sum();
    // If the column is too small for the outline, it is omitted: part of an outline would describe another plan.
    let has_outline = of_hints > 0 && of_notes + of_hints < TEXT_MAX - 100;
    if of_notes == 0 && !has_outline {
        return String::new();
    }
    let mut all = String::with_capacity(of_notes + of_hints + 100);
    all.push_str("<other_xml>");
    notes.iter().for_each(|note| all.push_str(note));
    if has_outline {
        all.push_str("<outline_data>");
        for hint in outline {
            [BEFORE_HINT, hint, BEHIND_HINT].into_iter().for_each(|part| all.push_str(part));
        }
        all.push_str("</outline_data>");
    }
    all.push_str("</other_xml>");
    all
}

/// The text around a hint of an outline.
const BEFORE_HINT: &str = "<hint><![CDATA[";
const BEHIND_HINT: &str = "]]></hint>";

/// The notes in OTHER_XML.
pub fn notes_of(other: &str) -> Vec<Note> {
    let level = || {
        let (_, rest) = other.split_once("<info type=\"dynamic_sampling\" note=\"y\">")?;
        rest.split_once('<')?.0.parse().ok().map(Note::DynamicSampling)
    };
    let feedback = other.contains("<info type=\"cardinality_feedback\"").then_some(Note::StatisticsFeedback);
    let text = |name: &str| {
        let (_, rest) = other.split_once(&format!("<info type=\"{name}\" note=\"y\">"))?;
        Some(rest.split_once('<')?.0)
    };
    let degree = || Some(Note::Degree(text("dop")?.parse().ok()?, text("dop_reason")?.parse().ok()?));
    level().into_iter().chain(feedback).chain(degree()).collect()
}

/// The hints of the outline in OTHER_XML.
pub fn outline_of(other: &str) -> Vec<String> {
    let hints = other.split(BEFORE_HINT).skip(1);
    hints.filter_map(|rest| Some(rest.split_once("]]>")?.0.to_owned())).collect()
}

/// Adds the bind values that a plan was made with to OTHER_XML, as Oracle does.
pub fn note_peeked(rows: &mut [PlanRow], names: &[String], values: &[Value]) {
    let Some(first) = rows.get_mut(1) else { return };
    let mut binds = String::new();
    for (at, (name, value)) in names.iter().zip(values).enumerate() {
        let Some((number, length)) = described(value) else { continue };
        let head = format!("<bind nam=\":{name}\" pos=\"{}\" dty=\"{number}\" mxl=\"{length}\"", at + 1);
        let mut stored = Vec::new();
        types::codec::encode(value, &mut stored);
        // A name may be any quoted word.
        if stored.len() > PEEKED_BYTES_MAX || name.contains(['"', '<', '>', '&']) {
            continue;
        }
        let hex: String = stored.iter().map(|byte| format!("{byte:02x}")).collect();
        binds.push_str(&if value.is_null() { format!("{head}/>") } else { format!("{head}>{hex}</bind>") });
    }
    let inner = first.other.strip_prefix("<other_xml>").and_then(|rest| rest.strip_suffix("</other_xml>"));
    let inner = inner.unwrap_or_default();
    if !binds.is_empty() && inner.len() + binds.len() < TEXT_MAX - 100 {
        first.other = format!("<other_xml><peeked_binds>{binds}</peeked_binds>{inner}</other_xml>");
    }
}

/// Longest bind value that is recorded.
const PEEKED_BYTES_MAX: usize = 200;

/// Oracle's number of a value's type, and the greatest length of its kind; `None` for types that are not recorded.
fn described(value: &Value) -> Option<(u32, usize)> {
    Some(match value {
        Value::Null => (1, 32),
        Value::Text(text) => (1, [32, 128, 2000].into_iter().find(|most| text.len() <= *most).unwrap_or(4000)),
        Value::Number(_) => (2, 22),
        Value::Date(_) => (12, 7),
        Value::Raw(bytes) => (23, bytes.len().max(1)),
        // not a clause: other types are not printed either
        _ => return None,
    })
}

/// A bind value in OTHER_XML: position, name, type number, length and stored bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct PeekedBind {
    pub position: u32,
    pub name: String,
    pub type_number: u32,
    pub length: u32,
    /// `None` for NULL.
    pub stored: Option<Vec<u8>>,
}

/// The bind values in OTHER_XML.
pub fn peeked_of(other: &str) -> Vec<PeekedBind> {
    let bind = |text: &str| {
        let attribute = |name: &str| {
            let (_, rest) = text.split_once(&format!("{name}=\""))?;
            Some(rest.split_once('"')?.0)
        };
        let (head, rest) = text.split_once('>')?;
        let hex = if head.ends_with('/') { None } else { Some(rest.split_once('<')?.0) };
        let byte = |at: usize| hex?.get(2 * at..2 * at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
        Some(PeekedBind {
            position: attribute("pos")?.parse().ok()?,
            name: attribute("nam")?.to_owned(),
            type_number: attribute("dty")?.parse().ok()?,
            length: attribute("mxl")?.parse().ok()?,
            stored: match hex {
                Some(hex) => Some((0..hex.len() / 2).map(byte).collect::<Option<Vec<u8>>>()?),
                None => None,
            },
        })
    };
    other.split("<bind ").skip(1).filter_map(bind).collect()
}

/// Separator of fields.
const FIELD: char = '\x1f';
/// Separator of rows.
const ROW: char = '\x1e';

impl Plan {
    /// The operations, beginning with the statement.
    pub fn rows(&self) -> Vec<PlanRow> {
        self.tree().rows
    }

    /// The operation of each row source, numbered as in [`Plan::rows`].
    pub fn lines(&self) -> Lines {
        let tree = self.tree();
        Lines { of: tree.lines, over: tree.over, above: tree.above, count: tree.rows.len() }
    }

    fn tree(&self) -> Tree {
        let (what, change, source) = match &self.body {
            PlanBody::Query(q) => ("SELECT STATEMENT", None, Some(&q.source)),
            PlanBody::Insert(i) => match &i.source {
                InsertSource::Query(q) => {
                    ("INSERT STATEMENT", Some(("LOAD TABLE CONVENTIONAL", &i.target)), Some(&q.source))
                }
                InsertSource::Values(_) => ("INSERT STATEMENT", Some(("LOAD TABLE CONVENTIONAL", &i.target)), None),
            },
            PlanBody::InsertAll(i) => ("INSERT STATEMENT", None, Some(&i.query.source)),
            PlanBody::Update(u) => ("UPDATE STATEMENT", Some(("UPDATE", &u.target)), Some(&u.source)),
            PlanBody::Delete(d) => ("DELETE STATEMENT", Some(("DELETE", &d.target)), Some(&d.source)),
            PlanBody::Merge(m) => ("MERGE STATEMENT", Some(("MERGE", &m.target)), Some(&m.source)),
            PlanBody::Instead(i) => match i.firing.event {
                TriggerEvent::Insert => ("INSERT STATEMENT", None, i.query.as_ref().map(|q| &q.source)),
                TriggerEvent::Update => ("UPDATE STATEMENT", None, i.query.as_ref().map(|q| &q.source)),
                TriggerEvent::Delete => ("DELETE STATEMENT", None, i.query.as_ref().map(|q| &q.source)),
            },
        };
        let mut tree = Tree::of(self);
        let root = tree.add(None, what, "");
        let mut at = root;
        if let Some((operation, target)) = change {
            at = tree.add(Some(at), operation, "");
            tree.object(at, &target.table);
            tree.row(at).query_block = self.query_block(self.change_block).to_owned();
        } else if let PlanBody::InsertAll(_) = &self.body {
            at = tree.add(Some(at), "MULTI-TABLE INSERT", "");
        }
        if self.result_cache && self.cacheable.is_some() {
            at = tree.add(Some(at), "RESULT CACHE", "");
        }
        tree.above = tree.rows.len();
        if let Some(source) = source {
            let first = tree.rows.len() as u32;
            tree.source(at, source);
            tree.begins(first, source);
        }
        // A subquery that was unnested has no operations of its own.
        for sub in self.subs.iter().filter(|sub| !matches!(sub.source, Source::Empty)) {
            let first = tree.rows.len() as u32;
            tree.source(root, &sub.source);
            tree.begins(first, &sub.source);
        }
        // A pump has no rows of its own and no operation.
        for cte in self.ctes.iter().filter(|cte| !cte.out.is_empty()) {
            let at = tree.add(Some(root), "LOAD AS SELECT", "");
            tree.over.insert(at + 1, (1, true));
            tree.source(at, &cte.source);
        }
        if let Some(source) = source {
            // A statement has the figures of its topmost row source.
            let figures = tree.figures_of(source);
            tree.row(root).set_figures(&figures);
        }
        if let Some(first) = tree.rows.get_mut(1) {
            first.other = other_xml(&self.notes, &self.outline());
        }
        tree
    }
}

/// PLAN_HASH_VALUE: equal for plans with the same operations on the same objects.
pub fn hash(rows: &[PlanRow]) -> u32 {
    let mut hash = 0x811c_9dc5u32;
    for row in rows {
        for text in [&row.operation, &row.options, &row.object] {
            for byte in text.bytes().chain([0]) {
                hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
            }
        }
        hash = (hash ^ row.depth).wrapping_mul(0x0100_0193);
    }
    hash
}

/// The rows as bytes, at most `most` of them if possible: too long rows lose their projections, then their predicates
/// and the outline.
pub fn encode_within(rows: &[PlanRow], most: usize) -> Vec<u8> {
    let bytes = encode(rows);
    if bytes.len() <= most {
        return bytes;
    }
    let mut rows = rows.to_vec();
    rows.iter_mut().for_each(|row| row.projection.clear());
    let bytes = encode(&rows);
    if bytes.len() <= most {
        return bytes;
    }
    for row in &mut rows {
        row.access.clear();
        row.filter.clear();
        row.other = other_xml(&notes_of(&row.other), &[]);
    }
    encode(&rows)
}

/// The rows as bytes.
pub fn encode(rows: &[PlanRow]) -> Vec<u8> {
    let texts = |row: &PlanRow| row.other.len() + row.access.len() + row.filter.len() + row.projection.len() + 256;
    let mut out = Vec::with_capacity(rows.iter().map(texts).sum());
    for (at, row) in rows.iter().enumerate() {
        if at > 0 {
            push(ROW, &mut out);
        }
        encode_row(row, &mut out);
    }
    out
}

fn encode_row(row: &PlanRow, out: &mut Vec<u8>) {
    let number = |n: Option<u64>, out: &mut Vec<u8>| {
        if let Some(n) = n {
            push_number(n, out);
        }
        push(FIELD, out);
    };
    number(Some(row.id.into()), out);
    number(row.parent.map(u64::from), out);
    number(Some(row.depth.into()), out);
    number(Some(row.position.into()), out);
    let texts = [&row.operation, &row.options, &row.owner, &row.object, &row.object_type, &row.alias, &row.query_block];
    for text in texts {
        push_clean(text, out);
        push(FIELD, out);
    }
    for n in [row.cardinality, row.bytes, row.cost, row.io_cost, row.cpu_cost, row.time] {
        number(n, out);
    }
    let texts = [&row.access, &row.filter, &row.projection, &row.other, &row.node, &row.tag, &row.distribution];
    for (at, text) in texts.into_iter().chain(&row.partitions).enumerate() {
        if at > 0 {
            push(FIELD, out);
        }
        push_clean(text, out);
    }
}

/// Appends a number in decimal digits.
fn push_number(mut n: u64, out: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let mut from = digits.len();
    loop {
        from -= 1;
        digits[from] = b'0' + (n % 10) as u8;
        n /= 10;
        if n == 0 {
            return out.extend_from_slice(&digits[from..]);
        }
    }
}

/// Appends a text, with blanks in the place of separators.
fn push_clean(text: &str, out: &mut Vec<u8>) {
    let begin = out.len();
    out.extend_from_slice(text.as_bytes());
    for byte in &mut out[begin..] {
        if *byte == FIELD as u8 || *byte == ROW as u8 {
            *byte = b' ';
        }
    }
}

fn push(separator: char, out: &mut Vec<u8>) {
    out.push(separator as u8);
}

/// The rows encoded by [`encode`]; unreadable ones are skipped.
pub fn decode(bytes: &[u8]) -> Vec<PlanRow> {
    let text = String::from_utf8_lossy(bytes);
    let row = |row: &str| {
        let mut fields = row.split(FIELD);
        let mut next = || fields.next().map(str::to_string);
        Some(PlanRow {
            id: next()?.parse().ok()?,
            parent: next()?.parse().ok(),
            depth: next()?.parse().ok()?,
            position: next()?.parse().ok()?,
            operation: next()?,
            options: next()?,
            owner: next()?,
            object: next()?,
            object_type: next()?,
            alias: next()?,
            query_block: next()?,
            cardinality: next()?.parse().ok(),
            bytes: next()?.parse().ok(),
            cost: next()?.parse().ok(),
            io_cost: next()?.parse().ok(),
            cpu_cost: next()?.parse().ok(),
            time: next()?.parse().ok(),
            access: next()?,
            filter: next()?,
            projection: next()?,
            other: next()?,
            node: next()?,
            tag: next()?,
            distribution: next()?,
            partitions: [next()?, next()?],
        })
    };
    text.split(ROW).filter_map(row).collect()
}

/// The operations of row sources by address; valid while the plan is neither moved nor changed.
#[derive(Debug, Default)]
pub struct Lines {
    of: ByWord<*const Source, u32>,
    over: ByWord<u32, (u32, bool)>,
    above: usize,
    count: usize,
}

impl Lines {
    /// The operation of a row source. The entries of an index that leads to a table are the next operation.
    pub fn of(&self, source: &Source) -> Option<u32> {
        self.of.get(&std::ptr::from_ref(source)).copied()
    }

    /// The number of operations directly above that only pass rows on, and whether the topmost of them keeps the rows.
    pub fn over(&self, line: u32) -> (u32, bool) {
        let (mut count, mut loads) = (0, false);
        while let Some((more, keeps)) = self.over.get(&(line - count)) {
            count += more;
            loads |= keeps;
        }
        (count, loads)
    }

    /// The number of operations above the topmost row source: the statement and its handling of the rows.
    pub fn above(&self) -> usize {
        self.above
    }

    /// The number of operations.
    pub fn count(&self) -> usize {
        self.count
    }
}

/// The printed estimates of an operation.
#[derive(Clone, Copy, Default)]
struct Figures {
    rows: Option<f64>,
    bytes: Option<f64>,
    cost: Option<Cost>,
}

impl PlanRow {
    fn set_figures(&mut self, figures: &Figures) {
        // At least one row is printed.
        let whole = |n: f64| n.max(1.0).round() as u64;
        self.cardinality = figures.rows.map(whole);
        self.bytes = figures.bytes.map(whole);
        let Some(cost) = figures.cost.filter(|cost| cost.total.is_finite()) else { return };
        let (total, io) = (cost.total.ceil() as u64, cost.io.ceil() as u64);
        (self.cost, self.io_cost) = (Some(total), Some(io.min(total)));
        self.cpu_cost = Some(((cost.total - cost.io).max(0.0) * CYCLES).round() as u64);
        self.time = (total > 0).then(|| (cost.total * SECONDS).ceil() as u64);
    }
}

/// The rows under construction.
struct Tree {
    rows: Vec<PlanRow>,
    names: Names,
    registers: ByWord<Reg, (DataType, f64)>,
    costs: ByWord<*const Source, Cost>,
    lines: ByWord<*const Source, u32>,
    /// By operation, those directly above it that are not row sources: see [`Lines::over`].
    over: ByWord<u32, (u32, bool)>,
    above: usize,
    /// WITH queries without rows of their own.
    pumps: Vec<usize>,
    query_blocks: Vec<String>,
}

impl Tree {
    fn of(plan: &Plan) -> Tree {
        let mut tree = Tree {
            // A row is large, and a growing list copies its rows.
            rows: Vec::with_capacity(8),
            names: Names::of(plan),
            registers: ByWord::default(),
            costs: ByWord::default(),
            lines: ByWord::default(),
            over: ByWord::default(),
            above: 0,
            pumps: (0..plan.ctes.len()).filter(|id| plan.ctes[*id].out.is_empty()).collect(),
            query_blocks: plan.query_blocks.clone(),
        };
        let below = plan.ctes.iter().map(|cte| &cte.source).chain(plan.subs.iter().map(|sub| &sub.source));
        for source in below.chain(plan.body.source()) {
            costs(source, &mut |source, cost| {
                tree.costs.insert(source, cost);
                learn(source, &mut tree.registers);
            });
        }
        tree
    }

    /// The name of a query block.
    fn block(&self, block: u32) -> &str {
        (block as usize).checked_sub(1).and_then(|at| self.query_blocks.get(at)).map_or("", String::as_str)
    }

    /// Records the block that begins with an operation: that of the first table below which is not inside a view.
    fn begins(&mut self, at: u32, source: &Source) {
        if let Some(block) = first_block(source)
            && let Some(row) = self.rows.get(at as usize)
            && row.query_block.is_empty()
        {
            self.rows[at as usize].query_block = self.block(block).to_owned();
        }
    }

    /// The estimates of a row source.
    fn figures_of(&self, source: &Source) -> Figures {
        self.figures_with(source, &produced(source))
    }

    /// As [`Tree::figures_of`], for known output registers.
    fn figures_with(&self, source: &Source, produced: &[Reg]) -> Figures {
        let rows = source.rows();
        let width: f64 = produced.iter().filter_map(|reg| Some(self.registers.get(reg)?.1)).sum();
        let bytes = rows.filter(|_| width > 0.0).map(|rows| rows.max(1.0).round() * width);
        Figures { rows, bytes, cost: self.costs.get(&std::ptr::from_ref(source)).copied() }
    }

    /// Records that a row source is the operation `at`, with its estimates and its projection.
    fn is(&mut self, source: &Source, at: u32) {
        let produced = produced(source);
        let figures = self.figures_with(source, &produced);
        let projection = self.projection(source, &produced);
        self.lines.insert(source, at);
        let row = self.row(at);
        row.set_figures(&figures);
        row.projection = projection;
    }

    /// The projection of a row source with these registers, with types.
    fn projection(&self, source: &Source, produced: &[Reg]) -> String {
        let aggregates = match source {
            Source::Group { aggs, .. } => &aggs[..],
            _ => &[],
        };
        let keys = match source {
            Source::Sort { keys, .. } => keys.len(),
            Source::HashJoin { keys, .. } | Source::MergeJoin { keys, .. } => keys.len(),
            Source::Group { keys, .. } => keys.len(),
            Source::Distinct { regs, .. } => regs.len(),
            _ => 0,
        };
        let has_keys = keys > 0 || !aggregates.is_empty();
        let mut text = String::with_capacity(32 * produced.len());
        if has_keys {
            write!(text, "(#keys={keys}) ").expect("writing to a String does not fail");
        }
        let start = text.len();
        for reg in produced {
            let (Some(name), Some((ty, _))) = (self.names.reg(*reg), self.registers.get(reg)) else { continue };
            let separator = if text.len() > start { ", " } else { "" };
            [separator, name, "["].into_iter().for_each(|part| text.push_str(part));
            // Aggregates are printed without a type.
            match aggregates.iter().any(|agg| agg.out == *reg) {
                true => text.push_str("22"),
                false => push_type(ty, &mut text),
            }
            text.push(']');
        }
        let end = (0..=TEXT_MAX.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(end);
        text.truncate(text.trim_end().len());
        text
    }

    fn add(&mut self, parent: Option<u32>, operation: &str, options: &str) -> u32 {
        let id = self.rows.len() as u32;
        let depth = parent.map_or(0, |parent| self.rows[parent as usize].depth + 1);
        let position = self.rows.iter().filter(|row| row.parent == parent && row.id > 0).count() as u32 + 1;
        let (operation, options) = (operation.to_string(), options.to_string());
        self.rows.push(PlanRow { id, parent, depth, position, operation, options, ..PlanRow::default() });
        id
    }

    fn row(&mut self, at: u32) -> &mut PlanRow {
        &mut self.rows[at as usize]
    }

    fn object(&mut self, at: u32, table: &dictionary::TableDef) {
        let row = self.row(at);
        (row.owner, row.object) = (table.owner.clone(), table.name.clone());
        row.object_type = "TABLE".into();
    }

    fn filter(&mut self, at: u32, conds: &[Expr]) {
        let text = self.names.all(conds);
        self.row(at).filter = text;
    }

    /// Adds the rows of a row source under `parent`.
    fn source(&mut self, parent: u32, source: &Source) {
        // A row source without an operation of its own is part of the one below.
        if let Some(at) = self.operation(parent, source) {
            self.is(source, at);
        }
    }

    fn operation(&mut self, parent: u32, source: &Source) -> Option<u32> {
        let over = |tree: &mut Tree, operation: &str, options: &str, inputs: &[&Source]| {
            let at = tree.add(Some(parent), operation, options);
            inputs.iter().for_each(|input| tree.source(at, input));
            at
        };
        Some(match source {
            Source::Dual => over(self, "FAST DUAL", "", &[]),
            Source::Empty => {
                let at = over(self, "FILTER", "", &[]);
                self.row(at).filter = "NULL IS NOT NULL".into();
                at
            }
            Source::Scan(scan) if scan.granules => {
                let above = self.add(Some(parent), "PX BLOCK ITERATOR", "");
                let figures = self.figures_of(source);
                self.row(above).set_figures(&figures);
                self.over.insert(above + 1, (1, false));
                self.scan(above, scan)
            }
            Source::Scan(scan) => self.scan(parent, scan),
            Source::Fixed { name, alias, filter, .. } => {
                let at = over(self, "FIXED TABLE", "FULL", &[]);
                self.filter(at, filter);
                let row = self.row(at);
                (row.owner, row.object, row.alias) = ("SYS".into(), name.clone(), alias.clone());
                row.object_type = "TABLE (FIXED)".into();
                at
            }
            Source::Filter { input, conds, .. } | Source::Startup { input, conds, .. } => {
                let at = over(self, "FILTER", "", &[input]);
                self.filter(at, conds);
                at
            }
            Source::Project { input, view, .. } => match view {
                Some(view) => {
                    let at = over(self, "VIEW", "", &[input]);
                    self.row(at).object = view.clone();
                    self.begins(at, input);
                    at
                }
                None => {
                    self.source(parent, input);
                    return None;
                }
            },
            Source::NestedLoops { left, right, kind, .. } => over(self, "NESTED LOOPS", of_kind(*kind), &[left, right]),
            Source::HashJoin { left, right, kind, build, keys, residual, filters, .. } => {
                let at = self.add(Some(parent), "HASH JOIN", &hash_options(*kind, *build, keys));
                self.row(at).access = self.names.equalities(keys);
                self.filter(at, residual);
                let (built, probing) = built_first(left, right, *build);
                let mut above = at;
                let figures = self.figures_of(built);
                for filter in filters {
                    above = self.add(Some(above), "JOIN FILTER", "CREATE");
                    self.row(above).object = filter_name(filter.id);
                    self.row(above).set_figures(&figures);
                }
                if !filters.is_empty() {
                    self.over.insert(above + 1, (filters.len() as u32, false));
                }
                self.source(above, built);
                self.source(at, probing);
                at
            }
            Source::MergeJoin { left, right, kind, keys, ranges, residual, .. } => {
                let cartesian = keys.is_empty() && ranges.is_empty() && *kind == JoinKind::Inner;
                let options = if cartesian { "CARTESIAN" } else { of_kind(*kind) };
                let at = self.add(Some(parent), "MERGE JOIN", options);
                for side in [left, right] {
                    let first = self.rows.len();
                    self.source(at, side);
                    if matches!(**side, Source::Sort { .. }) {
                        self.rows[first].options = "JOIN".into();
                    }
                }
                let mut access = self.names.equalities(keys);
                let text_of = |r: &MergeRange| self.names.comparison(r.op, &r.left, &r.right);
                for text in ranges.iter().filter_map(text_of) {
                    let and = if access.is_empty() { "" } else { " AND " };
                    access.push_str(&format!("{and}{text}"));
                }
                self.filter(at, residual);
                self.row(at).access = access;
                at
            }
            Source::JoinFilter { input, id, keys, .. } => {
                let at = over(self, "JOIN FILTER", "USE", &[input]);
                let names: Vec<String> = keys.iter().filter_map(|key| self.names.text(&key.value)).collect();
                let name = filter_name(*id);
                let row = self.row(at);
                row.filter = format!("SYS_OP_BLOOM_FILTER({name},{})", names.join(","));
                row.object = name;
                at
            }
            Source::Parallel { input, id, .. } => {
                let at = self.add(Some(parent), "PX COORDINATOR", "");
                let send = self.add(Some(at), "PX SEND", "QC (RANDOM)");
                let figures = self.figures_of(input);
                let queue = format!(":TQ{}0000", id + 1);
                let row = self.row(send);
                row.set_figures(&figures);
                row.object = queue.clone();
                row.distribution = "QC (RANDOM)".into();
                let first = self.rows.len();
                self.over.insert(first as u32, (1, false));
                self.source(send, input);
                let node = queue.replace("TQ", "Q").replacen("0000", "000", 1);
                for row in &mut self.rows[send as usize..] {
                    row.node.clone_from(&node);
                    row.tag = "PARALLEL_COMBINED_WITH_PARENT".into();
                }
                for row in &mut self.rows[first..] {
                    if row.operation == "PX BLOCK ITERATOR" {
                        row.tag = "PARALLEL_COMBINED_WITH_CHILD".into();
                    }
                }
                self.row(send).tag = "PARALLEL_TO_SERIAL".into();
                at
            }
            Source::Buffer { input, .. } => over(self, "BUFFER", "SORT", &[input]),
            Source::Cte { id, .. } if self.pumps.contains(id) => over(self, "RECURSIVE WITH PUMP", "", &[]),
            Source::Cte { name, .. } => {
                let at = over(self, "TABLE ACCESS", "FULL", &[]);
                self.row(at).object = name.clone();
                at
            }
            Source::Count { input, stop, conds, .. } => {
                let at = over(self, "COUNT", if stop.is_some() { "STOPKEY" } else { "" }, &[input]);
                self.filter(at, conds);
                at
            }
            Source::Sort { input, top, .. } => {
                over(self, "SORT", if top.is_some() { "ORDER BY STOPKEY" } else { "ORDER BY" }, &[input])
            }
            Source::Distinct { input, .. } => over(self, "HASH", "UNIQUE", &[input]),
            Source::Group { input, sets, scalar, .. } => {
                let (operation, options) = match (scalar, sets.len()) {
                    (true, _) => ("SORT", "AGGREGATE"),
                    (_, 0 | 1) => ("HASH", "GROUP BY"),
                    _ => ("SORT", "GROUP BY ROLLUP"),
                };
                over(self, operation, options, &[input])
            }
            Source::Window { input, .. } => over(self, "WINDOW", "SORT", &[input]),
            Source::Set { kind, inputs, recursion, .. } => {
                let name = match kind {
                    SetKind::UnionAll => "UNION-ALL",
                    SetKind::Union => "UNION",
                    SetKind::Intersect => "INTERSECTION",
                    SetKind::Minus => "MINUS",
                    SetKind::Recursive => "UNION ALL (RECURSIVE WITH)",
                };
                let is_depth_first = |r: &Recursion| r.search.as_ref().is_some_and(|search| search.depth_first);
                let order = match recursion.as_deref() {
                    Some(recursion) if is_depth_first(recursion) => "DEPTH FIRST",
                    Some(_) => "BREADTH FIRST",
                    None => "",
                };
                let inputs: Vec<_> = inputs.iter().map(|(source, _)| source).collect();
                over(self, name, order, &inputs)
            }
            Source::ConnectBy(c) => self.connect_by(parent, c),
            Source::Limit { input, .. } => over(self, "VIEW", "", &[input]),
            Source::ForUpdate { input, .. } => over(self, "FOR UPDATE", "", &[input]),
            Source::Elements { shape: ElementShape::Json(_), .. } => over(self, "JSONTABLE EVALUATION", "", &[]),
            Source::Elements { shape: ElementShape::Xml(_), .. } => over(self, "XPATH EVALUATION", "", &[]),
            Source::Elements { .. } => over(self, "COLLECTION ITERATOR", "PICKLER FETCH", &[]),
        })
    }

    fn connect_by(&mut self, parent: u32, c: &ConnectBy) -> u32 {
        let children = c.memory.as_ref().map(|memory| &memory.children);
        let (how, from) = match children {
            None => ("WITHOUT FILTERING", None),
            Some(ConnectChildren::Probe(source)) => ("WITH FILTERING", Some(source)),
            Some(ConnectChildren::Rows { base, all_roots: true, .. }) => ("WITHOUT FILTERING", Some(base)),
            Some(ConnectChildren::Rows { base, .. }) => ("NO FILTERING WITH START-WITH", Some(base)),
        };
        let at = self.add(Some(parent), "CONNECT BY", how);
        if !matches!(children, Some(ConnectChildren::Rows { all_roots: true, .. })) {
            self.source(at, &c.start);
        }
        if let Some(source) = from {
            self.source(at, source);
        }
        at
    }

    fn scan(&mut self, parent: u32, scan: &Scan) -> u32 {
        let (block, origin) = (self.block(scan.block).to_owned(), self.block(scan.origin));
        let alias = match origin {
            "" => scan.alias.clone(),
            origin => ["\"", &scan.alias, "\"@\"", origin, "\""].concat(),
        };
        let mut read = <[String; 2]>::default();
        let parent = match &scan.prune {
            // A global index leads to the partitions of its rows.
            Some(prune) if scan.reads_partitions() => {
                let at = self.partitions(parent, scan, prune);
                read.clone_from(&self.row(at).partitions);
                at
            }
            Some(_) => {
                read = ["ROWID".into(), "ROWID".into()];
                parent
            }
            None => parent,
        };
        let itself = |index: &dictionary::IndexDef| index.kind == dictionary::IndexKind::IotTop;
        let by_index = |index: &dictionary::IndexDef| match (&scan.prune, &index.local) {
            (None, _) => "BY INDEX ROWID",
            (Some(_), Some(_)) => "BY LOCAL INDEX ROWID",
            (Some(_), None) => "BY GLOBAL INDEX ROWID",
        };
        let of_table = |tree: &mut Tree, options: &str| {
            let at = tree.add(Some(parent), "TABLE ACCESS", options);
            tree.object(at, &scan.table);
            at
        };
        let (at, access) = match &scan.access {
            Access::Full if scan.table.options.index_organized => {
                let at = self.add(Some(parent), "INDEX", "FULL SCAN");
                if let Some(index) = scan.table.row_index() {
                    self.index(at, index);
                }
                (at, None)
            }
            Access::Full => (of_table(self, "FULL"), None),
            Access::Rowid(e) => {
                let at = of_table(self, "BY USER ROWID");
                let access = self.names.text(e).map_or(String::new(), |text| format!("ROWID={text}"));
                (at, Some((at, access)))
            }
            Access::ClusterHash { keys } => {
                let at = of_table(self, "HASH");
                let key = |key: &Key| self.names.text(&key.value);
                let access = keys.iter().filter_map(key).collect::<Vec<_>>().join(", ");
                (at, Some((at, access)))
            }
            Access::IndexUnique { index, keys, index_only, .. } => {
                let at = if itself(index) || *index_only { parent } else { of_table(self, by_index(index)) };
                let below = self.add(Some(at), "INDEX", "UNIQUE SCAN");
                self.index(below, index);
                let keys: Vec<KeyPart> = keys.iter().cloned().map(KeyPart::Is).collect();
                let access = self.names.keys(scan, index, 0, &keys);
                (if at == parent { below } else { at }, Some((below, access)))
            }
            Access::IndexRange(range) => {
                let index = &range.index;
                let parent = match range.is_iterated() {
                    true => {
                        let at = self.add(Some(parent), "INLIST ITERATOR", "");
                        self.over.insert(at + 1, (1, false));
                        at
                    }
                    false => parent,
                };
                let of_table = |tree: &mut Tree, options: &str| {
                    let at = tree.add(Some(parent), "TABLE ACCESS", options);
                    tree.object(at, &scan.table);
                    at
                };
                let at = if itself(index) || range.index_only { parent } else { of_table(self, by_index(index)) };
                let below = self.add(Some(at), "INDEX", &range.options());
                self.index(below, index);
                let access = self.names.range(scan, range);
                (if at == parent { below } else { at }, Some((below, access)))
            }
            Access::IndexFast { index } => {
                let at = self.add(Some(parent), "INDEX", "FAST FULL SCAN");
                self.index(at, index);
                (at, None)
            }
        };
        let below = access.as_ref().map(|(below, _)| *below);
        if let Some((below, access)) = access {
            let row = self.row(below);
            row.access = access;
            if below != at {
                let (rows, cost) = scan.entries;
                row.set_figures(&Figures { rows: Some(rows), bytes: None, cost: Some(cost) });
                (row.alias, row.query_block) = (alias.clone(), block.clone());
                row.projection = ["\"", &scan.alias, "\".ROWID[ROWID,10]"].concat();
            }
        }
        self.filter(at, &scan.filter);
        if scan.reads_partitions()
            && let Some(below) = below
        {
            self.row(below).partitions.clone_from(&read);
        }
        let row = self.row(at);
        row.partitions = read;
        (row.alias, row.query_block) = (alias, block);
        at
    }

    /// Adds the operation that reads partitions one after the other.
    fn partitions(&mut self, parent: u32, scan: &Scan, prune: &Prune) -> u32 {
        let Some(of) = scan.table.partitioning() else { return parent };
        let known = crate::physical::prune::places(of, &scan.table, prune);
        let all = of.partitions.len();
        let listed = matches!(prune.columns.first(), Some(PruneColumn::In(keys)) if keys.len() > 1);
        let one = |column: &PruneColumn| matches!(column, PruneColumn::In(keys) if keys.len() == 1);
        let is_one = prune.is_named() || prune.columns.len() == of.columns.len() && prune.columns.iter().all(one);
        let shown = |place: Option<&u32>| place.map_or_else(String::new, |place| (place + 1).to_string());
        let key = || ["KEY".to_owned(), "KEY".to_owned()];
        let (options, range) = match &known {
            Some(places) if places.is_empty() => ("EMPTY", ["INVALID".to_owned(), "INVALID".to_owned()]),
            Some(places) if places.len() == 1 => ("SINGLE", [shown(places.first()), shown(places.last())]),
            Some(places) if places.len() == all => ("ALL", [shown(places.first()), shown(places.last())]),
            _ if listed => ("INLIST", ["KEY(I)".to_owned(), "KEY(I)".to_owned()]),
            Some(places) => ("ITERATOR", [shown(places.first()), shown(places.last())]),
            None if is_one => ("SINGLE", key()),
            None => ("ITERATOR", key()),
        };
        let at = self.add(Some(parent), &format!("PARTITION {}", of.method.name()), options);
        self.over.insert(at + 1, (1, false));
        let width = |reg: &Reg| self.registers.get(reg).map_or(0.0, |of| of.1);
        let width: f64 = scan.columns.iter().map(|(_, reg)| width(reg)).chain(scan.rowid.as_ref().map(width)).sum();
        let bytes = (width > 0.0).then(|| scan.rows.max(1.0).round() * width);
        let row = self.row(at);
        row.set_figures(&Figures { rows: Some(scan.rows), bytes, cost: Some(scan.cost) });
        row.partitions = range;
        at
    }

    fn index(&mut self, at: u32, index: &dictionary::IndexDef) {
        let row = self.row(at);
        (row.owner, row.object) = (index.owner.clone(), index.name.clone());
        row.object_type = if index.unique { "INDEX (UNIQUE)" } else { "INDEX" }.into();
    }
}

/// The query block of the first table of a row source which is not inside a view.
fn first_block(source: &Source) -> Option<u32> {
    match source {
        Source::Scan(scan) => Some(scan.block).filter(|block| *block != 0),
        Source::Project { view: Some(_), .. } => None,
        other => {
            let mut found = None;
            other.for_each_child(&mut |child| found = found.or_else(|| first_block(child)));
            found
        }
    }
}

/// Records the types of the registers that a row source fills, and the bytes of their values in rows.
fn learn(source: &Source, into: &mut ByWord<Reg, (DataType, f64)>) {
    let mut put = |reg: Reg, ty: DataType, bytes: f64| {
        into.entry(reg).or_insert((ty, bytes));
    };
    match source {
        Source::Scan(scan) => {
            for (column, reg) in &scan.columns {
                let Some(def) = scan.table.columns.get(usize::from(*column)) else { continue };
                let known = def.statistics.as_ref().filter(|s| s.sample > 0).map(|s| f64::from(s.average_bytes.max(1)));
                put(*reg, def.data_type, known.unwrap_or_else(|| bytes_of(&def.data_type)));
            }
            if let Some(reg) = scan.rowid {
                put(reg, DataType::Rowid, bytes_of(&DataType::Rowid));
            }
        }
        Source::Project { exprs, .. } | Source::Group { keys: exprs, .. } => {
            for (e, reg) in exprs {
                put(*reg, e.ty, bytes_of(&e.ty));
            }
        }
        _ => {}
    }
    if let Source::Group { aggs, .. } = source {
        for agg in aggs {
            let bytes = if agg.kind == AggKind::CountStar { 0.0 } else { bytes_of(&agg.ty) };
            put(agg.out, agg.ty, bytes);
        }
    }
}

/// Bytes of a value of this type without statistics, as in Oracle.
fn bytes_of(ty: &DataType) -> f64 {
    match ty {
        DataType::Varchar2 { len, .. } | DataType::Nvarchar2 { len } | DataType::Raw { len } => {
            f64::from(*len / 2) + 2.0
        }
        DataType::Char { len, .. } | DataType::Nchar { len } => f64::from(*len) + 1.0,
        DataType::Date => 9.0,
        DataType::Rowid => 12.0,
        _ => 13.0,
    }
}

/// Appends a type as projections print it.
fn push_type(ty: &DataType, text: &mut String) {
    let written = match ty {
        DataType::Number { .. } => return text.push_str("NUMBER,22"),
        DataType::Date => return text.push_str("DATE,7"),
        DataType::Timestamp { .. } => return text.push_str("TIMESTAMP,11"),
        DataType::Rowid => return text.push_str("ROWID,10"),
        DataType::Varchar2 { len, .. } => write!(text, "VARCHAR2,{len}"),
        DataType::Char { len, .. } => write!(text, "CHARACTER,{len}"),
        DataType::Raw { len } => write!(text, "RAW,{len}"),
        other => write!(text, "{other}"),
    };
    written.expect("writing to a String does not fail");
}

fn of_kind(kind: JoinKind) -> &'static str {
    match kind {
        JoinKind::Inner => "",
        JoinKind::Left | JoinKind::Single => "OUTER",
        JoinKind::Full => "FULL OUTER",
        JoinKind::Semi => "SEMI",
        JoinKind::Anti | JoinKind::AntiNullAware => "ANTI",
    }
}

/// Options of a hash join. RIGHT: the table is built from the side that is not preserved or not searched for; this is
/// the first input printed, because the build side comes first.
pub(crate) fn hash_options(kind: JoinKind, build: Side, keys: &[JoinKey]) -> String {
    let aware = kind == JoinKind::AntiNullAware && keys.iter().any(|key| key.nulls == KeyNulls::Unknown);
    let right = build == Side::Right && !matches!(kind, JoinKind::Inner | JoinKind::Full);
    format!("{}{}{}", if right { "RIGHT " } else { "" }, of_kind(kind), if aware { " NA" } else { "" })
}

/// The inputs of a hash join in the printed order: the build side first.
pub(crate) fn built_first<'a>(left: &'a Source, right: &'a Source, build: Side) -> (&'a Source, &'a Source) {
    match build {
        Side::Left => (left, right),
        Side::Right => (right, left),
    }
}

pub(crate) fn filter_name(id: usize) -> String {
    format!(":BF{id:04}")
}

impl IndexRange {
    /// The option of an index scan as printed.
    pub(crate) fn options(&self) -> String {
        let whole_key = self.prefix.len() == self.index.columns.len();
        let how = match () {
            _ if self.skip > 0 => "SKIP SCAN",
            _ if self.is_whole() => "FULL SCAN",
            _ if self.index.unique && whole_key => "UNIQUE SCAN",
            _ => "RANGE SCAN",
        };
        let what = match (self.first_only, self.descending) {
            (true, _) => " (MIN/MAX)",
            (false, true) => " DESCENDING",
            (false, false) => "",
        };
        format!("{how}{what}")
    }
}
