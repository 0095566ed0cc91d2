//! The specifications of the built-in packages, in PL/SQL.
//!
//! The compiler reads them like those of any package; the natives beside this file implement their subprograms.

use crate::ty::Ty;
use types::{DataType, TypeId};

/// Name and specification, by name.
const SPECIFICATIONS: &[(&str, &str)] = &[
    (
        "DBMS_APPLICATION_INFO",
        "package dbms_application_info is
           procedure set_module(module_name varchar2, action_name varchar2);
           procedure set_action(action_name varchar2);
           procedure set_client_info(client_info varchar2);
           procedure read_module(module_name out varchar2, action_name out varchar2);
           procedure read_client_info(client_info out varchar2);
         end;",
    ),
    (
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
         end;",
    ),
    (
        "DBMS_CONNECTION_POOL",
        "package dbms_connection_pool is
           procedure start_pool(pool_name varchar2 default 'SYS_DEFAULT_CONNECTION_POOL');
           procedure stop_pool(pool_name varchar2 default 'SYS_DEFAULT_CONNECTION_POOL');
           procedure configure_pool(pool_name varchar2 default 'SYS_DEFAULT_CONNECTION_POOL',
             minsize number default 4, maxsize number default 40, incrsize number default 2,
             session_cached_cursors number default 20, inactivity_timeout number default 300,
             max_think_time number default 120, max_use_session number default 500000,
             max_lifetime_session number default 86400, max_txn_think_time number default 0);
           procedure alter_param(pool_name varchar2 default 'SYS_DEFAULT_CONNECTION_POOL',
             param_name varchar2, param_value varchar2);
           procedure restore_defaults(pool_name varchar2 default 'SYS_DEFAULT_CONNECTION_POOL');
         end;",
    ),
    (
        "DBMS_DB_VERSION",
        "package dbms_db_version is
           version constant pls_integer := 19; release constant pls_integer := 0;
           ver_le_9_1 constant boolean := false; ver_le_9_2 constant boolean := false;
           ver_le_9 constant boolean := false; ver_le_10_1 constant boolean := false;
           ver_le_10_2 constant boolean := false; ver_le_10 constant boolean := false;
           ver_le_11_1 constant boolean := false; ver_le_11_2 constant boolean := false;
           ver_le_11 constant boolean := false; ver_le_12_1 constant boolean := false;
           ver_le_12_2 constant boolean := false; ver_le_12 constant boolean := false;
           ver_le_18 constant boolean := false; ver_le_19 constant boolean := true;
         end;",
    ),
    (
        "DBMS_DEBUG_JDWP",
        "package dbms_debug_jdwp is
           function current_session_id return pls_integer;
           function current_session_serial return pls_integer;
         end;",
    ),
    (
        "DBMS_FLASHBACK",
        "package dbms_flashback is
           procedure enable_at_time(query_time timestamp);
           procedure enable_at_system_change_number(query_scn number);
           procedure disable;
           function get_system_change_number return number;
         end;",
    ),
    (
        "DBMS_JOB",
        "package dbms_job is
           any_instance constant binary_integer := 0;
           procedure submit(job out binary_integer, what varchar2, next_date date default sysdate,
             interval varchar2 default 'null', no_parse boolean default false,
             instance binary_integer default 0, force boolean default false);
           procedure remove(job binary_integer);
           procedure change(job binary_integer, what varchar2, next_date date, interval varchar2,
             instance binary_integer default null, force boolean default false);
           procedure what(job binary_integer, what varchar2);
           procedure next_date(job binary_integer, next_date date);
           procedure interval(job binary_integer, interval varchar2);
           procedure broken(job binary_integer, broken boolean, next_date date default sysdate);
           procedure run(job binary_integer, force boolean default false);
         end;",
    ),
    (
        "DBMS_LOB",
        "package dbms_lob is
           lob_readonly constant binary_integer := 0; lob_readwrite constant binary_integer := 1;
           lobmaxsize constant integer := 18446744073709551615;
           call constant pls_integer := 12; session constant pls_integer := 10;
           default_csid constant integer := 0; default_lang_ctx constant integer := 0;
           no_warning constant integer := 0; warn_inconvertible_char constant integer := 1;
           procedure append(dest_lob in out nocopy clob, src_lob clob);
           procedure append(dest_lob in out nocopy blob, src_lob blob);
           procedure close(lob_loc in out nocopy clob);
           procedure close(lob_loc in out nocopy blob);
           function compare(lob_1 clob, lob_2 clob, amount integer default 18446744073709551615,
             offset_1 integer default 1, offset_2 integer default 1) return integer;
           function compare(lob_1 blob, lob_2 blob, amount integer default 18446744073709551615,
             offset_1 integer default 1, offset_2 integer default 1) return integer;
           procedure copy(dest_lob in out nocopy clob, src_lob clob, amount integer, dest_offset integer default 1,
             src_offset integer default 1);
           procedure copy(dest_lob in out nocopy blob, src_lob blob, amount integer, dest_offset integer default 1,
             src_offset integer default 1);
           procedure createtemporary(lob_loc in out nocopy clob, cache boolean, dur pls_integer default 10);
           procedure createtemporary(lob_loc in out nocopy blob, cache boolean, dur pls_integer default 10);
           procedure erase(lob_loc in out nocopy clob, amount in out nocopy integer, offset integer default 1);
           procedure erase(lob_loc in out nocopy blob, amount in out nocopy integer, offset integer default 1);
           procedure freetemporary(lob_loc in out nocopy clob);
           procedure freetemporary(lob_loc in out nocopy blob);
           function getchunksize(lob_loc clob) return integer;
           function getchunksize(lob_loc blob) return integer;
           function getlength(lob_loc clob) return integer;
           function getlength(lob_loc blob) return integer;
           function instr(lob_loc clob, pattern varchar2, offset integer default 1, nth integer default 1) return integer;
           function instr(lob_loc blob, pattern raw, offset integer default 1, nth integer default 1) return integer;
           function isopen(lob_loc clob) return integer;
           function isopen(lob_loc blob) return integer;
           function istemporary(lob_loc clob) return integer;
           function istemporary(lob_loc blob) return integer;
           procedure open(lob_loc in out nocopy clob, open_mode binary_integer);
           procedure open(lob_loc in out nocopy blob, open_mode binary_integer);
           procedure read(lob_loc clob, amount in out nocopy integer, offset integer, buffer out varchar2);
           procedure read(lob_loc blob, amount in out nocopy integer, offset integer, buffer out raw);
           function substr(lob_loc clob, amount integer default 32767, offset integer default 1) return varchar2;
           function substr(lob_loc blob, amount integer default 32767, offset integer default 1) return raw;
           procedure trim(lob_loc in out nocopy clob, newlen integer);
           procedure trim(lob_loc in out nocopy blob, newlen integer);
           procedure write(lob_loc in out nocopy clob, amount integer, offset integer, buffer varchar2);
           procedure write(lob_loc in out nocopy blob, amount integer, offset integer, buffer raw);
           procedure writeappend(lob_loc in out nocopy clob, amount integer, buffer varchar2);
           procedure writeappend(lob_loc in out nocopy blob, amount integer, buffer raw);
           procedure converttoblob(dest_lob in out nocopy blob, src_clob clob, amount integer,
             dest_offset in out integer, src_offset in out integer, blob_csid number, lang_context in out integer,
             warning out integer);
           procedure converttoclob(dest_lob in out nocopy clob, src_blob blob, amount integer,
             dest_offset in out integer, src_offset in out integer, blob_csid number, lang_context in out integer,
             warning out integer);
         end;",
    ),
    (
        "DBMS_LOCK",
        "package dbms_lock is
           nl_mode constant integer := 1; ss_mode constant integer := 2; sx_mode constant integer := 3;
           s_mode constant integer := 4; ssx_mode constant integer := 5; x_mode constant integer := 6;
           maxwait constant integer := 32767;
           procedure sleep(seconds number);
           function request(id integer, lockmode integer default 6, timeout integer default 32767,
             release_on_commit boolean default false) return integer;
           function release(id integer) return integer;
           procedure allocate_unique(lockname varchar2, lockhandle out varchar2, expiration_secs integer default 864000);
           function request(lockhandle varchar2, lockmode integer default 6, timeout integer default 32767,
             release_on_commit boolean default false) return integer;
           function release(lockhandle varchar2) return integer;
           function convert(id integer, lockmode integer, timeout number default 32767) return integer;
           function convert(lockhandle varchar2, lockmode integer, timeout number default 32767) return integer;
         end;",
    ),
    (
        "DBMS_OUTPUT",
        "package dbms_output is
           type chararr is table of varchar2(32767) index by binary_integer;
           procedure enable(buffer_size integer default 20000);
           procedure disable;
           procedure put(a varchar2);
           procedure put_line(a varchar2);
           procedure new_line;
           procedure get_line(line out varchar2, status out integer);
           procedure get_lines(lines out chararr, numlines in out integer);
         end;",
    ),
    (
        "DBMS_RANDOM",
        "package dbms_random is
           procedure initialize(val binary_integer);
           procedure seed(val binary_integer);
           procedure seed(val varchar2);
           function value return number;
           function value(low number, high number) return number;
           function normal return number;
           function random return binary_integer;
           function string(opt char, len number) return varchar2;
           procedure terminate;
         end;",
    ),
    (
        "DBMS_RESULT_CACHE",
        "package dbms_result_cache is
           status_byps constant varchar2(10) := 'BYPASS'; status_disa constant varchar2(10) := 'DISABLED';
           status_enab constant varchar2(10) := 'ENABLED'; status_sync constant varchar2(10) := 'SYNC';
           function status return varchar2;
           procedure flush(retainmem boolean default false, retainsta boolean default false, global boolean default false);
           function flush(retainmem boolean default false, retainsta boolean default false, global boolean default false)
             return boolean;
           procedure bypass(bypass_mode boolean, session boolean default false);
           procedure memory_report(detailed boolean default false);
           procedure invalidate(owner varchar2, name varchar2);
           function invalidate(owner varchar2, name varchar2) return number;
           procedure invalidate(object_id integer);
           function invalidate(object_id integer) return number;
         end;",
    ),
    (
        "DBMS_SESSION",
        "package dbms_session is
           procedure sleep(seconds number);
           procedure reset_package;
           procedure free_unused_user_memory;
           procedure set_nls(param varchar2, value varchar2);
           procedure set_role(role_cmd varchar2);
           procedure set_identifier(client_id varchar2);
           procedure clear_identifier;
           procedure set_context(namespace varchar2, attribute varchar2, value varchar2, username varchar2 default null,
             client_id varchar2 default null);
           procedure clear_context(namespace varchar2, client_id varchar2 default null, attribute varchar2 default null);
           procedure clear_all_context(namespace varchar2);
         end;",
    ),
    (
        "DBMS_SHARED_POOL",
        "package dbms_shared_pool is
           procedure markhot(schema varchar2, objname varchar2, namespace number default 1, global boolean default true);
           procedure markhot(hash varchar2, namespace number default 1, global boolean default true);
           procedure unmarkhot(schema varchar2, objname varchar2, namespace number default 1, global boolean default true);
           procedure unmarkhot(hash varchar2, namespace number default 1, global boolean default true);
           procedure keep(name varchar2, flag char default 'P');
           procedure unkeep(name varchar2, flag char default 'P');
           procedure purge(name varchar2, flag char default 'P', heaps number default 1);
         end;",
    ),
    (
        "DBMS_SQL",
        "package dbms_sql is
           procedure return_result(rc in out sys_refcursor, to_client boolean default true);
         end;",
    ),
    (
        "DBMS_STATS",
        "package dbms_stats is
           auto_sample_size constant number := 0; auto_cascade constant boolean := null; auto_degree constant number := 32768;
           auto_invalidate constant boolean := null; default_degree constant number := 32767;
           type numarray is varray(2050) of number; type datearray is varray(2050) of date;
           type chararray is varray(2050) of varchar2(4000); type rawarray is varray(2050) of raw(2000);
           type fltarray is varray(2050) of binary_float; type dblarray is varray(2050) of binary_double;
           type statrec is record (epc number, minval raw(2000), maxval raw(2000), bkvals numarray, novals numarray,
             chvals chararray, eavals rawarray, rpcnts numarray, eavs number);
           procedure prepare_column_values(srec in out statrec, charvals chararray);
           procedure prepare_column_values(srec in out statrec, datevals datearray);
           procedure prepare_column_values(srec in out statrec, dblvals dblarray);
           procedure prepare_column_values(srec in out statrec, fltvals fltarray);
           procedure prepare_column_values(srec in out statrec, numvals numarray);
           procedure prepare_column_values(srec in out statrec, rawvals rawarray);
           procedure prepare_column_values_nvarchar(srec in out statrec, nvmin nvarchar2, nvmax nvarchar2);
           procedure prepare_column_values_rowid(srec in out statrec, rwmin rowid, rwmax rowid);
           procedure gather_table_stats(ownname varchar2, tabname varchar2, partname varchar2 default null,
             estimate_percent number default null, block_sample boolean default false, method_opt varchar2 default null,
             degree number default null, granularity varchar2 default null, cascade boolean default null,
             stattab varchar2 default null, statid varchar2 default null, statown varchar2 default null,
             no_invalidate boolean default null, stattype varchar2 default 'DATA', force boolean default false,
             context raw default null, options varchar2 default 'GATHER');
           procedure gather_index_stats(ownname varchar2, indname varchar2, partname varchar2 default null,
             estimate_percent number default null, stattab varchar2 default null, statid varchar2 default null,
             statown varchar2 default null, degree number default null, granularity varchar2 default null,
             no_invalidate boolean default null, stattype varchar2 default 'DATA', force boolean default false);
           procedure gather_schema_stats(ownname varchar2, estimate_percent number default null,
             block_sample boolean default false, method_opt varchar2 default null, degree number default null,
             granularity varchar2 default null, cascade boolean default null, stattab varchar2 default null,
             statid varchar2 default null, options varchar2 default 'GATHER', statown varchar2 default null,
             no_invalidate boolean default null, gather_temp boolean default false, gather_fixed boolean default false,
             stattype varchar2 default 'DATA', force boolean default false);
           procedure gather_database_stats(estimate_percent number default null, block_sample boolean default false,
             method_opt varchar2 default null, degree number default null, granularity varchar2 default null,
             cascade boolean default null, stattab varchar2 default null, statid varchar2 default null,
             options varchar2 default 'GATHER', statown varchar2 default null, gather_sys boolean default true,
             no_invalidate boolean default null, gather_temp boolean default false, gather_fixed boolean default false,
             stattype varchar2 default 'DATA', force boolean default false);
           procedure gather_dictionary_stats(comp_id varchar2 default null, estimate_percent number default null,
             block_sample boolean default false, method_opt varchar2 default null, degree number default null,
             granularity varchar2 default null, cascade boolean default null, stattab varchar2 default null,
             statid varchar2 default null, options varchar2 default 'GATHER AUTO', statown varchar2 default null,
             no_invalidate boolean default null, stattype varchar2 default 'DATA');
           procedure gather_fixed_objects_stats(stattab varchar2 default null, statid varchar2 default null,
             statown varchar2 default null, no_invalidate boolean default null);
           procedure delete_dictionary_stats(stattab varchar2 default null, statid varchar2 default null,
             statown varchar2 default null, no_invalidate boolean default null, stattype varchar2 default 'ALL',
             force boolean default false);
           procedure delete_fixed_objects_stats(stattab varchar2 default null, statid varchar2 default null,
             statown varchar2 default null, no_invalidate boolean default null, force boolean default false);
           procedure delete_table_stats(ownname varchar2, tabname varchar2, partname varchar2 default null,
             stattab varchar2 default null, statid varchar2 default null, cascade_parts boolean default true,
             cascade_columns boolean default true, cascade_indexes boolean default true, statown varchar2 default null,
             no_invalidate boolean default null, stattype varchar2 default 'ALL', force boolean default false);
           procedure delete_column_stats(ownname varchar2, tabname varchar2, colname varchar2,
             partname varchar2 default null, stattab varchar2 default null, statid varchar2 default null,
             cascade_parts boolean default true, statown varchar2 default null, no_invalidate boolean default null,
             force boolean default false, col_stat_type varchar2 default 'ALL');
           procedure delete_index_stats(ownname varchar2, indname varchar2, partname varchar2 default null,
             stattab varchar2 default null, statid varchar2 default null, cascade_parts boolean default true,
             statown varchar2 default null, no_invalidate boolean default null, stattype varchar2 default 'ALL',
             force boolean default false);
           procedure delete_schema_stats(ownname varchar2, stattab varchar2 default null, statid varchar2 default null,
             statown varchar2 default null, no_invalidate boolean default null, stattype varchar2 default 'ALL',
             force boolean default false);
           procedure delete_database_stats(stattab varchar2 default null, statid varchar2 default null,
             statown varchar2 default null, no_invalidate boolean default null, stattype varchar2 default 'ALL',
             force boolean default false);
           procedure set_table_stats(ownname varchar2, tabname varchar2, partname varchar2 default null,
             stattab varchar2 default null, statid varchar2 default null, numrows number default null,
             numblks number default null, avgrlen number default null, flags number default null,
             statown varchar2 default null, no_invalidate boolean default null, cachedblk number default null,
             cachehit number default null, force boolean default false);
           procedure set_column_stats(ownname varchar2, tabname varchar2, colname varchar2, partname varchar2 default null,
             stattab varchar2 default null, statid varchar2 default null, distcnt number default null,
             density number default null, nullcnt number default null, srec statrec default null,
             avgclen number default null, flags number default null, statown varchar2 default null,
             no_invalidate boolean default null, force boolean default false);
           procedure set_index_stats(ownname varchar2, indname varchar2, partname varchar2 default null,
             stattab varchar2 default null, statid varchar2 default null, numrows number default null,
             numlblks number default null, numdist number default null, avglblk number default null,
             avgdblk number default null, clstfct number default null, indlevel number default null,
             flags number default null, statown varchar2 default null, no_invalidate boolean default null,
             guessq number default null, cachedblk number default null, cachehit number default null,
             force boolean default false);
           procedure get_table_stats(ownname varchar2, tabname varchar2, partname varchar2 default null,
             stattab varchar2 default null, statid varchar2 default null, numrows out number, numblks out number,
             avgrlen out number, statown varchar2 default null);
           procedure get_column_stats(ownname varchar2, tabname varchar2, colname varchar2,
             partname varchar2 default null, stattab varchar2 default null, statid varchar2 default null,
             distcnt out number, density out number, nullcnt out number, srec out statrec,
             avgclen out number, statown varchar2 default null);
           procedure get_index_stats(ownname varchar2, indname varchar2, partname varchar2 default null,
             stattab varchar2 default null, statid varchar2 default null, numrows out number, numlblks out number,
             numdist out number, avglblk out number, avgdblk out number, clstfct out number, indlevel out number,
             statown varchar2 default null);
           procedure lock_table_stats(ownname varchar2, tabname varchar2, stattype varchar2 default 'ALL');
           procedure unlock_table_stats(ownname varchar2, tabname varchar2, stattype varchar2 default 'ALL');
           procedure lock_schema_stats(ownname varchar2, stattype varchar2 default 'ALL');
           procedure unlock_schema_stats(ownname varchar2, stattype varchar2 default 'ALL');
           procedure restore_table_stats(ownname varchar2, tabname varchar2, as_of_timestamp timestamp with time zone,
             restore_cluster_index boolean default false, force boolean default false, no_invalidate boolean default null);
           procedure restore_schema_stats(ownname varchar2, as_of_timestamp timestamp with time zone,
             force boolean default false, no_invalidate boolean default null);
           function get_stats_history_availability return timestamp with time zone;
           function get_stats_history_retention return number;
           procedure purge_stats(before_timestamp timestamp with time zone);
           function create_extended_stats(ownname varchar2, tabname varchar2, extension varchar2) return varchar2;
           function show_extended_stats_name(ownname varchar2, tabname varchar2, extension varchar2) return varchar2;
           procedure drop_extended_stats(ownname varchar2, tabname varchar2, extension varchar2);
           procedure set_table_prefs(ownname varchar2, tabname varchar2, pname varchar2, pvalue varchar2);
           procedure delete_table_prefs(ownname varchar2, tabname varchar2, pname varchar2);
           procedure set_schema_prefs(ownname varchar2, pname varchar2, pvalue varchar2);
           procedure set_global_prefs(pname varchar2, pvalue varchar2);
           function get_prefs(pname varchar2, ownname varchar2 default null, tabname varchar2 default null) return varchar2;
           procedure flush_database_monitoring_info;
           function report_col_usage(ownname varchar2, tabname varchar2) return clob;
           procedure create_stat_table(ownname varchar2, stattab varchar2, tblspace varchar2 default null,
             global_temporary boolean default false);
           procedure drop_stat_table(ownname varchar2, stattab varchar2);
           procedure export_table_stats(ownname varchar2, tabname varchar2, partname varchar2 default null,
             stattab varchar2, statid varchar2 default null, cascade boolean default true, statown varchar2 default null,
             stat_category varchar2 default null);
           procedure export_column_stats(ownname varchar2, tabname varchar2, colname varchar2,
             partname varchar2 default null, stattab varchar2, statid varchar2 default null,
             statown varchar2 default null);
           procedure export_index_stats(ownname varchar2, indname varchar2, partname varchar2 default null,
             stattab varchar2, statid varchar2 default null, statown varchar2 default null);
           procedure export_schema_stats(ownname varchar2, stattab varchar2, statid varchar2 default null,
             statown varchar2 default null, stat_category varchar2 default null);
           procedure import_table_stats(ownname varchar2, tabname varchar2, partname varchar2 default null,
             stattab varchar2, statid varchar2 default null, cascade boolean default true, statown varchar2 default null,
             no_invalidate boolean default null, force boolean default false, stat_category varchar2 default null);
           procedure import_column_stats(ownname varchar2, tabname varchar2, colname varchar2,
             partname varchar2 default null, stattab varchar2, statid varchar2 default null,
             statown varchar2 default null, no_invalidate boolean default null, force boolean default false);
           procedure import_index_stats(ownname varchar2, indname varchar2, partname varchar2 default null,
             stattab varchar2, statid varchar2 default null, statown varchar2 default null,
             no_invalidate boolean default null, force boolean default false);
           procedure import_schema_stats(ownname varchar2, stattab varchar2, statid varchar2 default null,
             statown varchar2 default null, no_invalidate boolean default null, force boolean default false,
             stat_category varchar2 default null);
           procedure alter_stats_history_retention(retention number);
           procedure gather_system_stats(gathering_mode varchar2 default 'NOWORKLOAD', interval number default null,
             stattab varchar2 default null, statid varchar2 default null, statown varchar2 default null);
           procedure set_system_stats(pname varchar2, pvalue number, stattab varchar2 default null,
             statid varchar2 default null, statown varchar2 default null);
           procedure get_system_stats(status out varchar2, dstart out date, dstop out date, pname varchar2,
             pvalue out number, stattab varchar2 default null, statid varchar2 default null,
             statown varchar2 default null);
           procedure delete_system_stats(stattab varchar2 default null, statid varchar2 default null,
             statown varchar2 default null);
           procedure convert_raw_value(rawval raw, resval out varchar2);
           procedure convert_raw_value(rawval raw, resval out date);
           procedure convert_raw_value(rawval raw, resval out number);
         end;",
    ),
    (
        "DBMS_TRANSACTION",
        "package dbms_transaction is
           transaction_type_sessionless constant pls_integer := 1;
           transaction_new constant pls_integer := 1; transaction_resume constant pls_integer := 2;
           procedure commit;
           procedure rollback;
           procedure savepoint(savept varchar2);
           procedure rollback_savepoint(savept varchar2);
           procedure read_only;
           procedure read_write;
           function local_transaction_id(create_transaction boolean default false) return varchar2;
           function start_transaction(xid raw default null, transaction_type pls_integer default 1,
             timeout pls_integer default 60, flag pls_integer default 1) return raw;
           procedure suspend_transaction;
           function get_transaction_id return varchar2;
         end;",
    ),
    (
        "DBMS_UTILITY",
        "package dbms_utility is
           type uncl_array is table of varchar2(227) index by binary_integer;
           type lname_array is table of varchar2(4000) index by binary_integer;
           function get_time return number;
           function get_cpu_time return number;
           function format_error_stack return varchar2;
           function format_error_backtrace return varchar2;
           function format_call_stack return varchar2;
           function get_hash_value(name varchar2, base number, hash_size number) return number;
           procedure get_tz_transitions(regionid number, transitions out raw);
           procedure comma_to_table(list varchar2, tablen out binary_integer, tab out uncl_array);
           procedure exec_ddl_statement(parse_string varchar2);
           procedure db_version(version out varchar2, compatibility out varchar2);
         end;",
    ),
    (
        "DBMS_WORKLOAD_REPOSITORY",
        "package dbms_workload_repository is
           procedure create_snapshot(flush_level varchar2 default 'BESTFIT', source_name varchar2 default null);
           function create_snapshot(flush_level varchar2 default 'BESTFIT', source_name varchar2 default null) return number;
           procedure modify_snapshot_settings(retention number default null, interval number default null,
             topnsql number default null, dbid number default null);
           procedure drop_snapshot_range(low_snap_id number, high_snap_id number, dbid number default null);
           procedure create_baseline(start_snap_id number, end_snap_id number, baseline_name varchar2,
             dbid number default null, expiration number default null);
           function create_baseline(start_snap_id number, end_snap_id number, baseline_name varchar2,
             dbid number default null, expiration number default null) return number;
           procedure drop_baseline(baseline_name varchar2, cascade boolean default false, dbid number default null);
           function awr_report_text(l_dbid number, l_inst_num number, l_bid number, l_eid number,
             l_options number default 0) return awrrpt_text_type_table;
           function awr_report_html(l_dbid number, l_inst_num number, l_bid number, l_eid number,
             l_options number default 0) return awrrpt_text_type_table;
           function awr_diff_report_text(dbid1 number, inst_num1 number, bid1 number, eid1 number,
             dbid2 number, inst_num2 number, bid2 number, eid2 number) return awrrpt_text_type_table;
           function awr_diff_report_html(dbid1 number, inst_num1 number, bid1 number, eid1 number,
             dbid2 number, inst_num2 number, bid2 number, eid2 number) return awrrpt_text_type_table;
           function ash_report_text(l_dbid number, l_inst_num number, l_btime date, l_etime date,
             l_options number default 0, l_slot_width number default 0, l_sid number default null, l_sql_id varchar2 default null,
             l_wait_class varchar2 default null, l_service_hash number default null, l_module varchar2 default null,
             l_action varchar2 default null, l_client_id varchar2 default null, l_plsql_entry varchar2 default null,
             l_data_src number default 0) return awrrpt_text_type_table;
           function ash_report_html(l_dbid number, l_inst_num number, l_btime date, l_etime date,
             l_options number default 0, l_slot_width number default 0, l_sid number default null, l_sql_id varchar2 default null,
             l_wait_class varchar2 default null, l_service_hash number default null, l_module varchar2 default null,
             l_action varchar2 default null, l_client_id varchar2 default null, l_plsql_entry varchar2 default null,
             l_data_src number default 0) return awrrpt_text_type_table;
         end;",
    ),
    (
        "DBMS_XA",
        "package dbms_xa is
           type dbms_xa_xid_array is table of raw(140) index by binary_integer;
           tmnoflags constant pls_integer := 0; tmsuccess constant pls_integer := 67108864;
           tmjoin constant pls_integer := 2097152; tmsuspend constant pls_integer := 33554432;
           tmresume constant pls_integer := 134217728;
           xa_rbbase constant pls_integer := 100; xa_rbrollback constant pls_integer := 100;
           xa_rbcommfail constant pls_integer := 101; xa_rbdeadlock constant pls_integer := 102;
           xa_rbintegrity constant pls_integer := 103; xa_rbother constant pls_integer := 104;
           xa_rbproto constant pls_integer := 105; xa_rbtimeout constant pls_integer := 106;
           xa_rbtransient constant pls_integer := 107; xa_rbend constant pls_integer := 107;
           xa_nomigrate constant pls_integer := 9; xa_heurhaz constant pls_integer := 8;
           xa_heurcom constant pls_integer := 7; xa_heurrb constant pls_integer := 6;
           xa_heurmix constant pls_integer := 5; xa_retry constant pls_integer := 4;
           xa_rdonly constant pls_integer := 3; xa_ok constant pls_integer := 0;
           xaer_async constant pls_integer := -2; xaer_rmerr constant pls_integer := -3;
           xaer_nota constant pls_integer := -4; xaer_inval constant pls_integer := -5;
           xaer_proto constant pls_integer := -6; xaer_rmfail constant pls_integer := -7;
           xaer_dupid constant pls_integer := -8; xaer_outside constant pls_integer := -9;
           function xa_start(xid raw, flag pls_integer) return pls_integer;
           function xa_end(xid raw, flag pls_integer) return pls_integer;
           function xa_prepare(xid raw) return pls_integer;
           function xa_commit(xid raw, onephase boolean) return pls_integer;
           function xa_rollback(xid raw) return pls_integer;
           function xa_forget(xid raw) return pls_integer;
           function xa_recover return dbms_xa_xid_array;
           function xa_settimeout(seconds pls_integer) return pls_integer;
           function xa_getlastoer return pls_integer;
           procedure dist_txn_sync;
         end;",
    ),
    (
        "DBMS_XPLAN",
        "package dbms_xplan is
           function display(table_name varchar2 default 'PLAN_TABLE', statement_id varchar2 default null,
             format varchar2 default 'TYPICAL') return dbms_xplan_type_table;
           function display_cursor(sql_id varchar2 default null, cursor_child_no number default 0,
             format varchar2 default 'TYPICAL') return dbms_xplan_type_table;
         end;",
    ),
    // JDBC calls it for the longest length of names.
    (
        "PRIVATE_JDBC",
        "package private_jdbc is
           function get_compatible return varchar2;
           function get_max_string_size return varchar2;
         end;",
    ),
    (
        "STANDARD",
        "package standard is
           procedure raise_application_error(num number, msg varchar2, keeperrorstack boolean default false);
         end;",
    ),
    (
        "UTL_RAW",
        "package utl_raw is
           function cast_to_raw(c varchar2) return raw;
           function cast_to_varchar2(r raw) return varchar2;
           function length(r raw) return number;
           function concat(r1 raw default null, r2 raw default null, r3 raw default null, r4 raw default null) return raw;
           function substr(r raw, pos binary_integer, len binary_integer default null) return raw;
           function reverse(r raw) return raw;
           function compare(r1 raw, r2 raw) return number;
           function bit_and(r1 raw, r2 raw) return raw;
           function bit_or(r1 raw, r2 raw) return raw;
           function bit_xor(r1 raw, r2 raw) return raw;
           function cast_from_binary_integer(n binary_integer) return raw;
           function cast_to_binary_integer(r raw) return binary_integer;
           function cast_from_number(n number) return raw;
           function cast_to_number(r raw) return number;
         end;",
    ),
];

