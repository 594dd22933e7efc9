//! Whether a provider is there, and whether it takes the key: asked without using a model.

use std::time::Duration;

use reqwest::StatusCode;

use super::{ConnectError, address, chain, client, headers};
use crate::{Connection, Dialect, dialect::Speak};

/// What a provider says when it is asked for the list of its models.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Probed {
    /// It answers, and it takes the key if there is one.
    Answers,
    /// It answers, but it does not take the key.
    Unauthorized,
    /// It answers with something else, as servers do that keep no such list.
    Says(u16),
    /// It does not answer, and why.
    Silent(String),
}

/// Asks for the list of models, once, and looks at nothing but the status.
pub(crate) async fn probe(connection: &Connection, speak: &dyn Speak, time: Duration) -> Result<Probed, ConnectError> {
    let path = match connection.dialect {
        Dialect::Anthropic => "/v1/models",
        Dialect::Chat | Dialect::Responses => "/models",
    };
    let url = address(connection, path)?;
    let request = client(connection, &url)?.get(url).headers(headers(connection, speak)?).timeout(time);
    Ok(match request.send().await.map(|response| response.status()) {
        Ok(StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => Probed::Unauthorized,
        Ok(status) if status.is_success() => Probed::Answers,
        Ok(status) => Probed::Says(status.as_u16()),
        Err(error) if error.is_timeout() => Probed::Silent(format!("no answer in {} s", time.as_secs())),
        Err(error) => Probed::Silent(chain(&error)),
    })
}

#[cfg(test)]
mod tests {
    use secrecy::SecretString;
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpListener,
    };

    use super::*;
    use crate::{Patience, ToolMode};

    fn connection(base_url: String) -> Connection {
        Connection {
            provider: "mine".to_owned(),
            model: "m".to_owned(),
            dialect: Dialect::Anthropic,
            base_url,
            proxy: None,
            key: Some(SecretString::from("sk-secret")),
            headers: [("x-team".to_owned(), "blue".to_owned())].into(),
            tool_mode: ToolMode::Native,
            context_window: None,
            max_tokens: None,
            price: None,
            patience: Patience::default(),
        }
    }

    /// Serves one answer, and gives what was asked.
    async fn ask(answer: &'static str) -> (Probed, String) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let connection = connection(format!("http://{}", listener.local_addr().unwrap()));
        let server = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = vec![0; 4096];
            let length = stream.read(&mut request).await.unwrap();
            stream.write_all(answer.as_bytes()).await.unwrap();
            String::from_utf8(request[..length].to_vec()).unwrap()
        });
        let probed = crate::probe(&connection, Duration::from_secs(5)).await.unwrap();
        (probed, server.await.unwrap())
    }

    #[tokio::test]
    async fn a_provider_is_asked_for_its_models_with_the_key() {
        let (probed, request) = ask("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
        assert_eq!(probed, Probed::Answers);
        assert!(request.starts_with("GET /v1/models HTTP/1.1\r\n"), "{request}");
        assert!(request.contains("x-api-key: sk-secret\r\n") && request.contains("x-team: blue\r\n"), "{request}");
    }

    #[tokio::test]
    async fn every_answer_is_told_apart() {
        let answer = async |answer| ask(answer).await.0;
        assert_eq!(answer("HTTP/1.1 401 No\r\ncontent-length: 0\r\n\r\n").await, Probed::Unauthorized);
        assert_eq!(answer("HTTP/1.1 404 No\r\ncontent-length: 0\r\n\r\n").await, Probed::Says(404));
        // A redirect would take the key elsewhere.
        let elsewhere = "HTTP/1.1 302 No\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n";
        assert_eq!(answer(elsewhere).await, Probed::Says(302));
        assert!(matches!(answer("nonsense").await, Probed::Silent(_)));
    }

    #[tokio::test]
    async fn nobody_there_is_no_answer() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let late = crate::probe(&connection(url.clone()), Duration::from_millis(50)).await.unwrap();
        assert!(matches!(late, Probed::Silent(_)), "{late:?}");
        drop(listener);
        let refused = crate::probe(&connection(url), Duration::from_secs(5)).await.unwrap();
        assert!(matches!(&refused, Probed::Silent(why) if why.contains("refused")), "{refused:?}");
    }
}
