"""Every operation of the contract behind a permission, asked by those who lack it, have only it, have it elsewhere, and are nobody: on a
running server, where AuthorizationTests asks the server's parts."""

import re

import pytest
from attacks import tells_nothing_of_an_app
from operations import GUARDED, OPERATIONS, KeepAlive, ask, is_denied, name_of, sweep, target, try_out

PERMISSIONS = sorted({operation["x-permission"] for _, _, operation in GUARDED})


def holders(admin, beginning: str, held) -> dict[str, KeepAlive]:
    """For each permission a token of a role of its own."""
    made = {}
    for permission in PERMISSIONS:
        role = beginning + re.sub("[._]", "-", permission)
        admin.must("PUT", f"/v1/access/roles/{role}", {"permissions": sorted(held(permission))})
        made[permission] = KeepAlive(admin.holding(role))
    return made


@pytest.fixture(scope="module")
def lacking(admin):
    """For each permission a token that has all others on everything."""
    everything = {*PERMISSIONS, "guard_rails.override", "protection.weaken"}
    return holders(admin, "lacks-", lambda permission: everything - {permission})


@pytest.fixture(scope="module")
def having(admin):
    """For each permission a token that has it on everything, and sees apps."""
    return holders(admin, "has-", lambda permission: {permission, "apps.read"})


def test_an_operation_is_refused_to_a_token_that_lacks_only_its_permission(admin, lacking):
    with sweep(admin) as offenders:
        for one in GUARDED:
            with offenders.of(one):
                permission = one[2]["x-permission"]
                answer = try_out(lacking[permission], one)
                if permission == "apps.read" and one[2]["x-permission-on"] == "app":
                    # Without it there is no app.
                    assert (answer.status, answer.json["type"]) == (404, "/problems/app_unknown"), answer
                else:
                    assert is_denied(answer), answer
                    assert not answer.body or answer.json["permission"] == permission, answer


def test_an_operation_is_not_refused_to_a_token_that_has_only_its_permission(admin, having):
    with sweep(admin, records=True) as offenders:
        for one in GUARDED:
            with offenders.of(one):
                answer = try_out(having[one[2]["x-permission"]], one)
                # To take a protected host, or a client that is served, away is more than a change of the app.
                if name_of(one) in ("removeHost", "removeClient") and is_denied(answer):
                    assert answer.json["permission"] == "protection.weaken", answer
                    continue
                assert not is_denied(answer) and answer.status != 401, answer
                assert answer.status != 404 or answer.json["type"] != "/problems/app_unknown", answer


def test_an_app_outside_of_a_tokens_scope_is_answered_like_one_that_does_not_exist(admin, mine):
    with sweep(admin) as offenders:
        for one in GUARDED:
            if one[2]["x-permission-on"] == "app":
                with offenders.of(one):
                    tells_nothing_of_an_app(mine, one)


def test_an_operation_on_everything_is_refused_to_a_token_of_one_app(admin, mine):
    with sweep(admin) as offenders:
        for one in GUARDED:
            if one[2]["x-permission-on"] == "everywhere":
                with offenders.of(one):
                    answer = try_out(mine, one)
                    assert is_denied(answer), answer


def test_an_operation_is_refused_without_a_token_before_anything_is_read(admin):
    nobody = KeepAlive(admin, token=None)
    with sweep(admin) as offenders:
        for one in GUARDED:
            with offenders.of(one):
                answer = try_out(nobody, one)
                assert answer.status == 401, answer


def test_every_role_may_call_what_its_permissions_say_and_nothing_else(admin):
    roles = [role for role in admin.get("/v1/access/roles").json["roles"] if role["built_in"]]
    callers = [(role, KeepAlive(admin.holding(role["role"]))) for role in roles]
    with sweep(admin, records=True) as offenders:
        for role, caller in callers:
            for one in GUARDED:
                with offenders.of(one):
                    answer = try_out(caller, one)
                    assert is_denied(answer) != (one[2]["x-permission"] in role["permissions"]), f"{role['role']}: {answer}"


def test_only_the_sign_in_answers_operators_without_a_token(admin):
    """The table of these is in RouteTableTests.swift; this is what the running server does."""
    nobody = KeepAlive(admin, token=None)
    open_ones = set()
    with sweep(admin) as offenders:
        for one in OPERATIONS:
            if one[0].startswith(("/v1/", "/compat/wultra/admin/")):
                with offenders.of(one):
                    if ask(nobody, one, target(one[0]), {}).status != 401:
                        open_ones.add(name_of(one))
    assert open_ones == {"getSignIn", "signIn"}
