//! Fetches a page. It knows nothing of Palisade: it exports a function, and imports what it asks hosts with.
#![cfg(target_family = "wasm")]
#![expect(unsafe_code, reason = "what is generated for an export")]

use url::{Position, Url};
use wasip2::http::{
    outgoing_handler,
    types::{Fields, OutgoingRequest, Scheme},
};

mod bindings {
    wit_bindgen::generate!({
        inline: "
            package guests:browser;
            world browser { export fetch: func(url: string) -> result<string, string>; }
        ",
    });
}

struct Browser;

impl bindings::Guest for Browser {
    fn fetch(url: String) -> Result<String, String> {
        let url = Url::parse(&url).map_err(|error| error.to_string())?;
        let request = OutgoingRequest::new(Fields::new());
        let scheme = if url.scheme() == "https" { Scheme::Https } else { Scheme::Http };
        request.set_scheme(Some(&scheme)).map_err(|()| "no scheme")?;
        request.set_authority(Some(&url[Position::BeforeHost..Position::AfterPort])).map_err(|()| "no host")?;
        request.set_path_with_query(Some(&url[Position::BeforePath..Position::AfterQuery])).map_err(|()| "no path")?;
        let answer = outgoing_handler::handle(request, None).map_err(|code| format!("{code:?}"))?;
        answer.subscribe().block();
        let response = answer.get().ok_or("no answer")?.map_err(|()| "taken")?.map_err(|code| format!("{code:?}"))?;
        let body = response.consume().map_err(|()| "no body")?;
        let stream = body.stream().map_err(|()| "no stream")?;
        let mut bytes = Vec::new();
        while let Ok(piece) = stream.blocking_read(64 << 10) {
            bytes.extend(piece);
        }
        Ok(format!("{} {}", response.status(), String::from_utf8_lossy(&bytes)))
    }
}

bindings::export!(Browser with_types_in bindings);
