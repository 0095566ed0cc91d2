-- A row of the dictionary, which is a table; the loop is in the laboratory.
create table parameters (name text primary key, value text)
