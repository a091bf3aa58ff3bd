import Publishing

extension Settings {
    /// The keys that documents are verified with.
    var trustedKeys: TrustedKeys {
        get throws {
            guard let file = self.text(.trustedKeys) else {
                throw CommandFailure(
                    "no trusted keys are given",
                    advice:
                        "Save /client/v1/root.json, or /client/v1/jwks.json, of a server that you trust in a file, compare the keys with `pinledger key list` there, and give the file with --trusted-keys.",
                    status: .usage)
            }
            return try self.locating(.trustedKeys) {
                do throws(TrustedKeys.Unusable) { return try TrustedKeys(file: file) } catch {
                    throw CommandFailure(error.description, advice: error.advice, status: .usage)
                }
            }
        }
    }
}
