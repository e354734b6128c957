/** Rules about all definitions together, about queries, monitors and evaluations: 160 to 179. */

import { message, rule, warning } from "./rule.ts";
import { NO_SUCH_FEATURE, NO_SUCH_WINDOW } from "./sentences.ts";

const USER = "@features\nclass User:\n    id: int\n    name: str\n    email: str\n";
const MAIL = '\n\n@online\ndef mail(name: User.name) -> User.email:\n    return f"{name}@example.com"\n';
const NAME = '\n\n@online\ndef name(id: User.id) -> User.name:\n    return f"user {id}"\n';
const python = (text: string): { "features.py": string } => ({ "features.py": text });

export const NOT_COMPUTABLE = rule(
  {
    code: 160,
    id: "not-computable",
    title: "A feature cannot be computed from what is given",
    severity: "error",
    foundBy: ["graph"],
    means:
      "A named query that names its inputs asks for a feature that no resolver, expression or default gives from them. It is a warning where a resolver " +
      "reads such a feature through a relation: only queries that give it can run the resolver.",
    why: "The query would fail whenever it is asked.",
    example: {
      broken: python(`${USER}${MAIL}\n\nNamedQuery(name="mail", input=[User.id], output=[User.email])\n`),
      mended: python(`${USER}${MAIL}${NAME}\n\nNamedQuery(name="mail", input=[User.id], output=[User.email])\n`),
    },
  },
  {
    query: message("named query '{query}' cannot compute {output} from its inputs{chain}; {cause}", "{missing} has no provider"),
    throughRelation: warning(
      "no resolver or default computes {needed}, which {reader} reads as {path}: only queries that give it as an input can run it",
      "needs {needed}",
    ),
  },
);

export const CYCLE = rule(
  {
    code: 161,
    id: "cycle",
    title: "Features are computed only from each other",
    severity: "error",
    foundBy: ["graph"],
    means: "Every way to one of the features goes in a circle. Give one of them a default, or a resolver that needs none of the others.",
    why: "There is nothing to begin with.",
    example: {
      broken: python(`${USER}${MAIL}\n\n@online\ndef name(email: User.email) -> User.name:\n    return email.split("@")[0]\n`),
      mended: python(`${USER}${MAIL}${NAME}`),
    },
  },
  { circle: message("cycle: {cycle}; each of these features is computed only from the next", "begins here") },
);

export const AMBIGUOUS_RESOLVERS = rule(
  {
    code: 162,
    id: "ambiguous-resolvers",
    title: "Two online resolvers compute the same feature, and nothing tells them apart",
    severity: "error",
    foundBy: ["graph"],
    means:
      "Both can always run. Give one of them a tag, an environment or a condition (`when=`), say by `total` which one has all rows, or remove one.",
    why: "Which value a query gets would be chance.",
    example: {
      broken: python(`${USER}${MAIL}${NAME}\n\n@online\ndef nickname(id: User.id) -> User.name:\n    return f"u{id}"\n`),
      mended: python(`${USER}${MAIL}${NAME}\n\n@online(tags=["short"])\ndef nickname(id: User.id) -> User.name:\n    return f"u{id}"\n`),
    },
  },
  { both: message("{first} and {second} both compute {features}, and {why}", "ambiguous") },
);

export const UNUSED_FEATURE = rule(
  {
    code: 163,
    id: "unused-feature",
    title: "Nothing computes a feature and nothing uses it",
    severity: "warning",
    foundBy: ["graph"],
    means: "A query can only give the feature back as it was given. Write a resolver or an expression for it, or take it out.",
    why: "It is often left over, or its resolver was forgotten.",
    example: {
      broken: python("@features\nclass User:\n    id: int\n    spare: str\n"),
      mended: python("@features\nclass User:\n    id: int\n"),
    },
  },
  {
    unused: message(
      "nothing computes {feature} and nothing uses it: a query can only give it back as it was given",
      "no provider, no consumer",
    ),
  },
);

export const OFFLINE_ONLY = rule(
  {
    code: 164,
    id: "offline-only",
    title: "What is needed online is computed offline only",
    severity: "warning",
    foundBy: ["graph"],
    means:
      "An online resolver or a named query needs a feature that only `@offline` resolvers compute. Write an online resolver or a default for it.",
    why: "An online query finds no value, unless one was stored before.",
    example: {
      broken: python(`${USER}${MAIL}${NAME.replace("@online", "@offline")}`),
      mended: python(`${USER}${MAIL}${NAME}`),
    },
  },
  { needed: message("{consumer} needs {feature}, which only the offline resolver {resolver} computes", "never computed online") },
);