/// Collection types that come with the database; PL/SQL treats them like user types.
const TYPES: &[(&str, &str)] = &[
    ("ODCIDATELIST", "type odcidatelist as varray(32767) of date"),
    ("ODCINUMBERLIST", "type odcinumberlist as varray(32767) of number"),
    ("ODCIRAWLIST", "type odcirawlist as varray(32767) of raw(2000)"),
    ("ODCIVARCHAR2LIST", "type odcivarchar2list as varray(32767) of varchar2(4000)"),
];

/// The specification of a built-in package.
pub fn specification(name: &str) -> Option<&'static str> {
    let at = SPECIFICATIONS.binary_search_by(|(n, _)| (*n).cmp(name)).ok()?;
    Some(SPECIFICATIONS[at].1)
}

/// Whether a package or type with that name comes with the database.
pub fn is_built_in(name: &str) -> bool {
    specification(name).is_some() || type_source(name).is_some()
}

/// The text of a built-in type.
pub fn type_source(name: &str) -> Option<&'static str> {
    TYPES.iter().find(|(n, _)| *n == name).map(|(_, source)| *source)
}

/// Names of the built-in packages.
pub fn names() -> impl Iterator<Item = &'static str> {
    SPECIFICATIONS.iter().map(|(name, _)| *name)
}

