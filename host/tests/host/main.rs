//! A running host against raw bytes: what clients may send, what guests may do, and what becomes
//! of both. One program, so that the guests are built once.

mod activation;
mod admin;
mod apps;
mod attacks2;
mod certificates;
mod client;
mod clients;
mod compression;
mod docs;
mod folders;
mod frames;
mod grants;
mod guests;
mod guests3;
mod http2;
mod keyvalue;
mod lifecycle;
mod limits;
mod listen;
mod nginx;
mod observing;
mod outbound;
mod outbound_tls;
mod precompiled;
mod proxies;
mod redis;
mod restore;
mod reuse;
mod smuggling;
mod start;
mod stub;
mod support;
mod tls;
mod watched;
