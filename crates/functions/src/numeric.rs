//! Numeric functions. BINARY_DOUBLE and BINARY_FLOAT keep their type if the function has a floating-point form.

use crate::args::{count, give, null, number, out_of_range};
use crate::{FnCtx, date};
use types::{Number, Ora, Result, Value};

fn is_double(arg: &Value) -> bool {
    matches!(arg, Value::Double(_) | Value::Float(_))
}

/// Applies a function of one number.
fn unary(
    ctx: &FnCtx<'_>,
    args: &[Value],
    out: &mut Value,
    exact: fn(&Number) -> Result<Number>,
    double: fn(f64) -> f64,
) -> Result<()> {
    match &args[0] {
        Value::Double(x) => *out = Value::Double(double(*x)),
        Value::Float(x) => *out = Value::Float(double(f64::from(*x)) as f32),
        arg => {
            let Some(n) = number(ctx, arg)? else { return null(out) };
            *out = Value::Number(exact(&n)?);
        }
    }
    Ok(())
}

/// Applies a function of two numbers; if one is BINARY_DOUBLE, both are.
fn binary(
    ctx: &FnCtx<'_>,
    args: &[Value],
    out: &mut Value,
    exact: fn(&Number, &Number) -> Result<Number>,
    double: fn(f64, f64) -> f64,
) -> Result<()> {
    if args.iter().any(is_double) {
        let (Some(a), Some(b)) = (args[0].to_double(ctx.nls)?, args[1].to_double(ctx.nls)?) else { return null(out) };
        *out = Value::Double(double(a, b));
        return Ok(());
    }
    let (Some(a), Some(b)) = (number(ctx, &args[0])?, number(ctx, &args[1])?) else { return null(out) };
    give(out, exact(&a, &b)?)
}

macro_rules! unary {
    ($($name:ident: $exact:expr, $double:expr;)*) => {$(
        pub(crate) fn $name(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
            unary(ctx, args, out, $exact, $double)
        }
    )*};
}

unary! {
    abs: |n| Ok(n.abs()), f64::abs;
    ceil: |n| Ok(n.ceil()), f64::ceil;
    floor: |n| Ok(n.floor()), f64::floor;
    sqrt: Number::sqrt, f64::sqrt;
    exp: Number::exp, f64::exp;
    ln: Number::ln, f64::ln;
    sin: Number::sin, f64::sin;
    cos: Number::cos, f64::cos;
    tan: Number::tan, f64::tan;
    asin: Number::asin, f64::asin;
    acos: Number::acos, f64::acos;
    atan: Number::atan, f64::atan;
    sinh: Number::sinh, f64::sinh;
    cosh: Number::cosh, f64::cosh;
    tanh: Number::tanh, f64::tanh;
}

macro_rules! binary {
    ($($name:ident: $exact:expr, $double:expr;)*) => {$(
        pub(crate) fn $name(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
            binary(ctx, args, out, $exact, $double)
        }
    )*};
}

binary! {
    modulo: Number::modulo, |a, b| if b == 0.0 { a } else { a % b };
    remainder: Number::remainder, |a, b| a - b * (a / b).round_ties_even();
    power: Number::power, f64::powf;
    log: Number::log, |base, n| n.ln() / base.ln();
    atan2: Number::atan2, f64::atan2;
}

pub(crate) fn sign(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    if is_double(&args[0]) {
        let x = args[0].to_double(ctx.nls)?.unwrap_or(0.0);
        // SIGN of a double is never zero: for zero and NaN it is one.
        return give(out, Number::from_i64(if x < 0.0 { -1 } else { 1 }));
    }
    let Some(n) = number(ctx, &args[0])? else { return null(out) };
    give(out, Number::from_i64(n.signum().into()))
}

