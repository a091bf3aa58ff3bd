"""Nodes beside a server's own, on its database."""

from pinledger import API, Process, free_port


def start_node(server, name: str, *options: str, database: str | None = None) -> tuple[Process, API]:
    port = free_port()
    arguments = ["serve", "--database", database or server.connection_string, "--listen", f"127.0.0.1:{port}", *options]
    node = Process(server.home / f"{name}.log", arguments, port, server.clock.environment if server.clock else None)
    server.nodes.append(node)
    api = API(port, server.api.token)
    node.spawn()
    node.wait_until(lambda: api.get("/readyz").status == 200)
    return node, api
