//! Files, clock, pages and futexes: the only crate of Latchwork that calls the operating system.
