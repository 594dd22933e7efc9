//! What comes back, and how much of it: sizes, waits, and a call that ends while a request goes on.

use std::{
    io::Write as _,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use flate2::{Compression, write::GzEncoder};
use palisade_sandbox::{Call, Failure};
use palisade_tests::web::{Certificate, Web, plain};
use serde_json::json;

use crate::net::{AT, HOST, fetch, get, granted, refused};

const URL: &str = "https://api.example.test/";

/// NET-15
#[test]
fn an_answer_without_an_end_is_cut() {
    let web = Web::new();
    web.serve(AT, Certificate::Right, |asked, out| {
        let piece = [b'x'; 16 << 10];
        match asked.path() {
            "/chunked" => {
                write!(out, "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")?;
                loop {
                    write!(out, "{:x}\r\n", piece.len())?;
                    out.write_all(&piece)?;
                    write!(out, "\r\n")?;
                }
            }
            "/until-close" => {
                write!(out, "HTTP/1.1 200 OK\r\n\r\n")?;
                loop {
                    out.write_all(&piece)?;
                }
            }
            _ => {
                write!(out, "HTTP/1.1 200 OK\r\n")?;
                for header in 0..100_000 {
                    write!(out, "x-{header}: y\r\n")?;
                }
                write!(out, "\r\n")
            }
        }
    });
    let world = granted(&web, &[HOST]).limits(|limits| limits.received = 1 << 20);
    for path in ["chunked", "until-close"] {
        let came = fetch(&world, &[get(&format!("{URL}{path}"))]);
        assert_eq!(came.each[0]["error"], "broken", "{path}");
        assert!(came.each[0]["bytes"].as_u64().unwrap() <= 1 << 20, "{path}");
    }
    let (error, _) = refused(&world, get(&format!("{URL}headers")));
    assert!(["HttpResponseHeaderSectionSize", "HttpProtocolError"].contains(&error.as_str()), "{error}");
    // What one request has used up is not there for the next.
    let came = fetch(&world, &[get(&format!("{URL}chunked")), get(&format!("{URL}chunked"))]);
    assert_eq!(came.each[1]["bytes"], 0);
}

/// A quarter of a gigabyte of zeros, packed.
fn bomb() -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    let zeros = vec![0; 1 << 20];
    for _ in 0..256 {
        encoder.write_all(&zeros).unwrap();
    }
    encoder.finish().unwrap()
}

/// NET-15: nothing is unpacked on the way. A guest gets the bytes that came, counted as they came, and `web_fetch`, which
/// asked for nothing packed, does not take it.
#[test]
fn what_is_packed_is_not_unpacked_by_the_host() {
    let (web, bomb) = (Web::new(), Arc::new(bomb()));
    let sent = Arc::clone(&bomb);
    let heads = Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = Arc::clone(&heads);
    web.serve(AT, Certificate::Right, move |asked, out| {
        seen.lock().unwrap().push(asked.head.to_lowercase());
        let coding = match asked.path() {
            "/plain" => return plain(out, "hello"),
            "/twice" => "gzip, gzip",
            _ => "gzip",
        };
        let length = sent.len();
        write!(out, "HTTP/1.1 200 OK\r\ncontent-encoding: {coding}\r\ncontent-type: text/html\r\n")?;
        write!(out, "content-length: {length}\r\n\r\n")?;
        out.write_all(&sent)
    });
    let world = granted(&web, &[HOST]).limits(|limits| limits.received = 64 << 20);
    for path in ["bomb", "twice"] {
        let came = fetch(&world, &[get(&format!("{URL}{path}"))]);
        assert_eq!((&came.each[0]["bytes"], &came.each[0]["error"]), (&json!(bomb.len()), &json!(null)), "{path}");
    }
    let scope = world.scope(&["web_fetch"]);
    let ask = |path: &str| {
        let input = json!({ "url": format!("{URL}{path}") }).to_string();
        scope.call_here("web_fetch", &input, &Call::new())
    };
    for path in ["bomb", "twice"] {
        let report = ask(path);
        let failure = report.outcome.unwrap_err().to_string();
        assert!(failure.contains("packed as gzip"), "{path}: {failure}");
    }
    assert!(ask("plain").outcome.unwrap().contains("hello"), "the control");
    assert!(!heads.lock().unwrap().iter().any(|head| head.contains("accept-encoding: gzip")), "nobody asked for it");
    // What came packed counts like everything else.
    drop(scope);
    let small = world.limits(|limits| limits.received = 100_000);
    let came = fetch(&small, &[get(&format!("{URL}bomb"))]);
    assert_eq!(came.each[0]["error"], "broken");
    assert!(came.each[0]["bytes"].as_u64().unwrap() <= 100_000);
}

/// A server may have heard enough, and say so: what it said is what came of it, whatever was still to be sent.
#[test]
fn an_answer_before_all_was_sent_is_heard() {
    let web = Web::new();
    web.serve_early(AT, Certificate::Right, |_, out| {
        write!(out, "HTTP/1.1 413 Too Much\r\ncontent-length: 8\r\nconnection: close\r\n\r\ntoo much")
    });
    let world = granted(&web, &["* api.example.test"]);
    for _ in 0..5 {
        let came = fetch(&world, &[json!({ "method": "POST", "url": URL, "send": 1_000_000 })]);
        let each = &came.each[0];
        assert_eq!((&each["status"], &each["body"], &each["error"]), (&json!(413), &json!("too much"), &json!(null)));
    }
    // One that closes without a word has not answered.
    web.serve_early(AT, Certificate::Right, |_, _| Ok(()));
    let came = fetch(&world, &[json!({ "method": "POST", "url": URL, "send": 1_000_000 })]);
    assert!(came.each[0]["error"].is_string(), "{}", came.each[0]);
}

