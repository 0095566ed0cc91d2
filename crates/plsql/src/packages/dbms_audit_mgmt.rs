//! DBMS_AUDIT_MGMT.

use super::package::*;
use crate::requests::AuditRequest;
use crate::world::World;

package! {
    "DBMS_AUDIT_MGMT",
    "package dbms_audit_mgmt is
       audit_trail_aud_std constant pls_integer := 1; audit_trail_db_std constant pls_integer := 3;
       audit_trail_all constant pls_integer := 15; audit_trail_unified constant pls_integer := 51;
       container_current constant pls_integer := 1; container_all constant pls_integer := 2;
       procedure clean_audit_trail(audit_trail_type pls_integer, use_last_arch_timestamp boolean default true,
         container pls_integer default 1);
       procedure set_last_archive_timestamp(audit_trail_type pls_integer, last_archive_time timestamp,
         rac_instance_number pls_integer default null, container pls_integer default 1);
       procedure clear_last_archive_timestamp(audit_trail_type pls_integer,
         rac_instance_number pls_integer default null, container pls_integer default 1);
     end;";
    "CLEAN_AUDIT_TRAIL" 1 => clean_audit_trail,
    "SET_LAST_ARCHIVE_TIMESTAMP" 1 => set_last_archive_timestamp,
    "CLEAR_LAST_ARCHIVE_TIMESTAMP" 1 => clear_last_archive_timestamp,
}

fn clean_audit_trail<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let only_archived = !matches!(c.a.value(1), Value::Boolean(false));
    c.w.audit_trail(&AuditRequest::Clean { trail: c.a.integer(0).unwrap_or(0), only_archived })?;
    Ok(())
}

fn set_last_archive_timestamp<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let at = match c.a.value(1) {
        Value::Timestamp(at) => Some(*at),
        _ => None,
    };
    c.w.audit_trail(&AuditRequest::SetLast { trail: c.a.integer(0).unwrap_or(0), at })?;
    Ok(())
}

fn clear_last_archive_timestamp<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    c.w.audit_trail(&AuditRequest::ClearLast { trail: c.a.integer(0).unwrap_or(0) })?;
    Ok(())
}
