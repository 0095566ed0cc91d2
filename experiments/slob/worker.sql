declare
  l_low pls_integer;
  l_count number;
  l_rows pls_integer;
begin
  for i in 1 .. :executions loop
    l_rows := :row_count;
    if :hot_pct > 0 and dbms_random.value(0, 100) < :hot_pct then
      l_rows := :hot_rows;
    end if;
    l_low := trunc(dbms_random.value(0, greatest(l_rows - 255, 1)));
    if :update_pct > 0 and dbms_random.value(0, 100) < :update_pct then
      update cf1 set c2 = rpad('Y', 128, 'Y') where custid > l_low and custid < l_low + 256;
      commit;
    else
      select count(c2) into l_count from cf1 where custid > l_low and custid < l_low + 256;
    end if;
    if :think_s > 0 then
      dbms_lock.sleep(:think_s);
    end if;
  end loop;
end;
