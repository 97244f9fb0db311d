//! Every default limit, with its reason. Each can be raised where the table of the crate says so.

/// How many bytes of a request's body are read into memory at most: 2 MiB, as axum and most others have it.
/// More is 413. [`BodyLimit`](crate::BodyLimit) changes it for a route or a router.
pub const BODY: usize = 2 * 1024 * 1024;

/// How many pairs a query string or a form may have: 1,000, as PHP's and Python's parsers have it; more is 400.
pub const PAIRS: usize = 1000;

/// How many bytes are asked of the runtime at a time when a body is read: enough to make the call cheap, little
/// enough to keep many requests in memory.
pub const CHUNK: usize = 64 * 1024;

/// How many ranges a request may ask for; the field is ignored where there are more. Viewers of documents ask for a
/// dozen, attackers for thousands.
pub const RANGES: usize = 32;
