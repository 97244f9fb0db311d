//! Keys on a Redis or Valkey server, for many hosts: `redis://USER:PASSWORD@HOST:PORT/NUMBER` or `redis+unix:///PATH`.
//!
//! A key is `BUCKET:KEY` there. An operation has a connection for itself; those that are free are kept, each for the thread
//! that made it, since a connection belongs to the runtime of its thread.

use super::resp::{self, Reply};
use super::{Change, Page};
use crate::Limits;
use crate::lock::lock;
use std::collections::HashMap;
use std::io;
use std::sync::{Mutex, MutexGuard};
use std::thread::ThreadId;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::{TcpStream, UnixStream};

/// Connections that each thread keeps for later.
const KEPT: usize = 16;

/// The bytes of a reply beside those of its values.
const FRAME: usize = 64 * 1024;

/// A server.
pub(super) struct Redis {
    place: Place,
    user: Option<String>,
    password: Option<String>,
    number: u32,
    /// Bytes that a reply may have.
    most: usize,
    free: Mutex<HashMap<ThreadId, Vec<Connection>>>,
}

#[derive(Debug, PartialEq, Eq)]
enum Place {
    Tcp(String, u16),
    Unix(String),
}

type Connection = BufReader<Box<dyn Wire>>;

/// A connection that can be looked at without waiting.
trait Wire: AsyncRead + AsyncWrite + Send + Unpin {
    /// Whether the server is still there and has said nothing unasked.
    fn is_quiet(&self) -> bool;
}

impl Wire for TcpStream {
    fn is_quiet(&self) -> bool {
        self.try_read(&mut [0]).is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
    }
}

impl Wire for UnixStream {
    fn is_quiet(&self) -> bool {
        self.try_read(&mut [0]).is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
    }
}

impl Redis {
    /// Reads the URL; the server need not be there yet.
    pub(super) fn new(url: &str, limits: &Limits) -> Result<Self, String> {
        let free = Mutex::default();
        let most = limits.hostcall_bytes.saturating_add(FRAME);
        if let Some(path) = url.strip_prefix("redis+unix://") {
            let place = Place::Unix(path.to_owned());
            return Ok(Self { place, user: None, password: None, number: 0, most, free });
        }
        let rest = url.strip_prefix("redis://").ok_or("write redis://HOST:PORT/NUMBER")?;
        let (credentials, rest) = rest.rsplit_once('@').map_or((None, rest), |(left, right)| (Some(left), right));
        let (host, number) = rest.split_once('/').unwrap_or((rest, ""));
        let number = match number {
            "" => 0,
            number => number.parse().map_err(|_| format!("{number:?} is no number of a database"))?,
        };
        let (host, port) = match host.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => {
                (host, port.parse().map_err(|_| format!("{port:?} is no port"))?)
            }
            _ => (host, 6379),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        if host.is_empty() {
            return Err("the URL names no host; write redis://HOST:PORT/NUMBER".to_owned());
        }
        let (user, password) = credentials.map_or(("", ""), |text| text.split_once(':').unwrap_or(("", text)));
        let plain = |text: &str| match text {
            "" => Ok(None),
            text => decoded(text).map(Some).ok_or("user and password must be percent-encoded text"),
        };
        let place = Place::Tcp(host.to_owned(), port);
        Ok(Self { place, user: plain(user)?, password: plain(password)?, number, most, free })
    }

    pub(super) async fn get(&self, bucket: &str, keys: &[String], most: usize) -> Result<Vec<Option<Vec<u8>>>, String> {
        let names: Vec<_> = keys.iter().map(|key| name(bucket, key)).collect();
        let words: Vec<&[u8]> = std::iter::once(&b"MGET"[..]).chain(names.iter().map(Vec::as_slice)).collect();
        let Reply::List(values) = self.ask(&words).await? else { return Err(unexpected()) };
        let mut left = most;
        let values = values.into_iter().map(|value| match value {
            Reply::Bytes(bytes) => {
                left = left.checked_sub(bytes.len()).ok_or_else(super::host::too_much)?;
                Ok(Some(bytes))
            }
            Reply::Nothing => Ok(None),
            _ => Err(unexpected()),
        });
        let values = values.collect::<Result<Vec<_>, _>>()?;
        if values.len() == keys.len() { Ok(values) } else { Err(unexpected()) }
    }

