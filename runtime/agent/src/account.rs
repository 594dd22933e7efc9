//! Budgets form a tree: what an agent's helpers use up, the agent has used up.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::{sync::Notify, time::Instant};

use crate::{Budget, Purse, Remaining, Spent, Usage};

/// What is left of a budget, for a run and all runs below it. Its clones are the same account.
#[derive(Clone, Debug)]
pub struct Account {
    /// The whole tree has one lock: whoever takes from a leaf takes from every account above it at once.
    tree: Arc<Shared>,
    at: usize,
}

#[derive(Debug)]
struct Shared {
    tree: Mutex<Tree>,
    /// Told of every run that is no longer at work.
    freed: Notify,
    /// What the whole tree is paid out of, beside others.
    purse: Option<Arc<Purse>>,
}

#[derive(Debug)]
struct Tree {
    nodes: Vec<Node>,
    /// How many runs below the root are at work.
    live: u32,
}

#[derive(Debug)]
struct Node {
    left: Remaining,
    /// How many levels of runs may be below.
    depth: u32,
    parent: Option<usize>,
}

/// A run below the root is at work for as long as this is there.
#[derive(Debug)]
pub struct Admitted(Arc<Shared>);

impl Account {
    /// Opens an account that nobody is above. Its time starts now.
    pub fn open(budget: Budget) -> Self {
        let root = Node { left: budget.begin(), depth: budget.depth, parent: None };
        let tree = Mutex::new(Tree { nodes: vec![root], live: 0 });
        Self { tree: Arc::new(Shared { tree, freed: Notify::new(), purse: None }), at: 0 }
    }

    /// The same, with what is spent taken out of a purse, too. Only where nothing was opened below it yet.
    pub fn out_of(mut self, purse: Arc<Purse>) -> Self {
        if let Some(shared) = Arc::get_mut(&mut self.tree) {
            shared.purse = Some(purse);
        }
        self
    }

    /// Opens an account below this one. It can be drawn from only as long as every account above it can.
    pub fn branch(&self, budget: Budget) -> Result<Self, Spent> {
        let mut tree = self.lock();
        let Some(above) = tree.nodes.get(self.at) else { return Err(Spent::Depth) };
        let depth = above.depth.checked_sub(1).ok_or(Spent::Depth)?.min(budget.depth);
        let left = budget.begin().until(above.left.deadline());
        tree.nodes.push(Node { left, depth, parent: Some(self.at) });
        let at = tree.nodes.len() - 1;
        Ok(Self { tree: Arc::clone(&self.tree), at })
    }

    /// Lets one more run of the tree work, if fewer than `most` do.
    pub fn admit(&self, most: u32) -> Option<Admitted> {
        let mut tree = self.lock();
        if tree.live >= most {
            return None;
        }
        tree.live += 1;
        Some(Admitted(Arc::clone(&self.tree)))
    }

    /// Waits until fewer than `most` runs of the tree work, and lets one more.
    pub async fn admitted(&self, most: u32) -> Admitted {
        loop {
            let freed = self.tree.freed.notified();
            tokio::pin!(freed);
            // Whoever is done between the question and the waiting is heard, too.
            freed.as_mut().enable();
            if let Some(admitted) = self.admit(most) {
                return admitted;
            }
            freed.await;
        }
    }

    /// How many levels of runs may be below.
    pub fn depth(&self) -> u32 {
        self.lock().nodes.get(self.at).map_or(0, |node| node.depth)
    }

    /// Takes one step, or says what there is no more of, here or above.
    pub fn spend_step(&self) -> Result<(), Spent> {
        self.tree.purse.as_ref().map_or(Ok(()), |purse| purse.has_left())?;
        let mut tree = self.lock();
        tree.path(self.at).try_for_each(|node| node.left.may_step())?;
        tree.each(self.at, Remaining::take_step);
        Ok(())
    }

    /// Takes what a reply cost that was given; the next step finds out that there is nothing left.
    pub fn spend_usage(&self, usage: Usage) {
        if let Some(purse) = &self.tree.purse {
            purse.spend(usage);
        }
        self.lock().each(self.at, |left| left.spend_usage(usage));
    }

    /// Takes as many calls as there are left, at most `wanted`, and says how many that are.
    pub fn spend_calls(&self, wanted: usize) -> usize {
        let mut tree = self.lock();
        let taken = tree.path(self.at).fold(wanted, |taken, node| node.left.calls_left(taken));
        tree.each(self.at, |left| left.spend_calls(taken));
        taken
    }

