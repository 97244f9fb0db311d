//! Every key of the configuration: its name, what it does, and how it gets into a [`Config`].
//!
//! The one list behind `tabi.toml`, `--set`, the environment, `tabi config` and `docs/limits.md`.

use crate::{AccessLog, ClientAuth, Config, PagemapScan, Tell, TrustedFields, units};

/// A key of the configuration.
pub struct Key {
    /// Its name with its table, such as `limits.header_bytes`.
    pub name: &'static str,
    /// What it is, in one sentence.
    pub doc: &'static str,
    /// What happens when the limit is reached; empty for what is no limit.
    pub outcome: &'static str,
    /// Writes the value as the file would.
    pub get: fn(&Config) -> String,
    /// Reads the value, as a string without its quotes.
    pub set: fn(&mut Config, &str) -> Result<(), String>,
}

macro_rules! keys {
    ($($name:literal $kind:ident $($field:ident).+ $doc:literal $outcome:literal;)*) => {
        /// All keys, in the order of the documentation.
        pub static KEYS: &[Key] = &[$(Key {
            name: $name,
            doc: $doc,
            outcome: $outcome,
            get: |config| get!($kind, config.$($field).+),
            set: |config, text| {
                config.$($field).+ = set!($kind, text)?;
                Ok(())
            },
        }),*];
    };
}

macro_rules! get {
    (size, $value:expr) => {
        quote(&units::size($value as u64))
    };
    (time, $value:expr) => {
        quote(&units::time($value))
    };
    (port, $value:expr) => {
        $value.to_string()
    };
    (count, $value:expr) => {
        $value.to_string()
    };
    (access_log, $value:expr) => {
        quote($value.name())
    };
    (choice, $value:expr) => {
        quote(name_of($value))
    };
    (mode, $value:expr) => {
        quote(&format!("{:03o}", $value))
    };
    (addr, $value:expr) => {
        quote(&$value.map(|addr| addr.to_string()).unwrap_or_default())
    };
    (switch, $value:expr) => {
        quote(if $value { "on" } else { "off" })
    };
    (pagemap_scan, $value:expr) => {
        quote(if $value == PagemapScan::Auto { "auto" } else { "off" })
    };
    (line, $value:expr) => {
        quote(&$value)
    };
    (list, $value:expr) => {
        list(&$value)
    };
    (text, $value:expr) => {
        quote(&$value)
    };
    (folder, $value:expr) => {
        quote(&$value.as_ref().map(|dir| dir.display().to_string()).unwrap_or_default())
    };
    (path, $value:expr) => {
        quote(&$value.display().to_string())
    };
}

macro_rules! set {
    (size, $text:expr) => {
        units::parse_size($text).and_then(|size| size.try_into().map_err(|_| too_large($text)))
    };
    (time, $text:expr) => {
        units::parse_time($text)
    };
    (port, $text:expr) => {
        crate::file::parse_port($text)
    };
    (count, $text:expr) => {
        parse_count($text)
    };
    (access_log, $text:expr) => {
        AccessLog::parse($text)
    };
    (choice, $text:expr) => {
        parse_choice($text)
    };
    (mode, $text:expr) => {
        match u32::from_str_radix($text, 8) {
            Ok(mode) if $text.len() == 3 => Ok(mode),
            _ => Err(format!("{:?} are no permissions; write three octal digits, such as \"660\"", $text)),
        }
    };
    (addr, $text:expr) => {
        parse_addr($text)
    };
    (switch, $text:expr) => {
        match $text {
            "on" => Ok(true),
            "off" => Ok(false),
            other => Err(format!("{other:?} is neither on nor off")),
        }
    };
    (pagemap_scan, $text:expr) => {
        match $text {
            "auto" => Ok(PagemapScan::Auto),
            "off" => Ok(PagemapScan::Off),
            other => Err(format!("{other:?} is neither auto nor off")),
        }
    };
    (list, $text:expr) => {
        Ok::<_, String>(parse_list($text))
    };
    (text, $text:expr) => {
        Ok::<_, String>($text.to_owned())
    };
    (folder, $text:expr) => {
        Ok::<_, String>((!$text.is_empty()).then(|| $text.into()))
    };
    (path, $text:expr) => {
        if $text.is_empty() { Err("it is empty".to_owned()) } else { Ok($text.into()) }
    };
    (line, $text:expr) => {
        match $text.chars().any(char::is_control) {
            true => Err(format!("{:?} has control characters in it", $text)),
            false => Ok($text.to_owned()),
        }
    };
}