    pub(super) async fn exists(&self, bucket: &str, key: &str) -> Result<bool, String> {
        self.count(&[b"EXISTS", &name(bucket, key)]).await.map(|count| count > 0)
    }

    pub(super) async fn change(&self, bucket: &str, change: Change) -> Result<u64, String> {
        match change {
            Change::Set(entries) => {
                let names: Vec<_> = entries.iter().map(|(key, _)| name(bucket, key)).collect();
                let pairs =
                    names.iter().zip(&entries).flat_map(|(name, (_, value))| [name.as_slice(), value.as_slice()]);
                let words: Vec<&[u8]> = std::iter::once(&b"MSET"[..]).chain(pairs).collect();
                self.ask(&words).await.map(|_| 0)
            }
            Change::Delete(keys) => {
                let names: Vec<_> = keys.iter().map(|key| name(bucket, key)).collect();
                let words: Vec<&[u8]> = std::iter::once(&b"DEL"[..]).chain(names.iter().map(Vec::as_slice)).collect();
                self.ask(&words).await.map(|_| 0)
            }
            Change::Increment(key, delta) => {
                let delta = i64::try_from(delta).map_err(|_| "the number would be too large")?;
                let sum = self.count(&[b"INCRBY", &name(bucket, &key), delta.to_string().as_bytes()]).await?;
                u64::try_from(sum).map_err(|_| "the number is below zero".to_owned())
            }
        }
    }

    /// Lists keys as the server finds them: a page may be empty, and a key may come twice while others are written.
    pub(super) async fn list(&self, bucket: &str, cursor: u64, most: usize) -> Result<Page, String> {
        let prefix = name(bucket, "");
        // The server means about so many, and a page should be good for one call.
        let (cursor, count) = (cursor.to_string(), most.div_ceil(2).to_string());
        let words: [&[u8]; 6] = [b"SCAN", cursor.as_bytes(), b"MATCH", &pattern(&prefix), b"COUNT", count.as_bytes()];
        let Reply::List(parts) = self.ask(&words).await? else { return Err(unexpected()) };
        let Ok([Reply::Bytes(next), Reply::List(found)]) = <[Reply; 2]>::try_from(parts) else {
            return Err(unexpected());
        };
        let next = std::str::from_utf8(&next).ok().and_then(|next| next.parse::<u64>().ok()).ok_or_else(unexpected)?;
        // Others may have put names there that are no text, which no component can name.
        let keys = found.into_iter().filter_map(|name| match name {
            Reply::Bytes(name) => String::from_utf8(name.strip_prefix(prefix.as_slice())?.to_vec()).ok(),
            _ => None,
        });
        Ok(Page { keys: keys.collect(), next: (next != 0).then_some(next) })
    }

    async fn count(&self, words: &[&[u8]]) -> Result<i64, String> {
        let Reply::Number(number) = self.ask(words).await? else { return Err(unexpected()) };
        Ok(number)
    }

    /// Sends a command; a connection is kept only when all of the reply has come.
    async fn ask(&self, words: &[&[u8]]) -> Result<Reply, String> {
        let mut connection = match self.kept() {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        let reply = exchange(&mut connection, words, self.most).await?;
        let mut free = self.free();
        let free = free.entry(std::thread::current().id()).or_default();
        if free.len() < KEPT {
            free.push(connection);
        }
        match reply {
            Reply::Error(why) if why.contains("not an integer") => {
                Err("the value is no number that can be increased".to_owned())
            }
            Reply::Error(why) if why.contains("overflow") => Err("the number would be too large".to_owned()),
            Reply::Error(why) => Err(format!("the server refused: {why}")),
            reply => Ok(reply),
        }
    }

    /// A connection of this thread that the server has not closed in the meantime.
    fn kept(&self) -> Option<Connection> {
        let mut free = self.free();
        let free = free.get_mut(&std::thread::current().id())?;
        std::iter::from_fn(|| free.pop())
            .find(|connection| connection.buffer().is_empty() && connection.get_ref().is_quiet())
    }

    async fn connect(&self) -> Result<Connection, String> {
        let stream: io::Result<Box<dyn Wire>> = match &self.place {
            Place::Tcp(host, port) => TcpStream::connect((host.as_str(), *port)).await.and_then(|stream| {
                stream.set_nodelay(true)?;
                Ok(Box::new(stream) as Box<dyn Wire>)
            }),
            Place::Unix(path) => UnixStream::connect(path).await.map(|stream| Box::new(stream) as Box<dyn Wire>),
        };
        let mut connection = BufReader::new(stream.map_err(|error| format!("the server can't be reached: {error}"))?);
        if let Some(password) = &self.password {
            let mut words = vec![&b"AUTH"[..]];
            words.extend(self.user.iter().chain([password]).map(|word| word.as_bytes()));
            accepted(exchange(&mut connection, &words, self.most).await?)?;
        }
        if self.number > 0 {
            accepted(exchange(&mut connection, &[b"SELECT", self.number.to_string().as_bytes()], self.most).await?)?;
        }
        Ok(connection)
    }

    fn free(&self) -> MutexGuard<'_, HashMap<ThreadId, Vec<Connection>>> {
        lock(&self.free)
    }
}

