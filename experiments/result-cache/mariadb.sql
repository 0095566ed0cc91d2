-- The same rows by primary key, and a loop in a procedure. A cursor loop is several times slower than SELECT INTO.
create table lookup (id int primary key, payload varchar(200)) engine = innodb
/
insert into lookup select seq, rpad(md5(seq), 200, md5(seq * 7)) from seq_1_to_10000
/
create procedure look_up(n bigint)
begin
  declare i bigint default 0;
  declare k int;
  declare found int;
  declare v varchar(200);
  while i < n do
    set k = floor(1 + rand() * 9999);
    select id, payload into found, v from lookup where id = k;
    set i = i + 1;
  end while;
end
/
call look_up(20000)
