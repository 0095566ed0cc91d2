//! The saved history: one sample in ten goes into `wrh$_active_session_history`, with every snapshot, and in between
//! when the ring is getting full. A row belongs to the next snapshot; `dba_hist_active_sess_history` shows it after
//! that snapshot. A save holds the lock of the snapshots and adds the samples that are newer than the newest saved one,
//! so no sample is saved twice.

use crate::recorder::{Recorder, lock};
use dictionary::rows::int;
use instance::Text;
use instance::ash::{Ash, KEPT_ONE_IN};
use types::{Result, Value};

/// The columns, the same in view and table; XID is text there.
const COLUMNS: &str = "sample_id, sample_time, sample_time_utc, usecs_per_row, session_id, session_serial#, session_type, user_id, sql_id, \
     is_sqlid_current, sql_child_number, sql_opcode, top_level_sql_id, top_level_sql_opcode, sql_plan_hash_value, sql_exec_id, \
     sql_exec_start, plsql_entry_object_id, plsql_entry_subprogram_id, plsql_object_id, plsql_subprogram_id, event, event_id, seq#, p1text, p1, p2text, p2, p3text, p3, wait_class, wait_class_id, wait_time, session_state, \
     time_waited, blocking_session_status, blocking_session, blocking_session_serial#, blocking_inst_id, current_obj#, current_file#, \
     current_block#, current_row#, time_model, in_connection_mgmt, in_parse, in_hard_parse, in_sql_execution, in_plsql_execution, \
     program, module, action, client_id, machine, tm_delta_time, tm_delta_cpu_time, tm_delta_db_time, delta_time, \
     delta_read_io_requests, delta_write_io_requests, delta_read_io_bytes, delta_write_io_bytes";

/// Texts of the statements that were seen and have none yet: one that runs has not been counted, and is in no
/// snapshot's figures.
const TEXTS: &str = "insert into sys.wrh$_sqltext (snap_id, dbid, instance_number, sql_id, command_type, sql_text) \
     select :1, :2, :3, s.sql_id, s.command_type, s.sql_fulltext from \
     (select sql_id, max(command_type) command_type, max(sql_fulltext) sql_fulltext from v$sql group by sql_id) s \
     where s.sql_id in (select h.sql_id from sys.wrh$_active_session_history h where h.sample_id > :4 union all \
     select h.top_level_sql_id from sys.wrh$_active_session_history h where h.sample_id > :4) \
     and s.sql_id not in (select sql_id from sys.wrh$_sqltext)";

/// Samples on their way to the disk: noted as saved once the transaction has committed.
pub struct Saving {
    upto: u64,
    rows: u64,
    us: u64,
}

impl Saving {
    /// Writes the new samples under the number of a snapshot. The caller has locked the snapshots, and commits.
    ///
    /// # Errors
    /// Those of the statements.
    pub fn write(r: &mut impl Recorder, key: &[Value]) -> Result<Saving> {
        let began = os::clock::now_ns();
        let upto = r.instance().ash().shown().end;
        let newest = "select nvl(max(sample_id), 0) from sys.wrh$_active_session_history";
        let newest = r.rows(newest, &[])?.into_iter().flatten().next().unwrap_or(Value::Null);
        let insert = Text::joined(&[
            "insert into sys.wrh$_active_session_history (snap_id, dbid, instance_number, ",
            COLUMNS,
            ", xid) select :1, :2, :3, ",
            COLUMNS,
            ", rawtohex(xid) from v$active_session_history where is_awr_sample = 'Y' and sample_id > :4",
        ]);
        let mut binds = key.to_vec();
        binds.push(newest);
        let rows = r.changed(insert, &binds)?;
        if rows > 0 {
            r.rows(TEXTS, &binds)?;
        }
        Ok(Saving { upto, rows, us: (os::clock::now_ns() - began) / 1000 })
    }

    /// Notes that it has committed.
    pub fn note(&self, ash: &Ash, is_urgent: bool) {
        ash.note_saved(self.upto, self.rows, self.us, is_urgent);
    }
}

/// Saves the history in a transaction of its own, because the ring is getting full.
///
/// # Errors
/// Those of the statements, which then leave nothing behind.
pub fn save_now(r: &mut impl Recorder) -> Result<()> {
    let saving = r.autonomously(write_for_next)?;
    saving.note(r.instance().ash(), true);
    Ok(())
}

fn write_for_next<R: Recorder>(r: &mut R) -> Result<Saving> {
    lock(r)?;
    let key = "select greatest((select nvl(max(s.snap_id), 0) from sys.wrm$_snapshot s), \
               (select nvl(max(w.most_recent_snap_id), 0) from sys.wrm$_wr_control w where w.dbid = d.dbid)) + 1, d.dbid from v$database d";
    let mut key = r.rows(key, &[])?.into_iter().next().unwrap_or_default();
    key.push(int(1));
    Saving::write(r, &key)
}

const _: () = assert!(KEPT_ONE_IN == 10, "the views say so");
