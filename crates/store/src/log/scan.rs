//! Reads a segment piece by piece in bounded memory. It says what is there and judges nothing.

use std::io;

use super::segment::BLANK;
use crate::disk::DiskFile;
use crate::line::LINE_BYTES_MAX;

const CHUNK_BYTES: usize = 256 * 1024;

/// What lies at one place of a segment.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// Bytes that ended in a newline, without it. Never empty.
    Line(&'a [u8]),
    /// A run of newlines where a line could begin. A long run comes in several pieces.
    Blank,
    /// Bytes that cannot be a line, and why.
    Broken(&'static str),
    /// The file is over.
    End,
}

/// The pieces of one file from some offset on.
pub(super) struct Pieces<'f> {
    file: &'f dyn DiskFile,
    buffer: Vec<u8>,
    /// How much of the buffer has been handed out.
    used: usize,
    /// Where in the file the buffer begins.
    base: u64,
    over: bool,
    chunk: usize,
}

impl<'f> Pieces<'f> {
    pub(super) fn new(file: &'f dyn DiskFile, offset: u64) -> Self {
        Self::in_chunks(file, offset, CHUNK_BYTES)
    }

    /// For callers who know how much they are about to read.
    pub(super) fn in_chunks(file: &'f dyn DiskFile, offset: u64, chunk: usize) -> Self {
        Self { file, buffer: Vec::new(), used: 0, base: offset, over: false, chunk }
    }

    /// Returns where the next piece begins, which is where the last one ended.
    pub(super) fn offset(&self) -> u64 {
        self.base + self.used as u64
    }

    pub(super) fn next(&mut self) -> io::Result<Piece<'_>> {
        if self.used == self.buffer.len() && !self.fill()? {
            return Ok(Piece::End);
        }
        let blank = blank_length(&self.buffer[self.used..]);
        if blank > 0 {
            self.used += blank;
            return Ok(Piece::Blank);
        }
        let mut searched = 0;
        loop {
            let rest = &self.buffer[self.used + searched..];
            if let Some(length) = memchr::memchr(b'\n', rest).map(|at| searched + at) {
                let start = self.used;
                self.used += length + 1;
                if length >= LINE_BYTES_MAX {
                    return Ok(Piece::Broken("it is longer than any record"));
                }
                return Ok(Piece::Line(&self.buffer[start..start + length]));
            }
            searched += rest.len();
            if searched >= LINE_BYTES_MAX {
                self.used += searched;
                return Ok(Piece::Broken("it is longer than any record"));
            }
            if !self.fill()? {
                self.used += searched;
                return Ok(Piece::Broken("the file ends inside it"));
            }
        }
    }

    /// Reads one chunk more, dropping what was handed out. False at the end of the file.
    fn fill(&mut self) -> io::Result<bool> {
        if self.over {
            return Ok(false);
        }
        self.buffer.drain(..self.used);
        self.base += self.used as u64;
        self.used = 0;
        let kept = self.buffer.len();
        self.buffer.resize(kept + self.chunk, 0);
        let read = self.file.read_at(&mut self.buffer[kept..], self.base + kept as u64)?;
        self.buffer.truncate(kept + read);
        self.over = read < self.chunk;
        Ok(read > 0)
    }
}

/// Counts the newlines that `bytes` begin with. By blocks: most of a new segment is blank, and
/// looking at each byte of 64 MiB would show in the time to start.
fn blank_length(bytes: &[u8]) -> usize {
    let mut length = 0;
    for block in bytes.chunks(BLANK.len()) {
        if *block != BLANK[..block.len()] {
            return length + block.iter().take_while(|&&byte| byte == b'\n').count();
        }
        length += block.len();
    }
    length
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::Disk;
    use crate::sim::SimDisk;

    /// Spells the pieces of `bytes`: lines as their text or length, blanks once per run.
    fn pieces(bytes: &[u8], chunk: usize) -> Vec<String> {
        let file = SimDisk::new(0).create("f").unwrap();
        file.write_at(bytes, 0).unwrap();
        let mut pieces = Pieces::in_chunks(&*file, 0, chunk);
        let mut found: Vec<String> = Vec::new();
        loop {
            let at = pieces.offset();
            match pieces.next().unwrap() {
                Piece::Line(line) if line.len() > 20 => found.push(format!("{at}+{}", line.len())),
                Piece::Line(line) => found.push(format!("{at}:{}", line.escape_ascii())),
                Piece::Blank if found.last().is_some_and(|last| last == "-") => {}
                Piece::Blank => found.push("-".into()),
                Piece::Broken(why) => found.push(format!("{at}!{why}")),
                Piece::End => return found,
            }
        }
    }

    #[test]
    fn pieces_do_not_depend_on_how_the_file_is_read() {
        let long = [b'x'; 100];
        let bytes = [b"one\ntwo\n\n\n\nthree\n".as_slice(), &long, b"\n\n\nrest"].concat();
        for chunk in [1, 2, 3, 7, 64, 1 << 20] {
            assert_eq!(
                pieces(&bytes, chunk),
                ["0:one", "4:two", "-", "11:three", "17+100", "-", "120!the file ends inside it"],
                "chunk {chunk}"
            );
        }
        assert_eq!(pieces(b"", 8), [""; 0]);
        assert_eq!(pieces(&BLANK, 100_000), ["-"]);
    }

    #[test]
    fn a_line_without_end_does_not_fill_the_memory() {
        let mut bytes = vec![b'x'; LINE_BYTES_MAX + 10];
        bytes.extend_from_slice(b"\nnext\n");
        let found = pieces(&bytes, 1 << 20);
        assert_eq!(found[0], "0!it is longer than any record");
        assert!(found.last().unwrap().ends_with(":next"));
    }
}
