//! Connections: how many, how slow their requests may be, and how they end.

mod turned_away;

use std::{convert::Infallible, io, net::SocketAddr, pin::pin, sync::Arc, time::Duration};

use axum::{Router, body::Body, http::Request};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::{conn::auto, graceful::GracefulShutdown},
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpSocket, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
};
use tower::ServiceExt as _;

/// What clients may use up before they have said what they want.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Connections at the same time. Some more are answered that there is no place.
    pub connections: usize,
    /// How long the head of a request may take.
    pub head: Duration,
    /// How many requests one connection has under way at the same time.
    pub streams: u32,
    /// How long connections are waited for that are still in use when the server stops.
    pub patience: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { connections: 1024, head: Duration::from_secs(10), streams: 100, patience: Duration::from_secs(10) }
    }
}

impl Bounds {
    /// Connections at the same time that are told that there is no place. Whoever comes when there are more waits.
    fn turned_away(&self) -> usize {
        (self.connections / 8).clamp(1, 128)
    }
}

/// Connections that the system keeps until they are taken; it may keep fewer. Many may come in one moment.
const BACKLOG: u32 = 4096;

/// Listens at an address.
pub fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // A server that is started again takes the address of the one before it.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// The right to have a connection.
enum Place {
    Served(OwnedSemaphorePermit),
    TurnedAway(OwnedSemaphorePermit),
}

/// Serves connections until it is told to stop; then takes no more, and waits for those there are.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    bounds: Bounds,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(bounds.head).keep_alive(true).max_buf_size(64 << 10);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(bounds.streams)
        .max_header_list_size(32 << 10)
        .max_pending_accept_reset_streams(32)
        .keep_alive_interval(Some(Duration::from_secs(30)))
        .keep_alive_timeout(Duration::from_secs(20));
    let (places, graceful) = (Arc::new(Semaphore::new(bounds.connections)), GracefulShutdown::new());
    let others = Arc::new(Semaphore::new(bounds.turned_away()));
    let mut stop = pin!(stop);
    loop {
        // Whoever comes when there is not even a place to be turned away waits in the queue of the system.
        let place = tokio::select! {
            biased;
            () = &mut stop => break,
            place = Arc::clone(&places).acquire_owned() => Place::Served(place.map_err(io::Error::other)?),
            place = Arc::clone(&others).acquire_owned() => Place::TurnedAway(place.map_err(io::Error::other)?),
        };
        let (stream, from): (TcpStream, SocketAddr) = tokio::select! {
            () = &mut stop => break,
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                // Too many open files and the like pass.
                Err(_) => {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            },
        };
        drop(stream.set_nodelay(true));
        let place = match place {
            Place::Served(place) => place,
            // There may be one by now.
            Place::TurnedAway(other) => match Arc::clone(&places).try_acquire_owned() {
                Ok(place) => place,
                Err(_) => {
                    tokio::spawn(async move {
                        turned_away::answer(stream).await;
                        drop(other);
                    });
                    continue;
                }
            },
        };
        let router = router.clone();
        let service = TowerToHyperService::new(tower::service_fn(move |request: Request<hyper::body::Incoming>| {
            let (router, mut request) = (router.clone(), request.map(Body::new));
            request.extensions_mut().insert(axum::extract::ConnectInfo(from));
            async move { Ok::<_, Infallible>(router.oneshot(request).await.unwrap_or_else(|never| match never {})) }
        }));
        let (builder, watcher) = (builder.clone(), graceful.watcher());
        tokio::spawn(async move {
            if has_begun(&stream, bounds.head).await {
                let connection = builder.serve_connection_with_upgrades(TokioIo::new(stream), service).into_owned();
                // How a client ends a connection is its own affair.
                drop(watcher.watch(connection).await);
            }
            drop(place);
        });
    }
    drop(listener);
    drop(tokio::time::timeout(bounds.patience, graceful.shutdown()).await);
    Ok(())
}

/// What a client says first that speaks the second version of the protocol.
const HTTP2: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Whether a client has said in time which version of the protocol it speaks; until then nothing else looks at a clock.
async fn has_begun(stream: &TcpStream, patience: Duration) -> bool {
    let begun = async {
        let mut first = [0; HTTP2.len()];
        loop {
            match stream.peek(&mut first).await {
                Ok(0) | Err(_) => return false,
                Ok(length) if length == HTTP2.len() || !HTTP2.starts_with(&first[..length]) => return true,
                // More of it comes, or not.
                Ok(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        }
    };
    tokio::time::timeout(patience, begun).await.unwrap_or(false)
}

#[cfg(test)]
mod tests;
