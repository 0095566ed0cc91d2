//! DBMS_STATS: its specification. The bodies are too long for this file: see [`stats`].

use super::package::*;
use super::stats;
use crate::world::World;

pub(super) const PACKAGE: Package =
    Package { name: "DBMS_STATS", specification: SPECIFICATION, subprograms: stats::SUBPROGRAMS };

const SPECIFICATION: &str = "package dbms_stats is
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
     end;";

pub(super) fn perform<W: World>(at: usize, c: &mut Call<'_, W>) -> Run<Datum> {
    stats::run(at, c.w, &mut c.a).map(Datum::Val)
}
