//! The plan as rows: what `v$sql_plan` and PLAN_TABLE have, and DBMS_XPLAN's text of it.
//!
//! A row is an operation of the tree, numbered as it is printed. Rows travel as bytes through the library cache, which
//! does not know them. A predicate that reads a value without a name of its own (a column of a fixed table, say) is
//! left out.

use crate::ir::*;
use crate::predicate::Names;

/// One operation of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanRow {
    pub id: u32,
    /// The operation that it gives its rows to; none above the statement.
    pub parent: Option<u32>,
    pub depth: u32,
    /// Its place among the operations of its parent, from 1.
    pub position: u32,
    pub operation: String,
    pub options: String,
    pub owner: String,
    pub object: String,
    pub object_type: String,
    pub alias: String,
    /// Rows that are expected, where that is known.
    pub cardinality: Option<u64>,
    pub access: String,
    pub filter: String,
}

/// Between the fields of a row.
const FIELD: char = '\x1f';
/// Between rows.
const ROW: char = '\x1e';

impl Plan {
    /// The operations, the statement first.
    pub fn rows(&self) -> Vec<PlanRow> {
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
        };
        let mut tree = Tree { rows: Vec::new(), names: Names::of(self) };
        let root = tree.add(None, what, "");
        let mut at = root;
        if let Some((operation, target)) = change {
            at = tree.add(Some(at), operation, "");
            tree.object(at, &target.table);
        } else if let PlanBody::InsertAll(_) = &self.body {
            at = tree.add(Some(at), "MULTI-TABLE INSERT", "");
        }
        if self.result_cache && self.cacheable.is_some() {
            at = tree.add(Some(at), "RESULT CACHE", "");
        }
        if let Some(source) = source {
            tree.source(at, source);
        }
        for sub in &self.subs {
            tree.source(root, &sub.source);
        }
        for cte in &self.ctes {
            let at = tree.add(Some(root), "LOAD AS SELECT", "");
            tree.source(at, &cte.source);
        }
        tree.rows
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

/// The rows as bytes.
pub fn encode(rows: &[PlanRow]) -> Vec<u8> {
    let clean = |text: &str| text.replace([FIELD, ROW], " ");
    let row = |row: &PlanRow| {
        let number = |n: Option<u64>| n.map_or(String::new(), |n| n.to_string());
        let fields = [
            row.id.to_string(),
            number(row.parent.map(u64::from)),
            row.depth.to_string(),
            row.position.to_string(),
            clean(&row.operation),
            clean(&row.options),
            clean(&row.owner),
            clean(&row.object),
            clean(&row.object_type),
            clean(&row.alias),
            number(row.cardinality),
            clean(&row.access),
            clean(&row.filter),
        ];
        fields.join(&FIELD.to_string())
    };
    rows.iter().map(row).collect::<Vec<_>>().join(&ROW.to_string()).into_bytes()
}

/// The rows that [`encode`] made bytes of; what cannot be read is left out.
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
            cardinality: next()?.parse().ok(),
            access: next()?,
            filter: next()?,
        })
    };
    text.split(ROW).filter_map(row).collect()
}

/// What of a plan is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// The expected rows.
    pub rows: bool,
    pub predicates: bool,
}

impl Format {
    /// The format of DBMS_XPLAN's argument; BASIC, TYPICAL, SERIAL, ALL, ADVANCED, with further words added or taken
    /// away.
    pub fn of(text: &str) -> Option<Format> {
        let mut format = Format { rows: true, predicates: true };
        for word in text.to_uppercase().split([' ', ',']).filter(|word| !word.is_empty()) {
            let (on, word) = match (word.strip_prefix('-'), word.strip_prefix('+')) {
                (Some(word), _) => (false, word),
                (_, Some(word)) => (true, word),
                _ => (true, word),
            };
            match word {
                "BASIC" => format = Format { rows: false, predicates: false },
                "TYPICAL" | "SERIAL" | "ALL" | "ADVANCED" => format = Format { rows: true, predicates: true },
                "ROWS" => format.rows = on,
                "PREDICATE" => format.predicates = on,
                // What is not kept is not printed.
                "COST" | "BYTES" | "NOTE" | "ALIAS" | "OUTLINE" | "PROJECTION" | "PEEKED_BINDS" | "PARTITION"
                | "PARALLEL" | "REMOTE" | "IOSTATS" | "MEMSTATS" | "ALLSTATS" | "LAST" | "ADAPTIVE" | "REPORT" => {}
                _ => return None,
            }
        }
        Some(format)
    }
}

