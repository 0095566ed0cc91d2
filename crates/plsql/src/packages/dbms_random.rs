//! DBMS_RANDOM.

use super::package::*;
use super::random::Random;
use crate::world::World;

package! {
    "DBMS_RANDOM",
    "package dbms_random is
       procedure initialize(val binary_integer);
       procedure seed(val binary_integer);
       procedure seed(val varchar2);
       function value return number;
       function value(low number, high number) return number;
       function normal return number;
       function random return binary_integer;
       function string(opt char, len number) return varchar2;
       procedure terminate;
     end;";
    "INITIALIZE" 1 => initialize,
    "SEED" 1 => initialize,
    "SEED" 2 => seed,
    "VALUE" 1 => value,
    "VALUE" 2 => random_between,
    "NORMAL" 1 => normal,
    "RANDOM" 1 => random,
    "STRING" 1 => string,
    "TERMINATE" 1 => terminate,
}

fn initialize<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let seed = c.a.integer(0).unwrap_or(0);
    c.s.with_random(|r| *r = Random::new(seed as u64));
    Ok(())
}

fn seed<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let seed = Random::seed_text(c.a.text(0));
    c.s.with_random(|r| *r = seed);
    Ok(())
}

fn value<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(Value::Number(c.s.with_random(Random::value)?))
}

fn random_between<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(match (c.a.number(0), c.a.number(1)) {
        (Some(low), Some(high)) => Value::Number(c.s.with_random(|r| r.between(&low, &high))?),
        _ => Value::Null,
    })
}

fn normal<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(Value::Number(Number::from_f64(c.s.with_random(Random::normal))?))
}

fn random<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(number(i64::from(c.s.with_random(Random::random))))
}

fn string<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    let len = c.a.integer(1).unwrap_or(0).clamp(0, 32767) as usize;
    let option = c.a.text(0).to_string();
    Ok(c.s.with_random(|r| r.string(&option, len)))
}

fn terminate<W: World>(_: &mut Call<'_, W>) -> Run<()> {
    Ok(())
}
