-- PLAN_TABLE: every user has one, and EXPLAIN PLAN uses it without this script.
prompt PLAN_TABLE is there: EXPLAIN PLAN needs no table of your own.