/// The table of operations and the predicates, as DBMS_XPLAN prints them.
pub fn display(rows: &[PlanRow], format: Format) -> Vec<String> {
    let operation = |row: &PlanRow| {
        let text =
            if row.options.is_empty() { row.operation.clone() } else { format!("{} {}", row.operation, row.options) };
        format!("{}{text}", " ".repeat(row.depth as usize))
    };
    let width =
        |heading: &str, of: &dyn Fn(&PlanRow) -> usize| rows.iter().map(of).max().unwrap_or(0).max(heading.len());
    let wide = width("Operation", &|row| operation(row).chars().count());
    let name = width("Name", &|row| row.object.chars().count());
    let cell = |row: &PlanRow| row.cardinality.map_or(String::new(), |n| n.to_string());
    let count = width("Rows ", &|row| cell(row).len());
    let mut heading = format!("| Id  | {:wide$} | {:name$} |", "Operation", "Name");
    if format.rows {
        heading.push_str(&format!(" {:count$} |", "Rows "));
    }
    let rule = "-".repeat(heading.chars().count());
    let mut lines = vec![rule.clone(), heading, rule.clone()];
    for row in rows {
        let told = format.predicates && !(row.access.is_empty() && row.filter.is_empty());
        let star = if told { '*' } else { ' ' };
        let mut line = format!("|{star}{:>3} | {:wide$} | {:name$} |", row.id, operation(row), row.object);
        if format.rows {
            line.push_str(&format!(" {:>count$} |", cell(row)));
        }
        lines.push(line);
    }
    lines.push(rule);
    if format.predicates && rows.iter().any(|row| !row.access.is_empty() || !row.filter.is_empty()) {
        let title = "Predicate Information (identified by operation id):";
        lines.extend([String::new(), title.to_string(), "-".repeat(title.len()), String::new()]);
        for row in rows {
            let mut lead = format!("{:>4} - ", row.id);
            for (kind, text) in [("access", &row.access), ("filter", &row.filter)] {
                if !text.is_empty() {
                    lines.push(format!("{lead}{kind}({text})"));
                    lead = " ".repeat(lead.len());
                }
            }
        }
    }
    lines
}

/// The rows while they are made.
struct Tree {
    rows: Vec<PlanRow>,
    names: Names,
}

