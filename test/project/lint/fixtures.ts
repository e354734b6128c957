/** A failing project for a rule, with the place that the finding must have. */

/** What a rule says of its fixture. */
export interface RuleFixture {
  /** `E110` or `W163`. */
  readonly rule: string;
  /** The whole message. A pattern only where the words are Python's or a database's. */
  readonly says: string | RegExp;
  /**
   * Files of the project by path. One token stands between `«` and `»`: the finding's span. Without
   * one the finding has no place.
   */
  readonly files: Readonly<Record<string, string>>;
  /** More lines of svc.yaml. */
  readonly settings?: string;
  /** Variables of the process in place of the usual ones. */
  readonly env?: Readonly<Record<string, string>>;
  /**
   * Rules whose errors may stand beside it: a machine may lack that Python, and this version of svc
   * the source.
   */
  readonly beside?: readonly number[];
  /** Whether the finding is the server's. */
  readonly remote?: boolean;
}

/** Imports that most fixtures need. */
export const IMPORTS = `import svc.functions as F
from svc import Evaluation, Monitor, NamedQuery, Now, PostgreSQLSource, ScheduledQuery, SQLiteSource, offline, online
from svc.features import DataFrame, Features, FeatureTime, Primary, _, feature, features, has_many, has_one
from svc.streams import Windowed, windowed

`;

/** A class with a key and two values. */
export const USER = `${IMPORTS}
@features
class User:
    id: int
    name: str
    email: str
`;

/** A project of one Python file that begins with those lines. */
export function after(head: string, text: string): Readonly<Record<string, string>> {
  return { "features.py": `${head}${text}` };
}
