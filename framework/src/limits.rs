//! Every default limit, with its reason. Each can be raised where the table of the crate says so.

/// How many bytes of a request's body are read into memory at most: 2 MiB, as axum and most others have it.
/// More is 413. [`BodyLimit`](crate::BodyLimit) changes it for a route or a router.
pub const BODY: usize = 2 * 1024 * 1024;

/// How many pairs a query string or a form may have: 1,000, as PHP's and Python's parsers have it; more is 400.
pub const PAIRS: usize = 1000;

/// How deep lists and objects of JSON may stand in each other: 128, as most parsers have it, and little enough for a
/// stack of 64 KiB; more is 400.
pub const JSON_DEPTH: usize = 128;

/// How many bytes are asked of the runtime at a time when a body is read: enough to make the call cheap, little
/// enough to keep many requests in memory.
pub const CHUNK: usize = 64 * 1024;

/// How many ranges a request may ask for; the field is ignored where there are more. Viewers of documents ask for a
/// dozen, attackers for thousands.
pub const RANGES: usize = 32;

/// How many parts a multipart form may have: 1,000, as PHP's and Python's parsers have it; more is 413.
/// [`Multipart::part_limit`](crate::Multipart::part_limit) changes it.
pub const PARTS: usize = 1000;

/// How many bytes the header fields of one part may have: 16 KiB, as whole requests have with most servers; more is
/// 413. [`Multipart::head_limit`](crate::Multipart::head_limit) changes it.
pub const PART_HEAD: usize = 16 * 1024;

/// How many bytes of one field are read into memory as text: 1 MiB, a long article; more is 413.
/// [`Multipart::field_limit`](crate::Multipart::field_limit) changes it. Files are streams and not counted here.
pub const FIELD: usize = 1024 * 1024;

/// How many bytes of all fields together [`Multipart::next_file`](crate::Multipart::next_file) keeps in memory, with
/// their names: as much as of any body; more is 413.
pub const FIELDS: usize = BODY;

/// How many bytes a multipart form may have, files and all: 32 MiB, some photos of a telephone; more is 413. They
/// stream, so that this protects whatever the app does with them rather than its memory.
/// [`Multipart::total_limit`](crate::Multipart::total_limit) and [`BodyLimit`](crate::BodyLimit) change it.
pub const MULTIPART: u64 = 32 * 1024 * 1024;
