/** Rules about relations and their joins: 120 to 127. */

import { message, rule } from "./rule.ts";

export const NO_JOIN = rule(
  {
    code: 120,
    id: "no-join",
    title: "No join can be inferred for a relation",
    severity: "error",
    foundBy: ["analyzer"],
    means:
      "A relation finds its rows by a foreign key, a feature annotated with a key of the other class, such as `user_id: User.id`. There is none.",
    why: "Which rows belong together would not be known.",
    example: {
      broken: { "features.py": "@features\nclass User:\n    id: int\n\n\n@features\nclass Order:\n    id: int\n    user: User\n" },
      mended: {
        "features.py":
          "@features\nclass User:\n    id: int\n\n\n@features\nclass Order:\n    id: int\n    user_id: User.id\n    user: User\n",
      },
    },
  },
  {
    none: message(
      "no join can be inferred from {owner} to {other} for '{feature}': {listed}; add '{added}, or spell the join out",
      "no join",
    ),
  },
);

export const AMBIGUOUS_JOIN = rule(
  {
    code: 121,
    id: "ambiguous-join",
    title: "Several joins are possible for a relation",
    severity: "error",
    foundBy: ["analyzer"],
    means: "More than one foreign key leads to the other class, and none is named after the relation. Name it so, or spell the join out.",
    why: "Each key leads to other rows.",
    example: {
      broken: {
        "features.py":
          "@features\nclass Place:\n    id: int\n\n\n@features\nclass Route:\n    id: int\n    start: Place.id\n    end: Place.id = 0\n    via: Place\n",
      },
      mended: {
        "features.py":
          "@features\nclass Place:\n    id: int\n\n\n@features\nclass Route:\n    id: int\n    start: Place.id\n    end: Place.id = 0\n    via: Place = has_one(lambda: Route.start == Place.id)\n",
      },
    },
  },
  {
    eitherWay: message(
      "the join of '{feature}' compares two features of {cls}, and either may be the foreign key: '{left}' and '{right}'; say which one refers to the other by its type",
      "either way",
    ),
    several: message("several joins lead from {owner} to {other} for '{feature}': {joins}: say which one is meant", "ambiguous join"),
  },
);

export const BAD_JOIN = rule(
  {
    code: 122,
    id: "bad-join",
    title: "A join does not compare features of its two classes",
    severity: "error",
    foundBy: ["analyzer"],
    means:
      "The function of `has_one` or `has_many` compares a feature of the one class with one of the other by `==`; several comparisons are joined by `&`.",
    why: "Anything else says nothing about which rows belong together.",
    example: {
      broken: {
        "features.py":
          "@features\nclass User:\n    id: int\n\n\n@features\nclass Order:\n    id: int\n    buyer: int = 0\n    user: User = has_one(lambda: Order.buyer > User.id)\n",
      },
      mended: {
        "features.py":
          "@features\nclass User:\n    id: int\n\n\n@features\nclass Order:\n    id: int\n    buyer: int = 0\n    user: User = has_one(lambda: Order.buyer == User.id)\n",
      },
    },
  },
  {
    anotherClass: message("the join of '{feature}' uses {side}, a feature of neither {owner} nor {target}: {names}", "another class"),
    decidedAtOnce: message(
      "the join of '{feature}' uses 'and', 'or' or 'not', which Python decides at once: write (a == b) & (c == d)",
      "not a join",
    ),
    noComparison: message(
      "the join of '{feature}' compares nothing: compare a feature of {names}, several comparisons joined by '&'",
      "no comparison",
    ),
    noFeature: message("the join of '{feature}' compares {comparison}: {names}", "no feature"),
    notAJoin: message("'{condition}' is no part of a join: write comparisons with '==', joined by '&'", "not a join"),
    raises: message("the join of '{feature}' cannot be evaluated: {kind}: {error}", "no join"),
    relation: message("{side} is a relation: compare its key instead", "a relation"),
    sameClass: message("the join of '{feature}' compares {comparison}: {names}, with '=='", "not between the classes"),
    throughRelation: message("the join of '{feature}' goes through a relation with {side}: {names}, directly", "through a relation"),
  },
);

export const JOIN_TYPES_DIFFER = rule(
  {
    code: 123,
    id: "join-types-differ",
    title: "A join compares features of different types",
    severity: "error",
    foundBy: ["analyzer"],
    means: "The two sides of a join are, for example, an int and a str. Give both the same type.",
    why: "Values of different types are never equal, so the relation would never have a row.",
    example: {
      broken: {
        "features.py":
          '@features\nclass User:\n    id: int\n\n\n@features\nclass Order:\n    id: int\n    buyer: str = ""\n    user: User | None = has_one(lambda: Order.buyer == User.id)\n',
      },
      mended: {
        "features.py":
          "@features\nclass User:\n    id: int\n\n\n@features\nclass Order:\n    id: int\n    buyer: int = 0\n    user: User | None = has_one(lambda: Order.buyer == User.id)\n",
      },
    },
  },
  {
    differ: message(
      "the join of '{feature}' compares {local_type} ('{local}') with {foreign_type} ('{foreign}'): the two never match; give both the same type",
      "types differ",
    ),
  },
);

