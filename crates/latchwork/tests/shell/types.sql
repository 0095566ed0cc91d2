-- DESCRIBE of types, and of columns that are objects.
set feedback off
create user owner_of_types identified by pw quota unlimited on users;
grant create session, create table, create type, create trigger to owner_of_types;
connect owner_of_types/pw
create type address as object (street varchar2(20), zip number(5));
/
create type person as object (name varchar2(20), home address);
/
create type numbers as table of number(5,2);
/
create type places as varray(5) of address;
/
create table staff (id number(4) not null, who person, since date);
describe address
desc person
desc owner_of_types.numbers
desc places
desc nothing_like_that
desc staff
set describe depth 2
desc staff
set describe depth all linenum on
desc staff
set describe indent off linenum off
desc staff
set describe depth 99
set describe
set describe depth
set describe what
show describe
with function twice(n number) return number is
begin
  return n * 2;
end;
select 1 from dual
.
list
create trigger/* no blank */stamp before insert on staff for each row
begin
  :new.since := date '2026-11-30';
end;
/
insert into staff (id) values (1);
select id, since from staff;
