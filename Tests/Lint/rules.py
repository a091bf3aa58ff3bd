"""How end-to-end tests are written: what makes them depend on the clock, on one another, on the machine or on the network.

Each rule takes a source and gives the lines that break it. test_tests.py has a source for each.
"""

import ast
import functools
import ipaddress
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

#: A limit is for what never comes: a machine that is busy takes a minute for what is done in a second elsewhere.
SHORTEST_LIMIT = 120
#: A test that is held up for minutes still comes before the end of it.
SHORTEST_LIFE = 600
SECONDS = {"seconds": 1, "minutes": 60}
#: Methods that change what they are called on.
CHANGING = {
    "add", "append", "appendleft", "clear", "discard", "extend", "insert", "pop", "popitem", "popleft", "remove", "setdefault", "update",
}  # fmt: skip
#: Calls that open a connection or wait for one: the address that they are given is an address of this machine.
CONNECTING = {"HTTPConnection", "HTTPSConnection", "bind", "connect", "create_connection", "create_server", "open_connection", "urlopen"}
#: Programs whose purpose is to fetch something.
FETCHING = {"apt-get", "debootstrap", "pip", "pip3", "git clone", "wget", "npm", "docker"}
DOCUMENTATION = [ipaddress.ip_network(text) for text in ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32")]
#: An address that stands by itself or in a URL: four numbers elsewhere are a version.
ADDRESS = re.compile(r"(?:^|//|@|(?<=[\s,;(\[]))(\d{1,3}(?:\.\d{1,3}){3})(?=$|[:/\s,;)\]])")


@dataclass
class Source:
    name: str
    text: str

    @functools.cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @functools.cached_property
    def lines(self) -> list[str]:
        return self.text.splitlines()

    @property
    def has_tests(self) -> bool:
        return Path(self.name).name.startswith("test_")

    @functools.cached_property
    def nodes(self) -> list[ast.AST]:
        return list(ast.walk(self.tree))

    def walk(self, *kinds: type) -> Iterator:
        return (node for node in self.nodes if isinstance(node, kinds))

    def says(self, node: ast.AST, word: str) -> bool:
        """A comment `# word: reason` on the lines of a statement, or on the one before."""
        around = self.lines[max(node.lineno - 2, 0) : node.end_lineno]
        return any(re.search(rf"# {word}: \w+ \w+", line) for line in around)

    def runs_daily(self) -> bool:
        """Marked as a whole, or by its folder: it does not run at landing."""
        marks = [node.value for node in self.tree.body if isinstance(node, ast.Assign) and named(node.targets[0]) == "pytestmark"]
        return "sweeps" in Path(self.name).parts or any("daily" in ast.unparse(mark) for mark in marks)

    def at_landing(self) -> Iterator[ast.AST]:
        """Everything but what stands in tests that run daily, and texts that say what something is for."""
        waiting: list[ast.AST] = [] if self.runs_daily() else [self.tree]
        while waiting:
            node = waiting.pop()
            yield node
            body = getattr(node, "body", None)
            texts = {id(node.body[0])} if isinstance(body, list) and body and is_text(body[0]) else set()
            waiting += [
                child for child in ast.iter_child_nodes(node)
                if id(child) not in texts and not any("daily" in ast.unparse(mark) for mark in getattr(child, "decorator_list", []))
            ]  # fmt: skip


def is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def named(node: ast.AST) -> str:
    """The last word of a name: `sleep` of `time.sleep`."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def number(node: ast.AST | None) -> float | None:
    """The value of a number that is written out."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = number(node.operand)
        return None if value is None else -value
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
        return node.value
    return None


def calls(source: Source, name: str) -> Iterator[ast.Call]:
    return (call for call in source.walk(ast.Call) if named(call.func) == name)


def sleeps(source: Source) -> Iterator[int]:
    """A pause in a test. `# sleeps: reason` beside it says why nothing can be waited for."""
    if source.has_tests:
        yield from (call.lineno for call in calls(source, "sleep") if not source.says(call, "sleeps"))


def short_lives(source: Source) -> Iterator[int]:
    """An end that is near on a clock that nobody moves. `# ends: reason` beside it says why it does not matter when."""
    for call in source.walk(ast.Call):
        if isinstance(call.func, ast.Name) and call.func.id == "from_now":
            values = [(interval.arg, number(interval.value)) for interval in call.keywords]
            if any(value is None for _, value in values):
                is_short = all(unit == "seconds" for unit, _ in values)
            else:
                # A life that ended before it began has no end to wait for.
                is_short = 0 < sum(value * SECONDS.get(unit, SHORTEST_LIFE) for unit, value in values) < SHORTEST_LIFE
            if is_short and not source.says(call, "ends"):
                yield call.lineno


def positions(source: Source) -> Iterator[int]:
    """A position of the ledger that has to be a certain one: what the server records by itself counts too."""
    for node in source.walk(ast.Compare):
        if any(isinstance(operator, (ast.Eq, ast.NotEq)) for operator in node.ops):
            if any(isinstance(part, ast.Call) and named(part.func) == "position" for part in ast.walk(node)):
                yield node.lineno


def deadlines(source: Source) -> Iterator[int]:
    """A loop of its own where `eventually` waits."""
    if source.has_tests:
        for node in source.walk(ast.Assign, ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            is_instant = isinstance(node.value, ast.BinOp) and any(
                isinstance(part, ast.Call) and named(part.func) == "monotonic" for part in ast.walk(node.value)
            )
            if is_instant and isinstance(node.value.op, ast.Add) or any("deadline" in named(target) for target in targets):
                yield node.lineno


def limits(source: Source) -> Iterator[int]:
    """A limit that a busy machine meets. `# limit: reason` beside it says what ends there on purpose."""

    def is_short(node: ast.AST | None) -> bool:
        value = number(node)
        return value is not None and 0 < value < SHORTEST_LIMIT

    for call in source.walk(ast.Call):
        given = [word.value for word in call.keywords if word.arg == "timeout"]
        if named(call.func) == "eventually":
            given += [word.value for word in call.keywords if word.arg == "seconds"] + call.args[2:3]
        if named(call.func) in ("settimeout", "wait", "join"):
            given += call.args[:1]
        if named(call.func) == "create_connection":
            given += call.args[1:2]
        if any(is_short(value) for value in given) and not source.says(call, "limit"):
            yield call.lineno
    for function in source.walk(ast.FunctionDef):
        arguments = function.args
        placed = arguments.posonlyargs + arguments.args
        defaults = list(zip(placed[len(placed) - len(arguments.defaults) :], arguments.defaults))
        for argument, value in defaults + list(zip(arguments.kwonlyargs, arguments.kw_defaults)):
            if argument.arg == "timeout" and is_short(value) and not source.says(value, "limit"):
                yield value.lineno


def state(source: Source) -> Iterator[int]:
    """State that a test leaves behind for the next one: a retry alone, or another order, finds something else."""
    if Path(source.name).name == "conftest.py":
        return
    mutable = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
    made = {"list", "dict", "set", "defaultdict", "Counter", "deque", "OrderedDict", "bytearray"}
    there = set()
    for node in source.tree.body:
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            is_mutable = isinstance(node.value, mutable) or isinstance(node.value, ast.Call) and named(node.value.func) in made
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            there |= {target.id for target in targets if is_mutable and isinstance(target, ast.Name)}
    # Most files have neither.
    if not there and not any(source.walk(ast.Global)):
        return
    for function in source.walk(ast.FunctionDef, ast.AsyncFunctionDef):
        parts = list(ast.walk(function))
        own = {name.id for name in parts if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)}
        own |= {argument.arg for argument in parts if isinstance(argument, ast.arg)}
        outer = {name for node in parts if isinstance(node, ast.Global) for name in node.names}
        yield from (node.lineno for node in parts if isinstance(node, ast.Global))
        for node in parts:
            changed = None
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CHANGING:
                changed = node.func.value
            if isinstance(node, ast.Subscript) and isinstance(node.ctx, (ast.Store, ast.Del)):
                changed = node.value
            if isinstance(changed, ast.Name) and changed.id in there and changed.id not in own - outer:
                yield node.lineno


def imports(source: Source) -> Iterator[int]:
    """A helper that stands in a test file: a change of one file's tests changes another's."""
    for node in source.walk(ast.Import, ast.ImportFrom):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [name.name for name in node.names]
        if any(name.rpartition(".")[2].startswith("test_") for name in names):
            yield node.lineno


def is_of_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host in ("localhost", "")


def addresses(source: Source) -> Iterator[int]:
    """An address of the network, or a program that fetches something, where tests run at landing. Addresses of documentation are
    no one's, and `# address: reason` beside another says why nothing is sent there."""
    for node in source.at_landing():
        if isinstance(node, ast.Call) and named(node.func) in CONNECTING and node.args and not source.says(node, "address"):
            given = node.args[0].elts[0] if isinstance(node.args[0], ast.Tuple) and node.args[0].elts else node.args[0]
            if isinstance(given, ast.Constant) and isinstance(given.value, str):
                host = re.sub(r"^\w+://([^/:]+).*", r"\1", given.value)
                if not is_of_this_machine(host) and not host.startswith(("/", "\0")):
                    yield node.lineno
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found = [ipaddress.ip_address(text) for text in ADDRESS.findall(node.value) if all(int(part) < 256 for part in text.split("."))]
            is_outside = any(one.is_global and not any(one in known for known in DOCUMENTATION) for one in found)
            if (is_outside or node.value in FETCHING) and not source.says(node, "address"):
                yield node.lineno


def uses(name: str) -> Callable[[Source], Iterator[int]]:
    """A function that is there no more."""

    def rule(source: Source) -> Iterator[int]:
        yield from (call.lineno for call in source.walk(ast.Call) if isinstance(call.func, ast.Name) and call.func.id == name)
        for node in source.walk(ast.ImportFrom):
            yield from (node.lineno for one in node.names if one.name == name)

    return rule


def recordings(source: Source) -> Iterator[int]:
    """The whole history, read to count what was recorded: `mark` and `since` read what is new."""
    yield from (call.lineno for call in calls(source, "recorded") if isinstance(call.func, ast.Attribute) and not call.args)


RULES: dict[str, Callable[[Source], Iterator[int]]] = {
    "sleep": sleeps, "short life": short_lives, "position": positions, "deadline": deadlines, "limit": limits, "state": state,
    "import of a test": imports, "address": addresses, "unhurried": uses("unhurried"), "within": uses("within"), "recorded": recordings,
}  # fmt: skip
#: The way to write it instead, for each rule.
ADVICE = {
    "sleep": "wait with `eventually`, or move the clock; `# sleeps: reason` where neither can be",
    "short life": "take `clock.from_now(hours=1)` and `forward(hours=1)` of a server with a clock; `# ends: reason` where the end does not matter",
    "position": "take `mark = api.mark()` and `api.since(mark)`",
    "deadline": "wait with `eventually`",
    "limit": f"a limit is for what never comes: at least {SHORTEST_LIMIT} s, or `# limit: reason`",
    "state": "take a fixture",
    "import of a test": "move it to a file of helpers",
    "address": "talk to 127.0.0.1, mark the test as daily, or say `# address: reason`",
    "unhurried": "move the clock",
    "within": "compare the order of events or processor time, or mark the test as daily",
    "recorded": "take `mark = api.mark()` and `api.since(mark)`",
}