async fn exchange(connection: &mut Connection, words: &[&[u8]], most: usize) -> Result<Reply, String> {
    let mut left = most;
    let both = async {
        connection.get_mut().write_all(&resp::command(words)).await?;
        connection.get_mut().flush().await?;
        resp::reply(connection, &mut left).await
    };
    both.await.map_err(|error: io::Error| format!("the connection to the server broke: {error}"))
}

fn accepted(reply: Reply) -> Result<(), String> {
    match reply {
        Reply::Error(why) => Err(format!("the server refused: {why}")),
        _ => Ok(()),
    }
}

fn unexpected() -> String {
    "the server answered something else than was asked".to_owned()
}

fn name(bucket: &str, key: &str) -> Vec<u8> {
    [bucket, ":", key].concat().into_bytes()
}

/// The pattern of all names that begin like this.
fn pattern(prefix: &[u8]) -> Vec<u8> {
    let mut pattern = Vec::with_capacity(prefix.len() + 1);
    for &byte in prefix {
        if b"*?[]\\^".contains(&byte) {
            pattern.push(b'\\');
        }
        pattern.push(byte);
    }
    pattern.push(b'*');
    pattern
}

/// Decodes `%41`.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
                u8::try_from(digit(rest.next())? * 16 + digit(rest.next())?).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where the server is, user, password, and the number of the database.
    type Read<'a> = (Place, Option<&'a str>, Option<&'a str>, u32);

    #[track_caller]
    fn check(url: &str, wanted: Result<Read, &str>) {
        match (Redis::new(url, &Limits::default()), wanted) {
            (Ok(got), Ok((place, user, password, number))) => {
                assert_eq!(
                    (got.user.as_deref(), got.password.as_deref(), got.number),
                    (user, password, number),
                    "{url}"
                );
                assert_eq!(got.place, place, "{url}");
            }
            (Err(why), Err(part)) => assert!(why.contains(part), "{url}: {why}"),
            (got, _) => panic!("{url}: {:?}", got.map(|_| ())),
        }
    }

    #[test]
    fn urls_are_read() {
        let tcp = |host: &str, port| Place::Tcp(host.to_owned(), port);
        check("redis://localhost", Ok((tcp("localhost", 6379), None, None, 0)));
        check("redis://10.0.0.1:7000/3", Ok((tcp("10.0.0.1", 7000), None, None, 3)));
        check("redis://[::1]:7000/", Ok((tcp("::1", 7000), None, None, 0)));
        check("redis://[::1]", Ok((tcp("::1", 6379), None, None, 0)));
        check("redis://:p%40ss@host", Ok((tcp("host", 6379), None, Some("p@ss"), 0)));
        check("redis://ada:a@b@host/1", Ok((tcp("host", 6379), Some("ada"), Some("a@b"), 1)));
        check("redis+unix:///run/redis.sock", Ok((Place::Unix("/run/redis.sock".to_owned()), None, None, 0)));
        check("redis://", Err("names no host"));
        check("redis://host:x", Err("\"x\" is no port"));
        check("redis://host/x", Err("\"x\" is no number"));
        check("redis://:%@host", Err("percent-encoded"));
        check("redis:host", Err("write redis://"));
    }

    #[test]
    fn patterns_mean_what_they_say() {
        assert_eq!(pattern(b"a*[b]?\\:"), b"a\\*\\[b\\]\\?\\\\:*");
    }
}
