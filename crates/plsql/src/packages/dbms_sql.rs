//! DBMS_SQL.
//!
//! The cursors of a session are in [`Cursors`]. A cursor number that no open cursor has is ORA-29471, and then the
//! package refuses every call of the session, as Oracle's security model says.

use super::package::*;
use super::sql_cursors::*;
use crate::world::{DynamicKind, World};
use types::{DataType, Result, Zone};

package! {
    "DBMS_SQL",
    "package dbms_sql is
       v6 constant integer := 0; native constant integer := 1; v7 constant integer := 2; foreign_syntax constant
         integer := 4294967295;
       varchar2_type constant pls_integer := 1; number_type constant pls_integer := 2;
       long_type constant pls_integer := 8; rowid_type constant pls_integer := 11;
       date_type constant pls_integer := 12; raw_type constant pls_integer := 23;
       long_raw_type constant pls_integer := 24; char_type constant pls_integer := 96;
       binary_float_type constant pls_integer := 100; binary_double_type constant pls_integer := 101;
       mlslabel_type constant pls_integer := 106; user_defined_type constant pls_integer := 109;
       ref_type constant pls_integer := 111; clob_type constant pls_integer := 112;
       blob_type constant pls_integer := 113; bfile_type constant pls_integer := 114;
       timestamp_type constant pls_integer := 180; timestamp_with_tz_type constant pls_integer := 181;
       interval_year_to_month_type constant pls_integer := 182;
       interval_day_to_second_type constant pls_integer := 183; urowid_type constant pls_integer := 208;
       timestamp_with_local_tz_type constant pls_integer := 231;
       type desc_rec is record (col_type binary_integer := 0, col_max_len binary_integer := 0, col_name
         varchar2(32) := '', col_name_len binary_integer := 0, col_schema_name varchar2(32) := '',
         col_schema_name_len binary_integer := 0, col_precision binary_integer := 0, col_scale binary_integer :=
         0, col_charsetid binary_integer := 0, col_charsetform binary_integer := 0, col_null_ok boolean :=
         true);
       type desc_tab is table of desc_rec index by binary_integer;
       type desc_rec2 is record (col_type binary_integer := 0, col_max_len binary_integer := 0, col_name
         varchar2(32767) := '', col_name_len binary_integer := 0, col_schema_name varchar2(32) := '',
         col_schema_name_len binary_integer := 0, col_precision binary_integer := 0, col_scale binary_integer :=
         0, col_charsetid binary_integer := 0, col_charsetform binary_integer := 0, col_null_ok boolean :=
         true);
       type desc_tab2 is table of desc_rec2 index by binary_integer;
       type desc_rec3 is record (col_type binary_integer := 0, col_max_len binary_integer := 0, col_name
         varchar2(32767) := '', col_name_len binary_integer := 0, col_schema_name varchar2(128) := '',
         col_schema_name_len binary_integer := 0, col_precision binary_integer := 0, col_scale binary_integer :=
         0, col_charsetid binary_integer := 0, col_charsetform binary_integer := 0, col_null_ok boolean := true,
         col_type_name varchar2(32767), col_type_name_len binary_integer);
       type desc_tab3 is table of desc_rec3 index by binary_integer;
       type varchar2a is table of varchar2(32767) index by binary_integer;
       type varchar2s is table of varchar2(256) index by binary_integer;
       type number_table is table of number index by binary_integer;
       type varchar2_table is table of varchar2(4000) index by binary_integer;
       type date_table is table of date index by binary_integer;
       type clob_table is table of clob index by binary_integer;
       type blob_table is table of blob index by binary_integer;
       type binary_float_table is table of binary_float index by binary_integer;
       type binary_double_table is table of binary_double index by binary_integer;
       type timestamp_table is table of timestamp_unconstrained index by binary_integer;
       type timestamp_with_time_zone_table is table of timestamp_tz_unconstrained index by binary_integer;
       type timestamp_with_ltz_table is table of timestamp_ltz_unconstrained index by binary_integer;
       type interval_year_to_month_table is table of yminterval_unconstrained index by binary_integer;
       type interval_day_to_second_table is table of dsinterval_unconstrained index by binary_integer;
       type urowid_table is table of urowid index by binary_integer;
       inconsistent_type exception; pragma exception_init(inconsistent_type, -6562);
       function open_cursor(treat_as_client_for_results boolean default false) return integer;
       function open_cursor(security_level integer, treat_as_client_for_results boolean default false) return
         integer;
       function is_open(c integer) return boolean; procedure close_cursor(c in out integer);
       procedure parse(c integer, statement varchar2, language_flag integer, edition varchar2 default null,
         apply_crossedition_trigger varchar2 default null, fire_apply_trigger boolean default true, schema
         varchar2 default null, container varchar2 default null);
       procedure parse(c integer, statement clob, language_flag integer, edition varchar2 default null,
         apply_crossedition_trigger varchar2 default null, fire_apply_trigger boolean default true, schema
         varchar2 default null, container varchar2 default null);
       procedure parse(c integer, statement varchar2s, lb integer, ub integer, lfflg boolean, language_flag
         integer, edition varchar2 default null, apply_crossedition_trigger varchar2 default null,
         fire_apply_trigger boolean default true, schema varchar2 default null, container varchar2 default
         null);
       procedure parse(c integer, statement varchar2a, lb integer, ub integer, lfflg boolean, language_flag
         integer, edition varchar2 default null, apply_crossedition_trigger varchar2 default null,
         fire_apply_trigger boolean default true, schema varchar2 default null, container varchar2 default
         null);
       procedure bind_variable(c integer, name varchar2, value number);
       procedure bind_variable(c integer, name varchar2, value varchar2);
       procedure bind_variable(c integer, name varchar2, value date);
       procedure bind_variable(c integer, name varchar2, value clob);
       procedure bind_variable(c integer, name varchar2, value blob);
       procedure bind_variable(c integer, name varchar2, value binary_float);
       procedure bind_variable(c integer, name varchar2, value binary_double);
       procedure bind_variable(c integer, name varchar2, value timestamp_unconstrained);
       procedure bind_variable(c integer, name varchar2, value timestamp_tz_unconstrained);
       procedure bind_variable(c integer, name varchar2, value timestamp_ltz_unconstrained);
       procedure bind_variable(c integer, name varchar2, value yminterval_unconstrained);
       procedure bind_variable(c integer, name varchar2, value dsinterval_unconstrained);
       procedure bind_variable(c integer, name varchar2, value urowid);
       procedure bind_variable(c integer, name varchar2, value varchar2, out_value_size integer);
       procedure bind_variable(c integer, name varchar2, value boolean);
       procedure bind_variable_char(c integer, name varchar2, value varchar2);
       procedure bind_variable_char(c integer, name varchar2, value varchar2, out_value_size integer);
       procedure bind_variable_raw(c integer, name varchar2, value raw);
       procedure bind_variable_raw(c integer, name varchar2, value raw, out_value_size integer);
       procedure bind_variable_rowid(c integer, name varchar2, value rowid);
       procedure bind_array(c integer, name varchar2, table_variable number_table);
       procedure bind_array(c integer, name varchar2, table_variable number_table, index1 integer, index2
         integer);
       procedure bind_array(c integer, name varchar2, table_variable varchar2_table);
       procedure bind_array(c integer, name varchar2, table_variable varchar2_table, index1 integer, index2
         integer);
       procedure bind_array(c integer, name varchar2, table_variable date_table);
       procedure bind_array(c integer, name varchar2, table_variable date_table, index1 integer, index2
         integer);
       procedure bind_array(c integer, name varchar2, table_variable clob_table);
       procedure bind_array(c integer, name varchar2, table_variable clob_table, index1 integer, index2
         integer);
       procedure bind_array(c integer, name varchar2, table_variable blob_table);
       procedure bind_array(c integer, name varchar2, table_variable blob_table, index1 integer, index2
         integer);
       procedure bind_array(c integer, name varchar2, table_variable binary_float_table);
       procedure bind_array(c integer, name varchar2, table_variable binary_float_table, index1 integer, index2
         integer);
       procedure bind_array(c integer, name varchar2, table_variable binary_double_table);
       procedure bind_array(c integer, name varchar2, table_variable binary_double_table, index1 integer, index2
         integer);
       procedure bind_array(c integer, name varchar2, table_variable timestamp_table);
       procedure bind_array(c integer, name varchar2, table_variable timestamp_table, index1 integer, index2
         integer);
       procedure bind_array(c integer, name varchar2, table_variable timestamp_with_time_zone_table);
       procedure bind_array(c integer, name varchar2, table_variable timestamp_with_time_zone_table, index1
         integer, index2 integer);
       procedure bind_array(c integer, name varchar2, table_variable timestamp_with_ltz_table);
       procedure bind_array(c integer, name varchar2, table_variable timestamp_with_ltz_table, index1 integer,
         index2 integer);
       procedure bind_array(c integer, name varchar2, table_variable interval_year_to_month_table);
       procedure bind_array(c integer, name varchar2, table_variable interval_year_to_month_table, index1
         integer, index2 integer);
       procedure bind_array(c integer, name varchar2, table_variable interval_day_to_second_table);
       procedure bind_array(c integer, name varchar2, table_variable interval_day_to_second_table, index1
         integer, index2 integer);
       procedure bind_array(c integer, name varchar2, table_variable urowid_table);
       procedure bind_array(c integer, name varchar2, table_variable urowid_table, index1 integer, index2
         integer);
       procedure bind_array(c integer, name varchar2, table_variable varchar2a);
       procedure define_column(c integer, position integer, column number);
       procedure define_column(c integer, position integer, column varchar2, column_size integer);
       procedure define_column(c integer, position integer, column date);
       procedure define_column(c integer, position integer, column clob);
       procedure define_column(c integer, position integer, column blob);
       procedure define_column(c integer, position integer, column binary_float);
       procedure define_column(c integer, position integer, column binary_double);
       procedure define_column(c integer, position integer, column timestamp_unconstrained);
       procedure define_column(c integer, position integer, column timestamp_tz_unconstrained);
       procedure define_column(c integer, position integer, column timestamp_ltz_unconstrained);
       procedure define_column(c integer, position integer, column yminterval_unconstrained);
       procedure define_column(c integer, position integer, column dsinterval_unconstrained);
       procedure define_column(c integer, position integer, column urowid);
       procedure define_column_char(c integer, position integer, column varchar2, column_size integer);
       procedure define_column_raw(c integer, position integer, column raw, column_size integer);
       procedure define_column_rowid(c integer, position integer, column rowid);
       procedure define_column_long(c integer, position integer);
       procedure define_array(c integer, position integer, table_variable number_table, cnt integer, lower_bound
         integer);
       procedure define_array(c integer, position integer, table_variable varchar2_table, cnt integer,
         lower_bound integer);
       procedure define_array(c integer, position integer, table_variable date_table, cnt integer, lower_bound
         integer);
       procedure define_array(c integer, position integer, table_variable clob_table, cnt integer, lower_bound
         integer);
       procedure define_array(c integer, position integer, table_variable blob_table, cnt integer, lower_bound
         integer);
       procedure define_array(c integer, position integer, table_variable binary_float_table, cnt integer,
         lower_bound integer);
       procedure define_array(c integer, position integer, table_variable binary_double_table, cnt integer,
         lower_bound integer);
       procedure define_array(c integer, position integer, table_variable timestamp_table, cnt integer,
         lower_bound integer);
       procedure define_array(c integer, position integer, table_variable timestamp_with_time_zone_table, cnt
         integer, lower_bound integer);
       procedure define_array(c integer, position integer, table_variable timestamp_with_ltz_table, cnt integer,
         lower_bound integer);
       procedure define_array(c integer, position integer, table_variable interval_year_to_month_table, cnt
         integer, lower_bound integer);
       procedure define_array(c integer, position integer, table_variable interval_day_to_second_table, cnt
         integer, lower_bound integer);
       procedure define_array(c integer, position integer, table_variable urowid_table, cnt integer, lower_bound
         integer);
       procedure define_array(c integer, position integer, table_variable varchar2a, cnt integer, lower_bound
         integer);
       function execute(c integer) return integer; function fetch_rows(c integer) return integer;
       function execute_and_fetch(c integer, exact boolean default false) return integer;
       procedure column_value(c integer, position integer, value out number);
       procedure column_value(c integer, position integer, value out varchar2);
       procedure column_value(c integer, position integer, value out date);
       procedure column_value(c integer, position integer, value out clob);
       procedure column_value(c integer, position integer, value out blob);
       procedure column_value(c integer, position integer, value out binary_float);
       procedure column_value(c integer, position integer, value out binary_double);
       procedure column_value(c integer, position integer, value out timestamp_unconstrained);
       procedure column_value(c integer, position integer, value out timestamp_tz_unconstrained);
       procedure column_value(c integer, position integer, value out timestamp_ltz_unconstrained);
       procedure column_value(c integer, position integer, value out yminterval_unconstrained);
       procedure column_value(c integer, position integer, value out dsinterval_unconstrained);
       procedure column_value(c integer, position integer, value out urowid);
       procedure column_value(c integer, position integer, value out number, column_error out number,
         actual_length out integer);
       procedure column_value(c integer, position integer, value out varchar2, column_error out number,
         actual_length out integer);
       procedure column_value(c integer, position integer, value out date, column_error out number,
         actual_length out integer);
       procedure column_value(c integer, position integer, table_variable in out nocopy number_table);
       procedure column_value(c integer, position integer, table_variable in out nocopy varchar2_table);
       procedure column_value(c integer, position integer, table_variable in out nocopy date_table);
       procedure column_value(c integer, position integer, table_variable in out nocopy clob_table);
       procedure column_value(c integer, position integer, table_variable in out nocopy blob_table);
       procedure column_value(c integer, position integer, table_variable in out nocopy binary_float_table);
       procedure column_value(c integer, position integer, table_variable in out nocopy binary_double_table);
       procedure column_value(c integer, position integer, table_variable in out nocopy timestamp_table);
       procedure column_value(c integer, position integer, table_variable in out nocopy
         timestamp_with_time_zone_table);
       procedure column_value(c integer, position integer, table_variable in out nocopy
         timestamp_with_ltz_table);
       procedure column_value(c integer, position integer, table_variable in out nocopy
         interval_year_to_month_table);
       procedure column_value(c integer, position integer, table_variable in out nocopy
         interval_day_to_second_table);
       procedure column_value(c integer, position integer, table_variable in out nocopy urowid_table);
       procedure column_value(c integer, position integer, table_variable in out nocopy varchar2a);
       procedure column_value_char(c integer, position integer, value out varchar2);
       procedure column_value_char(c integer, position integer, value out varchar2, column_error out number,
         actual_length out integer);
       procedure column_value_raw(c integer, position integer, value out raw);
       procedure column_value_raw(c integer, position integer, value out raw, column_error out number,
         actual_length out integer);
       procedure column_value_rowid(c integer, position integer, value out rowid);
       procedure column_value_rowid(c integer, position integer, value out rowid, column_error out number,
         actual_length out integer);
       procedure column_value_long(c integer, position integer, length integer, offset integer, value out
         varchar2, value_length out integer);
       procedure variable_value(c integer, name varchar2, value out number);
       procedure variable_value(c integer, name varchar2, value out varchar2);
       procedure variable_value(c integer, name varchar2, value out date);
       procedure variable_value(c integer, name varchar2, value out clob);
       procedure variable_value(c integer, name varchar2, value out blob);
       procedure variable_value(c integer, name varchar2, value out binary_float);
       procedure variable_value(c integer, name varchar2, value out binary_double);
       procedure variable_value(c integer, name varchar2, value out timestamp_unconstrained);
       procedure variable_value(c integer, name varchar2, value out timestamp_tz_unconstrained);
       procedure variable_value(c integer, name varchar2, value out timestamp_ltz_unconstrained);
       procedure variable_value(c integer, name varchar2, value out yminterval_unconstrained);
       procedure variable_value(c integer, name varchar2, value out dsinterval_unconstrained);
       procedure variable_value(c integer, name varchar2, value out urowid);
       procedure variable_value(c integer, name varchar2, value out boolean);
       procedure variable_value(c integer, name varchar2, value out nocopy number_table);
       procedure variable_value(c integer, name varchar2, value out nocopy varchar2_table);
       procedure variable_value(c integer, name varchar2, value out nocopy date_table);
       procedure variable_value(c integer, name varchar2, value out nocopy clob_table);
       procedure variable_value(c integer, name varchar2, value out nocopy blob_table);
       procedure variable_value(c integer, name varchar2, value out nocopy binary_float_table);
       procedure variable_value(c integer, name varchar2, value out nocopy binary_double_table);
       procedure variable_value(c integer, name varchar2, value out nocopy timestamp_table);
       procedure variable_value(c integer, name varchar2, value out nocopy timestamp_with_time_zone_table);
       procedure variable_value(c integer, name varchar2, value out nocopy timestamp_with_ltz_table);
       procedure variable_value(c integer, name varchar2, value out nocopy interval_year_to_month_table);
       procedure variable_value(c integer, name varchar2, value out nocopy interval_day_to_second_table);
       procedure variable_value(c integer, name varchar2, value out nocopy urowid_table);
       procedure variable_value_char(c integer, name varchar2, value out varchar2);
       procedure variable_value_raw(c integer, name varchar2, value out raw);
       procedure variable_value_rowid(c integer, name varchar2, value out rowid);
       procedure describe_columns(c integer, col_cnt out integer, desc_t out desc_tab);
       procedure describe_columns2(c integer, col_cnt out integer, desc_t out desc_tab2);
       procedure describe_columns3(c integer, col_cnt out integer, desc_t out desc_tab3);
       function to_refcursor(cursor_number in out integer) return sys_refcursor;
       function to_cursor_number(rc in out sys_refcursor) return integer;
       function last_error_position return integer; function last_row_count return integer;
       function last_row_id return rowid; function last_sql_function_code return integer;
       procedure return_result(rc in out sys_refcursor, to_client boolean default true);
       procedure return_result(rc in out integer, to_client boolean default true);
     end;";
    "OPEN_CURSOR" 1 => open_cursor, "OPEN_CURSOR" 2 => open_cursor_secured, "IS_OPEN" 1 => is_open,
    "CLOSE_CURSOR" 1 => close_cursor, "PARSE" 1 => |c| parse(c, 1, 3), "PARSE" 2 => |c| parse(c, 1, 3),
    "PARSE" 3 => |c| parse(c, 4, 6), "PARSE" 4 => |c| parse(c, 4, 6),
    "BIND_VARIABLE" 1 => |c| bind(c, DataType::NUMBER), "BIND_VARIABLE" 2 => |c| bind(c, DataType::TEXT),
    "BIND_VARIABLE" 3 => |c| bind(c, DataType::Date), "BIND_VARIABLE" 4 => |c| bind(c, DataType::Clob),
    "BIND_VARIABLE" 5 => |c| bind(c, DataType::Blob), "BIND_VARIABLE" 6 => |c| bind(c, DataType::BinaryFloat),
    "BIND_VARIABLE" 7 => |c| bind(c, DataType::BinaryDouble), "BIND_VARIABLE" 8 => |c| bind(c, TIMESTAMP),
    "BIND_VARIABLE" 9 => |c| bind(c, TIMESTAMP_TZ), "BIND_VARIABLE" 10 => |c| bind(c, TIMESTAMP_LTZ),
    "BIND_VARIABLE" 11 => |c| bind(c, INTERVAL_YM), "BIND_VARIABLE" 12 => |c| bind(c, INTERVAL_DS),
    "BIND_VARIABLE" 13 => |c| bind(c, DataType::Rowid), "BIND_VARIABLE" 14 => |c| bind(c, DataType::TEXT),
    "BIND_VARIABLE" 15 => |c| bind(c, DataType::Boolean), "BIND_VARIABLE_CHAR" 1 => |c| bind(c, DataType::TEXT),
    "BIND_VARIABLE_CHAR" 2 => |c| bind(c, DataType::TEXT), "BIND_VARIABLE_RAW" 1 => |c| bind(c, RAW),
    "BIND_VARIABLE_RAW" 2 => |c| bind(c, RAW), "BIND_VARIABLE_ROWID" 1 => |c| bind(c, DataType::Rowid),
    "BIND_ARRAY" 1 => |c| bind(c, DataType::NUMBER), "BIND_ARRAY" 2 => |c| bind(c, DataType::NUMBER),
    "BIND_ARRAY" 3 => |c| bind(c, DataType::TEXT), "BIND_ARRAY" 4 => |c| bind(c, DataType::TEXT),
    "BIND_ARRAY" 5 => |c| bind(c, DataType::Date), "BIND_ARRAY" 6 => |c| bind(c, DataType::Date),
    "BIND_ARRAY" 7 => |c| bind(c, DataType::Clob), "BIND_ARRAY" 8 => |c| bind(c, DataType::Clob),
    "BIND_ARRAY" 9 => |c| bind(c, DataType::Blob), "BIND_ARRAY" 10 => |c| bind(c, DataType::Blob),
    "BIND_ARRAY" 11 => |c| bind(c, DataType::BinaryFloat), "BIND_ARRAY" 12 => |c| bind(c, DataType::BinaryFloat),
    "BIND_ARRAY" 13 => |c| bind(c, DataType::BinaryDouble), "BIND_ARRAY" 14 => |c| bind(c, DataType::BinaryDouble),
    "BIND_ARRAY" 15 => |c| bind(c, TIMESTAMP), "BIND_ARRAY" 16 => |c| bind(c, TIMESTAMP),
    "BIND_ARRAY" 17 => |c| bind(c, TIMESTAMP_TZ), "BIND_ARRAY" 18 => |c| bind(c, TIMESTAMP_TZ),
    "BIND_ARRAY" 19 => |c| bind(c, TIMESTAMP_LTZ), "BIND_ARRAY" 20 => |c| bind(c, TIMESTAMP_LTZ),
    "BIND_ARRAY" 21 => |c| bind(c, INTERVAL_YM), "BIND_ARRAY" 22 => |c| bind(c, INTERVAL_YM),
    "BIND_ARRAY" 23 => |c| bind(c, INTERVAL_DS), "BIND_ARRAY" 24 => |c| bind(c, INTERVAL_DS),
    "BIND_ARRAY" 25 => |c| bind(c, DataType::Rowid), "BIND_ARRAY" 26 => |c| bind(c, DataType::Rowid),
    "BIND_ARRAY" 27 => |c| bind(c, DataType::TEXT), "DEFINE_COLUMN" 1 => |c| define(c, DataType::NUMBER),
    "DEFINE_COLUMN" 2 => |c| define(c, DataType::TEXT), "DEFINE_COLUMN" 3 => |c| define(c, DataType::Date),
    "DEFINE_COLUMN" 4 => |c| define(c, DataType::Clob), "DEFINE_COLUMN" 5 => |c| define(c, DataType::Blob),
    "DEFINE_COLUMN" 6 => |c| define(c, DataType::BinaryFloat),
    "DEFINE_COLUMN" 7 => |c| define(c, DataType::BinaryDouble), "DEFINE_COLUMN" 8 => |c| define(c, TIMESTAMP),
    "DEFINE_COLUMN" 9 => |c| define(c, TIMESTAMP_TZ), "DEFINE_COLUMN" 10 => |c| define(c, TIMESTAMP_LTZ),
    "DEFINE_COLUMN" 11 => |c| define(c, INTERVAL_YM), "DEFINE_COLUMN" 12 => |c| define(c, INTERVAL_DS),
    "DEFINE_COLUMN" 13 => |c| define(c, DataType::Rowid), "DEFINE_COLUMN_CHAR" 1 => |c| define(c, CHAR),
    "DEFINE_COLUMN_RAW" 1 => |c| define(c, RAW), "DEFINE_COLUMN_ROWID" 1 => |c| define(c, DataType::Rowid),
    "DEFINE_COLUMN_LONG" 1 => |c| define(c, DataType::Long), "DEFINE_ARRAY" 1 => |c| define(c, DataType::NUMBER),
    "DEFINE_ARRAY" 2 => |c| define(c, DataType::TEXT), "DEFINE_ARRAY" 3 => |c| define(c, DataType::Date),
    "DEFINE_ARRAY" 4 => |c| define(c, DataType::Clob), "DEFINE_ARRAY" 5 => |c| define(c, DataType::Blob),
    "DEFINE_ARRAY" 6 => |c| define(c, DataType::BinaryFloat),
    "DEFINE_ARRAY" 7 => |c| define(c, DataType::BinaryDouble), "DEFINE_ARRAY" 8 => |c| define(c, TIMESTAMP),
    "DEFINE_ARRAY" 9 => |c| define(c, TIMESTAMP_TZ), "DEFINE_ARRAY" 10 => |c| define(c, TIMESTAMP_LTZ),
    "DEFINE_ARRAY" 11 => |c| define(c, INTERVAL_YM), "DEFINE_ARRAY" 12 => |c| define(c, INTERVAL_DS),
    "DEFINE_ARRAY" 13 => |c| define(c, DataType::Rowid), "DEFINE_ARRAY" 14 => |c| define(c, DataType::TEXT),
    "EXECUTE" 1 => execute, "FETCH_ROWS" 1 => fetch_rows, "EXECUTE_AND_FETCH" 1 => execute_and_fetch,
    "COLUMN_VALUE" 1 => |c| column_value(c, DataType::NUMBER),
    "COLUMN_VALUE" 2 => |c| column_value(c, DataType::TEXT), "COLUMN_VALUE" 3 => |c| column_value(c, DataType::Date),
    "COLUMN_VALUE" 4 => |c| column_value(c, DataType::Clob), "COLUMN_VALUE" 5 => |c| column_value(c, DataType::Blob),
    "COLUMN_VALUE" 6 => |c| column_value(c, DataType::BinaryFloat),
    "COLUMN_VALUE" 7 => |c| column_value(c, DataType::BinaryDouble),
    "COLUMN_VALUE" 8 => |c| column_value(c, TIMESTAMP), "COLUMN_VALUE" 9 => |c| column_value(c, TIMESTAMP_TZ),
    "COLUMN_VALUE" 10 => |c| column_value(c, TIMESTAMP_LTZ), "COLUMN_VALUE" 11 => |c| column_value(c, INTERVAL_YM),
    "COLUMN_VALUE" 12 => |c| column_value(c, INTERVAL_DS), "COLUMN_VALUE" 13 => |c| column_value(c, DataType::Rowid),
    "COLUMN_VALUE" 14 => |c| column_value(c, DataType::NUMBER),
    "COLUMN_VALUE" 15 => |c| column_value(c, DataType::TEXT),
    "COLUMN_VALUE" 16 => |c| column_value(c, DataType::Date),
    "COLUMN_VALUE" 17 => |c| column_value(c, DataType::NUMBER),
    "COLUMN_VALUE" 18 => |c| column_value(c, DataType::TEXT),
    "COLUMN_VALUE" 19 => |c| column_value(c, DataType::Date),
    "COLUMN_VALUE" 20 => |c| column_value(c, DataType::Clob),
    "COLUMN_VALUE" 21 => |c| column_value(c, DataType::Blob),
    "COLUMN_VALUE" 22 => |c| column_value(c, DataType::BinaryFloat),
    "COLUMN_VALUE" 23 => |c| column_value(c, DataType::BinaryDouble),
    "COLUMN_VALUE" 24 => |c| column_value(c, TIMESTAMP), "COLUMN_VALUE" 25 => |c| column_value(c, TIMESTAMP_TZ),
    "COLUMN_VALUE" 26 => |c| column_value(c, TIMESTAMP_LTZ), "COLUMN_VALUE" 27 => |c| column_value(c, INTERVAL_YM),
    "COLUMN_VALUE" 28 => |c| column_value(c, INTERVAL_DS), "COLUMN_VALUE" 29 => |c| column_value(c, DataType::Rowid),
    "COLUMN_VALUE" 30 => |c| column_value(c, DataType::TEXT), "COLUMN_VALUE_CHAR" 1 => |c| column_value(c, CHAR),
    "COLUMN_VALUE_CHAR" 2 => |c| column_value(c, CHAR), "COLUMN_VALUE_RAW" 1 => |c| column_value(c, RAW),
    "COLUMN_VALUE_RAW" 2 => |c| column_value(c, RAW), "COLUMN_VALUE_ROWID" 1 => |c| column_value(c, DataType::Rowid),
    "COLUMN_VALUE_ROWID" 2 => |c| column_value(c, DataType::Rowid), "COLUMN_VALUE_LONG" 1 => column_value_long,
    "VARIABLE_VALUE" 1 => |c| variable_value(c, DataType::NUMBER),
    "VARIABLE_VALUE" 2 => |c| variable_value(c, DataType::TEXT),
    "VARIABLE_VALUE" 3 => |c| variable_value(c, DataType::Date),
    "VARIABLE_VALUE" 4 => |c| variable_value(c, DataType::Clob),
    "VARIABLE_VALUE" 5 => |c| variable_value(c, DataType::Blob),
    "VARIABLE_VALUE" 6 => |c| variable_value(c, DataType::BinaryFloat),
    "VARIABLE_VALUE" 7 => |c| variable_value(c, DataType::BinaryDouble),
    "VARIABLE_VALUE" 8 => |c| variable_value(c, TIMESTAMP), "VARIABLE_VALUE" 9 => |c| variable_value(c, TIMESTAMP_TZ),
    "VARIABLE_VALUE" 10 => |c| variable_value(c, TIMESTAMP_LTZ),
    "VARIABLE_VALUE" 11 => |c| variable_value(c, INTERVAL_YM),
    "VARIABLE_VALUE" 12 => |c| variable_value(c, INTERVAL_DS),
    "VARIABLE_VALUE" 13 => |c| variable_value(c, DataType::Rowid),
    "VARIABLE_VALUE" 14 => |c| variable_value(c, DataType::Boolean),
    "VARIABLE_VALUE" 15 => |c| variable_value(c, DataType::NUMBER),
    "VARIABLE_VALUE" 16 => |c| variable_value(c, DataType::TEXT),
    "VARIABLE_VALUE" 17 => |c| variable_value(c, DataType::Date),
    "VARIABLE_VALUE" 18 => |c| variable_value(c, DataType::Clob),
    "VARIABLE_VALUE" 19 => |c| variable_value(c, DataType::Blob),
    "VARIABLE_VALUE" 20 => |c| variable_value(c, DataType::BinaryFloat),
    "VARIABLE_VALUE" 21 => |c| variable_value(c, DataType::BinaryDouble),
    "VARIABLE_VALUE" 22 => |c| variable_value(c, TIMESTAMP),
    "VARIABLE_VALUE" 23 => |c| variable_value(c, TIMESTAMP_TZ),
    "VARIABLE_VALUE" 24 => |c| variable_value(c, TIMESTAMP_LTZ),
    "VARIABLE_VALUE" 25 => |c| variable_value(c, INTERVAL_YM),
    "VARIABLE_VALUE" 26 => |c| variable_value(c, INTERVAL_DS),
    "VARIABLE_VALUE" 27 => |c| variable_value(c, DataType::Rowid),
    "VARIABLE_VALUE_CHAR" 1 => |c| variable_value(c, DataType::TEXT),
    "VARIABLE_VALUE_RAW" 1 => |c| variable_value(c, RAW),
    "VARIABLE_VALUE_ROWID" 1 => |c| variable_value(c, DataType::Rowid), "DESCRIBE_COLUMNS" 1 => |c| describe(c, 1),
    "DESCRIBE_COLUMNS2" 1 => |c| describe(c, 2), "DESCRIBE_COLUMNS3" 1 => |c| describe(c, 3),
    "TO_REFCURSOR" 1 => to_refcursor, "TO_CURSOR_NUMBER" 1 => to_cursor_number,
    "LAST_ERROR_POSITION" 1 => last_error_position, "LAST_ROW_COUNT" 1 => last_row_count,
    "LAST_ROW_ID" 1 => last_row_id, "LAST_SQL_FUNCTION_CODE" 1 => last_sql_function_code,
    "RETURN_RESULT" 1 => return_result, "RETURN_RESULT" 2 => return_numbered_result,
}

