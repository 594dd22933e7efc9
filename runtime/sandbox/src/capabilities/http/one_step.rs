//! `palisade:host/http`: a request and its whole answer in one step. It is sent as those of `wasi:http` are, so that
//! whatever is looked at there is looked at here.

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, Request, Uri};
use http_body_util::{BodyExt as _, Full};
use wasmtime::component::{HasSelf, Linker};
use wasmtime_wasi::runtime::spawn;
use wasmtime_wasi_http::{Error, WasiBody, WasiHttpView as _};

use super::{Response, in_words, is_forbidden};
use crate::{bindings::http as interface, host::Host};

/// The largest answer; the guest's memory pays for it, and so does the host's.
const MOST: usize = 8 << 20;

pub(super) fn link(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    interface::add_to_linker::<Host, HasSelf<Host>>(linker, |host| host)
}

impl interface::Host for Host {
    async fn send(
        &mut self,
        request: interface::Request,
    ) -> wasmtime::Result<Result<interface::Response, interface::Error>> {
        let request = match read(request) {
            Ok(request) => request,
            Err(why) => return Ok(Err(interface::Error::Invalid(why))),
        };
        let sending = self.http().hooks.send_request(request, None, Box::new(std::future::ready(Ok(()))));
        let answer = async { receive(Box::into_pin(sending).await?).await };
        Ok(answer.await.map_err(|error| explained(in_words(error))))
    }
}

/// The request, if it is one.
pub(crate) fn read(request: interface::Request) -> Result<Request<WasiBody>, String> {
    let interface::Request { method, url, headers, body } = request;
    let address: Uri = url.parse().map_err(|error| format!("the URL cannot be sent: {error}"))?;
    if address.scheme().is_none() || address.authority().is_none() {
        return Err("the URL names no host; write `https://example.com/`".to_owned());
    }
    let method =
        Method::from_bytes(method.as_bytes()).map_err(|error| format!("the method cannot be sent: {error}"))?;
    let body = Full::new(Bytes::from(body)).map_err(|never| match never {}).boxed_unsync();
    let mut made = Request::new(body);
    *made.uri_mut() = address;
    *made.method_mut() = method;
    for (name, value) in headers {
        let invalid = |why: &str| format!("the header `{}` cannot be sent: {why}", name.escape_debug());
        let header: HeaderName = name.parse().map_err(|_| invalid("that is no name"))?;
        if is_forbidden(&header) {
            return Err(invalid("it is the host's alone"));
        }
        let value = HeaderValue::from_str(&value).map_err(|_| invalid("its value is no line of plain text"))?;
        made.headers_mut().append(header, value);
    }
    Ok(made)
}

/// The whole of an answer.
async fn receive((answer, behind): Response) -> Result<interface::Response, Error> {
    // What goes on behind it has to go on until it is read.
    let _behind = spawn(Box::into_pin(behind));
    let (parts, mut incoming) = answer.into_parts();
    let mut body = Vec::new();
    while let Some(frame) = incoming.frame().await {
        let Ok(piece) = frame?.into_data() else { continue };
        if body.len() + piece.len() > MOST {
            return Err(Error::HttpResponseBodySize(None));
        }
        body.extend_from_slice(&piece);
    }
    let text = |(name, value): (&HeaderName, &HeaderValue)| Some((name.to_string(), value.to_str().ok()?.to_owned()));
    Ok(interface::Response {
        status: parts.status.as_u16(),
        headers: parts.headers.iter().filter_map(text).collect(),
        body,
    })
}

/// The same in words for whoever wrote the tool.
pub(crate) fn explained(error: Error) -> interface::Error {
    let text = match error {
        Error::HttpRequestDenied | Error::DestinationIpProhibited => {
            let text = "the request is not granted; what would allow it is told to whoever called the tool";
            return interface::Error::Denied(text.to_owned());
        }
        Error::DnsError { .. } | Error::DnsTimeout => "the host's name was not found",
        Error::ConnectionRefused => "the host takes no connection",
        Error::ConnectionTimeout => "no connection was made in time",
        Error::ConnectionReadTimeout | Error::HttpResponseTimeout => "the host did not answer in time",
        Error::TlsCertificateError => "the host's certificate is not valid for it",
        Error::TlsProtocolError | Error::TlsAlertReceived { .. } => "no encrypted connection could be made",
        Error::HttpRequestBodySize(_) => "the request is larger than a call may send",
        Error::HttpResponseBodySize(_) => "the answer is too large",
        Error::HttpResponseHeaderSectionSize(_) => "the answer's headers are too large",
        Error::HttpResponseIncomplete => "the answer broke off",
        Error::ConnectionLimitReached => "too many requests were made in one call",
        Error::ConfigurationError => "there is no network here",
        other => return interface::Error::Failed(other.to_string()),
    };
    interface::Error::Failed(text.to_owned())
}
