//! Where `cp` and `mv` put what they were given.

use std::fs;

use bashkit::CommandContext;

use super::{
    input::absolute,
    options::{Given, Known},
};
use crate::files::changeable;

/// The options, and each source with the path that it gets: the target, or its own name in the directory that is
/// the target. The error is what the command says.
pub(super) fn destinations(
    context: &CommandContext<'_>,
    known: &Known,
) -> std::result::Result<(Given, Vec<(String, String)>), String> {
    let given = known.read(context.args)?;
    let mut sources = given.operands.clone();
    let target = match given.value('t').map(str::to_owned).or_else(|| sources.pop()) {
        Some(target) if !sources.is_empty() => target,
        Some(only) => return Err(format!("missing destination file operand after '{only}'")),
        None => return Err("missing file operand".to_owned()),
    };
    let real = changeable(&absolute(context.cwd, &target));
    let is_directory = real.is_ok_and(|real| fs::metadata(real).is_ok_and(|there| there.is_dir()));
    let into = !given.has('T') && is_directory;
    if !into && (sources.len() > 1 || given.has('t')) {
        return Err(format!("target '{target}': Not a directory"));
    }
    let to = |source: &str| match into {
        true => {
            let name = source.trim_end_matches('/').rsplit('/').next().unwrap_or(source);
            format!("{}/{name}", target.trim_end_matches('/'))
        }
        false => target.clone(),
    };
    let pairs = sources.into_iter().map(|source| (source.clone(), to(&source))).collect();
    Ok((given, pairs))
}