/** A resolver of a relation's rows behind a decorator. */
const SCHEDULED_ROWS = (decorator: string): string =>
  `@features\nclass Txn:\n    id: int\n    user_id: "User.id"\n    amount: float\n\n\n@features\nclass User:\n    id: int\n    txns: DataFrame[Txn]\n\n\n${decorator}\ndef get_txns(id: User.id) -> User.txns[Txn.id, Txn.amount]:\n    return DataFrame({Txn.id: [1], Txn.amount: [2.5]})\n`;

/** A feature with a check, and what gives it. */
const CHECKED = (gives: string): string =>
  `from svc.features import Validation\n\n\ndef is_even(value):\n    return value % 2 == 0\n\n\n@features\nclass User:\n    id: int\n    half: int = feature(validations=[Validation(check=is_even, strict=True)]${gives}`;

export const UNCHECKED = rule(
  {
    code: 166,
    id: "unchecked-values",
    title: "A function cannot check values that Python does not compute",
    severity: "error",
    foundBy: ["graph"],
    means:
      "`Validation(check=...)` is asked by the deployment's workers about what Python resolvers compute and what is uploaded. Values of expressions and of SQL files never pass there. Use `min=` and its like, or a Python resolver.",
    why: "Values would be answered that nobody has checked.",
    example: {
      broken: python(`${CHECKED(", expression=_.id * 2)")}\n`),
      mended: python(`${CHECKED(")")}\n\n\n@online\ndef get_half(id: User.id) -> User.half:\n    return id * 2\n`),
    },
  },
  { computed: message("{feature} is checked by {check}, and {provider} computes it without Python", "never checked") },
);

export const NEVER_SCHEDULED = rule(
  {
    code: 165,
    id: "never-scheduled",
    title: "A resolver has a schedule, and cannot run by itself",
    severity: "warning",
    foundBy: ["graph"],
    means:
      "A schedule runs resolvers that compute features of their own class. One that returns the rows of a has-many relation is run by queries alone; take `cron` out.",
    why: "The schedule looks as if it had an effect.",
    example: {
      broken: python(SCHEDULED_ROWS('@online(cron="1d")')),
      mended: python(SCHEDULED_ROWS("@online")),
    },
  },
  {
    schedule: message(
      "{resolver} has the schedule '{schedule}', and nothing runs it: it returns the rows of {relation}, which queries alone ask for",
      "never runs by itself",
    ),
  },
);

export const BAD_NAMED_QUERY = rule(
  {
    code: 170,
    id: "bad-named-query",
    title: "A named query asks for what does not exist",
    severity: "error",
    foundBy: ["analyzer", "graph"],
    means:
      "Its inputs, outputs and staleness name features of one class, as `User.name` or 'user.name'; its planner options are those of `svc query --help`.",
    why: "No query by that name could be planned.",
    example: {
      broken: python(`${USER}${MAIL}${NAME}\n\nNamedQuery(name="mail", input=[User.id], output=["user.emial"])\n`),
      mended: python(`${USER}${MAIL}${NAME}\n\nNamedQuery(name="mail", input=[User.id], output=["user.email"])\n`),
    },
  },
  {
    asks: message("the named query '{query}' asks for what does not exist: {error}", "{label}"),
    noFeature: message("{item} is no feature: write User.name or 'user.name'", "no feature"),
    noOutput: message("the named query '{query}' has no output: write output=[User.name]", "no output"),
    noSuchFeature: NO_SUCH_FEATURE,
    noSuchNamespace: message("there is no namespace '{namespace}'{near}", "no such namespace"),
    noSuchWindow: NO_SUCH_WINDOW,
    notARelation: message("'{path}' goes through a value, not a relation", "not a relation"),
    staleness: message("the staleness of the named query '{query}' names what does not exist: {error}", "{label}"),
    twoClasses: message("the named query '{query}' starts from {roots}: inputs and outputs start from one class", "two root classes"),
    plannerOption: message("named query '{query}': {problem}", "cannot be planned"),
  },
);

