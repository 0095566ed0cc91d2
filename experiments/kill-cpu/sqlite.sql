-- The same tables; ORDER BY in the recursive part makes the walk depth first, as CONNECT BY is.
create table hot_0 (step integer primary key)
/
insert into hot_0 values (1), (2), (3), (4), (5), (6), (7), (8), (9), (10), (11), (12), (13), (14), (15), (16)
/
create table hot_1 (step integer primary key)
/
insert into hot_1 values (1), (2), (3), (4), (5), (6), (7), (8), (9), (10), (11), (12), (13), (14), (15), (16)
/
create table hot_2 (step integer primary key)
/
insert into hot_2 values (1), (2), (3), (4), (5), (6), (7), (8), (9), (10), (11), (12), (13), (14), (15), (16)
/
create table hot_3 (step integer primary key)
/
insert into hot_3 values (1), (2), (3), (4), (5), (6), (7), (8), (9), (10), (11), (12), (13), (14), (15), (16)
/
create table hot_4 (step integer primary key)
/
insert into hot_4 values (1), (2), (3), (4), (5), (6), (7), (8), (9), (10), (11), (12), (13), (14), (15), (16)
/
create table hot_5 (step integer primary key)
/
insert into hot_5 values (1), (2), (3), (4), (5), (6), (7), (8), (9), (10), (11), (12), (13), (14), (15), (16)
/
create table hot_6 (step integer primary key)
/
insert into hot_6 values (1), (2), (3), (4), (5), (6), (7), (8), (9), (10), (11), (12), (13), (14), (15), (16)
/
create table hot_7 (step integer primary key)
/
insert into hot_7 values (1), (2), (3), (4), (5), (6), (7), (8), (9), (10), (11), (12), (13), (14), (15), (16)
/
create table hot_8 (step integer primary key)
/
insert into hot_8 values (1), (2), (3), (4), (5), (6), (7), (8), (9), (10), (11), (12), (13), (14), (15), (16)
/
create table hot_9 (step integer primary key)
/
insert into hot_9 values (1), (2), (3), (4), (5), (6), (7), (8), (9), (10), (11), (12), (13), (14), (15), (16)
/
create table hot_10 (step integer primary key)
/
insert into hot_10 values (1), (2), (3), (4), (5), (6), (7), (8), (9), (10), (11), (12), (13), (14), (15), (16)
/
create table hot_11 (step integer primary key)
/
insert into hot_11 values (1), (2), (3), (4), (5), (6), (7), (8), (9), (10), (11), (12), (13), (14), (15), (16)
/
create table hot_12 (step integer primary key)
/
insert into hot_12 values (1), (2), (3), (4), (5), (6), (7), (8), (9), (10), (11), (12), (13), (14), (15), (16)
/
analyze
