//! CREATE and ALTER SEQUENCE.

use crate::work::{Target, Work};
use dictionary::base::{Base, seq};
use dictionary::image::big_number;
use dictionary::rows::{Row, blank, flag, int};
use dictionary::*;
use sql::ast::{AlterSequence, CreateSequence, Scale, SequenceOptions};
use types::{Number, ObjectId, Ora, Result, Value};

/// The largest MAXVALUE: 28 digits.
const MAXVALUE: i128 = 9_999_999_999_999_999_999_999_999_999;
/// The smallest MINVALUE: 27 digits.
const MINVALUE: i128 = -999_999_999_999_999_999_999_999_999;
const CACHE_DEFAULT: u64 = 20;

/// A sequence's numbers.
#[derive(Clone, Debug, PartialEq)]
struct Numbers {
    increment: i128,
    minimum: i128,
    maximum: i128,
    start: i128,
    cycle: bool,
    order: bool,
    cache: u64,
    flags: u32,
}

/// The flags of a sequence after its clauses.
fn flags(options: &SequenceOptions, before: u32) -> u32 {
    let mut flags = before;
    let mut set = |bits: u32, on: u32| flags = flags & !bits | on;
    match options.scale {
        Some(Scale::Off) => set(seq_flags::SCALE | seq_flags::EXTEND, 0),
        Some(Scale::NoExtend) => set(seq_flags::SCALE | seq_flags::EXTEND, seq_flags::SCALE),
        Some(Scale::Extend) => set(0, seq_flags::SCALE | seq_flags::EXTEND),
        None => {}
    }
    for (clause, bit) in [(options.session, seq_flags::SESSION), (options.keep, seq_flags::KEEP)] {
        if let Some(on) = clause {
            set(bit, if on { bit } else { 0 });
        }
    }
    flags
}

fn parse(text: &str, pos: u32) -> Result<i128> {
    let number: Number = text.parse().map_err(|e: Ora| e.at(pos))?;
    if number.is_integer() { Ok(big_number(&number)) } else { Err(Ora::new(4001).at(pos)) }
}

impl Numbers {
    fn new(options: &SequenceOptions, pos: u32) -> Result<Numbers> {
        let SequenceOptions {
            start_with,
            limit_value,
            increment_by,
            maxvalue,
            minvalue,
            cycle: _,
            cache: _,
            order: _,
            restart,
            scale: _,
            session: _,
            keep: _,
        } = options;
        // RESTART is for ALTER SEQUENCE, LIMIT VALUE for identity columns that exist.
        if *restart || *limit_value {
            return Err(Ora::new(933).at(pos));
        }
        let number = |text: &Option<String>| text.as_deref().map(|text| parse(text, pos)).transpose();
        let limit = |text: &Option<Option<String>>| number(&text.clone().flatten());
        let increment = number(increment_by)?.unwrap_or(1);
        let up = increment > 0;
        let maximum = limit(maxvalue)?.unwrap_or(if up { MAXVALUE } else { -1 });
        let minimum = limit(minvalue)?.unwrap_or(if up { 1 } else { MINVALUE });
        let start = number(start_with)?.unwrap_or(if up { minimum } else { maximum });
        let numbers = Numbers {
            increment,
            minimum,
            maximum,
            start,
            cycle: options.cycle.unwrap_or(false),
            order: options.order.unwrap_or(false),
            cache: options.cache.unwrap_or(CACHE_DEFAULT),
            flags: flags(options, 0),
        };
        numbers.check(options.cache, pos)?;
        if numbers.start < minimum {
            return Err(Ora::new(4006).at(pos));
        }
        if numbers.start > maximum {
            return Err(Ora::new(4008).at(pos));
        }
        Ok(numbers)
    }

    fn check(&self, cache: Option<u64>, pos: u32) -> Result<()> {
        let fail = |code: u32| Err(Ora::new(code).at(pos));
        if self.increment == 0 {
            return fail(4002);
        }
        if self.minimum >= self.maximum {
            return fail(4004);
        }
        if self.increment.unsigned_abs() > (self.maximum - self.minimum).unsigned_abs() {
            return fail(4005);
        }
        if cache == Some(1) {
            return Err(Ora::with(4010, &[&"CACHE"]).at(pos));
        }
        let in_a_cycle = (self.maximum - self.minimum) / self.increment.abs() + 1;
        if self.cycle && i128::from(self.cache) > in_a_cycle {
            return fail(4013);
        }
        Ok(())
    }

    fn row(&self, row: &mut Row) {
        let big = |n: i128| Value::Number(Number::from_i128(n));
        row[seq::INCREMENT] = big(self.increment);
        row[seq::MINVALUE] = big(self.minimum);
        row[seq::MAXVALUE] = big(self.maximum);
        row[seq::CYCLE] = flag(self.cycle);
        row[seq::ORDER] = flag(self.order);
        row[seq::CACHE] = int(self.cache as i64);
        row[seq::FLAGS] = int(self.flags);
    }
}

pub fn create(work: &mut Work<'_>, create: &CreateSequence) -> Result<()> {
    let CreateSequence { name, options, pos: _ } = create;
    let target = work.target(name)?;
    work.require(&target, Some(SystemPrivilege::CreateSequence), SystemPrivilege::CreateAnySequence)?;
    work.require_new(&target, ObjectKind::Sequence)?;
    create_for(work, &target, options).map(|_| ())
}

