alter session set nls_numeric_characters = ',.';
variable n number
exec :n := 2.25
print n
select 1.5 a, to_char(1.5) b, '1,5' + 1 c, -0.25 d, 1e-20 e, 12345.678901234 f, 1.5d g from dual;
column m format 9G990D00
select 1234.5 m from dual;
set markup csv on
select 1.5 a, 7 b, 'x' c from dual;
set markup csv off
set markup json on
select 1.5 a, 2.5d b, to_char(1.5) c from dual;
set markup json off
alter session set nls_numeric_characters = '.,';
select 1.5 a, to_char(1.5) b from dual;
alter session set nls_sort = binary_ci;
alter session set nls_territory = atlantis;
