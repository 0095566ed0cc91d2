-- The same tables; a recursive query probes the primary key once for each row, breadth first.
create procedure make_tables()
begin
  for t in 0 .. 12 do
    execute immediate concat('create table hot_', t, ' (step int primary key) engine = innodb');
    execute immediate concat('insert into hot_', t, ' select seq from seq_1_to_16');
    execute immediate concat('analyze table hot_', t);
  end for;
end
/
call make_tables()
/
create procedure walk(t varchar(30), n bigint)
begin
  declare seen bigint default 0;
  while seen < n do
    execute immediate concat('with recursive w as (select step from ', t, ' where step = 1 union all ',
      'select k.step from w straight_join ', t, ' k force index (primary) on k.step > w.step) ',
      'select count(*) into @found from w');
    set seen = seen + @found;
  end while;
end
/
call walk('hot_0', 40000)
