//! A connection to Postgres that breaks while a transaction is committed.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use palisade_agent::{Listing, Store};
use palisade_store::Postgres;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream, UnixStream},
};

use crate::{
    cluster,
    said::{LASTS, answered, batch, begun, key, message, numbers, run, session, user},
};

/// When the next commit is cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cut {
    /// The server never hears of it.
    Before,
    /// The server hears of it, and nobody hears the server.
    After,
}

const NEVER: usize = 0;

/// Stands between a client and the server, and cuts commits off.
#[derive(Clone)]
struct Between {
    armed: Arc<AtomicUsize>,
    cuts: Arc<AtomicUsize>,
}

impl Between {
    async fn listen(socket: PathBuf) -> (Self, u16) {
        let between = Self { armed: Arc::default(), cuts: Arc::default() };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = between.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = UnixStream::connect(&socket).await.unwrap();
                tokio::spawn(shared.clone().carry(client, server));
            }
        });
        (between, port)
    }

    fn arm(&self, cut: Cut) {
        self.armed.store(if cut == Cut::Before { 1 } else { 2 }, Ordering::SeqCst);
    }

    async fn carry(self, mut client: TcpStream, mut server: UnixStream) {
        let (mut said, mut answered) = (vec![0; 65536], vec![0; 65536]);
        loop {
            tokio::select! {
                read = client.read(&mut said) => {
                    let Ok(length @ 1..) = read else { return };
                    let is_commit = said[..length].windows(7).any(|words| words == b"COMMIT\0");
                    let cut = if is_commit { self.armed.swap(NEVER, Ordering::SeqCst) } else { NEVER };
                    if cut != 1 && server.write_all(&said[..length]).await.is_err() {
                        return;
                    }
                    if cut == 2 {
                        // The server has committed when it answers.
                        assert!(server.read(&mut answered).await.unwrap() > 0);
                    }
                    if cut != NEVER {
                        self.cuts.fetch_add(1, Ordering::SeqCst);
                        return;
                    }
                }
                read = server.read(&mut answered) => {
                    let Ok(length @ 1..) = read else { return };
                    if client.write_all(&answered[..length]).await.is_err() {
                        return;
                    }
                }
            }
        }
    }
}

/// STO-10
#[tokio::test]
async fn a_commit_that_was_cut_off_ends_as_exactly_one_row() {
    let (Some(address), Some(socket)) = (cluster::database().await, cluster::socket()) else { return };
    let (between, port) = Between::listen(socket).await;
    let name = address.split('?').next().unwrap().rsplit('/').next().unwrap().to_owned();
    let store = Postgres::connect(&format!("postgres://palisade@127.0.0.1:{port}/{name}")).await.unwrap();
    for (round, cut) in [Cut::Before, Cut::After].into_iter().enumerate() {
        let id = format!("s{round}");
        let key = key("a", &id);
        between.arm(cut);
        store.create(session("a", &id)).await.unwrap();
        between.arm(cut);
        store.enqueue(&message(&key, &format!("m{round}"))).await.unwrap();
        between.arm(cut);
        let lease = store.begin(run(&key, "x", vec![user("hello")])).await.unwrap();
        assert_eq!(lease.token, 1, "{cut:?}: begun once");
        between.arm(cut);
        store.record(&lease, &batch(vec![user("more"), user("and more")])).await.unwrap();
        assert_eq!(numbers(&store, &key).await, [1, 2, 3], "{cut:?}");
        between.arm(cut);
        store.end(&lease, &answered(1)).await.unwrap();
        assert_eq!(store.last_run(&key).await.unwrap().unwrap().id, lease.run);
        assert_eq!(between.cuts.load(Ordering::SeqCst), 5 * (round + 1), "{cut:?}");
    }
    let listing = Listing { tenant: "a".into(), ..Listing::default() };
    assert_eq!(store.sessions(&listing).await.unwrap().len(), 2);
}

#[tokio::test]
async fn connections_that_the_server_ends_are_made_again() {
    use sqlx::{Connection, Executor, PgConnection};
    let Some(address) = cluster::database().await else { return };
    let store = Postgres::connect(&address).await.unwrap();
    let lease = begun(&store, "a", "s").await;
    let mut administrator = PgConnection::connect(&cluster::for_administrator(&address)).await.unwrap();
    for _ in 0..3 {
        administrator
            .execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()")
            .await
            .unwrap();
        store.record(&lease, &batch(vec![user("more")])).await.unwrap();
    }
    assert_eq!(numbers(&store, &key("a", "s")).await, [1, 2, 3, 4]);
    store.renew(&lease).await.unwrap();
    assert!(store.claim("a", &lease.run, "me", LASTS).await.is_err());
}

/// STO-05
#[tokio::test]
async fn a_server_on_which_nothing_lasts_is_refused() {
    use sqlx::{Connection, Executor, PgConnection};
    let Some(address) = cluster::database().await else { return };
    let wrong = palisade_store::Postgres::connect("postgres://nobody:hunter2@127.0.0.1:1/none").await;
    let error = wrong.map(drop).unwrap_err().to_string();
    assert!(!error.contains("hunter2"), "{error}");
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = silent.local_addr().unwrap().port();
    let unanswered = Postgres::connect(&format!("postgres://nobody@127.0.0.1:{port}/none")).await.map(drop);
    assert!(matches!(unanswered, Err(palisade_agent::StoreError::Unavailable(_))), "{unanswered:?}");
    let mut administrator = PgConnection::connect(&address).await.unwrap();
    Postgres::connect(&address).await.unwrap().close().await;
    administrator.execute("UPDATE palisade.palisade_version SET version = 99").await.unwrap();
    let newer = Postgres::connect(&address).await.map(drop);
    assert!(matches!(newer, Err(palisade_agent::StoreError::Newer { found: 99, .. })), "{newer:?}");
}
