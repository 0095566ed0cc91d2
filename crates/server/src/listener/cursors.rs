//! The statements to which a client has assigned numbers, and the transfer of their values.

use net::local::{self, Bind, Direction, TableBind};
use net::oracle::reply::direction;
use net::oracle::value::{self, BindRules, Column, Shape, Tables};
use std::collections::{BTreeMap, VecDeque};
use types::{DataType, Nls, Ora, Place, Result, Value, Zone};

/// Statements that a client may have regardless of `open_cursors`: drivers keep some for later.
const KEPT_MIN: usize = 50;

/// Largest number of ended nested cursors whose numbers are kept, for clients that fetch once more.
const NUMBERS_MOST: usize = 32_000;

/// A statement with a number.
#[derive(Debug, Default)]
pub struct Statement {
    pub sql: String,
    pub outline: sql::Outline,
    pub rules: BindRules,
    /// The client's last description of the binds.
    pub binds: Vec<Shape>,
    /// The client counts the rows of each execution, until it sends the statement's options again.
    pub row_counts: bool,
    /// The directions of the values of a block's binds in its last run, as [`net::oracle::reply::direction`].
    pub ways: Vec<u8>,
    /// The columns as described to the client.
    pub described: Vec<Column>,
    /// The columns as they are sent.
    pub columns: Vec<Column>,
    /// The session's number of the open query.
    pub open: Option<u32>,
    /// Rows that the session has returned and the client has not fetched yet.
    pub ahead: VecDeque<Vec<Value>>,
    /// A scrollable query.
    pub scrolls: bool,
    /// Rows sent so far; for a scrollable query the number of the last row sent.
    pub rows: u64,
    /// The columns of each column's cursors; empty without cursor columns.
    pub nested: Vec<Vec<local::Column>>,
    /// A cursor without a text: opened by PL/SQL, or of a row.
    pub is_reference: bool,
    /// PL/SQL may hold the cursor, too: it stays open at its end.
    pub stays_open: bool,
    /// Its rows have ended.
    pub has_ended: bool,
    /// The statement whose row contains it.
    pub parent: Option<u16>,
    /// The client accepts results of DBMS_SQL.RETURN_RESULT.
    pub takes_results: bool,
}

impl Statement {
    /// A statement with that text.
    pub fn new(text: String) -> Statement {
        let outline = sql::outline(&text);
        let returning = outline.placeholders.iter().map(|p| p.is_target).collect();
        let rules = BindRules { returning, is_block: outline.is_block, ..BindRules::default() };
        Statement { sql: text, outline, rules, ..Statement::default() }
    }

    /// The binds for which a client sends values when it executes a statement again without describing them: for a
    /// block it leaves out those that only return values.
    pub fn rules_again(&self) -> BindRules {
        let mut rules = self.rules.clone();
        for (at, _) in self.ways.iter().enumerate().filter(|(_, way)| **way == direction::OUT) {
            rules.returning.resize(rules.returning.len().max(at + 1), false);
            rules.returning[at] = true;
        }
        rules
    }

    /// Whether it is an ended cursor of a row, of which only the number is kept.
    fn is_over(&self) -> bool {
        self.parent.is_some() && self.has_ended && self.open.is_none() && self.ahead.is_empty()
    }

    /// Whether a bind receives values of RETURNING.
    pub fn is_returning(&self, at: usize) -> bool {
        self.rules.returning.get(at).copied().unwrap_or(false)
    }

    /// Whether any bind receives values of RETURNING.
    pub fn returns(&self) -> bool {
        (0..self.binds.len()).any(|at| self.is_returning(at))
    }

    /// The binds of one execution in the session's form: for a block one for each name, for other statements one for
    /// each occurrence.
    ///
    /// # Errors
    /// ORA-01008 when there are fewer values than occurrences, ORA-01036 when there are more.
    pub fn session_binds(&self, mut values: Vec<Value>) -> Result<Vec<Bind>> {
        let (mut binds, places) = self.binds_of(values.len())?;
        let mut row = vec![Value::Null; binds.len()];
        places.take(&mut values, &mut row);
        binds.iter_mut().zip(row).for_each(|(bind, value)| bind.value = value);
        Ok(binds)
    }

    /// The binds of a block that are PL/SQL tables, in the session's form: each name is one bind. The elements of an
    /// output-only table were not sent.
    pub fn session_tables(&self, mut sent: Tables) -> Vec<TableBind> {
        let tables = self.binds.iter().enumerate().filter(|(_, shape)| shape.is_table());
        let table = |(at, shape): (usize, &Shape)| {
            let elements = sent.iter_mut().find(|(of, _)| *of == at).map(|(_, elements)| std::mem::take(elements));
            TableBind { bind: at as u16, most: shape.elements, elements: elements.unwrap_or_default() }
        };
        tables.map(table).collect()
    }

