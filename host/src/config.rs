//! What the operator may choose, with its default and the reason for it.
//!
//! Every limit is on by default; `docs/limits.md` is the same table for people.

use crate::{Grants, Site};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;

/// Everything a [`Host`](crate::Host) needs to know besides the component.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where to listen. Port 0 asks the system for a free one.
    pub addr: SocketAddr,
    /// Whether to listen for http at `addr`.
    pub http: bool,
    /// A Unix socket to listen on for http.
    pub unix: Option<PathBuf>,
    /// The permissions of the Unix socket.
    pub unix_mode: u32,
    /// The port for https on the same address, when a certificate is given.
    pub tls_port: u16,
    /// Files with the certificate chains for https, in PEM form; the first is also for clients that
    /// ask for no name or another.
    pub tls_cert: Vec<String>,
    /// Files with their private keys in the same order, in PEM form.
    pub tls_key: Vec<String>,
    /// Whether to make a certificate for development, if none is given.
    pub tls_dev: bool,
    /// The certificates, in PEM form, of those who vouch for clients.
    pub tls_client_ca: Option<PathBuf>,
    /// Whether clients are asked for certificates.
    pub tls_client_auth: ClientAuth,
    /// Whether what comes without TLS is redirected to https, and never served.
    pub https_redirect: bool,
    /// Networks whose connections begin with a header of the PROXY protocol.
    pub proxy_protocol_from: Vec<String>,
    /// Networks of proxies that are believed what they forward about clients.
    pub trusted_proxies: Vec<String>,
    /// The fields in which those proxies forward it.
    pub trusted_fields: TrustedFields,
    /// Whether the component is told who its client is.
    pub forwarded: Tell,
    /// Worker threads, each with its own runtime; one per core by default.
    pub threads: usize,
    /// How instances of a component are reused.
    pub reuse: Reuse,
    /// Sizes, counts and times.
    pub limits: Limits,
    /// What the component may do besides answering.
    pub grants: Grants,
    /// What is served besides a component that the command line names.
    pub site: Site,
    /// Where compiled components are kept; `None` compiles at every start.
    pub cache_dir: Option<PathBuf>,
    /// Whether each answered request writes one line to the log.
    pub access_log: AccessLog,
    /// Whether requests and responses are dumped into the log.
    pub trace: bool,
    /// Bytes of each body in such a dump.
    pub trace_body_bytes: usize,
    /// Whether such a dump has credentials and cookies as they are.
    pub trace_secrets: bool,
    /// Whether guest and client are told the id that a request has in the log.
    pub request_id: bool,
    /// Where spans of OpenTelemetry are sent, as the URL of a collector; empty for nowhere.
    pub otel_endpoint: String,
    /// What the spans call this service.
    pub otel_service: String,
    /// Of requests that come without a trace, one in this many begins one.
    pub otel_one_in: u64,
    /// Where metrics and health are asked for; nowhere unless said.
    pub admin_addr: Option<SocketAddr>,
    /// Whether answers are compressed. Off by default: answers that hold a secret beside text of an
    /// attacker's choice give it away by their length, and a proxy in front may compress already.
    pub compression: bool,
    /// The length from which an answer is worth compressing.
    pub compression_min_bytes: u64,
}

/// Whether clients are asked for certificates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClientAuth {
    /// They are not asked.
    #[default]
    Off,
    /// They are asked, and may have none; one that they have must be good.
    Optional,
    /// Without a good one there is no connection.
    Required,
}

/// How proxies forward what they know about a client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TrustedFields {
    /// `X-Forwarded-For`, `X-Forwarded-Proto` and `X-Forwarded-Host`.
    #[default]
    XForwarded,
    /// `Forwarded`, as RFC 7239 has it.
    Forwarded,
}

/// Whether the component is told who its client is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tell {
    /// If proxies are configured, which the component could not see through by itself.
    #[default]
    Auto,
    /// Always.
    On,
    /// Never.
    Off,
}

/// The form of the access log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AccessLog {
    /// No line per request.
    #[default]
    Off,
    /// One line for people per request.
    Text,
    /// One JSON object per request.
    Json,
    /// The combined form of Apache and nginx, for tools that read it.
    Combined,
}

/// Whether the kernel tells which pages have to be cleared (Linux 6.7 and newer).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PagemapScan {
    /// Everything that may have been written is cleared.
    Off,
    /// The kernel is asked where it can tell, for components with large memories.
    #[default]
    Auto,
}