const TIMESTAMP: DataType = DataType::Timestamp { digits: 9, zone: Zone::None };
const TIMESTAMP_TZ: DataType = DataType::Timestamp { digits: 9, zone: Zone::WithTimeZone };
const TIMESTAMP_LTZ: DataType = DataType::Timestamp { digits: 9, zone: Zone::WithLocalTimeZone };
const INTERVAL_YM: DataType = DataType::IntervalYm { years: 9 };
const INTERVAL_DS: DataType = DataType::IntervalDs { days: 9, digits: 9 };
const RAW: DataType = DataType::Raw { len: 0 };
/// The values of CHAR columns keep the blanks that they have.
const CHAR: DataType = DataType::Varchar2 { len: 0, unit: types::LenUnit::Char };

fn open<W: World>(c: &mut Call<'_, W>, level: i64) -> Run<Value> {
    let unparsed = own(c, |cursors| Ok(cursors.unparsed()))?;
    c.w.may_open_cursor(c.s.cursors_open() + unparsed)?;
    Ok(own(c, |cursors| cursors.open(Statement { level, ..Statement::default() }).map(number))?)
}

fn open_cursor<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    open(c, 1)
}

fn open_cursor_secured<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    match c.a.integer(0) {
        None | Some(1) => open(c, 1),
        Some(2) => open(c, 2),
        Some(_) => Err(scalar::value_error("").into()),
    }
}

