//! What was counted, as the page that the README quotes.

use crate::harness::Counts;

pub(crate) fn render(counts: &Counts) -> String {
    let faults = &counts.faults;
    let mut page = format!(
        "# Crash table\n\n\
         Written by `just crash`, which kills a working agent with SIGKILL and reads the database after each death.\n\n\
         | counted | number |\n|---|---:|\n\
         | kills | {} |\n| at named instants | {} |\n| at random instants | {} |\n\
         | conversations that came to their end | {} |\n| entries acknowledged | {} |\n| side effects | {} |\n\
         | acknowledged entries lost | {} |\n| gaps, duplicates or invalid history | {} |\n\
         | side effects repeated | {} |\n| results that are not true | {} |\n\n\
         Seed {}, {} s.\n\n## Kills at each named instant\n\n| instant | kills |\n|---|---:|\n",
        counts.kills(),
        counts.named.values().sum::<u64>(),
        counts.random,
        counts.conversations,
        counts.entries,
        counts.effects,
        faults.lost.len(),
        faults.invalid.len(),
        faults.repeated.len(),
        faults.untrue.len(),
        counts.seed,
        counts.time.as_secs(),
    );
    for (instant, kills) in &counts.named {
        page += &format!("| `{instant}` | {kills} |\n");
    }
    let found = [&faults.lost, &faults.invalid, &faults.repeated, &faults.untrue];
    for fault in found.into_iter().flatten() {
        page += &format!("\n- {fault}");
    }
    page
}
