//! Rights through delegation: an agent that wants more of everything is asked in every way there is by one that has
//! little. One test for each way and each thing to want; `palisade prove --delegation` makes the same attempts.

use palisade_catalog::prove::{Axis, Ending, Proof, Way, control_delegation, prove_case};
use palisade_sandbox::{Engine, Programs};
use palisade_store::open_boxed;
use palisade_tests::world::SMALL;

fn programs() -> Programs {
    Programs::standard(env!("CARGO_BIN_EXE_confine-worker-for-tests").into())
}

async fn refused(way: Way, axis: Axis) {
    let engine = Engine::start(SMALL).unwrap();
    let proof = Proof::new(&engine, &open_boxed, programs());
    let case = prove_case(&proof, None, way, axis).await.unwrap();
    assert_eq!(case.ending, Ending::Refused, "{}: {}", case.name(), case.how);
    assert!(case.tried, "{}: {}", case.name(), case.how);
}

/// The attempts get through where they may, so that a refusal means something.
#[tokio::test(flavor = "multi_thread")]
async fn where_everything_is_granted_every_attempt_gets_through() {
    let engine = Engine::start(SMALL).unwrap();
    let proof = Proof::new(&engine, &open_boxed, programs());
    assert!(proof.runs_programs(), "programs cannot be confined here, so none was run");
    control_delegation(&proof).await.unwrap();
}

#[test]
fn every_way_is_tried_with_everything_there_is_to_want() {
    let expected: Vec<(Way, Axis)> = Way::ALL.into_iter().flat_map(|way| Axis::ALL.map(|axis| (way, axis))).collect();
    let covered: Vec<(Way, Axis)> = COVERED.iter().flat_map(|cases| cases.iter().copied()).collect();
    assert_eq!(covered, expected);
    assert_eq!(covered.len(), 100);
}

macro_rules! wants {
    ($way:expr; $($(#[$doc:meta])* $test:ident: $axis:ident,)*) => {
        pub(super) const COVERED: &[(Way, Axis)] = &[$(($way, Axis::$axis)),*];
        $(
            $(#[$doc])*
            #[tokio::test(flavor = "multi_thread")]
            async fn $test() {
                refused($way, Axis::$axis).await;
            }
        )*
    };
}

macro_rules! ways {
    ($($(#[$doc:meta])* $module:ident: $way:ident,)*) => {
        const COVERED: &[&[(Way, Axis)]] = &[$($module::COVERED),*];
        $(
            $(#[$doc])*
            mod $module {
                use super::*;

                wants! {
                    Way::$way;
                    no_other_tool: Tool,
                    no_other_folder: Preopen,
                    no_more_writing: Write,
                    no_other_host: Host,
                    no_other_command: Command,
                    no_other_secret: Secret,
                    no_more_memory: Memory,
                    no_more_time: Time,
                    no_more_steps: Steps,
                    no_more_depth: Depth,
                }
            }
        )*
    };
}

ways! {
    /// DEL-01, DEL-02, CF-31
    spawn: Spawn,
    /// DEL-05
    resume: Resume,
    /// DEL-08
    retry: Retry,
    /// CF-31
    follow_up: FollowUp,
    /// DEL-10, E20
    pool_reuse: PoolReuse,
    /// DEL-10
    session_reuse: SessionReuse,
    /// DEL-02
    async_callback: AsyncCallback,
    /// X3
    tool_calls_tool: ToolCallsTool,
    /// DEL-11
    plugin_reload: PluginReload,
    /// DEL-11
    config_change: ConfigChange,
}
