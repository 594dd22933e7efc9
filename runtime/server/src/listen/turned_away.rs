//! What a connection is told for which there is no place.

use std::{io, time::Duration};

use axum::{http::HeaderValue, http::header, response::IntoResponse as _};
use http_body_util::BodyExt as _;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};

use super::HTTP2;
use crate::problem::Problem;

/// How long each may take: to ask, to be answered, and to read the answer.
const PATIENCE: Duration = Duration::from_secs(1);
/// The head of a request is not looked at beyond this.
const HEAD: usize = 16 << 10;
/// When to try again, in seconds.
const AGAIN: u64 = 2;

/// Hears what is wanted, and answers that it cannot be had now. How the client takes that is its own affair.
pub(super) async fn answer(mut stream: TcpStream) {
    let mut asked = Vec::new();
    drop(timeout(PATIENCE, hear(&mut stream, &mut asked)).await);
    // Without a word there is nothing to answer, and the second version of the protocol would need more of them.
    if asked.is_empty() || HTTP2.starts_with(&asked) || asked.starts_with(HTTP2) {
        return;
    }
    let answered = async {
        stream.write_all(&words(asked.starts_with(b"HEAD ")).await).await?;
        stream.shutdown().await
    };
    if let Ok(Ok(())) = timeout(PATIENCE, answered).await {
        // A connection that is closed while its client still sends is reset, and the answer is lost.
        let mut rest = [0; 4096];
        drop(timeout(PATIENCE, async { while matches!(stream.read(&mut rest).await, Ok(1..)) {} }).await);
    }
}

/// Reads the head of a request, or what comes of it.
async fn hear(stream: &mut TcpStream, asked: &mut Vec<u8>) -> io::Result<()> {
    while asked.len() < HEAD && !asked.windows(4).any(|end| end == b"\r\n\r\n") {
        if stream.read_buf(asked).await? == 0 {
            break;
        }
    }
    Ok(())
}

/// The answer as it is sent.
async fn words(head_alone: bool) -> Vec<u8> {
    let problem = Problem::unavailable("there are as many connections as the server takes; try again soon", AGAIN);
    let (mut parts, body) = problem.into_response().into_parts();
    let body = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    parts.headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    parts.headers.insert(header::CONTENT_LENGTH, HeaderValue::from(body.len()));
    let mut words = format!("HTTP/1.1 {}\r\n", parts.status).into_bytes();
    for (name, value) in &parts.headers {
        words.extend([name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat());
    }
    words.extend(b"\r\n");
    if !head_alone {
        words.extend(body);
    }
    words
}
