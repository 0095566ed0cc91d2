//! A world for tests: tables of values, and just enough SQL to read and change them.
//!
//! `SELECT list FROM table [WHERE column op term [AND …]] [ORDER BY 1]`, `INSERT INTO t VALUES (…)`, `UPDATE t SET c =
//! term [WHERE …]`, `DELETE FROM t [WHERE …]`, `RETURNING c INTO :O0`; terms are columns, binds, numbers and strings.
#![allow(dead_code)]

use plan::{Asked, NoVariables, Variables};
use plsql::{ColumnInfo, Datum, Described, DynamicKind, JobRequest, Plsql, StoredUnit, World};
use sql::lexer::{TokenKind, lex};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use types::{DataType, Date, Nls, Number, Ora, Result, Timestamp, Value};

#[derive(Clone)]
pub struct Table {
    pub columns: Vec<ColumnInfo>,
    pub rows: Vec<Vec<Value>>,
}

#[derive(Default)]
pub struct Mock {
    pub tables: HashMap<String, Table>,
    pub units: Vec<StoredUnit>,
    pub schema: String,
    before: Vec<String>,
    pub epoch: u64,
    pub nls: Nls,
    pub statements: Vec<String>,
    pub other: Vec<String>,
    pub jobs: Vec<JobRequest>,
    pub commits: u32,
    pub opened: u32,
    /// The number of statements that the compiler described.
    pub described: u32,
    pub cancel_after: Option<u64>,
    pub slept: f64,
    pub cached: HashMap<(String, Vec<u8>), Vec<u8>>,
    pub sequence: i64,
}

pub struct Cursor {
    text: String,
    binds: Vec<Value>,
    rows: Vec<Vec<Value>>,
    at: usize,
    columns: Vec<ColumnInfo>,
}

#[derive(Clone, Debug)]
struct Tok {
    text: String,
    start: u32,
    kind: TokenKind,
}

fn tokens(text: &str) -> Vec<Tok> {
    lex(text)
        .tokens
        .iter()
        .map(|t| {
            let piece = &text[t.start as usize..t.end as usize];
            let text = match t.kind {
                TokenKind::String => piece.to_string(),
                TokenKind::QuotedIdent => piece.trim_matches('"').to_string(),
                _ => piece.to_uppercase(),
            };
            Tok { text, start: t.start, kind: t.kind }
        })
        .collect()
}

struct Statement {
    verb: String,
    table: String,
    items: Vec<Term>,
    names: Vec<String>,
    sets: Vec<(usize, Term)>,
    filter: Vec<(Term, String, Term)>,
    returning: Vec<Term>,
}

#[derive(Clone, Debug)]
enum Term {
    Column(usize),
    Value(Value),
    Bind(usize),
    Nextval,
    CountStar,
}

fn number(n: i64) -> Value {
    Value::Number(Number::from_i64(n))
}

impl Mock {
    pub fn new() -> Mock {
        Mock { schema: "SCOTT".into(), ..Mock::default() }
    }

    pub fn table(&mut self, name: &str, columns: &[(&str, DataType)], rows: Vec<Vec<Value>>) {
        let columns =
            columns.iter().map(|(n, ty)| ColumnInfo { name: n.to_string(), ty: *ty, nullable: true }).collect();
        self.tables.insert(name.to_string(), Table { columns, rows });
    }

    pub fn store(&mut self, source: &str) {
        let header = sql::plsql::parse_create_header(&format!("create {source}")).unwrap();
        let (owner, source, settings) = ("SCOTT".into(), source.to_string(), Default::default());
        let unit = StoredUnit { owner, name: header.name.name, kind: header.kind, source, settings };
        self.units.retain(|u| u.name != unit.name || u.kind != unit.kind);
        self.units.push(unit);
        self.epoch += 1;
    }

