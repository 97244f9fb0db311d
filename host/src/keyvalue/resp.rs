//! The protocol of Redis and Valkey (RESP 2): commands out, replies in, with a limit to what a reply may hold.

use std::io;
use std::pin::Pin;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt};

/// Bytes of a line: the start of every reply, and all of an error.
const LINE: u64 = 16 * 1024;

/// Entries of an array.
const ENTRIES: usize = 100_000;

/// Arrays within arrays.
const DEPTH: usize = 2;

/// What a server answers.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Reply {
    Status(String),
    Error(String),
    Number(i64),
    Bytes(Vec<u8>),
    Nothing,
    List(Vec<Reply>),
}

/// Writes a command with its arguments.
pub(super) fn command(words: &[&[u8]]) -> Vec<u8> {
    let length = words.iter().map(|word| word.len() + 16).sum::<usize>() + 16;
    let mut bytes = Vec::with_capacity(length);
    bytes.extend_from_slice(format!("*{}\r\n", words.len()).as_bytes());
    for word in words {
        bytes.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        bytes.extend_from_slice(word);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}

/// Reads a reply of `left` bytes at most.
///
/// # Errors
/// When the connection breaks, or what comes is no reply or too long; the connection is then of no more use.
pub(super) async fn reply(from: &mut (impl AsyncBufRead + Unpin + Send), left: &mut usize) -> io::Result<Reply> {
    nested(from, left, DEPTH).await
}

type Nested<'a> = Pin<Box<dyn Future<Output = io::Result<Reply>> + Send + 'a>>;

fn nested<'a, R: AsyncBufRead + Unpin + Send>(from: &'a mut R, left: &'a mut usize, depth: usize) -> Nested<'a> {
    Box::pin(async move {
        let line = line(from, left).await?;
        let (kind, text) = line.split_at_checked(1).ok_or_else(|| strange("an empty line"))?;
        let number = || text.parse::<i64>().map_err(|_| strange("no number"));
        match kind {
            "+" => Ok(Reply::Status(text.to_owned())),
            "-" => Ok(Reply::Error(text.to_owned())),
            ":" => Ok(Reply::Number(number()?)),
            "$" | "*" if number()? == -1 => Ok(Reply::Nothing),
            "$" => {
                let length = usize::try_from(number()?).map_err(|_| strange("no length"))?;
                bytes(from, left, length).await.map(Reply::Bytes)
            }
            "*" if depth > 0 => {
                let count = usize::try_from(number()?).ok().filter(|&count| count <= ENTRIES);
                let mut entries = Vec::new();
                for _ in 0..count.ok_or_else(|| strange("too many entries"))? {
                    entries.push(nested(from, left, depth - 1).await?);
                }
                Ok(Reply::List(entries))
            }
            _ => Err(strange("no reply")),
        }
    })
}

async fn line(from: &mut (impl AsyncBufRead + Unpin), left: &mut usize) -> io::Result<String> {
    let mut line = Vec::new();
    from.take(LINE).read_until(b'\n', &mut line).await?;
    spend(left, line.len())?;
    let Some(text) = line.strip_suffix(b"\r\n") else {
        return Err(if line.is_empty() { io::ErrorKind::UnexpectedEof.into() } else { strange("no whole line") });
    };
    String::from_utf8(text.to_vec()).map_err(|_| strange("no text"))
}

async fn bytes(from: &mut (impl AsyncRead + Unpin), left: &mut usize, length: usize) -> io::Result<Vec<u8>> {
    spend(left, length)?;
    let mut bytes = vec![0; length];
    from.read_exact(&mut bytes).await?;
    let mut end = [0; 2];
    from.read_exact(&mut end).await?;
    if end == *b"\r\n" { Ok(bytes) } else { Err(strange("no end")) }
}

fn spend(left: &mut usize, bytes: usize) -> io::Result<()> {
    *left = left.checked_sub(bytes).ok_or_else(|| io::Error::other(super::host::too_much()))?;
    Ok(())
}

fn strange(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the server does not speak the protocol of Redis: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8], piece: usize, most: usize) -> Result<Reply, String> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            let pieces = tokio::io::BufReader::with_capacity(piece, bytes);
            let mut left = most;
            let mut pieces = pieces;
            reply(&mut pieces, &mut left).await.map_err(|error| error.to_string())
        })
    }

    #[track_caller]
    fn check(bytes: &[u8], wanted: Result<Reply, &str>) {
        for piece in [1, 2, 3, 8192] {
            match (read(bytes, piece, 100), &wanted) {
                (Ok(got), Ok(wanted)) => assert_eq!(&got, wanted),
                (Err(why), Err(part)) => assert!(why.contains(part), "{why}"),
                (got, _) => panic!("{}: {got:?}", bytes.escape_ascii()),
            }
        }
    }

    #[test]
    fn replies_are_read() {
        check(b"+OK\r\n", Ok(Reply::Status("OK".to_owned())));
        check(b"-ERR no\r\n", Ok(Reply::Error("ERR no".to_owned())));
        check(b":-5\r\n", Ok(Reply::Number(-5)));
        check(b"$3\r\na\r\n\r\n", Ok(Reply::Bytes(b"a\r\n".to_vec())));
        check(b"$0\r\n\r\n", Ok(Reply::Bytes(Vec::new())));
        check(b"$-1\r\n", Ok(Reply::Nothing));
        check(b"*-1\r\n", Ok(Reply::Nothing));
        check(b"*0\r\n", Ok(Reply::List(Vec::new())));
        let inner = Reply::List(vec![Reply::Bytes(b"k".to_vec()), Reply::Nothing]);
        check(b"*2\r\n:0\r\n*2\r\n$1\r\nk\r\n$-1\r\n", Ok(Reply::List(vec![Reply::Number(0), inner])));
    }

    #[test]
    fn what_is_no_reply_or_too_long_is_refused() {
        for (bytes, part) in [
            (&b""[..], "unexpected end of file"),
            (b"+OK", "no whole line"),
            (b"+OK\n", "no whole line"),
            (b"\r\n", "an empty line"),
            (b"!x\r\n", "no reply"),
            (b"HTTP/1.1 400\r\n", "no reply"),
            (b":x\r\n", "no number"),
            (b"$-2\r\n", "no length"),
            (b"$3\r\nab", "early eof"),
            (b"$1\r\nabc", "no end"),
            (b"*999999999\r\n", "too many entries"),
            (b"*1\r\n*1\r\n*1\r\n:1\r\n", "no reply"),
            (b"$99999999999\r\n", "too many bytes"),
            (b"$101\r\n", "too many bytes"),
            (b"+\xff\r\n", "no text"),
        ] {
            check(bytes, Err(part));
        }
        let long = [b'+'; 20_000];
        assert!(read(&long, 8192, 1 << 20).is_err());
    }

    #[test]
    fn commands_are_lists_of_bytes() {
        assert_eq!(command(&[b"GET", b"a\r\nb"]), b"*2\r\n$3\r\nGET\r\n$4\r\na\r\nb\r\n");
    }
}