fn is_open<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    let n = c.a.integer(0);
    Ok(match n {
        None => own(c, |_| Ok(Value::Boolean(false)))?,
        Some(n) => own(c, |cursors| cursors.require(n).map(|()| Value::Boolean(true)))?,
    })
}

fn close_cursor<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let (n, statement) = take(c, 0)?;
    if let Err(e) = guard(c, &statement, true) {
        give(c, n, statement);
        return Err(e.into());
    }
    own(c, |cursors| {
        cursors.forget(n);
        Ok(())
    })?;
    if let Some(cursor) = &statement.cursor {
        c.s.close_cursor(c.w, cursor);
    }
    c.a.set(0, Value::Null);
    Ok(())
}

/// The text is argument 1; for a table of lines the bounds and the flag for line feeds follow, up to `flag`. The
/// arguments from `language` on are the same in all overloads.
fn parse<W: World>(c: &mut Call<'_, W>, flag: usize, language: usize) -> Run<()> {
    let text = if flag == 1 {
        match c.a.value(1).content() {
            Value::Text(text) => text.clone(),
            _ => String::new(),
        }
    } else {
        lines(&c.a)?
    };
    // Of editions there is one. The rest, from APPLY_CROSSEDITION_TRIGGER on, is not built.
    let edition = c.a.text(language);
    let is_base = edition.is_empty() || edition.eq_ignore_ascii_case("ORA$BASE");
    if !is_base || [1, 3, 4].iter().any(|i| !c.a.value(language + i).is_null()) {
        return Err(Ora::unsupported().into());
    }
    with(c, false, |c, statement| {
        let parsed = parse_text(c, statement, text);
        let at = parsed.as_ref().err().and_then(Ora::position).unwrap_or(0);
        own(c, |cursors| {
            cursors.last.error_position = u64::from(at);
            Ok(())
        })?;
        parsed
    })
}

