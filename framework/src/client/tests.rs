//! Requests to stubs.

use super::*;
use crate::testing::{block_on, upstream};
use crate::time::{Instant, now, sleep};
use crate::{Body, Request, Response, Router, join};
use std::string::String;
use std::vec::Vec;

fn far() -> Router {
    Router::new()
        .any("/echo", async |mut req: Request| {
            let seen =
                concat([req.method().as_str(), " ", req.target(), " ", req.header("x-test").unwrap_or("-"), " "]);
            let length = concat([req.header("content-length").unwrap_or("-"), " "]);
            Ok::<_, Error>(concat([&seen, &length, &req.text().await?]))
        })
        .get("/slow/{millis}", async |req: Request| {
            let millis = req.param("millis")?;
            sleep(Duration::from_millis(millis)).await;
            Ok::<_, Error>("late")
        })
        .get("/drip", async |_| {
            Response::new(Body::stream(async |mut out| {
                out.send("one,").await;
                sleep(Duration::from_millis(40)).await;
                out.send("two").await;
                Ok(())
            }))
        })
        .get("/cut", async |_| {
            Response::new(Body::stream(async |mut out| {
                out.send("begun").await;
                Err(Error::new(Status::BAD_GATEWAY, "cut"))
            }))
        })
        .get("/large", async |_| std::vec![b'x'; crate::limits::BODY + 1])
        .get("/latin", async |_| b"\xe9".as_slice())
        .get("/json", async |_| Response::content("application/json", r#"{"a":1}"#))
        .get("/locked", async |_| Response::text("locked").with_status(Status::CONFLICT))
}

#[track_caller]
fn check(call: Call, expected: (u16, &str)) {
    upstream("http://far.example:81", far());
    let found = block_on(async {
        let mut reply = call.send().await?;
        let text = reply.text().await?;
        Ok::<_, Error>((reply.status().code(), text))
    });
    let found = found.unwrap_or_else(|error| (error.status().code(), error.message().into()));
    assert_eq!((found.0, found.1.as_str()), expected);
}

const FAR: &str = "http://far.example:81";

fn to(path: &str) -> String {
    concat([FAR, path])
}

#[test]
fn requests_arrive_as_they_were_put_together() {
    check(get(&to("/echo?a=%20b#part")), (200, "GET /echo?a=%20b - - "));
    check(get(&to("/echo")).header("x-test", "1"), (200, "GET /echo 1 - "));
    check(post(&to("/echo")).body("text"), (200, "POST /echo - 4 text"));
    check(put(&to("/echo")).body(std::vec![b'x'; 3]), (200, "PUT /echo - 3 xxx"));
    check(delete(&to("/echo")), (200, "DELETE /echo - 0 "));
    let stream = Body::stream(async |mut out| {
        out.send("in ").await;
        sleep(Duration::from_millis(5)).await;
        out.send("parts").await;
        Ok(())
    });
    check(patch(&to("/echo")).body(stream), (200, "PATCH /echo - - in parts"));
    check(get(&to("/locked")), (409, "locked"));
    check(head(&to("/locked")), (409, ""));
}

#[test]
fn what_goes_wrong_has_a_status() {
    const INTERNAL: (u16, &str) = (500, "internal error");
    check(get("far.example/"), INTERNAL);
    check(get("http://user:secret@far.example/"), INTERNAL);
    check(get(&to("/echo")).header("x test", "1"), INTERNAL);
    check(get(&to("/echo")).header("x-test", "a\r\nb: c"), INTERNAL);
    check(get("http://nobody.example/"), (502, "upstream is out of reach"));
    check(get("https://far.example:81/echo"), (502, "upstream is out of reach"));
    check(get(&to("/cut")), (502, "cut"));
    check(get(&to("/large")), (502, "the answer from upstream is too large"));
    check(get(&to("/latin")), (502, "the answer from upstream is not UTF-8"));
}

#[test]
fn nobody_waits_longer_than_asked() {
    const LATE: (u16, &str) = (504, "no answer from upstream in time");
    let patient = |path: &str, millis| get(&to(path)).timeout(Duration::from_millis(millis));
    check(patient("/slow/30", 31), (200, "late"));
    check(patient("/slow/30", 29), LATE);
    check(patient("/drip", 41), (200, "one,two"));
    check(patient("/drip", 39), LATE);
}

#[test]
fn several_at_once_take_as_long_as_the_longest() {
    upstream(FAR, far());
    let start: Instant = now();
    let fetch = async |path: &str| get(&to(path)).send().await?.text().await;
    let (one, two) = block_on(join(fetch("/slow/30"), fetch("/slow/40")));
    assert_eq!((one.ok().as_deref(), two.ok().as_deref()), (Some("late"), Some("late")));
    assert_eq!(start.elapsed(), Duration::from_millis(40));
}

#[test]
fn a_fault_is_for_the_log_alone() {
    let error = block_on(get("http://nobody.example/secret").send()).err().unwrap();
    let reason = error.source().map(std::string::ToString::to_string);
    assert_eq!(reason.as_deref(), Some("no `testing::upstream` stands for http://nobody.example"));
}

#[cfg(feature = "json")]
#[test]
fn json_both_ways() {
    use std::collections::BTreeMap;
    upstream(FAR, far());
    check(post(&to("/echo")).json(&[1, 2]), (200, "POST /echo - 5 [1,2]"));
    let read = async |path: &str| get(&to(path)).send().await?.json::<BTreeMap<String, u8>>().await;
    assert_eq!(block_on(read("/json")).ok(), Some(BTreeMap::from([("a".into(), 1)])));
    let error = block_on(read("/locked")).err().unwrap();
    assert_eq!((error.status(), error.message()), (Status::BAD_GATEWAY, "the answer from upstream is not as expected"));
}

#[test]
fn answers_go_on_without_the_fields_of_the_connection() {
    let inner = Router::new().get("/", async |_| Response::text("x").with_header("x-kept", "1"));
    upstream("http://inner.example", inner);
    let outer = Router::new().get("/", async |_| get("http://inner.example").send().await);
    let page = crate::testing::Client::new(outer).get("/").send();
    let kept: Vec<_> = ["x-kept", "content-type", "connection"].iter().map(|name| page.header(name)).collect();
    assert_eq!(kept, [Some("1"), Some("text/plain; charset=utf-8"), None]);
}

/// The numbers are those of `error-code` in `wasi:http/types`, the same in both versions.
#[test]
fn faults_of_runtimes() {
    #[track_caller]
    fn check(codes: &[u32], status: u16, reason: &str) {
        for code in codes {
            let error = failed(Fault::of(*code), "http://a.example");
            let found = error.source().map(std::string::ToString::to_string).unwrap_or_default();
            assert_eq!(
                (error.status().code(), found.as_str()),
                (status, &*concat([reason, " http://a.example"])),
                "{code}"
            );
        }
    }
    check(&[0, 8, 9, 10, 33], 504, "no answer in time from");
    check(&[4, 15], 502, "the runtime allows no request to");
    check(&[1, 2], 502, "there is no host of the name in");
    check(&[3, 5, 6, 7, 11], 502, "no connection to");
    check(&[12, 13, 14], 502, "no secure connection to");
    check(&[16, 17, 20, 24], 500, "the runtime refuses the request to");
    check(&[25, 31, 35, 36, 38, 99], 502, "no proper answer from");
}