    fn term(&self, t: &[Tok], i: &mut usize, table: &Table, names: &dyn Variables) -> Result<Term> {
        let tok = t[*i].clone();
        *i += 1;
        match tok.kind {
            TokenKind::Number => Ok(Term::Value(Value::Number(Number::parse(&tok.text)?))),
            TokenKind::String => Ok(Term::Value(Value::text(sql::lexer::string_contents(&tok.text)))),
            TokenKind::Bind => Ok(Term::Bind(tok.text.trim_start_matches([':', 'A', 'B', 'O']).parse().unwrap_or(1))),
            TokenKind::Word | TokenKind::QuotedIdent => {
                if tok.text == "COUNT" && t[*i].kind == TokenKind::LeftParen {
                    *i += 3;
                    return Ok(Term::CountStar);
                }
                if t[*i].kind == TokenKind::Dot {
                    let member = t[*i + 1].text.clone();
                    if member == "NEXTVAL" {
                        *i += 2;
                        return Ok(Term::Nextval);
                    }
                    return variable(t, i, names);
                }
                if tok.text == "SYSDATE" {
                    return Ok(Term::Value(Value::Date(Date::from_ymd(2026, 1, 2)?)));
                }
                match table.columns.iter().position(|c| c.name == tok.text) {
                    Some(c) => Ok(Term::Column(c)),
                    None => variable(t, i, names),
                }
            }
            _ => Err(Ora::new(936).at(tok.start)),
        }
    }

    fn find(&self, t: &Tok) -> Result<Table> {
        if t.text == "DUAL" {
            return Ok(Table { columns: vec![], rows: vec![vec![]] });
        }
        self.tables.get(&t.text).cloned().ok_or_else(|| Ora::new(942).at(t.start))
    }

    fn parse(&self, text: &str, names: &dyn Variables) -> Result<(Statement, Table)> {
        let t = tokens(text);
        let verb = t[0].text.clone();
        let mut s = Statement {
            verb: verb.clone(),
            table: String::new(),
            items: vec![],
            names: vec![],
            sets: vec![],
            filter: vec![],
            returning: vec![],
        };
        let word = |i: usize, w: &str| t[i].kind == TokenKind::Word && t[i].text == w;
        let mut i;
        let table;
        match verb.as_str() {
            "SELECT" => {
                let from = (0..t.len()).find(|i| word(*i, "FROM")).ok_or_else(|| Ora::new(923))?;
                table = self.find(&t[from + 1])?;
                s.table = t[from + 1].text.clone();
                i = 1;
                while i < from {
                    if t[i].kind == TokenKind::Star {
                        for (c, column) in table.columns.iter().enumerate() {
                            s.items.push(Term::Column(c));
                            s.names.push(column.name.clone());
                        }
                        i += 1;
                    } else {
                        let name = t[i].text.clone();
                        s.items.push(self.term(&t, &mut i, &table, names)?);
                        s.names.push(name);
                    }
                    if t[i].kind == TokenKind::Comma {
                        i += 1;
                    } else if i < from {
                        s.names.pop();
                        s.names.push(t[i].text.clone());
                        i += 1;
                        if t[i].kind == TokenKind::Comma {
                            i += 1;
                        }
                    }
                }
                i = from + 2;
            }
            "INSERT" => {
                table = self.find(&t[2])?;
                s.table = t[2].text.clone();
                i = 5;
                loop {
                    s.items.push(self.term(&t, &mut i, &table, names)?);
                    i += 1;
                    if t[i - 1].kind == TokenKind::RightParen {
                        break;
                    }
                }
                if s.items.len() != table.columns.len() {
                    return Err(Ora::new(947));
                }
            }
            "UPDATE" => {
                table = self.find(&t[1])?;
                s.table = t[1].text.clone();
                i = 3;
                loop {
                    let Term::Column(c) = self.term(&t, &mut i, &table, names)? else { return Err(Ora::new(904)) };
                    i += 1;
                    s.sets.push((c, self.term(&t, &mut i, &table, names)?));
                    if t[i].kind != TokenKind::Comma {
                        break;
                    }
                    i += 1;
                }
            }
            "DELETE" => {
                let at = if word(1, "FROM") { 2 } else { 1 };
                table = self.find(&t[at])?;
                s.table = t[at].text.clone();
                i = at + 1;
            }
            _ => return Err(Ora::new(900)),
        }
        if word(i, "WHERE") {
            loop {
                i += 1;
                let a = self.term(&t, &mut i, &table, names)?;
                let op = t[i].text.clone();
                i += 1;
                let b = self.term(&t, &mut i, &table, names)?;
                s.filter.push((a, op, b));
                if !word(i, "AND") {
                    break;
                }
            }
        }
        if word(i, "RETURNING") {
            i += 1;
            while !word(i, "INTO") {
                s.returning.push(self.term(&t, &mut i, &table, names)?);
                if t[i].kind == TokenKind::Comma {
                    i += 1;
                }
            }
        }
        Ok((s, table))
    }