/// The lines of a statement from LB to UB.
fn lines(a: &Args<'_>) -> Result<String> {
    let Some(Datum::Coll(Some(table))) = a.datum(1) else { return Err(Ora::new(6531)) };
    let [Some(from), Some(to)] = [2, 3].map(|i| a.integer(i)) else { return Err(scalar::value_error("")) };
    let mut text = String::new();
    for at in from..=to {
        match table.at(at) {
            Some(Datum::Val(Value::Text(line))) => text.push_str(line),
            Some(_) => {}
            None => return Err(Ora::new(1403)),
        }
        if a.flag(4) {
            text.push('\n');
        }
    }
    Ok(text)
}

fn bind<W: World>(c: &mut Call<'_, W>, ty: DataType) -> Run<()> {
    let (name, value) = (bind_name(c.a.text(1)), c.a.datum(2).cloned().unwrap_or_default());
    let range = c.a.integer(3).zip(c.a.integer(4));
    with(c, true, |_, statement| statement.bind(&name, Bound { ty, value, range }))
}

fn define<W: World>(c: &mut Call<'_, W>, ty: DataType) -> Run<()> {
    let at = c.a.integer(1).unwrap_or(0);
    let define = match c.a.datum(2) {
        Some(Datum::Coll(_)) => match (c.a.integer(3), c.a.integer(4)) {
            (Some(count @ 1..), Some(lower)) if i32::try_from(lower).is_ok() => {
                Define { ty, size: None, array: Some(Fetch { count, next: lower }) }
            }
            _ => return Err(Ora::new(29253).into()),
        },
        _ => Define { ty, size: c.a.integer(3).and_then(|n| usize::try_from(n).ok()), array: None },
    };
    with(c, false, |_, statement| statement.define(at, define))
}

