-- A loop that reads one setting: the view builds all of them, each time.
create procedure read_setting(n bigint) language plpgsql as $$
declare
  v text;
begin
  for i in 1 .. n loop
    select setting into v from pg_settings where name = 'server_encoding';
  end loop;
end $$
/
call read_setting(200)