export const BAD_SCHEDULE = rule(
  {
    code: 172,
    id: "bad-schedule",
    title: "A scheduled query cannot run by what it says",
    severity: "error",
    foundBy: ["analyzer", "graph"],
    means:
      "A schedule is a duration such as '1d' or five cron fields in UTC; every scheduled query has a name of its own, and `incremental_resolvers` names resolvers of the project.",
    why: "It would never run, or nobody knew which one is meant.",
    example: {
      broken: python(`${USER}${MAIL}${NAME}\n\nScheduledQuery(name="nightly", schedule="every night", output=[User.name])\n`),
      mended: python(`${USER}${MAIL}${NAME}\n\nScheduledQuery(name="nightly", schedule="30 2 * * *", output=[User.name])\n`),
    },
  },
  {
    schedule: message("the scheduled query '{query}' has no schedule: {problem}", "not a schedule"),
    twice: message("the scheduled query '{query}' is defined twice: give one of them another name", "defined twice"),
    noSuchResolver: message("the scheduled query '{query}' names the resolver '{resolver}', which there is not{near}", "no such resolver"),
  },
);

/** A monitor after the arguments of `name`. */
const MONITOR = (rest: string): { "features.py": string } => python(`${USER}${MAIL}${NAME}\n\nMonitor("slow", ${rest})\n`);

export const BAD_MONITOR = rule(
  {
    code: 173,
    id: "bad-monitor",
    title: "A monitor does not say what should be kept",
    severity: "error",
    foundBy: ["analyzer", "graph"],
    means:
      "A monitor has a name of its own, and one bound: `above` or `below`. A value of it is of whole minutes, two days at most, and of metrics of its environment. " +
      "A project has at most 200.",
    why: "It would never fire, or nobody knew which one is meant.",
    example: {
      broken: MONITOR(`"p99:query.latency.rollup(5m)"`),
      mended: MONITOR(`"p99:query.latency.rollup(5m)", above="80ms"`),
    },
  },
  {
    noBound: message("the monitor '{monitor}' has no bound: write above= or below=", "no bound"),
    twoBounds: message("the monitor '{monitor}' has two bounds: leave above= or below= out", "a second bound"),
    twice: message("the monitor '{monitor}' is defined twice: give one of them another name", "defined twice"),
    ofServer: message(
      "the monitor '{monitor}' watches {metric}, which is about the server and not about an environment",
      "about the server",
    ),
    tooMany: message("the project has {count} monitors, and {most} are the most", "one too many"),
    period: message("the monitor '{monitor}' has no possible period: {problem}", "not a period of whole minutes"),
  },
);

export const BAD_METRIC_EXPRESSION = rule(
  {
    code: 174,
    id: "bad-metric-expression",
    title: "A monitor's query is no metric expression",
    severity: "error",
    foundBy: ["graph"],
    means: "A metric expression is a function of a metric's records, or arithmetic of such; `svc metrics query --help` shows the grammar.",
    why: "There would be no value to compare.",
    example: {
      broken: MONITOR(`"p99:query.latencies", above="80ms"`),
      mended: MONITOR(`"p99:query.latency", above="80ms"`),
    },
  },
  { unreadable: message("the query of the monitor '{monitor}' cannot be read: {problem}", "not understood") },
);

export const BAD_BOUND = rule(
  {
    code: 175,
    id: "bad-bound",
    title: "A monitor's bound does not go with its query",
    severity: "error",
    foundBy: ["graph"],
    means:
      "A bound is a number, or a text with a unit of the query's values: a duration such as '80ms', a size such as '1GiB', or a percentage such as '5%'.",
    why: "Values would be compared with what they are no value of.",
    example: {
      broken: MONITOR(`"p99:query.latency", above="1GiB"`),
      mended: MONITOR(`"p99:query.latency", above="80ms"`),
    },
  },
  { unit: message("the bound '{bound}' of the monitor '{monitor}' does not go with its query, whose values are {unit}", "not in {unit}") },
);

export const UNTOLD_WEBHOOK = rule(
  {
    code: 176,
    id: "untold-webhook",
    title: "A monitor names a webhook that would not be told",
    severity: "warning",
    foundBy: ["server"],
    means: "The environment has no webhook of that name, or it does not subscribe to `monitor.firing` and `monitor.resolved`.",
    why: "Nobody would hear that the monitor fires.",
    example: { none: "Webhooks are of an environment of the server, which a few files do not have." },
  },
  {
    missing: message("the monitor '{monitor}' names the webhook '{webhook}', which the environment does not have{near}", ""),
    unsubscribed: message("the monitor '{monitor}' names the webhook '{webhook}', which does not subscribe to {events}", ""),
  },
);