fn execute<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    with(c, true, |c, statement| run_statement(c, statement).map(|n| number(n as i64)))
}

fn fetch_rows<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    with(c, false, |c, statement| fetch(c, statement).map(|n| number(n as i64)))
}

fn execute_and_fetch<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    let exact = c.a.flag(1);
    with(c, true, |c, statement| {
        run_statement(c, statement)?;
        let n = fetch(c, statement)?;
        if exact && n == 0 {
            return Err(Ora::new(1403));
        }
        if exact {
            let rows = std::mem::take(&mut statement.rows);
            if n > 1 || fetch(c, statement)? > 0 {
                return Err(Ora::new(1422));
            }
            statement.rows = rows;
        }
        Ok(number(n as i64))
    })
}

fn column_value<W: World>(c: &mut Call<'_, W>, ty: DataType) -> Run<()> {
    let at = c.a.integer(1).unwrap_or(0);
    with(c, false, |c, statement| {
        if let Some(Datum::Coll(_)) = c.a.datum(2) {
            let mut table = std::mem::take(&mut c.a.0[2]);
            let filled = statement.fill(at, ty, &mut table, c.w.nls());
            c.a.set_datum(2, table);
            return filled;
        }
        let read = statement.value(at, ty, c.w.nls())?;
        c.a.set(2, read.value);
        if c.a.is_given(3) {
            c.a.set(3, number(read.error));
            c.a.set(4, number(read.length as i64));
        }
        Ok(())
    })
}