/// Types of built-in packages that are not written in PL/SQL.
pub(crate) fn package_type(path: &[&str]) -> Option<Ty> {
    match path {
        // An object type in Oracle; here its value is the result of the function with that name.
        ["DBMS_XA_XID"] | ["SYS", "DBMS_XA_XID"] => Some(Ty::of(DataType::Raw { len: 140 })),
        // Lines of plans and reports are for TABLE(…); PL/SQL only passes them on.
        [name @ ("DBMS_XPLAN_TYPE_TABLE" | "AWRRPT_TEXT_TYPE_TABLE")]
        | ["SYS", name @ ("DBMS_XPLAN_TYPE_TABLE" | "AWRRPT_TEXT_TYPE_TABLE")] => {
            TypeId::built_in_named(name).map(|id| Ty::of(DataType::Named(id)))
        }
        ["SYS" | "STANDARD", name] | ["SYS", "STANDARD", name] => match *name {
            "NUMBER" => Some(Ty::NUMBER),
            "VARCHAR2" => Some(Ty::TEXT),
            "BOOLEAN" => Some(Ty::BOOLEAN),
            "DATE" => Some(Ty::of(DataType::Date)),
            "PLS_INTEGER" | "BINARY_INTEGER" => Some(Ty::INTEGER),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn specifications_are_sorted_and_parse() {
        assert!(super::SPECIFICATIONS.windows(2).all(|w| w[0].0 < w[1].0));
        for (name, text) in super::SPECIFICATIONS {
            let unit = sql::plsql::parse_unit(text).unwrap_or_else(|e| panic!("{name}: {e}"));
            let sql::plsql::ast::Unit::Package(p) = unit else { panic!("{name}") };
            let mut seen = std::collections::HashMap::new();
            for d in &p.declarations {
                if let sql::plsql::ast::Declaration::Subprogram(s) = d {
                    let n = seen.entry(s.name.name.clone()).or_insert(0u32);
                    *n += 1;
                    let native = super::super::native(name, &s.name.name, *n);
                    assert!(native.is_some_and(super::super::is_native), "{name}.{} {n}", s.name.name);
                    if *name == "DBMS_STATS" {
                        let place = s.parameters.iter().position(|p| p.name.name == "NO_INVALIDATE");
                        let known = super::super::stats::no_invalidate_of(&s.name.name, *n);
                        assert_eq!(known, place, "{}", s.name.name);
                    }
                }
            }
        }
    }
}
