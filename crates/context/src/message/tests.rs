//! Shapes of messages, read and written.
