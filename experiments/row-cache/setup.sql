-- A loop that reads one database parameter: each reading asks the row cache for every property there is.
create or replace procedure read_character_set(p_times in number) is
  l_value varchar2(64);
begin
  for i in 1 .. p_times loop
    select value into l_value from nls_database_parameters where parameter = 'NLS_CHARACTERSET';
  end loop;
end;
/
