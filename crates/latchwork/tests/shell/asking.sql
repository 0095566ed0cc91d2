-- typed: -s
-- ACCEPT and VARIABLE take values of their types.
accept n number prompt 'Number: '
abc
12.5
prompt &n
accept m number format 999 prompt 'Up to three digits: ' default 7
Hello
9999
250
prompt &m
accept m number format 999 default 7

prompt &m
accept d date format 'DD-MON-YYYY' prompt 'Day: '
yesterday
17-NOV-1981
prompt &d
accept c char format a3 prompt 'Short: ' hide
abcd
abc
prompt &c
accept
accept x what
accept x default
accept last prompt 'the end: '
here
prompt &last
variable a number = 5
variable b varchar2(5) = 'five'
variable c clob
variable d blob
variable e binary_double = 1.5
variable f nvarchar2(10)
variable g char(3 char)
variable
print a b e
variable a = 7
variable b = 'too long'
variable a = seven
variable h number(5)
variable h char(2001)
variable 1h number
variable h = 1
variable b
print a b
exec :b := 'x' || :a
print b
exec :c := rpad('long ', 20, 'text ')
print c
column a format 9,999.00 heading 'The a'
print a
set autoprint on
begin :a := 1234; end;
/
set autoprint off
