/** Parts of URLs. A text that is no URL has none of them. */

import { defineFamily, type FunctionEntry } from "../definition.ts";
import { queryParameter, type UrlParts, urlParts } from "../url.ts";

/** A function that takes a part; null where the URL does not have it. */
function part(name: keyof UrlParts, type: string, doc: string): FunctionEntry {
  return {
    doc: `${doc}; null where there is none, or where the text is no URL.`,
    example: `F.url_extract_${name}(_.link)`,
    parameters: ["url"],
    overloads: [[`str -> ${type}?`, (url: string) => urlParts(url)?.[name] ?? null]],
  };
}

/** Functions of URLs. */
export const URLS = defineFamily("urls", {
  url_extract_protocol: part("protocol", "str", "The protocol of a URL in lower case, such as `https`"),
  url_extract_host: part("host", "str", "The host of a URL in lower case, without user and port"),
  url_extract_port: part("port", "int", "The port that a URL names"),
  url_extract_path: part("path", "str", "The path of a URL as it is written, empty when it has none"),
  url_extract_query: part("query", "str", "What stands between `?` and `#` in a URL, as it is written"),
  url_extract_fragment: part("fragment", "str", "What stands behind `#` in a URL, as it is written"),
  url_extract_parameter: {
    doc: "The first value of a parameter in the query of a URL, decoded; empty where the parameter has no value, null where it is not there.",
    example: 'F.url_extract_parameter(_.link, "utm_source")',
    parameters: ["url", "name"],
    overloads: [["str, str -> str?", (url: string, name: string) => queryParameter(urlParts(url)?.query ?? "", name)]],
  },
});
