"""The code for Apple's systems, type-checked against stand-ins of what it takes of them: Linux can do no more."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUILD = ROOT / ".build/debug"
# Without MemberImportVisibility: members of Foundation that Linux lacks come from the stand-in for Security.
FEATURES = ["ExistentialAny", "InternalImportsByDefault", "NonisolatedNonsendingByDefault", "InferIsolatedConformances"]


def swiftc(*arguments: str) -> str:
    """What the compiler says; nothing where it is content."""
    done = subprocess.run(["swiftc", "-swift-version", "6", *arguments], capture_output=True, text=True, timeout=600)
    return done.stderr + (f"ended with {done.returncode}" if done.returncode else "")


@pytest.fixture(scope="module")
def modules(tmp_path_factory) -> Path:
    """A directory with the stand-ins as modules."""
    directory = tmp_path_factory.mktemp("modules")
    for name in ("Security", "SwiftUI"):
        source = ROOT / f"Tests/AppleStandIns/{name}.swift"
        said = swiftc(
            "-emit-module", "-parse-as-library", "-module-name", name, "-emit-module-path", f"{directory}/{name}.swiftmodule", str(source))
        assert said == ""
    return directory


@pytest.fixture(scope="module")
def library(modules) -> Path:
    """The same directory with the library as it is on Apple's systems."""
    # The name by which the targets of this package know one another.
    (package,) = set(re.findall(r'"-module-name","PinledgerClient".*?"-package-name","([^"]*)"', (ROOT / ".build/debug.yaml").read_text()))
    sources = sorted(str(path) for path in (ROOT / "Sources/PinledgerClient").rglob("*.swift") if ".docc" not in str(path))
    said = swiftc(
        "-emit-module", "-module-name", "PinledgerClient", "-package-name", package, "-strict-memory-safety", "-warnings-as-errors",
        *(word for feature in FEATURES for word in ("-enable-upcoming-feature", feature)), "-I", str(modules), "-I", f"{BUILD}/Modules",
        "-emit-module-path", f"{modules}/PinledgerClient.swiftmodule", "-emit-symbol-graph", "-emit-symbol-graph-dir", str(modules), *sources,
    )  # fmt: skip
    assert said == ""
    return modules


def test_the_library_for_apples_systems_has_the_delegate_and_the_keychain(library):
    text = (library / "PinledgerClient.swiftmodule").read_bytes()
    assert all(name in text for name in (b"PinnedSessionDelegate", b"KeychainStore", b"URLSessionTransport"))


def test_the_documentation_has_no_broken_link_and_its_tutorial_compiles(library, tmp_path):
    catalog = ROOT / "Sources/PinledgerClient/PinledgerClient.docc"
    done = subprocess.run(
        ["docc", "convert", str(catalog), "--additional-symbol-graph-dir", str(library), "--fallback-display-name", "PinledgerClient",
         "--fallback-bundle-identifier", "PinledgerClient", "--output-path", str(tmp_path / "documentation")],
        capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    warnings = re.findall(r"^(?:warning|error): .*", done.stdout + done.stderr, re.MULTILINE)
    # A parameter whose name says everything has no words of its own.
    assert [line for line in warnings if "is missing documentation" not in line] == []
    assert (tmp_path / "documentation/data/tutorials/pinledgerclient/addpinstoanapp.json").exists()
    paths = ["-I", str(library), "-I", f"{BUILD}/Modules"]
    steps = sorted((catalog / "Resources").glob("*.swift"))
    assert len(steps) == 4
    for step in steps:
        source = tmp_path / step.name
        source.write_text("import FoundationNetworking\n" + step.read_text())
        said = swiftc("-typecheck", "-parse-as-library", "-module-name", "Step", *paths, str(source))
        assert said == "", step.name


def test_the_handbooks_example_for_ios_fits_the_library(library):
    page = (ROOT / "Sources/CHandbook/pages/client-library.md").read_text()
    (block,) = [code for code in re.findall(r"```swift\n(.*?)```", page, re.DOTALL) if "URLSessionTransport" in code]
    imports = [line for line in block.splitlines() if line.startswith("import ")]
    rest = [line for line in block.splitlines() if not line.startswith("import ")]
    example = library / "Example.swift"
    example.write_text(
        "\n".join([*imports, "import FoundationNetworking", "func example(keysThatShipWithTheApp: [UInt8], documentThatShipsWithTheApp: [UInt8], installID: InstallID) async throws {", *rest,
                   "_ = data", "}", ""]))  # fmt: skip
    paths = ["-I", str(library), "-I", f"{BUILD}/Modules"]
    assert swiftc("-typecheck", "-parse-as-library", "-warnings-as-errors", "-module-name", "Example", *paths, str(example)) == ""


def test_the_handbooks_example_of_an_event_compiles_outside_of_the_package(library):
    page = (ROOT / "Sources/CHandbook/pages/client-library.md").read_text()
    (block,) = [code for code in re.findall(r"```swift\n(.*?)```", page, re.DOTALL) if "switch event.outcome" in code]
    first, rest = block.split("\n", 1)
    assert first == "let tls = try PinnedTLS(client: client) { event in"
    example = library / "Event.swift"
    example.write_text(f"import PinledgerClient\nlet take: @Sendable (ConnectionEvent) -> Void = {{ event in\n{rest}")
    paths = ["-I", str(library), "-I", f"{BUILD}/Modules"]
    assert swiftc("-typecheck", "-warnings-as-errors", "-module-name", "Example", *paths, str(example)) == ""


def test_the_example_app_for_ios_fits_the_library(library):
    sources = [str(path) for path in sorted((ROOT / "deploy/example/ios").glob("*.swift"))]
    assert len(sources) == 2
    paths = ["-I", str(library), "-I", f"{BUILD}/Modules"]
    # What a type check leaves out: whether each value is there before it is used.
    assert swiftc("-emit-sil", "-wmo", "-o", "/dev/null", "-parse-as-library", "-warnings-as-errors", "-module-name", "Shop", *paths, *sources) == ""
    # A check that finds nothing wrong has to be able to.
    wrong = library / "Wrong.swift"
    wrong.write_text("import PinledgerClient\nfunc f(_ d: PinnedSessionDelegate) { d.nothing() }\n")
    assert "has no member 'nothing'" in swiftc("-typecheck", "-parse-as-library", "-module-name", "Shop", *paths, str(wrong))


def test_an_app_without_the_packages_settings_can_implement_each_protocol(library, tmp_path):
    source = tmp_path / "App.swift"
    source.write_text(
        """
        import PinledgerClient
        struct Own: ClientStore, DocumentTransport, ReportTransport, StreamTransport {
            func read() async throws -> [UInt8]? { nil }
            func write(_ bytes: [UInt8]) async throws {}
            func get(_ request: TransportRequest) async throws -> DocumentResponse { DocumentResponse(status: 404, body: []) }
            func post(_ request: TransportRequest) async throws -> Int { request.body.count }
            func stream(
                _ request: TransportRequest, take: @escaping @Sendable ([UInt8]) async throws -> Void
            ) async throws -> Int {
                try await take([])
                return 200
            }
        }
        """)
    paths = ["-I", str(library), "-I", f"{BUILD}/Modules"]
    assert swiftc("-typecheck", "-parse-as-library", "-warnings-as-errors", "-module-name", "App", *paths, str(source)) == ""