export const UNDEFINED_NAME = rule(
  {
    code: 124,
    id: "undefined-name",
    title: "An annotation or a join uses a name that nothing defines",
    severity: "error",
    foundBy: ["text", "analyzer"],
    yields: "to-sound-analysis",
    means:
      "Names in quoted annotations and in joins are looked up when all modules are loaded, so classes further down may be used; this one is nowhere.",
    why: "The type of the feature would not be known.",
    example: {
      broken: {
        "features.py": '@features\nclass User:\n    id: int\n\n\n@features\nclass Order:\n    id: int\n    user_id: "Usr.id" = 0\n',
      },
      mended: {
        "features.py": '@features\nclass User:\n    id: int\n\n\n@features\nclass Order:\n    id: int\n    user_id: "User.id" = 0\n',
      },
    },
  },
  {
    inAnnotation: message("'{name}' in this annotation is never defined{near}", "never defined"),
    inJoin: message("'{name}' in the join of '{feature}' is never defined", "never defined"),
  },
);

export const PARTLY_QUOTED = rule(
  {
    code: 125,
    id: "partly-quoted",
    title: "Only a part of an annotation is quoted",
    severity: "error",
    foundBy: ["text"],
    means: 'The name of a class that is defined further down is quoted together with all that stands around it: `"DataFrame[Txn]"`.',
    why: "What is not quoted is evaluated at once, before the class exists.",
    example: {
      broken: {
        "features.py":
          '@features\nclass User:\n    id: int\n    txns: DataFrame["Txn"]\n\n\n@features\nclass Txn:\n    id: int\n    user_id: User.id\n',
      },
      mended: {
        "features.py":
          '@features\nclass User:\n    id: int\n    txns: "DataFrame[Txn]"\n\n\n@features\nclass Txn:\n    id: int\n    user_id: User.id\n',
      },
    },
  },
  { inner: message("quote the whole annotation, not a part of it: write {whole}", "quoted inside of the brackets") },
);

export const NULLABLE_KEY = rule(
  {
    code: 126,
    id: "nullable-key",
    title: "A required relation has a key that may be None",
    severity: "warning",
    foundBy: ["analyzer"],
    means:
      "The relation is not optional, but the foreign key that finds its row is. Write `| None` at the relation too, or make the key required.",
    why: "Where the key is None there is no row, though whoever reads the relation expects one.",
    example: {
      broken: {
        "features.py":
          "@features\nclass User:\n    id: int\n\n\n@features\nclass Order:\n    id: int\n    user_id: User.id | None = None\n    user: User\n",
      },
      mended: {
        "features.py":
          "@features\nclass User:\n    id: int\n\n\n@features\nclass Order:\n    id: int\n    user_id: User.id | None = None\n    user: User | None\n",
      },
    },
  },
  {
    required: message("'{feature}' is required, but its key '{key}' may be None: write '{attribute}: \"{target} | None\"'", "required"),
  },
);

const searched = (join: string): string =>
  `@features(max_staleness="infinity")
class Doc:
    id: int
    emb: Vector[3]


@features
class Search:
    id: int
    emb: Vector[3]
    near: DataFrame[Doc] = has_many(lambda: ${join})
`;

export const BAD_NEARNESS = rule(
  {
    code: 127,
    id: "bad-nearness",
    title: "The nearest rows cannot be found so",
    severity: "error",
    foundBy: ["analyzer"],
    means:
      "`is_near` stands in the function of `has_many`. It compares a `Vector[...]` of the class with one of the other class that has the same size and precision " +
      'and is stored online; `k` is 1 to 1000, and `metric` is "cosine", "l2" or "dot".',
    why: "Distances between other things mean nothing, and rows that are not stored are not found.",
    example: {
      broken: { "features.py": searched("Search.emb.is_near(Doc.emb, k=5000)") },
      mended: { "features.py": searched("Search.emb.is_near(Doc.emb, k=50)") },
    },
  },
  {
    differ: message(
      "'{local}' is {local_type} and '{foreign}' is {foreign_type}: vectors of the same size and precision have a distance",
      "another size or precision",
    ),
    distance: message(
      "the distance of '{feature}' goes to {given}: name a feature of {target} of type float | None, such as distance={target}.distance",
      "no feature for a distance",
    ),
    limit: message("'{feature}' asks for {given} rows: k is a number from 1 to {most}", "out of bounds"),
    metric: message("'{feature}' has the metric {given}: write one of {known}", "no metric"),
    noFilter: message(
      "{condition} is no filter: it chooses the rows of a relation, so it stands in has_many(lambda: {condition})",
      "outside of has_many",
    ),
    noSize: message("{side} has vectors of any length: state their size, such as Vector[768]", "no size"),
    noText: message(
      "'{feature}' has the condition {condition}: a text of {target} contains another text, Doc.body.contains(Search.word)",
      "no texts",
    ),
    notStored: message(
      "'{feature}' looks for rows by '{stored}', which is never stored online: give it a max_staleness, such as feature(max_staleness=\"infinity\")",
      "not stored",
    ),
    noVector: message("{side} is {type}: is_near compares vectors, such as Vector[768]", "no vector"),
    oneRow: message("'{feature}' leads to one row, and is_near to several: write DataFrame[...] and has_many", "several rows"),
    sides: message(
      "'{feature}' has the condition {given}: a vector of {owner} is compared with one of {target}, {owner}.emb.is_near({target}.emb)",
      "not between the classes",
    ),
    throughRelation: message(
      "'{feature}' has a condition on {side}: the nearest rows are chosen by features of their own",
      "through a relation",
    ),
    twice: message("'{feature}' has is_near twice: the rows that are nearest to one vector can be filtered by another distance", "twice"),
  },
);