pub mod entries;

keys! {
    "server.http" switch http "Listen for http on server.host and server.port: on or off." "";
    "server.unix" folder unix "A Unix socket to listen on for http; empty for none." "";
    "server.unix_mode" mode unix_mode "Who may connect to the Unix socket: permissions as three octal digits." "";
    "server.tls_port" port tls_port "The port for https, when a certificate is given; 0 takes a free one." "";
    "server.tls_cert" list tls_cert "Certificate chains for https (PEM files), read again when they change; the first is the default." "";
    "server.tls_key" list tls_key "Private keys of the certificates (PEM files), in the same order." "";
    "server.tls_dev" switch tls_dev "Make a self-signed certificate for development, if none is given: on or off." "";
    "server.tls_client_ca" folder tls_client_ca "Certificates of the authorities that vouch for clients (PEM file)." "";
    "server.tls_client_auth" choice tls_client_auth "Ask clients for certificates: off, optional or required." "";
    "server.https_redirect" switch https_redirect "Answer what comes without TLS with a redirect to https, and nothing else: on or off." "";
    "server.proxy_protocol_from" list proxy_protocol_from "Networks (or unix) whose connections begin with a header of the PROXY protocol." "";
    "server.trusted_proxies" list trusted_proxies "Networks (or unix) of proxies that are believed what they forward about clients." "";
    "server.trusted_fields" choice trusted_fields "The fields that those proxies set: x-forwarded (X-Forwarded-For, -Proto, -Host) or forwarded (RFC 7239)." "";
    "server.forwarded" choice forwarded "Tell the component who its client is, in forwarded and x-forwarded-for: on, off, or auto (on behind proxies)." "";
    "server.threads" count threads "Worker threads, each with its own connections and guests." "";
    "server.access_log" access_log access_log "A line per request in the log: off, text, json or combined." "";
    "server.trace" switch trace "Dump requests and responses into the log: on or off." "";
    "server.trace_body_bytes" size trace_body_bytes "Bytes of each body in such a dump." "";
    "server.trace_secrets" switch trace_secrets "Dump credentials and cookies as they are, instead of shortened: on or off." "";
    "server.request_id" switch request_id "Tell guests and clients, as x-request-id, the id that the log has for a request: on or off." "";
    "server.cache_dir" folder cache_dir "Where compiled components are kept; empty compiles at every start." "";
    "server.compression" switch compression "Compress answers with gzip for clients that take it: on or off." "";
    "server.compression_min_bytes" size compression_min_bytes "The length from which an answer is worth compressing." "";
    "admin.addr" addr admin_addr "Where /metrics, /healthz and /readyz are, such as 127.0.0.1:9090; empty for nowhere." "";
    "otel.endpoint" text otel_endpoint "A collector for traces, such as http://127.0.0.1:4318; empty for none." "";
    "otel.service" text otel_service "What the traces call this service." "";
    "otel.one_in" count otel_one_in "Of requests that belong to no trace yet, one in this many begins one." "";
    "instances.requests_p2" count reuse.requests_p2 "Requests that one 0.2 instance answers; more than 1 lets its memory live on." "";
    "instances.restore" switch reuse.restore "Whether a 0.2 instance is set back to its first state after a request, where that is possible, instead of making another one." "";
    "instances.requests_p3" count reuse.requests_p3 "Requests that one 0.3 instance answers." "";
    "instances.concurrent_p3" count reuse.concurrent_p3 "Requests that one 0.3 instance works on at the same time." "";
    "instances.keep_resident" size reuse.keep_resident "Bytes at the start of a memory that are cleared in place between instances of 0.2." "";
    "instances.pagemap_scan" pagemap_scan reuse.pagemap_scan "Ask the kernel which pages a guest has changed: auto or off." "";
    "instances.idle" time reuse.idle "How long an instance waits for its next request." "";
    "instances.max_age" time reuse.max_age "The age from which an instance takes no more requests." "";
    "instances.max_memory" size reuse.max_memory "The memory from which an instance takes no more requests; each is served with the memory it needs." "";
    "limits.header_bytes" size limits.header_bytes "Bytes of a request head." "431";
    "limits.header_count" count limits.header_count "Fields of a request head." "431";
    "limits.uri_bytes" size limits.uri_bytes "Bytes of a request target." "414";
    "limits.body_bytes" size limits.body_bytes "Bytes of a request body." "413";
    "limits.header_timeout" time limits.header_timeout "From the connect, or the first byte of a request head, to its last." "connection closed";
    "limits.tls_timeout" time limits.tls_timeout "From the connect to the end of the TLS handshake." "connection closed";
    "limits.idle_timeout" time limits.idle_timeout "Silence between two requests." "connection closed";
    "limits.body_timeout" time limits.body_timeout "Silence of the client while the guest waits for its body." "408";
    "limits.write_timeout" time limits.write_timeout "Time in which the client takes no byte of a response." "connection closed";
    "limits.request_timeout" time limits.request_timeout "From the request head to the response head." "504";
    "limits.stream_idle_timeout" time limits.stream_idle_timeout "Silence of the guest in a response that has begun." "connection cut";
    "limits.stream_timeout" time limits.stream_timeout "The whole of one response." "connection cut";
    "limits.post_return_timeout" time limits.post_return_timeout "Work of the guest after its response." "instance dropped";
    "limits.cpu_time" time limits.cpu_time "Processor time of one exchange with a 0.2 instance." "504, or connection cut";
    "limits.drain_timeout" time limits.drain_timeout "Time for open requests when the host stops." "connection cut";
    "limits.connections" count limits.connections "Open connections." "503 and closed";
    "limits.connections_per_ip" count limits.connections_per_ip "Open connections of one address; loopback and trusted proxies are exempt." "503 and closed";
    "limits.requests_per_connection" count limits.requests_per_connection "Requests on one connection." "closed after the answer";
    "limits.requests" count limits.requests "Requests that guests work on at the same time." "queued";
    "limits.queue" count limits.queue "Requests that wait for a place." "503";
    "limits.queue_timeout" time limits.queue_timeout "Time a request waits for a place." "503";
    "limits.h2_streams" count limits.h2_streams "Concurrent streams of an HTTP/2 connection." "stream refused";
    "limits.h2_stream_window" size limits.h2_stream_window "Request bytes in flight on an HTTP/2 stream." "client waits";
    "limits.h2_connection_window" size limits.h2_connection_window "Request bytes in flight on an HTTP/2 connection." "client waits";
    "limits.h2_pending_resets" count limits.h2_pending_resets "Streams that an HTTP/2 client has reset before they were handled." "connection closed";
    "limits.memory" size limits.memory "Memory of an instance." "allocation fails in the guest";
    "limits.table_elements" count limits.table_elements "Elements of each table of an instance." "growth fails in the guest";
    "limits.resources" count limits.resources "WASI resources that an instance holds." "500";
    "limits.hostcall_bytes" size limits.hostcall_bytes "Bytes that one host call carries out of the guest." "500";
    "limits.field_bytes" size limits.field_bytes "Bytes of one set of header fields, in memory." "500";
    "limits.random_bytes" size limits.random_bytes "Random bytes that one call asks for." "500";
    "limits.log_line" size limits.log_line "Bytes of a guest's log line." "line cut";
    "limits.log_bytes" size limits.log_bytes "Bytes that a guest logs for one request." "rest dropped, and counted";
    "limits.outbound_requests" count limits.outbound_requests "Requests of the guests' own that are under way at the same time." "the guest's request fails";
    "limits.outbound_requests_per_instance" count limits.outbound_requests_per_instance "Requests of its own that one instance has under way at the same time." "the guest's request fails";
    "limits.outbound_connect_timeout" time limits.outbound_connect_timeout "To find the other server and to connect, TLS included." "the guest's request fails";
    "limits.outbound_first_byte_timeout" time limits.outbound_first_byte_timeout "From the last byte of a guest's request to the head of its answer." "the guest's request fails";
    "limits.outbound_between_bytes_timeout" time limits.outbound_between_bytes_timeout "Time in which the other server sends, or takes, no byte." "the guest's request fails";
    "limits.outbound_header_bytes" size limits.outbound_header_bytes "Bytes of the head of an answer to a guest's request, and of its trailer fields." "the guest's request fails";
    "limits.outbound_hops" count limits.outbound_hops "Times that a request comes back to the component by its own requests." "508";
    "limits.outbound_idle" count limits.outbound_idle "Connections to other servers that a thread keeps for later requests." "the oldest closed";
    "limits.outbound_idle_timeout" time limits.outbound_idle_timeout "Time that a connection to another server waits for a request." "closed";
    "limits.keyvalue_key_bytes" size limits.keyvalue_key_bytes "Bytes of a key in key-value storage." "error in the guest";
    "limits.keyvalue_value_bytes" size limits.keyvalue_value_bytes "Bytes of a value in key-value storage." "error in the guest";
    "limits.keyvalue_keys" count limits.keyvalue_keys "Keys of one call to key-value storage, and of one page of a listing." "error in the guest";
    "limits.keyvalue_operations" count limits.keyvalue_operations "Calls to key-value storage for one request." "error in the guest";
    "limits.keyvalue_timeout" time limits.keyvalue_timeout "Time for one call to key-value storage." "error in the guest";
    "limits.keyvalue_memory" size limits.keyvalue_memory "Bytes that the storage memory: holds." "error in the guest";
    "grants.env" list grants.env "Variables of the guest's environment: NAME=value, or NAME for the host's own value." "";
    "grants.config" list grants.config "Values that the guest reads by wasi:config: KEY=value, KEY=@FILE or KEY=$NAME; a table will do as well." "";
    "grants.dirs" list grants.dirs "Folders that the guest may read: FOLDER, FOLDER:NAME, and :rw after it to write as well." "";
    "grants.keyvalue" text grants.keyvalue "Key-value storage: file:PATH, memory: or redis://HOST:PORT/NUMBER, or @FILE or $NAME where that stands; empty for none." "";
    "grants.keyvalue_buckets" list grants.keyvalue_buckets "Buckets that the guest may open, beside the one called default." "";
    "grants.outbound" list grants.outbound "Where the guest may send requests: https://api.example.org, https://*.example.org, http://10.0.0.1:8080, https://example.org/v1/, or * for everywhere." "";
    "grants.outbound_private" list grants.outbound_private "Networks that are not public and may be sent requests all the same: 10.0.0.0/8, an address, or * for all of them." "";
    "grants.outbound_ca" list grants.outbound_ca "Files with certificates (PEM) of authorities that are trusted for the guest's requests besides the public ones." "";
}

