//! The shared memory mapping of Latchwork: pages, areas, typed offsets.
