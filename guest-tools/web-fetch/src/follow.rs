//! Where an address leads in the end. Only redirects within a host are followed: rules about hosts are asked before a
//! call, and a page must not lead around them.

use palisade_tool::Failure;
use url::Url;

/// What a server answered.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) location: Option<String>,
    pub(crate) content_type: Option<String>,
    pub(crate) content_encoding: Option<String>,
    pub(crate) body: Vec<u8>,
    /// There was more than was fetched.
    pub(crate) cut: bool,
}

/// Where an address led.
#[derive(Debug)]
pub(crate) enum Arrived {
    /// To a page.
    At { url: Url, answer: Answer },
    /// To another host, which was not asked.
    Elsewhere { from: Url, to: Url },
}

/// More than that is a circle, or meant to be one.
const HOPS: usize = 10;

/// Goes where an address leads.
pub(crate) fn follow(start: Url, mut get: impl FnMut(&Url) -> Result<Answer, Failure>) -> Result<Arrived, Failure> {
    let mut url = start;
    for _ in 0..=HOPS {
        let answer = get(&url)?;
        let Some(to) = redirect(&url, &answer)? else { return Ok(Arrived::At { url, answer }) };
        if to.origin() != url.origin() {
            return Ok(Arrived::Elsewhere { from: url, to });
        }
        url = to;
    }
    Err(Failure::Failed(format!("{url}: it leads on and on; more than {HOPS} redirects are not followed")))
}

fn redirect(url: &Url, answer: &Answer) -> Result<Option<Url>, Failure> {
    let Some(location) = answer.location.as_deref().filter(|_| matches!(answer.status, 301 | 302 | 303 | 307 | 308))
    else {
        return Ok(None);
    };
    let mut to = url
        .join(location)
        .map_err(|error| Failure::Failed(format!("{url}: it leads to what is no address ({error})")))?;
    // A redirect is the server's word, which has no business with a name and a password.
    if !to.username().is_empty() || to.password().is_some() {
        return Err(Failure::Failed(format!("{url}: it leads to an address with a user in it, which is not followed")));
    }
    if to.fragment().is_none() {
        to.set_fragment(url.fragment());
    }
    Ok(Some(to))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leading(start: &str, to: impl Fn(&str) -> Option<String>) -> (Result<Arrived, Failure>, Vec<String>) {
        let mut asked = Vec::new();
        let arrived = follow(Url::parse(start).unwrap(), |url| {
            asked.push(url.to_string());
            let location = to(url.as_str());
            Ok(Answer { status: if location.is_some() { 302 } else { 200 }, location, ..Answer::default() })
        });
        (arrived, asked)
    }

    /// NET-11
    #[test]
    fn redirects_within_a_host_are_followed_and_others_are_named() {
        let (arrived, asked) = leading("https://a.test/x?y", |url| url.ends_with("x?y").then(|| "/z".to_owned()));
        assert!(matches!(arrived, Ok(Arrived::At { url, .. }) if url.as_str() == "https://a.test/z"));
        assert_eq!(asked, ["https://a.test/x?y", "https://a.test/z"]);
        for to in
            ["https://b.test/", "http://a.test/", "https://a.test:8443/", "http://127.0.0.1/", "file:///etc/passwd"]
        {
            let (arrived, asked) = leading("https://a.test/", |_| Some(to.to_owned()));
            assert!(matches!(arrived, Ok(Arrived::Elsewhere { .. })), "{to}: {arrived:?}");
            assert_eq!(asked, ["https://a.test/"]);
        }
    }

    /// NET-11
    #[test]
    fn a_chain_has_an_end() {
        let (arrived, asked) = leading("https://a.test/", |url| Some(format!("/{}", url.len())));
        assert!(matches!(arrived, Err(Failure::Failed(text)) if text.contains("more than 10 redirects")));
        assert_eq!(asked.len(), HOPS + 1);
    }

    #[test]
    fn a_redirect_with_a_user_or_to_nothing_is_an_error() {
        for to in ["https://me:key@a.test/", "https://", "https://[x/"] {
            let (arrived, _) = leading("https://a.test/", |_| Some(to.to_owned()));
            assert!(matches!(arrived, Err(Failure::Failed(_))), "{to}: {arrived:?}");
        }
    }
}
