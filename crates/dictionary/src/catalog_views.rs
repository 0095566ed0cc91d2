//! USER_, ALL_ and DBA_ views, as SQL over the base tables.
//!
//! Each family is one query with placeholders for its filter and its first column: USER_ views show the objects of the
//! session's user and have no OWNER, ALL_ views the visible objects, DBA_ views all objects. The texts are parsed when
//! a view is first used.

use crate::audit_views::AUDIT;
use crate::family_views::Member::{All, Dba, User};
use crate::family_views::{FAMILIES, Family, Member};
use crate::single_views::SINGLE;
use crate::statistics_views;
use std::sync::OnceLock;

/// The first object number of catalog views.
pub const CATALOG_FIRST_OBJECT: u32 = 2_000;

/// Restricted views other than DBA_ views.
const RESTRICTED: &[&str] =
    &["AUDIT_UNIFIED_ENABLED_POLICIES", "AUDIT_UNIFIED_POLICIES", "PROXY_USERS", "UNIFIED_AUDIT_TRAIL"];

/// True for a view that not every user may read.
pub fn is_restricted(name: &str) -> bool {
    name.starts_with("DBA_") || RESTRICTED.contains(&name)
}

/// The type's name in DATA_TYPE.
const DATA_TYPE: &str = "decode(c.type#, 1, decode(c.charsetform, 2, 'NVARCHAR2', 'VARCHAR2'), 2, decode(c.scale, -127, 'FLOAT', 'NUMBER'), \
    8, 'LONG', 12, 'DATE', 23, 'RAW', 24, 'LONG RAW', 69, 'ROWID', 58, 'XMLTYPE', 96, decode(c.charsetform, 2, 'NCHAR', 'CHAR'), 100, 'BINARY_FLOAT', \
    101, 'BINARY_DOUBLE', 112, decode(c.charsetform, 2, 'NCLOB', 'CLOB'), 121, (select y.name from obj$ y where y.obj# = c.precision#), 113, 'BLOB', 114, 'BFILE', 180, 'TIMESTAMP(' || c.scale || ')', \
    181, 'TIMESTAMP(' || c.scale || ') WITH TIME ZONE', 231, 'TIMESTAMP(' || c.scale || ') WITH LOCAL TIME ZONE', \
    182, 'INTERVAL YEAR(' || c.precision# || ') TO MONTH', \
    183, 'INTERVAL DAY(' || c.precision# || ') TO SECOND(' || c.scale || ')', 208, 'UROWID', 252, 'BOOLEAN', 'UNDEFINED')";

/// Short names for USER_ views.
const SHORT: &[(&str, &str)] = &[
    ("OBJ", "USER_OBJECTS"),
    ("TABS", "USER_TABLES"),
    ("COLS", "USER_TAB_COLUMNS"),
    ("IND", "USER_INDEXES"),
    ("SEQ", "USER_SEQUENCES"),
    ("SYN", "USER_SYNONYMS"),
    ("RECYCLEBIN", "USER_RECYCLEBIN"),
];

/// Condition on a grantee `{g}`: a role that the session has enabled, the user, or PUBLIC.
const ENABLED: &str = "({g} in (uid, 1) or {g} in (select e.user# from user$ e where e.type# = 0 \
    and sys_context('SYS_SESSION_ROLES', e.name) = 'TRUE'))";

/// The visible objects of other users. Objects of SYS: every user sees the public views, DUAL and the like; a user who
/// may read the dictionary sees all of its tables and views; units are visible only by grants. An ANY privilege makes
/// the objects of its kind visible, except those of SYS.
const SEEN: &str = " and (o.owner# in (uid, 1) or uid = 0 or {object} in (select g.obj# from objauth$ g where \
    {g.grantee#}) or (o.owner# = 0 and o.obj# < 20000 and o.type# in (2, 4) and (o.name in ('DUAL', \
    'SYSTEM_PRIVILEGE_MAP', 'TABLE_PRIVILEGE_MAP', 'PLAN_TABLE$') or (o.type# = 4 and ((o.name not like 'DBA!_%' \
    escape '!' and o.name not in ({restricted})) or sys_context('SYS_SESSION_ROLES', 'SELECT_CATALOG_ROLE') = \
    'TRUE')) or exists (select null from sysauth$ a where a.privilege# = -237 and {a.grantee#}))) or (o.owner# <> \
    0 and ((o.type# in (1, 2, 3, 4, 19, 20) and exists (select null from sysauth$ a where a.privilege# in (-41, -42, -44, \
    -45, -46, -47, -48, -49, -50, -235, -397) and {a.grantee#})) or (o.type# = 6 and exists (select null from \
    sysauth$ a where a.privilege# in (-106, -107, -108, -109) and {a.grantee#})) or (o.type# in (7, 8, 9, 11) and \
    exists (select null from sysauth$ a where a.privilege# in (-141, -142, -143, -144, -241) and {a.grantee#})) or \
    (o.type# = 12 and exists (select null from sysauth$ a where a.privilege# in (-152, -153, -154, -241) and \
    {a.grantee#})) or (o.type# in (13, 14) and exists (select null from sysauth$ a where a.privilege# in (-181, \
    -182, -183, -184, -241) and {a.grantee#})) or (o.type# = 5 and exists (select null from sysauth$ a where \
    a.privilege# in (-81, -82) and {a.grantee#})))))";

