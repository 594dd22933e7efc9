//! Lists in pages: at most so many of them, and where the next ones begin.

use serde::{Deserialize, Serialize};

use crate::problem::Problem;

/// Which page is wanted.
#[derive(Clone, Copy, Debug, Default, Deserialize, utoipa::IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(crate) struct Wanted {
    /// At most so many, 1 to 200; 50 if this is left out.
    #[param(minimum = 1, maximum = 200)]
    pub(crate) limit: Option<usize>,
    /// How many are passed over; `next` of the page before.
    #[param(minimum = 0)]
    pub(crate) offset: Option<usize>,
}

/// A page of a list.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Page<T> {
    /// What is on it.
    pub(crate) data: Vec<T>,
    /// The `offset` of the next one; absent: this is the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<usize>,
}

const USUAL: usize = 50;
const MOST: usize = 200;

impl Wanted {
    /// How many, and how many before them.
    pub(crate) fn span(self) -> Result<(usize, usize), Problem> {
        match self.limit.unwrap_or(USUAL) {
            limit @ 1..=MOST => Ok((limit, self.offset.unwrap_or(0))),
            _ => Err(Problem::invalid(format!("`limit` is 1 to {MOST}"))),
        }
    }
}

impl<T> Page<T> {
    /// A page of what was read with one more than the limit, which tells whether there are more.
    pub(crate) fn of(mut data: Vec<T>, limit: usize, offset: usize) -> Self {
        let next = (data.len() > limit).then_some(offset.saturating_add(limit));
        data.truncate(limit);
        Self { data, next }
    }

    /// A page of a list that is whole.
    pub(crate) fn cut(data: Vec<T>, wanted: Wanted) -> Result<Self, Problem> {
        let (limit, offset) = wanted.span()?;
        Ok(Self::of(data.into_iter().skip(offset).take(limit.saturating_add(1)).collect(), limit, offset))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_follow_each_other_without_a_gap() {
        let (mut seen, mut offset) = (Vec::new(), Some(0));
        while let Some(at) = offset {
            let page = Page::cut((0..7).collect(), Wanted { limit: Some(3), offset: Some(at) }).unwrap();
            seen.extend(page.data);
            offset = page.next;
        }
        assert_eq!(seen, (0..7).collect::<Vec<_>>());
        assert!(Wanted { limit: Some(0), ..Wanted::default() }.span().is_err());
        assert!(Wanted { limit: Some(201), ..Wanted::default() }.span().is_err());
    }
}