/// Makes a sequence without a check of privileges, for an identity column.
pub fn create_for(work: &mut Work<'_>, target: &Target, options: &SequenceOptions) -> Result<ObjectId> {
    let numbers = Numbers::new(options, target.pos)?;
    let object = work.new_object();
    work.insert_object(object, None, target, ObjectKind::Sequence)?;
    let mut row = blank(Base::Seq);
    row[seq::OBJ] = int(object.0);
    numbers.row(&mut row);
    row[seq::HIGHWATER] = Value::Number(Number::from_i128(numbers.start));
    row[seq::STARTWITH] = row[seq::HIGHWATER].clone();
    work.change().insert(Base::Seq, &row)?;
    Ok(object)
}

pub fn alter(work: &mut Work<'_>, alter: &AlterSequence) -> Result<()> {
    let AlterSequence { name, options: _, pos: _ } = alter;
    let target = work.target(name)?;
    let object = work.existing(&target, ObjectKind::Sequence, 2289)?;
    if !work.names.allowed(object, target.owner, ObjectPrivilege::Alter)? {
        return Err(Ora::new(1031).at(target.pos));
    }
    let pos = alter.pos.0;
    if alter.options.limit_value {
        return Err(Ora::new(933).at(pos));
    }
    if alter.options.start_with.is_some() && !alter.options.restart {
        return Err(Ora::new(2283).at(pos));
    }
    change(work, object, &alter.options, pos)
}

/// Changes a sequence without a check of privileges; with RESTART its next number is START WITH.
pub fn change(work: &mut Work<'_>, object: ObjectId, options: &SequenceOptions, pos: u32) -> Result<()> {
    let old = work.image.sequence(object).ok_or_else(|| Ora::new(2289).at(pos))?;
    let mut numbers = Numbers {
        increment: old.increment,
        minimum: old.minimum,
        maximum: old.maximum,
        start: old.minimum,
        cycle: options.cycle.unwrap_or(old.cycle),
        order: options.order.unwrap_or(old.order),
        cache: options.cache.unwrap_or(old.cache),
        flags: flags(options, old.flags),
    };
    if let Some(text) = &options.increment_by {
        numbers.increment = parse(text, pos)?;
    }
    let up = numbers.increment > 0;
    match &options.maxvalue {
        Some(Some(text)) => numbers.maximum = parse(text, pos)?,
        Some(None) => numbers.maximum = if up { MAXVALUE } else { -1 },
        None => {}
    }
    match &options.minvalue {
        Some(Some(text)) => numbers.minimum = parse(text, pos)?,
        Some(None) => numbers.minimum = if up { 1 } else { MINVALUE },
        None => {}
    }
    numbers.check(options.cache, pos)?;
    let restart = match (&options.start_with, options.restart) {
        (Some(text), true) => Some(parse(text, pos)?),
        (None, true) => Some(if up { numbers.minimum } else { numbers.maximum }),
        _ => None,
    };
    // Cached numbers are given back: the next number follows the last one used.
    let step = numbers.increment;
    let given_out = unused_numbers(work, &old)?;
    let mut wrong = None;
    work.change().update_by(Base::Seq, crate::work::by(seq::OBJ, object), &mut |row| {
        let high = match &row[seq::HIGHWATER] {
            Value::Number(n) => big_number(n),
            _ => numbers.minimum,
        };
        let next = restart.unwrap_or_else(|| given_out.map_or(high, |next| next - old.increment + step));
        if next - step > numbers.maximum {
            wrong = Some(4009);
        } else if next - step < numbers.minimum && restart.is_none() && given_out.is_some() && step > 0 {
            wrong = Some(4007);
        }
        numbers.row(row);
        row[seq::HIGHWATER] = Value::Number(Number::from_i128(next));
        if restart.is_some() {
            row[seq::STARTWITH] = row[seq::HIGHWATER].clone();
        }
    })?;
    if let Some(code) = wrong {
        return Err(Ora::new(code).at(pos));
    }
    work.sequences.push(object);
    work.altered(object)
}

/// The next number in the cache, if numbers were taken from the dictionary and are not used up.
fn unused_numbers(work: &mut Work<'_>, sequence: &SequenceDef) -> Result<Option<i128>> {
    let parts = work.host.parts();
    Ok(parts.dict.shared().peek_sequence(parts.p, sequence.object))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(text: &str) -> SequenceOptions {
        match sql::parse_statement(&format!("create sequence s {text}")).expect(text) {
            sql::ast::Statement::Ddl(ddl) => match *ddl {
                sql::ast::Ddl::CreateSequence(create) => create.options,
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn defaults_and_limits() {
        let numbers = Numbers::new(&options(""), 0).expect("defaults");
        assert_eq!((numbers.increment, numbers.start, numbers.maximum, numbers.cache), (1, 1, MAXVALUE, 20));
        let down = Numbers::new(&options("increment by -2"), 0).expect("descending");
        assert_eq!((down.start, down.minimum, down.maximum), (-1, MINVALUE, -1));
        let code = |text: &str| Numbers::new(&options(text), 0).expect_err(text).code();
        assert_eq!(code("increment by 0"), 4002);
        assert_eq!(code("minvalue 5 maxvalue 5"), 4004);
        assert_eq!(code("maxvalue 10 increment by 11"), 4005);
        assert_eq!(code("start with 0"), 4006);
        assert_eq!(code("start with 11 maxvalue 10"), 4008);
        assert_eq!(code("maxvalue 10 cycle"), 4013);
        assert_eq!(code("cache 1"), 4010);
    }
}
