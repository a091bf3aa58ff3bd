"""The contract makes a client that works: generators of others read it whole, and what they make talks to a server.

The two take 45 processor seconds. At each landing Tests/Lint/test_contract.py names the schemas at which they are known to fail.
"""

import pytest
from contract import answers, operations, resolved
from made_clients import OpenAPIGenerator, OpenAPIPythonClient, snake
from names import unique
from pinledger import host_body

pytestmark = pytest.mark.daily


@pytest.fixture(
    scope="module",
    params=[(OpenAPIPythonClient, "/openapi.yaml"), (OpenAPIGenerator, "/openapi.json")],
    ids=["openapi-python-client", "openapi-generator"],
)
def client(request, server, tmp_path_factory):
    """A client made of the contract as the server serves it, for an administrator."""
    generator, contract = request.param
    directory = tmp_path_factory.mktemp("generated")
    file = directory / contract.removeprefix("/")
    file.write_bytes(server.api.must("GET", contract).body)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(directory)
        made = generator(file, directory)
    made.connect(f"http://127.0.0.1:{server.api.port}", server.api.token)
    return made


def test_a_generated_client_has_every_operation_of_the_contract(client):
    assert client.complaints == []
    assert client.operations.keys() == {snake(operation["operationId"]) for _, _, operation in operations()}


def test_a_generated_client_reads_every_example_of_an_answer(client):
    kinds = {
        (operation["operationId"], status): next(kind for kind in resolved(response)["content"] if "json" in kind)
        for _, _, operation in operations() for status, response in operation["responses"].items()
        if any("json" in kind for kind in resolved(response).get("content", {}))
    }  # fmt: skip
    unread = []
    for operation, status, name, _, value in answers():
        try:
            found = client.read(snake(operation), status, kinds[operation, status], value)
            error = "nothing" if found is None else None
        except Exception as raised:
            error = f"{type(raised).__name__}: {raised}"[:500]
        if error:
            unread.append(f"{operation} {status} {name}: {error}")
    assert unread == [], "\n".join(unread)


def test_a_generated_client_lists_apps_and_changes_them(client, server):
    app, host = unique("com.example.generated-"), f"{unique('h')}.example.com"
    new = client.model("NewApp", {"app": app, "display_name": "Shop"})

    status, rehearsal, _ = client.call("create_app", body=new, dry_run=True)
    assert status == 200 and rehearsal.dry_run and server.api.request("GET", f"/v1/apps/{app}").status == 404
    status, recorded, etag = client.call("create_app", body=new, plan_hash=rehearsal.plan_hash)
    assert status == 201 and not recorded.dry_run and recorded.events

    added = client.model("NewHost", host_body(host) | {"reason": "a first host"})
    status, recorded, later = client.call("add_host", app, body=added, if_match=etag)
    assert status == 201 and recorded.stream == f"app/{app}" and later != etag
    # The tag from before is refused, in a form that the client reads.
    status, problem, _ = client.call("update_app", app, body=client.model("AppUpdate", {"display_name": "Store"}), if_match=etag)
    assert status == 412 and problem.to_dict()["type"] == "/problems/stale_version"
    status, recorded, _ = client.call("update_app", app, body=client.model("AppUpdate", {"display_name": "Store"}), if_match=later)
    assert status == 200 and not recorded.dry_run and len(recorded.events) == 1

    listed, options = {}, {"limit": 1000}
    while options:
        status, page, _ = client.call("list_apps", **options)
        assert status == 200
        listed |= {one.app: one for one in page.apps}
        options = {"limit": 1000, "cursor": page.next_cursor} if page.next_cursor else {}
    assert listed[app].display_name == "Store" and listed[app].host_count == 1
    shown = server.api.must("GET", f"/v1/apps/{app}/hosts/{host}").json
    assert shown["baseline"]["mode"] == "enforce" and len(shown["baseline"]["pins"]) == 2
