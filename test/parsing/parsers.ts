/**
 * Every parser of text that users, servers or other programs write: what it is fed with, and which
 * errors it may answer with.
 */

import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { ExportTraceServiceRequestSchema } from "../../gen/opentelemetry/proto/collector/trace/v1/trace_service_pb.ts";
import { GraphSchema } from "../../gen/svc/v1/graph_pb.ts";
import { withPart } from "../../src/agents/instruction-file.ts";
import { readManifest } from "../../src/agents/manifest.ts";
import { skillOf } from "../../src/agents/skill.ts";
import { bool, duration, float, int, keyValue, list, text, timestamp } from "../../src/cli/flag.ts";
import { parse } from "../../src/cli/parse.ts";
import { createRedactor } from "../../src/client/redact.ts";
import { retryAfterMs } from "../../src/client/retry.ts";
import { goPackageOf } from "../../src/codegen/go.ts";
import { javaPackageOf } from "../../src/codegen/java.ts";
import { readJsonSchema } from "../../src/codegen/json-schema.ts";
import { SchemaError } from "../../src/codegen/message-types.ts";
import { linkProtoFiles, readProtoFile } from "../../src/codegen/proto-file.ts";
import { generatePydantic } from "../../src/codegen/pydantic.ts";
import { readPairs } from "../../src/commands/secret/pairs-flags.ts";
import { normalizeAddress } from "../../src/config/address.ts";
import { webAddress } from "../../src/config/ci.ts";
import { readEntries } from "../../src/config/file.ts";
import { DiskError } from "../../src/disk/disk-error.ts";
import { didYouMean } from "../../src/domain/closest.ts";
import { scheduleProblem } from "../../src/domain/cron.ts";
import { CsvError, parseCsv } from "../../src/domain/csv.ts";
import { formatDuration, parseDuration } from "../../src/domain/duration.ts";
import { EvaluationError } from "../../src/domain/expressions/evaluation-error.ts";
import { parseJsonPath } from "../../src/domain/expressions/json-path.ts";
import { compileLinear } from "../../src/domain/expressions/regexp.ts";
import { parseReplacement } from "../../src/domain/expressions/replacement.ts";
import { queryParameter, urlParts } from "../../src/domain/expressions/url.ts";
import { integrationProblem } from "../../src/domain/integrations.ts";
import { unifiedHunks } from "../../src/domain/line-diff.ts";
import { LineMap } from "../../src/domain/line-map.ts";
import { incoming, parsed, RpcError } from "../../src/domain/mcp/json-rpc.ts";
import { MetricExpressionError, parseMetricExpression, printMetricExpression } from "../../src/domain/metrics/expression.ts";
import { escapeControls, namespaceOf, parseWindow, rawName, readableName } from "../../src/domain/name.ts";
import { htmlTable } from "../../src/domain/notebook/html-table.ts";
import { ipynbText, NotNotebook, readIpynb } from "../../src/domain/notebook/ipynb.ts";
import { overwritten, pngSize } from "../../src/domain/notebook/notebook.ts";
import { readPlannerOptions } from "../../src/domain/planner-options.ts";
import { quantityValue } from "../../src/domain/quantity.ts";
import { changelogEntries } from "../../src/domain/release/changelog.ts";
import { parseFeed, parseManifest, ReleaseFormatError } from "../../src/domain/release/manifest.ts";
import { parsePublicKey, SignatureError, verify } from "../../src/domain/release/minisign.ts";
import { parseTrustedComment } from "../../src/domain/release/trusted-comment.ts";
import { toCondition } from "../../src/domain/search/condition.ts";
import type { FieldSet } from "../../src/domain/search/fields.ts";
import { matches } from "../../src/domain/search/matches.ts";
import { SearchError } from "../../src/domain/search/search-error.ts";
import { parseSearch } from "../../src/domain/search/tree.ts";
import { secretNameProblem, secretValueProblem } from "../../src/domain/secret-name.ts";
import { readShellEvent, readShellRequest, readStreamMessage } from "../../src/domain/shell-frames.ts";
import { readHeader } from "../../src/domain/sql/header.ts";
import { linkSqlFiles } from "../../src/domain/sql/link.ts";
import { namedParameters } from "../../src/domain/sql/named-parameters.ts";
import { selectList } from "../../src/domain/sql/select-list.ts";
import { countParameters, withoutTerminator } from "../../src/domain/sql/statement.ts";
import { tokenize } from "../../src/domain/sql/tokenize.ts";
import { bucketProblem, readBucket } from "../../src/domain/storage-config.ts";
import { ArchiveRefused, readArchive } from "../../src/domain/tar/reader.ts";
import { canonicalInstant, parseInstant, parseTimestamp } from "../../src/domain/timestamp.ts";
import { parseTraceparent } from "../../src/domain/traceparent.ts";
import { parseExactJson } from "../../src/domain/value.ts";
import { readYaml } from "../../src/domain/yaml-tree.ts";
import { CliError } from "../../src/errors/cli-error.ts";
import { FrameReader, FramingBroken } from "../../src/project/editor/framing.ts";
import { listFiles } from "../../src/project/ignore.ts";
import { lintStatically } from "../../src/project/lint/lint.ts";
import { requirementNames } from "../../src/project/lint/requirements.ts";
import { readProjectFile } from "../../src/project/project-file.ts";
import { RequirementsError, readRequirements } from "../../src/python/requirements.ts";
import { createPayloadFilter } from "../../src/server/benchmarks/payload-filter.ts";
import { Failure, StartError } from "../../src/server/failure.ts";
import { readSpec } from "../../src/server/infrastructure/spec-shape.ts";
import { OtlpRefused, readOtlpText } from "../../src/server/otlp/json-form.ts";
import { receivedSpans } from "../../src/server/otlp/received.ts";
import { readOtlpSettings } from "../../src/server/otlp/settings.ts";
import { QueryRefused } from "../../src/server/query/refusal.ts";
import { acceptedEncoding } from "../../src/server/wire/http/content-encoding.ts";
import { JsonRefused } from "../../src/server/wire/http/json-text.ts";
import { readTokenRequest, TokenRequestRefused } from "../../src/server/wire/http/token-request.ts";
import {
  BodyInvalid,
  readBulkQueryBody,
  readExpressionBody,
  readMultiBody,
  readQueryBody,
} from "../../src/server/wire/query/query-body.ts";
import { parseTemplate, TemplateError } from "../../src/topic-client/template.ts";
import { removeAtEnd } from "../harness/end-of-process.ts";