fn column_value_long<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let [Some(at), Some(length), Some(offset)] = [1, 2, 3].map(|i| c.a.integer(i)) else {
        return Err(scalar::value_error("").into());
    };
    with(c, false, |c, statement| {
        let part = match statement.value(at, DataType::Long, c.w.nls())?.value {
            Value::Text(text) => {
                let (from, most) = (usize::try_from(offset).unwrap_or(0), usize::try_from(length).unwrap_or(0));
                text.chars().skip(from).take(most.min(32_767)).collect()
            }
            _ => String::new(),
        };
        c.a.set(5, number(part.chars().count() as i64));
        c.a.set(4, Value::text(part));
        Ok(())
    })
}

fn variable_value<W: World>(c: &mut Call<'_, W>, ty: DataType) -> Run<()> {
    let name = bind_name(c.a.text(1));
    with(c, false, |c, statement| {
        let values = statement.variable(&name, ty, c.w.nls())?;
        if let Some(Datum::Coll(_)) = c.a.datum(2) {
            let mut table = std::mem::take(&mut c.a.0[2]);
            put_all(&mut table, 1, values)?;
            c.a.set_datum(2, table);
        } else {
            c.a.set(2, values.into_iter().next().unwrap_or(Value::Null));
        }
        Ok(())
    })
}