/// NET-15
#[test]
fn an_answer_that_drips_ends_with_the_call() {
    let web = Web::new();
    web.serve(AT, Certificate::Right, |_, out| {
        write!(out, "HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n")?;
        loop {
            out.write_all(b"x")?;
            out.flush()?;
            thread::sleep(Duration::from_millis(50));
        }
    });
    let world = granted(&web, &[HOST]).limits(|limits| limits.call_time = Duration::from_millis(800));
    let scope = world.scope(&["fetch"]);
    let started = Instant::now();
    let report = scope.call_here("fetch", &json!({ "requests": [get(URL)] }).to_string(), &Call::new());
    assert!(matches!(report.outcome, Err(Failure::OutOfTime { .. })), "{:?}", report.outcome);
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    world.works_afterwards();
}

/// NET-15
#[test]
fn a_server_that_says_nothing_is_not_waited_for_for_ever() {
    let web = Web::new();
    web.serve(AT, Certificate::Right, |asked, out| {
        if asked.path() == "/body" {
            write!(out, "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nx")?;
            out.flush()?;
        }
        thread::sleep(Duration::from_secs(10));
        plain(out, "late")
    });
    let world = granted(&web, &[HOST]).limits(|limits| limits.request_time = Duration::from_millis(1500));
    let started = Instant::now();
    let came = fetch(&world, &[get(URL), get(&format!("{URL}body"))]);
    assert!(came.each[0]["error"].as_str().unwrap().ends_with("Timeout"), "{}", came.each[0]);
    assert_eq!(came.each[1]["error"], "broken");
    assert!(started.elapsed() < Duration::from_secs(8), "{:?}", started.elapsed());
}

/// NET-16
#[test]
fn waits_that_a_guest_asks_for_are_bounded() {
    let web = Web::new();
    web.serve(AT, Certificate::Right, |asked, out| {
        if asked.path() == "/slow" {
            thread::sleep(Duration::from_secs(10));
        }
        plain(out, "hello")
    });
    let world = granted(&web, &[HOST]).limits(|limits| limits.request_time = Duration::from_secs(3));
    let started = Instant::now();
    let slow = format!("{URL}slow");
    let came = fetch(
        &world,
        &[
            json!({ "url": URL, "wait": u64::MAX }),
            json!({ "url": slow, "wait": u64::MAX }),
            json!({ "url": slow, "wait": 0 }),
            json!({ "url": slow, "wait": 1 }),
        ],
    );
    assert_eq!(came.each[0]["body"], "hello", "{}", came.each[0]);
    assert!(came.each[1..].iter().all(|each| each["error"].as_str().unwrap().ends_with("Timeout")), "{:?}", came.each);
    assert!(started.elapsed() < Duration::from_secs(8), "{:?}", started.elapsed());
}

#[test]
fn requests_and_what_they_send_are_counted_for_the_whole_call() {
    let web = Web::new();
    web.serve(AT, Certificate::Right, |_, out| plain(out, "hello"));
    let world = granted(&web, &["* api.example.test"]).limits(|limits| {
        limits.requests = 2;
        limits.sent = 10_000;
    });
    let came = fetch(&world, &[get(URL), get(URL), get(URL)]);
    assert_eq!((&came.each[1]["status"], &came.each[2]["error"]), (&json!(200), &json!("ConnectionLimitReached")));
    web.forget();
    let post = |send: usize| json!({ "method": "POST", "url": URL, "send": send });
    let came = fetch(&world, &[post(9_000), post(2_000)]);
    assert_eq!(came.each[0]["status"], 200, "{}", came.each[0]);
    assert!(came.each[1]["error"].is_string(), "{}", came.each[1]);
}

#[test]
fn many_requests_at_once_are_answered() {
    let web = Web::new();
    web.serve(AT, Certificate::Right, |asked, out| plain(out, asked.path()));
    let world = granted(&web, &[HOST]);
    let requests: Vec<_> = (0..20).map(|number| get(&format!("{URL}{number}"))).collect();
    let input = json!({ "requests": requests, "at_once": true }).to_string();
    let report = world.scope(&["fetch"]).call_here("fetch", &input, &Call::new());
    let came: Vec<serde_json::Value> = serde_json::from_str(&report.outcome.unwrap()).unwrap();
    let bodies: Vec<&str> = came.iter().filter_map(|each| each["body"].as_str()).collect();
    assert_eq!(bodies, (0..20).map(|number| format!("/{number}")).collect::<Vec<_>>());
}

#[test]
fn a_call_that_is_cancelled_lets_go_of_its_request() {
    let web = Web::new();
    let (sender, receiver) = std::sync::mpsc::channel();
    let sender = Arc::new(std::sync::Mutex::new(sender));
    web.serve(AT, Certificate::Right, move |_, out| {
        write!(out, "HTTP/1.1 200 OK\r\ncontent-length: 1000000000\r\n\r\n")?;
        loop {
            if out.write_all(&[b'x'; 1024]).and_then(|()| out.flush()).is_err() {
                sender.lock().unwrap().send(()).ok();
                return Ok(());
            }
            thread::sleep(Duration::from_millis(20));
        }
    });
    let world = granted(&web, &[HOST]);
    let scope = world.scope(&["fetch"]);
    let call = Call::new();
    let stop = call.clone();
    let stopping = thread::spawn(move || {
        thread::sleep(Duration::from_millis(500));
        stop.cancel();
    });
    let report = scope.call_here("fetch", &json!({ "requests": [get(URL)] }).to_string(), &call);
    stopping.join().unwrap();
    assert_eq!(report.outcome, Err(Failure::Cancelled));
    assert!(receiver.recv_timeout(Duration::from_secs(10)).is_ok(), "the connection stayed open");
}
