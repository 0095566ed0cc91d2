-- typed: -s
set sqlprompt "" sqlnumber off history on
list
2
del
change/a/b
append
select a,
  b,
  c
from (select 1 a, 2 b, 3 c from dual)
.
l
l 2
l* last
L2 3
l 3 *
list last
list 9
list 3 2
2
c/b/b + 10/
c/...+/x +/
c/x.../b/
c/nothing/x
c a
1 select a as first,
0 -- begins here
2=x
99999999999999999999
a  -- ends here
list
2
input d,
list
del
del 1
list
r
del 2 last
list
del *
list
input
select 'typed'
from dual

list
/
select 1 from dual
.
save saved_by_test
save saved_by_test
save saved_by_test append
save saved_by_test replace
save other wrong
get saved_by_test
get saved_by_test nolist
get no_such_file_here
define _editor = "sed -i s/1/2/"
edit
/
host cat afiedt.buf
host rm -f afiedt.buf saved_by_test.sql
clear buffer
edit
run
history
history 2 run
history 2 delete
history 99 run
history clear
history
set history off
history
select 1
# prompt in the middle
from dual;
set sqlprefix ~
select 2
~prompt in the middle
from dual;
set blockterminator !
select 3 from dual
!
/
set blockterminator . sqlcase upper
select 'upper' up from dual;
set sqlcase mixed cmdsep on
prompt one; prompt 'two; and'; prompt three
set cmdsep off concat !
define x = 1
prompt &x!0 &x.0
set concat .
doc
this is a comment
#
set document off
doc
not shown
# the end
prompt &x
set showmode on
set linesize 100 pages 20
set showmode off
timing
timing show
timing start a b
timing
set suffix txt
save suffixed
host ls suffixed.*
store set stored_by_test create
store set stored_by_test create
store set stored_by_test replace
store what
host grep -c "^set " stored_by_test.txt
set linesize 55 suffix lst
@stored_by_test.txt
show linesize
show suffix
host rm -f suffixed.txt stored_by_test.txt
