/** The place of content that is on its way: so many lines. */
export function Skeleton({ lines = 3 }: { readonly lines?: number }) {
  return (
    <div class="skeleton" role="status">
      <span class="unseen">Loading</span>
      {Array.from({ length: lines }, (_, at) => (
        <div key={at} class="skeleton-line" style={{ width: `${90 - ((at * 17) % 40)}%` }} />
      ))}
    </div>
  );
}