const utf8 = (text: string) => new TextEncoder().encode(text);

/** A parser under test. */
export interface Parser {
  /** Pieces that its grammar knows; texts are made of them, and of anything else. */
  readonly pieces: readonly string[];
  /** Whether an error is a refusal in words; default: it never throws. */
  readonly refuses?: (error: unknown) => boolean;
  parse(text: string): unknown;
  /** Whether it is far slower than others, because it goes through a file. */
  readonly slow?: boolean;
}

const among =
  (...kinds: readonly (abstract new (...args: never[]) => Error)[]) =>
  (error: unknown) =>
    kinds.some((kind) => error instanceof kind);
const syntax = among(SyntaxError);

const YAML = [
  "a",
  ":",
  " ",
  "- ",
  "\n",
  "  ",
  "[",
  "]",
  "{",
  "}",
  ",",
  "'",
  '"',
  "&x ",
  "*x",
  "!!str ",
  "|",
  ">",
  "#",
  "?",
  "%",
  "---",
  "\t",
  "<<",
];
const SPEC = [
  "{",
  "}",
  "[",
  "]",
  ",",
  ":",
  '"storage"',
  '"databaseReplicas"',
  '"writers"',
  '"name"',
  '"limit"',
  '"cpu"',
  '"postgres_parameters"',
  '"__proto__"',
  '"status"',
  '"500m"',
  "null",
  "1e999",
  "-1",
];
const PROJECT = [
  ...YAML,
  "project: p\n",
  "environments:\n",
  "  default:\n",
  "    runtime: ",
  "python311",
  "requirements",
  "validation",
  "feature",
  "metadata",
  "name",
  "missing",
  "owner",
  "error",
  "1",
  "null",
  "~",
];
const CONFIG = [
  ...YAML,
  "tokens:\n",
  "  default:\n",
  "    clientId: ",
  "clientSecret",
  '"x"\n',
  "apiServer",
  "http://h\n",
  "0123",
  "1e3",
  "yes",
  "null",
];
const SQL = [
  "-- ",
  "resolves: ",
  "User",
  "source: ",
  "lite",
  "count: ",
  "\n",
  "select ",
  "id",
  ", ",
  "*",
  " from t",
  " as ",
  "${user.id}",
  "${",
  "}",
  "'",
  '"',
  "`",
  "$$",
  "/*",
  "*/",
  "(",
  ")",
  "[",
  "]",
  ";",
  "::",
  " union ",
  "with ",
  "case ",
  "\\",
  "#",
  "1e",
  "é",
  "😀",
];
const PYTHON = [
  "from svc.features import features\n",
  "@features\n",
  "class User:\n",
  "    id: int\n",
  "    x: ",
  "str",
  " = feature(",
  "expression=_.",
  "max_staleness=",
  ")",
  "(",
  "[",
  "]",
  "{",
  "}",
  ":",
  "\n",
  "    ",
  "\t",
  "'",
  '"',
  '"""',
  "f'{",
  "#",
  "\\",
  "lambda ",
  "def f(a: User.id) -> User.x:\n",
  "@online\n",
  "return ",
  "if ",
  "not ",
  "*",
  "**",
  "...",
  "é",
  "\u0000",
  "\f",
];
const JSON_PIECES = [
  "{",
  "}",
  "[",
  "]",
  ":",
  ",",
  '"',
  "\\u00",
  "\\",
  '"inputs"',
  '"outputs"',
  '"staleness"',
  '"now"',
  '"context"',
  '"__proto__"',
  "null",
  "true",
  "-",
  "1",
  "9007199254740993",
  "1e400",
  "0.1",
  "NaN",
  " ",
];
const TIME = [
  "1",
  "0",
  "23",
  "59",
  "2024",
  "-",
  ":",
  ".",
  "T",
  "Z",
  "+",
  " ",
  "05",
  "08",
  "13",
  "30",
  "h",
  "d",
  "ms",
  "w",
  "inf",
  "all",
  "e",
  "99999999999",
  "now",
  "ago",
];
const CRON = ["*", "/", "-", ",", " ", "0", "59", "60", "7", "jan", "sun", "@daily", "@", "15m", "1d", "-1", "L", "#", "?", "\t"];
const NAME = ["User", "Features", "user", ".", "__", "86400", "[", "]", "1d", "all", "'", '"', "É", "A", "_", "\u001b[31m", "\u202e"];
const REGEXP = [
  "(",
  ")",
  "[",
  "]",
  "{",
  "}",
  "*",
  "+",
  "?",
  "|",
  "\\",
  "^",
  "$",
  ".",
  "a",
  "b",
  "-",
  "d",
  "w",
  "1",
  "10",
  ",",
  "(?i)",
  "(?:",
  "(?=",
  "\\p{L}",
  "\\x41",
  "\\u{1f600}",
  "\n",
];
const REPLACEMENT = ["\\", "\\1", "\\2", "\\9", "\\g<0>", "\\g<", ">", "\\n", "a", "0", "$1"];
const JSON_PATH = ["$", ".a", "['", "']", '["', '"]', "[0]", "[-1]", "[", "]", "\\'", "\\", "é", "99999999999999999", ".", "*", "?"];
const URL_PIECES = ["http", ":", "//", "/", "@", "[", "]", "::1", ":80", "?", "#", "%41", "%", "%ff", "&", "=", "+", "a", " "];
const REQUIREMENTS = [
  "svc",
  "[postgresql]",
  "psycopg",
  "==",
  ">=",
  "1.0",
  "\n",
  "\\\n",
  "#",
  " ",
  "-r ",
  "-c ",
  "-e ",
  "../x.txt",
  "; python_version < '3'",
  "--hash=",
  "@ https://h",
  ",",
];
const ARGV = [
  "--in",
  "=",
  "user.id=1",
  "--out",
  "-",
  "--",
  "-x",
  "--no-",
  "--json",
  "--repeat",
  "5s",
  "--now",
  "2024-01-01T00:00:00Z",
  "--qps",
  "1e",
  "--n",
  "\n",
  "'",
  '"',
  "@file(",
  ")",
  ",",
  "--dir",
];
const ADDRESS = [
  "http://",
  "https://",
  "localhost",
  "127.0.0.1",
  "[::1]",
  ":",
  "80",
  "/",
  "user@",
  "?",
  "#",
  "..",
  "%00",
  "xn--",
  "é",
  "\\",
  " ",
];
const RELEASE = [
  "{",
  "}",
  '"format": 1',
  '"version"',
  '"v0.1.0"',
  '"targets"',
  '"linux-amd64"',
  '"sha256"',
  '"size": ',
  "1",
  ",",
  ":",
  "[",
  "]",
  '"url"',
  '"../x"',
  '"expires_at"',
  '"2199-01-01T00:00:00Z"',
  '"min_version"',
  '"encodings"',
  "null",
];
const MINISIGN = [
  "untrusted comment: ",
  "trusted comment: ",
  "svc manifest version:v1 expires:2199-01-01T00:00:00Z",
  "\n",
  "RWQ",
  "RUQ",
  "A".repeat(40),
  "=",
  "/",
  "+",
  " ",
];
const IGNORE = ["*", "**", "?", "/", "!", "[", "]", "a", "b-c", "\\", " ", "#", "\n", "{", "}", "(", ")", "+", "^", "$", ".", "é"];
const ADDED = ["+", "-", " ", "a", "b", "\n", "\r", "\u0000"];

