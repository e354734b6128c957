import type { UsageJson } from "../../../../gen/svc/v1/usage_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { useAnswer } from "../../api/load.ts";
import { useCommand } from "../../app/command.ts";
import { queried, setQueried } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { Bars } from "../../parts/bars.tsx";
import { Empty } from "../../parts/empty.tsx";
import { figureText } from "../../parts/figure-text.ts";
import { Loading } from "../../parts/loading.tsx";
import { Page } from "../../parts/page.tsx";
import { type Column, sorted, WindowTable } from "../../parts/window-table.tsx";
import { FIGURES, type FigureName, sumsBy } from "./usage-sums.ts";

const NAMES = Object.keys(FIGURES) as readonly FigureName[];

const COLUMNS: readonly Column<UsageJson>[] = [
  { name: "date", title: "Date", width: "7rem", cell: ({ date = "" }) => date, sort: ({ date = "" }) => date },
  {
    name: "label",
    title: "For",
    wraps: true,
    width: "9rem",
    cell: ({ label = "" }) => escapeControls(label),
    sort: ({ label = "" }) => label,
  },
  ...NAMES.map((name) => ({
    name,
    title: FIGURES[name].title,
    width: widthOf(FIGURES[name].title),
    isNumber: true,
    cell: (row: UsageJson) => amountText(FIGURES[name].of(row)),
    sort: FIGURES[name].of,
  })),
];

/** A figure to three digits behind the point. */
function amountText(amount: number): string {
  return amount > 0 && amount < 0.001 ? "<0.001" : figureText(Number(amount.toFixed(3)));
}

/** The width of a column, all of which fit beside each other: titles with a unit are longer. */
function widthOf(title: string): string {
  if (title.includes(",")) return "9.25rem";
  return title.length > 8 ? "7rem" : "5.5rem";
}

/** What is paid for, by day or month, and for whom. */
export default function Usage() {
  const command = useCommand();
  const isMonthly = queried("period") === "monthly";
  const figure = NAMES.find((name) => name === queried("figure")) ?? "queries";
  const sort = queried("sort") || "-date";
  const answer = useAnswer(
    "UsageService/ListUsage",
    { grouping: "USAGE_GROUPING_CLUSTER", period: isMonthly ? "USAGE_PERIOD_MONTHLY" : "USAGE_PERIOD_DAILY" },
    environmentScope.value,
  );
  return (
    <Page title="Usage" command={command("usage", "export", ...(isMonthly ? ["--period", "monthly"] : []))}>
      <p class="actions">
        <label>
          By{" "}
          <select
            value={isMonthly ? "monthly" : "daily"}
            onChange={({ currentTarget }) => setQueried({ period: currentTarget.value === "daily" ? "" : "monthly" })}
          >
            <option value="daily">day</option>
            <option value="monthly">month</option>
          </select>
        </label>
        <label>
          Bars of{" "}
          <select
            value={figure}
            onChange={({ currentTarget }) => setQueried({ figure: currentTarget.value === "queries" ? "" : currentTarget.value })}
          >
            {NAMES.map((name) => (
              <option key={name} value={name}>
                {FIGURES[name].title}
              </option>
            ))}
          </select>
        </label>
      </p>
      <Loading of={answer} lines={8}>
        {({ usage = [] }) =>
          usage.length === 0 ? (
            <Empty command="svc query">Nothing was used yet.</Empty>
          ) : (
            <>
              <h2>{`${FIGURES[figure].title} over time`}</h2>
              <Bars label={`${FIGURES[figure].title} over time`} bars={barsOf(usage, figure, "date")} />
              <h2>{`${FIGURES[figure].title} by what they were for`}</h2>
              <Bars label={`${FIGURES[figure].title} by what they were for`} bars={barsOf(usage, figure, "label")} />
              <WindowTable
                label="Usage"
                columns={COLUMNS}
                rows={sorted(usage, COLUMNS, sort)}
                keyOf={({ date = "", label = "" }) => `${date} ${label}`}
                sort={sort}
                onSort={(next) => setQueried({ sort: next === "-date" ? "" : next })}
              />
            </>
          )
        }
      </Loading>
    </Page>
  );
}

function barsOf(usage: readonly UsageJson[], figure: FigureName, by: "date" | "label") {
  return sumsBy(usage, figure, by).map(([name, value]) => ({ name, value }));
}
