#if Geo
    import CMaxMind
    import Foundation
    import Glibc

    /// A file in MaxMind's format, as libmaxminddb reads it: a copy in memory that no other process can write to.
    @safe final class CountryFile: Sendable {
        // @safe class and nonisolated(unsafe), invariant: between `init` and `deinit` nothing writes to the memory
        // behind the pointer. libmaxminddb only reads it in look-ups, and keeps its results on its caller's stack.
        private nonisolated(unsafe) let handle: UnsafeMutablePointer<MMDB_s>

        init(_ path: String) throws(CountryDatabase.Failure) {
            let handle = try unsafe Self.open(path)
            unsafe self.handle = handle
            let type = unsafe String(cString: handle.pointee.metadata.database_type)
            guard ["Country", "City", "Enterprise"].contains(where: type.contains) else {
                // All members are set: deinit closes it.
                throw .withoutCountries(type.count > 100 ? String(type.prefix(100)) : type)
            }
        }

        deinit {
            unsafe MMDB_close(self.handle)
            unsafe self.handle.deallocate()
        }

        /// libmaxminddb maps the file that it opens, and a mapped file that is shortened ends the process that reads
        /// it. So it is given a copy without a name.
        private static func open(_ path: String) throws(CountryDatabase.Failure) -> UnsafeMutablePointer<MMDB_s> {
            let data: Data
            do { data = try Data(contentsOf: URL(fileURLWithPath: path)) } catch {
                throw .unreadable("\(path): \(error.localizedDescription)")
            }
            let descriptor = pinledger_file_in_memory()
            guard descriptor >= 0 else { throw .unreadable("no memory for \(path)") }
            defer { close(descriptor) }
            do { try FileHandle(fileDescriptor: descriptor, closeOnDealloc: false).write(contentsOf: data) } catch {
                throw .unreadable("no memory for \(path)")
            }
            let handle = UnsafeMutablePointer<MMDB_s>.allocate(capacity: 1)
            let status = unsafe MMDB_open("/proc/self/fd/\(descriptor)", UInt32(MMDB_MODE_MMAP), handle)
            guard status == MMDB_SUCCESS else {
                unsafe handle.deallocate()
                throw .unreadable(unsafe "\(path): \(String(cString: MMDB_strerror(status)))")
            }
            return unsafe handle
        }

        func country(of address: [UInt8]) -> String? {
            switch address.count {
            case 4:
                var socket = sockaddr_in()
                socket.sin_family = sa_family_t(AF_INET)
                unsafe withUnsafeMutableBytes(of: &socket.sin_addr) { unsafe $0.copyBytes(from: address) }
                return self.country(at: socket)
            case 16:
                var socket = sockaddr_in6()
                socket.sin6_family = sa_family_t(AF_INET6)
                unsafe withUnsafeMutableBytes(of: &socket.sin6_addr) { unsafe $0.copyBytes(from: address) }
                return self.country(at: socket)
            default: return nil
            }
        }

        /// - Parameter socket: One of the structures that a `sockaddr` may be.
        private func country<Socket>(at socket: Socket) -> String? {
            unsafe withUnsafePointer(to: socket) { pointer in
                unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                    var status: CInt = 0
                    var result = unsafe MMDB_lookup_sockaddr(self.handle, pointer, &status)
                    guard status == MMDB_SUCCESS, unsafe result.found_entry else { return nil }
                    return unsafe Self.code(&result.entry)
                }
            }
        }

        /// `country.iso_code` of an entry, where it is a country's code.
        private static func code(_ entry: inout MMDB_entry_s) -> String? {
            var value = unsafe MMDB_entry_data_s()
            let status = unsafe "country".withCString { country in
                unsafe "iso_code".withCString { code in
                    unsafe MMDB_aget_value(&entry, &value, [country, code, nil])
                }
            }
            guard status == MMDB_SUCCESS, let text = unsafe pinledger_entry_text(&value),
                unsafe value.data_size == 2
            else {
                return nil
            }
            let letters = unsafe UnsafeBufferPointer(start: text, count: 2).map { UInt8(bitPattern: $0) }
            guard letters.allSatisfy({ (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }) else { return nil }
            return String(decoding: letters, as: UTF8.self)
        }
    }
#else
    /// Replaces a file where there is no library to read it with: it never exists.
    struct CountryFile: Sendable {
        init(_ path: String) throws(CountryDatabase.Failure) { throw .notBuilt }

        func country(of address: [UInt8]) -> String? { nil }
    }
#endif
