import { LINE_FIELDS, REQUEST_FIELDS } from "../../../domain/logs.ts";
import { now } from "../../app/clock.ts";
import { useCommand } from "../../app/command.ts";
import { queried, setQueried } from "../../app/place.ts";
import { Page } from "../../parts/page.tsx";
import { Range } from "../../parts/range.tsx";
import { rangeFlags } from "../../parts/range-times.ts";
import { SearchBox } from "../../parts/search-box.tsx";
import { Tabs } from "../../parts/tabs.tsx";
import { rangeText, readRange } from "../../parts/time-range.ts";
import { FoundLines } from "./found-lines.tsx";
import { LogTail } from "./log-tail.tsx";
import { LoggedRequests } from "./logged-requests.tsx";
import { searchProblem } from "./search-terms.ts";

/** Lines of resolvers, builds and the server, and the requests that the server answered. */
export default function Logs() {
  const command = useCommand();
  const search = queried("q");
  const isRequests = queried("tab") === "requests";
  const isFollowing = !isRequests && queried("follow") === "yes";
  const problem = searchProblem(search, isRequests ? REQUEST_FIELDS : LINE_FIELDS);
  const range = readRange(queried("range"), now.value);
  const words = ["logs", ...(isRequests ? ["requests"] : []), ...(search === "" ? [] : ["--query", search])];
  return (
    <Page
      title="Logs"
      command={command(...words, ...(isFollowing ? ["--follow"] : rangeFlags(range, rangeText(range))))}
      actions={
        !isRequests && (
          <button type="button" aria-pressed={isFollowing} onClick={() => setQueried({ follow: isFollowing ? "" : "yes", line: "" })}>
            {isFollowing ? "Stop following" : "Follow"}
          </button>
        )
      }
    >
      <SearchBox
        label="Search logs"
        placeholder={isRequests ? "path, response_code>=500 duration>1s" : "words, level>=warning resolver:get_* -component:server"}
        value={search}
        onSearch={(q) => setQueried({ q, line: "" })}
        problem={problem}
      />
      {!isFollowing && <Range />}
      <Tabs
        label="Logs"
        tabs={[
          { name: "lines", title: "Lines", content: () => problem === undefined && <Lines search={search} isFollowing={isFollowing} /> },
          { name: "requests", title: "Requests", content: () => problem === undefined && <LoggedRequests search={search} range={range} /> },
        ]}
      />
    </Page>
  );
}

function Lines({ search, isFollowing }: { readonly search: string; readonly isFollowing: boolean }) {
  return isFollowing ? <LogTail search={search} /> : <FoundLines search={search} range={readRange(queried("range"), now.value)} />;
}
