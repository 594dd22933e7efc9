//! Which word was probably meant.

/// The word nearest to a misspelt one, if it is near enough to be meant: one slip in a short word,
/// two in a longer one.
pub fn nearest<'w>(word: &str, known: impl IntoIterator<Item = &'w str>) -> Option<&'w str> {
    let most = if word.chars().count() < 8 { 1 } else { 2 };
    known
        .into_iter()
        // Names are ASCII, and what differs more in length has more slips.
        .filter(|candidate| candidate.len().abs_diff(word.chars().count()) <= most)
        .map(|candidate| (slips(word, candidate), candidate))
        .filter(|(slips, candidate)| *slips <= most && *slips < candidate.chars().count())
        .min_by_key(|(slips, _)| *slips)
        .map(|(_, candidate)| candidate)
}

/// How many characters are missing, too many, wrong or exchanged with their neighbour.
pub(super) fn slips(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    // Three rows of the usual table: exchanges look two rows back.
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (row, &x) in a.iter().enumerate() {
        let mut next = Vec::with_capacity(b.len() + 1);
        next.push(row + 1);
        for (column, &y) in b.iter().enumerate() {
            let at = |row: &[usize], column: usize| row.get(column).copied().unwrap_or(usize::MAX - 1);
            let wrong = at(&last, column) + usize::from(x != y);
            let mut least = wrong.min(at(&last, column + 1) + 1).min(at(&next, column) + 1);
            let is_exchange = row > 0 && column > 0 && a.get(row - 1) == Some(&y) && b.get(column - 1) == Some(&x);
            if is_exchange {
                least = least.min(at(&before, column - 1) + 1);
            }
            next.push(least);
        }
        before = std::mem::replace(&mut last, next);
    }
    last.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_counted() {
        let check = |a, b, expected| assert_eq!(slips(a, b), expected, "{a} {b}");
        check("", "", 0);
        check("", "abc", 3);
        check("max_stepps", "max_steps", 1);
        check("tols", "tools", 1);
        check("naem", "name", 1);
        check("kitten", "sitting", 3);
    }

    #[test]
    fn only_what_is_near_is_suggested() {
        let known = ["name", "tools", "max_steps"];
        assert_eq!(nearest("max_stps", known), Some("max_steps"));
        assert_eq!(nearest("toosl", known), Some("tools"));
        assert_eq!(nearest("nme", known), Some("name"));
        assert_eq!(nearest("colour", known), None);
        assert_eq!(nearest(&"x".repeat(100_000), known), None);
    }
}