/// How many requests one instance answers before it is replaced.
#[derive(Clone, Copy, Debug)]
pub struct Reuse {
    /// For `wasi:http@0.2` components. 1 keeps requests apart from each other, which the
    /// guests of 0.2 may rely on; more is an opt-in.
    pub requests_p2: u32,
    /// Whether an instance of a 0.2 component that answers one request only is set back to its first state for the next,
    /// where that is known to be possible, instead of making another one.
    pub restore: bool,
    /// For `wasi:http@0.3` components, whose world expects reuse.
    pub requests_p3: u32,
    /// Requests that a 0.3 instance works on at the same time.
    pub concurrent_p3: u32,
    /// Bytes at the start of a memory that are cleared in place instead of given back, for 0.2.
    pub keep_resident: usize,
    /// Whether the kernel is asked which pages a guest has changed.
    pub pagemap_scan: PagemapScan,
    /// How long a reusable instance may wait for its next request.
    pub idle: Duration,
    /// How old an instance may be that takes a request.
    pub max_age: Duration,
    /// The memory that an instance may have that takes a request. Memory never shrinks, so one
    /// large request would hold it for as long as the instance lives.
    pub max_memory: usize,
}

/// The bounds that keep one client or guest from harming the others.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Bytes of a request head: request line and header fields together (431).
    pub header_bytes: usize,
    /// Header fields in a request (431).
    pub header_count: usize,
    /// Bytes of a request target (414).
    pub uri_bytes: usize,
    /// Bytes of a request body (413).
    pub body_bytes: u64,
    /// From the first byte of a request head (or the connect) to its last (connection closed).
    pub header_timeout: Duration,
    /// From the connect to the end of the TLS handshake (connection closed).
    pub tls_timeout: Duration,
    /// How long a connection may be idle between requests (connection closed).
    pub idle_timeout: Duration,
    /// How long a request body may make no progress while the guest waits for it (408).
    pub body_timeout: Duration,
    /// How long a client may take no byte of a response (connection closed).
    pub write_timeout: Duration,
    /// From request head to response head (504).
    pub request_timeout: Duration,
    /// How long a guest may leave a begun response without a byte (connection aborted).
    pub stream_idle_timeout: Duration,
    /// The longest that one response may take in all (connection aborted).
    pub stream_timeout: Duration,
    /// How long a guest may go on after its response is complete (instance dropped).
    pub post_return_timeout: Duration,
    /// The processor time that one exchange may use (504, or connection aborted).
    pub cpu_time: Duration,
    /// How long a stopping host waits for open requests (connections aborted).
    pub drain_timeout: Duration,
    /// Open connections (503 and closed).
    pub connections: usize,
    /// Open connections of one address, loopback excepted (503 and closed).
    pub connections_per_ip: usize,
    /// Requests on one connection (closed after the last answer).
    pub requests_per_connection: u64,
    /// Requests that guests work on at the same time.
    pub requests: usize,
    /// Requests that wait for a free place (503 with `Retry-After`).
    pub queue: usize,
    /// How long a request waits for a free place (503 with `Retry-After`).
    pub queue_timeout: Duration,
    /// Concurrent streams on an HTTP/2 connection (stream refused).
    pub h2_streams: u32,
    /// Bytes in flight that an HTTP/2 stream may have towards the guest.
    pub h2_stream_window: u32,
    /// Bytes in flight that an HTTP/2 connection may have.
    pub h2_connection_window: u32,
    /// Streams reset by the client that are remembered (connection closed with GOAWAY).
    pub h2_pending_resets: usize,
    /// Linear memory of an instance (allocation fails in the guest).
    pub memory: usize,
    /// Elements of the tables of an instance (growth fails in the guest).
    pub table_elements: usize,
    /// WASI resources that an instance may hold (trap).
    pub resources: usize,
    /// Bytes that one host call may carry out of the guest (trap).
    pub hostcall_bytes: usize,
    /// Bytes of one `fields` resource in memory (trap).
    pub field_bytes: usize,
    /// Random bytes that one call may ask for (trap).
    pub random_bytes: u64,
    /// Requests of the guests' own at the same time (`connection-limit-reached`).
    pub outbound_requests: usize,
    /// Requests that one instance has under way at the same time (`connection-limit-reached`).
    pub outbound_requests_per_instance: usize,
    /// To look up, to connect and to agree on TLS (`connection-timeout`).
    pub outbound_connect_timeout: Duration,
    /// Until the head of an answer is there (`connection-read-timeout`).
    pub outbound_first_byte_timeout: Duration,
    /// Silence in the body of an answer, or no progress of that of a request (`connection-read-timeout`).
    pub outbound_between_bytes_timeout: Duration,
    /// Bytes of the head of an answer (`HTTP-response-header-section-size`).
    pub outbound_header_bytes: usize,
    /// How often a request may come back to the component by its own requests (508).
    pub outbound_hops: u32,
    /// Connections that a thread keeps for later requests (the oldest closed).
    pub outbound_idle: usize,
    /// How long a connection is kept without a request (closed).
    pub outbound_idle_timeout: Duration,
    /// Bytes of one log line of a guest (cut).
    pub log_line: usize,
    /// Bytes that one instance may log (the rest is dropped and counted).
    pub log_bytes: usize,
    /// Bytes of a key of `wasi:keyvalue` (error in the guest).
    pub keyvalue_key_bytes: usize,
    /// Bytes of a value of `wasi:keyvalue` (error in the guest).
    pub keyvalue_value_bytes: usize,
    /// Keys of one call to `wasi:keyvalue`, and of one page of a listing (error in the guest).
    pub keyvalue_keys: usize,
    /// Calls to `wasi:keyvalue` of one request (error in the guest).
    pub keyvalue_operations: u64,
    /// How long one call to `wasi:keyvalue` may take (error in the guest).
    pub keyvalue_timeout: Duration,
    /// Bytes that the storage `memory:` holds (error in the guest).
    pub keyvalue_memory: usize,
}

