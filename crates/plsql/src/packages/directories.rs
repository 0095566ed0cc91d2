//! Directory objects, as UTL_FILE and DBMS_LOB use them.

use super::queries::{quoted, rows};
use super::sql_names::NAME_MAX;
use crate::world::World;
use os::user_files::Directory;
use std::path::PathBuf;
use types::{Ora, Value};

/// Why a directory cannot be used.
pub(super) enum Refused {
    /// The user sees no such object.
    Unknown,
    /// The user has not the privilege, or the path is outside `utl_file_dir`.
    Denied,
    System(std::io::Error),
    Own(Ora),
}

impl From<Ora> for Refused {
    fn from(e: Ora) -> Refused {
        Refused::Own(e)
    }
}

/// Opens the directory with that name, on which the user in force has `privilege`; its path is in one of the
/// directories of the parameter `utl_file_dir`.
pub(super) fn find<W: World>(w: &mut W, name: &str, privilege: &str) -> Result<Directory, Refused> {
    if name.len() > NAME_MAX {
        return Err(Refused::Unknown);
    }
    let name = quoted(name);
    let query = format!("select directory_path from sys.all_directories where directory_name = {name}");
    let path = match rows(w, &query)?.into_iter().next().as_deref() {
        Some([Value::Text(path)]) => PathBuf::from(path),
        _ => return Err(Refused::Unknown),
    };
    let query = format!(
        "select 1 from dual where sys_context('USERENV', 'CURRENT_USER') = 'SYS' or exists (select 1 from \
         sys.all_tab_privs p where p.table_schema = 'SYS' and p.table_name = {name} and p.type = 'DIRECTORY' and \
         p.privilege = {} and (p.grantee in (sys_context('USERENV', 'CURRENT_USER'), 'PUBLIC') or p.grantee in (select \
         role from sys.session_roles)))",
        quoted(privilege)
    );
    if rows(w, &query)?.is_empty() {
        return Err(Refused::Denied);
    }
    let roots = match w.database_says("utl_file_dir")? {
        Value::Text(list) => list.split(',').map(|root| PathBuf::from(root.trim())).collect(),
        _ => Vec::new(),
    };
    let roots: Vec<PathBuf> = roots.into_iter().filter(|root| root.is_absolute()).collect();
    Directory::open(&path, &roots).map_err(Refused::System)?.ok_or(Refused::Denied)
}
