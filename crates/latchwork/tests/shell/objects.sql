create type point as object (x number, label varchar2(10), at date);
/
create type numbers as varray(10) of number;
/
create table shapes (id number, corner point, sizes numbers);
insert into shapes values (1, point(1.5, 'it''s', date '2024-01-02'), numbers(3, 4, null));
insert into shapes values (2, null, null);
insert into shapes values (3, point(null, null, null), numbers());
select * from shapes order by id;
column corner format a24
select id, corner from shapes where id = 1;
column corner heading 'Where'
select corner, id from shapes where id = 3;
select cast(multiset(select level from dual connect by level < 4) as numbers) few from dual;
select sys.odcivarchar2list('a', null) texts from dual;
select id, cursor(select s.sizes from shapes s where s.id = t.id) c from shapes t where id = 1;
variable c refcursor
exec open :c for select sizes, corner from shapes where id = 1
print c
create user reader identified by reader;
grant create session to reader;
grant select on shapes to reader;
connect reader/reader
select id, corner from sys.shapes where id = 1;
connect / as sysdba
grant execute on point to reader;
connect reader/reader
select id, corner from sys.shapes where id = 1;
alter session set nls_date_format = 'YYYY-MM-DD';
set markup csv on
select id, corner from sys.shapes order by id;
