//! The state of a worker's own tablespace in the database.

use super::mind::Vault;
use super::query::{Check, numbers_of, same};
use client::Client;

/// The state in the database; a part that cannot be read because it is offline is taken from `known`.
pub fn seen(c: &mut Client, worker: usize, known: &[Vault]) -> Check<Vault> {
    let count =
        |c: &mut Client, from: &str| numbers_of(c, &format!("select count(*) from {from}"), &[]).map(|r| r[0][0]);
    if count(c, &format!("dba_tablespaces where tablespace_name = 'TS_{worker}'"))? == 0 {
        return Ok(Vault::default());
    }
    let online =
        count(c, &format!("dba_tablespaces where tablespace_name = 'TS_{worker}' and status = 'ONLINE'"))? == 1;
    let files = count(c, &format!("dba_data_files where tablespace_name = 'TS_{worker}'"))?;
    let has_table = count(c, &format!("user_tables where table_name = 'VAULT_{worker}'"))? == 1;
    let rows = match (has_table, online) {
        (false, _) => None,
        (true, false) => known.iter().find_map(|v| v.rows),
        (true, true) => {
            let sums = numbers_of(c, &format!("select count(*), sum(length(t)) from vault_{worker}"), &[])?.remove(0);
            same(&format!("vault_{worker}: the rows' texts"), &sums[1], &(sums[0] * 900))?;
            Some(sums[0])
        }
    };
    Ok(Vault { exists: true, online, files, rows })
}
