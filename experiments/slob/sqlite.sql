-- The same tables; the loop is in the laboratory.
create table cf_1 (custid integer, c2 text, c20 text)
/
insert into cf_1
  with recursive n(i) as (select 1 union all select i + 1 from n where i < 10000)
  select i, printf('%.128c', 'X'), printf('%.128c', 'X') from n order by random()
/
create index i_cf_1 on cf_1 (custid)
/
create table cf_2 (custid integer, c2 text, c20 text)
/
insert into cf_2
  with recursive n(i) as (select 1 union all select i + 1 from n where i < 10000)
  select i, printf('%.128c', 'X'), printf('%.128c', 'X') from n order by random()
/
create index i_cf_2 on cf_2 (custid)
/
create table cf_3 (custid integer, c2 text, c20 text)
/
insert into cf_3
  with recursive n(i) as (select 1 union all select i + 1 from n where i < 10000)
  select i, printf('%.128c', 'X'), printf('%.128c', 'X') from n order by random()
/
create index i_cf_3 on cf_3 (custid)
/
create table cf_4 (custid integer, c2 text, c20 text)
/
insert into cf_4
  with recursive n(i) as (select 1 union all select i + 1 from n where i < 10000)
  select i, printf('%.128c', 'X'), printf('%.128c', 'X') from n order by random()
/
create index i_cf_4 on cf_4 (custid)
/
create table cf_5 (custid integer, c2 text, c20 text)
/
insert into cf_5
  with recursive n(i) as (select 1 union all select i + 1 from n where i < 10000)
  select i, printf('%.128c', 'X'), printf('%.128c', 'X') from n order by random()
/
create index i_cf_5 on cf_5 (custid)
/
create table cf_6 (custid integer, c2 text, c20 text)
/
insert into cf_6
  with recursive n(i) as (select 1 union all select i + 1 from n where i < 10000)
  select i, printf('%.128c', 'X'), printf('%.128c', 'X') from n order by random()
/
create index i_cf_6 on cf_6 (custid)
/
create table cf_7 (custid integer, c2 text, c20 text)
/
insert into cf_7
  with recursive n(i) as (select 1 union all select i + 1 from n where i < 10000)
  select i, printf('%.128c', 'X'), printf('%.128c', 'X') from n order by random()
/
create index i_cf_7 on cf_7 (custid)
/
create table cf_8 (custid integer, c2 text, c20 text)
/
insert into cf_8
  with recursive n(i) as (select 1 union all select i + 1 from n where i < 10000)
  select i, printf('%.128c', 'X'), printf('%.128c', 'X') from n order by random()
/
create index i_cf_8 on cf_8 (custid)
/
create table cf_9 (custid integer, c2 text, c20 text)
/
insert into cf_9
  with recursive n(i) as (select 1 union all select i + 1 from n where i < 10000)
  select i, printf('%.128c', 'X'), printf('%.128c', 'X') from n order by random()
/
create index i_cf_9 on cf_9 (custid)
/
create table cf_10 (custid integer, c2 text, c20 text)
/
insert into cf_10
  with recursive n(i) as (select 1 union all select i + 1 from n where i < 10000)
  select i, printf('%.128c', 'X'), printf('%.128c', 'X') from n order by random()
/
create index i_cf_10 on cf_10 (custid)
/
create table cf_11 (custid integer, c2 text, c20 text)
/
insert into cf_11
  with recursive n(i) as (select 1 union all select i + 1 from n where i < 10000)
  select i, printf('%.128c', 'X'), printf('%.128c', 'X') from n order by random()
/
create index i_cf_11 on cf_11 (custid)
/
create table cf_12 (custid integer, c2 text, c20 text)
/
insert into cf_12
  with recursive n(i) as (select 1 union all select i + 1 from n where i < 10000)
  select i, printf('%.128c', 'X'), printf('%.128c', 'X') from n order by random()
/
create index i_cf_12 on cf_12 (custid)
/
analyze
