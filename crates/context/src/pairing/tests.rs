//! Broken pairs, and what becomes of them.
