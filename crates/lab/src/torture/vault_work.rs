//! Statements on a worker's own tablespace: created, enlarged, taken offline and online, filled, dropped. Every second
//! worker has a bigfile, which grows and shrinks by parts.

use super::mind::Vault;
use super::query::numbers_of;
use super::session::{Session, Step, Stop, lost_or_wrong};

/// Most files of the tablespace.
const FILES_MAX: i64 = 3;

/// Most rows of its table.
const ROWS_MAX: i64 = 2000;

/// The object is in use; a file is not empty; blocks behind the new end of a file are in use.
const BUSY: &[u32] = &[54, 3262, 3297];

impl Session<'_> {
    /// One statement on the tablespace or its table.
    pub(super) fn vault(&mut self) -> Step<()> {
        let (w, old) = (self.mind.worker, self.mind.vault);
        let rows = 1 + self.r.below(150) as i64;
        let fill = format!("select level id, rpad('v', 900, 'v') t from dual connect by level <= {rows}");
        let file = |n: i64| format!("'ts_{w}_{n}.dbf' size 256K reuse autoextend on next 128K maxsize 20M");
        let (is_bigfile, mb) = (w % 2 == 1, 1 + self.r.below(4));
        let drop = (format!("drop tablespace ts_{w} including contents and datafiles"), Vault::default());
        let (sql, new) = match (self.r.below(10), old.rows) {
            _ if !old.exists => (
                format!("create {} tablespace ts_{w} datafile {}", if is_bigfile { "bigfile" } else { "" }, file(1)),
                Vault { exists: true, online: true, files: 1, rows: None },
            ),
            (0, _) => drop,
            _ if !old.online => (format!("alter tablespace ts_{w} online"), Vault { online: true, ..old }),
            (1, _) => (format!("alter tablespace ts_{w} offline"), Vault { online: false, ..old }),
            (2..=4, _) if is_bigfile => (format!("alter tablespace ts_{w} resize {mb}m"), old),
            (2 | 3, _) if old.files < FILES_MAX => (
                format!("alter tablespace ts_{w} add datafile {}", file(old.files + 1)),
                Vault { files: old.files + 1, ..old },
            ),
            (4, _) if old.files > 1 => {
                // A restored database has other names for its files.
                let named = format!(
                    "select file_id from dba_data_files where file_name like '%ts\\_{w}\\_{}.dbf' escape '\\'",
                    old.files
                );
                let found = numbers_of(&mut self.client, &named, &[]).map_err(lost_or_wrong)?;
                let Some(last) = found.first() else {
                    return Err(Stop::Failure(format!(
                        "worker {w}: file {} of its tablespace is not listed",
                        old.files
                    )));
                };
                (format!("alter tablespace ts_{w} drop datafile {}", last[0]), Vault { files: old.files - 1, ..old })
            }
            (_, None) => {
                let storage = format!("tablespace ts_{w}");
                (format!("create table vault_{w} {storage} as {fill}"), Vault { rows: Some(rows), ..old })
            }
            (_, Some(there)) if there < ROWS_MAX => {
                self.change(rows as u64, &format!("insert into vault_{w} {fill}"), &[])?;
                ("commit".to_string(), Vault { rows: Some(there + rows), ..old })
            }
            (5 | 6, _) => (format!("truncate table vault_{w}"), Vault { rows: Some(0), ..old }),
            _ => (format!("drop table vault_{w} purge"), Vault { rows: None, ..old }),
        };
        self.mind.vault_pending = Some(new);
        let done = self.run_unless(&sql, BUSY)?.is_some();
        self.mind.vault_pending = None;
        if done {
            self.mind.vault = new;
            self.mind.forced();
        }
        Ok(())
    }
}
