create table emp (empno number(4) primary key, ename varchar2(10), hiredate date, sal number(7,2), deptno number(2));
insert into emp values (7839, 'KING', date '1981-11-17', 5000, 10);
insert into emp values (7698, 'BLAKE', '01-MAY-81', 2850, 30);
insert into emp values (7782, 'CLARK', '09-JUN-81', 2450, 10);
insert into emp values (7566, 'JONES', '02-APR-81', 2975.5, 20);
insert into emp values (7788, 'SCOTT', '19-APR-87', 3000, 20);
insert into emp values (7369, 'SMITH', '17-DEC-80', null, 20);
commit;
select * from emp order by empno;
set linesize 120 pagesize 40
select * from emp order by empno;
select deptno, sum(sal), count(*) from emp group by rollup(deptno) order by 1;
prompt headings are cut to their column, numbers are not
select 'Hello World', 'a' || null || 'b', 1/3, -1/3 n, 1e100, 123456789012 b, 0.000001234 c from dual;
column sal format $99,990.00 heading 'Monthly|salary'
column ename format a4 heading Name
column hiredate noprint
select ename, sal, hiredate from emp order by empno;
column sal
column ename truncated
select ename, sal from emp where empno < 7600 order by empno;
clear columns
set null '-'
select ename, sal from emp where sal is null;
set null ''
column sal format 99
select sal from emp where empno = 7839;
clear columns
break on deptno skip 1
select deptno, ename from emp order by deptno, empno;
clear breaks
set colsep ' | '
select empno, ename from emp where deptno = 10 order by 1;
set colsep ' '
set heading off
select ename from emp where deptno = 10 order by 1;
set heading on pagesize 0 feedback off
select ename from emp where deptno = 10 order by 1;
set pagesize 5 feedback on
select ename from emp order by empno;
set pagesize 14 feedback 6
select ename from emp where 1 = 2;
set numwidth 12
select 123456789012 n from dual;
set numwidth 10
select date '2024-02-29' d, timestamp '2024-02-29 13:14:15.5' t from dual;
alter session set nls_date_format = 'YYYY-MM-DD HH24:MI:SS';
select date '2024-02-29' d from dual;
select interval '2' day i, numtodsinterval(90, 'MINUTE') m, numtoyminterval(14, 'MONTH') y from dual;
select hextoraw('cafe') r, null from dual;
set markup csv on
select empno, ename, sal from emp where deptno = 20 order by 1;
set markup json on
select empno, ename, sal from emp where deptno = 20 order by 1;
set markup csv off
select level from dual connect by level <= 3
/
with d as (select deptno, count(*) c from emp group by deptno)
select * from d where c > 1 order by 1;
