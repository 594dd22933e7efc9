//! Requests over the network, to the hosts that the agent was granted.
//!
//! A tool declares `net.http`. Redirects come back as they are: a tool that follows one makes another request, which is
//! looked at like the first. A secret is written as `{{secret:NAME}}` in its header; the host puts the value there, on
//! the way to the one server that the secret belongs to, and a tool that wants that declares `secrets`, too.

/// A request.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// `GET`, `POST` and so on.
    pub method: &'a str,
    /// `https`, or `http` where that is granted.
    pub scheme: &'a str,
    /// The host, with its port where that is not the usual one.
    pub authority: &'a str,
    /// The path with the query; begins with `/`.
    pub path: &'a str,
    /// Further headers. Those of the connection, `host` among them, are the host's.
    pub headers: &'a [(&'a str, &'a str)],
    /// What is sent.
    pub body: &'a [u8],
}

/// An answer, whose body is still to be read.
pub struct Response {
    /// The status.
    pub status: u16,
    /// The headers, in lower case; values that are no text are left out.
    pub headers: Vec<(String, String)>,
    body: backend::Body,
}

/// Why there is no answer, or not all of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HttpError {
    /// It is not granted. What exactly was refused, and what would allow it, is told to whoever called the tool.
    Denied,
    /// The request is none that could be sent.
    Invalid(String),
    /// It was tried, and did not work.
    Failed(String),
}

/// Sends a request and waits until the answer begins.
pub fn send(request: &Request<'_>) -> Result<Response, HttpError> {
    backend::send(request)
}

impl Response {
    /// The first header of a name, which is given in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    /// Reads the body, up to a number of bytes; says whether there is more.
    pub fn read(&mut self, most: usize) -> Result<(Vec<u8>, bool), HttpError> {
        let mut bytes = Vec::new();
        while let Some(piece) = self.body.next()? {
            bytes.extend_from_slice(&piece);
            if bytes.len() > most {
                bytes.truncate(most);
                return Ok((bytes, true));
            }
        }
        Ok((bytes, false))
    }
}

#[cfg(target_family = "wasm")]
mod backend {
    use wasip2::{
        http::{
            outgoing_handler,
            types::{self, ErrorCode, Fields, IncomingBody, Method, OutgoingBody, OutgoingRequest, Scheme},
        },
        io::streams::{InputStream, StreamError},
    };

    use super::{HttpError, Request, Response};

    /// The stream goes before what it is a part of.
    pub(super) struct Body {
        stream: InputStream,
        _body: IncomingBody,
    }

    /// What is asked for at once.
    const PIECE: u64 = 64 << 10;
    /// The most that can be handed over at once.
    const WRITE: usize = 4096;

    pub(super) fn send(request: &Request<'_>) -> Result<Response, HttpError> {
        let invalid = |what: &str| HttpError::Invalid(format!("the {what} cannot be sent"));
        let entries: Vec<(String, Vec<u8>)> =
            request.headers.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec())).collect();
        let outgoing = OutgoingRequest::new(Fields::from_list(&entries).map_err(|_| invalid("headers"))?);
        let method = match request.method {
            "GET" => Method::Get,
            "HEAD" => Method::Head,
            "POST" => Method::Post,
            other => Method::Other(other.to_owned()),
        };
        let scheme = match request.scheme {
            "https" => Scheme::Https,
            "http" => Scheme::Http,
            other => Scheme::Other(other.to_owned()),
        };
        outgoing.set_method(&method).map_err(|()| invalid("method"))?;
        outgoing.set_scheme(Some(&scheme)).map_err(|()| invalid("scheme"))?;
        outgoing.set_authority(Some(request.authority)).map_err(|()| invalid("host"))?;
        outgoing.set_path_with_query(Some(request.path)).map_err(|()| invalid("path"))?;
        let body = if request.body.is_empty() { None } else { Some(outgoing.body().map_err(|()| invalid("body"))?) };
        let pending = outgoing_handler::handle(outgoing, None).map_err(explain)?;
        if let Some(body) = body {
            let stream = body.write().map_err(|()| invalid("body"))?;
            for piece in request.body.chunks(WRITE) {
                stream
                    .blocking_write_and_flush(piece)
                    .map_err(|_| HttpError::Failed("the body was not taken".to_owned()))?;
            }
            drop(stream);
            OutgoingBody::finish(body, None).map_err(explain)?;
        }
        pending.subscribe().block();
        let answer =
            pending.get().and_then(Result::ok).ok_or_else(|| HttpError::Failed("there is no answer".to_owned()))?;
        let answer = answer.map_err(explain)?;
        let headers = answer.headers().entries().into_iter();
        let headers =
            headers.filter_map(|(name, value)| Some((name.to_ascii_lowercase(), String::from_utf8(value).ok()?)));
        let (status, headers) = (answer.status(), headers.collect());
        let body = answer.consume().map_err(|()| HttpError::Failed("the answer has no body".to_owned()))?;
        let stream = body.stream().map_err(|()| HttpError::Failed("the answer has no body".to_owned()))?;
        Ok(Response { status, headers, body: Body { stream, _body: body } })
    }

    impl Body {
        pub(super) fn next(&mut self) -> Result<Option<Vec<u8>>, HttpError> {
            match self.stream.blocking_read(PIECE) {
                Ok(piece) => Ok(Some(piece)),
                Err(StreamError::Closed) => Ok(None),
                Err(StreamError::LastOperationFailed(error)) => {
                    let code = types::http_error_code(&error);
                    let why = "the answer broke off, or there is more of it than a call may receive";
                    Err(code.map_or_else(|| HttpError::Failed(why.to_owned()), explain))
                }
            }
        }
    }

    fn explain(code: ErrorCode) -> HttpError {
        let text = match code {
            ErrorCode::HttpRequestDenied | ErrorCode::DestinationIpProhibited => return HttpError::Denied,
            ErrorCode::DnsError(_) | ErrorCode::DnsTimeout => "the host's name was not found",
            ErrorCode::ConnectionRefused => "the host takes no connection",
            ErrorCode::ConnectionTimeout => "no connection was made in time",
            ErrorCode::ConnectionReadTimeout | ErrorCode::HttpResponseTimeout => "the host did not answer in time",
            ErrorCode::TlsCertificateError => "the host's certificate is not valid for it",
            ErrorCode::TlsProtocolError | ErrorCode::TlsAlertReceived(_) => "no encrypted connection could be made",
            ErrorCode::HttpResponseBodySize(_) => "the answer is too large",
            ErrorCode::HttpResponseHeaderSectionSize(_) => "the answer's headers are too large",
            ErrorCode::HttpResponseIncomplete => "the answer broke off",
            ErrorCode::ConnectionLimitReached => "too many requests were made in one call",
            ErrorCode::ConfigurationError => "there is no network here",
            other => return HttpError::Failed(other.to_string()),
        };
        HttpError::Failed(text.to_owned())
    }
}

/// Requests are made from inside the sandbox, where somebody looks at them.
#[cfg(not(target_family = "wasm"))]
mod backend {
    use super::{HttpError, Request, Response};

    /// There is none.
    pub(super) enum Body {}

    pub(super) fn send(_: &Request<'_>) -> Result<Response, HttpError> {
        Err(HttpError::Failed("there is no network outside of the sandbox".to_owned()))
    }

    impl Body {
        pub(super) fn next(&mut self) -> Result<Option<Vec<u8>>, HttpError> {
            match *self {}
        }
    }
}
