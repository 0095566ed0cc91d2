-- Of a CLOB as much is printed as LONG says, whatever the markup; what follows a variable without a meaning here is obeyed.
set longchunksize 2000 long 10 recsep off feedback off
select to_clob(rpad('x', 30, 'y')) c, rpad('a', 12, 'b') v from dual;
set markup csv on
select to_clob(rpad('x', 30, 'y')) c, rpad('a', 12, 'b') v from dual;
set markup csv off
set long 40
select to_clob(rpad('x', 30, 'y')) c from dual;
-- Lines of dbms_output are kept up to the size.
set linesize 1000
set serveroutput on size 2000
begin for i in 1 .. 3 loop dbms_output.put_line(rpad('z', 990, 'z')); end loop; end;
/
set serveroutput on
begin for i in 1 .. 3 loop dbms_output.put_line(rpad('z', 990, 'z')); end loop; end;
/
