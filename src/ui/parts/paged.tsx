import type { ComponentChildren } from "preact";
import type { Pages } from "../api/pages.ts";
import { Failed } from "./failed.tsx";
import { Loading } from "./loading.tsx";
import { Pager } from "./pager.tsx";

interface PagedParts<First, Row> {
  readonly of: Pages<First, Row>;
  /** What is listed, in the plural. */
  readonly things: string;
  /** What stands in place of a list without rows. */
  readonly empty: ComponentChildren;
  readonly children: (rows: readonly Row[], first: First) => ComponentChildren;
}

/** A list that comes by pages, with the way to the next one. */
export function Paged<First, Row>({ of, things, empty, children }: PagedParts<First, Row>) {
  const { first, hasMore, isLoadingMore, more, moreError, rows } = of;
  return (
    <Loading of={first} lines={8}>
      {(data) =>
        rows.length === 0 && !hasMore ? (
          empty
        ) : (
          <>
            {children(rows, data)}
            {moreError && <Failed error={moreError} onRetry={more} />}
            <Pager things={things} shown={rows.length} hasMore={hasMore} isLoading={isLoadingMore} onMore={more} />
          </>
        )
      }
    </Loading>
  );
}
