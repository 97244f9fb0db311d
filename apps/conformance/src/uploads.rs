//! Multipart forms: shown, sent back, counted while they stream.

use tabi::{BodyLimit, Fields, OrStatus, Request, Response, Result, Router, Status};

pub(crate) fn router() -> Router {
    let small = Router::new().with(BodyLimit(1024)).post("/upload/small", show);
    Router::new().post("/upload", show).post("/upload/echo", echo).post("/upload/count", count).merge(small)
}

/// What the query says, fields as text, of files what they are.
async fn show(mut req: Request) -> Result<String> {
    let mut out = crate::parameters::query(&req);
    let mut form = req.multipart()?;
    while let Some(mut field) = form.next_field().await? {
        out.push_str(field.name());
        if field.is_file() {
            let (name, kind) = (field.file_name().unwrap_or("none"), field.content_type().unwrap_or("none"));
            out.push_str(&tabi::concat([": ", name, ", ", kind, ", "]));
            out.push_str(&tabi::decimal(field.bytes(1 << 20).await?.len() as u64));
            out.push_str(" bytes\n");
        } else {
            out.push_str(&tabi::concat(["=", &field.text().await?, "\n"]));
        }
    }
    Ok(out)
}

/// The first file, as it came and with its content type.
async fn echo(mut req: Request) -> Result {
    let mut form = req.multipart()?;
    let file = form.next_file(&mut Fields::new()).await?;
    let mut file = file.or_status(Status::BAD_REQUEST, "there is no file")?;
    let kind = String::from(file.content_type().unwrap_or("application/octet-stream"));
    Ok(Response::content(&kind, file.bytes(1 << 20).await?))
}

/// However large it is: nothing of it is kept.
async fn count(mut req: Request) -> Result<String> {
    let mut form = req.multipart()?.total_limit(u64::MAX);
    let (mut files, mut bytes) = (0, 0);
    while let Some(mut field) = form.next_field().await? {
        files += 1;
        while let Some(chunk) = field.chunk().await? {
            bytes += chunk.len() as u64;
        }
    }
    Ok(tabi::concat([&tabi::decimal(files), " parts, ", &tabi::decimal(bytes), " bytes"]))
}
