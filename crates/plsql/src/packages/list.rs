//! The list of the built-in packages.

use super::args::Args;
use super::package::{Call, Package};
use super::random::Random;
use super::types::type_source;
use crate::datum::Datum;
use crate::machine::{Machine, Run};
use crate::state::Plsql;
use crate::world::World;
use ::types::{Number, Ora, Value};

/// The number of a native subprogram: the package's index in the list in the high half, its own in the low one.
const PACKAGE_SHIFT: u32 = 16;

macro_rules! packages {
    ($(super::$module:ident,)*) => {
        /// Sorted by name.
        const LIST: &[Package] = &[$(super::$module::PACKAGE),*];

        type Perform<W> = fn(usize, &mut Call<'_, W>) -> Run<Datum>;

        fn perform<W: World>(package: usize, at: usize, c: &mut Call<'_, W>) -> Run<Datum> {
            let all: [Perform<W>; LIST.len()] = [$(super::$module::perform::<W>),*];
            match all.get(package) {
                Some(perform) => perform(at, c),
                None => Err(Ora::new(6508).into()),
            }
        }
    };
}

packages! {
    super::dbms_alert,
    super::dbms_application_info,
    super::dbms_assert,
    super::dbms_audit_mgmt,
    super::dbms_connection_pool,
    super::dbms_crypto,
    super::dbms_db_version,
    super::dbms_debug_jdwp,
    super::dbms_errlog,
    super::dbms_flashback,
    super::dbms_job,
    super::dbms_lob,
    super::dbms_lock,
    super::dbms_metadata,
    super::dbms_mview,
    super::dbms_output,
    super::dbms_random,
    super::dbms_result_cache,
    super::dbms_rowid,
    super::dbms_scheduler,
    super::dbms_session,
    super::dbms_shared_pool,
    super::dbms_sql,
    super::dbms_standard,
    super::dbms_stats,
    super::dbms_transaction,
    super::dbms_types,
    super::dbms_utility,
    super::dbms_workload_repository,
    super::dbms_xa,
    super::dbms_xmlgen,
    super::dbms_xplan,
    super::private_jdbc,
    super::standard,
    super::utl_encode,
    super::utl_file,
    super::utl_http,
    super::utl_i18n,
    super::utl_ident,
    super::utl_lms,
    super::utl_match,
    super::utl_raw,
    super::utl_smtp,
    super::utl_tcp,
}

fn place_of(name: &str) -> Option<usize> {
    LIST.binary_search_by(|package| package.name.cmp(name)).ok()
}

/// The specification of a built-in package.
pub fn specification(name: &str) -> Option<&'static str> {
    place_of(name).map(|at| LIST[at].specification)
}

/// The member of DBMS_STANDARD that a name without a package means.
pub(crate) fn standard_member(name: &str) -> Option<&'static str> {
    super::dbms_standard::member(name)
}

/// Whether a package or type with that name comes with the database.
pub fn is_built_in(name: &str) -> bool {
    place_of(name).is_some() || type_source(name).is_some()
}

/// Whether subprograms of a package read what its caller tells them, or the dictionary: what a result of such a call
/// depends on is unknown before it runs.
pub(crate) fn reads_unknown(name: &str) -> bool {
    matches!(name, "DBMS_SQL" | "DBMS_XMLGEN" | "DBMS_METADATA" | "DBMS_ASSERT" | "DBMS_UTILITY")
}

/// Names of the built-in packages.
pub fn names() -> impl Iterator<Item = &'static str> {
    LIST.iter().map(|package| package.name)
}

/// The number of a native subprogram.
pub(crate) fn native(package: &str, name: &str, overload: u32) -> Option<u32> {
    let package = place_of(package)?;
    let at = LIST[package].subprograms.iter().position(|(n, o)| *n == name && *o == overload)?;
    Some((package as u32) << PACKAGE_SHIFT | at as u32)
}

fn split(native: u32) -> (usize, usize) {
    ((native >> PACKAGE_SHIFT) as usize, (native & ((1 << PACKAGE_SHIFT) - 1)) as usize)
}

/// Whether a native subprogram has that number.
pub(crate) fn is_native(native: u32) -> bool {
    let (package, at) = split(native);
    LIST.get(package).is_some_and(|package| at < package.subprograms.len())
}

/// The number of an overload of DBMS_RANDOM.VALUE, for the fast path of calls.
const fn value_of_random(overload: u32) -> u32 {
    let mut package = 0;
    while !is_text(LIST[package].name, "DBMS_RANDOM") {
        package += 1;
    }
    let mut at = 0;
    loop {
        let (name, of) = LIST[package].subprograms[at];
        if of == overload && is_text(name, "VALUE") {
            return (package as u32) << PACKAGE_SHIFT | at as u32;
        }
        at += 1;
    }
}

const fn is_text(text: &str, wanted: &str) -> bool {
    let (text, wanted) = (text.as_bytes(), wanted.as_bytes());
    let mut at = 0;
    while at < text.len() && at < wanted.len() && text[at] == wanted[at] {
        at += 1;
    }
    at == text.len() && at == wanted.len()
}

const RANDOM_VALUE: u32 = value_of_random(1);
const RANDOM_BETWEEN: u32 = value_of_random(2);

/// DBMS_RANDOM.VALUE, if `native` is that function and its bounds are numbers.
#[inline]
pub(crate) fn random_number<C: 'static>(native: u32, s: &Plsql<C>, args: &[Datum]) -> Option<Number> {
    match (native, args) {
        (RANDOM_VALUE, []) => s.with_random(Random::value).ok(),
        (RANDOM_BETWEEN, [Datum::Val(Value::Number(low)), Datum::Val(Value::Number(high))]) => {
            s.with_random(|r| r.between(low, high)).ok()
        }
        _ => None,
    }
}

/// Runs a native subprogram; OUT arguments are changed in place.
pub(crate) fn run<W: World>(
    native: u32,
    s: &Plsql<W::Cursor>,
    w: &mut W,
    m: &mut Machine,
    args: &mut Vec<Datum>,
) -> Run<Datum> {
    let (package, at) = split(native);
    perform(package, at, &mut Call { s, w, m, a: Args(args) })
}

#[cfg(test)]
mod tests {
    use super::{LIST, is_native, native};

    #[test]
    fn packages_are_sorted_and_each_subprogram_of_a_specification_has_a_body() {
        assert!(LIST.windows(2).all(|w| w[0].name < w[1].name));
        for package in LIST {
            let name = package.name;
            let unit = sql::plsql::parse_unit(package.specification).unwrap_or_else(|e| panic!("{name}: {e}"));
            let sql::plsql::ast::Unit::Package(p) = unit else { panic!("{name}") };
            let mut seen = std::collections::HashMap::new();
            for d in &p.declarations {
                if let sql::plsql::ast::Declaration::Subprogram(s) = d {
                    let n = seen.entry(s.name.name.clone()).or_insert(0u32);
                    *n += 1;
                    assert!(native(name, &s.name.name, *n).is_some_and(is_native), "{name}.{} {n}", s.name.name);
                    if name == "DBMS_STATS" {
                        let place = s.parameters.iter().position(|p| p.name.name == "NO_INVALIDATE");
                        let known = super::super::stats::no_invalidate_of(&s.name.name, *n);
                        assert_eq!(known, place, "{}", s.name.name);
                    }
                }
            }
            assert_eq!(seen.values().sum::<u32>() as usize, package.subprograms.len(), "{name}");
        }
    }
}
