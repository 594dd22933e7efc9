//! `palisade:host/progress`: always granted, bounded, and never seen by the model.

use wasmtime::component::{HasSelf, Linker};

use crate::{bindings::progress, host::Host};

/// Somebody who wants to know how far a tool is.
pub trait Progress: Send + Sync {
    /// Receives one message; it may contain anything a guest can write.
    fn report(&self, message: &str);
}

impl<F: Fn(&str) + Send + Sync> Progress for F {
    fn report(&self, message: &str) {
        self(message);
    }
}

/// A progress line longer than a screen is no progress line.
pub(crate) const MAX_MESSAGE: usize = 1000;

pub(crate) fn link(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    progress::add_to_linker::<Host, HasSelf<Host>>(linker, |host| host)
}

impl progress::Host for Host {
    fn report(&mut self, message: String) -> wasmtime::Result<()> {
        if let Some(progress) = &self.progress {
            progress.report(&message[..message.floor_char_boundary(MAX_MESSAGE)]);
        }
        Ok(())
    }
}