    /// The session's binds of all executions, without values, and the sources of their values.
    ///
    /// # Errors
    /// Those of [`Statement::session_binds`].
    pub fn array_binds(&self) -> Result<(Vec<Bind>, Places)> {
        self.binds_of(self.binds.len())
    }

    fn binds_of(&self, values: usize) -> Result<(Vec<Bind>, Places)> {
        let placeholders = &self.outline.placeholders;
        if values != placeholders.len() {
            return Err(Ora::new(if values < placeholders.len() { 1008 } else { 1036 }));
        }
        let is_again = self.binds.iter().any(Shape::is_again);
        let names: Vec<String> = placeholders.iter().filter(|_| is_again).map(|p| p.name.clone()).collect();
        let names = sql::Names::from(names);
        let mut binds: Vec<Bind> = Vec::with_capacity(values);
        let mut places = Places(Vec::with_capacity(values));
        for (at, (place, shape)) in placeholders.iter().zip(&self.binds).enumerate() {
            let direction = match (self.outline.is_block, place.is_target) {
                (true, _) => Direction::InOut,
                (false, true) => Direction::Out,
                (false, false) => Direction::In,
            };
            // A repeated name has its own value, unless the client says that it has none.
            let earlier = if shape.is_again() { names.find(&place.name).filter(|first| *first < at) } else { None };
            places.0.push(earlier);
            let (name, data_type) = (Some(place.place.clone()), shape.data_type());
            binds.push(Bind { name, direction, data_type, value: Value::Null });
        }
        Ok((binds, places))
    }

    /// The client's bind for the session's bind at an index.
    pub fn place_of(&self, binds: &[Bind], at: usize) -> Option<usize> {
        let bind = binds.get(at)?;
        let mut places = self.outline.placeholders.iter().enumerate();
        let targets_only = bind.direction == Direction::Out;
        let of = |p: &sql::Placeholder| Some(&p.place) == bind.name.as_ref() && p.is_target == targets_only;
        // Usually it has the same index.
        if !targets_only && self.outline.placeholders.get(at).is_some_and(of) {
            return Some(at);
        }
        if !targets_only {
            return places.find(|(_, p)| of(p)).map(|(place, _)| place);
        }
        // Targets are bound one by one, in order.
        let before = binds[..at].iter().filter(|b| b.direction == Direction::Out).count();
        places.filter(|(_, p)| p.is_target).nth(before).map(|(place, _)| place)
    }
}

/// For each bind occurrence without a value of its own, the earlier occurrence whose value it has.
#[derive(Debug, Default)]
pub struct Places(Vec<Option<usize>>);

impl Places {
    /// Moves a client's values to their binds, and leaves the previous values in their place.
    pub fn take(&self, values: &mut [Value], row: &mut [Value]) {
        for (at, (earlier, value)) in self.0.iter().zip(values).enumerate() {
            match earlier {
                Some(earlier) => row[at] = row[*earlier].clone(),
                None => std::mem::swap(&mut row[at], value),
            }
        }
    }
}

/// The statements of a session.
#[derive(Debug)]
pub struct Cursors {
    all: BTreeMap<u16, Statement>,
    last: u16,
    most: usize,
    /// The limit at which used numbers are counted again.
    room: usize,
}

impl Cursors {
    /// No statements, and at most `open_cursors` of them.
    pub fn new(open_cursors: i64) -> Cursors {
        let most = usize::try_from(open_cursors).unwrap_or(0).clamp(KEPT_MIN, usize::from(u16::MAX) - 1);
        Cursors { all: BTreeMap::new(), last: 0, most, room: 0 }
    }

    /// The statement with that number.
    ///
    /// # Errors
    /// ORA-01001.
    pub fn get(&mut self, number: u32) -> Result<&mut Statement> {
        let number = u16::try_from(number).map_err(|_| Ora::new(1001))?;
        self.all.get_mut(&number).ok_or_else(|| Ora::new(1001))
    }

    /// The statement with that number, for the description of its binds.
    pub fn binds(&self, number: u32) -> Option<&Statement> {
        self.all.get(&u16::try_from(number).ok()?)
    }

    /// Assigns a number to a new statement. Ended cursors of rows do not count.
    ///
    /// # Errors
    /// ORA-01000.
    pub fn open(&mut self, statement: Statement) -> Result<u16> {
        if self.all.len() >= NUMBERS_MOST {
            self.all.retain(|_, s| !s.is_over());
        }
        if self.room == 0 {
            let in_use = self.all.values().filter(|s| !s.is_over()).count();
            self.room = self.most.saturating_sub(in_use);
        }
        self.room = self.room.checked_sub(1).ok_or_else(|| Ora::new(1000))?;
        while self.last == 0 || self.all.contains_key(&self.last) {
            self.last = self.last.wrapping_add(1);
        }
        self.all.insert(self.last, statement);
        Ok(self.last)
    }

