"""References to features: identity, paths, joins, cyclic modules."""

import copy
import unittest
from typing import Optional

from svc.features import Features, Primary, features, has_one
from svc._model.feature_class import FeatureClass
from svc._analysis.joins import resolve_joins
from svc._frames.conditions import Comparison


@features
class Bank:
    id: int
    name: str


@features
class Account:
    id: int
    bank_id: Bank.id
    bank: Bank
    user_id: "User.id"
    user: "User"


@features
class User:
    id: int
    # Names that could collide with attributes of the reference itself.
    path: str
    name: str
    account: "Account | None"


def joins_of(*classes):
    found = []
    joins = resolve_joins([cls.__svc_features__ for cls in classes], found.append)
    pairs = {field.fqn: [(local.fqn, foreign.fqn) for local, foreign in join.pairs] for field, join in joins.items()}
    return pairs, [(finding.code, finding.message) for finding in found]


class References(unittest.TestCase):
    def test_interned(self):
        self.assertIs(User.account.bank.name, User.account.bank.name)
        self.assertIs(User.id, User.id)

    def test_paths(self):
        self.assertEqual(str(User.account.bank.name), "user.account.bank.name")
        self.assertEqual(repr(User.account.bank.name), "User.account.bank.name")
        self.assertEqual(str(User.account.user.account.bank.id), "user.account.user.account.bank.id")
        self.assertEqual(str(User.path), "user.path")

    def test_keys_of_a_dict(self):
        values = {User.id: 1, User.account.bank.name: 2, Bank.name: 3}
        self.assertEqual((values[User.id], values[User.account.bank.name], values[Bank.name]), (1, 2, 3))
        self.assertIn(User.id, [User.name, User.id])
        self.assertNotIn(Bank.id, [User.name, User.id])

    def test_identity_is_structural(self):
        self.assertTrue(User.id == User.id)
        self.assertFalse(User.id == Bank.id)
        self.assertTrue(User.id != Bank.id)
        self.assertFalse(User.id != User.id)

    def test_no_truth_value(self):
        for expression in (User.id, User.id == 1, User.id != "x", User.id == None, (User.id == Bank.id) & (User.name == Bank.name)):  # noqa: E711
            with self.assertRaises(TypeError):
                bool(expression)

    def test_comparison_with_what_is_no_value(self):
        self.assertFalse(User.id == int)
        self.assertFalse(User.id == object())
        self.assertIsInstance(User.id == 5, Comparison)

    def test_cannot_be_called_iterated_or_subscripted(self):
        with self.assertRaises(TypeError):
            User.id()
        with self.assertRaises(TypeError):
            list(User.id)

    def test_unknown_features(self):
        with self.assertRaisesRegex(AttributeError, "Bank has no feature 'nam'; did you mean 'name'"):
            User.account.bank.nam
        with self.assertRaisesRegex(AttributeError, "User.name is a value, not a relation: it has no feature 'x'"):
            User.name.x
        with self.assertRaises(AttributeError):
            User.nmae

    def test_in_annotations(self):
        self.assertEqual(Optional[User.id], User.id | None)
        self.assertEqual(Optional[User.id], None | User.id)
        self.assertEqual(Optional[User.id].__args__, (User.id, type(None)))
        self.assertEqual(Primary[User.id].__origin__, User.id)
        self.assertEqual(repr(Features[User.id, Bank] - User.name), "Features[User.id, Bank] - User.name")

    def test_copies_are_the_same(self):
        self.assertIs(copy.deepcopy(User.id), User.id)
        self.assertIs(copy.copy(User.id), User.id)


