//! Process and session slots, micro-undo and death clean-up of Latchwork.