    fn columns_of(&self, s: &Statement, table: &Table) -> Vec<ColumnInfo> {
        let list = if s.verb == "SELECT" { &s.items } else { &s.returning };
        list.iter()
            .enumerate()
            .map(|(i, t)| match t {
                Term::Column(c) => table.columns[*c].clone(),
                Term::Value(Value::Text(x)) => ColumnInfo {
                    name: s.names.get(i).cloned().unwrap_or_default(),
                    ty: DataType::Varchar2 { len: x.len() as u32, unit: types::LenUnit::Byte },
                    nullable: true,
                },
                Term::Value(Value::Date(_)) => ColumnInfo { name: "D".into(), ty: DataType::Date, nullable: true },
                _ => ColumnInfo {
                    name: s.names.get(i).cloned().unwrap_or_default(),
                    ty: DataType::NUMBER,
                    nullable: true,
                },
            })
            .collect()
    }
}

/// A name that is no column; `i` is after its first word.
fn variable(t: &[Tok], i: &mut usize, names: &dyn Variables) -> Result<Term> {
    let first = *i - 1;
    let mut path = vec![ident(&t[first])];
    while t[*i].kind == TokenKind::Dot {
        path.push(ident(&t[*i + 1]));
        *i += 2;
    }
    if names.variable(&path, t[first].start, Asked::Last)?.is_none() {
        return Err(unknown(&t[first]));
    }
    let mut depth = 0;
    while t[*i].kind == TokenKind::LeftParen || depth > 0 || t[*i].kind == TokenKind::Dot {
        depth += i32::from(t[*i].kind == TokenKind::LeftParen) - i32::from(t[*i].kind == TokenKind::RightParen);
        *i += if depth == 0 && t[*i].kind == TokenKind::Dot { 2 } else { 1 };
    }
    Ok(Term::Value(Value::Null))
}

fn ident(t: &Tok) -> sql::ast::Ident {
    sql::ast::Ident { name: t.text.clone(), pos: sql::ast::Pos(t.start) }
}

fn unknown(t: &Tok) -> Ora {
    Ora::with(904, &[&format!("\"{}\"", t.text)]).at(t.start)
}

impl World for Mock {
    type Cursor = Cursor;