/** An evaluation of `answer(text)` after the arguments of `name`. */
const EVALUATION = (rest: string): { "features.py": string } =>
  python(
    `from svc.evaluations import exact_match\n\n${USER}${MAIL}${NAME}\n\ndef answer(text):\n    return text\n\n\nEvaluation("answers", ${rest})\n`,
  );

export const BAD_EVALUATION = rule(
  {
    code: 177,
    id: "bad-evaluation",
    title: "An evaluation does not say what is evaluated",
    severity: "error",
    foundBy: ["analyzer"],
    means:
      "An evaluation has a name of its own, a function, and a dataset: its name, or its name and a revision as 'tickets@rev_...'. A project has at most 200.",
    why: "No run of it could begin, or nobody knew which one is meant.",
    example: {
      broken: EVALUATION(`dataset="tickets", task="answer", scorers=[exact_match("expected")]`),
      mended: EVALUATION(`dataset="tickets", task=answer, scorers=[exact_match("expected")]`),
    },
  },
  {
    twice: message("the evaluation '{evaluation}' is defined twice: give one of them another name", "defined twice"),
    dataset: message("the evaluation '{evaluation}' names no dataset: {problem}", "no dataset"),
    task: message("the task of the evaluation '{evaluation}' is {given}, which is no function", "no function"),
    tooMany: message("the project has {count} evaluations, and {most} are the most", "one too many"),
  },
);

export const BAD_SCORER = rule(
  {
    code: 178,
    id: "bad-scorer",
    title: "An evaluation has a scorer that cannot score",
    severity: "error",
    foundBy: ["analyzer"],
    means:
      "A scorer is exact_match(...), contains(...), numeric(...) or judge(...) of svc.evaluations, or a function of the output and perhaps the row. An evaluation has 1 to 20, each with a name of its own.",
    why: "Its rows would have no score.",
    example: {
      broken: EVALUATION(`dataset="tickets", task=answer, scorers=["exact_match"]`),
      mended: EVALUATION(`dataset="tickets", task=answer, scorers=[exact_match("expected")]`),
    },
  },
  {
    count: message(
      "the evaluation '{evaluation}' has {count} scorers: write 1 to {most}, such as scorers=[exact_match('expected')]",
      "{label}",
    ),
    notAScorer: message("the evaluation '{evaluation}' has {given} among its scorers, which is no scorer and no function", "no scorer"),
    twice: message("the evaluation '{evaluation}' has two scorers of the name '{scorer}': give one another name=", "same name"),
    option: message("the evaluation '{evaluation}' has a scorer that cannot score: {problem}", "cannot score"),
    arguments: message(
      "the scorer '{scorer}' of the evaluation '{evaluation}' takes neither the output alone nor the output and the row",
      "not its arguments",
    ),
  },
);

export const BAD_EVALUATION_INPUTS = rule(
  {
    code: 179,
    id: "bad-evaluation-inputs",
    title: "An evaluated function does not take its inputs",
    severity: "error",
    foundBy: ["analyzer"],
    means:
      "`inputs` names the columns that the function is given: a list in the order of its parameters, or a dict by parameter. Without it each parameter without a default is given the column of its name.",
    why: "The function would fail for every row.",
    example: {
      broken: EVALUATION(`dataset="tickets", task=answer, inputs={"texts": "body"}, scorers=[exact_match("expected")]`),
      mended: EVALUATION(`dataset="tickets", task=answer, inputs={"text": "body"}, scorers=[exact_match("expected")]`),
    },
  },
  { notTaken: message("the task of the evaluation '{evaluation}' does not take its inputs: {problem}", "not taken") },
);

export const DUPLICATE_NAMED_QUERY = rule(
  {
    code: 171,
    id: "duplicate-named-query",
    title: "A named query is defined twice",
    severity: "error",
    foundBy: ["analyzer"],
    means: "Two named queries have the same name and version. Give one of them another version.",
    why: "Whoever asks by the name would not know which is meant.",
    example: {
      broken: python(
        `${USER}${MAIL}${NAME}\n\nNamedQuery(name="user", version="1", output=[User.name])\nNamedQuery(name="user", version="1", output=[User.email])\n`,
      ),
      mended: python(
        `${USER}${MAIL}${NAME}\n\nNamedQuery(name="user", version="1", output=[User.name])\nNamedQuery(name="user", version="2", output=[User.email])\n`,
      ),
    },
  },
  {
    second: message("the named query '{query}' is defined twice{version}: give one of them another version", "defined twice"),
  },
);
