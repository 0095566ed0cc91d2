-- Tables and loops of the bench `storage`.
create table item (id number primary key, grp number, amount number, text varchar2(40));

create index item_grp on item (grp);

create table journal (id number, amount number, text varchar2(40));

create table bulk_plain (id number, grp number, amount number, text varchar2(40));

create table bulk_keyed (id number primary key, grp number, amount number, text varchar2(40));

create table bulk_indexed (id number primary key, grp number, amount number, text varchar2(40));

create index bulk_indexed_grp on bulk_indexed (grp);

create or replace procedure fill_item(p_rows in number) is
begin
  insert into item
    select level, mod(level, 1000), mod(level * 7919, 100003), 'row number ' || level from dual connect by level <= p_rows;
  commit;
end;
/

create or replace procedure commits(p_times in number) is
begin
  for i in 1 .. p_times loop
    insert into journal values (i, i * 7, 'row of a journal');
    commit;
  end loop;
end;
/

create or replace procedure load_bulk_plain(p_rows in number) is
  type numbers is table of number index by pls_integer;
  type texts is table of varchar2(40) index by pls_integer;
  l_id numbers; l_grp numbers; l_amount numbers; l_text texts;
  l_done number := 0;
begin
  while l_done < p_rows loop
    for i in 1 .. 1000 loop
      l_id(i) := l_done + i;
      l_grp(i) := mod(l_done + i, 100);
      l_amount(i) := (l_done + i) * 7;
      l_text(i) := 'row number ' || (l_done + i);
    end loop;
    forall i in 1 .. 1000
      insert into bulk_plain values (l_id(i), l_grp(i), l_amount(i), l_text(i));
    l_done := l_done + 1000;
  end loop;
end;
/

create or replace procedure load_bulk_keyed(p_rows in number) is
  type numbers is table of number index by pls_integer;
  type texts is table of varchar2(40) index by pls_integer;
  l_id numbers; l_grp numbers; l_amount numbers; l_text texts;
  l_done number := 0;
begin
  while l_done < p_rows loop
    for i in 1 .. 1000 loop
      l_id(i) := l_done + i;
      l_grp(i) := mod(l_done + i, 100);
      l_amount(i) := (l_done + i) * 7;
      l_text(i) := 'row number ' || (l_done + i);
    end loop;
    forall i in 1 .. 1000
      insert into bulk_keyed values (l_id(i), l_grp(i), l_amount(i), l_text(i));
    l_done := l_done + 1000;
  end loop;
end;
/

create or replace procedure load_bulk_indexed(p_rows in number) is
  type numbers is table of number index by pls_integer;
  type texts is table of varchar2(40) index by pls_integer;
  l_id numbers; l_grp numbers; l_amount numbers; l_text texts;
  l_done number := 0;
begin
  while l_done < p_rows loop
    for i in 1 .. 1000 loop
      l_id(i) := l_done + i;
      l_grp(i) := mod(l_done + i, 100);
      l_amount(i) := (l_done + i) * 7;
      l_text(i) := 'row number ' || (l_done + i);
    end loop;
    forall i in 1 .. 1000
      insert into bulk_indexed values (l_id(i), l_grp(i), l_amount(i), l_text(i));
    l_done := l_done + 1000;
  end loop;
end;
/

create or replace procedure scan_key(p_times in number, p_range in number, p_rows in number) is
  l_from number := 0; l_found number;
begin
  for i in 1 .. p_times loop
    l_from := mod(l_from + 7919, p_rows - p_range) + 1;
    select amount into l_found from item where id = l_from;
  end loop;
end;
/

create or replace procedure scan_sum(p_times in number, p_range in number, p_rows in number) is
  l_from number := 0; l_found number;
begin
  for i in 1 .. p_times loop
    l_from := mod(l_from + 7919, p_rows - p_range) + 1;
    select sum(amount) into l_found from item where id between l_from and l_from + p_range - 1;
  end loop;
end;
/

create or replace procedure scan_count(p_times in number, p_range in number, p_rows in number) is
  l_from number := 0; l_found number;
begin
  for i in 1 .. p_times loop
    l_from := mod(l_from + 7919, p_rows - p_range) + 1;
    select count(*) into l_found from item where id between l_from and l_from + p_range - 1;
  end loop;
end;
/

create or replace procedure scan_group(p_times in number, p_range in number, p_rows in number) is
  l_from number := 0; l_found number;
begin
  for i in 1 .. p_times loop
    l_from := mod(l_from + 7919, p_rows) + 1;
    select sum(amount) into l_found from item where grp = mod(l_from, 1000);
  end loop;
end;
/

create or replace procedure scan_full(p_times in number, p_range in number, p_rows in number) is
  l_found number;
begin
  for i in 1 .. p_times loop
    select sum(amount) into l_found from item where amount < 50000;
  end loop;
end;
/