    fn nls(&self) -> &Nls {
        &self.nls
    }
    fn user(&self) -> String {
        "SCOTT".into()
    }
    fn user_id(&self) -> i64 {
        42
    }
    fn schema(&self) -> String {
        self.schema.clone()
    }
    fn identity(&self) -> u128 {
        self.schema.bytes().fold(7, |n, b| n * 31 % 0xffff_ffff_ffff + u128::from(b))
    }
    fn enter(&mut self, owner: &plsql::Owner) -> bool {
        let is_other = self.schema != *owner.name;
        if is_other {
            self.before.push(std::mem::replace(&mut self.schema, owner.name.to_string()));
        }
        is_other
    }
    fn leave(&mut self) {
        self.schema = self.before.pop().expect("an owner was taken");
    }
    fn call_function(&mut self, f: &'static functions::FnDef, args: &[Value], out: &mut Value) -> Result<()> {
        mock_call(self, f, args, out)
    }
    fn sys_context(&mut self, namespace: &str, parameter: &str) -> Result<Value> {
        Ok(Value::text(format!("{namespace}.{parameter}")))
    }
    fn check_cancel(&mut self) -> Result<()> {
        match &mut self.cancel_after {
            Some(0) => Err(Ora::new(1013)),
            Some(n) => {
                *n -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }
    fn now(&self) -> Timestamp {
        Timestamp::new(Date::from_ymd(2026, 1, 2).unwrap(), 0)
    }
    fn hsecs(&self) -> i64 {
        1234
    }
    fn cpu_hsecs(&self) -> i64 {
        12
    }
    fn entropy(&self) -> u64 {
        7
    }
    fn sleep(&mut self, seconds: f64) -> Result<()> {
        self.slept += seconds;
        Ok(())
    }
    fn epoch(&mut self) -> u64 {
        self.epoch
    }
    fn table_columns(&mut self, _owner: Option<&str>, name: &str) -> Result<Option<Vec<ColumnInfo>>> {
        Ok(self.tables.get(name).map(|t| t.columns.clone()))
    }
    fn sequence_exists(&mut self, _owner: Option<&str>, name: &str) -> Result<bool> {
        Ok(name == "SEQ")
    }
    fn stored_unit(&mut self, owner: Option<&str>, name: &str) -> Result<Vec<StoredUnit>> {
        let fits = |u: &&StoredUnit| u.name == name && owner.is_none_or(|o| o == u.owner);
        Ok(self.units.iter().filter(fits).cloned().collect())
    }
    fn describe(
        world: &RefCell<&mut Self>,
        text: &str,
        _binds: &[DataType],
        variables: &dyn Variables,
    ) -> Result<Described> {
        world.borrow_mut().described += 1;
        let tables = Mock { tables: world.borrow().tables.clone(), ..Mock::default() };
        let (s, table) = tables.parse(text, variables)?;
        Ok(Described {
            query: s.verb == "SELECT",
            columns: tables.columns_of(&s, &table),
            dependencies: vec![],
            units: vec![],
            lookups: vec![],
        })
    }
    fn open_cursor(&mut self, text: &str, binds: &[DataType], _by_name: bool) -> Result<Cursor> {
        self.opened += 1;
        self.statements.push(text.to_string());
        let (s, table) = self.parse(text, &NoVariables)?;
        let columns = self.columns_of(&s, &table);
        Ok(Cursor { text: text.into(), binds: vec![Value::Null; binds.len()], rows: vec![], at: 0, columns })
    }
    fn bind(&mut self, cursor: &mut Cursor, at: usize, value: &Value) -> Result<()> {
        cursor.binds[at] = value.clone();
        Ok(())
    }
    fn execute(&mut self, cursor: &mut Cursor) -> Result<u64> {
        let (s, table) = self.parse(&cursor.text, &NoVariables)?;
        cursor.rows.clear();
        cursor.at = 0;
        let nls = self.nls.clone();
        let mut sequence = self.sequence;
        let mut value = |t: &Term, row: &[Value]| match t {
            Term::Column(c) => row[*c].clone(),
            Term::Value(v) => v.clone(),
            Term::Bind(i) => cursor.binds[*i - 1].clone(),
            Term::Nextval => {
                sequence += 1;
                number(sequence)
            }
            Term::CountStar => Value::Null,
        };
        let mut hits = Vec::new();
        for (i, row) in table.rows.iter().enumerate() {
            let mut ok = true;
            for (a, op, b) in &s.filter {
                let o = value(a, row).compare(&value(b, row), &nls)?;
                ok &= match (op.as_str(), o) {
                    (_, None) => false,
                    ("=", Some(o)) => o.is_eq(),
                    ("<", Some(o)) => o.is_lt(),
                    (">", Some(o)) => o.is_gt(),
                    ("<=", Some(o)) => o.is_le(),
                    (">=", Some(o)) => o.is_ge(),
                    _ => true,
                };
            }
            if ok {
                hits.push(i);
            }
        }
        let mut changed = Vec::new();
        match s.verb.as_str() {
            "SELECT" if s.items.iter().any(|t| matches!(t, Term::CountStar)) => {
                cursor.rows.push(vec![number(hits.len() as i64)]);
            }
            "SELECT" => {
                for i in hits {
                    cursor.rows.push(s.items.iter().map(|t| value(t, &table.rows[i])).collect());
                }
            }
            "INSERT" => {
                let row: Vec<Value> = s.items.iter().map(|t| value(t, &[])).collect();
                if let Some(n) = row.iter().position(|v| *v == number(666)) {
                    return Err(Ora::with(1, &[&"SCOTT", &format!("PK{n}")]));
                }
                changed.push(row.clone());
                self.tables.get_mut(&s.table).unwrap().rows.push(row);
            }
            "UPDATE" => {
                for i in hits {
                    let mut row = table.rows[i].clone();
                    for (c, t) in &s.sets {
                        row[*c] = value(t, &table.rows[i]);
                    }
                    changed.push(row.clone());
                    self.tables.get_mut(&s.table).unwrap().rows[i] = row;
                }
            }
            _ => {
                for i in hits.iter().rev() {
                    changed.push(self.tables.get_mut(&s.table).unwrap().rows.remove(*i));
                }
            }
        }
        if !s.returning.is_empty() {
            for row in &changed {
                cursor.rows.push(s.returning.iter().map(|t| value(t, row)).collect());
            }
        }
        self.sequence = sequence;
        Ok(changed.len() as u64)
    }
    fn fetch(&mut self, cursor: &mut Cursor, row: &mut Vec<Value>) -> Result<bool> {
        let Some(r) = cursor.rows.get(cursor.at) else { return Ok(false) };
        row.clone_from(r);
        cursor.at += 1;
        Ok(true)
    }
    fn end_fetch(&mut self, cursor: &mut Cursor) {
        cursor.rows.clear();
    }
    fn column_count(&self, cursor: &Cursor) -> usize {
        cursor.columns.len()
    }
    fn dynamic_kind(&mut self, text: &str) -> Result<(DynamicKind, usize)> {
        let t = tokens(text);
        let binds = t.iter().filter(|t| t.kind == TokenKind::Bind).count();
        Ok(match t[0].text.as_str() {
            "SELECT" => (DynamicKind::Query, binds),
            "INSERT" | "UPDATE" | "DELETE" => (DynamicKind::Dml, binds),
            "BEGIN" | "DECLARE" => (DynamicKind::Block, binds),
            _ => (DynamicKind::Other, binds),
        })
    }
    fn execute_other(&mut self, text: &str) -> Result<()> {
        self.other.push(text.to_string());
        if text.starts_with("fail") { Err(Ora::new(942)) } else { Ok(()) }
    }
    fn commit(&mut self) -> Result<()> {
        self.commits += 1;
        Ok(())
    }
    fn rollback(&mut self) -> Result<()> {
        Ok(())
    }
    fn savepoint(&mut self, _name: &str) -> Result<()> {
        Ok(())
    }
    fn rollback_to(&mut self, name: &str) -> Result<()> {
        Err(Ora::with(1086, &[&name]))
    }
    fn set_transaction(&mut self, _text: &str) -> Result<()> {
        Ok(())
    }
    fn job_submit(&mut self, job: &JobRequest) -> Result<i64> {
        self.jobs.push(job.clone());
        Ok(self.jobs.len() as i64)
    }
    fn function_result_get(&mut self, function: &str, _: &[types::ObjectId], key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.cached.get(&(function.to_string(), key.to_vec())).cloned())
    }
    fn function_result_put(&mut self, function: &str, key: &[u8], value: &[u8]) -> Result<()> {
        self.cached.insert((function.to_string(), key.to_vec()), value.to_vec());
        Ok(())
    }
}

struct Nobody;

impl functions::SessionInfo for Nobody {
    fn user(&self) -> &str {
        "SCOTT"
    }
    fn user_id(&self) -> u32 {
        42
    }
    fn schema(&self) -> &str {
        "SCOTT"
    }
    fn sid(&self) -> u32 {
        1
    }
    fn context(&self, _namespace: &str, _parameter: &str, _out: &mut String) -> Result<bool> {
        Ok(false)
    }
    fn guid(&self) -> [u8; 16] {
        [0; 16]
    }
}

impl functions::Clock for Nobody {
    fn now(&self) -> Timestamp {
        Timestamp::new(Date::from_ymd(2026, 1, 2).unwrap(), 0)
    }
}

fn mock_call(m: &Mock, f: &'static functions::FnDef, args: &[Value], out: &mut Value) -> Result<()> {
    let mut cache = functions::FnCache::default();
    let mut ctx = functions::FnCtx {
        nls: &m.nls,
        session: &Nobody,
        clock: &Nobody,
        cache: &mut cache,
        text_max: functions::TextMax::PlSql,
    };
    f.call(&mut ctx, args, out)
}

/// A session in a mock world.
pub struct Session {
    pub world: Mock,
    pub plsql: Rc<Plsql<Cursor>>,
}

impl Session {
    pub fn new() -> Session {
        let plsql = Rc::new(Plsql::new(1));
        plsql.set_output(true, None);
        Session { world: Mock::new(), plsql }
    }

    /// Runs a block and returns its output, or the error stack after it.
    pub fn run(&mut self, text: &str) -> String {
        let result = self.try_run(text, &mut []);
        let mut out = self.plsql.take_output(usize::MAX).join("\n");
        if let Err(e) = result {
            if !out.is_empty() {
                out.push('\n');
            }
            out.push_str(&e.to_string());
        }
        out
    }

    pub fn try_run(&mut self, text: &str, binds: &mut [Datum]) -> Result<()> {
        let block = self.plsql.compile_block(&mut self.world, text)?;
        self.plsql.run_block(&mut self.world, &block, binds)
    }
}
