/** Weights of traffic as people type them. */

import type { TrafficTagJson } from "../../../../gen/svc/v1/traffic_pb.ts";

/** What was typed for a tag; an empty weight leaves the tag without one. */
export interface TypedWeight {
  readonly tag: string;
  readonly weight: string;
  readonly mirror: string;
}

/** The tags as they are, to be typed over. */
export function typedWeights(tags: readonly TrafficTagJson[]): readonly TypedWeight[] {
  return tags.map(({ mirrorWeight = 0, tag = "", weight }) => ({
    tag,
    weight: weight === undefined ? "" : String(weight),
    mirror: String(mirrorWeight),
  }));
}

const PERCENT = /^(?:100|\d{1,2})$/;

/** Why weights cannot be set, a sentence; undefined when they can. */
export function weightsProblem(typed: readonly TypedWeight[]): string | undefined {
  const wrong = typed.find(({ mirror, weight }) => (weight !== "" && !PERCENT.test(weight)) || !PERCENT.test(mirror));
  if (wrong) return `The weights of ${wrong.tag} are whole numbers from 0 to 100.`;
  const given = typed.filter(({ weight }) => weight !== "");
  const sum = given.reduce((total, { weight }) => total + Number(weight), 0);
  return given.length === 0 || sum === 100 ? undefined : `The weights add up to ${sum}, not to 100.`;
}

/**
 * What has to be set for the tags to have what was typed: only what differs. A weight is never
 * taken back so.
 */
export function changedWeights(tags: readonly TrafficTagJson[], typed: readonly TypedWeight[]) {
  const before = new Map(typedWeights(tags).map((one) => [one.tag, one]));
  const changed = (part: "weight" | "mirror") =>
    Object.fromEntries(
      typed.filter((one) => one[part] !== "" && one[part] !== before.get(one.tag)?.[part]).map((one) => [one.tag, Number(one[part])]),
    );
  return { weights: changed("weight"), mirrorWeights: changed("mirror") };
}

/** The flags that set the same. */
export function trafficFlags({ mirrorWeights, weights }: ReturnType<typeof changedWeights>): readonly string[] {
  const flag = (name: string, values: Readonly<Record<string, number>>) =>
    Object.keys(values).length === 0
      ? []
      : [
          name,
          Object.entries(values)
            .map(([tag, value]) => `${tag}=${value}`)
            .join(","),
        ];
  return [...flag("--tags", weights), ...flag("--mirror", mirrorWeights)];
}
