/** A project with features of all shapes, whose values are known. */

/** Words that some language keeps for itself, or that its objects have already; all are features. */
const WORDS =
  "abstract any async boolean break case catch chan class const continue default do double else enum error export fallthrough final float64 func function get_class go hash_code int64 interface let map native new notify null object package private range select static string struct super switch synchronized this throw to_string type typeof var void wait yield".split(
    " ",
  );
/** Those of Python, which are names of features all the same. */
const PYTHON_WORDS = ["async", "break", "class", "continue", "else", "yield"];

/** Their names in queries, each with its value. */
export const WORD_VALUES: Readonly<Record<string, number>> = Object.fromEntries(WORDS.map((word, at) => [`word.${word}`, at]));

const words = WORDS.map((word, at) =>
  PYTHON_WORDS.includes(word) ? `    ${word}_: int = feature(name="${word}", default=${at})` : `    ${word}: int = feature(default=${at})`,
);

const wide = Array.from({ length: 1000 }, (_, at) => {
  const type = ["int", "float", "str", "bool | None", "datetime | None"][at % 5];
  const value = ["0", "0.5", '"x"', "None", "None"][at % 5];
  return `    feature_number_${at}: ${type} = feature(default=${value})`;
});

/** The files of the project. */
export const SHAPES: Readonly<Record<string, string>> = {
  "svc.yaml": "project: shapes\nenvironments:\n  default: {}\n",
  "features.py": `"""Features of all shapes."""

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any

from svc.features import DataFrame, FeatureTime, Primary, Vector, Windowed, feature, features, has_many, has_one, windowed


class Tier(Enum):
    BASIC = 1
    GOLD = 2


class Mood(Enum):
    so_so = "so so"
    class_ = 'the "class"'


@dataclass
class Place:
    street: str
    floor: int | None


@dataclass
class Trip:
    places: list[Place]
    mood: Mood
    took: timedelta


@features
class Account:
    """Where money is: */ and <b>more</b>."""

    number: Primary[str]
    balance: Decimal
    bank_name: str | None
    bank: "Bank | None" = has_one(lambda: Account.bank_name == Bank.name)


@features(name="bank")
class Bank:
    name: Primary[str]
    founded: date


@features
class Txn:
    id: int
    user_id: int
    amount: float
    at: FeatureTime
    user: "User" = has_one(lambda: Txn.user_id == User.id)


@features(max_staleness="infinity")
class Doc:
    id: int
    emb: Vector[3]


@features
class User:
    # Who it is: */ not "quoted" \\u0022
    id: int
    # What to call the user,
    # in two lines
    name: str
    nickname: str | None
    age: int
    height: float
    odd: float
    active: bool
    photo: bytes
    born: date
    seen_at: datetime
    patience: timedelta
    credit: Decimal
    tier: Tier
    mood: Mood | None
    home: Place
    trip: Trip | None
    scores: list[float | None]
    labels: set[str]
    tiers: list[Tier]
    notes: Any
    emb: Vector[3]
    old: str = feature(default="old", deprecated=True, description="Not used any more")
    code: str = feature(default="c", version=3, default_version=2)
    fails: Windowed[int] = windowed("10m", "1d", "all", default=7)
    account_number: Account.number
    account: "Account" = has_one(lambda: User.account_number == Account.number)
    friend_id: "User.id | None"
    friend: "User | None" = has_one(lambda: User.friend_id == User.id)
    txns: "DataFrame[Txn]" = has_many(lambda: User.id == Txn.user_id)
    near: "DataFrame[Doc]" = has_many(lambda: User.emb.is_near(Doc.emb, k=3))


@features
class Word:
    id: int
${words.join("\n")}


@features
class Wide:
    id: int
${wide.join("\n")}
`,
  "resolvers.py": `from datetime import date, datetime, timedelta, timezone
from decimal import Decimal

from features import Account, Bank, Mood, Place, Tier, Trip, Txn, User
from svc import online
from svc.features import DataFrame, Features


@online
def user(id: User.id) -> Features[
    User.name, User.nickname, User.age, User.height, User.odd, User.active, User.photo, User.born, User.seen_at, User.patience,
    User.credit, User.tier, User.mood, User.home, User.trip, User.scores, User.labels, User.tiers, User.notes, User.account_number,
    User.friend_id,
]:
    if id > 100:
        raise ValueError(f"no user {id}")
    return User(
        name=f"Ann {id}",
        nickname=None,
        age=2**62 + id,
        height=1.5,
        odd=float("nan") if id == 1 else float("-inf"),
        active=True,
        photo=b"\\x00\\xff",
        born=date(2000, 2, 29),
        seen_at=datetime(2024, 5, 1, 12, 0, 0, 250000, tzinfo=timezone.utc),
        patience=timedelta(hours=1, microseconds=1),
        credit=Decimal("12.340"),
        tier=Tier.GOLD,
        mood=Mood.class_,
        home=Place("Main St", None),
        trip=Trip([Place("a", 1), Place("b", None)], Mood.so_so, timedelta(seconds=90)),
        scores=[0.5, None],
        labels={"x"},
        tiers=[Tier.BASIC, Tier.GOLD],
        notes={"a": [1, 2.5, None], "b": "c"},
        account_number=f"A{id}",
        friend_id=id + 1 if id < 3 else None,
    )


@online
def account(number: Account.number) -> Features[Account.balance, Account.bank_name]:
    return Account(balance=Decimal("0.10"), bank_name="B")


@online
def bank(name: Bank.name) -> Bank.founded:
    return date(1900, 1, 1)


@online
def txns(id: User.id) -> User.txns[Txn.id, Txn.user_id, Txn.amount, Txn.at]:
    at = datetime(2024, 1, 1, tzinfo=timezone.utc)
    return DataFrame([Txn(id=10 * id + n, user_id=id, amount=n / 2, at=at) for n in range(2)])
`,
};
