//! Requests of the guest itself, as the fields of the request that it serves say.

use crate::{fields, millis, trap};
use wasip3::http::client::send;
use wasip3::http::types::{ErrorCode, Method, Request, RequestOptions, Response, Scheme};
use wasip3::wit_bindgen::{StreamResult, spawn_local};
use wasip3::{wit_future, wit_stream};

/// Sends what `to`, `method`, `send`, `body`, `body-end` and `first-ms` say, and tells what came back.
pub async fn fetch(request: &Request) -> String {
    match start(request).await {
        Ok(response) => describe(response).await,
        Err(code) => format!("error {code:?}"),
    }
}

/// Sends a request to the very URL that was asked for, and returns the status of the answer.
pub async fn again(request: &Request) -> u16 {
    let (_end, trailers) = wit_future::new(|| Ok(None));
    let (out, _sent) = Request::new(fields(&[]), None, trailers, None);
    let _ = out.set_scheme(Some(&Scheme::Http));
    let _ = out.set_authority(request.get_authority().as_deref());
    let _ = out.set_path_with_query(request.get_path_with_query().as_deref());
    send(out).await.map_or(599, |response| response.get_status_code())
}

fn values(request: &Request, name: &str) -> Vec<String> {
    request.get_headers().get(name).into_iter().map(|value| String::from_utf8_lossy(&value).into_owned()).collect()
}

fn one(request: &Request, name: &str) -> Option<String> {
    values(request, name).into_iter().next()
}

async fn start(request: &Request) -> Result<Response, ErrorCode> {
    let sent = values(request, "send");
    let sent = fields(&sent.iter().filter_map(|field| field.split_once('=')).collect::<Vec<_>>());
    let to = one(request, "to").expect("where to");
    let (scheme, rest) = to.split_once("://").expect("a scheme");
    let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let scheme = if scheme == "https" { Scheme::Https } else { Scheme::Http };
    let options = RequestOptions::new();
    let first = one(request, "first-ms").and_then(|millis| millis.parse::<u64>().ok());
    options.set_first_byte_timeout(first.map(|millis| millis * 1_000_000)).expect("an option");
    let (end, trailers) = wit_future::new(|| Ok(None));
    let (writer, contents) = match one(request, "body") {
        Some(text) => {
            let (writer, contents) = wit_stream::new();
            (Some((writer, text)), Some(contents))
        }
        None => (None, None),
    };
    let (out, _sent) = Request::new(sent, contents, trailers, Some(options));
    let method = one(request, "method").map_or(Method::Get, Method::Other);
    let fits = out.set_method(&method).is_ok()
        && out.set_scheme(Some(&scheme)).is_ok()
        && out.set_authority(Some(authority)).is_ok()
        && out.set_path_with_query(Some(path)).is_ok();
    if !fits {
        return Err(ErrorCode::HttpRequestUriInvalid);
    }
    let how = one(request, "body-end");
    spawn_local(async move {
        if let Some((mut writer, text)) = writer {
            writer.write_all(text.into_bytes()).await;
            if how.as_deref() == Some("trap") {
                millis(50).await;
                trap();
            }
        }
        let outcome = if how.as_deref() == Some("drop") { Err(ErrorCode::InternalError(None)) } else { Ok(None) };
        let _ = end.write(outcome).await;
    });
    send(out).await
}

async fn describe(response: Response) -> String {
    let mut text = format!("{}\n", response.get_status_code());
    for (name, value) in response.get_headers().copy_all() {
        text.push_str(&format!("{name}: {}\n", value.escape_ascii()));
    }
    let (_done, result) = wit_future::new(|| Ok(()));
    let (mut input, trailers) = Response::consume_body(response, result);
    loop {
        let (status, bytes) = input.read(Vec::with_capacity(4096)).await;
        text.push_str(&String::from_utf8_lossy(&bytes));
        if status == StreamResult::Dropped {
            break;
        }
    }
    if let Err(code) = trailers.await {
        text.push_str(&format!(" broken {code:?}"));
    }
    text
}
