-- Titles, breaks, computations and the layout of columns.
set feedback off
create table emp (deptno number(2), ename varchar2(8), job varchar2(9), sal number(7,2), hired date);
insert into emp values (10, 'KING', 'PRESIDENT', 5000, date '1981-11-17');
insert into emp values (10, 'CLARK', 'MANAGER', 2450, date '1981-06-09');
insert into emp values (20, 'SCOTT', 'ANALYST', 3000, date '1987-04-19');
insert into emp values (20, 'FORD', 'ANALYST', 3000, date '1981-12-03');
insert into emp values (20, 'SMITH', 'CLERK', null, date '1980-12-17');
insert into emp values (30, 'BLAKE', 'MANAGER', 2850, date '1981-05-01');
set feedback 6 linesize 60 pagesize 14
prompt the new form of titles
ttitle left 'Staff' center 'A C M E' right 'Page:' format 999 sql.pno skip 1 center '=======' skip 2
btitle center 'confidential' right sql.user
select deptno, ename, sal from emp order by deptno, ename;
prompt pages of eight lines: the last one is filled up
set pagesize 8
ttitle left 'top'
btitle left 'bottom'
select ename, sal from emp order by ename;
ttitle
btitle
ttitle off
show ttitle
btitle off
set pagesize 14
prompt a header and a footer of the report, with pages of their own
repheader page center 'BEGIN'
repfooter left 'END'
ttitle left 'p' format 99 sql.pno
select ename from emp where deptno = 10 order by 1;
repheader left 'begin'
repfooter page left 'end'
select ename from emp where deptno = 10 order by 1;
repheader off
repfooter off
ttitle off
show repheader
show repfooter
prompt breaks
break on deptno skip 1 on report
compute sum avg of sal on deptno
compute sum label 'all' count of sal on report
set pagesize 50
select deptno, ename, sal from emp order by deptno, ename;
break
compute
prompt the values of breaks are repeated on a new page
break on deptno on job
compute
clear computes
set pagesize 6
select deptno, job, ename from emp order by deptno, job, ename;
prompt inner and outer skips add up
set pagesize 50
break on deptno skip 1 on job skip 1
select deptno, job, ename from emp where deptno < 30 order by deptno, job, ename;
prompt a break begins a page, whose title names its value
column deptno new_value dept noprint
column ename old_value last
ttitle left 'Department ' dept skip 2
btitle left 'until ' last
break on deptno skip page
set pagesize 9
select deptno, ename, sal from emp order by deptno, ename;
ttitle off
btitle off
clear columns
clear breaks
prompt all functions, also of a text and of rows
set pagesize 50
break on row skip 1 on deptno dup
compute avg count minimum maximum number sum std variance of sal on deptno
compute count label 'people' min max of ename on deptno
compute sum of sal on row
select deptno, ename, sal from emp where deptno = 20 order by ename;
clear breaks computes
prompt a computation on a hidden column has no label
column dummy noprint
break on dummy skip 1
compute sum of sal on dummy
select deptno dummy, deptno, sal from emp where deptno < 30 order by deptno, sal;
clear breaks computes columns
prompt columns by alias, on lines of their own, and lines between records
column sal alias pay
break on report
compute sum of pay on report
column job fold_before
column hired fold_after
column ename newline
select deptno, sal, job, hired, ename from emp where deptno = 10 order by ename;
column job
clear columns breaks computes
set recsep each recsepchar .
select ename, job from emp where deptno = 10 order by 1;
set recsep off
column ename format a3
select ename, job from emp where deptno = 10 order by 1;
set recsep wrapped recsepchar ' '
clear columns
prompt a row of two lines
set linesize 30
select * from emp where deptno = 10 order by ename;
set wrap off
select * from emp where deptno = 10 order by ename;
set wrap on linesize 60
prompt totals of a row that is one line, in columns of two lines
set newpage none
select ename from emp where deptno = 30;
set newpage 1
set heading off
select ename from emp where deptno = 30;
set heading on embedded on
select ename from emp where deptno = 30;
select ename from emp where deptno = 30;
show pno
set embedded off
prompt wrong commands
compute sum of sal
compute what of sal on deptno
break skip 1
ttitle left skip x 'a' skip 99999999
btitle col
column sal entmap what
select ename from emp where 1 = 2;
column sal format zzz
column sal format a0
column sal
set numformat 9q9
ttitle left format 9q9 sql.pno
prompt sums are of numbers only
break on report
compute sum count max of ename sal on report
select ename, sal from emp where deptno = 10 order by ename;
clear breaks computes
prompt quotes end a word of a title
column today new_value shown noprint
select 'FRI' today from dual;
ttitle left '['shown'] page:'sql.pno skip 2
select dummy from dual;
prompt nothing but rows
set pagesize 0
repheader left 'above'
repfooter left 'below'
select dummy from dual;