/// ROUND and TRUNC of a number; those of a datetime are in `date`.
fn to_places(
    ctx: &mut FnCtx<'_>,
    args: &[Value],
    out: &mut Value,
    exact: fn(&Number, i32) -> Number,
    double: fn(f64) -> f64,
) -> Result<()> {
    let places = match args.get(1) {
        Some(arg) => match count(ctx, arg)? {
            Some(places) => places.clamp(-1000, 1000) as i32,
            None => return null(out),
        },
        None => 0,
    };
    if is_double(&args[0]) {
        let x = args[0].to_double(ctx.nls)?.unwrap_or(0.0);
        let unit = 10f64.powi(places);
        *out = Value::Double(double(x * unit) / unit);
        return Ok(());
    }
    let Some(n) = number(ctx, &args[0])? else { return null(out) };
    give(out, exact(&n, places))
}

pub(crate) fn round(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    // With a NULL date it is unknown whether the model is one of dates.
    if args[0].is_null() {
        return null(out);
    }
    if matches!(args[0], Value::Date(_) | Value::Timestamp(_)) {
        return date::round(ctx, args, out);
    }
    to_places(ctx, args, out, Number::round, f64::round_ties_even)
}

pub(crate) fn trunc(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    // With a NULL date it is unknown whether the model is one of dates.
    if args[0].is_null() {
        return null(out);
    }
    if matches!(args[0], Value::Date(_) | Value::Timestamp(_)) {
        return date::trunc(ctx, args, out);
    }
    to_places(ctx, args, out, Number::trunc, f64::trunc)
}

pub(crate) fn bitand(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let (Some(a), Some(b)) = (number(ctx, &args[0])?, number(ctx, &args[1])?) else { return null(out) };
    let bits = |n: Number| -> Result<i128> {
        let cut = n.trunc(0);
        let value: i128 = match cut.as_i64() {
            Some(n) => n.into(),
            None => cut.to_string().parse().map_err(|_| out_of_range(&n))?,
        };
        if value.unsigned_abs() < 1 << 127 { Ok(value) } else { Err(out_of_range(&n)) }
    };
    give(out, Number::from_i128(bits(a)? & bits(b)?))
}

pub(crate) fn bin_to_num(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let mut n = 0i128;
    for arg in args {
        let bit = match number(ctx, arg)?.and_then(|n| n.as_i64()) {
            Some(bit @ (0 | 1)) => bit,
            _ => return Err(Ora::new(1760)),
        };
        n = n << 1 | i128::from(bit);
    }
    give(out, Number::from_i128(n))
}

pub(crate) fn nanvl(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let nan = match &args[0] {
        Value::Double(x) => x.is_nan(),
        Value::Float(x) => x.is_nan(),
        _ => false,
    };
    if nan {
        out.set(&args[1]);
        return Ok(());
    }
    if is_double(&args[0]) {
        out.set(&args[0]);
        return Ok(());
    }
    let Some(n) = number(ctx, &args[0])? else { return null(out) };
    give(out, n)
}

/// WIDTH_BUCKET(value, low, high, buckets); the bounds may be reversed.
pub(crate) fn width_bucket(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let scale = |arg: &Value| -> Result<Option<Number>> {
        match arg {
            Value::Date(d) => Ok(Some(Number::from_i64(d.to_unix()))),
            Value::Timestamp(t) => Ok(Some(Number::from_i64(t.instant()))),
            _ => arg.to_number(ctx.nls),
        }
    };
    let (Some(x), Some(low), Some(high)) = (scale(&args[0])?, scale(&args[1])?, scale(&args[2])?) else {
        return null(out);
    };
    let Some(buckets) = number(ctx, &args[3])? else { return null(out) };
    let buckets = buckets.trunc(0);
    if buckets.signum() <= 0 {
        return Err(out_of_range(&buckets));
    }
    let (x, span) = if low <= high { (x.sub(&low)?, high.sub(&low)?) } else { (low.sub(&x)?, low.sub(&high)?) };
    if x.is_negative() {
        return give(out, Number::ZERO);
    }
    if x >= span {
        return give(out, buckets.add(&Number::ONE)?);
    }
    give(out, x.mul(&buckets)?.div(&span)?.floor().add(&Number::ONE)?)
}
