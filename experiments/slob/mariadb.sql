-- The same tables and loops. The primary key numbers the rows in random order.
create procedure make_tables()
begin
  for t in 1 .. 12 do
    execute immediate concat('create table cf_', t, ' (place int auto_increment primary key, custid int, ',
      'c2 varchar(128), c20 varchar(128), index i_cf (custid)) engine = innodb');
    execute immediate concat('insert into cf_', t, ' (custid, c2, c20) ',
      'select seq, repeat(\'X\', 128), repeat(\'X\', 128) from seq_1_to_10000 order by rand()');
    execute immediate concat('analyze table cf_', t);
  end for;
end
/
call make_tables()
/
create procedure read_1(n bigint)
begin
  declare i bigint default 0;
  declare k int;
  declare v bigint;
  while i < n do
    set k = floor(rand() * 9745);
    select count(c2) into v from cf_1 force index (i_cf) where custid > k and custid < k + 256;
    set i = i + 1;
  end while;
end
/
call read_1(100)
/
create procedure read_2(n bigint)
begin
  declare i bigint default 0;
  declare k int;
  declare v bigint;
  while i < n do
    set k = floor(rand() * 9745);
    select count(c2) into v from cf_2 force index (i_cf) where custid > k and custid < k + 256;
    set i = i + 1;
  end while;
end
/
call read_2(100)
/
create procedure read_3(n bigint)
begin
  declare i bigint default 0;
  declare k int;
  declare v bigint;
  while i < n do
    set k = floor(rand() * 9745);
    select count(c2) into v from cf_3 force index (i_cf) where custid > k and custid < k + 256;
    set i = i + 1;
  end while;
end
/
call read_3(100)
/
create procedure read_4(n bigint)
begin
  declare i bigint default 0;
  declare k int;
  declare v bigint;
  while i < n do
    set k = floor(rand() * 9745);
    select count(c2) into v from cf_4 force index (i_cf) where custid > k and custid < k + 256;
    set i = i + 1;
  end while;
end
/
call read_4(100)
/
create procedure read_5(n bigint)
begin
  declare i bigint default 0;
  declare k int;
  declare v bigint;
  while i < n do
    set k = floor(rand() * 9745);
    select count(c2) into v from cf_5 force index (i_cf) where custid > k and custid < k + 256;
    set i = i + 1;
  end while;
end
/
call read_5(100)
/
create procedure read_6(n bigint)
begin
  declare i bigint default 0;
  declare k int;
  declare v bigint;
  while i < n do
    set k = floor(rand() * 9745);
    select count(c2) into v from cf_6 force index (i_cf) where custid > k and custid < k + 256;
    set i = i + 1;
  end while;
end
/
call read_6(100)
/
create procedure read_7(n bigint)
begin
  declare i bigint default 0;
  declare k int;
  declare v bigint;
  while i < n do
    set k = floor(rand() * 9745);
    select count(c2) into v from cf_7 force index (i_cf) where custid > k and custid < k + 256;
    set i = i + 1;
  end while;
end
/
call read_7(100)
/
create procedure read_8(n bigint)
begin
  declare i bigint default 0;
  declare k int;
  declare v bigint;
  while i < n do
    set k = floor(rand() * 9745);
    select count(c2) into v from cf_8 force index (i_cf) where custid > k and custid < k + 256;
    set i = i + 1;
  end while;
end
/
call read_8(100)
/
create procedure read_9(n bigint)
begin
  declare i bigint default 0;
  declare k int;
  declare v bigint;
  while i < n do
    set k = floor(rand() * 9745);
    select count(c2) into v from cf_9 force index (i_cf) where custid > k and custid < k + 256;
    set i = i + 1;
  end while;
end
/
call read_9(100)
/
create procedure read_10(n bigint)
begin
  declare i bigint default 0;
  declare k int;
  declare v bigint;
  while i < n do
    set k = floor(rand() * 9745);
    select count(c2) into v from cf_10 force index (i_cf) where custid > k and custid < k + 256;
    set i = i + 1;
  end while;
end
/
call read_10(100)
/
create procedure read_11(n bigint)
begin
  declare i bigint default 0;
  declare k int;
  declare v bigint;
  while i < n do
    set k = floor(rand() * 9745);
    select count(c2) into v from cf_11 force index (i_cf) where custid > k and custid < k + 256;
    set i = i + 1;
  end while;
end
/
call read_11(100)
/
create procedure read_12(n bigint)
begin
  declare i bigint default 0;
  declare k int;
  declare v bigint;
  while i < n do
    set k = floor(rand() * 9745);
    select count(c2) into v from cf_12 force index (i_cf) where custid > k and custid < k + 256;
    set i = i + 1;
  end while;
end
/
call read_12(100)
