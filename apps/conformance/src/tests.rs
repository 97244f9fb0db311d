//! The corpus, and what takes more than one exchange.

use super::router;
use tabi::testing::{Client, Upload};

#[test]
fn corpus() {
    tabi_corpus::native("conformance", router());
}

#[test]
fn cookies_come_back_and_go() {
    let client = Client::new(router());
    for visits in ["1", "2", "3"] {
        assert_eq!(client.get("/visits").send().text(), visits);
    }
    let other = client.fresh();
    assert_eq!(other.get("/visits").send().text(), "1");
    client.post("/cookies/remove?name=visits").send();
    assert_eq!(client.cookie("visits"), None);
    assert_eq!((client.get("/visits").send().text(), other.get("/visits").send().text()), ("1".into(), "2".into()));
}

#[test]
fn what_one_browser_sets_another_does_not_see() {
    let client = Client::new(router());
    client.post("/cookies/set?name=theme&value=dark").send();
    assert_eq!(client.cookie("theme").as_deref(), Some("dark"));
    let reply = client.fresh().get("/redirect").send();
    assert_eq!((reply.status().code(), reply.header("set-cookie")), (303, None));
}

#[test]
fn an_upload_of_the_test_client() {
    let form = Upload::new().field("title", "Caf\u{e9}").file("file", "a \"b\".txt", "text/plain", "content");
    let reply = Client::new(router()).post("/upload").multipart(&form).send();
    assert_eq!(reply.text(), "title=Caf\u{e9}\nfile: a \"b\".txt, text/plain, 7 bytes\n");
}

#[test]
fn urls_that_are_kept_lead_to_files() {
    let client = Client::new(router());
    let page = client.get("/").send().text();
    let url = page.split("stylesheet href=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("a link");
    let reply = client.get(url).send();
    assert_eq!(reply.status().code(), 200, "{url}");
    assert_eq!(reply.header("cache-control"), Some("public, max-age=31536000, immutable"));
}