class Joins(unittest.TestCase):
    def test_foreign_key_here_and_back_reference(self):
        pairs, found = joins_of(Bank, Account, User)
        self.assertEqual(found, [])
        self.assertEqual(
            pairs,
            {
                "account.bank": [("account.bank_id", "bank.id")],
                "account.user": [("account.user_id", "user.id")],
                "user.account": [("user.id", "account.user_id")],
            },
        )

    def test_foreign_key_takes_the_type(self):
        kind = Account.__svc_features__.fields["bank_id"].type
        self.assertEqual(kind.dtype, {"primitive": "PRIMITIVE_TYPE_INT64"})
        self.assertIs(kind.references, Bank.id)

    def test_of_several_keys_the_one_named_for_the_relation(self):
        @features
        class Port:
            code: Primary[str]

        @features
        class Leg:
            id: int
            start_code: Port.code
            end_id: Port.code
            start: Port
            end: Port

        pairs, found = joins_of(Port, Leg)
        self.assertEqual(found, [])
        self.assertEqual(pairs, {"leg.start": [("leg.start_code", "port.code")], "leg.end": [("leg.end_id", "port.code")]})

    def test_several_keys_on_the_other_side(self):
        @features
        class Person:
            id: int
            passport: "Passport"

        @features
        class Passport:
            id: int
            issuer_id: Person.id
            person_id: Person.id

        pairs, found = joins_of(Person, Passport)
        self.assertEqual(found, [])
        self.assertEqual(pairs, {"person.passport": [("person.id", "passport.person_id")]})

    def test_shared_primary_key(self):
        @features
        class Whole:
            id: int
            part: "Part"

        @features
        class Part:
            whole_id: Primary[Whole.id]
            other: "Whole.id"
            whole: Whole

        pairs, found = joins_of(Whole, Part)
        self.assertEqual(found, [])
        self.assertEqual(pairs["part.whole"], [("part.whole_id", "whole.id")])
        self.assertEqual(pairs["whole.part"], [("whole.id", "part.whole_id")])

    def test_primary_key_decides_when_no_name_does(self):
        @features
        class Root:
            id: int

        @features
        class Twig:
            key: Primary[Root.id]
            second: Root.id
            above: Root

        self.assertEqual(joins_of(Root, Twig), ({"twig.above": [("twig.key", "root.id")]}, []))

    def test_mirror_of_an_explicit_join(self):
        @features
        class Shop:
            id: int
            town: str
            street: str
            address: "Address" = has_one(lambda: (Address.town == Shop.town) & (Shop.street == Address.street))

        @features
        class Address:
            id: int
            town: str
            street: str
            shop: "Shop | None"

        pairs, found = joins_of(Shop, Address)
        self.assertEqual(found, [])
        self.assertEqual(pairs["shop.address"], [("shop.town", "address.town"), ("shop.street", "address.street")])
        self.assertEqual(pairs["address.shop"], [("address.town", "shop.town"), ("address.street", "shop.street")])

    def test_a_class_related_to_itself(self):
        @features
        class Node:
            id: int
            parent_id: "Node.id | None"
            parent: "Node | None"
            twin_id: "int | None"
            twin: "Node | None" = has_one(lambda: Node.id == Node.twin_id)

        pairs, found = joins_of(Node)
        self.assertEqual(found, [])
        self.assertEqual(pairs, {"node.parent": [("node.parent_id", "node.id")], "node.twin": [("node.twin_id", "node.id")]})

    def test_enum_and_its_base_can_be_joined(self):
        from enum import Enum

        class Colour(Enum):
            RED = "red"

        @features
        class Paint:
            colour: Primary[Colour]

        @features
        class Wall:
            id: int
            tone: str
            paint: Paint = has_one(lambda: Wall.tone == Paint.colour)

        self.assertEqual(joins_of(Paint, Wall)[1], [])


class CyclicModules(unittest.TestCase):
    def test_names_imported_for_type_checkers_only(self):
        from cyclic import accounts, cards, users

        user: FeatureClass = users.User.__svc_features__
        self.assertIs(user.fields["account"].type.target, accounts.Account.__svc_features__)
        self.assertIs(user.fields["account_id"].type.references, accounts.Account.id)
        self.assertTrue(user.fields["account_id"].type.nullable)
        self.assertIs(user.fields["level"].type.python_type, accounts.Level)
        self.assertEqual(str(users.User.account.user.level), "user.account.user.level")
        pairs, found = joins_of(users.User, accounts.Account, cards.Card)
        self.assertEqual(found, [])
        self.assertEqual(pairs["user.card"], [("user.id", "card.holder")])
        self.assertEqual(pairs["user.account"], [("user.account_id", "account.id")])


if __name__ == "__main__":
    unittest.main()
