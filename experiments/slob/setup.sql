-- The rows of every user's table. Two texts of 128 characters a row, without free space: some thirty rows a block.
create table slob_seed pctfree 0 as
select level custid, rpad('X', 128, 'X') c2, rpad('X', 128, 'X') c20 from dual connect by level <= &rows;
-- A user with a table of the rows in random order, so that neighbours by key lie in different blocks, and an index on
-- the keys.
create user &user identified by &user;
grant dba to &user;
create table &user..cf1 pctfree 0 as select * from slob_seed order by dbms_random.value;
create index &user..i_cf1 on &user..cf1 (custid);
