//! Expressions and conditions over batches.
//!
//! Each batch form is kept together with the code for registers. Rows run through that code if the expression has no
//! batch form, or if the values have a type that the batch form does not take. `None` means that the evaluation of some
//! row failed; which one is unknown, so the caller evaluates the rows one by one.

use super::column::{Column, Data, Nulls, padded_order, trim};
use super::kernels::{self, Numbers, Pattern, Rows, SameText};
use super::node::{Batch, Failing};
use super::reads;
use crate::code::{Code, Cond};
use crate::ctx::ExecCtx;
use crate::machine::Machine;
use plan::{ArithOp, CmpOp, Compare, Reg};
use std::collections::HashSet;
use types::{Result, Value};

/// A value for each row of a batch.
pub struct Expression {
    code: Code,
    form: Form,
    /// Columns that the code reads, with their registers.
    reads: Vec<(usize, Reg)>,
}

enum Form {
    Column(usize),
    /// One value for all rows.
    Same,
    Neg(Box<Expression>),
    Arith(ArithOp, Box<Expression>, Box<Expression>),
    Case(Vec<(Condition, Expression)>, Option<Box<Expression>>),
    /// A substring: text, first character, and length if given.
    Substr(Box<Expression>, Box<Expression>, Option<Box<Expression>>),
    Extract(Box<Expression>, Box<Expression>),
    Rows,
}

/// A condition on each row of a batch.
pub struct Condition {
    cond: Cond,
    form: Test,
    reads: Vec<(usize, Reg)>,
}

enum Test {
    Compare(CmpOp, Compare, Expression, Expression),
    And(Vec<Condition>),
    Or(Vec<Condition>),
    IsNull(Expression, bool),
    Like(Expression, Expression, bool),
    In(Expression, Vec<Expression>, Compare, bool),
    Set { value: Expression, set: HashSet<Vec<u8>>, null: bool, padded: bool, negated: bool },
    Rows,
}

/// The result of an expression.
pub enum Vector<'a> {
    Column(&'a Column),
    Made(Column),
    Same(Value),
}

impl Vector<'_> {
    fn column(&self) -> Option<&Column> {
        match self {
            Vector::Column(c) => Some(c),
            Vector::Made(c) => Some(c),
            Vector::Same(_) => None,
        }
    }

    fn numbers(&self) -> Option<Numbers<'_>> {
        match self {
            Vector::Same(v) => Numbers::of_value(v),
            other => other.column().and_then(Numbers::of_column),
        }
    }

    fn nulls(&self) -> Nulls {
        self.column().map_or_else(Nulls::default, |c| c.nulls.clone())
    }

    fn is_same_null(&self) -> bool {
        matches!(self, Vector::Same(Value::Null))
    }

    /// A column of `len` rows.
    fn into_column(self, len: usize, arena: &mut Vec<u8>) -> Column {
        match self {
            Vector::Column(c) => c.clone(),
            Vector::Made(c) => c,
            Vector::Same(v) => Column::of_values(vec![v; len], arena),
        }
    }
}

/// The columns of a batch and the bytes of their texts.
pub struct Input<'a> {
    pub len: usize,
    pub columns: &'a [Column],
    pub arena: &'a mut Vec<u8>,
}

/// The columns among the registers that the code reads.
fn columns_of(reads: &reads::Reads, regs: &[Reg]) -> Vec<(usize, Reg)> {
    let mut read: Vec<(usize, Reg)> =
        reads.regs.iter().filter_map(|r| Some((regs.iter().rposition(|x| x == r)?, *r))).collect();
    read.sort_unstable();
    read.dedup();
    read
}

impl Expression {
    /// The batch form of an expression over columns in these registers; `None` if the expression must be run row by row
    /// in its place.
    pub fn new(code: Code, regs: &[Reg]) -> Option<Expression> {
        let found = reads::of_code(&code)?;
        let reads = columns_of(&found, regs);
        let form = Expression::form(&code, &found, &reads, regs)?;
        Some(Expression { code, form, reads })
    }

