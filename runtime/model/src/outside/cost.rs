//! What a run cost, as programs tell it that count tokens of the cache apart and money in dollars.

use palisade_agent::Usage;
use serde_json::Value;

/// The counts of these names, in the order of input, output, read from the cache and written into it, and
/// what they cost.
pub(super) fn usage(counts: &Value, names: [&str; 4], dollars: &Value) -> Usage {
    let [input, output, read, written] = names.map(|name| counts[name].as_u64().unwrap_or_default());
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "casting a float saturates")]
    let cost_micros = (dollars.as_f64().unwrap_or_default() * 1e6).round() as u64;
    Usage {
        input_tokens: input.saturating_add(read).saturating_add(written),
        output_tokens: output,
        cached_tokens: read,
        cache_written_tokens: written,
        cost_micros,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn whatever_a_program_counts_is_a_usage() {
        let names = ["in", "out", "read", "written"];
        let counted = usage(&json!({"in": 1, "out": 2, "read": 30, "written": 400}), names, &json!(0.5));
        let expected = Usage {
            input_tokens: 431,
            output_tokens: 2,
            cached_tokens: 30,
            cache_written_tokens: 400,
            cost_micros: 500_000,
        };
        assert_eq!(counted, expected);
        let absurd = usage(&json!({"in": u64::MAX, "read": u64::MAX, "out": -1}), names, &json!(1e300));
        assert_eq!((absurd.input_tokens, absurd.output_tokens, absurd.cost_micros), (u64::MAX, 0, u64::MAX));
        assert_eq!(usage(&json!([]), names, &json!(-1)), Usage::default());
    }
}