/// Finds a key by its name.
///
/// # Errors
/// When there is none; the message suggests the nearest one.
pub fn find(name: &str) -> Result<&'static Key, String> {
    if let Some(key) = KEYS.iter().find(|key| key.name == name) {
        return Ok(key);
    }
    let names = KEYS.iter().map(|key| key.name).chain(["server.host", "server.port"]).chain(entries::LISTS);
    Err(match nearest(name, names) {
        Some(known) => format!("unknown key {name:?}; did you mean {known:?}?"),
        None => format!("unknown key {name:?}; `tabi config` lists all keys"),
    })
}

/// Finds a key that may be different for each app.
///
/// # Errors
/// When there is none of that name, or it is of the whole host.
pub(crate) fn find_own(name: &str) -> Result<&'static Key, String> {
    let key = find(name)?;
    if entries::is_own(key) {
        return Ok(key);
    }
    Err(match name.split_once('.') {
        Some((table, _)) => format!("{name} is of the whole host; write it in [{table}]"),
        None => format!("{name} is of the whole host"),
    })
}

/// The name most like `name`, if it is like it at all: a suggestion that shares little with what was written is a
/// riddle and no help.
fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let (steps, known) = known.map(|known| (crate::spelling::distance(name, known), known)).min()?;
    (steps <= name.len().max(known.len()) / 3).then_some(known)
}

