//! What the server writes down for its operator, on standard error.

use tracing::{Level, level_filters::LevelFilter};
use tracing_subscriber::{Layer as _, filter::Targets, layer::SubscriberExt as _, util::SubscriberInitExt as _};

/// How much is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Detail {
    Off,
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

/// As what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Form {
    Text,
    Json,
}

/// Begins to write down what this program's own parts tell. Libraries tell warnings alone: at more, those that speak
/// HTTP write out headers, and with them keys.
pub(crate) fn begin(detail: Detail, form: Form) -> anyhow::Result<()> {
    let level = match detail {
        Detail::Off => LevelFilter::OFF,
        Detail::Error => LevelFilter::ERROR,
        Detail::Warn => LevelFilter::WARN,
        Detail::Info => LevelFilter::INFO,
        Detail::Debug => LevelFilter::DEBUG,
        Detail::Trace => LevelFilter::TRACE,
    };
    let told =
        Targets::new().with_default(level.min(LevelFilter::from_level(Level::WARN))).with_target("palisade", level);
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_target(false);
    let lines = match form {
        Form::Text => lines.boxed(),
        Form::Json => lines.json().flatten_event(true).boxed(),
    };
    Ok(tracing_subscriber::registry().with(lines.with_filter(told)).try_init()?)
}
