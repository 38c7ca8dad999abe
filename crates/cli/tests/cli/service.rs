//! A web service on loopback that gives the answers it was told to, one after the other.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};

pub(crate) struct Service {
    pub(crate) url: String,
    heard: Receiver<String>,
}

impl Service {
    /// Each answer is a status and, after a space, a body.
    pub(crate) fn start(answers: &[&str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/hook", listener.local_addr().expect("an address"));
        let answers: Vec<String> = answers.iter().map(|answer| (*answer).to_owned()).collect();
        let (tell, heard) = channel();
        std::thread::spawn(move || {
            for answer in answers {
                let (stream, _) = listener.accept().expect("a caller");
                let head = answered(stream, &answer);
                if tell.send(head).is_err() {
                    return;
                }
            }
        });
        Self { url, heard }
    }

    /// The head of the next call.
    pub(crate) fn next(&self) -> String {
        self.heard.recv().expect("a call")
    }
}

fn answered(mut stream: TcpStream, answer: &str) -> String {
    let mut reader = BufReader::new(stream.try_clone().expect("a stream"));
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        reader.read_line(&mut head).expect("a head");
    }
    let length = head.to_lowercase();
    let length = length.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
    let length: usize = length.and_then(|text| text.trim().parse().ok()).unwrap_or(0);
    reader.read_exact(&mut vec![0; length]).expect("a body");
    let (status, body) = answer.split_once(' ').unwrap_or((answer, ""));
    let (size, end) = (body.len(), "connection: close\r\n\r\n");
    write!(stream, "HTTP/1.1 {status} X\r\ncontent-length: {size}\r\n{end}{body}")
        .expect("an answer");
    head
}
