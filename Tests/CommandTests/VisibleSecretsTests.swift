import Testing

@testable import pinledger

@Suite struct `Secrets in arguments` {
    private static let token = "pk_adm_zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq17"

    @Test(arguments: [
        ["serve", "--database", "host=db user=app password=secret"], ["serve", "--database=password='s x' host=db"],
        ["serve", "--database", "postgresql://app:secret@db/pinledger"], ["fsck", "--database", "postgres://a:b@/x"],
        ["migrate", "--database", "postgresql://db/pinledger?user=app&password=secret"],
    ])
    func `a password of the database is warned of, and not repeated`(arguments: [String]) {
        let warnings = VisibleSecrets.warnings(of: arguments)
        #expect(warnings.count == 1)
        #expect(warnings.first?.contains("PINLEDGER_DATABASE") ?? false)
        #expect(!warnings.joined().contains("secret"))
    }

    @Test(arguments: [
        ["token", "verify", token], ["app", "list", "--token-file=\(token)"], ["x", "Bearer \(token)"],
    ])
    func `a token is warned of, and not repeated`(arguments: [String]) {
        let warnings = VisibleSecrets.warnings(of: arguments)
        #expect(warnings.count == 1)
        #expect(!warnings.joined().contains(Self.token))
    }

    @Test(arguments: [
        ["serve", "--database", "host=db user=app passfile=/etc/pinledger/pgpass"],
        ["serve", "--database", "password="],
        ["serve", "--database", "postgresql://app@db:5432/pinledger"],
        ["inspect", "key", "--password-file", "password"],
        ["app", "update", "x", "--reason", "new password, see https://wiki.example.com:443/a@b"],
        ["history", "--search", "pk_adm_zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq18"],
        ["token", "show", "tok_zQWBuTSOoRi4A9sp"],
    ])
    func `nothing else is warned of`(arguments: [String]) { #expect(VisibleSecrets.warnings(of: arguments).isEmpty) }
}