    fn boxed(code: &Code, regs: &[Reg]) -> Option<Box<Expression>> {
        Expression::new(code.clone(), regs).map(Box::new)
    }

    fn form(code: &Code, found: &reads::Reads, reads: &[(usize, Reg)], regs: &[Reg]) -> Option<Form> {
        if let Code::Reg(_) = code {
            return Some(reads.first().map_or(Form::Same, |(slot, _)| Form::Column(*slot)));
        }
        if found.volatile {
            return Some(Form::Rows);
        }
        if reads.is_empty() {
            return Some(Form::Same);
        }
        Some(match code {
            Code::Neg(a, _) => Form::Neg(Expression::boxed(a, regs)?),
            Code::Arith(op, a, b, _) if *op != ArithOp::Div => {
                Form::Arith(*op, Expression::boxed(a, regs)?, Expression::boxed(b, regs)?)
            }
            Code::Case(arms, otherwise, _) => {
                let mut all = Vec::with_capacity(arms.len());
                for (when, then) in arms {
                    let Code::Truth(cond, _) = when else { return Some(Form::Rows) };
                    all.push((Condition::new((**cond).clone(), regs)?, Expression::new(then.clone(), regs)?));
                }
                let otherwise = match otherwise {
                    Some(code) => Some(Expression::boxed(code, regs)?),
                    None => None,
                };
                Form::Case(all, otherwise)
            }
            Code::Func(f, args, ..) if f.0.name == "SUBSTR" => {
                let count = match args.get(2) {
                    Some(code) => Some(Expression::boxed(code, regs)?),
                    None => None,
                };
                Form::Substr(Expression::boxed(&args[0], regs)?, Expression::boxed(&args[1], regs)?, count)
            }
            Code::Func(f, args, ..) if f.0.name == "EXTRACT" => {
                Form::Extract(Expression::boxed(&args[0], regs)?, Expression::boxed(&args[1], regs)?)
            }
            _ => Form::Rows,
        })
    }

    /// The code for registers.
    pub fn code(&self) -> &Code {
        &self.code
    }

    /// The column that the expression names, if it is just a column.
    pub fn slot(&self) -> Option<usize> {
        if let Form::Column(slot) = self.form { Some(slot) } else { None }
    }

