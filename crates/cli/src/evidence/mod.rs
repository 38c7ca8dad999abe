//! What is there anyway and tells about the work: the state of git, and the transcript that a
//! coding agent keeps. It is only read, never changed.

pub(crate) mod git;
pub(crate) mod transcripts;
