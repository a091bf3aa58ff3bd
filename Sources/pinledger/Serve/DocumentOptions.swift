import ArgumentParser

/// How long documents are valid, and how long caches keep them.
struct DocumentOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "How long a signed document is valid. Default: 86400. [env: PINLEDGER_DOCUMENT_LIFETIME]",
            valueName: "seconds"))
    var documentLifetime: Int64?

    @Option(
        help: ArgumentHelp(
            "How long caches may keep a document before asking again; at most half of --document-lifetime. Default: 60. [env: PINLEDGER_DOCUMENT_MAX_AGE]",
            valueName: "seconds"))
    var documentMaxAge: Int?

    @Option(
        help: ArgumentHelp(
            "How long caches may go on serving what they have while this server fails, and a document no longer than it is valid; 0 for not at all. Default: 3600. [env: PINLEDGER_STALE_IF_ERROR]",
            valueName: "seconds"))
    var staleIfError: Int?
}
