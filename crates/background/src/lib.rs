//! Background processes of Latchwork.