    /// The value for each row of a batch; `None` if the evaluation of some row fails.
    pub fn column(&self, batch: &mut Batch, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Option<Column> {
        let Batch { len, columns, arena, .. } = batch;
        let mut input = Input { len: *len, columns, arena };
        let rows = Rows::All(*len);
        let vector = self.eval(&mut input, rows, m, cx)?;
        Some(vector.into_column(*len, input.arena))
    }

    /// The value of each of the rows.
    pub fn eval<'a>(
        &self,
        input: &mut Input<'a>,
        rows: Rows<'_>,
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
    ) -> Option<Vector<'a>> {
        if let Form::Column(slot) = self.form {
            return Some(Vector::Column(&input.columns[slot]));
        }
        if rows.count() == 0 {
            // Without rows nothing is evaluated.
            return Some(Vector::Made(kernels::all_null(input.len)));
        }
        let made = match &self.form {
            Form::Column(_) | Form::Rows => None,
            Form::Same => {
                let r = self.code.eval(m, cx).ok()?;
                return Some(Vector::Same(m.value(r).clone()));
            }
            Form::Neg(a) => {
                let a = a.eval(input, rows, m, cx)?;
                a.column().and_then(|c| Some(Column { data: kernels::negate(&c.data)?, nulls: c.nulls.clone() }))
            }
            Form::Arith(op, a, b) => {
                let (a, b) = (a.eval(input, rows, m, cx)?, b.eval(input, rows, m, cx)?);
                match (a.numbers(), b.numbers()) {
                    (Some(x), Some(y)) => kernels::arith(*op, x, y, rows, input.len)
                        .map(|data| Column { data, nulls: a.nulls().or(&b.nulls()) }),
                    _ if a.is_same_null() || b.is_same_null() => Some(kernels::all_null(input.len)),
                    _ => None,
                }
            }
            Form::Case(arms, otherwise) => return self.case(arms, otherwise.as_deref(), input, rows, m, cx),
            Form::Substr(value, start, count) => {
                let text = value.eval(input, rows, m, cx)?;
                let start = start.eval(input, rows, m, cx)?;
                let count = match count {
                    Some(count) => Some(count.eval(input, rows, m, cx)?),
                    None => None,
                };
                substr(&text, &start, count.as_ref(), rows, input.arena)
            }
            Form::Extract(field, value) => {
                let (field, value) = (field.eval(input, rows, m, cx)?, value.eval(input, rows, m, cx)?);
                match (&field, value.column()) {
                    (Vector::Same(Value::Text(field)), Some(Column { data: Data::Date(words), nulls })) => {
                        kernels::date_field(words, field).map(|data| Column { data, nulls: nulls.clone() })
                    }
                    _ => None,
                }
            }
        };
        match made {
            Some(column) => Some(Vector::Made(column)),
            None => self.by_rows(input, rows, m, cx),
        }
    }

    /// The values, by the code for registers.
    fn by_rows<'a>(
        &self,
        input: &mut Input<'a>,
        rows: Rows<'_>,
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
    ) -> Option<Vector<'a>> {
        let mut values = vec![Value::Null; input.len];
        let mut failed = false;
        rows.each(|row| {
            if failed {
                return;
            }
            let value = load(&self.reads, input, row, m).and_then(|()| self.code.eval(m, cx));
            match value {
                Ok(r) => values[row] = m.value(r).clone(),
                Err(_) => failed = true,
            }
        });
        (!failed).then(|| Vector::Made(Column::of_values(values, input.arena)))
    }

    fn case<'a>(
        &self,
        arms: &[(Condition, Expression)],
        otherwise: Option<&Expression>,
        input: &mut Input<'a>,
        rows: Rows<'_>,
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
    ) -> Option<Vector<'a>> {
        let mut rest = rows.to_vec();
        let mut parts: Vec<(Vec<u32>, Vector<'a>)> = Vec::with_capacity(arms.len() + 1);
        for (when, then) in arms {
            let mut met = Vec::new();
            when.select(input, Rows::Some(&rest), &mut met, m, cx)?;
            if met.is_empty() {
                continue;
            }
            remove(&mut rest, &met);
            let value = then.eval(input, Rows::Some(&met), m, cx)?;
            parts.push((met, value));
        }
        if !rest.is_empty() {
            let value = match otherwise {
                Some(code) => code.eval(input, Rows::Some(&rest), m, cx)?,
                None => Vector::Same(Value::Null),
            };
            parts.push((rest, value));
        }
        Some(Vector::Made(unite(&parts, input)?))
    }
}

