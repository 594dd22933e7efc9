//! What has to be taken out of one list of lines, and put in, to get the other.

use std::ops::Range;

/// Lines of the left side that are replaced by lines of the right side; either may be empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) left: Range<usize>,
    pub(super) right: Range<usize>,
}

/// With more differences than this, what is in between is replaced as a whole: the search remembers all
/// of its way.
const MOST: usize = 4000;

/// The changes from `left` to `right`, in order, each as late as it can be.
pub(super) fn changes<Line: PartialEq>(left: &[Line], right: &[Line]) -> Vec<Change> {
    let same = |(a, b): &(&Line, &Line)| a == b;
    let before = left.iter().zip(right).take_while(same).count();
    let after = left[before..].iter().rev().zip(right[before..].iter().rev()).take_while(same).count();
    let (a, b) = (&left[before..left.len() - after], &right[before..right.len() - after]);
    let mut removed = vec![false; left.len()];
    let mut added = vec![false; right.len()];
    match path(a, b) {
        Some(steps) => {
            for (x, y, is_removal) in steps {
                if is_removal { removed[before + x] = true } else { added[before + y] = true }
            }
        }
        None => {
            removed[before..before + a.len()].fill(true);
            added[before..before + b.len()].fill(true);
        }
    }
    slide(left, &mut removed, &added);
    slide(right, &mut added, &removed);
    gather(&removed, &added)
}

/// The shortest way from one to the other: for each step the lines that it is between, and whether it takes
/// one out.
fn path<Line: PartialEq>(a: &[Line], b: &[Line]) -> Option<Vec<(usize, usize, bool)>> {
    let (n, m) = (a.len(), b.len());
    let most = (n + m).min(MOST);
    let middle = most + 1;
    let mut furthest = vec![0usize; 2 * middle + 1];
    let mut trace: Vec<Vec<usize>> = Vec::new();
    for steps in 0..=most {
        // Only what lies between these diagonals can have changed.
        trace.push(furthest[middle - steps..=middle + steps].to_vec());
        let mut diagonal = middle - steps;
        while diagonal <= middle + steps {
            let down = diagonal == middle - steps
                || diagonal != middle + steps && furthest[diagonal - 1] < furthest[diagonal + 1];
            let mut x = if down { furthest[diagonal + 1] } else { furthest[diagonal - 1] + 1 };
            let mut y = (x + middle).wrapping_sub(diagonal);
            while x < n && y < m && a[x] == b[y] {
                (x, y) = (x + 1, y + 1);
            }
            furthest[diagonal] = x;
            if x >= n && y >= m {
                return Some(walk_back(&trace, (n, m)));
            }
            diagonal += 2;
        }
    }
    None
}

fn walk_back(trace: &[Vec<usize>], end: (usize, usize)) -> Vec<(usize, usize, bool)> {
    let (mut x, mut y) = end;
    let mut steps = Vec::new();
    for (count, seen) in trace.iter().enumerate().skip(1).rev() {
        // The row holds the diagonals from -count to count.
        let at = |diagonal: isize| {
            usize::try_from(diagonal + count as isize).ok().and_then(|index| seen.get(index)).copied().unwrap_or(0)
        };
        let (diagonal, count) = (x as isize - y as isize, count as isize);
        let down = diagonal == -count || diagonal != count && at(diagonal - 1) < at(diagonal + 1);
        let before = if down { diagonal + 1 } else { diagonal - 1 };
        let from = at(before);
        let from_y = usize::try_from(from as isize - before).unwrap_or(0);
        steps.push((from, from_y, !down));
        (x, y) = (from, from_y);
    }
    steps.reverse();
    steps
}

/// Moves each group of changed lines down as far as the lines around it allow.
fn slide<Line: PartialEq>(lines: &[Line], changed: &mut [bool], other: &[bool]) {
    // Where both sides change at once there is nothing to move: the lines that stay must stay paired.
    let mut start = 0;
    while start < lines.len() {
        if !changed[start] {
            start += 1;
            continue;
        }
        let mut end = start + changed[start..].iter().take_while(|changed| **changed).count();
        let is_pure = is_pure(changed, other, start);
        while is_pure && end < lines.len() && !changed[end] && lines[start] == lines[end] {
            (changed[start], changed[end]) = (false, true);
            (start, end) = (start + 1, end + 1);
            end += changed[end..].iter().take_while(|changed| **changed).count();
        }
        start = end;
    }
}

/// Whether the other side has no change at the place of a group.
fn is_pure(changed: &[bool], other: &[bool], start: usize) -> bool {
    let kept = changed[..start].iter().filter(|changed| !**changed).count();
    let mut left = kept;
    let mut at = 0;
    while at < other.len() && left > 0 {
        left -= usize::from(!other[at]);
        at += 1;
    }
    other.get(at).is_none_or(|changed| !changed)
}

fn gather(removed: &[bool], added: &[bool]) -> Vec<Change> {
    let mut found = Vec::new();
    let (mut x, mut y) = (0, 0);
    while x < removed.len() || y < added.len() {
        let run = |changed: &[bool], from: usize| changed[from..].iter().take_while(|changed| **changed).count();
        let (out, into) = (run(removed, x), run(added, y));
        if out + into > 0 {
            found.push(Change { left: x..x + out, right: y..y + into });
            (x, y) = (x + out, y + into);
        } else {
            (x, y) = (x + 1, y + 1);
        }
    }
    found
}
