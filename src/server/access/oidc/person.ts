/** A person, as the identity provider names one. */

import { plain } from "../../web-answer.ts";
import type { Claims } from "./exchange.ts";

/** A person with the groups that were seen. */
export interface Person {
  /** The same for every login of the person, and for nobody else. */
  readonly id: string;
  /** The provider's own name of the person, which is never given to another. */
  readonly subject: string;
  /** For people: the mail address, else a name. Others may have the same. */
  readonly name: string;
  readonly groups: readonly string[];
}

const MOST_GROUPS = 2_000;

/** The person of some claims. A mail address that the provider did not verify is no name. */
export function personFrom(issuer: string, groupsClaim: string, claims: Claims): Person {
  const { sub, email, email_verified: isVerified, name, preferred_username: username } = claims;
  const names = [isVerified === false ? undefined : email, name, username, sub];
  const given = claims[groupsClaim];
  const groups = (Array.isArray(given) ? given : [given]).filter((group) => typeof group === "string" && group !== "");
  return {
    id: `person_${new Bun.CryptoHasher("sha256")
      .update(JSON.stringify([issuer, sub]))
      .digest("hex")
      .slice(0, 32)}`,
    subject: sub,
    name: names.map((one) => (typeof one === "string" ? plain(one) : "")).find((one) => one !== "") ?? "",
    groups: groups.slice(0, MOST_GROUPS),
  };
}
