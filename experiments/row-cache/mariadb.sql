-- A loop that reads one row of the dictionary's statistics.
create table parameters (name varchar(30) primary key, value varchar(64)) engine = innodb
/
analyze table parameters
/
create procedure read_setting(n bigint)
begin
  declare i bigint default 0;
  declare v bigint;
  while i < n do
    select n_rows into v from mysql.innodb_table_stats where database_name = database() and table_name = 'parameters';
    set i = i + 1;
  end while;
end
/
call read_setting(2000)