/// A value that is one of a few words.
trait Choice: Copy + PartialEq + 'static {
    const WORDS: &'static [(&'static str, Self)];
}

impl Choice for TrustedFields {
    const WORDS: &'static [(&'static str, Self)] = &[("x-forwarded", Self::XForwarded), ("forwarded", Self::Forwarded)];
}

impl Choice for ClientAuth {
    const WORDS: &'static [(&'static str, Self)] =
        &[("off", Self::Off), ("optional", Self::Optional), ("required", Self::Required)];
}

impl Choice for Tell {
    const WORDS: &'static [(&'static str, Self)] = &[("auto", Self::Auto), ("on", Self::On), ("off", Self::Off)];
}

fn name_of<T: Choice>(value: T) -> &'static str {
    T::WORDS.iter().find(|(_, known)| *known == value).map_or("", |(word, _)| word)
}

fn parse_choice<T: Choice>(text: &str) -> Result<T, String> {
    T::WORDS.iter().find(|(word, _)| *word == text).map(|(_, value)| *value).ok_or_else(|| {
        let words: Vec<_> = T::WORDS.iter().map(|(word, _)| *word).collect();
        format!("{text:?} is none of {}", words.join(", "))
    })
}

fn parse_count<T: TryFrom<u64>>(text: &str) -> Result<T, String> {
    let number = text.trim().parse::<u64>().ok().filter(|&number| number > 0);
    let number = number.ok_or_else(|| format!("{text:?} is no count; write a whole number above 0"))?;
    T::try_from(number).map_err(|_| too_large(text))
}

