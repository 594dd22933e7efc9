//! Any sequence of what can be done to a store, done to the one in memory and to one in a database: whatever is
//! asked of them afterwards, they say the same.

mod lockstep;
mod step;

use proptest::{prelude::*, test_runner::Config};
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest, prop_state_machine};

use lockstep::{InFile, InServer, Kind, Lockstep};
use step::Step;

/// The steps. What they lead to is known by the store in memory, which takes them along with the other one.
#[derive(Debug)]
struct Steps;

impl ReferenceStateMachine for Steps {
    type State = ();
    type Transition = Step;

    fn init_state() -> BoxedStrategy<()> {
        Just(()).boxed()
    }

    fn transitions((): &()) -> BoxedStrategy<Step> {
        step::steps().boxed()
    }

    fn apply((): (), _: &Step) {}
}

struct Compared<K>(std::marker::PhantomData<K>);

impl<K: Kind> StateMachineTest for Compared<K> {
    type SystemUnderTest = Option<Lockstep<K>>;
    type Reference = Steps;

    fn init_test((): &()) -> Option<Lockstep<K>> {
        Lockstep::new()
    }

    fn apply(stores: Option<Lockstep<K>>, (): &(), step: Step) -> Option<Lockstep<K>> {
        stores.map(|mut stores| {
            stores.take(step);
            stores
        })
    }

    fn check_invariants(stores: &Option<Lockstep<K>>, (): &()) {
        if let Some(stores) = stores {
            stores.compare();
        }
    }
}

fn config(cases: u32) -> Config {
    Config { cases, failure_persistence: None, max_shrink_iters: 200, ..Config::default() }
}

prop_state_machine! {
    #![proptest_config(config(48))]

    /// STO-11, STO-13
    #[test]
    fn a_file_says_what_memory_says(sequential 1..40 => Compared<InFile>);
}

prop_state_machine! {
    #![proptest_config(config(12))]

    /// STO-11, STO-13
    #[test]
    fn a_server_says_what_memory_says(sequential 1..40 => Compared<InServer>);
}