impl Config {
    /// Whether anybody wants to know how long requests take.
    pub(crate) fn is_observed(&self) -> bool {
        self.admin_addr.is_some() || !self.otel_endpoint.is_empty() || self.access_log != AccessLog::Off
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            addr: SocketAddr::from(([127, 0, 0, 1], 8080)),
            http: true,
            unix: None,
            unix_mode: 0o660,
            tls_port: 8443,
            tls_cert: Vec::new(),
            tls_key: Vec::new(),
            tls_dev: false,
            tls_client_ca: None,
            tls_client_auth: ClientAuth::Off,
            https_redirect: false,
            proxy_protocol_from: Vec::new(),
            trusted_proxies: Vec::new(),
            trusted_fields: TrustedFields::XForwarded,
            forwarded: Tell::Auto,
            threads: std::thread::available_parallelism().map_or(1, |n| n.get()),
            reuse: Reuse::default(),
            limits: Limits::default(),
            grants: Grants::default(),
            site: Site::default(),
            cache_dir: default_cache_dir(),
            access_log: AccessLog::Off,
            trace: false,
            trace_body_bytes: KIB,
            trace_secrets: false,
            request_id: false,
            otel_endpoint: String::new(),
            otel_service: "tabi".to_owned(),
            otel_one_in: 1,
            admin_addr: None,
            compression: false,
            compression_min_bytes: KIB as u64,
        }
    }
}

impl Default for Reuse {
    fn default() -> Self {
        Self {
            requests_p2: 1,
            restore: true,
            requests_p3: 4096,
            concurrent_p3: 64,
            keep_resident: 2 * MIB,
            pagemap_scan: PagemapScan::Auto,
            idle: Duration::from_secs(10),
            max_age: Duration::from_secs(3600),
            max_memory: 64 * MIB,
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        let secs = Duration::from_secs;
        Self {
            header_bytes: 64 * KIB,
            header_count: 100,
            uri_bytes: 8 * KIB,
            body_bytes: 64 * MIB as u64,
            header_timeout: secs(10),
            tls_timeout: secs(10),
            idle_timeout: secs(75),
            body_timeout: secs(30),
            write_timeout: secs(30),
            request_timeout: secs(30),
            stream_idle_timeout: secs(60),
            stream_timeout: secs(3600),
            post_return_timeout: secs(10),
            cpu_time: secs(10),
            drain_timeout: secs(30),
            connections: 10_000,
            connections_per_ip: 1_000,
            requests_per_connection: 1_000_000,
            requests: 1_000,
            // As many as connections: with less, a crowd that could be served within a second is turned away.
            queue: 10_000,
            queue_timeout: secs(5),
            h2_streams: 128,
            h2_stream_window: 256 * KIB as u32,
            h2_connection_window: MIB as u32,
            h2_pending_resets: 20,
            memory: 128 * MIB,
            table_elements: 20_000,
            resources: 10_000,
            hostcall_bytes: 16 * MIB,
            field_bytes: 128 * KIB,
            random_bytes: MIB as u64,
            outbound_requests: 1_000,
            outbound_requests_per_instance: 128,
            outbound_connect_timeout: secs(10),
            outbound_first_byte_timeout: secs(30),
            outbound_between_bytes_timeout: secs(30),
            outbound_header_bytes: 64 * KIB,
            outbound_hops: 8,
            outbound_idle: 64,
            outbound_idle_timeout: secs(30),
            log_line: 8 * KIB,
            log_bytes: 256 * KIB,
            keyvalue_key_bytes: KIB,
            keyvalue_value_bytes: MIB,
            keyvalue_keys: 1_000,
            keyvalue_operations: 10_000,
            keyvalue_timeout: secs(5),
            keyvalue_memory: 64 * MIB,
        }
    }
}

/// The user's cache folder for this program, if the environment names one.
fn default_cache_dir() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")))?;
    base.is_absolute().then(|| base.join("tabi").join("compiled"))
}
