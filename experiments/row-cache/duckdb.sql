-- A setting is read from a table function; the loop is in a Python.
create table parameters (name varchar, value varchar)
