//! `palisade plugins digest` and `push`: for those who publish plugins.

use anyhow::bail;
use palisade_packages::{
    oci::{Reference, Registry},
    signature::statement,
};
use serde_json::json;

use super::{
    fetch::{self, Source},
    summary::Summary,
};
use crate::{
    Exit,
    assemble::Assembly,
    render::{Line, Style, Terminal},
    settings::Settings,
};

/// Print the line that a signature of a package is about.
///
/// Signed by minisign it is put beside the files as palisade.minisig, signed by a P-256 key as palisade.sig (base64);
/// beside an archive or a component as FILE.minisig or FILE.sig.
#[derive(clap::Args)]
#[command(after_help = DIGEST_HELP)]
pub(crate) struct DigestArguments {
    /// A folder, a .tar.gz, a .wasm or oci://registry/name.
    #[arg(value_name = "DIR|FILE|oci://…")]
    source: String,
}

const DIGEST_HELP: &str = "\
Examples:
  palisade plugins digest ./my-plugin > my-plugin.digest
  minisign -Sm my-plugin.digest -x my-plugin/palisade.minisig
  openssl dgst -sha256 -sign key.pem my-plugin.digest | base64 -w0 > my-plugin/palisade.sig";

/// Publish a plugin in a registry.
///
/// A folder or archive becomes one layer; a lone component is published as other programs for WebAssembly do.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  palisade plugins push ./my-plugin oci://registry.example.com/team/my-plugin:1.0")]
pub(crate) struct PushArguments {
    /// A folder, a .tar.gz or a .wasm.
    #[arg(value_name = "DIR|FILE")]
    source: String,
    /// Where: oci://registry/name:tag.
    #[arg(value_name = "oci://…")]
    to: String,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn digest(arguments: &DigestArguments, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Exit> {
    let assembly = Assembly::start(settings, terminal)?;
    let fetched = Source::parse(&arguments.source)?.fetch(&[], settings, &assembly, terminal)?;
    terminal.text(&statement(&fetched.package.digest()))?;
    Ok(Exit::Done)
}

pub(crate) fn push(arguments: &PushArguments, settings: &Settings, terminal: &Terminal) -> anyhow::Result<Exit> {
    let to: Reference = arguments.to.parse()?;
    if to.digest.is_some() {
        bail!("what is published gets its digest there; name a tag");
    }
    let assembly = Assembly::start(settings, terminal)?;
    let source = Source::parse(&arguments.source)?;
    let fetched = source.fetch(&[], settings, &assembly, terminal)?;
    // What nobody could install is not published either.
    let summary = Summary::of(&fetched, &assembly)?;
    let registry = Registry::of(&to, fetch::credentials(&to, settings))?;
    let runtime = fetch::runtime()?;
    terminal.progress(&format!("publishing {to}"));
    let digest = match &source {
        Source::Component(path) => {
            let wasm = fetch::read(path, palisade_packages::Limits::PLUGIN.file)?;
            runtime.block_on(registry.push_component(wasm))?
        }
        _ => runtime.block_on(registry.push(&fetched.package))?,
    };
    let pinned = to.pinned(digest).to_string();
    match arguments.json {
        true => terminal.json(&json!({ "name": summary.name, "reference": pinned, "digest": digest }))?,
        false => terminal.whole(&Line::new().add(Style::Good, "published ").add(Style::Plain, &pinned))?,
    }
    Ok(Exit::Done)
}
