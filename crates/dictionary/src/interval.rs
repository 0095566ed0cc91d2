//! The width of the partitions of an interval-partitioned table.
//!
//! Partition number `n` begins `n` widths above the transition point, which is the highest bound of the range
//! partitions. Partitions exist only where rows have been inserted, so each one stores both of its bounds.

use types::{DataType, Date, IntervalDs, Number, Ora, Result, Timestamp, Value, codec};

/// The width, and the text of the INTERVAL clause.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Interval {
    pub text: String,
    pub width: Width,
}

/// The width in the unit of the key's type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Width {
    Number(Number),
    Months(i32),
    Nanos(i128),
}

const SECOND: i128 = 1_000_000_000;

/// ORA-14300: no partition can be made for the key.
fn beyond() -> Ora {
    Ora::new(14300)
}

impl Width {
    /// The width for a key of this type. `None` for a value of another type, and one that is not positive.
    pub fn of(value: &Value, key: &DataType) -> Option<Width> {
        let width = match (value, key) {
            (Value::Number(n), DataType::Number { .. }) => Width::Number(*n),
            (Value::IntervalYm(ym), DataType::Date | DataType::Timestamp { .. }) => Width::Months(ym.months),
            (Value::IntervalDs(ds), DataType::Date) if ds.nanos == 0 => Width::Nanos(ds.to_nanos()),
            (Value::IntervalDs(ds), DataType::Timestamp { .. }) => Width::Nanos(ds.to_nanos()),
            _ => return None,
        };
        let positive = match &width {
            Width::Number(n) => n.signum() > 0,
            Width::Months(months) => *months > 0,
            Width::Nanos(nanos) => *nanos > 0,
        };
        positive.then_some(width)
    }

    /// INTERVAL_BIVAL of PARTOBJ$: a byte for the kind, and the number.
    pub fn to_bytes(&self) -> Vec<u8> {
        match self {
            Width::Number(n) => {
                let mut bytes = vec![1];
                n.encode(&mut bytes);
                bytes
            }
            Width::Months(months) => [&[2], &months.to_be_bytes()[..]].concat(),
            Width::Nanos(nanos) => [&[3], &nanos.to_be_bytes()[..]].concat(),
        }
    }

    /// `None` for bytes that [`Width::to_bytes`] has not written.
    pub fn of_bytes(bytes: &[u8]) -> Option<Width> {
        let (kind, rest) = bytes.split_first()?;
        match kind {
            1 => Number::decode(rest).map(Width::Number),
            2 => Some(Width::Months(i32::from_be_bytes(rest.try_into().ok()?))),
            3 => Some(Width::Nanos(i128::from_be_bytes(rest.try_into().ok()?))),
            _ => None,
        }
    }

    /// Whether the bounds may begin at this one: a month that is added must never meet a shorter month (ORA-14767).
    pub fn fits(&self, transition: &Value) -> bool {
        let day = match transition {
            Value::Date(date) => date.fields().day,
            Value::Timestamp(at) => at.clock().fields().day,
            _ => return true,
        };
        !matches!(self, Width::Months(_)) || day <= 28
    }

    /// The bounds of the partition that has the value, which is not below `transition`.
    ///
    /// # Errors
    /// ORA-14300 when they are outside the type's range.
    pub fn around(&self, transition: &Value, value: &Value) -> Result<(Value, Value)> {
        match (self, transition, value) {
            (Width::Number(width), Value::Number(from), Value::Number(n)) => numbers(width, from, n),
            (Width::Months(width), Value::Date(from), Value::Date(at)) => {
                months(*width, *from, *at).map(|(low, high)| (Value::Date(low), Value::Date(high)))
            }
            (Width::Months(width), Value::Timestamp(from), Value::Timestamp(at)) => {
                let nanos = from.nanos;
                // The part of a second decides as the next field below the seconds.
                let mut clock = at.clock();
                if at.nanos < nanos {
                    clock = clock.add_seconds(-1).map_err(|_| beyond())?;
                }
                let stamp = |date: Date| Value::Timestamp(Timestamp::new(date, nanos));
                months(*width, from.clock(), clock).map(|(low, high)| (stamp(low), stamp(high)))
            }
            (Width::Nanos(width), Value::Date(from), Value::Date(at)) => {
                let distance = i128::from(at.seconds_since(from)) * SECOND;
                let low = distance.div_euclid(*width) * width;
                let at = |nanos: i128| {
                    let seconds = i64::try_from(nanos / SECOND).map_err(|_| beyond())?;
                    from.add_seconds(seconds).map(Value::Date).map_err(|_| beyond())
                };
                at(low).and_then(|first| Ok((first, at(low.saturating_add(*width))?)))
            }
            (Width::Nanos(width), Value::Timestamp(from), Value::Timestamp(at)) => {
                let low = at.since(from).to_nanos().div_euclid(*width) * width;
                let at = |nanos: i128| {
                    let ds = IntervalDs::from_nanos(nanos).map_err(|_| beyond())?;
                    from.add_ds(&ds).map(Value::Timestamp).map_err(|_| beyond())
                };
                at(low).and_then(|first| Ok((first, at(low.saturating_add(*width))?)))
            }
            _ => Err(Ora::internal("[interval of another type than the key]")),
        }
    }
}

