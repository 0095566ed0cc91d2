//! The binds of a call by their names. A block may have some ten thousand, so many binds are searched in sorted order.

use net::local::Bind;
use std::cmp::Ordering;

/// A call's binds by their names.
pub struct ByName<'a> {
    binds: &'a [Bind],
    /// The places of the named binds, ordered by name and then by place; empty for up to `FEW` binds.
    sorted: Vec<u32>,
}

impl<'a> ByName<'a> {
    /// The most binds that are searched one by one.
    const FEW: usize = 32;

    pub fn new(binds: &'a [Bind]) -> ByName<'a> {
        let mut sorted = Vec::new();
        if binds.len() > Self::FEW {
            sorted.extend((0..binds.len() as u32).filter(|at| binds[*at as usize].name.is_some()));
            sorted.sort_by(|a, b| compare(name_at(binds, *a), name_at(binds, *b)));
        }
        ByName { binds, sorted }
    }

    /// The number of the bind that belongs to the placeholder `name`, the `place`-th of its statement.
    pub fn of(&self, place: usize, name: &str) -> Option<usize> {
        let binds = self.binds;
        let named = if binds.len() > Self::FEW {
            let at = self.sorted.partition_point(|at| compare(name_at(binds, *at), name).is_lt());
            let is_it = |at: &&u32| name_at(binds, **at).eq_ignore_ascii_case(name);
            self.sorted.get(at).filter(is_it).map(|at| *at as usize)
        } else {
            binds.iter().position(|b| b.name.as_deref().is_some_and(|n| n.eq_ignore_ascii_case(name)))
        };
        named.or_else(|| binds.get(place).filter(|b| b.name.is_none()).map(|_| place))
    }
}

fn name_at(binds: &[Bind], at: u32) -> &str {
    binds[at as usize].name.as_deref().unwrap_or_default()
}

/// Compares names without regard to the case of their letters.
fn compare(a: &str, b: &str) -> Ordering {
    a.bytes().map(|c| c.to_ascii_uppercase()).cmp(b.bytes().map(|c| c.to_ascii_uppercase()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use net::local::Direction;
    use types::{DataType, Value};

    fn bind(name: Option<String>) -> Bind {
        Bind { name, direction: Direction::In, data_type: DataType::NUMBER, value: Value::Null }
    }

    /// Both kinds of search find the same bind.
    #[test]
    fn the_first_bind_of_a_name_counts() {
        for many in [ByName::FEW - 2, ByName::FEW - 1, 1000] {
            let mut binds: Vec<Bind> = (0..many).rev().map(|n| bind(Some(format!("b{n}")))).collect();
            binds.extend([bind(None), bind(Some("B0".into()))]);
            let by_name = ByName::new(&binds);
            let found: Vec<_> = (0..many).map(|n| by_name.of(0, &format!("B{n}"))).collect();
            assert_eq!(found, (0..many).map(|n| Some(many - 1 - n)).collect::<Vec<_>>());
            assert_eq!(
                (by_name.of(many, "C"), by_name.of(0, "C"), by_name.of(many + 9, "C")),
                (Some(many), None, None)
            );
        }
    }
}