    /// Replaces the statement of a number.
    ///
    /// # Errors
    /// ORA-01001.
    pub fn replace(&mut self, number: u32, statement: Statement) -> Result<Statement> {
        Ok(std::mem::replace(self.get(number)?, statement))
    }

    /// Removes all statements; returns the session's numbers of open queries.
    pub fn take_open(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.all).into_values().filter_map(|statement| statement.open).collect()
    }

    /// The numbers of the cursors in the rows of a statement.
    pub fn children(&self, parent: u16) -> Vec<u16> {
        self.all.iter().filter(|(_, s)| s.parent == Some(parent)).map(|(number, _)| *number).collect()
    }

    /// Removes the ended cursors in the rows of a statement, whose client continues with other rows.
    pub fn forget_ended(&mut self, parent: u16) {
        let mut open_in: Vec<u16> = Vec::new();
        for s in self.all.values().filter(|s| !s.is_over()) {
            open_in.extend(s.parent);
        }
        let mut parents = vec![parent];
        while let Some(parent) = parents.pop() {
            self.all.retain(|number, s| {
                // A cursor with an open cursor in its own rows stays, so that the inner one can be found.
                let stays = s.parent != Some(parent) || !s.is_over() || open_in.contains(number);
                if !stays && !s.nested.is_empty() {
                    parents.push(*number);
                }
                stays
            });
        }
    }

    /// Removes a statement; an unknown number is no error.
    pub fn close(&mut self, number: u32) -> Option<Statement> {
        self.all.remove(&u16::try_from(number).ok()?)
    }
}

/// The columns of a query as described to the client.
///
/// # Errors
/// ORA-03115 for an unsupported type.
pub fn columns(described: &[net::local::Column]) -> Result<Vec<Column>> {
    let column = |c: &net::local::Column| {
        let shape = value::of_type(&c.data_type).ok_or_else(|| Ora::new(3115))?;
        Ok(Column { name: c.name.clone(), shape, nullable: c.nullable })
    };
    described.iter().map(column).collect()
}

/// Converts a value to the type in which it is sent.
///
/// # Errors
/// Those of the conversion.
pub fn convert(value: Value, shape: &Shape, nls: &Nls) -> Result<Value> {
    let to = shape.data_type();
    if value.is_null() || is_one(&value, &to) {
        return Ok(value);
    }
    Ok(match to {
        DataType::Number { .. } => value.to_number(nls)?.map_or(Value::Null, Value::Number),
        DataType::Varchar2 { .. } | DataType::Char { .. } => {
            value.to_text(nls)?.map_or(Value::Null, |t| Value::text(t.into_owned()))
        }
        DataType::Date => value.to_date(nls)?.map_or(Value::Null, Value::Date),
        DataType::Timestamp { .. } => {
            let mut value = value;
            to.cast(&mut value, nls)?;
            value
        }
        DataType::IntervalYm { .. } => value.to_interval_ym()?.map_or(Value::Null, Value::IntervalYm),
        DataType::IntervalDs { .. } => value.to_interval_ds()?.map_or(Value::Null, Value::IntervalDs),
        DataType::Raw { .. } => value.to_raw()?.map_or(Value::Null, Value::raw),
        DataType::BinaryDouble => value.to_double(nls)?.map_or(Value::Null, Value::Double),
        DataType::BinaryFloat => value.to_double(nls)?.map_or(Value::Null, |x| Value::Float(x as f32)),
        DataType::Rowid | DataType::Urowid => value.to_rowid()?.map_or(Value::Null, Value::Rowid),
        _ => return Err(value.mismatch(&to)),
    })
}

/// Whether a value can be sent in the described type without conversion.
pub fn travels_as(value: &Value, shape: &Shape) -> bool {
    value.is_null() || is_one(value, &shape.data_type())
}

