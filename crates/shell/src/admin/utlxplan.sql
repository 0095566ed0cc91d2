-- PLAN_TABLE: everybody has one, EXPLAIN PLAN writes to it without this script.
prompt PLAN_TABLE is there: EXPLAIN PLAN needs no table of your own.
