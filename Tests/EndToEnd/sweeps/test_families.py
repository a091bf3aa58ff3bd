"""Families of attacks over every operation of the contract, so that a new operation is covered by being there. test_attack_families.py
has one operation of each kind, and PathSpellingTests and ExplodingBodiesTests in Swift have every value."""

from attacks import (
    reaches_no_other_operation, refuses_bodies_that_explode, shows_no_markup, steps_out, takes_a_quote_for_a_value,
    takes_no_other_spelling_for_an_app, takes_no_other_spelling_for_an_id, variants,
)  # fmt: skip
from contract import resolved
from operations import MINE, ON_APPS, OPERATIONS, OTHERS, WITH_BODY, WITH_PARAMETERS, handle_names, is_operators, parameters_of, sweep


def test_another_spelling_of_an_app_is_no_app(admin, mine):
    with sweep(admin) as offenders:
        for one in ON_APPS:
            for app in (MINE, OTHERS):
                with offenders.of(one):
                    takes_no_other_spelling_for_an_app([admin, mine], one, app, variants(app))


def test_another_spelling_of_an_id_names_nothing(admin, handles):
    with sweep(admin) as offenders:
        for one in WITH_PARAMETERS:
            for name in handle_names(one) if is_operators(one) else []:
                with offenders.of(one):
                    takes_no_other_spelling_for_an_id(admin, handles, one, name, variants(handles[name]))


def test_a_path_out_of_its_place_reaches_no_other_operation(admin):
    with sweep(admin) as offenders:
        for one in WITH_PARAMETERS:
            for name in parameters_of(one):
                with offenders.of(one):
                    reaches_no_other_operation(admin, one, name, steps_out())


def test_a_body_that_explodes_is_refused(admin):
    with sweep(admin) as offenders:
        for one in WITH_BODY:
            with offenders.of(one):
                refuses_bodies_that_explode(admin, one)


def test_a_quote_in_a_query_is_a_value_or_refused(admin):
    with sweep(admin) as offenders:
        for one in OPERATIONS:
            if one[1] == "get" and is_operators(one):
                for parameter in map(resolved, one[2].get("parameters", [])):
                    if parameter["in"] == "query":
                        with offenders.of(one):
                            takes_a_quote_for_a_value(admin, one, parameter["name"])


def test_markup_is_never_part_of_a_page(admin):
    with sweep(admin) as offenders:
        for one in OPERATIONS:
            if one[1] == "get":
                with offenders.of(one):
                    shows_no_markup(admin, one)
