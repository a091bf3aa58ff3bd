import PinledgerServer

extension Settings {
    /// A program's TLS certificate, from the files that its settings name; nil for plain HTTP.
    ///
    /// - Parameter isApart: True where operators have an address of their own.
    func certificate(isApart: Bool) throws -> ServerCertificate? {
        let files = (self.text(.tlsCertificate), self.text(.tlsKey))
        // An edge has no operators.
        let authorities = self.program == .edge ? nil : self.text(.adminClientCAFile)
        switch files {
        case (nil, nil):
            guard authorities == nil else {
                let others = [Setting.tlsCertificate, .tlsKey].map { self.name(of: $0, as: .adminClientCAFile) }
                throw self.failure(
                    .adminClientCAFile, "is of no use without TLS",
                    advice: "Give \(others.joined(separator: " and ")) too.")
            }
            return nil
        case (let certificate?, let key?):
            guard authorities == nil || isApart else {
                let listen = self.name(of: .adminListen, as: .adminClientCAFile)
                throw self.failure(
                    .adminClientCAFile, "needs an address for operators: clients have no certificates",
                    advice: "Give \(listen), such as 10.0.0.5:8441.")
            }
            return try self.locating(.tlsCertificate) {
                do throws(ServerCertificate.Unusable) {
                    return try ServerCertificate(
                        certificateFile: certificate, keyFile: key, operatorAuthorities: authorities)
                } catch { throw CommandFailure(error.description, advice: error.advice) }
            }
        case (_?, nil): throw self.isAlone(.tlsCertificate, without: .tlsKey)
        case (nil, _?): throw self.isAlone(.tlsKey, without: .tlsCertificate)
        }
    }

    private func isAlone(_ setting: Setting, without other: Setting) -> CommandFailure {
        self.failure(
            setting,
            "and \(self.name(of: other, as: setting)) must be given together: a certificate serves with its key")
    }
}
