//! DBMS_STATS.STATREC: the minimum, the maximum and the histogram of a column, as made by PREPARE_COLUMN_VALUES, stored
//! by SET_COLUMN_STATS and returned by GET_COLUMN_STATS.
//!
//! EAVALS has the stored bytes of each endpoint, which decide. NOVALS has them as numbers, like ENDPOINT_VALUE of
//! *_TAB_HISTOGRAMS, CHVALS as texts. BKVALS counts rows up to and including each endpoint; in a height-balanced
//! histogram it counts buckets, and the first endpoint ends number 0. RPCNTS, if present, makes the histogram a hybrid
//! one. Two endpoints that end buckets 0 and 1 are the minimum and maximum of the column, without a histogram.

use crate::datum::{Coll, CollData, CollInfo, CollKind, Datum, Rec};
use dictionary::HistogramKind;
use dictionary::statistics::cut;
use dictionary::statistics_request::{EndpointFigures, HistogramFigures};
use std::rc::Rc;
use types::{Number, Ora, Value, codec};

/// Largest number of elements of the arrays.
const ELEMENTS_MAX: u32 = 2050;
/// Indexes of the record's fields among its scalars and among its arrays, as declared in `specs`.
mod scalar {
    pub const EPC: usize = 0;
    pub const MINVAL: usize = 1;
    pub const MAXVAL: usize = 2;
    pub const EAVS: usize = 3;
    pub const COUNT: usize = 4;
}
mod array {
    pub const BKVALS: usize = 0;
    pub const NOVALS: usize = 1;
    pub const CHVALS: usize = 2;
    pub const EAVALS: usize = 3;
    pub const RPCNTS: usize = 4;
    pub const COUNT: usize = 5;
}

fn inconsistent() -> Ora {
    Ora::user(20001, "Invalid or inconsistent input values")
}

/// The values of an array; `None` for a null or empty one.
pub(super) fn elements(array: Option<&Datum>) -> Option<Vec<Value>> {
    let Some(Datum::Coll(Some(array))) = array else { return None };
    let values: Vec<Value> =
        array.elements().map(|e| if let Datum::Val(v) = e { v.clone() } else { Value::Null }).collect();
    (!values.is_empty()).then_some(values)
}

fn array(values: Vec<Value>) -> Datum {
    let info = CollInfo { element: Datum::default(), limit: Some(ELEMENTS_MAX), kind: CollKind::Varray };
    let data = CollData::Dense(values.into_iter().map(|value| Some(Datum::Val(value))).collect());
    Datum::Coll(Some(Rc::new(Coll { info: Rc::new(info), data })))
}

fn number(n: u64) -> Value {
    Value::Number(Number::from_u64(n))
}

fn count(value: &Value) -> Option<u64> {
    match value {
        Value::Number(n) => n.round(0).as_i64().and_then(|n| u64::try_from(n).ok()),
        _ => None,
    }
}

fn stored(value: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    codec::encode_instant(value, &mut bytes);
    cut(&bytes).to_vec()
}

fn raw(bytes: Vec<u8>) -> Value {
    if bytes.is_empty() { Value::Null } else { Value::Raw(bytes) }
}

/// An endpoint in the form of the record.
pub(super) struct Endpoint {
    pub value: Vec<u8>,
    pub place: Option<Number>,
    pub text: Option<String>,
    pub cumulative: u64,
    pub repeats: Option<u64>,
}

