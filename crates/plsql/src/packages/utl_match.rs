//! UTL_MATCH.

use super::package::*;
use crate::world::World;
use types::Result;

package! {
    "UTL_MATCH",
    "package utl_match is
       function edit_distance(s1 varchar2, s2 varchar2) return pls_integer;
       function edit_distance_similarity(s1 varchar2, s2 varchar2) return pls_integer;
       function jaro_winkler(s1 varchar2, s2 varchar2) return binary_double;
       function jaro_winkler_similarity(s1 varchar2, s2 varchar2) return pls_integer;
     end;";
    "EDIT_DISTANCE" 1 => edit_distance,
    "EDIT_DISTANCE_SIMILARITY" 1 => edit_distance_similarity,
    "JARO_WINKLER" 1 => jaro_winkler,
    "JARO_WINKLER_SIMILARITY" 1 => jaro_winkler_similarity,
}

/// Rows of the distance table between two checks whether the session must stop.
const ROWS_BETWEEN_CHECKS: usize = 256;

fn both<W: World>(c: &Call<'_, W>) -> (Vec<char>, Vec<char>) {
    (c.a.text(0).chars().collect(), c.a.text(1).chars().collect())
}

/// The Levenshtein distance, row by row.
fn distance<W: World>(w: &mut W, a: &[char], b: &[char]) -> Result<usize> {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        if i % ROWS_BETWEEN_CHECKS == ROWS_BETWEEN_CHECKS - 1 {
            w.check_cancel()?;
        }
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let cost = (diagonal + usize::from(x != y)).min(row[j] + 1).min(row[j + 1] + 1);
            diagonal = std::mem::replace(&mut row[j + 1], cost);
        }
    }
    Ok(row[b.len()])
}

fn edit_distance<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    let (a, b) = both(c);
    if a.is_empty() || b.is_empty() {
        return Ok(number(-1));
    }
    Ok(number(distance(c.w, &a, &b)? as i64))
}

fn edit_distance_similarity<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    let (a, b) = both(c);
    let most = a.len().max(b.len());
    if a.is_empty() || b.is_empty() {
        return Ok(number(if most == 0 { 100 } else { 0 }));
    }
    let similar = 1.0 - distance(c.w, &a, &b)? as f64 / most as f64;
    Ok(number((similar * 100.0).round() as i64))
}

/// The similarity of Jaro and Winkler: shared characters, their order, and a common beginning of up to four.
fn jaro<W: World>(w: &mut W, a: &[char], b: &[char]) -> Result<f64> {
    if a.is_empty() || b.is_empty() {
        return Ok(0.0);
    }
    let reach = (a.len().max(b.len()) / 2).saturating_sub(1);
    let mut taken = vec![false; b.len()];
    let mut matched = Vec::new();
    for (i, x) in a.iter().enumerate() {
        if i % ROWS_BETWEEN_CHECKS == ROWS_BETWEEN_CHECKS - 1 {
            w.check_cancel()?;
        }
        let (from, to) = (i.saturating_sub(reach), (i + reach + 1).min(b.len()));
        if let Some(j) = (from..to).find(|j| !taken[*j] && b[*j] == *x) {
            taken[j] = true;
            matched.push(*x);
        }
    }
    if matched.is_empty() {
        return Ok(0.0);
    }
    let others = b.iter().zip(&taken).filter(|(_, taken)| **taken).map(|(y, _)| y);
    let moved = matched.iter().zip(others).filter(|(x, y)| *x != *y).count() as f64 / 2.0;
    let m = matched.len() as f64;
    let similar = (m / a.len() as f64 + m / b.len() as f64 + (m - moved) / m) / 3.0;
    let common = a.iter().zip(b).take(4).take_while(|(x, y)| x == y).count() as f64;
    Ok(similar + common * 0.1 * (1.0 - similar))
}

fn jaro_winkler<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    let (a, b) = both(c);
    Ok(Value::Double(jaro(c.w, &a, &b)?))
}

fn jaro_winkler_similarity<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    let (a, b) = both(c);
    Ok(number((jaro(c.w, &a, &b)? * 100.0).floor() as i64))
}
