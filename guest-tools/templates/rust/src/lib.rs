palisade_tool::tool! {
    /// Greets someone by name.
    #[tool(needs = [], read_only = true, idempotent = true)]
    pub fn {{tool}}(
        /// Who to greet.
        name: String,
        /// How often; once if this is left out.
        times: Option<usize>,
    ) -> Result<String, palisade_tool::Failure> {
        Ok(vec![format!("Hello, {name}!"); times.unwrap_or(1)].join("\n"))
    }
}