/// The record of endpoints in value order.
pub(super) fn record(endpoints: &[Endpoint]) -> Datum {
    let mut scalars = vec![Value::Null; scalar::COUNT];
    let mut nested = vec![Datum::Coll(None); array::COUNT];
    scalars[scalar::EPC] = number(endpoints.len() as u64);
    if let (Some(first), Some(last)) = (endpoints.first(), endpoints.last()) {
        scalars[scalar::MINVAL] = raw(first.value.clone());
        scalars[scalar::MAXVAL] = raw(last.value.clone());
    }
    let all = |of: &dyn Fn(&Endpoint) -> Value| array(endpoints.iter().map(of).collect());
    nested[array::BKVALS] = all(&|e| number(e.cumulative));
    nested[array::NOVALS] = all(&|e| e.place.map_or(Value::Null, Value::Number));
    if endpoints.iter().any(|e| e.text.is_some()) {
        nested[array::CHVALS] = all(&|e| e.text.clone().map_or(Value::Null, Value::Text));
    }
    nested[array::EAVALS] = all(&|e| raw(e.value.clone()));
    if endpoints.iter().any(|e| e.repeats.is_some()) {
        nested[array::RPCNTS] = all(&|e| number(e.repeats.unwrap_or(0)));
    }
    // The stored bytes are complete.
    scalars[scalar::EAVS] = number(4);
    Datum::Rec(Rc::new(Rec { scalars, nested }))
}

/// PREPARE_COLUMN_VALUES: the record of values in ascending order. EPC of the given record is their number; BKVALS, if
/// present, has the rows of each: a frequency histogram, or with RPCNTS the buckets of a hybrid one.
///
/// # Errors
/// ORA-20001 for fewer than two values, for a number that differs from that of another array, for a NULL, and for
/// values out of order.
pub(super) fn prepare(given: Option<&Datum>, values: &[Value]) -> Result<Datum, Ora> {
    let Some(Datum::Rec(given)) = given else { return Err(inconsistent()) };
    let epc = given.scalars.get(scalar::EPC).and_then(count).ok_or_else(inconsistent)?;
    let of = |at: usize| elements(given.nested.get(at));
    let (rows, repeats) = (of(array::BKVALS), of(array::RPCNTS));
    let differs = |array: &Option<Vec<Value>>| array.as_ref().is_some_and(|array| array.len() != values.len());
    if values.len() < 2 || epc != values.len() as u64 || differs(&rows) || differs(&repeats) {
        return Err(inconsistent());
    }
    if repeats.is_some() && rows.is_none() {
        return Err(inconsistent());
    }
    let mut endpoints: Vec<Endpoint> = Vec::with_capacity(values.len());
    let mut cumulative = 0u64;
    for (at, value) in values.iter().enumerate() {
        let bytes = stored(value);
        if value.is_null() || endpoints.last().is_some_and(|before| before.value > bytes) {
            return Err(inconsistent());
        }
        cumulative = match &rows {
            Some(rows) => count(&rows[at]).and_then(|rows| cumulative.checked_add(rows)).ok_or_else(inconsistent)?,
            None => at as u64,
        };
        let repeats = match &repeats {
            Some(repeats) => Some(count(&repeats[at]).ok_or_else(inconsistent)?),
            None => None,
        };
        let place = dictionary::place_of(value).and_then(|place| Number::from_f64(place).ok());
        let text = if let Value::Text(text) = value { Some(text.clone()) } else { None };
        endpoints.push(Endpoint { value: bytes, place, text, cumulative, repeats });
    }
    Ok(record(&endpoints))
}

