//! How a run ends: every way has a type, and none of them loses what was done.

use thiserror::Error;

use crate::{Ending, ProviderError, Spent, StoreError};

/// How a run ended without an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The model's answer.
    Answered(String),
    /// There is nothing left of the budget.
    Spent(Spent),
    /// The model did nothing but repeat itself.
    Circling,
    /// It was ended from outside.
    Cancelled,
}

/// Why a run could not go on; for the user.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RunError {
    /// The provider gave no reply. The run can be resumed.
    #[error("no reply from {0}")]
    Provider(ProviderError),
    /// The answer does not have the form it should have, however often it was asked for.
    #[error("the answer does not fit the schema: {faults}")]
    Unfit {
        /// What is wrong with it.
        faults: String,
    },
    /// There is a budget for costs, but nobody counts them.
    #[error(
        "there is a limit on what the run may cost, but no price is known for {provider}; \
         set `price` for the model in the configuration, or take the limit away"
    )]
    CostUnknown {
        /// The provider's name.
        provider: String,
    },
    /// What was done could not be written down, so nothing more was done. What was written stays.
    #[error("the run stopped because it could not be written down: {0}")]
    Unwritten(StoreError),
}

/// Why the loop does not go on.
pub(super) enum Stop {
    Answered(String),
    Spent(Spent),
    Circling,
    Cancelled,
    Failed(ProviderError),
    Unfit(String),
    CostUnknown { provider: String },
    Unwritten(StoreError),
}

impl From<Spent> for Stop {
    fn from(spent: Spent) -> Self {
        Self::Spent(spent)
    }
}

impl Stop {
    pub(super) fn ending(&self) -> Ending {
        match self {
            Self::Answered(_) => Ending::Answered,
            Self::Spent(spent) => Ending::Spent(*spent),
            Self::Circling => Ending::Circling,
            Self::Cancelled => Ending::Cancelled,
            Self::Failed(error) => Ending::Failed(error.to_string()),
            Self::Unfit(faults) => Ending::Unfit(faults.clone()),
            Self::CostUnknown { provider } => {
                Ending::Failed(RunError::CostUnknown { provider: provider.clone() }.to_string())
            }
            Self::Unwritten(error) => Ending::Unwritten(error.to_string()),
        }
    }

    pub(super) fn outcome(self) -> Result<Outcome, RunError> {
        match self {
            Self::Answered(text) => Ok(Outcome::Answered(text)),
            Self::Spent(spent) => Ok(Outcome::Spent(spent)),
            Self::Circling => Ok(Outcome::Circling),
            Self::Cancelled => Ok(Outcome::Cancelled),
            Self::Failed(error) => Err(RunError::Provider(error)),
            Self::Unfit(faults) => Err(RunError::Unfit { faults }),
            Self::CostUnknown { provider } => Err(RunError::CostUnknown { provider }),
            Self::Unwritten(error) => Err(RunError::Unwritten(error)),
        }
    }
}
