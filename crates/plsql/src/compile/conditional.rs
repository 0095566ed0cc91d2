//! The names that the directives of conditional compilation use: flags, settings, and constants of packages.

use super::ask::Interfaces;
use super::units::{Units, built_in};
use crate::world::{StoredUnit, World};
use dictionary::Access;
use sql::plsql::ast::{Ident, Unit, UnitKind};
use sql::plsql::{Directives, StaticValue, conditional_flags, parse_unit, select, static_constant};
use std::borrow::Cow;
use std::rc::Rc;
use types::Result;

/// The values of a unit's inquiry directives, except its lines.
#[derive(Clone, Debug, Default)]
pub(super) struct Inquiries {
    /// Empty in a block.
    owner: String,
    name: String,
    kind: Option<UnitKind>,
    settings: Rc<[(String, String)]>,
}

/// The settings of a unit that has no others.
const DEFAULTS: &[(&str, &str)] = &[
    ("NLS_LENGTH_SEMANTICS", "BYTE"),
    ("PLSCOPE_SETTINGS", "IDENTIFIERS:NONE, STATEMENTS:NONE"),
    ("PLSQL_CODE_TYPE", "INTERPRETED"),
    ("PLSQL_DEBUG", "FALSE"),
    ("PLSQL_OPTIMIZE_LEVEL", "2"),
    ("PLSQL_WARNINGS", "DISABLE:ALL"),
];

impl Inquiries {
    pub(super) fn of_unit(unit: &StoredUnit) -> Inquiries {
        let StoredUnit { owner, name, kind, source: _, settings } = unit;
        let (owner, name, settings) = (owner.clone(), name.clone(), settings.clone());
        Inquiries { owner, name, kind: Some(*kind), settings }
    }

    pub(super) fn of_block(settings: Rc<[(String, String)]>) -> Inquiries {
        Inquiries { settings, ..Inquiries::default() }
    }

    /// Whether the unit is of that kind; a body is of the kind of its specification.
    pub(super) fn is_of_kind(&self, kind: UnitKind) -> bool {
        match self.kind {
            Some(UnitKind::PackageBody) => kind == UnitKind::Package,
            Some(UnitKind::TypeBody) => kind == UnitKind::Type,
            own => own == Some(kind),
        }
    }

    /// The value of `$$name` in a line; NULL for an unknown name.
    pub(super) fn value(&self, name: &str, line: u32) -> StaticValue {
        let setting = |name: &str| {
            let set = self.settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
            set.chain(DEFAULTS.iter().copied()).find(|(known, _)| *known == name).map(|(_, value)| value)
        };
        let flags = setting("PLSQL_CCFLAGS").and_then(conditional_flags).unwrap_or_default();
        // The last of equal names counts.
        if let Some((_, value)) = flags.into_iter().rfind(|(flag, _)| flag == name) {
            return value;
        }
        let text = |s: &str| if s.is_empty() { StaticValue::Null } else { StaticValue::Text(s.to_string()) };
        match name {
            "PLSQL_LINE" => StaticValue::Integer(line.into()),
            "PLSQL_UNIT" => text(&self.name),
            "PLSQL_UNIT_OWNER" => text(&self.owner),
            "PLSQL_UNIT_TYPE" => text(self.kind.map_or("ANONYMOUS BLOCK", UnitKind::name)),
            "PLSQL_DEBUG" => setting(name).map_or(StaticValue::Null, |on| StaticValue::Boolean(on == "TRUE")),
            name => match setting(name) {
                Some(number) if name == "PLSQL_OPTIMIZE_LEVEL" => {
                    number.parse().map_or(StaticValue::Null, StaticValue::Integer)
                }
                value => value.map_or(StaticValue::Null, text),
            },
        }
    }
}

/// Deepest chain of packages whose constants name constants of the next one, and the constants read for one unit: both
/// end cycles.
const DEPTH_MAX: u32 = 20;
const CONSTANTS_MAX: u32 = 10_000;

/// Finds the specification of a package by its schema, if one is given, and its name.
type FindPackage<'a> = dyn FnMut(Option<&str>, &str) -> Result<Option<StoredUnit>> + 'a;

/// The names that the directives of one unit may use.
struct Names<'a, 'f> {
    inquiries: &'a Inquiries,
    find: &'a mut FindPackage<'f>,
    depth: u32,
    left: &'a mut u32,
}

impl Directives for Names<'_, '_> {
    fn inquiry(&mut self, name: &str, line: u32) -> StaticValue {
        self.inquiries.value(name, line)
    }

    fn constant(&mut self, path: &[Ident]) -> Result<Option<StaticValue>> {
        let (owner, package, name) = match path {
            [package, name] => (None, package, name),
            [owner, package, name] => (Some(owner.name.as_str()), package, name),
            _ => return Ok(None),
        };
        if *self.left == 0 || self.depth >= DEPTH_MAX {
            return Ok(None);
        }
        *self.left -= 1;
        let Some(unit) = (self.find)(owner, &package.name)? else { return Ok(None) };
        let inquiries = Inquiries::of_unit(&unit);
        let mut names = Names { inquiries: &inquiries, find: self.find, depth: self.depth + 1, left: self.left };
        // The errors of the package are its own.
        let Ok(text) = select(&unit.source, &mut names) else { return Ok(None) };
        let Ok(Unit::Package(package)) = parse_unit(&text) else { return Ok(None) };
        static_constant(&package, &name.name, &text, &mut names)
    }
}

/// The text that the directives of a unit or block select. The names and privileges of its owner are in force.
///
/// # Errors
/// Those of [`select`].
pub(super) fn selected<'t, W: World>(w: &mut W, units: &Units, of: &Inquiries, text: &'t str) -> Result<Cow<'t, str>> {
    let mut find = |owner: Option<&str>, name: &str| {
        let schema = w.schema();
        let Some(unit) = units.named_package(w, owner, name, &schema)? else { return Ok(None) };
        let may = unit.owner.is_empty() || units.ask_execute(w, &unit.owner, &unit.name)? == Access::Yes;
        Ok(may.then_some(unit))
    };
    selected_by(of, text, &mut find)
}

fn selected_by<'t>(of: &Inquiries, text: &'t str, find: &mut FindPackage<'_>) -> Result<Cow<'t, str>> {
    let mut left = CONSTANTS_MAX;
    select(text, &mut Names { inquiries: of, find, depth: 0, left: &mut left })
}

/// The text that the directives of a stored unit select, for views of the dictionary. `stored` finds packages of users.
/// The text itself if it has errors.
pub fn selected_source<'t>(
    unit: &'t StoredUnit,
    stored: &mut dyn FnMut(Option<&str>, &str) -> Option<StoredUnit>,
) -> Cow<'t, str> {
    let mut find = |owner: Option<&str>, name: &str| {
        let built_in = || built_in_package(owner, name);
        Ok(stored(owner, name).or_else(built_in))
    };
    selected_by(&Inquiries::of_unit(unit), &unit.source, &mut find).unwrap_or(Cow::Borrowed(&unit.source))
}

/// The built-in package with that name.
fn built_in_package(owner: Option<&str>, name: &str) -> Option<StoredUnit> {
    let source = crate::packages::specification(name).filter(|_| owner.is_none_or(|owner| owner == "SYS"))?;
    Some(built_in(name, source, UnitKind::Package))
}
