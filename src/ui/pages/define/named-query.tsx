import type { NamedQueryJson } from "../../../../gen/svc/v1/graph_pb.ts";
import { lineageId, queryNodeName } from "../../../domain/lineage.ts";
import { escapeControls } from "../../../domain/name.ts";
import { visibleLines } from "../../../domain/visible.ts";
import { useAnswer } from "../../api/load.ts";
import { useCommand } from "../../app/command.ts";
import { href, scope } from "../../app/place.ts";
import { Badge } from "../../parts/badge.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Facts } from "../../parts/facts.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Page } from "../../parts/page.tsx";
import type { PageProps } from "../../routes.ts";
import { FeatureLink } from "./feature-link.tsx";
import { SourceText } from "./source-text.tsx";
import { stalenessText } from "./staleness-text.ts";

/** The versions of a named query. */
export default function NamedQuery({ place }: PageProps<"namedQuery">) {
  const command = useCommand();
  const { name } = place.params;
  const answer = useAnswer("GraphService/ListNamedQueries", {}, scope.value);
  const versions = (answer.data?.namedQueries ?? []).filter((query) => query.name === name);
  return (
    <Page
      title={name}
      command={command("query", "--query-name", name, ...(versions[0]?.inputs ?? []).flatMap((input) => ["--in", `${input}=...`]))}
    >
      <Loading of={answer} lines={8}>
        {() =>
          versions.length === 0 ? (
            <Empty command={command("named-query", "list")}>The deployment has no query of this name. Those that it has:</Empty>
          ) : (
            versions.map((query) => <Version key={query.version ?? ""} query={query} deployment={answer.data?.deploymentId ?? ""} />)
          )
        }
      </Loading>
    </Page>
  );
}

function Version({ query, deployment }: { readonly query: NamedQueryJson; readonly deployment: string }) {
  const {
    description = "",
    inputs = [],
    name = "",
    outputs = [],
    owner = "",
    plannerOptions = {},
    span,
    staleness = {},
    tags = [],
    version = "",
  } = query;
  const ask = new URLSearchParams([
    ...inputs.map((input) => ["in", `${input}=`]),
    ["name", name],
    ...(version === "" ? [] : [["version", version]]),
  ]);
  return (
    <section aria-label={version === "" ? "Without a version" : `Version ${version}`}>
      <div class="page-head">
        <h2>{version === "" ? "Without a version" : `Version ${escapeControls(version)}`}</h2>
        <div class="actions">
          <a class="button" href={href("query", {}, { query: ask })}>
            Run
          </a>
          <a
            class="button"
            href={href("graph", {}, { query: new URLSearchParams({ on: lineageId("query", queryNodeName(name, version)) }) })}
          >
            Lineage
          </a>
        </div>
      </div>
      {description !== "" && <p class="description">{visibleLines(description)}</p>}
      <Facts
        facts={[
          ["Inputs", inputs.length > 0 && <Names names={inputs} />],
          ["Outputs", outputs.length > 0 && <Names names={outputs} />],
          ["Stored values", Object.keys(staleness).length > 0 && stalenessText(staleness)],
          [
            "Planner options",
            Object.entries(plannerOptions)
              .map(([option, text]) => escapeControls(`${option}=${text}`))
              .join(", "),
          ],
          ["Tags", tags.length > 0 && tags.map((tag) => <Badge key={tag} text={tag} />)],
          ["Owner", owner !== "" && escapeControls(owner)],
        ]}
      />
      {span?.file && deployment !== "" && <SourceText deployment={deployment} span={span} />}
    </section>
  );
}

/** Names of features, each of which leads to its page. */
function Names({ names }: { readonly names: readonly string[] }) {
  return (
    <ul class="nodes">
      {names.map((fqn) => (
        <li key={fqn}>
          <FeatureLink fqn={fqn} />
        </li>
      ))}
    </ul>
  );
}
