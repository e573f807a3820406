//! Requests to a daemon: by its own socket, which no load on its listener can block, or by the
//! listener where it has none. Each has a connection of its own, since one that idles at a
//! prompt would be closed by the time it is needed.

use axum::body::Bytes;
use axum::http::{HeaderMap, Method, Request, StatusCode, header};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use insula_world::{LocalPath, Network};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio_util::task::AbortOnDropHandle;

/// A way to a daemon.
#[derive(Clone)]
pub struct DaemonEndpoint {
    /// The socket, where there is one.
    pub local: Option<Arc<LocalPath>>,
    pub listen: SocketAddr,
    pub network: Arc<dyn Network>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum Broken {
    /// nobody takes the connection
    #[error("{0}")]
    Connect(#[from] io::Error),
    /// it broke
    #[error("{0}")]
    Exchange(#[from] hyper::Error),
    /// what was asked for can't be written down
    #[error("{0}")]
    Request(#[from] axum::http::Error),
}

/// An answer whose body is still coming. Its connection ends with it.
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    body: Incoming,
    _connection: AbortOnDropHandle<()>,
}

impl DaemonEndpoint {
    /// Sends one request and waits for the head of its answer.
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        token: &str,
        headers: &[(&str, &str)],
        body: String,
    ) -> Result<Answer, Broken> {
        let (host, stream) = match &self.local {
            Some(local) => ("localhost".to_owned(), local.connect().await?),
            None => (self.listen.to_string(), self.network.connect(self.listen).await?),
        };
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, host)
            .header(header::AUTHORIZATION, format!("Bearer {token}"))
            .header(header::CONTENT_TYPE, "application/json");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(Bytes::from(body)))?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        let connection = tokio::spawn(async move {
            // Whoever waits for the answer hears of it.
            let _ = connection.await;
        });
        let connection = AbortOnDropHandle::new(connection);
        let (head, body) = sender.send_request(request).await?.into_parts();
        let (status, headers) = (head.status, head.headers);
        Ok(Answer { status, headers, body, _connection: connection })
    }
}

impl Answer {
    /// The next piece; `None` at the end.
    pub async fn piece(&mut self) -> Result<Option<Bytes>, Broken> {
        while let Some(frame) = self.body.frame().await {
            if let Ok(data) = frame?.into_data() {
                return Ok(Some(data));
            }
        }
        Ok(None)
    }

    /// All that comes. It is our own daemon that says it.
    pub async fn whole(self) -> Result<Bytes, Broken> {
        Ok(self.body.collect().await?.to_bytes())
    }
}