    /// When the time is over, even in the middle of a step.
    pub fn deadline(&self) -> Instant {
        self.lock().nodes.get(self.at).map_or_else(Instant::now, |node| node.left.deadline())
    }

    fn lock(&self) -> MutexGuard<'_, Tree> {
        self.tree.lock()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Tree> {
        self.tree.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tree {
    /// A node and all above it.
    fn path(&self, at: usize) -> impl Iterator<Item = &Node> {
        std::iter::successors(self.nodes.get(at), |node| node.parent.and_then(|at| self.nodes.get(at)))
    }

    fn each(&mut self, at: usize, mut change: impl FnMut(&mut Remaining)) {
        let mut next = Some(at);
        while let Some(node) = next.and_then(|at| self.nodes.get_mut(at)) {
            change(&mut node.left);
            next = node.parent;
        }
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        let mut tree = self.0.lock();
        tree.live = tree.live.saturating_sub(1);
        drop(tree);
        self.0.freed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn budget(steps: u32, depth: u32) -> Budget {
        Budget { steps, depth, ..Budget::default() }
    }

    #[test]
    fn what_is_spent_below_is_spent_above() {
        let above = Account::open(budget(5, 3));
        let left = above.branch(budget(100, 3)).unwrap();
        let right = above.branch(budget(2, 3)).unwrap();
        let below = left.branch(budget(100, 3)).unwrap();
        assert_eq!((right.spend_step(), right.spend_step(), right.spend_step()), (Ok(()), Ok(()), Err(Spent::Steps)));
        assert_eq!((below.spend_step(), left.spend_step(), above.spend_step()), (Ok(()), Ok(()), Ok(())));
        assert_eq!([&above, &left, &right, &below].map(Account::spend_step), [Err(Spent::Steps); 4]);
    }

    #[test]
    fn a_step_that_is_not_to_be_had_takes_nothing_above() {
        let above = Account::open(budget(2, 3));
        let below = above.branch(budget(0, 3)).unwrap();
        assert_eq!([(); 3].map(|()| below.spend_step()), [Err(Spent::Steps); 3]);
        assert_eq!([(); 3].map(|()| above.spend_step()), [Ok(()), Ok(()), Err(Spent::Steps)]);
    }

    #[test]
    fn tokens_cost_and_calls_are_the_trees() {
        let above = Account::open(Budget { tokens: Some(10), calls: Some(3), ..budget(9, 3) });
        let below = above.branch(budget(9, 3)).unwrap();
        assert_eq!((below.spend_calls(2), above.spend_calls(5), below.spend_calls(1)), (2, 1, 0));
        below.spend_usage(Usage { output_tokens: 10, ..Usage::default() });
        assert_eq!((above.spend_step(), below.spend_step()), (Err(Spent::Tokens), Err(Spent::Tokens)));
    }

    #[test]
    fn time_below_ends_with_the_time_above() {
        let above = Account::open(Budget { time: Duration::from_secs(1), ..budget(9, 3) });
        let below = above.branch(Budget { time: Duration::from_secs(100), ..budget(9, 3) }).unwrap();
        assert_eq!(below.deadline(), above.deadline());
    }

    /// DEL-04, DEL-05
    #[test]
    fn depth_only_shrinks() {
        let root = Account::open(budget(9, 2));
        let first = root.branch(budget(9, 100)).unwrap();
        let second = first.branch(budget(9, 100)).unwrap();
        assert_eq!([root.depth(), first.depth(), second.depth()], [2, 1, 0]);
        assert_eq!(second.branch(budget(9, 100)).unwrap_err(), Spent::Depth);
        assert_eq!(root.branch(budget(9, 0)).unwrap().branch(budget(9, 9)).unwrap_err(), Spent::Depth);
    }

    /// DEL-06
    #[test]
    fn only_so_many_work_at_a_time_in_the_whole_tree() {
        let root = Account::open(budget(9, 9));
        let below = root.branch(budget(9, 9)).unwrap();
        let first = below.admit(2).unwrap();
        let second = root.admit(2).unwrap();
        assert!(below.admit(2).is_none() && root.admit(2).is_none());
        drop(first);
        assert!(below.admit(2).is_some());
        drop(second);
    }

    #[tokio::test]
    async fn whoever_waits_works_as_soon_as_another_is_done() {
        let root = Account::open(budget(9, 9));
        let first = root.admitted(1).await;
        let waiting = tokio::spawn({
            let below = root.branch(budget(9, 9)).unwrap();
            async move { below.admitted(1).await }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        drop(first);
        let second = waiting.await.unwrap();
        assert!(root.admit(1).is_none());
        drop(second);
    }
}
