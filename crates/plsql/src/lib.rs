//! PL/SQL compiler, machine and packages of Latchwork.
