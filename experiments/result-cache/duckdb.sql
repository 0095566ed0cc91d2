-- The same rows by primary key; the loop is in a Python.
create table lookup (id integer primary key, payload varchar)
/
insert into lookup select i, rpad(md5(i::varchar), 200, md5((i * 7)::varchar)) from range(1, 10001) t(i)