/// As [`SEEN`], for the contents of units: the EXECUTE privilege makes the specification visible; the body needs DEBUG
/// on the specification, or a privilege to change or debug any unit.
const SEEN_INSIDE: &str = " and (o.owner# = uid or uid = 0 or (o.owner# <> 0 and exists (select null from sysauth$ a \
    where (a.privilege# in (-141, -142, -241) or (a.privilege# = -144 and o.type# not in (11, 12, 14))) and (a.grantee# in (uid, 1) \
    or a.grantee# in (select e.user# from user$ e where e.type# = 0 \
    and sys_context('SYS_SESSION_ROLES', e.name) = 'TRUE')))) \
    or exists (select null from obj$ x, objauth$ g where x.owner# = o.owner# and x.name = o.name and x.namespace = 1 and g.obj# = x.obj# \
    and (g.privilege# = 26 or (g.privilege# = 12 and o.type# not in (11, 12, 14))) and (g.grantee# in (uid, 1) \
    or g.grantee# in (select e.user# from user$ e where e.type# = 0 \
    and sys_context('SYS_SESSION_ROLES', e.name) = 'TRUE'))))";

fn expand(family: &Family, member: Member) -> String {
    let user = member == User;
    let column = |expr: &str, name: &str| if user { String::new() } else { format!("{expr} {name}, ") };
    let filter = match member {
        User => " and o.owner# = uid".to_owned(),
        All if matches!(family.name, "SOURCE" | "ERRORS") => SEEN_INSIDE.to_owned(),
        All => {
            let enabled = |grantee: &str| ENABLED.replace("{g}", grantee);
            let seen =
                SEEN.replace("{g.grantee#}", &enabled("g.grantee#")).replace("{a.grantee#}", &enabled("a.grantee#"));
            let restricted: Vec<String> = RESTRICTED.iter().map(|name| format!("'{name}'")).collect();
            let seen = seen.replace("{object}", family.object).replace("{restricted}", &restricted.join(", "));
            match family.name {
                // The owner of a table sees its triggers.
                "TRIGGERS" | "TRIGGER_COLS" => seen.replacen(" and (", " and (b.owner# = uid or ", 1),
                _ => seen,
            }
        }
        Dba => String::new(),
    };
    let second = crate::system_views::branch(family.name, family.query).map(|branch| {
        let seen = match member {
            User => format!("{filter} and uid = 0"),
            All => crate::system_views::widened(&filter),
            Dba => filter.clone(),
        };
        format!(" union all {}", branch.replace("{filter}", &seen))
    });
    let query = family.query.replace("{filter}", &filter) + &second.unwrap_or_default();
    query
        .replace("{owner}", &column("u.name", family.owner))
        .replace("{system_owner}", &column("'SYS'", family.owner))
        .replace("{index_owner}", &column("u.name", "index_owner"))
        .replace("{table_owner}", &column("tu.name", "table_owner"))
        .replace("{modified_owner}", &column("u.name", "table_owner"))
        .replace("{sequence_owner}", &column("u.name", "sequence_owner"))
        .replace("{schemaid}", if user { ", o.owner# schemaid" } else { "" })
        .replace("{data_type}", DATA_TYPE)
        .replace("{histogram}", statistics_views::HISTOGRAM)
        .replace("{user_stats}", statistics_views::USER_STATS)
        .replace("{own}", if member == Dba { statistics_views::OWN_TAB_STATISTICS } else { "" })
}

/// Every catalog view: its name and its query, which resolves names as SYS. Sorted by name.
pub fn catalog_views() -> &'static [(&'static str, &'static str)] {
    static VIEWS: OnceLock<Vec<(&'static str, &'static str)>> = OnceLock::new();
    VIEWS.get_or_init(|| {
        // Expanded once per process and never freed.
        fn keep(text: String) -> &'static str {
            Box::leak(text.into_boxed_str())
        }
        let mut list: Vec<(&'static str, &'static str)> = SINGLE.to_vec();
        list.extend(AUDIT);
        list.extend(crate::space_views::VIEWS);
        list.extend(crate::hist_views::VIEWS);
        list.extend(crate::hist_views::plain_views().map(|(name, text)| (keep(name), keep(text))));
        for family in FAMILIES {
            for member in family.members {
                let prefix = match member {
                    User => "USER",
                    All => "ALL",
                    Dba => "DBA",
                };
                list.push((keep(format!("{prefix}_{}", family.name)), keep(expand(family, *member))));
            }
        }
        list.extend(crate::empty_views::views().map(|(name, text)| (keep(name), keep(text))));
        for (short, long) in SHORT {
            let text = list.iter().find(|(name, _)| name == long).map(|(_, text)| *text);
            list.extend(text.map(|text| (*short, text)));
        }
        list.sort_unstable_by_key(|(name, _)| *name);
        list
    })
}

/// The index in [`catalog_views`] of the view with this name.
pub fn catalog_view(name: &str) -> Option<usize> {
    catalog_views().binary_search_by_key(&name, |(have, _)| have).ok()
}
