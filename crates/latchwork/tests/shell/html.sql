set markup html head '<title>rows</title>' body '' table 'border=1' -
  spool on entmap on preformat off
select 1 n from dual;
set markup html on
spool html.tmp.html
col text for a10 heading 'Some|text'
select level n, rpad('x<y ', 20, 'abc ') text, null nothing from dual connect by level <= 2;
select * from dual where 1 = 2;
begin null; end;
/
spool off
set markup html preformat on
select level n, rpad('x<y ', 30, 'abc ') text from dual connect by level <= 2;
set markup html frame on
set markup html off
prompt the page
host cat html.tmp.html; rm html.tmp.html
show markup
set termout off
prompt not seen
@@html_nested
prompt not seen either, though a script has ended
set termout on
prompt seen again
