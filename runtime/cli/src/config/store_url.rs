//! Where a database is. It may hold a password, so whatever is shown of it is shown without.

use std::{fmt, path::Path};

use url::Url;

/// A file, a Postgres database, or nowhere.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct StoreUrl(String);

impl StoreUrl {
    /// What it has to look like.
    pub(super) const WANTED: &str = "\"sqlite:/absolute/path\", \"postgres://user@host/database\" or \"memory:\"";

    /// The same for a file, in which no password belongs.
    pub(super) const WITHOUT_PASSWORD: &str =
        "one without a password in a file; it comes from PALISADE_STORE, or from a program with `url_command`";

    /// Nothing lasts.
    pub(crate) fn memory() -> Self {
        Self("memory:".to_owned())
    }

    /// A file.
    pub(crate) fn file(path: &Path) -> Self {
        Self(format!("sqlite:{}", path.display()))
    }

    /// Reads one. The error does not repeat it.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let wanted = || Self::WANTED.to_owned();
        if text.contains(char::is_control) {
            return Err(wanted());
        }
        if text == "memory:" {
            return Ok(Self::memory());
        }
        if let Some(path) = text.strip_prefix("sqlite:") {
            // `sqlite:///path` is how others write it.
            let path = path.strip_prefix("//").unwrap_or(path);
            return if path.starts_with('/') { Ok(Self(format!("sqlite:{path}"))) } else { Err(wanted()) };
        }
        match Url::parse(text) {
            Ok(url) if matches!(url.scheme(), "postgres" | "postgresql") => Ok(Self(text.to_owned())),
            _ => Err(wanted()),
        }
    }

    /// `sqlite`, `postgres` or `memory`.
    pub(crate) fn kind(&self) -> &'static str {
        match self.0.split(':').next() {
            Some("sqlite") => "sqlite",
            Some("memory") => "memory",
            _ => "postgres",
        }
    }

    /// Whether something is there when this process is gone.
    pub(crate) fn lasts(&self) -> bool {
        self.kind() != "memory"
    }

    /// The file, if it is one.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.0.strip_prefix("sqlite:").map(Path::new)
    }

    /// All of it, to connect with.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// Whether it holds one.
    pub(crate) fn has_password(&self) -> bool {
        let is_secret = |name: &str| name.to_ascii_lowercase().contains("pass");
        self.url().is_some_and(|url| url.password().is_some() || url.query_pairs().any(|(name, _)| is_secret(&name)))
    }

    fn url(&self) -> Option<Url> {
        Url::parse(&self.0).ok().filter(|_| self.kind() == "postgres")
    }
}

/// Without the password, and without options, which may hold one.
impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(mut url) = self.url() else { return f.write_str(&self.0) };
        let has_options = url.query().is_some();
        url.set_query(None);
        url.set_fragment(None);
        let is_masked = url.password().is_none() || url.set_password(Some("***")).is_ok();
        match is_masked {
            true => write!(f, "{url}{}", if has_options { "?…" } else { "" }),
            false => f.write_str("postgres://…"),
        }
    }
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_told_apart() {
        let check = |text: &str, kind: &str, path: Option<&str>| {
            let url = StoreUrl::parse(text).unwrap();
            assert_eq!((url.kind(), url.path()), (kind, path.map(Path::new)), "{text}");
        };
        check("memory:", "memory", None);
        check("sqlite:/data/a b.db", "sqlite", Some("/data/a b.db"));
        check(" sqlite:///data/a.db ", "sqlite", Some("/data/a.db"));
        check("postgres://me@db.example.com/palisade", "postgres", None);
        check("postgresql:///palisade?host=/run/postgresql", "postgres", None);
        for wrong in ["", "a.db", "sqlite:a.db", "sqlite://host/a.db", "mysql://a/b", "sqlite:/a\nb", "/data/a.db"] {
            assert_eq!(StoreUrl::parse(wrong).unwrap_err(), StoreUrl::WANTED, "{wrong}");
        }
    }

    /// SEC-03
    #[test]
    fn a_password_is_shown_nowhere() {
        for text in [
            "postgres://me:hunter2@db.example.com:5433/palisade",
            "postgres://db.example.com/palisade?user=me&password=hunter2",
            "postgres://me:hunter2@localhost/palisade?sslmode=require&sslpassword=hunter2",
        ] {
            let url = StoreUrl::parse(text).unwrap();
            assert!(url.has_password(), "{text}");
            assert!(!format!("{url} {url:?}").contains("hunter2"), "{url}");
            assert!(url.expose().contains("hunter2"));
        }
        let shown = StoreUrl::parse("postgres://me:hunter2@db.example.com:5433/palisade").unwrap().to_string();
        assert_eq!(shown, "postgres://me:***@db.example.com:5433/palisade");
        assert!(!StoreUrl::parse("postgres://me@db.example.com/palisade").unwrap().has_password());
    }
}