/// Unites the values of disjoint sets of rows in one column; `None` for damaged bytes.
fn unite(parts: &[(Vec<u32>, Vector<'_>)], input: &mut Input<'_>) -> Option<Column> {
    let none = Nulls::default();
    let mut numbers = Vec::with_capacity(parts.len());
    let mut nulls = Vec::new();
    for (rows, vector) in parts {
        match (vector, vector.numbers()) {
            (_, Some(n)) => numbers.push((Rows::Some(rows), n, vector.column().map_or(&none, |c| &c.nulls))),
            (Vector::Same(Value::Null), None) => nulls.push(rows),
            _ => break,
        }
    }
    if !numbers.is_empty()
        && numbers.len() + nulls.len() == parts.len()
        && let Some(mut column) = kernels::unify(&numbers, input.len)
    {
        nulls.into_iter().flatten().for_each(|row| column.nulls.set(*row as usize, input.len));
        return Some(column);
    }
    let mut values = vec![Value::Null; input.len];
    for (rows, vector) in parts {
        for &row in rows {
            let row = row as usize;
            match (vector, vector.column()) {
                (Vector::Same(v), _) => values[row].set(v),
                (_, Some(column)) => column.put(row, input.arena, &mut values[row]).ok()?,
                (_, None) => {}
            }
        }
    }
    Some(Column::of_values(values, input.arena))
}

/// Removes rows from a list; both lists ascend.
fn remove(from: &mut Vec<u32>, rows: &[u32]) {
    let mut gone = rows.iter().peekable();
    from.retain(|row| match gone.peek() {
        Some(&&next) if next == *row => {
            gone.next();
            false
        }
        _ => true,
    });
}

/// SUBSTR with a constant positive start.
fn substr(
    text: &Vector<'_>,
    start: &Vector<'_>,
    count: Option<&Vector<'_>>,
    rows: Rows<'_>,
    arena: &[u8],
) -> Option<Column> {
    let Data::Text(spans) = &text.column()?.data else { return None };
    let number = |v: &Vector<'_>| if let Vector::Same(v) = v { kernels::small(v) } else { None };
    let start = number(start).filter(|n| *n >= 0)?.max(1) as usize;
    let count = match count {
        Some(count) => Some(number(count).filter(|n| *n > 0)? as usize),
        None => None,
    };
    kernels::substr(spans, &text.nulls(), arena, (start, count), rows)
}

/// Puts the columns that the code reads of a row into their registers.
fn load(reads: &[(usize, Reg)], input: &Input<'_>, row: usize, m: &mut Machine) -> Result<()> {
    for (slot, reg) in reads {
        input.columns[*slot].put(row, input.arena, &mut m.regs[*reg as usize])?;
    }
    Ok(())
}

impl Condition {
    /// The batch forms of conditions over columns in these registers; `None` if one must be run row by row in its
    /// place.
    pub fn all(conds: Vec<Cond>, regs: &[Reg]) -> Option<Vec<Condition>> {
        conds.into_iter().map(|cond| Condition::new(cond, regs)).collect()
    }

    pub fn new(cond: Cond, regs: &[Reg]) -> Option<Condition> {
        let found = reads::of_cond(&cond)?;
        let reads = columns_of(&found, regs);
        let form = if found.volatile { Test::Rows } else { Condition::form(&cond, regs)? };
        Some(Condition { cond, form, reads })
    }

    fn form(cond: &Cond, regs: &[Reg]) -> Option<Test> {
        let expression = |code: &Code| Expression::new(code.clone(), regs);
        Some(match cond {
            Cond::Cmp(op, how, a, b) => Test::Compare(*op, *how, expression(a)?, expression(b)?),
            Cond::And(list) => Test::And(Condition::all(list.clone(), regs)?),
            Cond::Or(list) => Test::Or(Condition::all(list.clone(), regs)?),
            Cond::Not(cond) => match negated(cond) {
                Some(cond) => Condition::new(cond, regs)?.form,
                None => Test::Rows,
            },
            Cond::IsNull(code, negated) => Test::IsNull(expression(code)?, *negated),
            Cond::Like { value, pattern, escape: None, negated } => {
                Test::Like(expression(value)?, expression(pattern)?, *negated)
            }
            Cond::InList { value, list, compare, negated } => {
                let list = list.iter().map(expression).collect::<Option<Vec<_>>>()?;
                Test::In(expression(value)?, list, *compare, *negated)
            }
            Cond::InSet { value, set, null, padded, negated } => Test::Set {
                value: expression(value)?,
                set: set.clone(),
                null: *null,
                padded: *padded,
                negated: *negated,
            },
            _ => Test::Rows,
        })
    }

    /// The columns that are read.
    pub fn slots(&self) -> impl Iterator<Item = usize> + '_ {
        self.reads.iter().map(|(slot, _)| *slot)
    }

    /// The rows for which the condition is true; `None` when the evaluation of some row fails.
    pub fn select(
        &self,
        input: &mut Input<'_>,
        rows: Rows<'_>,
        out: &mut Vec<u32>,
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
    ) -> Option<()> {
        out.clear();
        if rows.count() == 0 {
            return Some(());
        }
        match &self.form {
            Test::And(list) => {
                let mut left = rows.to_vec();
                for cond in list {
                    cond.select(input, Rows::Some(&left), out, m, cx)?;
                    std::mem::swap(&mut left, out);
                }
                *out = left;
                return Some(());
            }
            Test::Or(list) => {
                let (mut rest, mut met, mut found) = (rows.to_vec(), Vec::new(), Vec::new());
                for cond in list {
                    cond.select(input, Rows::Some(&rest), &mut met, m, cx)?;
                    remove(&mut rest, &met);
                    found.extend_from_slice(&met);
                }
                found.sort_unstable();
                *out = found;
                return Some(());
            }
            Test::Compare(op, how, a, b) => {
                let (a, b) = (a.eval(input, rows, m, cx)?, b.eval(input, rows, m, cx)?);
                if compare(*op, *how, &a, &b, rows, input.arena, out) {
                    return Some(());
                }
            }
            Test::IsNull(value, negated) => {
                let value = value.eval(input, rows, m, cx)?;
                match (&value, value.column()) {
                    (Vector::Same(v), _) if v.is_null() == *negated => {}
                    (_, None) => *out = rows.to_vec(),
                    (_, Some(column)) => rows.select(out, |row| column.is_null(row) != *negated),
                }
                return Some(());
            }
            Test::Like(value, pattern, negated) => {
                let (value, pattern) = (value.eval(input, rows, m, cx)?, pattern.eval(input, rows, m, cx)?);
                if let (Some(Column { data: Data::Text(spans), nulls }), Vector::Same(Value::Text(pattern))) =
                    (value.column(), &pattern)
                    && let Some(pattern) = Pattern::new(pattern)
                {
                    let arena = &input.arena[..];
                    rows.select(out, |row| pattern.matches(spans[row].of(arena)) != *negated);
                    leave_nulls_out(out, nulls);
                    return Some(());
                }
            }
            Test::In(value, list, how, negated) => {
                let value = value.eval(input, rows, m, cx)?;
                if let Some(()) = self.in_list(&value, list, *how, *negated, input, rows, out, m, cx)? {
                    return Some(());
                }
            }
            Test::Set { value, set, null, padded, negated } => {
                let value = value.eval(input, rows, m, cx)?;
                if let Some(Column { data: Data::Text(spans), nulls }) = value.column() {
                    // With NULL in the list, a value that is not found is UNKNOWN.
                    if !(*negated && *null) {
                        let arena = &input.arena[..];
                        let trimmed = |bytes| if *padded { trim(bytes) } else { bytes };
                        rows.select(out, |row| set.contains(trimmed(spans[row].of(arena))) != *negated);
                        leave_nulls_out(out, nulls);
                    }
                    return Some(());
                }
            }
            Test::Rows => {}
        }
        self.by_rows(input, rows, out, m, cx)
    }

    /// The rows for which the condition is true, evaluated by the code for registers.
    fn by_rows(
        &self,
        input: &mut Input<'_>,
        rows: Rows<'_>,
        out: &mut Vec<u32>,
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
    ) -> Option<()> {
        out.clear();
        let mut failed = false;
        rows.each(|row| {
            if failed {
                return;
            }
            match load(&self.reads, input, row, m).and_then(|()| self.cond.test(m, cx)) {
                Ok(Some(true)) => out.push(row as u32),
                Ok(_) => {}
                Err(_) => failed = true,
            }
        });
        (!failed).then_some(())
    }

    /// IN with a few values: `Some(None)` if the batch form does not take these types.
    #[expect(clippy::too_many_arguments, reason = "the parts of the form and what every evaluation gets")]
    fn in_list(
        &self,
        value: &Vector<'_>,
        list: &[Expression],
        how: Compare,
        negated: bool,
        input: &mut Input<'_>,
        rows: Rows<'_>,
        out: &mut Vec<u32>,
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
    ) -> Option<Option<()>> {
        let Some(column) = value.column() else { return Some(None) };
        if let Data::Text(spans) = &column.data
            && list.iter().all(|e| matches!(e.form, Form::Same))
        {
            let items: Vec<Vector<'_>> = list.iter().map(|e| e.eval(input, rows, m, cx)).collect::<Option<_>>()?;
            let padded = how == Compare::Padded;
            let mut texts = Vec::with_capacity(items.len());
            for item in &items {
                if let Vector::Same(Value::Text(text)) = item {
                    texts.push(SameText::new(text.as_bytes(), padded));
                }
            }
            let nulls = items.iter().filter(|item| item.is_same_null()).count();
            if texts.len() + nulls == items.len() {
                // With NULL in the list, a value that is not found is UNKNOWN.
                if !(negated && nulls > 0) {
                    let arena = &input.arena[..];
                    let is_listed = |row: usize| texts.iter().any(|text| text.holds(spans[row], arena));
                    rows.select(out, |row| is_listed(row) != negated);
                    leave_nulls_out(out, &column.nulls);
                }
                return Some(Some(()));
            }
        }
        let (mut rest, mut met, mut found) = (rows.to_vec(), Vec::new(), Vec::new());
        leave_nulls_out(&mut rest, &column.nulls);
        let mut unknown = false;
        for e in list {
            let Form::Same = e.form else { return Some(None) };
            if rest.is_empty() {
                break;
            }
            let item = e.eval(input, Rows::Some(&rest), m, cx)?;
            if item.is_same_null() {
                unknown = true;
                continue;
            }
            if !compare(CmpOp::Eq, how, value, &item, Rows::Some(&rest), input.arena, &mut met) {
                return Some(None);
            }
            remove(&mut rest, &met);
            found.extend_from_slice(&met);
        }
        *out = match (negated, unknown) {
            (true, true) => Vec::new(),
            (true, false) => rest,
            (false, _) => {
                found.sort_unstable();
                found
            }
        };
        Some(Some(()))
    }
}

fn leave_nulls_out(rows: &mut Vec<u32>, nulls: &Nulls) {
    if nulls.any() {
        rows.retain(|row| !nulls.is(*row as usize));
    }
}

/// A condition that is true where `cond` is false and false where it is true; `None` if only NOT expresses it.
fn negated(cond: &Cond) -> Option<Cond> {
    Some(match cond {
        Cond::Cmp(op, how, a, b) => Cond::Cmp(op.negate(), *how, a.clone(), b.clone()),
        Cond::And(list) => Cond::Or(list.iter().map(not).collect()),
        Cond::Or(list) => Cond::And(list.iter().map(not).collect()),
        Cond::Not(cond) => (**cond).clone(),
        Cond::IsNull(code, negated) => Cond::IsNull(code.clone(), !negated),
        Cond::Like { value, pattern, escape, negated } => {
            Cond::Like { value: value.clone(), pattern: pattern.clone(), escape: escape.clone(), negated: !negated }
        }
        Cond::InList { value, list, compare, negated } => {
            Cond::InList { value: value.clone(), list: list.clone(), compare: *compare, negated: !negated }
        }
        Cond::InSet { value, set, null, padded, negated } => {
            Cond::InSet { value: value.clone(), set: set.clone(), null: *null, padded: *padded, negated: !negated }
        }
        _ => return None,
    })
}

fn not(cond: &Cond) -> Cond {
    negated(cond).unwrap_or_else(|| Cond::Not(Box::new(cond.clone())))
}

/// Keeps the rows in which `a op b`. False if these types cannot be compared in batches.
fn compare(
    op: CmpOp,
    how: Compare,
    a: &Vector<'_>,
    b: &Vector<'_>,
    rows: Rows<'_>,
    arena: &[u8],
    out: &mut Vec<u32>,
) -> bool {
    out.clear();
    if a.is_same_null() || b.is_same_null() {
        return true;
    }
    let done = match (a, b) {
        (Vector::Same(_), Vector::Same(_)) => false,
        (Vector::Same(_), b) => return compare(op.swap(), how, b, a, rows, arena, out),
        (a, Vector::Same(v)) => match (a.column().map(|c| &c.data), v) {
            (Some(Data::Date(words)), Value::Date(d)) => {
                let bound = super::column::date_word(d);
                kernels::select_words(op, rows, out, |row| words[row], |_| bound);
                true
            }
            (Some(Data::Text(spans)), Value::Text(s)) => {
                let text = s.as_bytes();
                let padded = how == Compare::Padded;
                match op {
                    CmpOp::Eq | CmpOp::Ne => {
                        let same = SameText::new(text, padded);
                        rows.select(out, |row| same.holds(spans[row], arena) == (op == CmpOp::Eq));
                    }
                    _ if padded => {
                        kernels::select_ordered(op, rows, out, |row| padded_order(spans[row].of(arena), text));
                    }
                    _ => kernels::select_ordered(op, rows, out, |row| spans[row].of(arena).cmp(text)),
                }
                true
            }
            _ => match (a.numbers(), b.numbers()) {
                (Some(a), Some(b)) => kernels::compare_numbers(op, a, b, rows, out),
                _ => false,
            },
        },
        (a, b) => match (a.column().map(|c| &c.data), b.column().map(|c| &c.data)) {
            (Some(Data::Date(x)), Some(Data::Date(y))) => {
                kernels::select_words(op, rows, out, |row| x[row], |row| y[row]);
                true
            }
            (Some(Data::Text(x)), Some(Data::Text(y))) => {
                match how {
                    Compare::Padded => {
                        kernels::select_ordered(op, rows, out, |row| padded_order(x[row].of(arena), y[row].of(arena)))
                    }
                    _ => kernels::select_ordered(op, rows, out, |row| x[row].of(arena).cmp(y[row].of(arena))),
                }
                true
            }
            _ => match (a.numbers(), b.numbers()) {
                (Some(a), Some(b)) => kernels::compare_numbers(op, a, b, rows, out),
                _ => false,
            },
        },
    };
    if done {
        for column in [a.column(), b.column()].into_iter().flatten() {
            leave_nulls_out(out, &column.nulls);
        }
    }
    done
}

/// The rows of a batch for which all conditions are true. If the evaluation of a row fails, only the rows before it,
/// and its error is deferred.
///
/// # Errors
/// The error of the first row, if no row precedes it.
pub fn filter(
    conds: &[Condition],
    batch: &mut Batch,
    regs: &[Reg],
    selected: &mut Vec<u32>,
    failing: &mut Failing,
    m: &mut Machine,
    cx: &mut ExecCtx<'_>,
) -> Result<()> {
    let Batch { len, columns, arena, .. } = batch;
    let mut input = Input { len: *len, columns, arena };
    if select_all(conds, &mut input, selected, m, cx).is_some() {
        return Ok(());
    }
    selected.clear();
    for row in 0..batch.len {
        let mut passes = || -> Result<bool> {
            batch.restore(row, regs, m)?;
            for cond in conds {
                if cond.cond.test(m, cx)? != Some(true) {
                    return Ok(false);
                }
            }
            Ok(true)
        };
        match passes() {
            Ok(true) => selected.push(row as u32),
            Ok(false) => {}
            Err(e) => return failing.after(selected.len(), e),
        }
    }
    Ok(())
}

/// The rows for which all conditions are true; `None` if an evaluation fails.
pub fn select_all(
    conds: &[Condition],
    input: &mut Input<'_>,
    selected: &mut Vec<u32>,
    m: &mut Machine,
    cx: &mut ExecCtx<'_>,
) -> Option<()> {
    let mut rest = conds.iter();
    match rest.next() {
        Some(first) => first.select(input, Rows::All(input.len), selected, m, cx)?,
        None => *selected = Rows::All(input.len).to_vec(),
    }
    let mut before = Vec::new();
    for cond in rest {
        std::mem::swap(&mut before, selected);
        cond.select(input, Rows::Some(&before), selected, m, cx)?;
    }
    Some(())
}
