/** A project with markup and marks of direction in every text that a project can have. */

import { QueryService } from "../../gen/svc/v1/query_pb.ts";
import type { TestServer } from "../harness/running-server.ts";
import { deploy, expectLive } from "../server/deployments/deploying.ts";

/** A text that is only ever text: if a page obeys it, its title changes. */
export const HOSTILE = `<img src=x onerror="document.title='owned'">'&lt;<script>document.title='owned'</script>\u202eltr`;
const TEXT = HOSTILE.replace("\u202e", "");

const FILES = {
  "features.py": `from svc.features import feature, features

@features(max_staleness="1h", owner=${JSON.stringify(TEXT)}, tags=[${JSON.stringify(TEXT)}, "plain"])
class User:
    # ${TEXT}
    id: int
    name: str
    # deprecated ${TEXT}
    greeting: str
    broken: int
`,
  "resolvers.py": `from svc import online
from features import User

@online
def get_name(id: User.id) -> User.name:
    return ${JSON.stringify(TEXT)}

@online
def greet(name: User.name) -> User.greeting:
    return "hello " + name

@online
def breaks(id: User.id) -> User.broken:
    print(${JSON.stringify(TEXT)})
    raise ValueError(${JSON.stringify(TEXT)})
`,
};

/** Ids of what was deployed. */
export interface Deployed {
  readonly live: string;
  readonly ready: string;
  readonly failed: string;
  /** Id of a query run with stages. */
  readonly queryRun: string;
  /** Id of its trace. */
  readonly trace: string;
}

/** Deploys the project twice, and once so that it fails. */
export async function deployHostile(server: TestServer): Promise<Deployed> {
  const texts = {
    description: `# ${HOSTILE}\nsecond line`,
    tags: [TEXT],
    metadata: { [TEXT]: HOSTILE, commit: "0123456789abcdef" },
    ciJobUrl: "javascript:document.title='owned'",
    repositoryUrl: `https://example.com/"onmouseover="document.title='owned'`,
  };
  const first = await deploy(server, FILES, texts);
  expectLive(first);
  const second = await deploy(server, { ...FILES, "more.py": "x = 1\n" }, texts);
  expectLive(second);
  const broken = { ...FILES, "resolvers.py": `raise ValueError(${JSON.stringify(TEXT)})\n` };
  const { id: failed } = await deploy(server, broken, texts);
  const { meta } = await server.client(QueryService).query({
    inputs: [{ feature: "user.id", value: { case: "text", value: "1" } }],
    outputs: ["user.name", "user.greeting", "user.broken"],
    ...{ queryName: TEXT, correlationId: HOSTILE, tags: [TEXT], queryContext: {}, meta: { [TEXT]: HOSTILE } },
    ...{ explain: true, trace: true, storePlanStages: true, includeMeta: true },
  });
  return { live: second.id, ready: first.id, failed, queryRun: meta?.queryId ?? "", trace: meta?.traceId ?? "" };
}