impl Tree {
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
        let over = |tree: &mut Tree, operation: &str, options: &str, inputs: &[&Source]| {
            let at = tree.add(Some(parent), operation, options);
            inputs.iter().for_each(|input| tree.source(at, input));
            at
        };
        match source {
            Source::Dual => {
                over(self, "FAST DUAL", "", &[]);
            }
            Source::Empty => {
                let at = over(self, "FILTER", "", &[]);
                self.row(at).filter = "NULL IS NOT NULL".into();
            }
            Source::Scan(scan) => self.scan(parent, scan),
            Source::Fixed { name, alias, filter, .. } => {
                let at = over(self, "FIXED TABLE", "FULL", &[]);
                self.filter(at, filter);
                let row = self.row(at);
                (row.owner, row.object, row.alias) = ("SYS".into(), name.clone(), alias.clone());
                row.object_type = "TABLE (FIXED)".into();
            }
            Source::Filter { input, conds } | Source::Startup { input, conds } => {
                let at = over(self, "FILTER", "", &[input]);
                self.filter(at, conds);
            }
            Source::Project { input, view, .. } => match view {
                Some(view) => {
                    let at = over(self, "VIEW", "", &[input]);
                    self.row(at).object = view.clone();
                }
                None => self.source(parent, input),
            },
            Source::NestedLoops { left, right, kind, .. } => {
                over(self, "NESTED LOOPS", of_kind(*kind), &[left, right]);
            }
            Source::HashJoin { left, right, kind, build, keys, residual, filters, .. } => {
                let at = self.add(Some(parent), "HASH JOIN", &hash_options(*kind, *build, keys));
                self.row(at).access = self.names.equalities(keys);
                self.filter(at, residual);
                let (built, probing) = built_first(left, right, *build);
                let mut above = at;
                for filter in filters {
                    above = self.add(Some(above), "JOIN FILTER", "CREATE");
                    self.row(above).object = filter_name(filter.id);
                }
                self.source(above, built);
                self.source(at, probing);
            }
            Source::MergeJoin { left, right, kind, keys, range, residual, .. } => {
                let cartesian = keys.is_empty() && range.is_none() && *kind == JoinKind::Inner;
                let options = if cartesian { "CARTESIAN" } else { of_kind(*kind) };
                let at = over(self, "MERGE JOIN", options, &[left, right]);
                let mut access = self.names.equalities(keys);
                if let Some(text) = range.as_ref().and_then(|r| self.names.comparison(r.op, &r.left, &r.right)) {
                    let and = if access.is_empty() { "" } else { " AND " };
                    access.push_str(&format!("{and}{text}"));
                }
                self.filter(at, residual);
                self.row(at).access = access;
            }
            Source::JoinFilter { input, id, keys } => {
                let at = over(self, "JOIN FILTER", "USE", &[input]);
                let names: Vec<String> = keys.iter().filter_map(|key| self.names.text(&key.value)).collect();
                let name = filter_name(*id);
                let row = self.row(at);
                row.filter = format!("SYS_OP_BLOOM_FILTER({name},{})", names.join(","));
                row.object = name;
            }
            Source::Buffer { input, .. } => {
                over(self, "BUFFER", "SORT", &[input]);
            }
            Source::Cte { name, .. } => {
                let at = over(self, "TABLE ACCESS", "FULL", &[]);
                self.row(at).object = name.clone();
            }
            Source::Count { input, stop, conds, .. } => {
                let at = over(self, "COUNT", if stop.is_some() { "STOPKEY" } else { "" }, &[input]);
                self.filter(at, conds);
            }
            Source::Sort { input, top, .. } => {
                over(self, "SORT", if top.is_some() { "ORDER BY STOPKEY" } else { "ORDER BY" }, &[input]);
            }
            Source::Distinct { input, .. } => {
                over(self, "HASH", "UNIQUE", &[input]);
            }
            Source::Group { input, sets, scalar, .. } => {
                let (operation, options) = match (scalar, sets.len()) {
                    (true, _) => ("SORT", "AGGREGATE"),
                    (_, 0 | 1) => ("HASH", "GROUP BY"),
                    _ => ("SORT", "GROUP BY ROLLUP"),
                };
                over(self, operation, options, &[input]);
            }
            Source::Window { input, .. } => {
                over(self, "WINDOW", "SORT", &[input]);
            }
            Source::Set { kind, inputs, .. } => {
                let name = match kind {
                    SetKind::UnionAll => "UNION-ALL",
                    SetKind::Union => "UNION",
                    SetKind::Intersect => "INTERSECTION",
                    SetKind::Minus => "MINUS",
                };
                let inputs: Vec<_> = inputs.iter().map(|(source, _)| source).collect();
                over(self, name, "", &inputs);
            }
            Source::ConnectBy(c) => self.connect_by(parent, c),
            Source::Limit { input, .. } => {
                over(self, "VIEW", "", &[input]);
            }
            Source::ForUpdate { input, .. } => {
                over(self, "FOR UPDATE", "", &[input]);
            }
            Source::Elements { .. } => {
                over(self, "COLLECTION ITERATOR", "PICKLER FETCH", &[]);
            }
        }
    }

    fn connect_by(&mut self, parent: u32, c: &ConnectBy) {
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
    }

    fn scan(&mut self, parent: u32, scan: &Scan) {
        let itself = |index: &dictionary::IndexDef| index.kind == dictionary::IndexKind::IotTop;
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
                let at = if itself(index) || *index_only { parent } else { of_table(self, "BY INDEX ROWID") };
                let below = self.add(Some(at), "INDEX", "UNIQUE SCAN");
                self.index(below, index);
                let keys: Vec<KeyPart> = keys.iter().cloned().map(KeyPart::Is).collect();
                let access = self.names.keys(scan, index, 0, &keys);
                (if at == parent { below } else { at }, Some((below, access)))
            }
            Access::IndexRange(range) => {
                let index = &range.index;
                let parent = match range.is_iterated() {
                    true => self.add(Some(parent), "INLIST ITERATOR", ""),
                    false => parent,
                };
                let of_table = |tree: &mut Tree, options: &str| {
                    let at = tree.add(Some(parent), "TABLE ACCESS", options);
                    tree.object(at, &scan.table);
                    at
                };
                let at = if itself(index) || range.index_only { parent } else { of_table(self, "BY INDEX ROWID") };
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
        if let Some((below, access)) = access {
            self.row(below).access = access;
        }
        self.filter(at, &scan.filter);
        let row = self.row(at);
        row.alias = scan.alias.clone();
        row.cardinality = (scan.rows.is_finite() && scan.rows >= 0.0).then(|| scan.rows.max(1.0).round() as u64);
    }

    fn index(&mut self, at: u32, index: &dictionary::IndexDef) {
        let row = self.row(at);
        (row.owner, row.object) = (index.owner.clone(), index.name.clone());
        row.object_type = if index.unique { "INDEX (UNIQUE)" } else { "INDEX" }.into();
    }
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

/// A hash join's options. RIGHT: the table is built of the side that is not kept, or not looked for; this is the left
/// one of what is printed, the build side coming first.
pub(crate) fn hash_options(kind: JoinKind, build: Side, keys: &[JoinKey]) -> String {
    let aware = kind == JoinKind::AntiNullAware && keys.iter().any(|key| key.nulls == KeyNulls::Unknown);
    let right = build == Side::Right && !matches!(kind, JoinKind::Inner | JoinKind::Full);
    format!("{}{}{}", if right { "RIGHT " } else { "" }, of_kind(kind), if aware { " NA" } else { "" })
}

/// The inputs of a hash join as a plan lists them: the build side first.
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
    /// How the index is read, as a plan names it.
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
