//! Arithmetic on dates, timestamps, intervals and binary floating point.

use plan::ArithOp;
use types::{IntervalDs, IntervalYm, Number, Ora, Result, Value};

pub fn negate(i: &IntervalDs) -> Result<IntervalDs> {
    types::IntervalDs::from_nanos(-i.to_nanos())
}

/// `a op b` where one side is not a NUMBER. The planner has arranged a date or timestamp to stand on the left.
pub fn arith(op: ArithOp, a: &Value, b: &Value) -> Result<Value> {
    use Value::*;
    let subtract = op == ArithOp::Sub;
    Ok(match (a, b) {
        (Date(d), Number(n)) => {
            let n = if subtract { n.neg() } else { *n };
            Date(d.add_days(&n)?)
        }
        (Date(x), Date(y)) => Number(x.days_since(y)),
        (Timestamp(x), Timestamp(y)) => IntervalDs(x.since(y)),
        (Date(d), IntervalDs(i)) => {
            let i = if subtract { negate(i)? } else { *i };
            Date(d.add_seconds(i.seconds)?)
        }
        (Date(d), IntervalYm(i)) => {
            let months = if subtract { -i.months } else { i.months };
            Date(types::Timestamp::new(*d, 0).add_ym(&types::IntervalYm { months })?.clock())
        }
        (Timestamp(t), IntervalDs(i)) => {
            let i = if subtract { negate(i)? } else { *i };
            Timestamp(t.add_ds(&i)?)
        }
        (Timestamp(t), IntervalYm(i)) => {
            let months = if subtract { -i.months } else { i.months };
            Timestamp(t.add_ym(&types::IntervalYm { months })?)
        }
        (IntervalDs(x), IntervalDs(y)) => {
            let y = if subtract { -y.to_nanos() } else { y.to_nanos() };
            IntervalDs(types::IntervalDs::from_nanos(x.to_nanos() + y)?)
        }
        (IntervalYm(x), IntervalYm(y)) => {
            let y = if subtract { -i64::from(y.months) } else { y.months.into() };
            IntervalYm(types::IntervalYm::new(i64::from(x.months) + y)?)
        }
        (IntervalDs(i), Number(n)) => IntervalDs(scale_ds(i, n, op)?),
        (IntervalYm(i), Number(n)) => IntervalYm(scale_ym(i, n, op)?),
        (Double(x), Double(y)) => Double(float(op, *x, *y)),
        (Float(x), Float(y)) => Float(float(op, f64::from(*x), f64::from(*y)) as f32),
        _ => return Err(Ora::with(932, &[&a.data_type().name(), &b.data_type().name()])),
    })
}

fn float(op: ArithOp, x: f64, y: f64) -> f64 {
    match op {
        ArithOp::Add => x + y,
        ArithOp::Sub => x - y,
        ArithOp::Mul => x * y,
        ArithOp::Div => x / y,
    }
}

fn scale_ds(i: &IntervalDs, n: &Number, op: ArithOp) -> Result<IntervalDs> {
    let total = Number::from_i128(i.to_nanos());
    let scaled = if op == ArithOp::Div { total.div(n)? } else { total.mul(n)? };
    let text = scaled.round(0).to_string();
    IntervalDs::from_nanos(text.parse().map_err(|_| Ora::new(1873))?)
}

fn scale_ym(i: &IntervalYm, n: &Number, op: ArithOp) -> Result<IntervalYm> {
    let months = Number::from(i64::from(i.months));
    let scaled = if op == ArithOp::Div { months.div(n)? } else { months.mul(n)? };
    IntervalYm::new(scaled.trunc(0).to_i64().map_err(|_| Ora::new(1873))?)
}
