//! Words of a question that are not worth a search.

/// Whether a word says how a question is asked, not what it is about.
pub(super) fn is_stop(word: &str) -> bool {
    STOP.contains(&word)
}

/// Whether a word says something only beside another: `exit code`, but not `the code`.
pub(super) fn is_soft(word: &str) -> bool {
    SOFT.contains(&word)
}

#[rustfmt::skip]
const STOP: &[&str] = &[
    "about", "across", "actually", "after", "afterwards", "again", "against", "all", "along", "also", "always", "am", "an",
    "and", "another", "any", "anything", "are", "around", "as", "at", "away", "be", "because", "become", "becomes", "been",
    "before", "behind", "being", "between", "both", "but", "by", "came", "can", "cannot", "come", "comes", "could", "define", "defined", "defines", "describe",
    "did", "do", "does", "doing", "done", "down", "during", "each", "either", "else", "ever", "every", "everything", "exactly",
    "exist", "exists", "explain", "find", "for", "from", "get", "gets", "getting", "give", "given", "gives", "go", "goes", "had",
    "happen", "happens", "has", "have", "help", "here", "how", "however", "if", "implement", "implemented", "in", "inside",
    "instead", "into", "is", "it", "its", "itself", "just", "keep", "keeps", "kept", "know", "known", "knows", "let", "lets",
    "like", "locate", "look", "made", "make", "makes", "making", "many", "may", "maybe", "me", "mean", "means", "might", "mine",
    "more", "most", "much", "must", "my", "need", "needs", "neither", "never", "no", "nor", "not", "nothing", "now", "of", "off",
    "often", "on", "once", "one", "only", "or", "organised", "organized", "other", "others", "our", "out", "own", "please",
    "put", "puts", "quite", "rather", "really", "see", "seem", "seems", "seen", "shall", "she", "should", "show", "shown",
    "since", "so", "some", "somehow", "something", "somewhere", "still", "such", "summarise", "summarize", "take", "taken",
    "takes", "tell", "than", "that", "the", "their", "them", "then", "there", "these", "they", "thing", "things", "this",
    "those", "though", "through", "thus", "to", "too", "toward", "towards", "tries", "try", "under", "until", "up", "upon", "us",
    "use", "used", "uses", "using", "very", "via", "want", "wants", "was", "way", "ways", "we", "were", "what", "when", "where",
    "whether", "which", "while", "who", "whom", "whose", "why", "will", "with", "within", "without", "work", "working", "works",
    "would", "yet", "you", "your",
];

const SOFT: &[&str] = &[
    "code",
    "codebase",
    "codes",
    "definition",
    "definitions",
    "ensure",
    "ensures",
    "list",
    "overview",
    "place",
    "places",
    "prevent",
    "prevents",
    "project",
    "repo",
    "repository",
    "stops",
    "structure",
    "structured",
];
