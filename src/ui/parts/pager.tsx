interface PagerParts {
  /** What is listed, in the plural: `query runs`. */
  readonly things: string;
  /** Number of rows shown. */
  readonly shown: number;
  /** Whether there are more. */
  readonly hasMore: boolean;
  readonly isLoading?: boolean;
  readonly onMore: () => void;
}

/** The end of a list that comes by pages: how many are shown, and the way to the next ones. */
export function Pager({ things, shown, hasMore, isLoading = false, onMore }: PagerParts) {
  return (
    <div class="pager">
      <span role="status" class="dim">
        {hasMore ? `The newest ${shown} ${things}` : shown === 1 ? "That is all" : `All ${shown} ${things}`}
      </span>
      {hasMore && (
        <button type="button" disabled={isLoading} onClick={onMore}>
          More
        </button>
      )}
    </div>
  );
}