/// Whether a value is of the type already.
fn is_one(value: &Value, to: &DataType) -> bool {
    match (value, to) {
        (Value::Number(_) | Value::Boolean(_), DataType::Number { .. })
        | (Value::Text(_), DataType::Varchar2 { .. } | DataType::Char { .. })
        | (Value::Date(_), DataType::Date)
        | (Value::Raw(_), DataType::Raw { .. })
        | (Value::Double(_), DataType::BinaryDouble)
        | (Value::Float(_), DataType::BinaryFloat)
        | (Value::Boolean(_), DataType::Boolean)
        | (Value::Rowid(_), DataType::Rowid | DataType::Urowid)
        | (Value::Number(_), DataType::Cursor)
        | (Value::IntervalYm(_), DataType::IntervalYm { .. })
        | (Value::IntervalDs(_), DataType::IntervalDs { .. }) => true,
        (Value::Text(text), DataType::Urowid) => types::urowid::is_logical(text),
        (Value::Timestamp(t), DataType::Timestamp { zone, .. }) => match zone {
            Zone::None => t.place() == Place::Nowhere,
            Zone::WithTimeZone => t.zone().is_some(),
            Zone::WithLocalTimeZone => t.place() == Place::Session,
        },
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::Number;

    fn number(n: i64) -> Value {
        Value::Number(Number::from_i64(n))
    }

    fn statement(sql: &str) -> Statement {
        let mut s = Statement::new(sql.into());
        s.binds = vec![value::of_type(&DataType::NUMBER).unwrap(); s.outline.placeholders.len()];
        s
    }

    #[test]
    fn a_repeated_bind_name_has_two_values_except_in_a_block() {
        let mut s = statement("select :a, :b, :a from dual");
        let binds = s.session_binds(vec![number(1), number(2), number(3)]).unwrap();
        let given =
            |binds: &[Bind]| binds.iter().map(|b| (b.name.clone().unwrap(), b.value.clone())).collect::<Vec<_>>();
        let name = |name: &str, value| (name.to_string(), number(value));
        assert_eq!(given(&binds), [name("A", 1), name("B", 2), name("A:15", 3)]);
        assert_eq!(s.place_of(&binds, 2), Some(2));
        s.binds[2].flags = 0x80;
        let binds = s.session_binds(vec![number(1), number(2), Value::Null]).unwrap();
        assert_eq!(given(&binds)[2], name("A:15", 1));
        assert_eq!(s.session_binds(vec![number(1)]).unwrap_err().code(), 1008);
        assert_eq!(s.session_binds(vec![number(1); 4]).unwrap_err().code(), 1036);
        let s = statement("begin :a := :b + :a; end;");
        assert_eq!(given(&s.session_binds(vec![number(1), number(2)]).unwrap()), [name("A", 1), name("B", 2)]);
    }

    #[test]
    fn values_of_returning_reach_their_binds() {
        let s = statement("update t set a = :x where b = :y returning a, b into :x, :z");
        let binds = s.session_binds(vec![number(1), number(2), Value::Null, Value::Null]).unwrap();
        assert_eq!((binds.len(), s.place_of(&binds, 2), s.place_of(&binds, 3)), (4, Some(2), Some(3)));
        assert_eq!(s.place_of(&binds, 0), Some(0));
        assert!(s.is_returning(2) && !s.is_returning(1));
    }

    #[test]
    fn numbers_are_given_out_up_to_the_limit() {
        let mut cursors = Cursors::new(0);
        let numbers: Vec<u16> = (0..KEPT_MIN).map(|_| cursors.open(statement("x")).unwrap()).collect();
        assert_eq!(cursors.open(statement("x")).unwrap_err().code(), 1000);
        cursors.close(numbers[3].into());
        assert_eq!(cursors.get(numbers[3].into()).unwrap_err().code(), 1001);
        assert!(cursors.open(statement("x")).is_ok());
        assert_eq!(cursors.get(1 << 20).unwrap_err().code(), 1001);
    }

    #[test]
    fn cursors_in_rows_count_until_their_end_and_are_forgotten_with_the_next_rows() {
        let mut cursors = Cursors::new(0);
        let parent = cursors.open(statement("x")).unwrap();
        let of = |parent, has_ended| Statement { parent: Some(parent), has_ended, ..statement("y") };
        let ended: Vec<u16> = (0..4 * KEPT_MIN).map(|_| cursors.open(of(parent, true)).unwrap()).collect();
        let holds_open = cursors.open(of(parent, true)).unwrap();
        let open = cursors.open(of(holds_open, false)).unwrap();
        assert!(cursors.get(ended[0].into()).is_ok());
        cursors.forget_ended(parent);
        assert_eq!(cursors.get(ended[0].into()).unwrap_err().code(), 1001);
        assert!([parent, holds_open, open].iter().all(|number| cursors.get((*number).into()).is_ok()));
        let more = (0..2 * KEPT_MIN).filter(|_| cursors.open(of(parent, false)).is_ok()).count();
        assert_eq!(more, KEPT_MIN - 2);
    }

    #[test]
    fn values_are_converted_to_the_described_types() {
        let nls = Nls::default();
        let text = value::of_type(&DataType::TEXT).unwrap();
        assert_eq!(convert(number(42), &text, &nls).unwrap(), Value::text("42"));
        let n = value::of_type(&DataType::NUMBER).unwrap();
        assert_eq!(convert(Value::text("7"), &n, &nls).unwrap(), number(7));
        assert_eq!(convert(Value::text("x"), &n, &nls).unwrap_err().code(), 1722);
        assert_eq!(convert(Value::Null, &n, &nls).unwrap(), Value::Null);
    }
}