const folder = mkdtempSync(join(tmpdir(), "svc-parsers-"));
const tree = join(folder, "project");
mkdirSync(join(tree, "a", "b-c"), { recursive: true });
for (const file of ["a.py", "a/b-c/d.py", "a/b-c/[x].py"]) writeFileSync(join(tree, file), "");
removeAtEnd(folder);
const PUBLIC_KEY = parsePublicKey(`untrusted comment: x\n${Buffer.concat([Buffer.from("Ed"), Buffer.alloc(40, 7)]).toString("base64")}\n`);
const SEARCHED: FieldSet = {
  fields: {
    message: { kind: "text", meaning: "prose" },
    resolver: { kind: "name", meaning: "a name" },
    level: { kind: "enum", meaning: "an enum", values: ["info", "error"] },
    duration: { kind: "duration", meaning: "a duration" },
    bytes: { kind: "size", meaning: "a size" },
  },
  words: ["message"],
  attributes: "attributes.",
};
const FLAGS = {
  in: list(keyValue("input")),
  out: list(text("output"), { split: true }),
  repeat: duration("every"),
  now: timestamp("instant", { requireZone: true }),
  qps: float("rate"),
  n: int("number"),
  plain: bool("flag"),
};

/** By what they read. */
export const PARSERS: Readonly<Record<string, Parser>> = {
  YAML: {
    pieces: YAML,
    parse: (given) => {
      const { root, problems } = readYaml(given);
      for (const { start, end } of problems) if (!(start >= 0 && end >= start)) throw new Error(`a problem at ${start}-${end}`);
      return root;
    },
  },
  "the project file": {
    pieces: PROJECT,
    parse: (given) => readProjectFile(readYaml(given).root, new LineMap("svc.yaml", given), given, "fallback"),
  },
  "the config file": {
    pieces: CONFIG,
    slow: true,
    refuses: among(CliError, DiskError),
    parse: async (given) => {
      const path = join(folder, "svc.yml");
      writeFileSync(path, given, { mode: 0o600 });
      return await readEntries(path);
    },
  },
  "an ignore file": {
    pieces: IGNORE,
    slow: true,
    refuses: among(CliError),
    parse: async (given) => {
      writeFileSync(join(tree, ".gitignore"), given);
      return await listFiles(tree);
    },
  },
  "a component's spec": {
    pieces: SPEC,
    refuses: among(Failure),
    parse: (given) => [readSpec("metrics", given), readSpec("persistence", given)],
  },
  "a quantity": { pieces: [...TIME, "Ki", "Mi", "G", "m", "e9", "."], parse: (given) => quantityValue(given) },
  "comma-separated values": {
    pieces: ['"', '""', ",", "\n", "\r\n", "\ufeff", "a", "=1", " "],
    parse: (given) => parseCsv(given, 100),
    refuses: among(CsvError),
  },
  "a file of Jupyter": {
    pieces: [
      ...[
        '{"nbformat":4,"cells":[',
        '{"cell_type":"code","source":',
        '"outputs":[',
        '{"output_type":"stream","text":',
        '{"output_type":"display_data","data":{',
      ],
      ...['"text/plain":', '"__proto__":', "[", "]", "}", ",", '"a"', "1", "null", '"\\ud800"', "é"],
    ],
    parse: (given) => readIpynb(ipynbText(readIpynb(given).map((cell, at) => ({ ...cell, id: `c${at}` })))),
    refuses: among(NotNotebook),
  },
  "HTML with a table": {
    pieces: [
      "<table>",
      "<tr>",
      "<td",
      ">",
      "</td>",
      "<th>",
      "<!--",
      "-->",
      "<style>",
      "</style>",
      "&amp;",
      "&#1114112;",
      "&#x",
      ";",
      "a",
      "\n",
      "<",
    ],
    parse: htmlTable,
  },
  "printed text": { pieces: ["\r", "\n", "a", "10%", "é", "😀"], parse: overwritten },
  "a PNG in base64": { pieces: ["iVBORw0KGgo", "AAAANSUhEUgAAAoAAAAHgCAY", "A", "=", "*", " "], parse: pngSize },
  "a message's template": {
    pieces: ["rand(", "randint(", "randstr(", "now(", ")", ",", "1", "-2", ".5", "1e3", " ", '"', "{", "$", "é", "x"],
    parse: (given) => parseTemplate(given)({ random: () => 0.5, now: () => 0 }),
    refuses: among(TemplateError),
  },
  "a schedule": { pieces: CRON, parse: (given) => scheduleProblem(given) },
  "a duration": {
    pieces: TIME,
    parse: (given) => {
      const ms = parseDuration(given);
      if (ms !== undefined && ms % 1000 === 0 && Number.isSafeInteger(ms) && parseDuration(formatDuration(ms)) !== ms)
        throw new Error(`${formatDuration(ms)} is not ${ms} ms`);
      return ms;
    },
  },
  "an instant": {
    pieces: TIME,
    parse: (given) => [parseInstant(given), canonicalInstant(given), parseTimestamp(given, { now: 0 }), retryAfterMs(given, 0)],
  },
  "a name": {
    pieces: NAME,
    parse: (given) => {
      const raw = rawName(given);
      if (rawName(raw) !== raw) throw new Error(`${raw} is not raw`);
      return [
        namespaceOf(given),
        parseWindow(given),
        readableName(given),
        escapeControls(given),
        didYouMean(given, ["user.id", "user.name"]),
      ];
    },
  },
  "the header of a SQL file": { pieces: SQL, parse: (given) => readHeader(given) },
  "tokens of SQL": { pieces: SQL, parse: (given) => tokenize(given).length },
  "placeholders of a statement in Python": { pieces: [...SQL, ":"], parse: (given) => namedParameters(given, undefined).length },
  "a select list": { pieces: SQL, parse: (given) => selectList(given) },
  "a SQL resolver": { pieces: SQL, parse: (given) => linkSqlFiles([{ path: "a.svc.sql", text: given }], create(GraphSchema)) },
  "a statement": {
    pieces: SQL,
    parse: (given) =>
      (["postgresql", "mysql", "sqlite"] as const).map((dialect) => [countParameters(given, dialect), withoutTerminator(given, dialect)]),
  },
  "a Python module": { pieces: PYTHON, parse: (given) => lintStatically({ files: [{ path: "features.py", text: given }] }) },
  "a requirements file": {
    pieces: REQUIREMENTS,
    refuses: among(RequirementsError),
    parse: async (given) => [requirementNames(given), await readRequirements(given, undefined)],
  },
  "a pattern": {
    pieces: REGEXP,
    refuses: among(EvaluationError),
    parse: (given) => [compileLinear(given).isIn("aab".repeat(20)), [...compileLinear(given).matches("aabb")]],
  },
  "a replacement": {
    pieces: REPLACEMENT,
    refuses: among(EvaluationError),
    parse: (given) => parseReplacement(given, compileLinear("(a)|(b)")),
  },
  "a path in JSON": { pieces: JSON_PATH, refuses: among(EvaluationError), parse: parseJsonPath },
  "a URL": { pieces: URL_PIECES, refuses: () => false, parse: (given) => [urlParts(given), queryParameter(given, "a")] },
  JSON: { pieces: JSON_PIECES, refuses: syntax, parse: (given) => parseExactJson(given) },
  "the body of a query": {
    pieces: JSON_PIECES,
    refuses: among(BodyInvalid, JsonRefused, QueryRefused),
    parse: (given) => readQueryBody(utf8(given)),
  },
  "the body of a bulk query": {
    pieces: JSON_PIECES,
    refuses: among(BodyInvalid, JsonRefused, QueryRefused),
    parse: (given) => readBulkQueryBody(utf8(given), 2_000_000),
  },
  "the body of several queries": {
    pieces: [...JSON_PIECES, '"queries"'],
    refuses: among(BodyInvalid, JsonRefused),
    parse: (given) => readMultiBody(utf8(given)),
  },
  "the body of a query of classes that are not deployed": {
    pieces: [...JSON_PIECES, '"graph"', '"outputs"'],
    refuses: among(BodyInvalid, JsonRefused, QueryRefused),
    parse: (given) => readExpressionBody(utf8(given)),
  },
  "planner options": {
    pieces: ["defer", "=", "true", "_", "1"],
    parse: (given) => readPlannerOptions({ [given]: given, pack_groups_into_super_joins: given }),
  },
  "an Accept-Encoding header": {
    pieces: ["gzip", "zstd", "*", ";q=", "0.5", ",", " ", "identity"],
    parse: (given) => acceptedEncoding(given),
  },
  "a message of a shell": {
    pieces: ["{", "}", '"is":', '"resize"', '"columns":', '"rows":', "80", ",", '"exit"', '"code":', "1e999", "null", "[", "]"],
    parse: (given) => [readShellRequest(given), readShellEvent(given), readStreamMessage(utf8(given))],
  },
  "an answer that a benchmark samples": {
    pieces: ["{", "}", '"data":', "[", "]", '"field":', '"user.id"', '"value":', '"errors":', '"code":', ",", "null", '"__proto__":', "1"],
    parse: (given) => [createPayloadFilter(["user.id"]).answer(given), createPayloadFilter(["user.id"]).inputs(given)],
  },
  "a form that asks for a token": {
    pieces: ["grant_type=client_credentials", "&", "client_id=", "client_secret=", "%41", "%", "+", "scope=", "read"],
    refuses: among(TokenRequestRefused),
    parse: (given) => readTokenRequest(new Headers({ "content-type": "application/x-www-form-urlencoded" }), utf8(given)),
  },
  "HTTP Basic that asks for a token": {
    pieces: ["a", ":", "%41", "%", "+", "\u00e9", "\0"],
    refuses: among(TokenRequestRefused),
    parse: (given) =>
      readTokenRequest(
        new Headers({ "content-type": "application/x-www-form-urlencoded", authorization: `Basic ${utf8(given).toBase64()}` }),
        utf8("grant_type=client_credentials"),
      ),
  },
  "a traceparent": {
    pieces: ["00", "-", "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7", "01", "ff"],
    parse: (given) => parseTraceparent(given),
  },
  "the address of a bucket": {
    pieces: ["s3://", "gs://", "file://", "bucket", "a", "..", ".", "/", "-", "_", "~", "%2e", "?", "#", "@", ":"],
    parse: (given) => {
      const bucket = readBucket(given);
      const path = bucket && `/${bucket.name}/${bucket.prefix}`;
      if (path !== undefined && new URL(path, "https://host.example").pathname !== path) throw new Error(`${path} is no path as it stands`);
      return [bucket, bucketProblem("aws", given)];
    },
  },
  "words of a command": {
    pieces: ARGV,
    refuses: among(CliError),
    parse: (given) => parse({ path: "query", flags: FLAGS }, { before: [], after: given.split(" ") }, { now: 0, cwd: "/", homeDir: "/h" }),
  },
  "an address": { pieces: ADDRESS, refuses: among(CliError), parse: (given) => [webAddress(given), normalizeAddress(given, "a test")] },
  "the release feed": { pieces: RELEASE, refuses: among(ReleaseFormatError), parse: (given) => parseFeed(given) },
  "a release manifest": { pieces: RELEASE, refuses: among(ReleaseFormatError), parse: (given) => parseManifest(given) },
  "a signature": {
    pieces: MINISIGN,
    refuses: among(SignatureError),
    parse: async (given) => [parseTrustedComment(given), await verify(new Uint8Array(3), given, PUBLIC_KEY)],
  },
  "a public key": { pieces: MINISIGN, refuses: among(SignatureError), parse: (given) => parsePublicKey(given) },
  "a changelog": {
    pieces: ["## ", "v1.0.0", "Unreleased", "\n", "- ", "[", "]", "(", ")", "<b>", "`"],
    parse: (given) => changelogEntries(given),
  },
  "a message of an agent": {
    pieces: [...JSON_PIECES, '"jsonrpc":"2.0"', '"id":1', '"method":"ping"', '"params":{}', '"result":{}'],
    refuses: among(RpcError),
    parse: (given) => incoming(parsed(given)),
  },
  "a manifest of skills": {
    pieces: ["0".repeat(64), "f".repeat(64), "  ", " *", "ours/", "SKILL.md", "./", "../", "\n", "\r\n", "a.md", "/"],
    refuses: among(CliError),
    parse: (given) => readManifest(given, "SHA256SUMS"),
  },
  "a skill": {
    pieces: ["---\n", "---", "\n", "name: ours\n", "description: x\n", ...YAML],
    refuses: among(CliError),
    parse: (given) => skillOf("ours", [{ path: "SKILL.md", content: utf8(given) }]),
  },
  "instructions of others": {
    pieces: ["<!-- svc: begin -->", "<!-- svc: end -->", "<!-- svc: begin. x -->", "\n", "\r\n", " ", "# Ours", "\ufeff"],
    refuses: among(CliError),
    parse: (given) => withPart(withPart(given, "part", "AGENTS.md"), "other", "AGENTS.md"),
  },
  "messages of an editor": {
    pieces: ["Content-Length: ", "5", "-1", "1e9", "\r\n", "\r\n\r\n", "{}", "x", ":"],
    refuses: among(FramingBroken),
    parse: (given) => new FrameReader().push(Buffer.from(given)),
  },
  "an archive": {
    pieces: [
      "a/b.py",
      "\u0000".repeat(100),
      "ustar\u000000",
      "0000644\u0000",
      "00000000010\u0000",
      "0",
      "5",
      "x",
      "L",
      "\u0000".repeat(512),
      "../",
      "1 path=é\n",
    ],
    refuses: among(ArchiveRefused),
    parse: async (given) => {
      async function* bytes() {
        yield Buffer.from(given);
      }
      let entries = 0;
      for await (const _ of readArchive(bytes(), { maxEntries: 100, maxBytes: 1_000_000 })) entries++;
      return entries;
    },
  },
  "secrets in a text": {
    pieces: ["Bearer ", "eyJhbGciOi", ".", "abcdefgh", "?token=", "&sig=", "%41", "\\u0041", "secret-canary"],
    parse: (given) => {
      const redactor = createRedactor();
      redactor.add("secret-canary");
      const shown = redactor.text(given);
      if (shown.includes("secret-canary")) throw new Error("a secret is shown");
      return shown;
    },
  },
  "KEY=VALUE lines": {
    pieces: ["A", "KEY", "=", "\n", "\r\n", "#", " ", "\t", "\0", "'", '"'],
    refuses: among(CliError),
    parse: (given) => {
      const pairs = readPairs(given);
      return pairs.map(([name, value]) => [secretNameProblem(name), secretValueProblem(value)]);
    },
  },
  "values of an integration": {
    pieces: [
      "http://",
      "https://",
      "a",
      ".",
      ":",
      "@",
      "/",
      "[",
      "]",
      "::1",
      ",",
      "9092",
      "{",
      "}",
      '"client_email":',
      '"private_key":',
      '""',
    ],
    parse: (given) => [
      integrationProblem("i", "openai", { OPENAI_API_KEY: "k", OPENAI_BASE_URL: given }),
      integrationProblem("i", "kafka", { KAFKA_BOOTSTRAP_SERVERS: given }),
      integrationProblem("i", "gcp", { GOOGLE_CREDENTIALS: given }),
      integrationProblem(given, given, { [given]: given }),
    ],
  },
  "a search": {
    pieces: [
      "level",
      ":",
      ">=",
      "<",
      "error",
      "resolver",
      '"',
      "*",
      "\\",
      "(",
      ")",
      "-",
      " ",
      " OR ",
      " AND ",
      "NOT ",
      "10ms",
      "1kB",
      "=",
      "\0",
    ],
    refuses: among(SearchError),
    parse: (given) => {
      const tree = parseSearch(given, SEARCHED);
      return [toCondition(tree, (field) => field), matches(tree, () => given)];
    },
  },
  "a metric expression": {
    pieces: [
      ...["p99", "sum", ":", "query.latency", "query.count", "{", "}", ",", "query_name", "branch", "!", "a*", "|", '"', "\\"],
      ...[" by ", ".rollup(", "5m", ")", "(", "+", "-", "*", "/", "2", "1e3", ".", " ", "é", "😀", "\u202e"],
    ],
    refuses: among(MetricExpressionError),
    parse: (given) => {
      const printed = printMetricExpression(parseMetricExpression(given));
      if (printMetricExpression(parseMetricExpression(printed)) !== printed) throw new Error(`${printed} is printed otherwise`);
    },
  },
  "headers of the export by OTLP": {
    pieces: ["a", "=", ",", "%", "2C", "%0a", " ", "é", "\u202e", "__proto__", "authorization", "Bearer x"],
    refuses: among(StartError),
    parse: (given) => readOtlpSettings({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://localhost:4318", OTEL_EXPORTER_OTLP_HEADERS: given }, 0),
  },
  "OTLP's JSON": {
    pieces: [
      ...["{", "}", "[", "]", ":", ",", '"resourceSpans"', '"scopeSpans"', '"spans"', '"traceId"', '"0af7651916cd43dd8448eb211c80319c"'],
      ...['"spanId"', '"b7ad6b7169203331"', '"attributes"', '"key"', '"value"', '"kvlistValue"', '"__proto__"', "1", "-1", "1e400", "null"],
      '{"resourceSpans":[{"scopeSpans":[{"spans":[{"startTimeUnixNano":"1"}]}]}]}',
    ],
    refuses: among(OtlpRefused),
    parse: (given) => receivedSpans(readOtlpText(ExportTraceServiceRequestSchema, given), { environmentId: "env_1", now: 0 }),
  },
  "a .proto file": {
    pieces: [
      ...[
        "message ",
        "A ",
        "B ",
        "{ ",
        "} ",
        "int32 ",
        "a ",
        "= ",
        "1 ",
        "; ",
        "repeated ",
        "map<",
        "string, ",
        "> ",
        "enum ",
        "oneof ",
        "group ",
      ],
      ...[
        "[",
        "] ",
        "(",
        ") ",
        "option ",
        "reserved ",
        "extend ",
        "service ",
        "// ",
        "/* ",
        "*/ ",
        '"',
        "\n",
        ".",
        "-",
        'syntax = "proto3"; ',
        "é",
      ],
      "message A { repeated A a = 1; }\n",
    ],
    refuses: among(SchemaError),
    parse: (given) => generatePydantic(linkProtoFiles([readProtoFile("a.proto", given)]), "a.proto"),
  },
  "a JSON Schema": {
    pieces: [
      ...[
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        '"properties"',
        '"type"',
        '"object"',
        '"array"',
        '"items"',
        '"$ref"',
        '"#/$defs/A"',
        '"$defs"',
        '"A"',
      ],
      ...['"enum"', '"anyOf"', '"null"', '"required"', '"__proto__"', '"%"', "1", "null"],
      '{"$defs":{"A":{"properties":{"a":{"$ref":"#/$defs/A"}}}}}',
    ],
    refuses: among(SchemaError),
    parse: (given) => generatePydantic(readJsonSchema("s.json", given, "s"), "s.json"),
  },
  "packages of Go and Java": {
    pieces: ["package ", "a", ".", ";", "\n", "/*", "*/", "//", " ", "é"],
    parse: (given) => [goPackageOf(given), javaPackageOf(given)],
  },
  "two texts to compare": {
    pieces: ADDED,
    parse: (given) => unifiedHunks(given.slice(0, given.length / 2), given.slice(given.length / 2)),
  },
};