fn parse_addr(text: &str) -> Result<Option<std::net::SocketAddr>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    let fail = || format!("{text:?} is no address with a port, such as 127.0.0.1:9090 or [::1]:9090");
    text.replacen("localhost:", "127.0.0.1:", 1).parse().map(Some).map_err(|_| fail())
}

fn too_large(text: &str) -> String {
    format!("{text:?} is too large")
}

/// Reads a list: a line for each entry, as the file gives them, or commas between them.
fn parse_list(text: &str) -> Vec<String> {
    let entries: Vec<&str> = if text.contains('\n') { text.lines().collect() } else { text.split(',').collect() };
    entries.into_iter().map(str::trim).filter(|entry| !entry.is_empty()).map(str::to_owned).collect()
}

/// A TOML array of strings.
fn list(entries: &[String]) -> String {
    let entries: Vec<_> = entries.iter().map(|entry| quote(entry)).collect();
    format!("[{}]", entries.join(", "))
}

/// A TOML string.
fn quote(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

impl AccessLog {
    fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Text => "text",
            Self::Json => "json",
            Self::Combined => "combined",
        }
    }

    fn parse(text: &str) -> Result<Self, String> {
        [Self::Off, Self::Text, Self::Json, Self::Combined]
            .into_iter()
            .find(|form| form.name() == text)
            .ok_or_else(|| format!("{text:?} is none of off, text, json and combined"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_can_be_read_back() {
        let config = Config::default();
        for key in KEYS {
            let mut copy = Config::default();
            let text = (key.get)(&config);
            let bare = if text == "[]" { "" } else { text.trim_matches('"') };
            assert_eq!((key.set)(&mut copy, bare), Ok(()), "{}", key.name);
            assert_eq!((key.get)(&copy), text, "{}", key.name);
            assert!(key.doc.ends_with('.'), "{}", key.name);
        }
    }

    #[test]
    fn wrong_names_are_answered_with_the_right_one() {
        for (wrong, right) in [
            ("limits.header_byte", "limits.header_bytes"),
            ("limit.memory", "limits.memory"),
            ("server.prot", "server.port"),
            ("server.treads", "server.threads"),
        ] {
            let message = find(wrong).map(|_| ()).expect_err("unknown");
            assert!(message.contains(&format!("did you mean {right:?}")), "{message}");
        }
        let message = find("colour").map(|_| ()).expect_err("unknown");
        assert!(message.contains("tabi config"), "{message}");
    }
}
