/** The facts of the contract. */

import { type ContractFacts, contractFacts } from "./contract-facts.ts";

/** See `contractFacts`. */
export const facts: ContractFacts = await contractFacts();
