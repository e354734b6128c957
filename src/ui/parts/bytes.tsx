import { sizeText } from "../../domain/size.ts";

/** A number of bytes, in the unit that suits it; exact on hover. */
export function Bytes({ count }: { readonly count: number }) {
  return (
    <span class="figure" title={`${count.toLocaleString("en")} bytes`}>
      {sizeText(count)}
    </span>
  );
}