fn numbers(width: &Number, from: &Number, n: &Number) -> Result<(Value, Value)> {
    let steps = n.sub(from)?.div(width).map_err(|_| beyond())?.floor();
    let mut low = steps.mul(width).and_then(|distance| from.add(&distance)).map_err(|_| beyond())?;
    let mut high = low.add(width).map_err(|_| beyond())?;
    // The quotient is rounded to 40 digits, so it may be a whole number too high or too low.
    if low > *n {
        (low, high) = (low.sub(width)?, low);
    } else if high <= *n {
        (low, high) = (high, high.add(width).map_err(|_| beyond())?);
    }
    match low <= *n && *n < high {
        true => Ok((Value::Number(low), Value::Number(high))),
        // A width far below the precision of the key.
        false => Err(beyond()),
    }
}

fn months(width: i32, from: Date, at: Date) -> Result<(Date, Date)> {
    let number = |date: Date| {
        let f = date.fields();
        i64::from(f.year) * 12 + i64::from(f.month)
    };
    let width = i64::from(width);
    let step = |n: i64| from.add_months(n.saturating_mul(width)).map_err(|_| beyond());
    let mut n = (number(at) - number(from)).div_euclid(width);
    if step(n)? > at {
        n -= 1;
    }
    Ok((step(n)?, step(n + 1)?))
}

/// A value as a part of a partitioning key.
pub fn key_of(value: &Value) -> Vec<u8> {
    let (mut stored, mut key) = (Vec::new(), Vec::new());
    codec::encode_instant(value, &mut stored);
    codec::push_key_part(Some(&stored), false, &mut key);
    key
}

/// The value of the only part of a partitioning key.
///
/// # Errors
/// ORA-00600 for damaged bytes and for NULL.
pub fn value_of(key: &[u8], ty: &DataType) -> Result<Value> {
    let (mut stored, mut value) = (Vec::new(), Value::Null);
    match codec::pop_key_part(key, false, &mut stored) {
        Some((_, true)) => codec::decode_into(&stored, ty, &mut value).map(|()| value),
        _ => Err(Ora::internal("[bound of an interval]")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn date(year: i32, month: u32, day: u32) -> Value {
        Value::Date(Date::from_ymd(year, month, day).unwrap())
    }

    fn number(text: &str) -> Value {
        Value::Number(Number::parse(text).unwrap())
    }

    #[test]
    fn a_value_lies_within_the_bounds_of_its_interval() {
        let months = Width::Months(3);
        let around = |at| months.around(&date(2020, 1, 15), &at).unwrap();
        assert_eq!(around(date(2020, 1, 15)), (date(2020, 1, 15), date(2020, 4, 15)));
        assert_eq!(around(date(2020, 4, 14)), (date(2020, 1, 15), date(2020, 4, 15)));
        assert_eq!(around(date(2021, 12, 31)), (date(2021, 10, 15), date(2022, 1, 15)));
        assert!(months.around(&date(2020, 1, 15), &date(9999, 12, 31)).unwrap_err().is(14300));
        let days = Width::Nanos(7 * 86_400 * SECOND);
        assert_eq!(days.around(&date(2020, 1, 1), &date(2020, 1, 20)).unwrap(), (date(2020, 1, 15), date(2020, 1, 22)));
        let tens = Width::Number(Number::from(10));
        assert_eq!(tens.around(&number("0"), &number("29.5")).unwrap(), (number("20"), number("30")));
        assert_eq!(tens.around(&number("5"), &number("5")).unwrap(), (number("5"), number("15")));
        let thirds = Width::Number(Number::parse("0.3").unwrap());
        assert_eq!(thirds.around(&number("0"), &number("0.9")).unwrap(), (number("0.9"), number("1.2")));
    }

    #[test]
    fn a_width_is_read_as_it_was_written() {
        for width in [Width::Number(Number::parse("0.25").unwrap()), Width::Months(12), Width::Nanos(SECOND * 3600)] {
            assert_eq!(Width::of_bytes(&width.to_bytes()), Some(width));
        }
        assert_eq!((Width::of_bytes(&[]), Width::of_bytes(&[2, 1])), (None, None));
        assert_eq!(Width::of(&number("-1"), &DataType::NUMBER), None);
        assert_eq!(Width::of(&number("1"), &DataType::Date), None);
    }
}