fn describe<W: World>(c: &mut Call<'_, W>, version: u8) -> Run<()> {
    with(c, false, |c, statement| {
        if statement.kind.is_none() {
            return Err(Ora::new(1003));
        }
        c.a.set(1, number(statement.columns.len() as i64));
        let mut table = std::mem::take(&mut c.a.0[2]);
        let described = describe_into(&mut table, &statement.columns, version);
        c.a.set_datum(2, table);
        described
    })
}

fn to_refcursor<W: World>(c: &mut Call<'_, W>) -> Run<Datum> {
    let (n, statement) = take(c, 0)?;
    let is_query = statement.kind == Some(DynamicKind::Query) && statement.state == Progress::Executed;
    let usable = guard(c, &statement, true).and_then(|()| if is_query { Ok(()) } else { Err(Ora::new(1001)) });
    if let Err(e) = usable {
        give(c, n, statement);
        return Err(e.into());
    }
    own(c, |cursors| {
        cursors.forget(n);
        Ok(())
    })?;
    c.a.set(0, Value::Null);
    Ok(Datum::Cur(match statement.cursor {
        Some(Datum::Cur(cursor)) => cursor,
        _ => None,
    }))
}

fn to_cursor_number<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    let cursor = c.a.datum(0).cloned().unwrap_or(Datum::Cur(None));
    let columns = c.s.with_cursor(&cursor, |open| c.w.columns(open))?;
    let user = current_user(c.w)?;
    let statement = Statement {
        kind: Some(DynamicKind::Query),
        level: 1,
        user,
        columns,
        cursor: Some(cursor),
        state: Progress::Executed,
        ..Statement::default()
    };
    let n = own(c, |cursors| cursors.open(statement).map(number))?;
    c.a.set_datum(0, Datum::Cur(None));
    Ok(n)
}

fn last_error_position<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(own(c, |cursors| Ok(number(cursors.last.error_position as i64)))?)
}

fn last_row_count<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(own(c, |cursors| Ok(number(cursors.last.rows as i64)))?)
}

fn last_row_id<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(own(c, |cursors| Ok(cursors.last.rowid.map_or(Value::Null, Value::Rowid)))?)
}

fn last_sql_function_code<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(own(c, |cursors| Ok(cursors.last.function.map_or(Value::Null, number)))?)
}

fn return_result<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    // Results that are not for the client would be for GET_NEXT_RESULT, which does not exist here.
    if !c.a.flag(1) {
        return Err(Ora::unsupported().into());
    }
    c.s.return_result(std::mem::replace(&mut c.a.0[0], Datum::Cur(None)))?;
    Ok(())
}

fn return_numbered_result<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    if !c.a.flag(1) {
        return Err(Ora::unsupported().into());
    }
    let cursor = to_refcursor(c)?;
    c.s.return_result(cursor)?;
    Ok(())
}