/// The minimum, maximum and histogram of a record; `None` for a null record.
///
/// # Errors
/// ORA-20001 for arrays of different lengths, for decreasing counts, and for endpoints without a value.
pub(super) fn figures(given: Option<&Datum>) -> Result<Option<HistogramFigures>, Ora> {
    let Some(Datum::Rec(given)) = given else { return Ok(None) };
    let of = |at: usize| elements(given.nested.get(at));
    let end = |at: usize| match given.scalars.get(at) {
        Some(Value::Raw(bytes)) => Some(bytes.clone()),
        _ => None,
    };
    let ends = end(scalar::MINVAL).zip(end(scalar::MAXVAL));
    let counts = of(array::BKVALS);
    if ends.is_none() && counts.is_none() {
        return Ok(None);
    }
    let (texts, numbers, repeats) = (of(array::CHVALS), of(array::NOVALS), of(array::RPCNTS));
    let values = of(array::EAVALS);
    let mut endpoints: Vec<EndpointFigures> = Vec::new();
    for (at, cumulative) in counts.iter().flatten().enumerate() {
        let cumulative = count(cumulative).ok_or_else(inconsistent)?;
        let value_in = |array: &Option<Vec<Value>>| {
            let value = array.as_ref()?.get(at)?;
            (!value.is_null()).then(|| stored(value))
        };
        let value = value_in(&values).or_else(|| value_in(&texts)).or_else(|| value_in(&numbers));
        let value = value.ok_or_else(inconsistent)?;
        let repeats = match &repeats {
            Some(repeats) => Some(repeats.get(at).and_then(count).ok_or_else(inconsistent)?),
            None => None,
        };
        match endpoints.last_mut() {
            Some(before) if before.value > value || before.cumulative > cumulative => return Err(inconsistent()),
            // A popular value ends several buckets, and is kept with the last one.
            Some(before) if before.value == value => {
                (before.cumulative, before.repeats) = (cumulative, repeats.unwrap_or(0))
            }
            _ => endpoints.push(EndpointFigures { value, cumulative, repeats: repeats.unwrap_or(0) }),
        }
    }
    let first = counts.as_ref().and_then(|counts| counts.first()).and_then(count);
    let last = endpoints.last().map_or(0, |last| last.cumulative);
    let kind = match first {
        None => HistogramKind::None,
        Some(0) if last <= 1 => HistogramKind::None,
        Some(_) if repeats.is_some() => HistogramKind::Hybrid,
        Some(0) => HistogramKind::HeightBalanced,
        Some(_) => HistogramKind::Frequency,
    };
    let ends = ends.or_else(|| Some((endpoints.first()?.value.clone(), endpoints.last()?.value.clone())));
    Ok(ends.map(|ends| HistogramFigures { ends, kind, endpoints }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(epc: u64, rows: Option<&[u64]>) -> Datum {
        let mut scalars = vec![Value::Null; scalar::COUNT];
        scalars[scalar::EPC] = number(epc);
        let mut nested = vec![Datum::Coll(None); array::COUNT];
        if let Some(rows) = rows {
            nested[array::BKVALS] = array(rows.iter().map(|n| number(*n)).collect());
        }
        Datum::Rec(Rc::new(Rec { scalars, nested }))
    }

    fn prepared(rows: Option<&[u64]>, values: &[Value]) -> HistogramFigures {
        let record = prepare(Some(&given(values.len() as u64, rows)), values).expect("a record");
        figures(Some(&record)).expect("consistent").expect("not null")
    }

    fn shown(figures: &HistogramFigures) -> Vec<(&[u8], u64)> {
        figures.endpoints.iter().map(|e| (e.value.as_slice(), e.cumulative)).collect()
    }

    #[test]
    fn counts_of_rows_make_a_frequency_histogram() {
        let values = ["a", "b", "d"].map(Value::text);
        let found = prepared(Some(&[5, 1, 4]), &values);
        assert_eq!(found.kind, HistogramKind::Frequency);
        assert_eq!(shown(&found), [(&b"a"[..], 5), (b"b", 6), (b"d", 10)]);
        assert_eq!(found.ends, (b"a".to_vec(), b"d".to_vec()));
    }

    #[test]
    fn endpoints_alone_make_a_height_balanced_histogram_or_ends() {
        let found = prepared(None, &["a", "c", "c", "d"].map(Value::text));
        assert_eq!(found.kind, HistogramKind::HeightBalanced);
        assert_eq!(shown(&found), [(&b"a"[..], 0), (b"c", 2), (b"d", 3)]);
        let found = prepared(None, &["a", "d"].map(Value::text));
        assert_eq!((found.kind, found.ends), (HistogramKind::None, (b"a".to_vec(), b"d".to_vec())));
    }

    #[test]
    fn inconsistent_arrays_are_refused() {
        let values = ["a", "b"].map(Value::text);
        for (epc, rows, values) in [
            (3, None, &values[..]),
            (2, Some(&[1u64][..]), &values),
            (1, None, &values[..1]),
            (2, None, &["b", "a"].map(Value::text)[..]),
            (2, None, &[Value::text("a"), Value::Null]),
        ] {
            assert!(prepare(Some(&given(epc, rows)), values).expect_err("refused").is(20001));
        }
    }
}
